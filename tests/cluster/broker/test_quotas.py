"""Quotas of clients on a broker: set over the protocol, told in responses, kept by muting the connection."""

import asyncio
from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.broker.quotas.client_quotas import ClientQuotas
from kafka_py.net.principal import ANONYMOUS
from kafka_py.testing.local_broker import LocalBroker, batch, on_broker
from kafka_py.wire.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from kafka_py.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kafka_py.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafka_py.wire.messages.delete_topics import DeleteTopicsRequest
from kafka_py.wire.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from kafka_py.wire.messages.heartbeat import HeartbeatRequest
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

Parts = dict[str, str | None]
CLIENT: Parts = {"client-id": "test"}


async def alter(
    broker: LocalBroker, *entries: tuple[Parts, dict[str, float | None]], validate_only: bool = False
) -> list[tuple[int, str | None]]:
    request = AlterClientQuotasRequest(
        entries=[
            EntryData(
                entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in parts.items()],
                ops=[OpData(key=key, value=value or 0.0, remove=value is None) for key, value in ops.items()],
            )
            for parts, ops in entries
        ],
        validate_only=validate_only,
    )
    answer = await broker.ask(request, 1)
    return [(entry.error_code, entry.error_message) for entry in answer.entries]


async def described(broker: LocalBroker) -> list[tuple[Parts, dict[str, float]]]:
    answer = await broker.ask(DescribeClientQuotasRequest(components=[], strict=False), 1)
    return [
        ({part.entity_type: part.entity_name for part in entry.entity}, {each.key: each.value for each in entry.values})
        for entry in answer.entries
    ]


def quotas(broker: LocalBroker) -> ClientQuotas:
    return broker.server.node.quotas


@on_broker()
async def test_quotas_are_set_changed_and_removed(broker: LocalBroker) -> None:
    assert await alter(broker, (CLIENT, {"producer_byte_rate": 1024.0}), validate_only=True) == [(0, None)]
    assert await described(broker) == []
    alice: Parts = {"client-id": "c/1", "user": "al ice"}
    everyone: Parts = {"user": None}
    address: Parts = {"ip": "::1"}
    assert await alter(
        broker,
        (CLIENT, {"producer_byte_rate": 1024.0, "request_percentage": 12345678.5}),
        (alice, {"consumer_byte_rate": 7.0}),
        (everyone, {"controller_mutation_rate": 0.5}),
        (address, {"connection_creation_rate": 3.0}),
    ) == [(0, None)] * 4
    stored = broker.store.configs.of_entity
    assert await stored("clients/test") == {"producer_byte_rate": "1024", "request_percentage": "1.23456785E7"}
    assert await stored("users/al%20ice/clients/c%2F1") == {"consumer_byte_rate": "7"}
    assert await stored("users/<default>") == {"controller_mutation_rate": "0.5"}
    assert [parts for parts, _ in await described(broker)] == [
        everyone, {"user": "al ice", "client-id": "c/1"}, CLIENT, address,
    ]  # fmt: skip
    assert await alter(
        broker, (CLIENT, {"producer_byte_rate": None, "unknown": None}), (CLIENT, {"consumer_byte_rate": 5.0})
    ) == [(0, None)]
    assert await stored("clients/test") == {"request_percentage": "1.23456785E7", "consumer_byte_rate": "5"}


@on_broker()
async def test_what_is_wrong_with_an_entry_is_its_own_error(broker: LocalBroker) -> None:
    found = await alter(
        broker,
        ({}, {}),
        ({"team": "x"}, {}),
        ({"user": ""}, {}),
        ({"user": "a", "ip": "1.2.3.4"}, {}),
        ({"ip": "no address .."}, {}),
        ({"user": "a"}, {"connection_creation_rate": 1.0}),
        ({"ip": "1.2.3.4"}, {"connection_creation_rate": 1.5}),
        ({"ip": "1.2.3.5"}, {"connection_creation_rate": -1.0}),
        ({"user": "b"}, {"producer_byte_rate": 1.1}),
        ({"user": "c"}, {"producer_byte_rate": 1.0}),
    )
    assert [code for code, _ in found] == [ErrorCode.INVALID_REQUEST] * 9 + [0]
    assert [(text or "").partition(":")[0] for _, text in found] == [
        "Invalid empty client quota entity", "Unhandled client quota entity type", "Empty user not supported",
        "Invalid quota entity", "no address .. is not a valid IP or resolvable host.",
        "Invalid configuration key connection_creation_rate",
        "Configuration connection_creation_rate must be a INT value",
        "Configuration connection_creation_rate must be at least 0",
        "Configuration producer_byte_rate must be a LONG value", "",
    ]  # fmt: skip
    assert await described(broker) == [({"user": "c"}, {"producer_byte_rate": 1.0})]


