"""Rebalances that the manager carries out: one at a time per cluster, on the manager's loop.

What is done is kept in a file per cluster in the data folder, so an execution that ended with the manager is offered to
be resumed. A manager that ends in an orderly way cancels the running batch first and removes the throttles.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from kafka_py.base.clock import Clock
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.manager.clusters import ManagedCluster
from kafka_py.manager.services import ManagerServices
from kafka_py.operations.rebalancing.cancelling import cancel_plan
from kafka_py.operations.rebalancing.carriers import BrokerCarrier, reassigns_by_request
from kafka_py.operations.rebalancing.execution import RebalanceRun
from kafka_py.operations.rebalancing.model import RebalanceRefused
from kafka_py.operations.rebalancing.plan_file import PlanState, read_state
from kafka_py.operations.rebalancing.progress import RunProgress
from kafka_py.operations.rebalancing.run_tools import RunTools, run_tools

PART = "rebalances"
"""The name among the parts of the manager."""
END_TIMEOUT_S = 20.0

_log = logging.getLogger(__name__)


class RebalanceJob:
    """One execution. outcome: a sentence once it has ended. progress: the latest, None before the first."""

    def __init__(self, cluster: ManagedCluster, state: PlanState, path: Path, environment: ClientEnvironment) -> None:
        self.state = state
        self.progress: RunProgress | None = None
        self.outcome = ""
        self._path = path
        self._wake = asyncio.Event()
        self._run: RebalanceRun | None = None
        self._asked = ""
        self._task = asyncio.ensure_future(self._carry_out(cluster, environment))

    @property
    def is_running(self) -> bool:
        return not self._task.done()

    async def _carry_out(self, cluster: ManagedCluster, environment: ClientEnvironment) -> None:
        properties = {"client.id": "kafka-manager-rebalance", **cluster.settings.client_properties()}
        try:
            async with AsyncAdminClient(properties, environment=environment) as admin:
                tools = await tools_of(admin, self._path, self._wake, self._report, environment.clock)
                self._run = RebalanceRun(self.state, tools)
                self._pass_on()
                self.outcome = f"The rebalance ended: {await self._run.carry_out()}."
        except asyncio.CancelledError:
            self.outcome = "The rebalance was interrupted."
            raise
        except Exception as error:
            _log.warning("The rebalance of %s failed: %s", cluster.name, error)
            self.outcome = f"The rebalance failed: {error}"

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


async def tools_of(
    admin: AsyncAdminClient, path: Path, wake: asyncio.Event, report: Callable[[RunProgress], None], clock: Clock
) -> RunTools:
    """The tools of a run. Raises RebalanceRefused for brokers that take no reassignments by request."""
    if not await reassigns_by_request(admin):
        raise RebalanceRefused(
            "These brokers take no reassignments by request (2.4 and later do): use kafka-py rebalance --zookeeper"
        )
    return run_tools(admin, BrokerCarrier(admin), path, wake, report, clock)


class RebalanceJobs:
    """The executions of a manager, by cluster; one that has ended stays until the next begins."""

    def __init__(self, folder: Path, environment: ClientEnvironment) -> None:
        self._folder = folder
        self._environment = environment
        self._jobs: dict[str, RebalanceJob] = {}
        self._abandoned: set[str] = set()
        """Clusters whose execution is being cancelled."""

    def job(self, cluster: str) -> RebalanceJob | None:
        """The running or the last execution."""
        return self._jobs.get(cluster)

    def interrupted(self, cluster: str) -> PlanState | None:
        """The state of an execution that has not ended and does not run."""
        job = self._jobs.get(cluster)
        if job is not None and job.is_running:
            return None
        try:
            state = read_state(self._path(cluster))
        except (OSError, RebalanceRefused):
            return None
        return state if not state.is_finished and (state.pending or state.has_throttles) else None

    def _path(self, cluster: str) -> Path:
        return self._folder / f"{cluster}.json"

    def start(self, cluster: ManagedCluster, state: PlanState) -> RebalanceJob:
        """Begins an execution. Raises RebalanceRefused while another one runs."""
        before = self._jobs.get(cluster.name)
        if before is not None and before.is_running:
            raise RebalanceRefused("A rebalance of this cluster is being carried out")
        if cluster.name in self._abandoned:
            raise RebalanceRefused("A rebalance of this cluster is being cancelled")
        job = RebalanceJob(cluster, state, self._path(cluster.name), self._environment)
        self._jobs[cluster.name] = job
        return job

    async def abandon(self, cluster: ManagedCluster, state: PlanState) -> int:
        """Cancels what runs of an interrupted execution, and forgets it. Returns how many partitions that were.

        Raises RebalanceRefused where it was resumed or is being cancelled already.
        """
        job = self._jobs.get(cluster.name)
        if cluster.name in self._abandoned or (job is not None and job.is_running):
            raise RebalanceRefused("It was resumed, or is being cancelled already")
        self._abandoned.add(cluster.name)
        try:
            return await self._cancel(cluster, state)
        finally:
            self._abandoned.discard(cluster.name)

    async def _cancel(self, cluster: ManagedCluster, state: PlanState) -> int:
        path = self._path(cluster.name)

        def ignore(_progress: RunProgress) -> None:
            pass

        tools = await tools_of(cluster.admin, path, asyncio.Event(), ignore, self._environment.clock)
        cancelled = await cancel_plan(state, tools)
        if not state.brokers:
            await asyncio.to_thread(path.unlink, missing_ok=True)
        return len(cancelled)

    async def close(self) -> None:
        """Ends all executions; their states are kept."""
        running = [job for job in self._jobs.values() if job.is_running]
        await asyncio.gather(*(job.end() for job in running))


@contextlib.asynccontextmanager
async def rebalancing(services: ManagerServices) -> AsyncIterator[None]:
    """The jobs among the parts of the manager, as long as it runs."""
    with services.folder_of(PART) as folder:
        jobs = services.parts[PART] = RebalanceJobs(folder, services.environment)
        try:
            yield
        finally:
            await jobs.close()
