"""The requests of transactional producers over the wire: order of checks, codes by version, what is logged."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.broker.handlers.records import add_partitions_to_txn
from kafka_py.coordinator.transactions.records import TransactionValueReader
from kafka_py.records.batch import iter_headers, iter_records
from kafka_py.security.acls.authorization import AllowAll, Asker
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.testing.local_broker import LocalBroker, on_broker
from kafka_py.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafka_py.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from kafka_py.wire.messages.end_txn import EndTxnRequest
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.init_producer_id import InitProducerIdRequest

SETTINGS = {
    "transaction_state_log_num_partitions": 3,
    "transaction_state_log_replication_factor": 1,
    "transaction_state_log_min_isr": 1,
    "transaction_state_log_segment_bytes": 123456,
    "offsets_topic_num_partitions": 2,
    "offsets_topic_replication_factor": 1,
}
ID = "tx"
NEWEST = {"init": 4, "add": 3, "offsets": 3, "end": 3}
FENCED_OF_OLD = ErrorCode.INVALID_PRODUCER_EPOCH


class Denied(AllowAll):
    """Allows all but these (operation, kind of resource, name)."""

    def __init__(self, *denied: tuple[Operation, ResourceType, str]) -> None:
        self.denied = denied

    def allows(
        self, who: Asker, operation: Operation, resource_type: ResourceType, name: str, *_: object
    ) -> bool:
        return (operation, resource_type, name) not in self.denied


async def find(broker: LocalBroker, transactional_id: str = ID) -> Any:
    """The coordinator's address, once it is there."""
    async with asyncio.timeout(20):
        while True:
            found = await broker.ask(FindCoordinatorRequest(key=transactional_id, key_type=1), 3)
            if found.error_code != ErrorCode.COORDINATOR_NOT_AVAILABLE:
                return found
            await asyncio.sleep(0.005)


async def init(broker: LocalBroker, version: int = NEWEST["init"], **fields: Any) -> Any:
    """The answer to InitProducerId, asked again while the coordinator loads or a transaction is being ended."""
    request = InitProducerIdRequest(**{"transactional_id": ID, "transaction_timeout_ms": 60_000, **fields})
    again = {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR, ErrorCode.CONCURRENT_TRANSACTIONS}
    async with asyncio.timeout(20):
        while True:
            answer = await broker.ask(request, version)
            if answer.error_code not in again:
                return answer
            await asyncio.sleep(0.005)


async def coordinated(broker: LocalBroker) -> Any:
    """The first producer of the id."""
    assert (await find(broker)).error_code == 0
    return await init(broker)


async def add(
    broker: LocalBroker, producer: Any, *topics: tuple[str, Iterable[int]], version: int = NEWEST["add"],
    transactional_id: str = ID,
) -> dict[str, ErrorCode]:  # fmt: skip
    """The code of each partition, by its name."""
    request = AddPartitionsToTxnRequest(
        transactional_id=transactional_id, producer_id=producer.producer_id, producer_epoch=producer.producer_epoch,
        topics=[AddPartitionsToTxnTopic(name=name, partitions=list(partitions)) for name, partitions in topics],
    )  # fmt: skip
    answer = await broker.ask(request, version)
    return {
        f"{topic.name}-{row.partition_index}": ErrorCode(row.error_code)
        for topic in answer.results
        for row in topic.results
    }


async def offsets(broker: LocalBroker, producer: Any, group: str = "g", version: int = NEWEST["offsets"]) -> ErrorCode:
    request = AddOffsetsToTxnRequest(
        transactional_id=ID, producer_id=producer.producer_id, producer_epoch=producer.producer_epoch, group_id=group
    )
    return ErrorCode((await broker.ask(request, version)).error_code)


async def end(
    broker: LocalBroker, producer: Any, *, committed: bool = True, version: int = NEWEST["end"]
) -> ErrorCode:
    request = EndTxnRequest(
        transactional_id=ID, producer_id=producer.producer_id, producer_epoch=producer.producer_epoch,
        committed=committed,
    )  # fmt: skip
    return ErrorCode((await broker.ask(request, version)).error_code)


def older(producer: Any) -> Any:
    """The same producer, an epoch ago."""
    return type("Older", (), {"producer_id": producer.producer_id, "producer_epoch": producer.producer_epoch - 1})


async def statuses(broker: LocalBroker, count: int) -> list[int]:
    """The statuses of the id in the order of its log, once there are so many."""
    runtime = broker.server.node.coordinators.transactions.store.runtime
    log = broker.server.node.hosted.partitions[TopicPartition(runtime.topic, runtime.partition_for(ID))].log
    assert log is not None
    await broker.until(lambda: log.high_watermark >= count)
    answer = await broker.fetch(runtime.topic, 0, partition=runtime.partition_for(ID))
    data = bytes(answer.record_set)
    return [
        TransactionValueReader().read(record.value).state
        for position, _ in iter_headers(data)
        for record in iter_records(data, position)
        if record.value is not None
    ]


