"""The admin client against pretend brokers: an answer or an error per item, and the search for the controller."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients import AdminClient, AsyncAdminClient, ClientTimeout, ConfigResource, NewPartitions, NewTopic
from kafka_py.clients.admin.resources import ConfigResourceType, ConfigSource, ConfigType
from kafka_py.testing.fakes.fake_cluster import CUT, HANG, FakeCluster
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.create_topics import CreateTopicsRequest


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(2) as made:
        yield made


def admin(cluster: FakeCluster, **settings: Any) -> AdminClient:
    names = {name.replace("_", "."): value for name, value in settings.items()}
    return AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "retry.backoff.ms": 5, **names})


def test_topics_are_created_described_and_deleted(cluster: FakeCluster) -> None:
    with admin(cluster) as made:
        created = made.create_topics(
            [NewTopic("a", 2, 1, configs={"cleanup.policy": "compact"}), NewTopic("b", replica_assignments={0: [1]})]
        ).all()
        assert created["a"].num_partitions == 2
        assert created["a"].configs is not None
        assert created["a"].configs[0].name == "cleanup.policy"
        assert set(made.list_topics()) == {"a", "b"}
        described = made.describe_topics(["a"]).value("a")
        assert [(each.partition, each.leader and each.leader.id) for each in described.partitions] == [(0, 0), (1, 1)]
        assert described.topic_id == cluster.topic_ids["a"]
        made.delete_topics(["a"]).all()
        assert set(made.list_topics()) == {"b"}


def test_every_item_has_its_own_error(cluster: FakeCluster) -> None:
    cluster.create_topic("old")
    with admin(cluster) as made:
        results = made.create_topics([NewTopic("old"), NewTopic("new")])
        assert set(results.errors()) == {"old"}
        with pytest.raises(KafkaError) as caught:
            results.all()
        assert caught.value.code is ErrorCode.TOPIC_ALREADY_EXISTS
        assert results.value("new").name == "new"
        gone = made.delete_topics(["new", "never"]).errors()
        assert {name: error.code for name, error in gone.items()} == {"never": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        assert set(made.describe_topics(["nowhere"]).errors()) == {"nowhere"}
        assert "nowhere" not in cluster.topic_ids


def test_validate_only_creates_nothing(cluster: FakeCluster) -> None:
    with admin(cluster) as made:
        made.create_topics([NewTopic("a")], validate_only=True).all()
        assert made.list_topics() == {}


def test_internal_topics_are_listed_when_asked_for(cluster: FakeCluster) -> None:
    cluster.create_topic("__consumer_offsets")
    with admin(cluster) as made:
        assert made.list_topics() == {}
        assert made.list_topics(list_internal=True)["__consumer_offsets"].is_internal


def test_partitions_are_added(cluster: FakeCluster) -> None:
    cluster.create_topic("a", 1)
    with admin(cluster) as made:
        results = made.create_partitions({"a": 3, "gone": NewPartitions(2, [[0]])})
        assert results["a"] is None
        assert set(results.errors()) == {"gone"}
        assert len(made.describe_topics(["a"]).value("a").partitions) == 3
        assert made.create_partitions({"a": 2}).errors()["a"].code is ErrorCode.INVALID_PARTITIONS


def test_the_controller_is_looked_for_again_when_it_has_moved(cluster: FakeCluster) -> None:
    with admin(cluster) as made:
        made.create_topics([NewTopic("a")]).all()
        cluster.controller_id = 1
        made.create_topics([NewTopic("b")]).all()
        asked = [node_id for node_id, request in cluster.requests if isinstance(request, CreateTopicsRequest)]
        assert asked == [0, 0, 1]


def test_the_controller_is_looked_for_again_when_its_broker_has_ended(cluster: FakeCluster) -> None:
    with admin(cluster) as made:
        made.create_topics([NewTopic("a")]).all()
        cluster.controller_id = 1
        cluster.stop_broker(0)
        made.create_topics([NewTopic("b")], timeout=10).all()
        asked = [node_id for node_id, request in cluster.requests if isinstance(request, CreateTopicsRequest)]
        assert asked == [0, 1]


def test_only_the_items_that_met_the_wrong_broker_are_asked_for_again(cluster: FakeCluster) -> None:
    cluster.fail(ApiKey.CREATE_TOPICS, ErrorCode.THROTTLING_QUOTA_EXCEEDED)
    with admin(cluster) as made:
        made.create_topics([NewTopic("a")]).all()
        assert cluster.count(CreateTopicsRequest) == 2


def test_a_cut_connection_is_no_failure(cluster: FakeCluster) -> None:
    cluster.fail(ApiKey.CREATE_TOPICS, CUT)
    with admin(cluster, reconnect_backoff_ms=5) as made:
        made.create_topics([NewTopic("a")]).all()


def test_a_call_ends_with_its_time(cluster: FakeCluster) -> None:
    cluster.fail(ApiKey.CREATE_TOPICS, *[HANG] * 100)
    with admin(cluster, reconnect_backoff_ms=5) as made:
        made.list_topics()
        with pytest.raises(ClientTimeout):
            made.create_topics([NewTopic("a")], timeout=0.1)


def test_settings_are_described_with_source_and_type(cluster: FakeCluster) -> None:
    topic, broker = ConfigResource(ConfigResourceType.TOPIC, "a"), ConfigResource(ConfigResourceType.BROKER, "1")
    cluster.configs[ConfigResourceType.TOPIC, "a"] = {"retention.ms": "1", "segment.bytes": "2"}
    cluster.configs[ConfigResourceType.BROKER, "1"] = {"num.io.threads": "8"}
    with admin(cluster) as made:
        settings = made.describe_configs([topic, broker]).all()
        entry = settings[topic]["retention.ms"]
        assert (entry.value, entry.source, entry.type) == ("1", ConfigSource.DEFAULT_CONFIG, ConfigType.STRING)
        assert entry.is_default
        assert settings[broker]["num.io.threads"].value == "8"
        assert set(made.describe_configs({topic: ["segment.bytes"]}).value(topic)) == {"segment.bytes"}


def test_a_brokers_settings_are_asked_of_that_broker(cluster: FakeCluster) -> None:
    with admin(cluster) as made:
        made.describe_configs([ConfigResource(ConfigResourceType.BROKER, "1")]).all()
        assert cluster.requests[-1][0] == 1
        with pytest.raises(ClientTimeout):
            made.describe_configs([ConfigResource(ConfigResourceType.BROKER, "9")], timeout=0.1)


@pytest.mark.parametrize("versions", [{}, {ApiKey.DESCRIBE_CLUSTER: -1}])
def test_the_cluster_is_described_also_by_older_brokers(versions: dict[ApiKey, int]) -> None:
    with FakeCluster(2, versions) as cluster, admin(cluster) as made:
        described = made.describe_cluster()
        assert described.cluster_id == "fake-cluster"
        assert described.controller is not None
        assert described.controller.id == 0
        assert [node.id for node in described.nodes] == [0, 1]


def test_log_directories_are_described_broker_by_broker(cluster: FakeCluster) -> None:
    cluster.create_topic("a", 2)
    with admin(cluster) as made:
        results = made.describe_log_dirs([0, 1, 7])
        assert set(results.value(0)["/fake"].replicas) == {TopicPartition("a", 0)}
        assert set(results.value(1)["/fake"].replicas) == {TopicPartition("a", 1)}
        assert results.errors()[7].code is ErrorCode.BROKER_NOT_AVAILABLE


def test_a_broker_tells_what_it_speaks(cluster: FakeCluster) -> None:
    with admin(cluster) as made:
        assert made.api_versions()[ApiKey.FETCH] == (0, 12)
        assert made.api_versions(1)[ApiKey.PRODUCE].highest == 9


def test_without_any_broker_the_call_times_out_naming_the_reason() -> None:
    made = AdminClient({"bootstrap.servers": "127.0.0.1:1", "retry.backoff.ms": 5, "reconnect.backoff.ms": 5})
    with made, pytest.raises(ClientTimeout, match="Connection to node -1"):
        made.list_topics(timeout=0.2)


def test_bootstrap_servers_are_required() -> None:
    with pytest.raises(ConfigError, match=r"bootstrap\.servers"):
        AdminClient({})


def test_the_async_client_makes_calls_side_by_side(cluster: FakeCluster) -> None:
    async def scenario() -> set[str]:
        async with AsyncAdminClient({"bootstrap.servers": cluster.bootstrap_servers}) as made:
            await asyncio.gather(*(made.create_topics([NewTopic(name)]) for name in "abc"))
            return set(await made.list_topics())

    assert asyncio.run(scenario()) == {"a", "b", "c"}
