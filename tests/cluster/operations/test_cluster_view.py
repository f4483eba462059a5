"""One look at a cluster: at pretend brokers with failures, and at a real cluster of three."""

import asyncio
from collections.abc import Callable, Collection, Iterator
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.clients import AdminClient, AsyncAdminClient, Consumer, Producer
from kafka_py.operations.cluster_view import derived
from kafka_py.operations.cluster_view.asking import LookLimits
from kafka_py.operations.cluster_view.look import ALL_PARTS, look_at
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, LogBounds, ViewPart
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.fakes.fake_cluster import HANG, FakeCluster
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.list_groups import ListGroupsResponse
from kafka_py.wire.messages.metadata import MetadataRequest


@pytest.fixture
def pretend() -> Iterator[FakeCluster]:
    with FakeCluster(3) as made:
        yield made


def look(servers: str, parts: Collection[ViewPart] = ALL_PARTS, **given: Any) -> ClusterSnapshot:
    async def run() -> ClusterSnapshot:
        async with AsyncAdminClient({"bootstrap.servers": servers}) as admin:
            return await look_at(admin, parts, **given)

    return asyncio.run(run())


def test_only_the_wanted_parts_are_asked_for(pretend: FakeCluster) -> None:
    pretend.create_topic("t", 3)
    seen = look(pretend.bootstrap_servers, ())
    assert (sorted(seen.nodes), seen.controller_id, dict(seen.topics)) == ([0, 1, 2], 0, {})
    assert pretend.count(MetadataRequest) >= 1
    seen = look(pretend.bootstrap_servers, [ViewPart.OFFSETS])
    assert seen.offsets == {TopicPartition("t", number): LogBounds(0, 0) for number in range(3)}
    assert seen.unseen == ()


def test_a_broker_that_hangs_is_named_and_the_others_are_seen(pretend: FakeCluster) -> None:
    pretend.create_topic("t", 3)

    def slow_first(request: Any) -> Any:
        return ListGroupsResponse(error_code=0, groups=[])

    pretend.fail(ApiKey.LIST_OFFSETS, HANG)
    pretend.fail(ApiKey.LIST_GROUPS, slow_first, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, slow_first)
    seen = look(
        pretend.bootstrap_servers, [ViewPart.OFFSETS, ViewPart.GROUPS], limits=LookLimits(timeout_ms=1000)
    )
    assert len(seen.offsets) == 2
    assert {each.part for each in seen.unseen} == {ViewPart.OFFSETS, ViewPart.GROUPS}
    assert {each.code for each in seen.unseen_of(ViewPart.GROUPS)} <= {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NETWORK_EXCEPTION
    }  # fmt: skip
    assert all(each.broker is not None for each in seen.unseen)


def test_a_broker_that_is_down_does_not_fail_the_look(pretend: FakeCluster) -> None:
    pretend.create_topic("t", 3)
    pretend.stop_broker(2)
    seen = look(pretend.bootstrap_servers, [ViewPart.OFFSETS, ViewPart.VERSIONS], limits=LookLimits(timeout_ms=5000))
    assert seen.is_reached
    assert sorted(seen.versions) == [0, 1]
    assert len(seen.offsets) == 2


def test_the_first_answer_counts_when_one_broker_hangs(pretend: FakeCluster) -> None:
    pretend.create_topic("t")
    pretend.fail(ApiKey.METADATA, HANG, HANG)
    seen = look(pretend.bootstrap_servers, [ViewPart.TOPICS], limits=LookLimits(timeout_ms=10_000))
    assert set(seen.topics) == {"t"}


def test_without_any_broker_the_snapshot_says_so() -> None:
    seen = look("127.0.0.1:1", limits=LookLimits(timeout_ms=2000))
    assert not seen.is_reached
    [failure] = seen.unseen
    assert failure.part is None
    assert "metadata" in str(failure)


def test_a_broker_of_kafka_011_is_seen_as_far_as_it_can_answer() -> None:
    offered = {
        ApiKey.METADATA: 4, ApiKey.LIST_OFFSETS: 2, ApiKey.LIST_GROUPS: 1, ApiKey.DESCRIBE_GROUPS: 1,
        ApiKey.OFFSET_FETCH: 3, ApiKey.DESCRIBE_LOG_DIRS: -1, ApiKey.API_VERSIONS: 1,
    }  # fmt: skip
    with FakeCluster(1, versions=offered) as old:
        old.create_topic("t", 2)
        old.fail(ApiKey.LIST_GROUPS, lambda _: ListGroupsResponse(error_code=0, groups=[]))
        seen = look(old.bootstrap_servers)
    assert set(seen.offsets) == {TopicPartition("t", 0), TopicPartition("t", 1)}
    assert [(each.part, each.code) for each in seen.unseen] == [
        (ViewPart.LOG_DIRS, ErrorCode.UNSUPPORTED_VERSION)
    ]


def test_a_real_cluster_is_seen_whole(kafka_cluster_factory: Callable[..., KafkaCluster]) -> None:
    with kafka_cluster_factory(brokers=3) as cluster:
        topic = cluster.create_topic(partitions=3, replication_factor=2)
        with Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"}) as producer:
            for number in range(10):
                producer.send(topic, b"value", partition=number % 2)
        with Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "readers"}) as consumer:
            consumer.subscribe([topic])
            while not consumer.assignment():
                consumer.poll(0.1)
            consumer.commit({TopicPartition(topic, 0): 3})
            seen = look(cluster.bootstrap_servers)
        with AdminClient({"bootstrap.servers": cluster.bootstrap_servers}) as admin:
            assert seen.cluster_id == admin.describe_cluster().cluster_id
    assert seen.unseen == ()
    assert sorted(seen.nodes) == sorted(seen.versions) == sorted(seen.log_dirs) == [0, 1, 2]
    assert seen.controller is not None
    assert seen.offsets[TopicPartition(topic, 0)] == LogBounds(0, 5)
    group = seen.groups["readers"]
    assert (group.state, group.protocol_type, len(group.members or ())) == ("Stable", "consumer", 1)
    assert derived.lag(seen, group)[TopicPartition(topic, 0)] == 2
    sizes = derived.replica_bytes(seen)[TopicPartition(topic, 0)]
    assert len(sizes) == 2
    assert all(size > 0 for size in sizes.values())
    assert not any(derived.is_under_replicated(each) for each in derived.partitions(seen))
