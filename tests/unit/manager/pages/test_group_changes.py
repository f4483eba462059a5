"""What the forms of groups ask for, and what is refused."""

from types import SimpleNamespace

import pytest

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.group_descriptions import MemberDescription
from kafka_py.clients.environment import SYSTEM
from kafka_py.clients.offsets import OffsetAndMetadata
from kafka_py.manager.clusters import ManagedCluster
from kafka_py.manager.pages.group_changes import SCENARIOS, _planned_reset, parse_scope, require_inactive, reset_of
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
