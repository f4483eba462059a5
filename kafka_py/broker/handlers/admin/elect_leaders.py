"""ElectLeaders: preferred or unclean elections; responds when the new leaders are in the metadata cache.

Source: KIP-183, KIP-460; docs/reference/controller.md, section 10.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ElectionType, TopicPartition
from kafka_py.base.turns import Turn, sliced
from kafka_py.broker.metadata.election_waits import wait_for_leaders
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)


async def handle(node: Node, context: RequestContext, request: ElectLeadersRequest) -> ElectLeadersResponse:
    """One result per partition; a request for all partitions leaves out those without an election.

    Raises KafkaError(UNKNOWN_SERVER_ERROR) for an unknown election type.
    """
    if request.election_type not in ElectionType._value2member_map_:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"unknown election type {request.election_type}")
    deadline_ms = node.clock.monotonic_ms() + request.timeout_ms
    partitions = await _asked(node, request)
    try:
        outcomes = await node.controller.elect_leaders(partitions, ElectionType(request.election_type))
    except KafkaError as error:
        if error.code is not ErrorCode.NOT_CONTROLLER:
            raise
        refusal = KafkaError(ErrorCode.NOT_CONTROLLER)
        outcomes = {}
        async for names in sliced(partitions):
            outcomes.update(dict.fromkeys(names, refusal))
    elected: dict[TopicPartition, int] = {}
    refused: dict[TopicPartition, KafkaError] = {}
    async for some in sliced(outcomes.items()):
        for partition, outcome in some:
            if isinstance(outcome, int):
                elected[partition] = outcome
            elif request.topic_partitions is not None or outcome.code is not _NOT_NEEDED:
                refused[partition] = outcome
    left_ms = deadline_ms - node.clock.monotonic_ms()
    late = await wait_for_leaders(node.election_waits, node.metadata, elected, left_ms, Turn(node.clock))
    return await _response(node, context, _errors(elected, late, refused))


_NOT_NEEDED = ErrorCode.ELECTION_NOT_NEEDED


async def _asked(node: Node, request: ElectLeadersRequest) -> list[TopicPartition]:
    named: dict[TopicPartition, None] = {}
    turn = Turn(node.clock)
    if request.topic_partitions is None:
        for partition, _ in node.metadata.snapshot().all_partitions():
            named[partition] = None
            await turn.maybe_yield()
        return list(named)
    for topic in request.topic_partitions:
        for number in topic.partition_id:
            named[TopicPartition(topic.topic, number)] = None
            await turn.maybe_yield()
    return list(named)


def _errors(
    elected: Iterable[TopicPartition], late: Container[TopicPartition], refused: Mapping[TopicPartition, KafkaError]
) -> Iterator[tuple[TopicPartition, KafkaError | None]]:
    """Every partition with its error. late: those of `elected` whose leaders are not in the cache."""
    timed_out = KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    for partition in elected:
        yield partition, timed_out if partition in late else None
    yield from refused.items()


async def _response(
    node: Node, context: RequestContext, errors: Iterator[tuple[TopicPartition, KafkaError | None]]
) -> ElectLeadersResponse:
    turn = Turn(node.clock)
    topics: dict[str, ReplicaElectionResult] = {}
    for (topic, number), error in errors:
        await turn.maybe_yield()
        if error is not None:
            context.metrics.count_error(error.code.name)
        result = PartitionResult(
            partition_id=number,
            error_code=ErrorCode.NONE if error is None else error.code,
            error_message=None if error is None or error.code is ErrorCode.NOT_CONTROLLER else error.message,
        )
        topics.setdefault(topic, ReplicaElectionResult(topic=topic, partition_result=[])).partition_result.append(
            result
        )
    return ElectLeadersResponse(
        throttle_time_ms=0, error_code=ErrorCode.NONE, replica_election_results=list(topics.values())
    )
