"""Admin calls on transactions: list and describe them, look at the producers of partitions, abort what hangs.

A hanging transaction is open in a partition although its coordinator does not know it: read-committed consumers wait
for it for ever. Only brokers that offer ListTransactions and DescribeTransactions can be asked for the coordinator's
view.
Source: KIP-664, KIP-994; KafkaAdminClient.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import NamedTuple, TypeVar

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.coordinators import TRY_COORDINATORS_AGAIN, KeyType, per_key
from kafka_py.clients.admin.core import TRY_AGAIN, UNREACHABLE, AdminCore, error_of
from kafka_py.clients.admin.records import leaders_of
from kafka_py.clients.admin.results import Results
from kafka_py.wire.messages.describe_producers import DescribeProducersRequest, ProducerState, TopicRequest
from kafka_py.wire.messages.describe_transactions import DescribedTransaction, DescribeTransactionsRequest
from kafka_py.wire.messages.list_transactions import ListTransactionsRequest
from kafka_py.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

V = TypeVar("V")

_PARTITION_MOVED = (*TRY_AGAIN, ErrorCode.NOT_LEADER_OR_FOLLOWER, *UNREACHABLE)

_Answers = dict[TopicPartition, V | KafkaError]
_Ask = Callable[[int, list[TopicPartition], int], Awaitable[_Answers[V]]]
"""(node id, partitions, time-out in ms) -> the result of each partition."""


class TransactionListing(NamedTuple):
    """A transactional id. state: as in responses, Ongoing or CompleteCommit."""

    transactional_id: str
    producer_id: int
    state: str


class TransactionDescription(NamedTuple):
    """A transactional id and its latest transaction. start_ms: wall clock, None when none was begun."""

    transactional_id: str
    coordinator_id: int
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_ms: int | None
    partitions: tuple[TopicPartition, ...]


class ProducerDescription(NamedTuple):
    """What a partition knows of a producer.

    last_timestamp: of its last batch, ms. coordinator_epoch: of its last marker, -1 before the first.
    transaction_start_offset: where its open transaction begins in the partition; None without one.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    transaction_start_offset: int | None


class AbortTransactionSpec(NamedTuple):
    """The marker that ends a hanging transaction of a producer in one partition."""

    topic_partition: TopicPartition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int


async def list_transactions(
    core: AdminCore,
    *,
    states: Collection[str] = (),
    producer_ids: Collection[int] = (),
    longer_than_ms: int = -1,
    timeout: float | None = None,
) -> dict[int, list[TransactionListing]]:
    """The transactional ids by their coordinator's node id, of every broker.

    states, producer_ids: empty for any. longer_than_ms: negative for any duration.
    Raises KafkaError if a broker refuses the list; UNSUPPORTED_VERSION from brokers without the API.
    """
    request = ListTransactionsRequest(
        state_filters=list(states), producer_id_filters=list(producer_ids), duration_filter=longer_than_ms
    )
    if core.cluster.view.fetched_ms is None:
        await core.once(core.refresh, timeout)

    async def ask(node_id: int, timeout_ms: int) -> list[TransactionListing] | KafkaError:
        try:
            response = await core.cluster.send(node_id, request, timeout_ms=timeout_ms)
        except KafkaError as error:
            return error
        failure = error_of(response.error_code, None, f"the transactions of broker {node_id}")
        return failure or [
            TransactionListing(each.transactional_id, each.producer_id, each.transaction_state)
            for each in response.transaction_states
        ]

    async def attempt(nodes: list[int], timeout_ms: int) -> Mapping[int, list[TransactionListing] | KafkaError]:
        answers = await asyncio.gather(*(ask(node_id, timeout_ms) for node_id in nodes))
        return dict(zip(nodes, answers, strict=True))

    results = await core.per_item(core.cluster.view.nodes, attempt, timeout, try_again=TRY_COORDINATORS_AGAIN)
    return dict(sorted(results.all().items()))


async def describe_transactions(
    core: AdminCore, transactional_ids: Collection[str], *, timeout: float | None = None
) -> Results[str, TransactionDescription]:
    """The latest transaction of each id; TRANSACTIONAL_ID_NOT_FOUND for one that is not known."""

    async def ask(
        node_id: int, some: list[str], timeout_ms: int
    ) -> dict[str, TransactionDescription | KafkaError]:
        request = DescribeTransactionsRequest(transactional_ids=some)
        response = await core.cluster.send(node_id, request, timeout_ms=timeout_ms)
        return {each.transactional_id: _described(each, node_id) for each in response.transaction_states}

    return await per_key(core, transactional_ids, ask, timeout, KeyType.TRANSACTIONAL_ID)