@on_broker(**SETTINGS)
async def test_a_broker_that_coordinates_nothing_has_ids_for_idempotent_producers(broker: LocalBroker) -> None:
    """S3-090."""
    producer = await init(broker, transactional_id=None)
    assert (producer.error_code, producer.producer_epoch) == (0, 0)
    assert not broker.server.node.metadata.has_topic("__transaction_state")


@on_broker(**SETTINGS)
async def test_the_first_question_creates_the_topic(broker: LocalBroker) -> None:
    """S3-089."""
    answer = await broker.ask(FindCoordinatorRequest(key=ID, key_type=1), 3)
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    found = await find(broker)
    assert (found.error_code, found.error_message, found.node_id, found.port) == (0, "NONE", 0, broker.port)
    assert (await broker.store.configs.of_topics(["__transaction_state"]))["__transaction_state"] == {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": "1",
        "segment.bytes": "123456",
        "unclean.leader.election.enable": "false",
    }
    assert len(broker.server.node.metadata.partitions_of("__transaction_state")) == 3


@pytest.mark.parametrize(("committed", "order"), [(True, [0, 1, 2, 4]), (False, [0, 1, 3, 5])])
def test_w7_27_the_statuses_of_a_transaction_in_its_log(committed: bool, order: list[int]) -> None:
    @on_broker(**SETTINGS)
    async def run(broker: LocalBroker) -> None:
        await broker.create_topic("t", 2)
        producer = await coordinated(broker)
        assert set((await add(broker, producer, ("t", (0, 1)))).values()) == {ErrorCode.NONE}
        assert await end(broker, producer, committed=committed) is ErrorCode.NONE
        assert await statuses(broker, 4) == order
        for partition in range(2):
            log = broker.server.node.hosted.partitions[TopicPartition("t", partition)].log
            assert log is not None
            assert log.log_end_offset == 1  # the marker

    run()


@on_broker(**SETTINGS)
async def test_init_producer_id_says_what_is_wrong(broker: LocalBroker) -> None:
    assert (await find(broker)).error_code == 0
    assert (await init(broker, transactional_id="")).error_code == ErrorCode.INVALID_REQUEST
    assert (await init(broker, producer_id=5)).error_code == ErrorCode.INVALID_REQUEST
    assert (await init(broker, producer_epoch=5)).error_code == ErrorCode.INVALID_REQUEST
    for timeout_ms in (0, -1, 900_001):
        answer = await init(broker, transaction_timeout_ms=timeout_ms)
        assert answer.error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT
        assert (answer.producer_id, answer.producer_epoch) == (-1, -1)
    first = await init(broker)
    second = await init(broker, producer_id=first.producer_id, producer_epoch=first.producer_epoch)
    assert (second.error_code, second.producer_id, second.producer_epoch) == (0, first.producer_id, 1)
    for version, code in ((4, ErrorCode.PRODUCER_FENCED), (3, FENCED_OF_OLD)):
        fields = {"producer_id": first.producer_id, "producer_epoch": 7}
        assert (await init(broker, version, **fields)).error_code == code
    plain = await init(broker, transactional_id=None)
    assert plain.error_code == 0
    assert plain.producer_id not in {-1, first.producer_id}


