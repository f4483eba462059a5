"""The pages of groups as a browser and the JSON interface get them, against pretend brokers."""

import asyncio
import html
import shlex
from collections.abc import Iterator

import pytest

from kafka_py.base.clock import SYSTEM_CLOCK
from kafka_py.base.ids import TopicPartition
from kafka_py.manager.history.background import FILE_NAME
from kafka_py.manager.history.metrics import CLUSTER_ENTITY, COLLECTED, COMMITTED, TOPIC_END, PastSample, group_topic
from kafka_py.manager.history.settings import HistorySettings
from kafka_py.manager.history.store import HistoryStore
from kafka_py.manager.settings import ClusterSettings, ManagerSettings
from kafka_py.testing.fakes.fake_cluster import FakeCluster
from kafka_py.testing.fakes.fake_groups import FakeGroup, FakeMember
from kafka_py.testing.local_broker import batch
from kafka_py.testing.web_manager import CalledManager

BASE = "/clusters/test/groups"
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
HOSTILE = "<script>alert('g')</script>\"&'; rm -rf /"
FIRST_MS = 1_600_000_000_000


@pytest.fixture
def brokers() -> Iterator[FakeCluster]:
    with FakeCluster(2) as made:
        made.create_topic("t", 2)
        for number in range(2):
            for second in range(10):
                made.log("t", number).append(batch(b"v", timestamp=FIRST_MS + 1_000 * second))
        member = FakeMember("m-1", HOSTILE, None, {"t": [0]})
        made.groups["live"] = FakeGroup([member], {T0: (4, "note"), T1: (10, "")}, 1)
        made.groups["idle"] = FakeGroup(offsets={T0: (2, ""), T1: (9, "")})
        made.groups[HOSTILE] = FakeGroup(offsets={T0: (1, "")})
        yield made


@pytest.fixture
def played(brokers):
    """Plays a scene with a manager of the pretend brokers."""

    def play(scene, **options):
        async def run():
            clusters = (ClusterSettings("test", brokers.bootstrap_servers),)
            settings = ManagerSettings(**{"clusters": clusters, "allow_changes": True,
                                          "extra": {"history": {"is_enabled": False}}, **options})  # fmt: skip
            async with CalledManager(settings) as manager:
                await scene(manager)

        asyncio.run(run())

    return play


async def committed(manager, group):
    answer = await manager.get(f"/api{BASE}/group", params={"group": group})
    return {(row["topic"], row["partition"]): row["committed"] for row in answer.json()["partitions"]}


def test_the_list_has_lag_and_members(played):
    async def scene(manager):
        answer = await manager.get(f"/api{BASE}")
        assert [(row["group_id"], row["members"], row["lag"]) for row in answer.json()["groups"]] == [
            (HOSTILE, 0, 9), ("idle", 0, 9), ("live", 1, 6),
        ]  # fmt: skip
        page = await manager.get(BASE)
        assert HOSTILE not in page.text and html.escape("<script>alert") in page.text
        found = await manager.get(f"/api{BASE}?search=i&state=Empty&size=1")
        assert len(found.json()["groups"]) == 1 and found.json()["part"]["total"] == 2

    played(scene)


def test_a_group_has_its_members_and_its_lag_in_records_and_in_time(played):
    async def scene(manager):
        answer = (await manager.get(f"/api{BASE}/group?group=live")).json()
        assert (answer["lag"], answer["state"], answer["may_reset"]) == (6, "Stable", False)
        rows = {row["partition"]: row for row in answer["partitions"]}
        assert (rows[0]["lag"], rows[0]["client_id"], rows[0]["metadata"]) == (6, HOSTILE, "note")
        assert rows[0]["lag_ms"] > 1_000 and rows[1]["lag_ms"] == 0
        assert rows[1]["health"] == "OK"
        assert [(row["assignment"], row["lag"]) for row in answer["members"]] == [("t 0", 6)]
        page = await manager.get(f"{BASE}/group?group=live")
        assert "<script>alert('g')" not in page.text

    played(scene)


@pytest.mark.parametrize(
    ("fields", "new"),
    [
        ({"scenario": "to-earliest"}, [0, 0]),
        ({"scenario": "to-latest", "topic": "t:1"}, [2, 10]),
        ({"scenario": "to-offset", "to": "99", "topic": "t:0"}, [10, 9]),
        ({"scenario": "shift-by", "to": "-1"}, [1, 8]),
        ({"scenario": "to-datetime", "to": "2020-09-13T12:26:45Z", "topic": "t"}, [5, 5]),
    ],
)
def test_a_reset_is_shown_with_its_command_and_then_made(played, fields, new):
    async def scene(manager):
        shown = await manager.submit(f"{BASE}/reset", group="idle", **fields)
        assert shown.status_code == 200 and "kafka-consumer-groups.sh" in shown.text
        assert await committed(manager, "idle") == {("t", 0): 2, ("t", 1): 9}
        made = await manager.submit(f"{BASE}/reset", group="idle", step="apply", submission="1", **fields)
        assert made.status_code == 303, made.text
        assert await committed(manager, "idle") == {("t", 0): new[0], ("t", 1): new[1]}

    played(scene)


