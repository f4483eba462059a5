"""What all logs of one directory share: the files, the time, the background, and whom to tell of a failing disk.

Holds references only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field

from kafka_py.base.chance import Random
from kafka_py.base.clock import Clock
from kafka_py.log.disk.background import Background, InlineBackground
from kafka_py.log.disk.files import Files
from kafka_py.log.disk.handles import OpenHandles

LATER = Callable[[float, Callable[[], None]], object]

PRODUCER_EXPIRATION_MS = 604_800_000

LONGEST_DELAY_MS = 1 << 40
"""A delay beyond this (about 35 years) means never."""


def at_once(_delay_ms: float, callback: Callable[[], None]) -> None:
    """In the place of a timer: what was to be done later is done now."""
    callback()


def _do_nothing() -> None:
    pass


def ignore_flush(_took_ms: float) -> None:
    """Nobody measures flushes."""


def _raise(_directory: str, error: OSError) -> None:
    raise error


@dataclass(slots=True, eq=False)
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

    log_dir: str
    files: Files
    clock: Clock
    rng: Random
    _: KW_ONLY
    handles: OpenHandles = field(default_factory=OpenHandles)
    background: Background = field(default_factory=InlineBackground)
    later: LATER = at_once
    io_failed: Callable[[str, OSError], None] = _raise
    flush_in_append: bool = True
    producer_expiration_ms: int = PRODUCER_EXPIRATION_MS
    flushed: Callable[[float], None] = ignore_flush
    checkpoints_lowered: Callable[[], None] = _do_nothing
    settle_checkpoints: Callable[[], None] = _do_nothing

    def roll_jitter(self, jitter_ms: int, segment_ms: int) -> int:
        """What a new segment's roll age is shortened by: random, below both bounds."""
        bound = min(jitter_ms, segment_ms)
        return self.rng.randrange(bound) if bound > 0 else 0
