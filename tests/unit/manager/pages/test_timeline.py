"""The page of events."""

from collections.abc import Callable

from kafka_py.manager.history.background import SECTION
from kafka_py.manager.history.timeline import ClusterEvent, EventKind, ValueChange
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.web_manager import CalledManager

SCRIPT = "<script>alert(1)</script>"


def test_events_are_shown_newest_first_filtered_and_in_pages(
    played: Callable[..., None], manager_clock: ManualClock
) -> None:
    async def scene(manager: CalledManager) -> None:
        now_ms = manager_clock.wall_ms()
        changes = tuple(ValueChange(str(each), "1", SCRIPT) for each in range(5))
        events = [
            ClusterEvent(now_ms, EventKind.BROKER_LEFT, "1"),
            ClusterEvent(now_ms, EventKind.LEADERS_CHANGED, "orders", changes),
            ClusterEvent(now_ms, EventKind.GROUP_REBALANCED, SCRIPT, changes),
            ClusterEvent(now_ms, EventKind.SETTINGS_CHANGED, "topic:orders", changes[:1]),
            ClusterEvent(now_ms, EventKind.UNREACHABLE, "cluster"),
        ]
        await manager.services.parts[SECTION].store.note("test", events)
        subjects, path = [], "/clusters/test/timeline?size=3&kind="
        while path:  # the collector itself may note meanwhile that nothing listens there
            found = (await manager.get(f"/api{path}")).json()
            assert len(found["events"]) <= 3
            subjects += [row["subject"] for row in found["events"] if row["kind"] != "unreachable"]
            path = found["older"]
        assert subjects == ["topic:orders", SCRIPT, "orders", "1"]
        only = (await manager.get("/api/clusters/test/timeline?kind=leaders-changed&subject=ord")).json()
        assert [row["subject"] for row in only["events"]] == ["orders"]
        page = await manager.get("/clusters/test/timeline")
        assert SCRIPT not in page.text and "2 more" in page.text
        assert "/clusters/test/history?kind=topic&amp;name=orders" in page.text

    played(scene, extra={})


def test_a_kind_that_does_not_exist_is_refused(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        assert (await manager.get("/clusters/test/timeline?kind=x")).status_code == 400

    played(scene)


def test_without_a_history_the_timeline_says_so(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        assert "keeps no history" in (await manager.get("/clusters/test/timeline")).text

    played(scene)