@on_broker()
async def test_a_filter_for_the_default_has_no_name(broker: LocalBroker) -> None:
    await alter(broker, ({"client-id": None}, {"producer_byte_rate": 1.0}), (CLIENT, {"producer_byte_rate": 2.0}))
    for match_type, expected in ((0, CLIENT), (1, {"client-id": None})):
        component = ComponentData(entity_type="client-id", match_type=match_type, match="test")
        answer = await broker.ask(DescribeClientQuotasRequest(components=[component], strict=True), 1)
        found = [{part.entity_type: part.entity_name for part in entry.entity} for entry in answer.entries]
        assert found == [expected]


@on_broker(num_partitions="1")
async def test_a_producer_over_its_quota_is_told_and_muted(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    assert broker.server.node.throttling is None
    await alter(broker, (CLIENT, {"producer_byte_rate": 1000.0}))
    records = batch(b"x" * 10_400)
    data = [TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=records)])]
    answer = await broker.ask(ProduceRequest(acks=-1, timeout_ms=5000, topic_data=data), 8)
    assert answer.responses[0].partition_responses[0].error_code == 0
    assert 400 <= answer.throttle_time_ms < 700
    produce = quotas(broker).produce
    assert produce.muted == 1
    # The connection is not read: this request waits until the throttle time is over.
    waiting = asyncio.ensure_future(broker.ask(MetadataRequest(topics=[]), 9))
    other = await broker.connect("other")
    assert (await other.send(MetadataRequest(topics=[]), 9)).throttle_time_ms == 0
    assert not waiting.done()
    assert (await waiting).throttle_time_ms == 0
    assert produce.muted == 0
    other.close()
    [budget] = [budget for budget in produce.budgets if budget.tags == ("", "test")]
    assert budget.times is not None
    metrics = {reading.mbean: reading.attributes for reading in broker.server.registry.read()}
    assert metrics["kafka.server:type=Produce,client-id=test"]["throttle-time"] == answer.throttle_time_ms


@on_broker(num_partitions="1")
async def test_without_acks_a_producer_is_muted_without_a_word(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await alter(broker, (CLIENT, {"producer_byte_rate": 1000.0}))
    data = [TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=batch(b"x" * 10_200))])]
    broker.client.send_and_forget(ProduceRequest(acks=0, timeout_ms=5000, topic_data=data), 8)
    await broker.until(lambda: quotas(broker).produce.muted == 1)
    await broker.until(lambda: quotas(broker).produce.muted == 0)


@on_broker(num_partitions="1")
async def test_the_throttle_time_of_a_closed_connection_is_over(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await alter(broker, (CLIENT, {"producer_byte_rate": 1.0}))
    data = [TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=batch(b"x" * 1000))])]
    answer = await broker.ask(ProduceRequest(acks=-1, timeout_ms=5000, topic_data=data), 8)
    assert answer.throttle_time_ms > 60_000
    assert quotas(broker).produce.muted == 1
    assert broker.server._sockets is not None
    for connection in list(broker.server._sockets.connections.values()):
        connection.close("of a test")
    assert quotas(broker).produce.muted == 0


