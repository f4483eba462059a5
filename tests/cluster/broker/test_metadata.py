"""Metadata and DescribeCluster (docs/reference/controller.md, sections 14 and 16)."""

from typing import Any
from unittest import mock
from uuid import UUID

from kafka_py.base.errors import ErrorCode
from kafka_py.broker.handlers.admin import metadata as metadata_handler
from kafka_py.controller.topic_policy import RequestMetadata
from kafka_py.net.client import BrokerConnection
from kafka_py.testing.local_broker import LocalBroker, on_broker
from kafka_py.wire.messages.describe_cluster import DescribeClusterRequest
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataRequestTopic


def asking(*names: str, create: bool = False) -> MetadataRequest:
    topics = [MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=create)


def named(response: Any) -> dict[str, Any]:
    return {topic.name: topic for topic in response.topics}


@on_broker()
async def test_a_null_list_asks_for_all_topics_and_an_empty_one_for_none_but_in_v0(broker: LocalBroker) -> None:
    """docs/reference/pitfalls.md, section 2: empty list and null list differ."""
    await broker.create_topic("a")
    await broker.create_topic("b", 2)
    assert set(named(await broker.ask(MetadataRequest(topics=None), 9))) == {"a", "b"}
    assert named(await broker.ask(MetadataRequest(topics=[]), 9)) == {}
    assert set(named(await broker.ask(MetadataRequest(topics=[]), 0))) == {"a", "b"}


