"""The admin client's calls on consumer groups and on offsets, against pretend brokers."""

from collections.abc import Iterator

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafka_py.clients import (
    AdminClient,
    ClientTimeout,
    ConsumerGroupState,
    MemberToRemove,
    OffsetAndMetadata,
    TopicPartition,
)
from kafka_py.clients.admin.offsets import ListedOffset
from kafka_py.testing.fakes.fake_cluster import CUT, FakeCluster
from kafka_py.testing.fakes.fake_groups import FakeGroup, FakeMember
from kafka_py.testing.local_broker import batch
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.describe_groups import DescribeGroupsRequest
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.leave_group import LeaveGroupRequest
from kafka_py.wire.messages.list_groups import ListGroupsRequest
from kafka_py.wire.messages.offset_commit import OffsetCommitRequest

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
MOVED = [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE]


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(2) as made:
        made.create_topic("t", 2)
        made.create_topic("u")
        made.log("t").append(batch(b"a", b"b", b"c", timestamp=1000))
        made.groups["live"] = FakeGroup(
            [FakeMember("m-1", "c-1", "i-1", {"t": [1, 0]}), FakeMember("m-2", "c-2", None, {"u": [0]})], coordinator=1
        )
        made.groups["idle"] = FakeGroup(offsets={T0: (2, "note"), U0: (0, "")})
        made.groups["other"] = FakeGroup(protocol_type="connect")
        made.groups["simple"] = FakeGroup(protocol_type="", offsets={T0: (1, "")})
        yield made


@pytest.fixture
def admin(cluster: FakeCluster) -> Iterator[AdminClient]:
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "retry.backoff.ms": 5}
    with AdminClient(settings) as made:
        yield made


def test_consumer_groups_of_all_brokers_are_listed_in_order(cluster: FakeCluster, admin: AdminClient) -> None:
    listed = admin.list_consumer_groups()
    assert [(each.group_id, each.is_simple, each.state) for each in listed] == [
        ("idle", False, ConsumerGroupState.EMPTY),
        ("live", False, ConsumerGroupState.STABLE),
        ("simple", True, ConsumerGroupState.EMPTY),
    ]  # fmt: skip
    assert sorted(node for node, request in cluster.requests if isinstance(request, ListGroupsRequest)) == [0, 1]
    assert [each.group_id for each in admin.list_consumer_groups(states=[ConsumerGroupState.STABLE])] == ["live"]
    assert [each.group_id for each in admin.list_consumer_groups(states=["Empty"])] == ["idle", "simple"]


def test_a_broker_that_still_loads_is_asked_again_for_its_groups(cluster: FakeCluster, admin: AdminClient) -> None:
    cluster.fail(ApiKey.LIST_GROUPS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert len(admin.list_consumer_groups()) == 3
    assert cluster.count(ListGroupsRequest) == 3


def test_groups_are_described_by_their_coordinators(cluster: FakeCluster, admin: AdminClient) -> None:
    found = admin.describe_consumer_groups(["live", "idle", "nobody", "other"])
    live = found.value("live")
    assert (live.state, live.partition_assignor, live.coordinator.id) == ("Stable", "range", 1)
    assert [(each.member_id, each.group_instance_id, each.host, each.assignment) for each in live.members] == [
        ("m-1", "i-1", "/127.0.0.1", (T1, T0)), ("m-2", None, "/127.0.0.1", (U0,)),
    ]  # fmt: skip
    assert found.value("idle").state is ConsumerGroupState.EMPTY
    assert found.value("nobody").state is ConsumerGroupState.DEAD
    assert {group: error.code for group, error in found.errors().items()} == {"other": ErrorCode.INVALID_REQUEST}
    asked = sorted((node, request.groups) for node, request in cluster.requests
                   if isinstance(request, DescribeGroupsRequest))  # fmt: skip
    assert asked == [(0, ["idle", "nobody", "other"]), (1, ["live"])]


@pytest.mark.parametrize("code", MOVED)
@pytest.mark.parametrize("api", [ApiKey.DESCRIBE_GROUPS, ApiKey.FIND_COORDINATOR])
def test_a_coordinator_that_moved_or_loads_is_looked_for_again(
    cluster: FakeCluster, admin: AdminClient, api: ApiKey, code: ErrorCode
) -> None:
    cluster.fail(api, code)
    assert admin.describe_consumer_groups(["live"]).value("live").state == "Stable"
    assert cluster.count(FindCoordinatorRequest) == 2


def test_a_coordinator_that_hangs_up_is_looked_for_again(cluster: FakeCluster, admin: AdminClient) -> None:
    cluster.fail(ApiKey.OFFSET_FETCH, CUT)
    assert admin.list_consumer_group_offsets("simple").all() == {T0: OffsetAndMetadata(1)}


def test_a_group_whose_coordinator_does_not_come_back_keeps_the_last_error(cluster: FakeCluster) -> None:
    cluster.fail(ApiKey.FIND_COORDINATOR, *[ErrorCode.COORDINATOR_NOT_AVAILABLE] * 100)
    with AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "retry.backoff.ms": 50}) as admin:
        found = admin.describe_consumer_groups(["live"], timeout=0.3)
    assert found.errors()["live"].code is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_without_any_broker_the_call_times_out(cluster: FakeCluster, admin: AdminClient) -> None:
    cluster.stop_broker(0)
    cluster.stop_broker(1)
    with pytest.raises(ClientTimeout, match="no broker was reachable in time"):
        admin.describe_consumer_groups(["live"], timeout=0.3)
    with pytest.raises(ClientTimeout):
        admin.list_consumer_groups(timeout=0.3)


