"""Examinations by the doctor in the background: one at a time per cluster, of which everybody who asks gets the report.

The last report of a cluster is kept until the next one; it ends with the manager.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

from kafka_py.base.clock import Clock
from kafka_py.base.errors import KafkaError
from kafka_py.manager.clusters import ManagedCluster
from kafka_py.manager.services import ManagerServices
from kafka_py.operations.doctor.diagnosis import diagnose
from kafka_py.operations.doctor.examine import DoctorRequest
from kafka_py.operations.doctor.findings import DoctorReport

PART = "examinations"
"""The name among the parts of the manager."""
STEP_TIMEOUT_S = 3.0
TIMEOUT_S = 60.0
"""For a whole examination, so that one that hangs does not keep the next from beginning."""
FRESH_MS = 10_000
"""So long after its end an examination is shown without another one."""

_log = logging.getLogger(__name__)

Examine = Callable[[ManagedCluster], Awaitable[DoctorReport]]


class ClusterExaminations:
    """Those of one cluster.

    report: the last one. ended_ms: when it was complete, on the wall clock. failure: why there is no newer one.
    A cluster that was removed and added again is another one.
    """

    def __init__(self, cluster: ManagedCluster, examine: Examine, clock: Clock) -> None:
        self.cluster = cluster
        self.report: DoctorReport | None = None
        self.ended_ms: int | None = None
        self.failure: Exception | None = None
        self._examine = examine
        self._clock = clock
        self._ended_at = -float("inf")
        self._task: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    @property
    def is_fresh(self) -> bool:
        """Whether the last one, also one that has failed, ended just now."""
        return self._clock.monotonic_ms() - self._ended_at < FRESH_MS

    def begin(self) -> None:
        """Begins one, unless one runs."""
        if not self.is_running:
            self._task = asyncio.ensure_future(self._run())

    async def wait(self) -> None:
        """Until the running one has ended; it continues when the waiting is cancelled."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                report = await self._examine(self.cluster)
            self.report, self.failure, self.ended_ms = report, None, self._clock.wall_ms()
        except TimeoutError:
            self.failure = TimeoutError(f"The examination took longer than {TIMEOUT_S:.0f} s, and was ended")
        except Exception as error:
            if not isinstance(error, KafkaError | OSError):
                _log.warning("The examination of %s failed", self.cluster.name, exc_info=error)
            self.failure = error
        finally:
            self._ended_at = self._clock.monotonic_ms()

    async def end(self) -> None:
        """Cancels the running one."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])


class Examinations:
    """The examinations of all clusters of a manager."""

    def __init__(self, examine: Examine, clock: Clock) -> None:
        self._examine = examine
        self._clock = clock
        self._of: dict[str, ClusterExaminations] = {}

    def of(self, cluster: ManagedCluster) -> ClusterExaminations:
        """Those of this cluster."""
        found = self._of.get(cluster.name)
        if found is None or found.cluster is not cluster:
            found = self._of[cluster.name] = ClusterExaminations(cluster, self._examine, self._clock)
        return found

    async def close(self) -> None:
        """Ends all that run."""
        await asyncio.gather(*(each.end() for each in self._of.values()))


@contextlib.asynccontextmanager
async def examining(services: ManagerServices) -> AsyncIterator[None]:
    """The examinations among the parts of the manager, as long as it runs."""

    async def examine(cluster: ManagedCluster) -> DoctorReport:
        settings = cluster.settings
        zookeeper = settings.zookeeper or None
        asked = DoctorRequest(settings.client_properties(), zookeeper=zookeeper, timeout_s=STEP_TIMEOUT_S)
        return await diagnose(asked, services.environment)

    examinations = services.parts[PART] = Examinations(examine, services.environment.clock)
    try:
        yield
    finally:
        await examinations.close()
