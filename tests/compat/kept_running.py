"""Programs that are started again whenever they have ended, as a service manager does."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from kafka_py.testing.processes import Process


class KeptRunning(Process):
    """A program; `starts` counts how often it was started."""

    starts = 0

    def keep_running(self) -> None:
        if not self.running:
            self.start()
            self.starts += 1


class Supervisor:
    """Starts programs that have ended, as long as it is not stopped."""

    def __init__(self, programs: Sequence[KeptRunning]) -> None:
        self.programs = programs
        self._end = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._end.wait(0.3):
                for program in self.programs:
                    program.keep_running()
        except BaseException as error:
            self._failure = error

    def stop(self) -> None:
        """Starts nothing from now on, and kills what runs."""
        self._end.set()
        self._thread.join()
        for program in self.programs:
            program.kill()
        assert self._failure is None, self._failure