def test_groups_without_members_are_deleted(cluster: FakeCluster, admin: AdminClient) -> None:
    results = admin.delete_consumer_groups(["idle", "live", "nobody"])
    assert {group: error.code for group, error in results.errors().items()} == {
        "live": ErrorCode.NON_EMPTY_GROUP, "nobody": ErrorCode.GROUP_ID_NOT_FOUND,
    }  # fmt: skip
    assert results.value("idle") is None
    assert "idle" not in cluster.groups


def test_committed_offsets_are_listed_for_all_or_some_partitions(admin: AdminClient) -> None:
    assert admin.list_consumer_group_offsets("idle").all() == {T0: OffsetAndMetadata(2, "note"),
                                                               U0: OffsetAndMetadata(0)}  # fmt: skip
    assert admin.list_consumer_group_offsets("idle", [T0, T1]).all() == {T0: OffsetAndMetadata(2, "note"), T1: None}
    assert admin.list_consumer_group_offsets("nobody") == {}


def test_an_error_about_the_group_is_raised(cluster: FakeCluster, admin: AdminClient) -> None:
    cluster.fail(ApiKey.OFFSET_FETCH, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaError) as caught:
        admin.list_consumer_group_offsets("idle")
    assert caught.value.code is ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert "idle" in caught.value.detail


def test_offsets_are_altered_each_with_its_own_error(cluster: FakeCluster, admin: AdminClient) -> None:
    missing = TopicPartition("nowhere", 0)
    results = admin.alter_consumer_group_offsets("new", {T0: 2, T1: OffsetAndMetadata(0, "x", 4), missing: 1})
    assert {tp: error.code for tp, error in results.errors().items()} == {
        missing: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    }
    assert cluster.groups["new"].offsets == {T0: (2, ""), T1: (0, "x")}
    [sent] = [request for _, request in cluster.requests if isinstance(request, OffsetCommitRequest)]
    assert (sent.generation_id, sent.member_id) == (-1, "")
    refused = admin.alter_consumer_group_offsets("live", {T0: 2}).errors()
    assert refused[T0].code is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("code", MOVED)
def test_a_commit_of_which_partitions_say_that_the_coordinator_moved_is_sent_again(
    cluster: FakeCluster, admin: AdminClient, code: ErrorCode
) -> None:
    cluster.fail(ApiKey.OFFSET_COMMIT, code)
    assert admin.alter_consumer_group_offsets("idle", {T1: 1}).all() == {T1: None}
    assert cluster.count(OffsetCommitRequest) == 2
    assert cluster.count(FindCoordinatorRequest) == 2


def test_offsets_are_deleted_but_not_of_topics_being_read(cluster: FakeCluster, admin: AdminClient) -> None:
    assert admin.delete_consumer_group_offsets("idle", [T0, T1]).all() == {T0: None, T1: None}
    assert cluster.groups["idle"].offsets == {U0: (0, "")}
    refused = admin.delete_consumer_group_offsets("live", [T0]).errors()
    assert refused[T0].code is ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    with pytest.raises(KafkaError) as caught:
        admin.delete_consumer_group_offsets("nobody", [])
    assert caught.value.code is ErrorCode.GROUP_ID_NOT_FOUND


def test_members_are_sent_away_by_instance_or_all_of_them(cluster: FakeCluster, admin: AdminClient) -> None:
    results = admin.remove_members_from_consumer_group("live", ["i-1", "i-9"])
    assert results.value(MemberToRemove("i-1")) is None
    assert results.errors()[MemberToRemove("i-9")].code is ErrorCode.UNKNOWN_MEMBER_ID
    assert admin.remove_members_from_consumer_group("live").all() == {MemberToRemove(None, "m-2"): None}
    assert cluster.groups["live"].members == []
    assert cluster.count(LeaveGroupRequest) == 2
    assert admin.remove_members_from_consumer_group("live") == {}


def test_offsets_of_partitions_are_found_at_ends_and_times(cluster: FakeCluster, admin: AdminClient) -> None:
    cluster.log("t").start_offset = 1
    latest = admin.list_offsets({T0: LATEST_TIMESTAMP, T1: LATEST_TIMESTAMP}).all()
    assert latest == {T0: ListedOffset(3), T1: ListedOffset(0)}
    assert admin.list_offsets({T0: EARLIEST_TIMESTAMP}).all() == {T0: ListedOffset(1)}
    assert admin.list_offsets({T0: 1000, T1: 1000}).all() == {T0: ListedOffset(0, 1000), T1: ListedOffset(-1)}


def test_each_partition_without_leader_or_topic_has_its_own_error(cluster: FakeCluster, admin: AdminClient) -> None:
    missing = TopicPartition("nowhere", 0)
    cluster.log("t", 1).leader = -1
    results = admin.list_offsets({T0: LATEST_TIMESTAMP, T1: LATEST_TIMESTAMP, missing: LATEST_TIMESTAMP})
    assert results.value(T0).offset == 3
    assert {tp: error.code for tp, error in results.errors().items()} == {
        T1: ErrorCode.LEADER_NOT_AVAILABLE, missing: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }  # fmt: skip


def test_offsets_are_asked_for_again_when_the_leader_has_moved(cluster: FakeCluster, admin: AdminClient) -> None:
    cluster.fail(ApiKey.LIST_OFFSETS, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert admin.list_offsets({T0: LATEST_TIMESTAMP}).value(T0).offset == 3
