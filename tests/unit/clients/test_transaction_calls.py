"""Requests about transactions by explicit producer id and epoch: whom they go to, and what is asked again."""

import asyncio
from types import SimpleNamespace

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.transaction_calls import ProducerEpoch, TransactionCalls
from kafka_py.testing.clock import ManualClock
from kafka_py.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from kafka_py.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafka_py.wire.messages.find_coordinator import FindCoordinatorResponse
from kafka_py.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

P = ProducerEpoch(7, 3)


class FakeCluster:
    """Brokers 1 and 2, of which `coordinator` coordinates everything; each request meets the next of `errors`."""

    def __init__(self, *errors, moves=()):
        self.clock = ManualClock()
        self.view = SimpleNamespace(fetched_ms=1.0, nodes={1: None, 2: None})
        self.errors = list(errors)
        self.coordinators = [1, *moves]
        self.found = 0
        self.sent = []

    async def send_any(self, request):
        assert request.key_type == 1
        self.found += 1
        node = self.coordinators.pop(0) if len(self.coordinators) > 1 else self.coordinators[0]
        return FindCoordinatorResponse(error_code=0, node_id=node, host="h", port=1)

    async def send(self, node, request):
        self.sent.append((node, request))
        self.clock.advance(10)
        code = self.errors.pop(0) if self.errors else ErrorCode.NONE
        if code is ErrorCode.NETWORK_EXCEPTION:
            raise KafkaError(code, "lost")
        match request:
            case InitProducerIdRequest():
                return InitProducerIdResponse(throttle_time_ms=0, error_code=code, producer_id=7, producer_epoch=3)
            case EndTxnRequest():
                return EndTxnResponse(throttle_time_ms=0, error_code=code)
            case AddPartitionsToTxnRequest():
                first = AddPartitionsToTxnPartitionResult(partition_index=0, error_code=code)
                other = ErrorCode.OPERATION_NOT_ATTEMPTED if code else ErrorCode.NONE
                second = AddPartitionsToTxnPartitionResult(partition_index=1, error_code=other)
                topic = AddPartitionsToTxnTopicResult(name="t", results=[second, first])
                return AddPartitionsToTxnResponse(throttle_time_ms=0, results=[topic])


def call(cluster, work):
    async def calls():
        return await work(TransactionCalls(cluster, timeout_ms=1000, pause_ms=0))

    return asyncio.run(calls())


def test_an_id_is_initialized_at_its_coordinator():
    cluster = FakeCluster()
    assert call(cluster, lambda calls: calls.init_producer_id("x", 5000)) == P
    (node, request), = cluster.sent
    assert (node, request.transactional_id, request.transaction_timeout_ms) == (1, "x", 5000)


def test_an_end_is_asked_for_until_it_is_complete():
    cluster = FakeCluster(ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NONE)
    call(cluster, lambda calls: calls.end("x", P, commit=True))
    assert [(request.producer_id, request.producer_epoch, request.committed) for _, request in cluster.sent] == [
        (7, 3, True)
    ] * 3
    assert cluster.found == 1


@pytest.mark.parametrize(
    "error", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NETWORK_EXCEPTION]
)
def test_a_coordinator_that_moved_is_looked_for_again(error):
    cluster = FakeCluster(error, moves=[2])
    call(cluster, lambda calls: calls.end("x", P, commit=False))
    assert [node for node, _ in cluster.sent] == [1, 2, 2]


@pytest.mark.parametrize(
    "error", [ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_TXN_STATE, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]
)
def test_other_errors_are_raised_with_the_id(error):
    with pytest.raises(KafkaError, match=rf"{error.name}.*transactional id x"):
        call(FakeCluster(error), lambda calls: calls.end("x", P, commit=True))


def test_a_busy_coordinator_is_asked_until_the_time_is_over():
    cluster = FakeCluster(*[ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 1000)
    with pytest.raises(KafkaError, match="COORDINATOR_LOAD_IN_PROGRESS"):
        call(cluster, lambda calls: calls.end("x", P, commit=True))
    assert len(cluster.sent) == 100


def test_the_partition_at_fault_says_why_partitions_were_not_added():
    partitions = [TopicPartition("t", 0), TopicPartition("t", 1)]
    with pytest.raises(KafkaError, match="PRODUCER_FENCED"):
        call(FakeCluster(ErrorCode.PRODUCER_FENCED), lambda calls: calls.add_partitions("x", P, partitions))
    cluster = FakeCluster()
    call(cluster, lambda calls: calls.add_partitions("x", P, partitions))
    assert cluster.sent[0][1].topics[0].partitions == [0, 1]


def test_calls_side_by_side_keep_their_order():
    cluster = FakeCluster()

    async def work(calls):
        return await calls.each([calls.init_producer_id(str(number), 1) for number in range(50)])

    assert call(cluster, work) == [P] * 50


def test_calls_beside_one_that_failed_have_ended_when_it_is_raised():
    async def work(calls):
        going = asyncio.Event()

        async def goes_on():
            going.set()
            await asyncio.Event().wait()

        async def fails():
            await going.wait()
            raise KafkaError(ErrorCode.PRODUCER_FENCED, "x")

        with pytest.raises(KafkaError):
            await calls.each([goes_on(), fails()])
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert call(FakeCluster(), work) == set()
