"""AddOffsetsToTxn: a group whose offsets a transaction is about to commit; its partition of the offsets topic is added.

Source: docs/reference/transactions.md, section 3; KIP-98.
"""

from __future__ import annotations

from kafka_py.base.ids import TopicPartition
from kafka_py.broker.requests.group_requests import check_group
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import ANSWERS_LATER, RequestContext
from kafka_py.broker.requests.transactions import check_protocol, check_transactional_id, code_of
from kafka_py.coordinator.transactions.requests import AddPartitions
from kafka_py.security.acls.vocabulary import Operation
from kafka_py.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from kafka_py.wire.version_meanings import ADD_OFFSETS_TO_TXN_FENCED


def handle(node: Node, context: RequestContext, request: AddOffsetsToTxnRequest) -> object:
    """Answers when the coordinator has written it. Raises KafkaError for what is not allowed."""
    check_protocol(node)
    check_transactional_id(node, context, request.transactional_id)
    check_group(node, context, Operation.READ, request.group_id)
    groups = node.coordinators.groups.runtime
    added = TopicPartition(groups.topic, groups.partition_for(request.group_id))
    node.coordinators.transactions.add_partitions(
        request.transactional_id,
        AddPartitions(request.producer_id, request.producer_epoch, (added,)),
        lambda reply: context.answer(
            AddOffsetsToTxnResponse(throttle_time_ms=0, error_code=code_of(context, reply, ADD_OFFSETS_TO_TXN_FENCED))
        ),
    )
    return ANSWERS_LATER
