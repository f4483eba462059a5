"""DescribeProducers: the producer states of partitions, to find hanging transactions.

Any replica answers, so that an administrator can look at a follower as well. Source: KIP-664; ReplicaManager.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.turns import Turn, sliced
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.log.state.producer_state import ProducerStateEntry
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)


async def handle(node: Node, context: RequestContext, request: DescribeProducersRequest) -> DescribeProducersResponse:
    """The producers of each partition; requires READ on the topic."""
    turn = Turn(node.clock)
    topics = []
    for topic in request.topics:
        await turn.maybe_yield()
        may_read = node.authorizer.allows(context, Operation.READ, ResourceType.TOPIC, topic.name)
        partitions = []
        for index in topic.partition_indexes:
            answer = PartitionResponse(partition_index=index, error_code=ErrorCode.NONE, active_producers=[])
            try:
                if not may_read:
                    raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                log = _log(node, TopicPartition(topic.name, index))
                async for some in sliced(list(log.producers.active())):
                    answer.active_producers += [_state(*known) for known in some]
            except KafkaError as error:
                answer.error_code, answer.error_message = error.code, error.message
                context.metrics.count_error(error.code.name)
            partitions.append(answer)
            await turn.maybe_yield()
        topics.append(TopicResponse(name=topic.name, partitions=partitions))
    return DescribeProducersResponse(throttle_time_ms=0, topics=topics)


def _log(node: Node, topic_partition: TopicPartition) -> PartitionLog:
    """The log of the replica here. Raises KafkaError."""
    log = node.hosted.partition(topic_partition).log
    if log is None:
        detail = f"broker {node.broker_id} has no log of {topic_partition}"
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, detail)
    return log


def _state(producer_id: int, producer: ProducerStateEntry) -> ProducerState:
    return ProducerState(
        producer_id=producer_id,
        producer_epoch=producer.epoch,
        last_sequence=producer.last_sequence,
        last_timestamp=producer.last_timestamp,
        coordinator_epoch=producer.coordinator_epoch,
        current_txn_start_offset=-1 if producer.txn_first_offset is None else producer.txn_first_offset,
    )
