"""Signals that tell a command to end, so that it closes what it has open: SIGTERM as an exception, or both at a poll.

Another signal, at least a second later, raises in any case, for a user who no longer wants to wait.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self

ONE_REQUEST_S = 1.0
"""Signals so shortly after another belong to it: `timeout` and shells send one to a process and to its group."""


class Terminated(BaseException):
    """A signal asked the command to end. Like KeyboardInterrupt it is no Exception, so that it is not caught as one."""

    def __init__(self, number: int = signal.SIGTERM) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


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


class EndSignals:
    """Within it SIGINT and SIGTERM raise Terminated inside of `interruptible`, and call `wake` everywhere else.

    So the command is not cut off where it would leave things half done: what it has polled is noted, what it closes is
    closed. It has to look at `came` by itself, and `wake` has to end its waits, also one that begins afterwards.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.wake: Callable[[], object] = lambda: None
        """Ends the waiting, at once or a little later."""
        self._now = now
        self._first_at = 0.0
        self._number: int | None = None
        self._is_interruptible = False
        self._before: dict[int, Any] = {}

    @property
    def came(self) -> bool:
        """Whether the command is to end."""
        return self._number is not None

    @property
    def exit_code(self) -> int:
        """0 as long as no signal came, else what a process that it ends leaves behind."""
        return 0 if self._number is None else 128 + self._number

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            before = signal.getsignal(number)
            if before is not signal.SIG_IGN:  # ignored by a script for its background commands
                self._before[number] = before
                signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self._number is not None:
            if self._now() - self._first_at >= ONE_REQUEST_S:
                raise Terminated(number)
            return
        self._first_at = self._now()
        self._number = number
        if self._is_interruptible:
            raise Terminated(number)
        self.wake()

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Around work that may be interrupted anywhere, such as output that is not read."""
        self._is_interruptible = True
        try:
            yield
        finally:
            self._is_interruptible = False
