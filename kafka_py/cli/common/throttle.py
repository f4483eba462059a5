"""At most so many steps per second. Used by commands that produce at a given rate."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator


def throttled(
    count: int, per_second: int, now_ms: Callable[[], float], sleep: Callable[[float], None] = time.sleep
) -> Iterator[int]:
    """0 to count - 1, at most so many per second; no limit if negative. now_ms: a clock in ms."""
    if per_second < 0:
        yield from range(count)
        return
    start_ms = now_ms()
    for number in range(count):
        early_ms = 1000 * number / per_second - (now_ms() - start_ms)
        if early_ms >= 1:
            sleep(early_ms / 1000)
        yield number
