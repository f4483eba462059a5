"""What all logs of one directory share: files, clock, background threads, and the callback for disk failures.

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
    """Replaces a timer: calls back at once, without a delay."""
    callback()


def _do_nothing() -> None:
    pass


def ignore_flush(_took_ms: float) -> None:
    """Default for `flushed`: flushes are not measured."""


def _raise(_directory: str, error: OSError) -> None:
    raise error


@dataclass(slots=True, eq=False)
class LogContext:
    """Passed to every log of one log directory.

    rng: draws the roll jitter.
    later: calls back on the loop after a delay in ms (Timers.schedule); without it, delayed deletions run at once.
    io_failed: called on the loop with an I/O error in the directory; takes the directory offline.
    flush_in_append: whether an append that reaches flush.messages syncs before it returns, as Apache Kafka does; if
        not, AppendInfo.flush_due tells the caller to delay its response until a flush has ended.
    flushed: called after each flush with its duration in ms.
    checkpoints_lowered: called after a truncation below an offset that a checkpoint of the directory may hold (recovery
        point, log start offset, cleaner offset): for data that is written later the checkpoint would be wrong.
    settle_checkpoints: returns when such checkpoints are correct on disk. Called before the next segment is created: as
        long as the offset in the file is in the active segment or above, recovery ignores it.
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
        """By how much the roll age of a new segment is shortened (ms): random, below both bounds."""
        bound = min(jitter_ms, segment_ms)
        return self.rng.randrange(bound) if bound > 0 else 0
