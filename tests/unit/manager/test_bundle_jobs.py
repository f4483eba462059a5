"""Support archives in the background: one at a time, the last one is kept for a while, none without an end."""

import asyncio
import json
import os
import tarfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from kafka_py.base.chance import Chance
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.manager import bundle_jobs
from kafka_py.manager.bundle_jobs import KEPT_MS, PART, BundleBusy, BundleJobs, make_in_process
from kafka_py.manager.bundle_process import ArchiveMade, ArchiveRequest, is_secret
from kafka_py.manager.clusters import ManagedCluster
from kafka_py.manager.services import ManagerServices
from kafka_py.manager.settings import ClusterSettings
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.processes import wait_until


class HeldMaker:
    """Writes a file when it is let. ended: how many of them have ended, in whatever way."""

    def __init__(self) -> None:
        self.go, self.failure, self.ended = asyncio.Event(), "", 0

    async def __call__(self, request: ArchiveRequest) -> ArchiveMade:
        try:
            await self.go.wait()
            if self.failure:
                raise OSError(self.failure)
            await asyncio.to_thread(Path(request.path).write_bytes, b"archive")
            return ArchiveMade(1, 7)
        finally:
            self.ended += 1


def cluster(name: str = "test", **properties: str) -> ManagedCluster:
    return ManagedCluster(ClusterSettings(name, "localhost:1", properties), ClientEnvironment(chance=Chance(1)))


def played(folder: Path, scene: Callable[[BundleJobs, HeldMaker, ManualClock], Awaitable[None]]) -> None:
    async def run() -> None:
        maker, clock = HeldMaker(), ManualClock()
        await scene(BundleJobs(folder, maker, clock), maker, clock)

    asyncio.run(run())


def test_one_is_made_at_a_time_also_of_another_cluster(tmp_path: Path) -> None:
    async def scene(jobs: BundleJobs, maker: HeldMaker, _clock: ManualClock) -> None:
        one, two = cluster("one"), cluster("two")
        first = await jobs.begin(one)
        for each in (one, two):
            with pytest.raises(BundleBusy):
                await jobs.begin(each)
        maker.go.set()
        await first.wait()
        await (await jobs.begin(two)).wait()
        assert first.made == ArchiveMade(1, 7) and jobs.job(one) is first and first.path.exists()

    played(tmp_path, scene)


def test_an_archive_is_kept_for_a_while_and_removed_with_the_next(tmp_path: Path) -> None:
    async def scene(jobs: BundleJobs, maker: HeldMaker, clock: ManualClock) -> None:
        maker.go.set()
        one, two = cluster("one"), cluster("two")
        await (await jobs.begin(one)).wait()
        clock.advance(KEPT_MS - 1)
        assert jobs.job(one) is not None
        clock.advance(1)
        assert jobs.job(one) is None
        await (await jobs.begin(two)).wait()

    played(tmp_path, scene)
    assert [path.name.split("-")[3] for path in tmp_path.iterdir()] == ["two"]


def test_an_archive_that_is_too_old_is_removed_from_the_disk(tmp_path: Path) -> None:
    async def scene(jobs: BundleJobs, maker: HeldMaker, clock: ManualClock) -> None:
        maker.go.set()
        one, two = cluster("one"), cluster("two")
        await (await jobs.begin(one)).wait()
        clock.advance(KEPT_MS - 1)
        await (await jobs.begin(two)).wait()
        await jobs.remove_old()
        assert len(os.listdir(tmp_path)) == 2
        clock.advance(1)
        maker.go.clear()
        running = await jobs.begin(one)
        clock.advance(KEPT_MS)
        await jobs.remove_old()
        assert os.listdir(tmp_path) == [] and running.is_running and jobs.job(one) is running
        await jobs.close()

    played(tmp_path, scene)


