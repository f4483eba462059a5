"""What the forms of groups ask for, and what is refused."""

from types import SimpleNamespace

import pytest

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.group_descriptions import MemberDescription
from kafka_py.clients.admin.results import Results
from kafka_py.clients.environment import SYSTEM
from kafka_py.clients.offsets import OffsetAndMetadata
from kafka_py.manager.clusters import ManagedCluster
from kafka_py.manager.pages import group_changes, groups
from kafka_py.manager.pages.group_changes import SCENARIOS, _planned_reset, parse_scope, require_inactive, reset_of
from kafka_py.manager.pages.group_looks import GroupsLook
from kafka_py.manager.settings import ClusterSettings
from kafka_py.manager.web.requests import BadParameter
from kafka_py.operations.cluster_view.snapshot import GroupSeen
from kafka_py.operations.groups.resetting import GroupReset, ResetScenario


def test_topics_and_partitions_are_named_together():
    assert parse_scope(["a b:0,2", "c"]) == ([TopicPartition("b", 0), TopicPartition("b", 2)], ["a", "c"])
    for text in ("t:", "t:x", "t:0,", "t:-1", "t:9999999999"):
        with pytest.raises(BadParameter):
            parse_scope([text])


def test_a_scenario_has_what_it_needs():
    assert reset_of(ResetScenario.TO_OFFSET, "7") == GroupReset(ResetScenario.TO_OFFSET, 7)
    assert reset_of(ResetScenario.SHIFT_BY, "-7").offset == -7
    assert reset_of(ResetScenario.TO_DATETIME, "1970-01-01T00:00:01Z").timestamp == 1_000
    assert reset_of(ResetScenario.TO_LATEST, "ignored") == GroupReset(ResetScenario.TO_LATEST)
    for scenario, to in (
        (ResetScenario.TO_OFFSET, "-1"), (ResetScenario.SHIFT_BY, ""), (ResetScenario.TO_DATETIME, "x"),
    ):  # fmt: skip
        with pytest.raises(BadParameter):
            reset_of(scenario, to)
    assert ResetScenario.FROM_FILE not in SCENARIOS


def test_a_group_with_members_is_left_alone():
    require_inactive(GroupSeen("g", "consumer", "Empty", 1))
    members = (MemberDescription("m", None, "c", "/h", ()),)
    with pytest.raises(KafkaError, match="with 1 members"):
        require_inactive(GroupSeen("g", "consumer", "Stable", 1, "", members))


def test_a_reset_rests_on_what_was_committed_and_not_on_the_end_of_the_log():
    cluster = ManagedCluster(ClusterSettings("test", "localhost:1"), SYSTEM)
    partition = TopicPartition("t", 0)

    def digest(scenario, committed, new):
        group = GroupSeen("g", "consumer", "Empty", 1, committed={partition: OffsetAndMetadata(committed)})
        planned = _planned_reset(SimpleNamespace(cluster=cluster), group, GroupReset(scenario, offset=-5), new)
        return planned.digest

    shown = digest(ResetScenario.TO_LATEST, 7, {partition: 100})
    assert digest(ResetScenario.TO_LATEST, 7, {partition: 101}) == shown
    assert digest(ResetScenario.TO_LATEST, 8, {partition: 100}) != shown
    assert digest(ResetScenario.SHIFT_BY, 7, {partition: 100}) != shown
    assert digest(ResetScenario.TO_LATEST, 7, {partition: 100, TopicPartition("t", 1): 1}) != shown


class GroupAdmin(SimpleNamespace):
    """Notes what is deleted."""

    def __init__(self):
        super().__init__(deleted=[])

    async def delete_consumer_groups(self, names, **_):
        self.deleted += names
        return Results(dict.fromkeys(names))

    async def delete_consumer_group_offsets(self, _group, chosen, **_):
        self.deleted += chosen
        return Results(dict.fromkeys(chosen))

    async def close(self): ...


@pytest.fixture
def two_groups(monkeypatch):
    """An idle group with commits of three partitions, and one with a member."""
    member = (MemberDescription("m", None, "c", "/h", ()),)
    commits = {TopicPartition(*each): OffsetAndMetadata(1) for each in (("t", 0), ("t", 1), ("u", 0))}
    found = {
        "idle": GroupSeen("idle", "consumer", "Empty", 1, committed=commits),
        "busy": GroupSeen("busy", "consumer", "Stable", 1, "", member, commits),
    }

    async def look(_cluster, names):
        return GroupsLook({name: found[name] for name in names if name in found}, {}, (), 0)

    for module in (groups, group_changes):
        monkeypatch.setattr(module, "look_closely", look)


def test_only_groups_without_members_are_deleted_or_reset(played, two_groups):
    admin = GroupAdmin()

    async def scene(manager):
        for path, fields in (("delete", {"group": ["idle", "busy"]}), ("delete", {"group": ["idle", "gone"]}),
                             ("reset", {"group": "busy", "scenario": "to-current"})):  # fmt: skip
            refused = await manager.call(f"/clusters/test/groups/{path}", **fields)
            assert (refused.status_code in (404, 409), admin.deleted) == (True, []), refused.text
        assert (await manager.call("/clusters/test/groups/delete", group=["idle"])).json()["is_done"]
        assert admin.deleted == ["idle"]

    played(scene, admin=admin, allow_changes=True)


@pytest.mark.parametrize(("topic", "deleted"), [
    (["t:1"], [("t", 1)]), (["t"], [("t", 0), ("t", 1)]), (["t:0", "u"], [("t", 0), ("u", 0)]), (["x"], []), ([], []),
])  # fmt: skip
def test_only_the_offsets_that_are_named_are_deleted(played, two_groups, topic, deleted):
    admin = GroupAdmin()

    async def scene(manager):
        answer = await manager.call("/clusters/test/groups/offsets/delete", group="idle", topic=topic)
        assert answer.status_code == (200 if deleted else 400)
        assert admin.deleted == deleted

    played(scene, admin=admin, allow_changes=True)
