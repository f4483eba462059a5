"""KeyboardInterrupt as Ctrl-C would raise it: at a moment that a test draws, or at each one in turn."""

from __future__ import annotations

import contextlib
import dis
import gc
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from types import CodeType, FrameType, TracebackType
from typing import Any, NoReturn, Self

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


def wait_for_main_thread(code: CodeType) -> None:
    """Waits until the main thread is in `code`: for another thread that knows it to wait there."""
    main = threading.main_thread().ident
    assert main is not None
    frames = sys._current_frames  # noqa: SLF001, no other name shows where another thread is
    wait_until(lambda: frames()[main].f_code is code, WAITS_WITHIN_S, f"the main thread in {code.co_name}")


def signal_behind(code: CodeType, number: int = signal.SIGALRM) -> None:
    """A signal that interrupts no wait of the main thread, once that thread is in `code`; not for that thread itself.

    It is the calling thread that receives it. So it is with a signal that arrives just before the main thread begins
    to wait: Python knows of it, but runs its handler only when the main thread executes instructions again.
    """
    wait_for_main_thread(code)
    signal.pthread_kill(threading.get_ident(), number)


def _interrupt() -> NoReturn:
    raise KeyboardInterrupt


class InterruptAt:
    """KeyboardInterrupt at one of the moments at which Python may run a signal's handler, counted from 1.

    These are the begin of a function, the end of a loop's turn and the end of a call: CPython 3.11 looks for signals
    after calls of what is written in C, which may have called Python in turn. Only moments in `files` count, given as
    ends of their paths. came: whether there was such a moment. strike: what else is to happen then, such as a real
    signal.

    Cyclic garbage is not collected meanwhile: Python drops an exception in a finalizer, such as that of an event loop
    of another test.
    """

    def __init__(self, moment: int, files: Sequence[str], strike: Callable[[], object] = _interrupt) -> None:
        self.came = False
        self._left = moment
        self._files = tuple(files)
        self._strike = strike
        self._before: Any = None
        self._collects = False

    def __enter__(self) -> Self:
        self._collects = gc.isenabled()
        gc.disable()
        self._before = sys.gettrace()
        sys.settrace(self._on_call)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.settrace(self._before)
        if self._collects:
            gc.enable()

    def _on_call(self, frame: FrameType, _event: str, _argument: object) -> Any:
        if not frame.f_code.co_filename.endswith(self._files):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        code, last = frame.f_code.co_code, -1

        def on_opcode(frame: FrameType, event: str, _argument: object) -> Any:
            nonlocal last
            if event == "opcode":
                before, last = last, frame.f_lasti
                if before >= 0 and dis.opname[code[before]] in _LOOKS and not self.came:
                    self._left -= 1
                    if not self._left:
                        self.came = True
                        self._strike()
            return on_opcode

        return on_opcode
