"""SIGTERM as an exception, so that a command that is told to end closes what it has open, as on an interrupt."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn


class Terminated(BaseException):
    """SIGTERM came; like KeyboardInterrupt no Exception, so that nobody takes it for a failure."""

    exit_code = 128 + signal.SIGTERM


@contextmanager
def termination_as_exception() -> Iterator[None]:
    """Within it SIGTERM raises Terminated in the main thread."""

    def terminate(_number: int, _frame: FrameType | None) -> NoReturn:
        raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