def test_the_manager_looks_for_old_archives_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        clock = ManualClock()
        services = SimpleNamespace(parts={}, environment=SimpleNamespace(clock=clock))
        monkeypatch.setattr(bundle_jobs, "LOOK_S", 0.001)
        maker = HeldMaker()
        monkeypatch.setattr(bundle_jobs, "make_in_process", maker)
        async with bundle_jobs.bundling(cast(ManagerServices, services)):
            maker.go.set()
            job = await services.parts[PART].begin(cluster())
            await job.wait()
            assert job.path.exists()
            clock.advance(KEPT_MS)
            await asyncio.to_thread(wait_until, lambda: not job.path.exists(), 20)

    asyncio.run(scene())


def test_the_archive_of_another_cluster_by_that_name_is_not_given(tmp_path: Path) -> None:
    async def scene(jobs: BundleJobs, maker: HeldMaker, _clock: ManualClock) -> None:
        maker.go.set()
        await (await jobs.begin(cluster())).wait()
        assert jobs.job(cluster()) is None

    played(tmp_path, scene)


def test_one_that_fails_or_hangs_says_why_and_the_end_of_the_manager_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(jobs: BundleJobs, maker: HeldMaker, _clock: ManualClock) -> None:
        own = cluster()
        monkeypatch.setattr(bundle_jobs, "TIMEOUT_S", 0.01)
        job = await jobs.begin(own)
        await job.wait()
        assert job.made is not None and "took longer" in job.made.problem and maker.ended == 1
        maker.go.set()
        maker.failure = "no space is left"
        job = await jobs.begin(own)
        await job.wait()
        assert job.made == ArchiveMade(problem="no space is left")
        maker.go.clear()
        monkeypatch.undo()
        job = await jobs.begin(own)
        await asyncio.sleep(0)
        await jobs.close()
        assert maker.ended == 3 and not job.is_running and job.made is None

    played(tmp_path, scene)


def test_the_process_writes_an_archive_without_secrets_that_only_its_owner_reads(tmp_path: Path) -> None:
    secret = "not-for-anybody-else"
    jaas = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="{secret}";'
    own = cluster(**{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas})
    path = tmp_path / "one.tar.gz"
    request = ArchiveRequest(own.settings.client_properties(), "", str(path), "one")
    made = asyncio.run(make_in_process(request))
    assert made.problem == "" and made.size_bytes == path.stat().st_size and path.stat().st_mode & 0o77 == 0
    with tarfile.open(path) as archive:
        texts = {
            member.name: file.read().decode() for member in archive if (file := archive.extractfile(member)) is not None
        }
    assert len(texts) == made.files and not [name for name, text in texts.items() if secret in text]
    findings = json.loads(texts["one/doctor.json"])["findings"]
    assert [finding["id"] for finding in findings] == ["port-closed"]
    again = asyncio.run(make_in_process(request))
    assert again.files == 0 and "exists" in again.problem


def test_what_a_table_calls_secret_or_no_table_knows_is_secret() -> None:
    names = ("ssl.key.password", "sasl.jaas.config", "my.own.setting", "client.id", "bootstrap.servers")
    assert [is_secret(name) for name in names] == [True, True, True, False, False]


def test_a_process_that_is_no_longer_waited_for_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sleeping_bundle.py").write_text(
        "import json, os, pathlib, sys, time\n"
        "path = pathlib.Path(json.load(sys.stdin)['path'])\n"
        "path.with_name('new').write_text(str(os.getpid()))\n"
        "path.with_name('new').rename(path)\n"
        "time.sleep(60)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(bundle_jobs, "PROCESS", "sleeping_bundle")
    begun = tmp_path / "begun"

    async def scene() -> None:
        making = asyncio.ensure_future(make_in_process(ArchiveRequest({}, "", str(begun), "stem")))
        await asyncio.to_thread(wait_until, lambda: begun.exists() or None, 30)
        making.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(making, 20)
        with pytest.raises(ProcessLookupError):
            os.kill(int(begun.read_text()), 0)

    asyncio.run(scene())