@on_broker(broker_rack="r1")
async def test_every_version_tells_broker_controller_and_leader(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    for version in range(12):
        request = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
        response = await broker.ask(request, version)
        [node] = response.brokers
        assert (node.node_id, node.host, node.port) == (0, "127.0.0.1", broker.port)
        if version >= 1:
            assert node.rack == "r1"
            assert response.controller_id == 0
        if version >= 2:
            assert response.cluster_id == broker.server.cluster_id
        [partition] = named(response)["t"].partitions
        assert (partition.error_code, partition.leader_id, partition.replica_nodes) == (0, 0, [0])
        if version >= 7:
            assert partition.leader_epoch == 0
        if version >= 10:
            assert named(response)["t"].topic_id.int != 0


@on_broker()
async def test_asking_for_a_missing_topic_creates_it_and_says_leader_not_available(broker: LocalBroker) -> None:
    """docs/reference/pitfalls.md, section 2: auto-creation must answer LEADER_NOT_AVAILABLE and then succeed."""
    first = named(await broker.ask(asking("new", create=True), 9))["new"]
    assert (first.error_code, first.partitions) == (ErrorCode.LEADER_NOT_AVAILABLE, [])
    await broker.until(lambda: broker.server.node.metadata.partitions_of("new"))
    second = named(await broker.ask(asking("new", create=True), 9))["new"]
    assert second.error_code == 0
    assert second.partitions[0].leader_id == 0


@on_broker()
async def test_versions_before_v4_always_create(broker: LocalBroker) -> None:
    response = await broker.ask(MetadataRequest(topics=[MetadataRequestTopic(name="old")]), 3)
    assert named(response)["old"].error_code == ErrorCode.LEADER_NOT_AVAILABLE


@on_broker()
async def test_without_leave_to_create_an_unknown_topic_is_unknown_and_a_bad_name_invalid(broker: LocalBroker) -> None:
    got = named(await broker.ask(asking("no", "bad name", ".."), 9))
    assert got["no"].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert got["bad name"].error_code == got[".."].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert not await broker.store.topics.names()


@on_broker(auto_create_topics_enable="false")
async def test_auto_creation_can_be_switched_off(broker: LocalBroker) -> None:
    got = named(await broker.ask(asking("no", create=True), 9))
    assert got["no"].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@on_broker(default_replication_factor=3)
async def test_auto_creation_says_why_it_cannot(broker: LocalBroker) -> None:
    got = named(await broker.ask(asking("t", "x y", create=True), 9))
    assert got["t"].error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert got["x y"].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


@on_broker()
async def test_a_topic_that_cannot_be_created_leaves_the_other_topics_of_the_request_alone(broker: LocalBroker) -> None:
    class Faulty:
        def configure(self, configs: object) -> None: ...

        def validate(self, request: RequestMetadata) -> None:
            if request.topic != "good":
                raise ZeroDivisionError

    await broker.create_topic("there")
    broker.server.node.topics._policy = Faulty()
    got = named(await broker.ask(asking("there", "bad", "good", create=True), 9))
    assert {name: topic.error_code for name, topic in got.items()} == {
        "there": 0, "bad": ErrorCode.UNKNOWN_SERVER_ERROR, "good": ErrorCode.LEADER_NOT_AVAILABLE,
    }  # fmt: skip
    found = await broker.ask(FindCoordinatorRequest(key="g", key_type=0), 3)
    assert (found.error_code, found.node_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)


@on_broker(offsets_topic_replication_factor=1, offsets_topic_num_partitions=3)
async def test_internal_topics_are_created_with_their_own_settings(broker: LocalBroker) -> None:
    await broker.ask(asking("__consumer_offsets", create=True), 9)
    await broker.until(lambda: len(broker.server.node.metadata.partitions_of("__consumer_offsets")) == 3)
    got = named(await broker.ask(asking("__consumer_offsets"), 9))["__consumer_offsets"]
    assert got.is_internal and len(got.partitions) == 3
    assert (await broker.store.configs.of_topic("__consumer_offsets"))["cleanup.policy"] == "compact"


@on_broker()
async def test_authorized_operations_are_bits_and_only_told_when_asked_for(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    request = MetadataRequest(
        topics=None, include_cluster_authorized_operations=True, include_topic_authorized_operations=True
    )
    response = await broker.ask(request, 8)
    assert named(response)["t"].topic_authorized_operations == sum(1 << bit for bit in (3, 4, 5, 6, 7, 8, 10, 11))
    assert response.cluster_authorized_operations == sum(1 << bit for bit in (5, 7, 8, 9, 10, 11, 12))
    plain = await broker.ask(MetadataRequest(topics=None), 8)
    assert named(plain)["t"].topic_authorized_operations == -(1 << 31)
    assert plain.cluster_authorized_operations == -(1 << 31)


@on_broker(
    listeners="A://127.0.0.1:0,B://127.0.0.1:0",
    advertised_listeners="A://127.0.0.1:0,B://public.example:7000",
    listener_security_protocol_map="A:PLAINTEXT,B:PLAINTEXT",
    inter_broker_listener_name="A",
)
async def test_each_listener_is_told_its_own_address(broker: LocalBroker) -> None:
    """docs/reference/pitfalls.md, section 2: advertised address per listener."""
    for listener, address in (("A", ("127.0.0.1", broker.server.ports["A"])), ("B", ("public.example", 7000))):
        client = await BrokerConnection.connect("127.0.0.1", broker.server.ports[listener])
        [node] = (await client.send(MetadataRequest(topics=None), 9)).brokers
        assert (node.host, node.port) == address
        client.close()


@on_broker()
async def test_of_very_many_missing_topics_one_request_creates_so_many_and_the_next_one_the_rest(
    broker: LocalBroker,
) -> None:
    names = [f"t{number}" for number in range(13)]
    with mock.patch.object(metadata_handler, "MOST_CREATED", 10):
        first = named(await broker.ask(asking(*names, create=True), 9))
    codes = [first[name].error_code for name in names]
    assert set(codes[:10]) == {ErrorCode.LEADER_NOT_AVAILABLE}
    assert set(codes[10:]) == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    await broker.ask(asking(*names[10:], create=True), 9)
    metadata = broker.server.node.metadata
    await broker.until(lambda: all(metadata.has_topic(name) for name in names))


@on_broker(
    listeners="PLAINTEXT://127.0.0.1:0,EXTRA://127.0.0.1:0",
    listener_security_protocol_map="PLAINTEXT:PLAINTEXT,EXTRA:PLAINTEXT",
)
async def test_a_kept_answer_is_for_its_version_listener_and_question_alone(broker: LocalBroker) -> None:
    """What many ask for is encoded once; who asks something else gets an answer of his own."""
    await broker.create_topic("t", 3)
    ports = list(broker.server.ports.values())
    clients = [await BrokerConnection.connect("127.0.0.1", port) for port in ports]
    names = [MetadataRequestTopic(name="t")]
    questions = [
        (version, topics, cluster)
        for version in range(12)
        for topics in ((False, True) if version >= 8 else (False,))
        for cluster in ((False, True) if 8 <= version <= 10 else (False,))
    ]

    async def answers(asked_topics: list[MetadataRequestTopic] | None) -> list[Any]:
        return [
            await client.send(
                MetadataRequest(
                    topics=asked_topics,
                    include_topic_authorized_operations=topics,
                    include_cluster_authorized_operations=cluster,
                ),
                version,
            )
            for version, topics, cluster in questions
            for client in clients
            if version or asked_topics
        ]

    plain = await answers(names)
    with mock.patch.object(metadata_handler, "_AT_ONCE", 0):
        kept = await answers(names)
    assert kept == plain
    assert {node.port for answer in kept for node in answer.brokers} == set(ports)
    assert await answers(None) == plain[len(clients) :]
    for client in clients:
        client.close()


@on_broker(auto_create_topics_enable=False)
async def test_very_many_names_are_answered_as_few_are(broker: LocalBroker) -> None:
    await broker.create_topic("t", 2)
    names = ["t", "bad/name", *(f"missing{number}" for number in range(2000)), "t"]
    many = await broker.ask(asking(*names), 9)
    few = await broker.ask(asking(*names[:3]), 9)
    assert [topic.name for topic in many.topics] == names[:-1]
    assert (many.brokers, many.topics[:3]) == (few.brokers, few.topics)
    assert {topic.error_code for topic in many.topics[2:]} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    all_there = await broker.ask(asking(*["t"] * 2000), 9)
    assert all_there.topics == few.topics[:1]
    by_id = MetadataRequest(topics=[MetadataRequestTopic(name=None, topic_id=UUID(int=7))] * 2000)
    refused = await broker.ask(by_id, 10)
    assert {topic.error_code for topic in refused.topics} == {ErrorCode.INVALID_REQUEST}


@on_broker()
async def test_topics_by_id_are_not_served_yet(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    topic_id = broker.server.node.metadata.topic_id("t")
    for name in (None, "t"):
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name, topic_id=topic_id)])
        assert (await broker.ask(request, 10)).topics[0].error_code == ErrorCode.INVALID_REQUEST


