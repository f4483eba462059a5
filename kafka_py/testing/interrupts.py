"""KeyboardInterrupt as Ctrl-C would raise it: at a moment that a test draws, or at each one in turn."""

from __future__ import annotations

import contextlib
import dis
import signal
import sys
import threading
from collections.abc import Collection, Iterator, Sequence
from types import CodeType, FrameType, TracebackType
from typing import Any, Self

from kafka_py.testing.processes import wait_until

PUT_OFF_S = 2e-5
WAITS_WITHIN_S = 30.0

_LOOKS = frozenset({"CALL", "CALL_FUNCTION_EX", "JUMP_BACKWARD", "RESUME"})
"""Instructions after which CPython looks for signals."""


class Interrupts:
    """SIGALRM raises KeyboardInterrupt in the main thread while `armed`. raised: how often it did.

    spared: code in which it is put off for a moment, such as a line that takes down what the test looks at afterwards.
    """

    def __init__(self, spared: Collection[CodeType] = ()) -> None:
        self.armed = False
        self.raised = 0
        self._spared = spared

    def on_signal(self, _number: int, frame: FrameType | None) -> None:
        if self.armed and frame is not None and frame.f_code in self._spared:
            signal.setitimer(signal.ITIMER_REAL, PUT_OFF_S)
        elif self.armed:
            self.armed = False
            self.raised += 1
            raise KeyboardInterrupt

    def within(self, seconds: float) -> None:
        """One interrupt, so many seconds from now. To be called inside of the `try` that catches it."""
        self.armed = True
        signal.setitimer(signal.ITIMER_REAL, seconds)


@contextlib.contextmanager
def interrupts(spared: Collection[CodeType] = ()) -> Iterator[Interrupts]:
    """The signal is ours within the block; the main thread only."""
    made = Interrupts(spared)
    before = signal.signal(signal.SIGALRM, made.on_signal)
    try:
        yield made
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def signal_behind(code: CodeType, number: int = signal.SIGALRM) -> None:
    """A signal that interrupts no wait of the main thread, once that thread is in `code`; not for that thread itself.

    It is the calling thread that receives it. So it is with a signal that arrives just before the main thread begins
    to wait: Python knows of it, but runs its handler only when the main thread executes instructions again.
    """
    main = threading.main_thread().ident
    assert main is not None
    frames = sys._current_frames  # noqa: SLF001, no other name shows where another thread is
    wait_until(lambda: frames()[main].f_code is code, WAITS_WITHIN_S, f"the main thread in {code.co_name}")
    signal.pthread_kill(threading.get_ident(), number)


class InterruptAt:
    """KeyboardInterrupt at one of the moments at which Python may run a signal's handler, counted from 1.

    These are, in CPython 3.11, the end of a call of what is written in C, the begin of a function and the end of a
    loop's turn. Only moments in `files` count, given as ends of their paths. came: whether there was such a moment.
    """

    def __init__(self, moment: int, files: Sequence[str]) -> None:
        self.came = False
        self._left = moment
        self._files = tuple(files)
        self._calling: set[FrameType] = set()
        self._before: Any = None

    def __enter__(self) -> Self:
        self._before = sys.gettrace()
        sys.settrace(self._on_call)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.settrace(self._before)
        self._calling.clear()

    def _on_call(self, frame: FrameType, _event: str, _argument: object) -> Any:
        if frame.f_back is not None:
            self._calling.add(frame.f_back)  # what it calls is written in Python
        if not frame.f_code.co_filename.endswith(self._files):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        code, last = frame.f_code.co_code, -1

        def on_opcode(frame: FrameType, event: str, _argument: object) -> Any:
            nonlocal last
            if event == "opcode":
                before, last = last, frame.f_lasti
                ended = before >= 0 and dis.opname[code[before]] in _LOOKS and frame not in self._calling
                self._calling.discard(frame)
                if ended and not self.came:
                    self._left -= 1
                    if not self._left:
                        self.came = True
                        raise KeyboardInterrupt
            return on_opcode

        return on_opcode