def test_a_dry_run_says_what_would_change(played):
    async def scene(manager):
        answer = await manager.call(f"{BASE}/reset", group=HOSTILE, scenario="to-latest", dry_run=True)
        plan = answer.json()
        assert plan["effects"] == [{"what": "t-0", "before": "1", "after": "10"}]
        assert (plan["is_done"], plan["warnings"]) == (False, ["9 records are skipped"])
        words = shlex.split(plan["command_line"])
        assert words[words.index("--group") + 1] == HOSTILE
        assert words[-3:] == ["t:0", "--to-latest", "--execute"]

    played(scene)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"group": "live", "scenario": "to-earliest"}, 409),
        ({"group": "nobody", "scenario": "to-earliest"}, 404),
        ({"group": "idle", "scenario": "to-offset", "to": "x"}, 422),
        ({"group": "idle", "scenario": "to-datetime", "to": "noon"}, 422),
        ({"group": "idle", "scenario": "shift-by", "to": "1", "topic": "t:5"}, 422),
        ({"group": "idle", "scenario": "to-earliest", "topic": "t:x"}, 422),
        ({"group": "idle", "scenario": "to-earliest", "topic": "nothing"}, 404),
        ({"group": "idle", "scenario": "sideways"}, 400),
        ({"scenario": "to-earliest"}, 400),
    ],
)
def test_a_reset_that_cannot_be_is_refused(played, fields, status):
    async def scene(manager):
        assert (await manager.submit(f"{BASE}/reset", **fields)).status_code == status

    played(scene)


def test_groups_and_offsets_are_deleted(played, brokers):
    async def scene(manager):
        shown = await manager.submit(f"{BASE}/offsets/delete", group="idle", topic="t:1")
        assert "--delete-offsets" in shown.text
        await manager.submit(f"{BASE}/offsets/delete", group="idle", topic="t:1", step="apply", submission="1")
        assert await committed(manager, "idle") == {("t", 0): 2}
        answer = await manager.call(f"{BASE}/delete", group=["idle", HOSTILE])
        assert answer.json()["is_done"] is True
        assert sorted(brokers.groups) == ["live"]
        assert (await manager.submit(f"{BASE}/delete", group="live")).status_code == 409
        assert (await manager.submit(f"{BASE}/delete", group="idle")).status_code == 404

    played(scene)


def test_the_form_of_a_reset_says_when_it_cannot_be(played):
    async def scene(manager):
        page = await manager.get(f"{BASE}/reset?group=live")
        assert "only while no member is active" in page.text
        page = await manager.get(f"{BASE}/reset", params={"group": HOSTILE})
        assert page.status_code == 200 and HOSTILE not in page.text

    played(scene)


def test_readers_change_nothing(played):
    async def scene(manager):
        for path in ("reset", "delete", "offsets/delete"):
            answer = await manager.submit(f"{BASE}/{path}", group="idle", scenario="to-latest", topic="t", step="apply")
            assert answer.status_code == 403

    played(scene, allow_changes=False)


def test_a_member_that_does_not_get_on_is_told_from_one_that_is_gone(played, tmp_path):
    async def observed():
        store = HistoryStore(tmp_path / FILE_NAME, HistorySettings(), SYSTEM_CLOCK)
        await store.open()
        now_ms = SYSTEM_CLOCK.wall_ms()
        for seconds in (200, 150, 100, 50):
            samples = [PastSample(COLLECTED, CLUSTER_ENTITY, 1.0), PastSample(TOPIC_END, "t", (10, 10)),
                       PastSample(COMMITTED, group_topic("live", "t"), (4, 10)),
                       PastSample(COMMITTED, group_topic("idle", "t"), (2, 9))]  # fmt: skip
            await store.record("test", now_ms - 1_000 * seconds, samples)
        await store.close()

    async def scene(manager):
        answer = (await manager.get(f"/api{BASE}/group?group=live")).json()
        assert {row["partition"]: row["health"] for row in answer["partitions"]} == {0: "STALL", 1: "OK"}
        assert (answer["health"], [row["health"] for row in answer["members"]]) == ("ERR", ["stuck"])
        answer = (await manager.get(f"/api{BASE}/group?group=idle")).json()
        assert {row["health"] for row in answer["partitions"]} == {"STOP"}
        rows = (await manager.get(f"/api{BASE}")).json()["groups"]
        assert {row["group_id"]: row["health"] for row in rows} == {HOSTILE: "UNKNOWN", "idle": "ERR", "live": "ERR"}
        assert "stuck" in (await manager.get(f"{BASE}/group?group=live")).text

    asyncio.run(observed())
    played(scene, data=tmp_path, extra={})