def _described(found: DescribedTransaction, coordinator_id: int) -> TransactionDescription | KafkaError:
    failure = error_of(found.error_code, None, f"transactional id {found.transactional_id!r}")
    return failure or TransactionDescription(
        found.transactional_id,
        coordinator_id,
        found.transaction_state,
        found.producer_id,
        found.producer_epoch,
        found.transaction_timeout_ms,
        found.transaction_start_time_ms if found.transaction_start_time_ms >= 0 else None,
        tuple(TopicPartition(each.topic, partition) for each in found.topics for partition in each.partitions),
    )


async def describe_producers(
    core: AdminCore,
    partitions: Collection[TopicPartition],
    *,
    broker_id: int | None = None,
    timeout: float | None = None,
) -> Results[TopicPartition, list[ProducerDescription]]:
    """The producers that each partition knows. broker_id: the replica that is asked; None for the leader."""

    async def ask(
        node_id: int, some: list[TopicPartition], timeout_ms: int
    ) -> _Answers[list[ProducerDescription]]:
        response = await core.cluster.send(node_id, _producers_request(some), timeout_ms=timeout_ms)
        found: _Answers[list[ProducerDescription]] = {}
        for topic in response.topics:
            for each in topic.partitions:
                topic_partition = TopicPartition(topic.name, each.partition_index)
                failure = error_of(each.error_code, each.error_message, str(topic_partition))
                found[topic_partition] = failure or [_producer(state) for state in each.active_producers]
        return found

    async def attempt(some: list[TopicPartition], timeout_ms: int) -> _Answers[list[ProducerDescription]]:
        if broker_id is None:
            return await _by_leader(core, some, ask, timeout_ms)
        await core.know(broker_id)
        return await ask(broker_id, some, timeout_ms)

    try_again = _PARTITION_MOVED if broker_id is None else TRY_AGAIN
    return await core.per_item(partitions, attempt, timeout, try_again=try_again)


async def abort_transaction(
    core: AdminCore, spec: AbortTransactionSpec, *, timeout: float | None = None
) -> None:
    """Writes an abort marker for a hanging transaction. Raises KafkaError.

    INVALID_PRODUCER_EPOCH: the producer has a newer epoch in the partition. TRANSACTION_COORDINATOR_FENCED: a marker of
    a newer coordinator was written there.
    """
    topic, partition = spec.topic_partition
    marker = WritableTxnMarker(
        producer_id=spec.producer_id,
        producer_epoch=spec.producer_epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[partition])],
        coordinator_epoch=spec.coordinator_epoch,
    )

    async def ask(node_id: int, some: list[TopicPartition], timeout_ms: int) -> _Answers[None]:
        request = WriteTxnMarkersRequest(markers=[marker])
        response = await core.cluster.send(node_id, request, timeout_ms=timeout_ms)
        codes = [
            each.error_code for written in response.markers for row in written.topics for each in row.partitions
        ]
        return {each: error_of(codes[0], None, f"the marker in {each}") for each in some[: len(codes)]}

    async def attempt(some: list[TopicPartition], timeout_ms: int) -> _Answers[None]:
        return await _by_leader(core, some, ask, timeout_ms)

    results: Results[TopicPartition, None] = await core.per_item(
        [spec.topic_partition], attempt, timeout, try_again=_PARTITION_MOVED
    )
    results.value(spec.topic_partition)


async def _by_leader(
    core: AdminCore, partitions: list[TopicPartition], ask: _Ask[V], timeout_ms: int
) -> _Answers[V]:
    """Asks each leader about its own partitions."""
    leaders = await leaders_of(core, partitions, timeout_ms)
    answers: _Answers[V] = {tp: found for tp, found in leaders.items() if isinstance(found, KafkaError)}
    by_leader: dict[int, list[TopicPartition]] = {}
    for tp, leader in leaders.items():
        if isinstance(leader, int):
            by_leader.setdefault(leader, []).append(tp)

    async def ask_leader(node_id: int, some: list[TopicPartition]) -> _Answers[V]:
        try:
            await core.know(node_id)
            return await ask(node_id, some, timeout_ms)
        except KafkaError as error:
            return dict.fromkeys(some, error)

    for part in await asyncio.gather(*(ask_leader(*each) for each in by_leader.items())):
        answers.update(part)
    return answers


def _producers_request(partitions: list[TopicPartition]) -> DescribeProducersRequest:
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return DescribeProducersRequest(
        topics=[TopicRequest(name=name, partition_indexes=indexes) for name, indexes in topics.items()]
    )


def _producer(state: ProducerState) -> ProducerDescription:
    start = state.current_txn_start_offset
    return ProducerDescription(
        state.producer_id,
        state.producer_epoch,
        state.last_sequence,
        state.last_timestamp,
        state.coordinator_epoch,
        start if start >= 0 else None,
    )
