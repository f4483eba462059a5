"""StopReplica: the controller removes replicas from this broker.

Source: docs/reference/controller.md, section 13; docs/reference/replication.md, section 5.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.base.turns import Turn, sliced
from kafka_py.broker.handlers.brokers.leader_and_isr import check_broker_epoch
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.records.batch import NO_LEADER_EPOCH
from kafka_py.replication.role_orders import StopRequest
from kafka_py.wire.messages.stop_replica import StopReplicaPartitionError, StopReplicaRequest, StopReplicaResponse


async def handle(node: Node, context: RequestContext, request: StopReplicaRequest) -> StopReplicaResponse:
    """Stops the replicas; one result per partition."""
    check_broker_epoch(node, request.broker_epoch)
    stops = []
    turn = Turn(node.clock)
    for stop in _requests(request):
        stops.append(stop)
        await turn.maybe_yield()
    outcome = await node.roles.stop(request.controller_id, request.controller_epoch, stops)
    errors = []
    async for some in sliced(outcome.items()):
        errors += [
            StopReplicaPartitionError(topic_name=topic, partition_index=partition, error_code=code)
            for (topic, partition), code in some
        ]
    return StopReplicaResponse(error_code=ErrorCode.NONE, partition_errors=errors)


def _requests(request: StopReplicaRequest) -> Iterator[StopRequest]:
    """v0 has a flat list, v1-2 a list by topic, both without epochs and with one flag for all; v3 one per partition."""
    for row in request.ungrouped_partitions:
        topic_partition = TopicPartition(row.topic_name, row.partition_index)
        yield StopRequest(topic_partition, NO_LEADER_EPOCH, request.delete_partitions)
    for topic in request.topics:
        for partition in topic.partition_indexes:
            yield StopRequest(TopicPartition(topic.name, partition), NO_LEADER_EPOCH, request.delete_partitions)
    for states in request.topic_states:
        for state in states.partition_states:
            yield StopRequest(
                TopicPartition(states.topic_name, state.partition_index), state.leader_epoch, state.delete_partition
            )