@on_broker(num_partitions="1")
async def test_a_consumer_over_its_quota_gets_nothing_until_the_time_is_over(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await broker.produce("t", batch(b"x" * 9000))
    await alter(broker, (CLIENT, {"consumer_byte_rate": 1000.0}))
    first = await broker.fetch("t", 0)
    assert len(first.record_set) > 9000
    request = broker.fetch_request({TopicPartition("t", 0): 0})
    over = await broker.ask(request, 11)
    assert (over.responses, over.error_code, over.session_id) == ([], 0, 0)
    assert over.throttle_time_ms > 0
    [budget] = [each for each in quotas(broker).fetch.budgets if each.tags == ("", "test")]
    assert budget.total < 9300  # what was not sent is not charged


@on_broker(num_partitions="3")
async def test_a_session_goes_on_after_a_throttled_fetch_and_loses_no_news(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    wanted = {TopicPartition("t", number): 0 for number in range(3)}
    opened = await broker.ask(broker.fetch_request(wanted, session_id=0, session_epoch=0), 11)
    assert opened.session_id
    await broker.produce("t", batch(b"x" * 9000))
    await alter(broker, (CLIENT, {"consumer_byte_rate": 1000.0}))
    fetch = quotas(broker).fetch
    fetch.budget_of((ANONYMOUS, "test")).charge(9_000, broker.server.clock.monotonic_ms())
    asking = broker.fetch_request({}, session_id=opened.session_id, session_epoch=1)
    over = await broker.ask(asking, 11)
    assert (over.responses, over.error_code, over.session_id) == ([], 0, opened.session_id)
    assert over.throttle_time_ms > 0
    await alter_elsewhere(broker, {"consumer_byte_rate": None})
    await fresh(broker)
    asking = broker.fetch_request({}, session_id=opened.session_id, session_epoch=2)
    answer = await broker.ask(asking, 11)
    rows = [row for topic in answer.responses for row in topic.partition_responses]
    assert [len(row.record_set) > 9000 for row in rows if row.record_set] == [True]


@on_broker(num_partitions="1")
async def test_fetches_of_followers_are_exempt(broker: LocalBroker) -> None:
    await broker.create_topic("t", 300)
    await alter(broker, (CLIENT, {"consumer_byte_rate": 1.0, "request_percentage": 0.001}))
    await fresh(broker)
    manager, now_ms = quotas(broker), broker.server.clock.monotonic_ms()
    manager.fetch.budget_of((ANONYMOUS, "test")).charge(1_000_000, now_ms)
    assert manager.request.budget_of((ANONYMOUS, "test")).charge(1_000, now_ms) == 1000
    [budget] = [each for each in manager.request.budgets if each.tags == ("", "test")]
    before = budget.total, manager.request.muted
    for partitions in (1, 300):  # at once, and in turns
        wanted = {TopicPartition("t", number): 0 for number in range(partitions)}
        answer = await broker.ask(broker.fetch_request(wanted, replica_id=5), 11)
        assert (answer.error_code, answer.throttle_time_ms) == (0, 0)
        assert sum(len(topic.partition_responses) for topic in answer.responses) == partitions
    assert (budget.total, manager.fetch.muted) == (before[0], 0)
    assert manager.request.muted <= before[1]
    assert manager.exempt.total > 0


@on_broker(num_partitions="1")
async def test_request_time_throttles_every_api(broker: LocalBroker) -> None:
    await alter(broker, (CLIENT, {"request_percentage": 0.0001}))
    heartbeat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    await broker.ask(heartbeat, 4)
    answer = await broker.ask(heartbeat, 4)
    assert 0 < answer.throttle_time_ms <= 1000
    await alter(broker, (CLIENT, {"request_percentage": None}))
    assert (await broker.ask(heartbeat, 4)).throttle_time_ms == 0


@on_broker(num_partitions="1")
async def test_controller_mutations_are_refused_or_throttled_by_version(broker: LocalBroker) -> None:
    async def create(version: int, *names: str, validate_only: bool = False) -> Any:
        topics = [
            CreatableTopic(name=name, num_partitions=12, replication_factor=1, assignments=[], configs=[])
            for name in names
        ]
        request = CreateTopicsRequest(topics=topics, timeout_ms=10_000, validate_only=validate_only)
        answer = await broker.ask(request, version)
        return [topic.error_code for topic in answer.topics], answer.throttle_time_ms

    await alter(broker, (CLIENT, {"controller_mutation_rate": 1000.0}))
    assert await create(6, "a") == ([0], 0)
    [budget] = quotas(broker).mutation.budgets
    tokens = budget.tokens
    assert await create(6, "b", validate_only=True) == ([0], 0)
    assert budget.tokens == tokens
    await alter(broker, (CLIENT, {"controller_mutation_rate": 0.5}))  # 5.5 tokens at most
    codes, throttle_ms = await create(6, "b")
    assert (codes, throttle_ms) == ([0], 0)
    codes, throttle_ms = await create(6, "c")
    assert codes == [ErrorCode.THROTTLING_QUOTA_EXCEEDED]
    assert throttle_ms > 10_000
    await alter_elsewhere(broker, {"controller_mutation_rate": 100.0})
    await fresh(broker)
    grown = CreatePartitionsTopic(name="a", count=13, assignments=None)
    answer = await broker.ask(CreatePartitionsRequest(topics=[grown], timeout_ms=10_000, validate_only=False), 3)
    assert (answer.results[0].error_code, answer.throttle_time_ms) in ((0, 0), (89, answer.throttle_time_ms))
    await alter_elsewhere(broker, {"controller_mutation_rate": 0.001})
    await fresh(broker)
    await create(6, "d")
    await fresh(broker)
    refused = await broker.ask(DeleteTopicsRequest(topic_names=["b"], topics=[], timeout_ms=10_000), 5)
    assert refused.responses[0].error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert broker.server.node.metadata.has_topic("b")
    await alter_elsewhere(broker, {"controller_mutation_rate": 100.0})
    await fresh(broker)
    deleted = await broker.ask(DeleteTopicsRequest(topic_names=["b"], topics=[], timeout_ms=10_000), 4)
    assert deleted.responses[0].error_code == 0


@on_broker(num_partitions="2")
async def test_which_changes_of_topics_take_permits(broker: LocalBroker) -> None:
    await alter(broker, (CLIENT, {"controller_mutation_rate": 1000.0}))
    await broker.create_topic("t", 3)
    [budget] = quotas(broker).mutation.budgets
    assert budget.total == 3
    grown = CreatePartitionsTopic(name="t", count=13, assignments=None)
    for validate_only, total in ((True, 3), (False, 13)):
        await broker.ask(CreatePartitionsRequest(topics=[grown], timeout_ms=10_000, validate_only=validate_only), 3)
        assert budget.total == total
    await broker.ask(DeleteTopicsRequest(topic_names=["t"], topics=[], timeout_ms=10_000), 5)
    assert budget.total == 26
    await alter(broker, (CLIENT, {"controller_mutation_rate": 0.001}))
    for name, total in (("a", 28), ("b", 30)):  # auto-creation is never refused
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=name)])
        answer = await broker.ask(asked, 9)
        assert (answer.topics[0].error_code, answer.throttle_time_ms) == (ErrorCode.LEADER_NOT_AVAILABLE, 0)
        assert budget.total == total


