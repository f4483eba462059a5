"""What all logs of one directory share: the files, the time, the background, and whom to tell of a failing disk.

Holds references only.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from kafka_py.base.clock import Clock
from kafka_py.log.background import Background, InlineBackground
from kafka_py.log.files import Files
from kafka_py.log.handles import OpenHandles

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

    later: calls back on the loop after some milliseconds (Timers.schedule); without one, delayed deletions are done
        at once.
    io_failed: told of an I/O error in the directory; takes it offline. Called on the loop.
    flush_in_append: whether an append that reaches flush.messages syncs before it returns, as the classic does;
        if not, AppendInfo.flush_due tells the caller to hold its answer until a flush job has run.
    flushed: told of each flush how many milliseconds it took. recovery_point_lowered: told of a truncation below the
        recovery point, whose checkpoint would now make recovery skip data that is written later.
    """

    __slots__ = (
        "background", "clock", "files", "flush_in_append", "flushed", "handles", "io_failed", "later", "log_dir",
        "producer_expiration_ms", "random", "recovery_point_lowered",
    )  # fmt: skip

    def __init__(
        self,
        log_dir: str,
        files: Files,
        clock: Clock,
        *,
        handles: OpenHandles | None = None,
        background: Background | None = None,
        later: LATER | None = None,
        io_failed: Callable[[str, OSError], None] | None = None,
        flush_in_append: bool = True,
        producer_expiration_ms: int = PRODUCER_EXPIRATION_MS,
        flushed: Callable[[float], None] | None = None,
        recovery_point_lowered: Callable[[], None] | None = None,
        rng: random.Random | None = None,
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
        self.recovery_point_lowered = _do_nothing if recovery_point_lowered is None else recovery_point_lowered
        self.random = random.Random() if rng is None else rng

    def roll_jitter(self, jitter_ms: int, segment_ms: int) -> int:
        """What a new segment's roll age is shortened by: random, below both bounds."""
        bound = min(jitter_ms, segment_ms)
        return self.random.randrange(bound) if bound > 0 else 0
