"""delete_records and offered_versions of the admin client, against pretend brokers."""

from collections.abc import Iterator

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.clients import AdminClient
from kafka_py.testing.fakes.fake_cluster import FakeCluster
from kafka_py.testing.local_broker import batch
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.messages.delete_records import DeleteRecordsRequest

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(2) as made:
        made.create_topic("t", 2)
        for partition in (0, 1):
            made.log("t", partition).append(batch(b"a", b"b", b"c"))
        yield made


@pytest.fixture
def admin(cluster: FakeCluster) -> Iterator[AdminClient]:
    with AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "retry.backoff.ms": 5}) as made:
        yield made


def test_each_partition_is_asked_of_its_leader(cluster: FakeCluster, admin: AdminClient) -> None:
    assert admin.delete_records({T0: 1, T1: -1}).all() == {T0: 1, T1: 3}
    asked = [node for node, request in cluster.requests if isinstance(request, DeleteRecordsRequest)]
    assert sorted(asked) == [0, 1]


def test_each_partition_has_its_own_error(cluster: FakeCluster, admin: AdminClient) -> None:
    gone, missing = TopicPartition("gone", 0), TopicPartition("t", 7)
    cluster.log("t", 1).leader = -1
    results = admin.delete_records({T0: 99, T1: 1, gone: 1, missing: 1})
    assert {tp: error.code for tp, error in results.errors().items()} == {
        T0: ErrorCode.OFFSET_OUT_OF_RANGE,
        T1: ErrorCode.LEADER_NOT_AVAILABLE,
        gone: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        missing: ErrorCode.LEADER_NOT_AVAILABLE,
    }
    assert "gone" not in cluster.topic_ids


def test_a_leader_that_has_just_moved_is_looked_for_again(cluster: FakeCluster, admin: AdminClient) -> None:
    cluster.fail(ApiKey.DELETE_RECORDS, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert admin.delete_records({T0: 2}).all() == {T0: 2}
    assert cluster.count(DeleteRecordsRequest) == 2


def test_nothing_to_delete_asks_nobody(cluster: FakeCluster, admin: AdminClient) -> None:
    assert admin.delete_records({}) == {}
    assert cluster.requests == []


def test_a_brokers_versions_are_told_as_it_gives_them(cluster: FakeCluster, admin: AdminClient) -> None:
    versions = admin.offered_versions(1)
    assert versions[ApiKey.FETCH] == (0, 12)
    assert set(versions) == {int(key) for key in APIS}
