"""AlterIsr: leaders with a later inter-broker protocol change in-sync sets through the controller (KIP-497).

Leaders of kafka_py write to ZooKeeper themselves; the senders are other brokers with protocol 2.7 or later.
Source: docs/reference/controller.md, section 13.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.controller.events import IsrProposal
from kafka_py.controller.model.controller_context import Leadership
from kafka_py.wire.messages.alter_isr import AlterIsrRequest, AlterIsrResponse, PartitionResult, TopicResult


async def handle(node: Node, context: RequestContext, request: AlterIsrRequest) -> AlterIsrResponse:
    """The new state or an error per partition. Raises KafkaError(NOT_CONTROLLER | STALE_BROKER_EPOCH)."""
    proposals = {
        TopicPartition(topic.name, each.partition_index): IsrProposal(
            each.leader_epoch, tuple(each.new_isr), each.current_isr_version
        )
        for topic in request.topics
        for each in topic.partitions
    }
    answers = await node.controller.alter_isr(request.broker_id, request.broker_epoch, proposals)
    topics: dict[str, TopicResult] = {}
    for (topic, number), answer in answers.items():
        row = topics.setdefault(topic, TopicResult(name=topic, partitions=[]))
        row.partitions.append(_result(number, answer))
    return AlterIsrResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, topics=list(topics.values()))


def _result(number: int, answer: Leadership | KafkaError) -> PartitionResult:
    if isinstance(answer, KafkaError):
        return PartitionResult(
            partition_index=number,
            error_code=answer.code,
            leader_id=0,
            leader_epoch=0,
            isr=[],
            current_isr_version=0,
        )
    return PartitionResult(
        partition_index=number,
        error_code=ErrorCode.NONE,
        leader_id=answer.leader,
        leader_epoch=answer.leader_epoch,
        isr=list(answer.isr),
        current_isr_version=answer.zk_version,
    )
