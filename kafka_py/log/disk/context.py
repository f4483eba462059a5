"""What all logs of one directory share: the files, the time, the background, and whom to tell of a failing disk.

Holds references only.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_py.base.chance import Random
from kafka_py.base.clock import Clock
from kafka_py.log.disk.background import Background, InlineBackground
from kafka_py.log.disk.files import Files
from kafka_py.log.disk.handles import OpenHandles

LATER = Callable[[float, Callable[[], None]], object]

PRODUCER_EXPIRATION_MS = 604_800_000

LONGEST_DELAY_MS = 1 << 40
"""A delay beyond this (about 35 years) means never."""


def _at_once(_delay_ms: float, callback: Callable[[], None]) -> None:
    callback()


def _do_nothing() -> None:
    pass


def _ignore(_took_ms: float) -> None:
    pass


def _raise(_directory: str, error: OSError) -> None:
    raise error


class LogContext:
    """Handed to every log of one log directory.

    rng: draws by how much a roll comes early.
    later: calls back on the loop after some milliseconds (Timers.schedule); without one, delayed deletions are done
        at once.
    io_failed: told of an I/O error in the directory; takes it offline. Called on the loop.
    flush_in_append: whether an append that reaches flush.messages syncs before it returns, as the classic does;
        if not, AppendInfo.flush_due tells the caller to hold its answer until a flush job has run.
    flushed: called after each flush with the milliseconds that it took.
    checkpoints_lowered: called after a truncation below an offset that a checkpoint of the directory may hold (recovery
        point, log start, how far the log is compacted): of data that is written later the checkpoint would be wrong.
    settle_checkpoints: returns when such checkpoints are right on disk. Called before the next segment begins: as long
        as the offset in the file is in the active segment or beyond, a start after a crash does not believe it.
    """

    __slots__ = (
        "background", "checkpoints_lowered", "clock", "files", "flush_in_append", "flushed", "handles", "io_failed",
        "later", "log_dir", "producer_expiration_ms", "rng", "settle_checkpoints",
    )  # fmt: skip

    def __init__(
        self,
        log_dir: str,
        files: Files,
        clock: Clock,
        rng: Random,
        *,
        handles: OpenHandles | None = None,
        background: Background | None = None,
        later: LATER | None = None,
        io_failed: Callable[[str, OSError], None] | None = None,
        flush_in_append: bool = True,
        producer_expiration_ms: int = PRODUCER_EXPIRATION_MS,
        flushed: Callable[[float], None] | None = None,
        checkpoints_lowered: Callable[[], None] | None = None,
        settle_checkpoints: Callable[[], None] | None = None,
    ) -> None:
        self.log_dir = log_dir
        self.files = files
        self.clock = clock
        self.handles = OpenHandles() if handles is None else handles
        self.background: Background = InlineBackground() if background is None else background
        self.later: LATER = _at_once if later is None else later
        self.io_failed = _raise if io_failed is None else io_failed
        self.flush_in_append = flush_in_append
        self.producer_expiration_ms = producer_expiration_ms
        self.flushed = _ignore if flushed is None else flushed
        self.checkpoints_lowered = _do_nothing if checkpoints_lowered is None else checkpoints_lowered
        self.settle_checkpoints = _do_nothing if settle_checkpoints is None else settle_checkpoints
        self.rng = rng

    def roll_jitter(self, jitter_ms: int, segment_ms: int) -> int:
        """What a new segment's roll age is shortened by: random, below both bounds."""
        bound = min(jitter_ms, segment_ms)
        return self.rng.randrange(bound) if bound > 0 else 0
