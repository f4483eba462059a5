"""Charts and series of the history, without a cluster."""

from collections.abc import Callable

from kafka_py.manager.history import metrics
from kafka_py.manager.history.background import SECTION
from kafka_py.manager.history.metrics import CLUSTER_ENTITY, PastSample, group_topic
from kafka_py.manager.history.service import HistoryService
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.web_manager import CalledManager

SCRIPT = "<script>alert(1)</script>"
ROUNDS = 11


async def filled(manager: CalledManager, clock: ManualClock) -> HistoryService:
    """Some rounds of the cluster `test`, the last one now: a topic that grows, a group that falls behind."""
    service: HistoryService = manager.services.parts[SECTION]
    now_ms = clock.wall_ms()
    for each in range(ROUNDS):
        samples = [
            PastSample(metrics.COLLECTED, CLUSTER_ENTITY, 1.0),
            PastSample(metrics.BROKERS, CLUSTER_ENTITY, 3),
            PastSample(metrics.TOPIC_END, "t", (each * 300, each * 600)),
            PastSample(metrics.GROUP_LAG, SCRIPT, 100 + each * 50),
            PastSample(metrics.GROUP_LAG_MS, SCRIPT, each * 1000),
            PastSample(metrics.LAG, group_topic(SCRIPT, "t"), (each * 50, 100)),
        ]
        await service.store.record("test", now_ms - (ROUNDS - 1 - each) * 30_000, samples)
    return service


def test_the_page_of_a_cluster_has_charts_and_the_groups_that_lag(
    played: Callable[..., None], manager_clock: ManualClock
) -> None:
    async def scene(manager: CalledManager) -> None:
        await filled(manager, manager_clock)
        found = (await manager.get("/api/clusters/test/history")).json()
        [group] = found["groups"]
        assert (group["group"], group["lag"], group["lag_ms"], group["trend"]) == (SCRIPT, 600.0, 10_000.0, "growing")
        assert {chart["title"] for chart in found["charts"]} >= {"Records per second", "Brokers"}
        page = await manager.get("/clusters/test/history?range=6h")
        assert page.status_code == 200
        assert SCRIPT not in page.text
        assert "/api/clusters/test/history/series?metric=brokers&amp;range=6h" in page.text

    played(scene, extra={})


def test_a_series_has_rates_and_lines_by_partition(played: Callable[..., None], manager_clock: ManualClock) -> None:
    async def scene(manager: CalledManager) -> None:
        await filled(manager, manager_clock)
        path = "/api/clusters/test/history/series?metric=log_end_offset&entity=t&rate=true"
        found = (await manager.get(path)).json()
        assert found["unit"] == "records/s"
        assert found["lines"][0]["values"] == [30.0] * (ROUNDS - 1)
        assert found["times"][-1] == manager_clock.wall_ms() / 1000
        found = (await manager.get(f"{path}&by_partition=true")).json()
        assert [(line["label"], line["values"][0]) for line in found["lines"]] == [
            ("partition 0", 10.0),
            ("partition 1", 20.0),
        ]
        page = await manager.get("/clusters/test/history/series?metric=log_end_offset&entity=t")
        assert "9\u2009000.0" in page.text

    played(scene, extra={})


def test_the_page_of_a_group_has_charts_for_each_of_its_topics(
    played: Callable[..., None], manager_clock: ManualClock
) -> None:
    async def scene(manager: CalledManager) -> None:
        await filled(manager, manager_clock)
        answer = await manager.get("/api/clusters/test/history", params={"kind": "group", "name": SCRIPT})
        chart = next(each for each in answer.json()["charts"] if each["title"] == "t: lag by partition")
        found = (await manager.get(chart["data"])).json()
        assert [line["values"][-1] for line in found["lines"]] == [500.0, 100.0]
        page = await manager.get(chart["table"])
        assert page.status_code == 200 and SCRIPT not in page.text

    played(scene, extra={})


def test_what_cannot_be_asked_for_is_refused(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        for query in ("metric=x", "metric=lag", "metric=brokers&range=9y", "metric=brokers&start=5&end=5"):
            assert (await manager.get(f"/api/clusters/test/history/series?{query}")).status_code == 400
        assert (await manager.get("/api/clusters/test/history?kind=topic")).status_code == 400
        assert (await manager.get("/api/clusters/test/history?kind=group-topic&name=x")).status_code == 400

    played(scene, extra={})


def test_without_a_history_the_page_says_so(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        assert "keeps no history" in (await manager.get("/clusters/test/history")).text
        assert (await manager.get("/api/clusters/test/history")).json()["is_on"] is False
        assert (await manager.get("/clusters/test/history/series?metric=brokers")).status_code == 404

    played(scene)


def test_a_cluster_that_was_not_observed_yet_is_said_to_be_so(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        page = await manager.get("/clusters/test/history")
        assert "has not been observed yet" in page.text or "cannot be reached" in page.text

    played(scene, extra={})
