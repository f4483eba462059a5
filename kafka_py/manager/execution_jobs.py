"""Plans that the manager carries out: of each kind one at a time per cluster, on the manager's loop.

What is done is kept in a file per cluster in the data folder, so an execution that ended with the manager is offered to
be resumed. A manager that ends in an orderly way cancels the running batch first and removes the throttles.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from kafka_py.base.clock import Clock
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.manager.clusters import ManagedCluster
from kafka_py.manager.services import ManagerServices
from kafka_py.operations.rebalancing.model import RebalanceRefused
from kafka_py.operations.rebalancing.plan_file import RunState
from kafka_py.operations.rebalancing.progress import InterruptibleRun, RunProgress

END_TIMEOUT_S = 20.0

_log = logging.getLogger(__name__)

State = TypeVar("State", bound=RunState[Any, Any])


@dataclass(frozen=True, slots=True)
class RunPlace:
    """Where a run is at work. path: of its state. wake: ends a pause once. report: gets the progress."""

    admin: AsyncAdminClient
    path: Path
    wake: asyncio.Event
    report: Callable[[RunProgress], None]
    clock: Clock


@dataclass(frozen=True, slots=True)
class ExecutionKind(Generic[State]):
    """What is carried out.

    subject: in sentences, such as `The rebalance`. client_id: of its requests. read: the state in a file; raises
    RebalanceRefused, OSError. run: a run that is to begin. cancel: cancels what runs of a state, and returns how much
    that was. Both may raise RebalanceRefused, KafkaError.
    """

    subject: str
    client_id: str
    read: Callable[[Path], State]
    run: Callable[[State, RunPlace], Awaitable[InterruptibleRun]]
    cancel: Callable[[State, RunPlace], Awaitable[int]]


class ExecutionJob(Generic[State]):
    """One execution. outcome: a sentence once it has ended. progress: the latest, None before the first."""

    def __init__(
        self, kind: ExecutionKind[State], cluster: ManagedCluster, state: State, path: Path,
        environment: ClientEnvironment,
    ) -> None:  # fmt: skip
        self.state = state
        self.progress: RunProgress | None = None
        self.outcome = ""
        self._kind = kind
        self._path = path
        self._wake = asyncio.Event()
        self._run: InterruptibleRun | None = None
        self._asked = ""
        self._task = asyncio.ensure_future(self._carry_out(cluster, environment))

    @property
    def is_running(self) -> bool:
        return not self._task.done()

    async def _carry_out(self, cluster: ManagedCluster, environment: ClientEnvironment) -> None:
        properties = {"client.id": self._kind.client_id, **cluster.settings.client_properties()}
        subject = self._kind.subject
        try:
            async with AsyncAdminClient(properties, environment=environment) as admin:
                place = RunPlace(admin, self._path, self._wake, self._report, environment.clock)
                self._run = await self._kind.run(self.state, place)
                self._pass_on()
                self.outcome = f"{subject} ended: {await self._run.carry_out()}."
        except asyncio.CancelledError:
            self.outcome = f"{subject} was interrupted."
            raise
        except Exception as error:
            _log.warning("%s of %s failed: %s", subject, cluster.name, error)
            self.outcome = f"{subject} failed: {error}"

    def _report(self, progress: RunProgress) -> None:
        self.progress = progress

    def ask(self, what: str) -> None:
        """`finish`: ends after the running batch. `cancel`: cancels that as well."""
        self._asked = what
        self._pass_on()
        self._wake.set()

    def _pass_on(self) -> None:
        if self._run is not None and self._asked:
            self._run.stop = True
            self._run.cancel = self._run.cancel or self._asked == "cancel"

    async def end(self) -> None:
        """Cancels the batch and waits; what does not end in time stays as it is."""
        self.ask("cancel")
        done, _ = await asyncio.wait([self._task], timeout=END_TIMEOUT_S)
        if not done:
            self._task.cancel()
            await asyncio.wait([self._task])


class ExecutionJobs(Generic[State]):
    """The executions of one kind, by cluster; one that has ended stays until the next begins."""

    def __init__(self, kind: ExecutionKind[State], folder: Path, environment: ClientEnvironment) -> None:
        self._kind = kind
        self._folder = folder
        self._environment = environment
        self._jobs: dict[str, ExecutionJob[State]] = {}
        self._abandoned: set[str] = set()
        """Clusters whose execution is being cancelled."""

    def job(self, cluster: str) -> ExecutionJob[State] | None:
        """The running or the last execution."""
        return self._jobs.get(cluster)

    def is_running(self, cluster: str) -> bool:
        job = self._jobs.get(cluster)
        return job is not None and job.is_running

    def interrupted(self, cluster: str) -> State | None:
        """The state of an execution that has not ended and does not run."""
        if self.is_running(cluster):
            return None
        try:
            state = self._kind.read(self._path(cluster))
        except (OSError, RebalanceRefused):
            return None
        return state if not state.is_finished and (state.pending or state.has_throttles) else None

    def _path(self, cluster: str) -> Path:
        return self._folder / f"{cluster}.json"

    def start(self, cluster: ManagedCluster, state: State) -> ExecutionJob[State]:
        """Begins an execution.

        Raises RebalanceRefused while another one runs, or where the throttles of an interrupted one would be forgotten.
        """
        if self.is_running(cluster.name):
            raise RebalanceRefused(f"{self._kind.subject} of this cluster is being carried out")
        if cluster.name in self._abandoned:
            raise RebalanceRefused(f"{self._kind.subject} of this cluster is being cancelled")
        before = self.interrupted(cluster.name)
        if before is not None and before.has_throttles and not state.has_throttles:
            raise RebalanceRefused("An interrupted execution has left throttles: resume or cancel it first")
        job = ExecutionJob(self._kind, cluster, state, self._path(cluster.name), self._environment)
        self._jobs[cluster.name] = job
        return job

    async def abandon(self, cluster: ManagedCluster, state: State) -> int:
        """Cancels what runs of an interrupted execution, and forgets it. Returns how many moves that were.

        Raises RebalanceRefused where it was resumed or is being cancelled already.
        """
        if cluster.name in self._abandoned or self.is_running(cluster.name):
            raise RebalanceRefused("It was resumed, or is being cancelled already")
        self._abandoned.add(cluster.name)
        try:
            return await self._cancel(cluster, state)
        finally:
            self._abandoned.discard(cluster.name)

    async def _cancel(self, cluster: ManagedCluster, state: State) -> int:
        path = self._path(cluster.name)

        def ignore(_progress: RunProgress) -> None:
            pass

        place = RunPlace(cluster.admin, path, asyncio.Event(), ignore, self._environment.clock)
        cancelled = await self._kind.cancel(state, place)
        if not state.has_throttles:
            await asyncio.to_thread(path.unlink, missing_ok=True)
        return cancelled

    async def close(self) -> None:
        """Ends all executions; their states are kept."""
        running = [job for job in self._jobs.values() if job.is_running]
        await asyncio.gather(*(job.end() for job in running))


@contextlib.asynccontextmanager
async def executing(services: ManagerServices, part: str, kind: ExecutionKind[Any]) -> AsyncIterator[None]:
    """The jobs of one kind among the parts of the manager, as long as it runs."""
    with services.folder_of(part) as folder:
        jobs = services.parts[part] = ExecutionJobs(kind, folder, services.environment)
        try:
            yield
        finally:
            await jobs.close()
