"""Time, which is handed in and never reached for, so that a test or a simulation can move it."""

import time
from typing import Protocol


class Clock(Protocol):
    """Where domain code gets the time from; all times are milliseconds."""

    def wall_ms(self) -> int:
        """Milliseconds since the epoch, UTC; may jump. For timestamps that leave the process."""
        ...

    def monotonic_ms(self) -> float:
        """Milliseconds since some start; never decreases. For time-outs and rates."""
        ...

    def monotonic_s(self) -> float:
        """The same in seconds. For moments that are noted for every request: the system's clock calls nothing else."""
        ...


class SystemClock:
    """The machine's own time."""

    __slots__ = ()

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> float:
        return time.monotonic() * 1000.0

    monotonic_s = staticmethod(time.monotonic)


SYSTEM_CLOCK = SystemClock()
"""For constructors to which no other clock is handed."""
