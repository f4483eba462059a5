"""TxnOffsetCommit, OffsetFetch and WriteTxnMarkers over the wire: offsets of a transaction from commit to marker."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.testing.local_broker import LocalBroker, on_broker
from kafka_py.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafka_py.wire.messages.end_txn import EndTxnRequest
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_py.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from kafka_py.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kafka_py.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.cluster.coordinator.test_offsets_api import GROUP, SETTINGS, commit, coordinated, until

WITH_TRANSACTIONS = SETTINGS | {
    "transaction_state_log_replication_factor": 1,
    "transaction_state_log_min_isr": 1,
    "transaction_state_log_num_partitions": 2,
    "transaction_abort_timed_out_transaction_cleanup_interval_ms": 100,
}


async def commit_in_transaction(
    broker: LocalBroker, offset: int, version: int = 3, *, epoch: int = 0, **fields: Any
) -> ErrorCode:
    partition = TxnOffsetCommitRequestPartition(
        partition_index=0, committed_offset=offset, committed_metadata="of a transaction"
    )
    topics = [TxnOffsetCommitRequestTopic(name="t", partitions=[partition])]
    values: dict[str, Any] = {
        "transactional_id": "tx", "group_id": GROUP, "producer_id": 7, "member_id": "", "topics": topics,
    }  # fmt: skip
    response = await broker.ask(TxnOffsetCommitRequest(producer_epoch=epoch, **(values | fields)), version)
    return ErrorCode(response.topics[0].partitions[0].error_code)


async def fetched(broker: LocalBroker, *, stable: bool) -> tuple[int, ErrorCode]:
    topics = [OffsetFetchRequestTopic(name="t", partition_indexes=[0])]
    response = await broker.ask(OffsetFetchRequest(group_id=GROUP, topics=topics, require_stable=stable), 7)
    row = response.topics[0].partitions[0]
    return row.committed_offset, ErrorCode(row.error_code)


async def mark(broker: LocalBroker, *, is_commit: bool, epoch: int = 0) -> None:
    partition = broker.server.node.coordinators.groups.runtime.partition_for(GROUP)
    marker = WritableTxnMarker(
        producer_id=7, producer_epoch=epoch, transaction_result=is_commit, coordinator_epoch=1,
        topics=[WritableTxnMarkerTopic(name="__consumer_offsets", partition_indexes=[partition])],
    )  # fmt: skip
    response = await broker.ask(WriteTxnMarkersRequest(markers=[marker]), 1)
    assert response.markers[0].topics[0].partitions[0].error_code == 0


@pytest.mark.parametrize("version", range(4))
def test_offsets_of_a_transaction_count_once_it_is_committed(version: int) -> None:
    """S3-098."""

    @on_broker(**SETTINGS)
    async def run(broker: LocalBroker) -> None:
        await broker.create_topic("t")
        await coordinated(broker)
        await commit(broker, 1)
        assert await commit_in_transaction(broker, 5, version) is ErrorCode.NONE
        assert await fetched(broker, stable=False) == (1, ErrorCode.NONE)
        assert await fetched(broker, stable=True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
        await mark(broker, is_commit=True)
        assert await fetched(broker, stable=True) == (5, ErrorCode.NONE)
        await commit_in_transaction(broker, 9, version)
        await mark(broker, is_commit=False)
        assert await fetched(broker, stable=True) == (5, ErrorCode.NONE)

    run()


@on_broker(**SETTINGS)
async def test_a_producer_of_an_older_epoch_commits_nothing(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await coordinated(broker)
    assert await commit_in_transaction(broker, 5, epoch=1) is ErrorCode.NONE
    await mark(broker, is_commit=False, epoch=2)
    assert await commit_in_transaction(broker, 6, epoch=1) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert await fetched(broker, stable=True) == (-1, ErrorCode.NONE)


@on_broker(**SETTINGS)
async def test_membership_is_checked_where_the_producer_names_it(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await coordinated(broker)
    assert await commit_in_transaction(broker, 5, member_id="nobody") is ErrorCode.UNKNOWN_MEMBER_ID
    assert await commit_in_transaction(broker, 5, generation_id=3) is ErrorCode.ILLEGAL_GENERATION
    assert await commit_in_transaction(broker, 5, group_id="") is ErrorCode.INVALID_GROUP_ID


# ---- from InitProducerId to EndTxn


async def init(broker: LocalBroker, timeout_ms: int = 60_000) -> InitProducerIdResponse:
    """The producer of the transactional id, once somebody coordinates it."""
    made: InitProducerIdResponse | None = None

    async def is_coordinated() -> bool:
        nonlocal made
        await broker.ask(FindCoordinatorRequest(key="tx", key_type=1), 3)
        made = await broker.ask(InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=timeout_ms), 4)
        return made.error_code == 0

    await until(is_coordinated)
    assert made is not None
    return made


async def add_offsets(broker: LocalBroker, producer: InitProducerIdResponse) -> None:
    request = AddOffsetsToTxnRequest(
        transactional_id="tx", producer_id=producer.producer_id, producer_epoch=producer.producer_epoch, group_id=GROUP
    )

    async def is_added() -> bool:
        """Not while the transaction before it is being ended."""
        code = (await broker.ask(request, 3)).error_code
        assert code in (0, ErrorCode.CONCURRENT_TRANSACTIONS)
        return code == 0

    await until(is_added)


async def becomes(broker: LocalBroker, offset: int) -> None:
    async def is_so() -> bool:
        return await fetched(broker, stable=True) == (offset, ErrorCode.NONE)

    await until(is_so)


@on_broker(**WITH_TRANSACTIONS)
async def test_a_consumer_s_offsets_go_with_the_transaction_of_a_producer(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await coordinated(broker)
    producer = await init(broker)
    named: dict[str, Any] = {"producer_id": producer.producer_id, "epoch": producer.producer_epoch}
    for offset, is_commit in ((5, True), (9, False), (7, True)):
        await add_offsets(broker, producer)
        assert await commit_in_transaction(broker, offset, **named) is ErrorCode.NONE
        assert await fetched(broker, stable=True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
        end = EndTxnRequest(
            transactional_id="tx", producer_id=producer.producer_id, producer_epoch=producer.producer_epoch,
            committed=is_commit,
        )  # fmt: skip
        assert (await broker.ask(end, 3)).error_code == 0
        await becomes(broker, offset if is_commit else 5)


@on_broker(**WITH_TRANSACTIONS)
async def test_a_producer_that_comes_back_drops_what_it_had_committed(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await coordinated(broker)
    producer = await init(broker)
    await commit(broker, 3)
    await add_offsets(broker, producer)
    named: dict[str, Any] = {"producer_id": producer.producer_id, "epoch": producer.producer_epoch}
    assert await commit_in_transaction(broker, 5, **named) is ErrorCode.NONE
    successor = await init(broker)
    assert successor.producer_epoch > producer.producer_epoch
    await becomes(broker, 3)
    assert await commit_in_transaction(broker, 5, **named) is ErrorCode.INVALID_PRODUCER_EPOCH


@on_broker(**WITH_TRANSACTIONS)
async def test_the_offsets_of_a_transaction_that_takes_too_long_are_dropped(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await coordinated(broker)
    producer = await init(broker, timeout_ms=100)
    await commit(broker, 3)
    await add_offsets(broker, producer)
    named: dict[str, Any] = {"producer_id": producer.producer_id, "epoch": producer.producer_epoch}
    code = await commit_in_transaction(broker, 5, **named)
    assert code in (ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_EPOCH), "the time may be over already"
    await becomes(broker, 3)
    assert await commit_in_transaction(broker, 5, **named) is ErrorCode.INVALID_PRODUCER_EPOCH