@on_broker(**SETTINGS)
async def test_older_clients_hear_of_fencing_by_another_code(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await coordinated(broker)
    replaced = older(await init(broker))
    for version in range(4):
        expected = ErrorCode.PRODUCER_FENCED if version >= 2 else FENCED_OF_OLD
        assert await add(broker, replaced, ("t", (0,)), version=version) == {"t-0": expected}
        assert await offsets(broker, replaced, version=version) is expected
        assert await end(broker, replaced, version=version) is expected


@pytest.mark.parametrize("at_once", [add_partitions_to_txn.AT_ONCE, 1], ids=["in one go", "in turns"])
def test_one_bad_partition_keeps_all_from_being_added(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(add_partitions_to_txn, "AT_ONCE", at_once)

    @on_broker(**SETTINGS)
    async def run(broker: LocalBroker) -> None:
        for name in ("t", "others"):
            await broker.create_topic(name, 2)
        producer = await coordinated(broker)
        broker.server.node.authorizer = Denied((Operation.WRITE, ResourceType.TOPIC, "others"))
        assert await add(broker, producer, ("t", (0, 1)), ("t2", (0,)), ("others", (0,)), ("t", (2,))) == {
            "t-0": ErrorCode.OPERATION_NOT_ATTEMPTED,
            "t-1": ErrorCode.OPERATION_NOT_ATTEMPTED,
            "t2-0": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            "others-0": ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            "t-2": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        }
        assert await end(broker, producer) is ErrorCode.INVALID_TXN_STATE
        assert await add(broker, producer, ("t", (0, 1))) == {"t-0": ErrorCode.NONE, "t-1": ErrorCode.NONE}
        assert await end(broker, producer) is ErrorCode.NONE

    run()


@on_broker(**SETTINGS)
async def test_internal_topics_are_nobodys_to_write(broker: LocalBroker) -> None:
    producer = await coordinated(broker)
    for name in ("__transaction_state", "__consumer_offsets"):
        assert await add(broker, producer, (name, (0,))) == {f"{name}-0": ErrorCode.TOPIC_AUTHORIZATION_FAILED}


@on_broker(**SETTINGS)
async def test_rights_are_looked_at_first(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    producer = await coordinated(broker)
    refused = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    broker.server.node.authorizer = Denied((Operation.WRITE, ResourceType.TRANSACTIONAL_ID, ID))
    assert (await init(broker, producer_id=5)).error_code == refused
    assert await add(broker, producer, ("t", (0,)), ("absent", (0,))) == {"t-0": refused, "absent-0": refused}
    assert await offsets(broker, producer) is refused
    assert await end(broker, older(producer)) is refused
    broker.server.node.authorizer = Denied((Operation.READ, ResourceType.GROUP, "g"))
    assert await offsets(broker, older(producer)) is ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert await offsets(broker, older(producer), "other") is ErrorCode.PRODUCER_FENCED
    broker.server.node.authorizer = Denied((Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, ID))
    found = await broker.ask(FindCoordinatorRequest(key=ID, key_type=1), 3)
    assert (found.error_code, found.node_id) == (refused, -1)


@on_broker(**SETTINGS)
async def test_a_group_brings_its_partition_of_the_offsets_topic(broker: LocalBroker) -> None:
    """S3-097."""
    producer = await coordinated(broker)
    assert await offsets(broker, producer, "g") is ErrorCode.NONE
    coordinators = broker.server.node.coordinators
    store = coordinators.transactions.store
    transaction = store.get(store.partition_of(ID), ID)
    assert transaction is not None
    expected = TopicPartition("__consumer_offsets", coordinators.groups.runtime.partition_for("g"))
    assert transaction.metadata.partitions == (expected,)


@on_broker(**SETTINGS, inter_broker_protocol_version="0.10.2", log_message_format_version="0.10.2")
async def test_brokers_of_before_transactions_are_not_asked_to_know_them(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    producer = type("Any", (), {"producer_id": 1, "producer_epoch": 0})
    assert await add(broker, producer, ("t", (0,))) == {"t-0": ErrorCode.UNSUPPORTED_VERSION}
    assert await offsets(broker, producer) is ErrorCode.UNSUPPORTED_VERSION
    assert await end(broker, producer) is ErrorCode.UNSUPPORTED_VERSION


@on_broker(**SETTINGS | {"transaction_state_log_min_isr": 2})
async def test_below_its_minimum_of_in_sync_replicas_nothing_begins(broker: LocalBroker) -> None:
    assert (await find(broker)).error_code == 0
    assert (await init(broker)).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


@on_broker(**SETTINGS | {"transaction_abort_timed_out_transaction_cleanup_interval_ms": 20})
async def test_a_transaction_left_open_is_ended_when_its_time_is_over(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    assert (await find(broker)).error_code == 0
    producer = await init(broker, transaction_timeout_ms=50)
    assert await add(broker, producer, ("t", (0,))) == {"t-0": ErrorCode.NONE}
    assert await statuses(broker, 4) == [0, 1, 3, 5]
    assert await end(broker, producer) is ErrorCode.PRODUCER_FENCED


@on_broker(
    **SETTINGS
    | {
        "transactional_id_expiration_ms": 50,
        "transaction_remove_expired_transaction_cleanup_interval_ms": 20,
    }
)
async def test_an_id_that_nobody_uses_is_forgotten(broker: LocalBroker) -> None:
    producer = await coordinated(broker)
    store = broker.server.node.coordinators.transactions.store
    partition = store.partition_of(ID)
    await broker.until(lambda: store.get(partition, ID) is None)
    assert await end(broker, producer) is ErrorCode.INVALID_PRODUCER_ID_MAPPING


@on_broker(**SETTINGS)
async def test_a_broker_that_starts_again_knows_its_producers(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    producer = await coordinated(broker)
    assert await add(broker, producer, ("t", (0,))) == {"t-0": ErrorCode.NONE}
    await broker.stop()
    await broker.start()
    store = broker.server.node.coordinators.transactions.store
    await broker.until(lambda: store.runtime.partition_for(ID) in store.runtime.owned)
    assert await end(broker, producer) is ErrorCode.NONE
    later = await init(broker)
    assert (later.producer_id, later.producer_epoch) == (producer.producer_id, 1)
