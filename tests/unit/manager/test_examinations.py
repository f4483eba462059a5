"""Examinations in the background: one at a time per cluster, and the last report is kept."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kafka_py.base.chance import Chance
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.manager import examinations
from kafka_py.manager.clusters import ManagedCluster
from kafka_py.manager.examinations import FRESH_MS, Examinations
from kafka_py.manager.settings import ClusterSettings
from kafka_py.operations.doctor.findings import DoctorReport
from kafka_py.testing.clock import ManualClock


class HeldDoctor:
    """Examinations that end when they are let. begun: how many have begun; at_once: the most that ran at a time."""

    def __init__(self) -> None:
        self.begun = self.running = self.at_once = 0
        self.go = asyncio.Event()
        self.failure: Exception | None = None

    async def __call__(self, _cluster: ManagedCluster) -> DoctorReport:
        self.begun += 1
        self.running += 1
        self.at_once = max(self.at_once, self.running)
        try:
            await self.go.wait()
        finally:
            self.running -= 1
        if self.failure is not None:
            raise self.failure
        return DoctorReport((), (f"examination {self.begun}",))


Scene = Callable[[HeldDoctor, Examinations, ManualClock], Awaitable[None]]


def cluster(name: str = "test") -> ManagedCluster:
    return ManagedCluster(ClusterSettings(name, "localhost:1"), ClientEnvironment(chance=Chance(1)))


def played(scene: Scene) -> None:
    async def run() -> None:
        clock, doctor = ManualClock(), HeldDoctor()
        await scene(doctor, Examinations(doctor, clock), clock)

    asyncio.run(run())


def test_who_asks_while_one_runs_gets_its_report() -> None:
    async def scene(doctor: HeldDoctor, all_of_them: Examinations, _clock: ManualClock) -> None:
        own = all_of_them.of(cluster_ := cluster())
        waiting = []
        for _ in range(3):
            all_of_them.of(cluster_).begin()
            waiting.append(asyncio.ensure_future(own.wait()))
            await asyncio.sleep(0)
        doctor.go.set()
        await asyncio.gather(*waiting)
        assert (doctor.begun, doctor.at_once) == (1, 1)
        assert own.report is not None and own.report.unchecked == ("examination 1",)

    played(scene)


def test_two_clusters_are_examined_beside_each_other() -> None:
    async def scene(doctor: HeldDoctor, all_of_them: Examinations, _clock: ManualClock) -> None:
        for each in (cluster("one"), cluster("two")):
            all_of_them.of(each).begin()
        await asyncio.sleep(0)
        assert doctor.running == 2
        await all_of_them.close()
        assert doctor.running == 0

    played(scene)


def test_who_stops_waiting_does_not_end_it() -> None:
    async def scene(doctor: HeldDoctor, all_of_them: Examinations, _clock: ManualClock) -> None:
        own = all_of_them.of(cluster())
        own.begin()
        waiting = asyncio.ensure_future(own.wait())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert own.is_running
        doctor.go.set()
        await own.wait()
        assert own.report is not None

    played(scene)


def test_the_last_report_stays_when_an_examination_fails_and_is_fresh_for_a_while() -> None:
    async def scene(doctor: HeldDoctor, all_of_them: Examinations, clock: ManualClock) -> None:
        own = all_of_them.of(cluster())
        assert not own.is_fresh
        doctor.go.set()
        own.begin()
        await own.wait()
        ended_ms = own.ended_ms
        clock.advance(FRESH_MS)
        assert not own.is_fresh
        doctor.failure = OSError("no file descriptors are left")
        own.begin()
        await own.wait()
        assert own.is_fresh and own.failure is doctor.failure
        assert own.ended_ms == ended_ms == clock.wall_ms() - FRESH_MS
        assert own.report is not None and own.report.unchecked == ("examination 1",)
        doctor.failure = None
        own.begin()
        await own.wait()
        assert own.failure is None and own.report.unchecked == ("examination 3",)

    played(scene)


def test_one_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examinations, "TIMEOUT_S", 0.01)

    async def scene(doctor: HeldDoctor, all_of_them: Examinations, _clock: ManualClock) -> None:
        own = all_of_them.of(cluster())
        own.begin()
        await own.wait()
        assert isinstance(own.failure, TimeoutError) and doctor.running == 0

    played(scene)


def test_a_cluster_that_was_replaced_has_no_report_of_the_one_before() -> None:
    async def scene(doctor: HeldDoctor, all_of_them: Examinations, _clock: ManualClock) -> None:
        doctor.go.set()
        before = all_of_them.of(cluster())
        before.begin()
        await before.wait()
        assert all_of_them.of(before.cluster) is before
        assert all_of_them.of(cluster()).report is None

    played(scene)