async def alter_elsewhere(broker: LocalBroker, ops: dict[str, float | None]) -> None:
    """Over a connection that is not muted."""
    muted, broker.client = broker.client, await broker.connect("admin")
    await alter(broker, (CLIENT, ops))
    muted.close()


async def fresh(broker: LocalBroker) -> None:
    """A connection of the same client that is not muted."""
    broker.client.close()
    broker.client = await broker.connect()


@on_broker(quota_producer_default="1000", num_partitions="1")
async def test_limits_stay_over_a_restart(broker: LocalBroker) -> None:
    assert broker.server.node.throttling is not None
    address: Parts = {"ip": "10.1.2.3"}
    await alter(
        broker,
        ({"user": "ANONYMOUS", "client-id": None}, {"consumer_byte_rate": 5.0}),
        (address, {"connection_creation_rate": 0.0}),
    )
    await broker.stop()
    await broker.start()
    assert quotas(broker).fetch.budget_of((ANONYMOUS, "x")).most_at_once == 50.0
    addresses = broker.server._quotas.addresses
    assert (addresses.record("10.1.2.3", 0.0), addresses.record("10.1.2.4", 0.0)) == (1000.0, 0.0)
    await alter(broker, (address, {"connection_creation_rate": None}))
    assert addresses.record("10.1.2.3", 0.0) == 0.0


@on_broker()
async def test_a_limit_of_a_listener_that_nobody_could_use_does_not_stop_the_next_start(broker: LocalBroker) -> None:
    unusable = {f"listener.name.plaintext.{name}": "0" for name in ("max.connections", "max.connection.creation.rate")}
    await broker.store.configs.change("brokers/<default>", {**unusable, "max.connections.per.ip": "77"})
    await broker.until(lambda: broker.server.node.live_config.current.max_connections_per_ip == 77)
    await broker.stop()
    await broker.start()
    assert await broker.ask(MetadataRequest(topics=[]), 9)
    assert broker.server.node.live_config.current.max_connections_per_ip == 77
