"""Processes that keep all processors busy and do nothing else: what a full machine alone does to the other user."""

from __future__ import annotations

import os
import time
from ctypes import c_bool
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from typing import Any

_LOOK_ROUNDS = 10_000
_PAUSE_S = 0.01


class Spinners:
    """One process for each processor; they rest until `go`."""

    def __init__(self) -> None:
        context = get_context("spawn")
        self._goes = context.Value(c_bool, False)
        self._processes: list[BaseProcess] = [
            context.Process(target=_run, args=(self._goes,), daemon=True) for _ in range(os.cpu_count() or 1)
        ]
        for each in self._processes:
            each.start()

    def go(self, goes: bool) -> None:
        self._goes.value = goes

    def stop(self) -> None:
        for each in self._processes:
            each.terminate()
            each.join()


def _run(goes: Any) -> None:
    parent = os.getppid()
    while os.getppid() == parent:
        if goes.value:
            for _ in range(_LOOK_ROUNDS):
                pass
        else:
            time.sleep(_PAUSE_S)
