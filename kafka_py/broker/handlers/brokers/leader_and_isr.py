"""LeaderAndIsr: the controller assigns roles to this broker. Source: docs/reference/controller.md, section 13."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ZERO_UUID, TopicPartition
from kafka_py.base.turns import Turn, release, sliced
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.log.disk.filenames import can_have_directory
from kafka_py.replication.role_orders import RoleRequest
from kafka_py.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from kafka_py.wire.version_meanings import LEADER_AND_ISR_BY_TOPIC_ID


def check_broker_epoch(node: Node, broker_epoch: int) -> None:
    """Rejects a request with an earlier broker epoch; -1 is not checked, a later epoch is accepted.

    Raises KafkaError(STALE_BROKER_EPOCH).
    """
    if broker_epoch != -1 and broker_epoch < node.broker_epoch:
        raise KafkaError(
            ErrorCode.STALE_BROKER_EPOCH, f"broker epoch {broker_epoch} is stale, now it is {node.broker_epoch}"
        )


async def handle(node: Node, context: RequestContext, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
    """Changes the roles; one result per partition."""
    check_broker_epoch(node, request.broker_epoch)
    roles = []
    turn = Turn(node.clock)
    for role in _requests(request):
        roles.append(role)
        await turn.maybe_yield()
    await _read_overrides(node, roles)
    outcome = await node.roles.become(request.controller_id, request.controller_epoch, roles)
    if not LEADER_AND_ISR_BY_TOPIC_ID[context.api_version]:
        errors = []
        async for some in sliced(outcome.items()):
            errors += [
                LeaderAndIsrPartitionError(topic_name=topic, partition_index=partition, error_code=code)
                for (topic, partition), code in some
            ]
        return LeaderAndIsrResponse(error_code=ErrorCode.NONE, partition_errors=errors)
    topics = []
    turn = Turn(node.clock)
    for topic in request.topic_states:
        rows = []
        for state in topic.partition_states:
            code = outcome[TopicPartition(topic.topic_name, state.partition_index)]
            rows.append(LeaderAndIsrPartitionError(partition_index=state.partition_index, error_code=code))
            await turn.maybe_yield()
        topics.append(LeaderAndIsrTopicError(topic_id=topic.topic_id, partition_errors=rows))
        if not context.is_logged:  # else the request log still needs it
            topic.partition_states = []
    await release(roles)
    return LeaderAndIsrResponse(error_code=ErrorCode.NONE, topics=topics)


async def _read_overrides(node: Node, roles: list[RoleRequest]) -> None:
    """Reads the overrides of topics that are new on this broker: there is no notification for a new topic."""
    new: dict[str, None] = {}
    async for some in sliced(roles):
        new.update(
            (role.topic_partition.topic, None)
            for role in some
            if node.log_dirs.get(role.topic_partition) is None and can_have_directory(role.topic_partition)
        )
    if new:
        await node.topic_configs.read_with(node.store.configs.of_topics(new))


def _requests(request: LeaderAndIsrRequest) -> Iterator[RoleRequest]:
    """The roles in the request: up to v1 a flat list, from v2 on grouped by topic, with topic ids from v5 on."""
    for state in request.ungrouped_partition_states:
        yield RoleRequest(TopicPartition(state.topic_name, state.partition_index), ZERO_UUID, state)
    for topic in request.topic_states:
        for state in topic.partition_states:
            yield RoleRequest(TopicPartition(topic.topic_name, state.partition_index), topic.topic_id, state)
