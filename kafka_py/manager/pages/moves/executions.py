"""Plans that are carried out: how far one is, and how it is stopped, resumed and cancelled. For every kind of plan."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kafka_py.manager.execution_jobs import ExecutionJobs
from kafka_py.manager.web.answers import Effect, PlannedChange
from kafka_py.manager.web.formats import part
from kafka_py.manager.web.requests import BadParameter, NotFound, PageRequest
from kafka_py.operations.rebalancing.model import RebalanceRefused
from kafka_py.operations.rebalancing.plan_file import RunState
from kafka_py.operations.rebalancing.summary import duration_text

MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class ExecutionProgressPage:
    """How far an execution is. percent: of the bytes, without any of the moves. outcome: once it has ended.

    done, total, moving, interrupted: partitions of a rebalance, replicas of a plan for log directories. interrupted: of
    an execution that did not end, those that are left. has_throttles: that execution has left throttles, whether or not
    anything is left to be moved.
    """

    is_running: bool
    done: int
    total: int
    copied_bytes: int
    total_bytes: int
    percent: int
    moving: int
    left: str
    note: str
    outcome: str
    interrupted: int
    has_throttles: bool


@dataclass(frozen=True, slots=True)
class Executions:
    """One kind of plan on its pages.

    part: the jobs among the parts of the manager. folder: of its pages. noun: what is carried out. moved: what moves,
    in the plural.
    """

    part: str
    folder: str
    noun: str
    moved: str

    def jobs(self, request: PageRequest) -> ExecutionJobs[Any]:
        """The executions of this manager."""
        jobs: ExecutionJobs[Any] = request.services.parts[self.part]
        return jobs

    def back(self, request: PageRequest) -> str:
        return f"/clusters/{part(request.cluster.name)}/{self.folder}"

    def progress(self, request: PageRequest) -> ExecutionProgressPage:
        """The execution that runs, or ran last."""
        jobs = self.jobs(request)
        job = jobs.job(request.cluster.name)
        interrupted = jobs.interrupted(request.cluster.name)
        progress = None if job is None else job.progress
        left = 0 if interrupted is None else len(interrupted.pending)
        has_throttles = interrupted is not None and interrupted.has_throttles
        running = job is not None and job.is_running
        outcome = "" if job is None else job.outcome
        if progress is None:
            return ExecutionProgressPage(running, 0, 0, 0, 0, 0, 0, "", "", outcome, left, has_throttles)
        done, total = progress.done, progress.total
        if progress.total_bytes:
            done, total = progress.copied_bytes, progress.total_bytes
        return ExecutionProgressPage(
            running, progress.done, progress.total, progress.copied_bytes, progress.total_bytes,
            100 * done // total if total else 100, progress.moving, duration_text(progress.left_s), progress.note,
            outcome, left, has_throttles,
        )  # fmt: skip

    def require_no_throttles(self, request: PageRequest) -> None:
        """Raises BadParameter where the throttles of an interrupted execution are set."""
        before = self.jobs(request).interrupted(request.cluster.name)
        if before is not None and before.has_throttles:
            raise BadParameter(f"An interrupted {self.noun} has left throttles: resume or cancel it first")

    def start(self, request: PageRequest, state: RunState[Any, Any]) -> None:
        """Begins an execution. Raises BadParameter while another one runs."""
        with _refusals():
            self.jobs(request).start(request.cluster, state)

    async def stop(self, request: PageRequest) -> PlannedChange:
        """Ends the running execution, after its batch or with that cancelled."""
        how = request.choice("how", ("finish", "cancel"), "finish")
        job = self.jobs(request).job(request.cluster.name)
        if job is None or not job.is_running:
            raise NotFound(f"No {self.noun} is being carried out")

        async def apply() -> str:
            job.ask(how)
            if how == "finish":
                return f"The {self.noun} ends after its batch."
            return "The running batch is being cancelled."

        effect = Effect("running batch", "", "is finished" if how == "finish" else "is cancelled")
        return PlannedChange(f"Stop the {self.noun}", "", apply, self.back(request), [effect])

    async def resume(self, request: PageRequest) -> PlannedChange:
        """Continues an interrupted execution."""
        state = self._interrupted(request)

        async def apply() -> str:
            self.start(request, state)
            return f"The {self.noun} continues."

        effect = Effect(self.moved, f"{len(state.pending)} of {len(state.steps)} left", "all in place")
        return PlannedChange(f"Resume the {self.noun}", "", apply, self.back(request), [effect])

    async def abandon(self, request: PageRequest) -> PlannedChange:
        """Cancels what runs of an interrupted execution, and forgets it."""
        state = self._interrupted(request)

        async def apply() -> str:
            with _refusals():
                count = await self.jobs(request).abandon(request.cluster, state)
            if state.has_throttles:
                brokers = ", ".join(sorted(state.brokers))
                return f"{count} moves were cancelled. The throttle of broker {brokers} is still set: it is not live."
            return f"{count} moves were cancelled, and the throttles removed."

        effect = Effect(self.moved, f"{len(state.pending)} of {len(state.steps)} left", "stay where they are")
        return PlannedChange(f"Cancel the interrupted {self.noun}", "", apply, self.back(request), [effect])

    def _interrupted(self, request: PageRequest) -> RunState[Any, Any]:
        state: RunState[Any, Any] | None = self.jobs(request).interrupted(request.cluster.name)
        if state is None:
            raise NotFound(f"No {self.noun} was interrupted")
        return state


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """RebalanceRefused becomes BadParameter."""
    try:
        yield
    except RebalanceRefused as error:
        raise BadParameter(str(error)) from None
