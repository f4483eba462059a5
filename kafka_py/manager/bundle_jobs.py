"""Support archives that the manager makes in the background: one at a time, of which the last one of each cluster is
kept for a while, in a temporary folder that only the manager's user may read.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import kafka_py
from kafka_py.base.clock import Clock
from kafka_py.base.supervision import Supervisor
from kafka_py.manager.bundle_process import ArchiveMade, ArchiveRequest
from kafka_py.manager.clusters import ManagedCluster
from kafka_py.manager.services import ManagerServices

PART = "bundles"
"""The name among the parts of the manager."""
PROCESS = "kafka_py.manager.bundle_process"
TIMEOUT_S = 120.0
KEPT_MS = 30 * 60_000
LOOK_S = 60.0
"""How often archives that are too old are looked for."""

MakeArchive = Callable[[ArchiveRequest], Awaitable[ArchiveMade]]


class BundleBusy(Exception):
    """An archive is being made; each needs memory and a processor."""


class BundleJob:
    """One archive. made: once it is there, or has failed. ended_at: on the monotonic clock."""

    def __init__(self, cluster: ManagedCluster, folder: Path, make: MakeArchive, clock: Clock) -> None:
        self.cluster = cluster
        self.begun_ms = clock.wall_ms()
        self.made: ArchiveMade | None = None
        self.ended_at = float("inf")
        stem = f"kafka-py-bundle-{cluster.name}-{datetime.fromtimestamp(self.begun_ms / 1000, UTC):%Y%m%dT%H%M%SZ}"
        self.path = folder / f"{stem}.tar.gz"
        self._clock = clock
        settings = cluster.settings
        request = ArchiveRequest(settings.client_properties(), settings.zookeeper or "", str(self.path), stem)
        self._task = asyncio.ensure_future(self._run(make, request))

    @property
    def is_running(self) -> bool:
        return not self._task.done()

    async def _run(self, make: MakeArchive, request: ArchiveRequest) -> None:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                self.made = await make(request)
        except TimeoutError:
            self.made = ArchiveMade(problem=f"It took longer than {TIMEOUT_S:.0f} s, and was ended")
        except (OSError, ValueError) as error:
            self.made = ArchiveMade(problem=str(error))
        finally:
            self.ended_at = self._clock.monotonic_ms()

    async def wait(self) -> None:
        """Until it has ended."""
        await asyncio.wait([self._task])

    async def end(self) -> None:
        """Cancels it, and removes its file."""
        self._task.cancel()
        await self.wait()
        await asyncio.to_thread(self.path.unlink, missing_ok=True)


class BundleJobs:
    """The archives of a manager."""

    def __init__(self, folder: Path, make: MakeArchive, clock: Clock) -> None:
        self._folder = folder
        self._make = make
        self._clock = clock
        self._jobs: dict[str, BundleJob] = {}

    def job(self, cluster: ManagedCluster) -> BundleJob | None:
        """The last one of this cluster, unless it is too old; one that was added again by that name is another."""
        job = self._jobs.get(cluster.name)
        return job if job is not None and job.cluster is cluster and not self._is_old(job) else None

    def _is_old(self, job: BundleJob) -> bool:
        return self._clock.monotonic_ms() - job.ended_at >= KEPT_MS

    async def begin(self, cluster: ManagedCluster) -> BundleJob:
        """Begins an archive, and removes the one before and those that are too old. Raises BundleBusy."""
        if any(job.is_running for job in self._jobs.values()):
            raise BundleBusy("An archive is being made: wait until it is there")
        gone = [name for name, job in self._jobs.items() if name == cluster.name or self._is_old(job)]
        ended = [self._jobs.pop(name) for name in gone]
        job = self._jobs[cluster.name] = BundleJob(cluster, self._folder, self._make, self._clock)
        for each in ended:
            if each.path != job.path:
                await each.end()
        return job

    async def remove_old(self) -> None:
        """Removes the archives that are no longer given: each has the settings and logs of a cluster."""
        for name in [name for name, job in self._jobs.items() if self._is_old(job)]:
            await self._jobs.pop(name).end()

    async def close(self) -> None:
        """Ends the one that runs."""
        await asyncio.gather(*(job.end() for job in self._jobs.values()))


async def make_in_process(request: ArchiveRequest) -> ArchiveMade:
    """Makes an archive in a process, which ends with the waiting for it. Raises OSError, ValueError."""
    root = str(Path(kafka_py.__file__).parents[1])
    paths = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", PROCESS, env={**os.environ, "PYTHONPATH": paths},
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        answer, _ = await process.communicate(json.dumps(request._asdict()).encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise OSError(f"its process ended with {process.returncode}")
    return ArchiveMade(**json.loads(answer))


@contextlib.asynccontextmanager
async def bundling(services: ManagerServices) -> AsyncIterator[None]:
    """The archives among the parts of the manager; they are removed when it ends."""
    with tempfile.TemporaryDirectory(prefix="kafka-manager-") as folder:
        clock = services.environment.clock
        jobs = services.parts[PART] = BundleJobs(Path(folder), make_in_process, clock)

        async def remove_old() -> None:
            await jobs.remove_old()
            await asyncio.sleep(LOOK_S)

        supervisor = Supervisor(clock)
        supervisor.loop(remove_old, "removal of old support archives")
        try:
            yield
        finally:
            await supervisor.close()
            await jobs.close()
