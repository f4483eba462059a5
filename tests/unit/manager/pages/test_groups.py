"""What the pages of groups show, from what was seen of them."""

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.group_descriptions import MemberDescription
from kafka_py.clients.offsets import OffsetAndMetadata
from kafka_py.manager.history.series import StoredRow
from kafka_py.manager.pages.group_looks import GroupsLook, health_of, paired, partitions_of
from kafka_py.manager.pages.groups import assignment_of, member_rows, partition_rows, total_lag
from kafka_py.operations.cluster_view.snapshot import GroupSeen
from kafka_py.operations.groups.health import CommitSample, MemberHealth, PartitionHealth

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
MEMBERS = (MemberDescription("m-1", None, "c-1", "/1.2.3.4", (T0,)), MemberDescription("m-2", "s", "c-2", "/h", (T1,)))
GROUP = GroupSeen("g", "consumer", "Stable", 1, "range", MEMBERS, {T0: OffsetAndMetadata(5), T2: OffsetAndMetadata(7)})
LOOK = GroupsLook({"g": GROUP}, {T0: 9, T1: 3, T2: 7}, (), 10_000)


def test_partitions_are_those_with_commits_or_members():
    assert partitions_of(GROUP) == [T0, T1, T2]
    assert total_lag(LOOK, GROUP) == 4
    assert total_lag(LOOK._replace(ends={}), GROUP) is None
    assert LOOK.lag(GROUP, T1) is None


def test_a_commit_beyond_the_end_is_no_negative_lag():
    assert LOOK._replace(ends={T0: 2}).lag(GROUP, T0) == 0


def test_trouble_comes_first():
    health = {T0: PartitionHealth.STALL, T2: PartitionHealth.OK}
    rows = partition_rows(LOOK, GROUP, health, {T0: 3_000, T2: 0})
    assert [(row.partition, row.committed, row.lag, row.lag_ms, row.client_id, row.health) for row in rows] == [
        (0, 5, 4, 3_000, "c-1", "STALL"), (1, None, None, None, "c-2", "UNKNOWN"), (2, 7, 0, 0, "", "OK"),
    ]  # fmt: skip
    members = member_rows(LOOK, GROUP, health)
    assert [(row.member_id, row.host, row.lag, row.health) for row in members] == [
        ("m-1", "1.2.3.4", 4, MemberHealth.STUCK), ("m-2", "h", None, MemberHealth.UNKNOWN),
    ]  # fmt: skip


def test_an_assignment_is_short():
    partitions = (*(TopicPartition("t", number) for number in (5, 0, 1, 2)), TopicPartition("a", 3))
    assert assignment_of(partitions) == "a 3; t 0-2,5"
    assert assignment_of(()) == ""


def test_samples_are_paired_by_their_round():
    commits = [StoredRow(1, (5, -1)), StoredRow(2, (6, 8)), StoredRow(3, 4.0)]
    ends = [StoredRow(1, (9, 9)), StoredRow(2, (10, 9, 4)), StoredRow(4, (1, 1))]
    assert paired("t", commits, ends) == {
        T0: [CommitSample(1, 5, 9), CommitSample(2, 6, 10)],
        T1: [CommitSample(2, 8, 9)],
    }


def test_a_partition_that_stands_still_is_stalled_by_its_member_or_stopped():
    still = [CommitSample(1_000 * number, 5, 9) for number in range(4)]
    health = health_of(GROUP, {T0: still, T2: still}, 10_000)
    assert health == {T0: PartitionHealth.STALL, T2: PartitionHealth.STOP}