@on_broker()
async def test_a_question_before_the_controller_has_spoken_waits_for_it(broker: LocalBroker) -> None:
    node, metadata = broker.server.node, broker.server.node.metadata
    brokers, metadata.brokers, node.described = metadata.brokers, {}, False
    waiting = broker.client.send_nowait(MetadataRequest(topics=None), 9)
    await broker.until(lambda: broker.server.node.topic_waits.delayed)
    metadata.brokers = brokers
    broker.server.node.topic_waits.check_and_complete("")
    assert len((await waiting).brokers) == 1


@on_broker()
async def test_a_cluster_that_had_topics_is_not_known_before_they_are(broker: LocalBroker) -> None:
    """A new controller names the brokers first: to answer then would tell clients that their topics are gone."""
    node = broker.server.node
    node.had_topics, node.described = True, False
    waiting = broker.client.send_nowait(MetadataRequest(topics=None), 9)
    await broker.until(lambda: node.topic_waits.delayed)
    await broker.create_topic("t")
    assert [topic.name for topic in (await waiting).topics] == ["t"]


@on_broker()
async def test_describe_cluster_tells_the_same(broker: LocalBroker) -> None:
    response = await broker.ask(DescribeClusterRequest(include_cluster_authorized_operations=True), 0)
    assert (response.error_code, response.controller_id, response.cluster_id) == (0, 0, broker.server.cluster_id)
    assert [(node.broker_id, node.port) for node in response.brokers] == [(0, broker.port)]
    assert response.cluster_authorized_operations > 0
