"""Admin calls on transactions: each is sent to the brokers that know, and again when these have changed."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.transactions import AbortTransactionSpec, ProducerDescription, TransactionListing
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from kafka_py.wire.messages.describe_transactions import (
    DescribedTransaction,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionTopic,
)
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.list_transactions import (
    ListedTransaction,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from kafka_py.wire.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def listed(*names: str, code: ErrorCode = ErrorCode.NONE) -> ListTransactionsResponse:
    rows = [ListedTransaction(transactional_id=name, producer_id=7, transaction_state="Ongoing") for name in names]
    return ListTransactionsResponse(
        throttle_time_ms=0, error_code=code, unknown_state_filters=[], transaction_states=rows
    )


def test_every_broker_is_asked_for_its_transactions(world: Any) -> None:
    answers = [listed("a"), listed(code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), listed("b", "c")]
    world.cluster.answers[ApiKey.LIST_TRANSACTIONS] = lambda _: answers.pop(0)
    found = world.ask(lambda admin: admin.list_transactions(states=["Ongoing"], producer_ids=[7], longer_than_ms=5))
    rows = [TransactionListing(name, 7, "Ongoing") for name in "abc"]
    assert found == {0: rows[:1], 1: rows[1:]}
    asked = world.asked(ListTransactionsRequest)
    assert [node_id for node_id, _ in asked] == [0, 1, 1]
    assert {(*each.state_filters, *each.producer_id_filters, each.duration_filter) for _, each in asked} == {
        ("Ongoing", 7, 5)
    }


def test_a_refused_list_is_an_error(world: Any) -> None:
    world.cluster.answers[ApiKey.LIST_TRANSACTIONS] = lambda _: listed(code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaError) as caught:
        world.ask(lambda admin: admin.list_transactions())
    assert caught.value.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_the_coordinator_of_an_id_describes_it(world: Any) -> None:
    state = DescribedTransaction(
        error_code=0, transactional_id="id", transaction_state="Ongoing", transaction_timeout_ms=60_000,
        transaction_start_time_ms=5, producer_id=7, producer_epoch=1,
        topics=[TransactionTopic(topic="t", partitions=[0, 1])],
    )  # fmt: skip
    unknown = DescribedTransaction(error_code=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, transactional_id="no", topics=[])
    world.cluster.answers[ApiKey.DESCRIBE_TRANSACTIONS] = lambda request: DescribeTransactionsResponse(
        throttle_time_ms=0,
        transaction_states=[each for each in (state, unknown) if each.transactional_id in request.transactional_ids]
    )
    results = world.ask(lambda admin: admin.describe_transactions(["id", "no"]))
    found = results.value("id")
    assert (found.state, found.timeout_ms, found.start_ms, found.partitions) == ("Ongoing", 60_000, 5, (T0, T1))
    assert results.errors()["no"].code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert {request.key_type for _, request in world.asked(FindCoordinatorRequest)} == {1}
    assert [node_id for node_id, _ in world.asked(DescribeTransactionsRequest)] == [found.coordinator_id]


def producers(request: DescribeProducersRequest) -> DescribeProducersResponse:
    state = ProducerState(producer_id=7, producer_epoch=1, last_sequence=2, last_timestamp=3, coordinator_epoch=-1)
    return DescribeProducersResponse(throttle_time_ms=0, topics=[
        TopicResponse(name=topic.name, partitions=[
            PartitionResponse(partition_index=index, error_code=0, active_producers=[state])
            for index in topic.partition_indexes
        ])
        for topic in request.topics
    ])  # fmt: skip


def test_leaders_describe_the_producers_of_their_partitions(world: Any) -> None:
    world.cluster.create_topic("t", 2)
    world.cluster.answers[ApiKey.DESCRIBE_PRODUCERS] = producers
    found = world.ask(lambda admin: admin.describe_producers([T0, T1])).all()
    known = [ProducerDescription(7, 1, 2, 3, -1, None)]
    assert found == {T0: known, T1: known}
    asked = {node: each.topics[0].partition_indexes for node, each in world.asked(DescribeProducersRequest)}
    assert asked == {0: [0], 1: [1]}


def test_one_broker_may_be_asked_for_its_replicas(world: Any) -> None:
    world.cluster.create_topic("t", 2)
    world.cluster.answers[ApiKey.DESCRIBE_PRODUCERS] = producers
    world.ask(lambda admin: admin.describe_producers([T0, T1], broker_id=1)).all()
    assert [node for node, _ in world.asked(DescribeProducersRequest)] == [1]


def marked(code: ErrorCode) -> WriteTxnMarkersResponse:
    row = WritableTxnMarkerPartitionResult(partition_index=1, error_code=code)
    topic = WritableTxnMarkerTopicResult(name="t", partitions=[row])
    return WriteTxnMarkersResponse(markers=[WritableTxnMarkerResult(producer_id=7, topics=[topic])])


def test_a_hanging_transaction_is_aborted_by_a_marker_to_the_leader(world: Any) -> None:
    world.cluster.create_topic("t", 2)
    answers = [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NONE]
    world.cluster.answers[ApiKey.WRITE_TXN_MARKERS] = lambda _: marked(answers.pop(0))
    world.ask(lambda admin: admin.abort_transaction(AbortTransactionSpec(T1, 7, 3, 9)))
    asked = world.asked(WriteTxnMarkersRequest)
    assert [node for node, _ in asked] == [1, 1]
    [marker] = asked[0][1].markers
    assert (marker.producer_id, marker.producer_epoch, marker.coordinator_epoch) == (7, 3, 9)
    assert (marker.transaction_result, marker.topics[0].partition_indexes) == (False, [1])


def test_a_marker_that_is_refused_is_an_error(world: Any) -> None:
    world.cluster.create_topic("t", 2)
    world.cluster.answers[ApiKey.WRITE_TXN_MARKERS] = lambda _: marked(ErrorCode.INVALID_PRODUCER_EPOCH)
    with pytest.raises(KafkaError, match="t-1") as caught:
        world.ask(lambda admin: admin.abort_transaction(AbortTransactionSpec(T1, 7, 3, 9)))
    assert caught.value.code is ErrorCode.INVALID_PRODUCER_EPOCH
