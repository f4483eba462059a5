"""ListTransactions and DescribeTransactions of a whole broker, and a hanging transaction that is found and ended."""

from __future__ import annotations

import asyncio
from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.log.model.answers import Origin
from kafka_py.security.acls.authorization import AllowAll, Asker
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.testing.local_broker import LocalBroker, batch, on_broker
from kafka_py.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from kafka_py.wire.messages.describe_transactions import DescribeTransactionsRequest
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.init_producer_id import InitProducerIdRequest
from kafka_py.wire.messages.list_transactions import ListTransactionsRequest
from kafka_py.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

SETTINGS = {
    "transaction_state_log_num_partitions": 3,
    "transaction_state_log_replication_factor": 1,
    "transaction_state_log_min_isr": 1,
}
NOT_YET = {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR}


class Blind(AllowAll):
    """Allows all but to describe one transactional id and one topic."""

    def allows(
        self, who: Asker, operation: Operation, resource_type: ResourceType, name: str, *_: object
    ) -> bool:
        hidden = {(ResourceType.TRANSACTIONAL_ID, "secret"), (ResourceType.TOPIC, "hidden")}
        return operation is not Operation.DESCRIBE or (resource_type, name) not in hidden


async def init(broker: LocalBroker, transactional_id: str) -> Any:
    """The producer of an id, once its coordinator is there."""
    request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)
    async with asyncio.timeout(20):
        while True:
            await broker.ask(FindCoordinatorRequest(key=transactional_id, key_type=1), 3)
            answer = await broker.ask(request, 4)
            if answer.error_code not in NOT_YET:
                return answer
            await asyncio.sleep(0.005)


async def begin(broker: LocalBroker, transactional_id: str, *topics: str) -> Any:
    """An open transaction in the first partition of these topics."""
    producer = await init(broker, transactional_id)
    request = AddPartitionsToTxnRequest(
        transactional_id=transactional_id, producer_id=producer.producer_id, producer_epoch=producer.producer_epoch,
        topics=[AddPartitionsToTxnTopic(name=topic, partitions=[0]) for topic in topics],
    )  # fmt: skip
    answer = await broker.ask(request, 3)
    assert {each.error_code for topic in answer.results for each in topic.results} == {0}
    return producer


async def described(broker: LocalBroker, *transactional_ids: str) -> list[Any]:
    answer = await broker.ask(DescribeTransactionsRequest(transactional_ids=list(transactional_ids)), 0)
    return list(answer.transaction_states)


@on_broker(**SETTINGS)
async def test_transactions_are_listed_and_described(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    producer = await begin(broker, "open", "t")
    idle = await init(broker, "idle")
    for version in (0, 1):
        answer = await broker.ask(ListTransactionsRequest(state_filters=[], producer_id_filters=[]), version)
        rows = answer.transaction_states
        found = {(each.transactional_id, each.producer_id, each.transaction_state) for each in rows}
        assert found == {("open", producer.producer_id, "Ongoing"), ("idle", idle.producer_id, "Empty")}
    request = ListTransactionsRequest(state_filters=["Ongoing", "Odd"], producer_id_filters=[idle.producer_id])
    answer = await broker.ask(request, 1)
    assert (answer.error_code, answer.unknown_state_filters, answer.transaction_states) == (0, ["Odd"], [])
    long_ago = ListTransactionsRequest(state_filters=[], producer_id_filters=[], duration_filter=3_600_000)
    assert (await broker.ask(long_ago, 1)).transaction_states == []
    known, empty, unknown = await described(broker, "open", "idle", "nobody")
    assert (known.error_code, known.transaction_state, known.transaction_timeout_ms) == (0, "Ongoing", 60_000)
    assert (known.producer_id, known.producer_epoch) == (producer.producer_id, 0)
    assert [(each.topic, each.partitions) for each in known.topics] == [("t", [0])]
    assert (empty.transaction_state, empty.transaction_start_time_ms, empty.topics) == ("Empty", -1, [])
    assert unknown.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


@on_broker(**SETTINGS)
async def test_what_may_not_be_described_is_not_shown(broker: LocalBroker) -> None:
    for topic in ("t", "hidden"):
        await broker.create_topic(topic)
    await begin(broker, "open", "t", "hidden")
    await init(broker, "secret")
    broker.server.node.authorizer = Blind()
    answer = await broker.ask(ListTransactionsRequest(state_filters=[], producer_id_filters=[]), 0)
    assert [each.transactional_id for each in answer.transaction_states] == ["open"]
    known, secret = await described(broker, "open", "secret")
    assert [each.topic for each in known.topics] == ["t"]
    assert secret.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


@on_broker(**SETTINGS)
async def test_a_hanging_transaction_is_ended_by_a_marker(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    partition = broker.server.node.hosted.partitions[TopicPartition("t", 0)]
    left_open = batch(b"a", producer_id=8, producer_epoch=1, base_sequence=0, transactional=True)
    partition.append(memoryview(bytearray(left_open)), 1, 0, Origin.CLIENT)
    partition.maybe_raise_high_watermark(0)
    assert partition.log is not None
    assert partition.log.last_stable_offset == 0
    marker = WritableTxnMarker(
        producer_id=8, producer_epoch=1, transaction_result=False, coordinator_epoch=0,
        topics=[WritableTxnMarkerTopic(name="t", partition_indexes=[0])],
    )  # fmt: skip
    answer = await broker.ask(WriteTxnMarkersRequest(markers=[marker]), 1)
    assert answer.markers[0].topics[0].partitions[0].error_code == 0
    assert partition.log.last_stable_offset == 2
