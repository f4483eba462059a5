"""The page of the doctor: shown at once and filled in; findings of a cluster that cannot be reached, also as JSON."""

import asyncio
from collections.abc import Callable

from kafka_py.manager.clusters import ManagedCluster
from kafka_py.manager.examinations import PART, Examinations
from kafka_py.operations.doctor.findings import DoctorReport
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.web_manager import CalledManager

PATH = "/clusters/test/doctor"


async def examined(manager: CalledManager) -> None:
    """Waits for the examination that runs."""
    cluster = manager.services.clusters.get("test")
    assert cluster is not None
    await manager.services.parts[PART].of(cluster).wait()


class Counted:
    """An examination that ends when `go` is set, and counts how often it began."""

    def __init__(self, manager: CalledManager, clock: ManualClock) -> None:
        self.go, self.has_begun, self.begun = asyncio.Event(), asyncio.Event(), 0
        manager.services.parts[PART] = Examinations(self, clock)

    async def __call__(self, _cluster: ManagedCluster) -> DoctorReport:
        self.begun += 1
        self.has_begun.set()
        await self.go.wait()
        return DoctorReport((), (f"look {self.begun}",))


def test_a_cluster_that_cannot_be_reached_has_a_page_that_says_why(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        answer = await manager.get(PATH)
        assert answer.status_code == 200 and "is being examined" in answer.text
        await examined(manager)
        report = await manager.get(PATH)
        assert "port-closed" in report.text
        assert "Start the broker, or correct the port" in report.text

    played(scene)


def test_the_page_waits_for_no_examination_and_a_second_one_does_not_begin(
    played: Callable[..., None], manager_clock: ManualClock
) -> None:
    async def scene(manager: CalledManager) -> None:
        doctor = Counted(manager, manager_clock)
        for _ in range(2):
            page = (await manager.get(PATH)).text
            assert 'aria-busy="true"' in page and 'http-equiv="refresh"' in page and "Nothing is wrong" not in page
            assert f'hx-get="{PATH}/report"' in (await manager.get(f"{PATH}/report")).text
        doctor.go.set()
        await examined(manager)
        for path in (PATH, f"{PATH}/report"):
            page = (await manager.get(path)).text
            assert "look 1" in page and "aria-busy" not in page and "refresh" not in page
        assert doctor.begun == 1

    played(scene)


def test_an_old_report_is_shown_while_the_next_is_made_which_the_fragment_does_not_ask_for(
    played: Callable[..., None], manager_clock: ManualClock
) -> None:
    async def scene(manager: CalledManager) -> None:
        doctor = Counted(manager, manager_clock)
        doctor.go.set()
        await manager.get(PATH)
        await examined(manager)
        doctor.go.clear()
        manager_clock.advance(60_000)
        assert "aria-busy" not in (await manager.get(f"{PATH}/report")).text
        page = (await manager.get(PATH)).text
        assert "look 1" in page and "aria-busy" in page
        doctor.go.set()
        await examined(manager)
        assert doctor.begun == 2

    played(scene)


def test_the_button_examines_again_also_for_readers_and_its_form_is_of_this_session(
    played: Callable[..., None], manager_clock: ManualClock
) -> None:
    async def scene(manager: CalledManager) -> None:
        doctor = Counted(manager, manager_clock)
        doctor.go.set()
        await manager.get(PATH)
        await examined(manager)
        foreign = await manager.client.post(PATH, data={"step": "apply", "csrf_token": "guessed"})
        assert (foreign.status_code, doctor.begun) == (403, 1)
        sent = await manager.submit(PATH, step="apply", submission="1")
        assert (sent.status_code, sent.headers["location"]) == (303, PATH)
        await examined(manager)
        assert doctor.begun == 2

    played(scene)


def test_the_findings_are_json_as_well(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        document = (await manager.get(f"/api{PATH}")).json()
        assert document["errors"] == 1
        [finding] = document["findings"]
        assert (finding["id"], finding["severity"]) == ("port-closed", "error")
        assert document["unchecked"] == ["the cluster: no bootstrap server can be used"]
        assert document["examined_ms"] is not None and not document["is_running"]

    played(scene)


def test_programs_that_ask_together_get_the_report_of_one_examination(
    played: Callable[..., None], manager_clock: ManualClock
) -> None:
    async def scene(manager: CalledManager) -> None:
        doctor = Counted(manager, manager_clock)
        asking = [asyncio.ensure_future(manager.get(f"/api{PATH}")) for _ in range(3)]
        await doctor.has_begun.wait()
        doctor.go.set()
        assert [(await each).json()["unchecked"] for each in asking] == [["look 1"]] * 3

    played(scene)
