"""DescribeTransactions: the transactions of transactional ids that this broker coordinates.

Source: KIP-664; docs/reference/transactions.md, section 9.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.turns import Turn
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.broker.requests.transactions import check_protocol
from kafka_py.coordinator.transactions.overview import STATE_NAMES, describe
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.wire.messages.describe_transactions import (
    DescribedTransaction,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionTopic,
)


async def handle(
    node: Node, context: RequestContext, request: DescribeTransactionsRequest
) -> DescribeTransactionsResponse:
    """One result per id; needs DESCRIBE on the id, and leaves out topics that the principal may not describe."""
    check_protocol(node)
    turn = Turn(node.clock)
    described = []
    for transactional_id in request.transactional_ids:
        try:
            described.append(_describe(node, context, transactional_id))
        except KafkaError as error:
            context.metrics.count_error(error.code.name)
            described.append(DescribedTransaction(error_code=error.code, transactional_id=transactional_id, topics=[]))
        await turn.maybe_yield()
    return DescribeTransactionsResponse(throttle_time_ms=0, transaction_states=described)


def _describe(node: Node, context: RequestContext, transactional_id: str) -> DescribedTransaction:
    """The description of one id. Raises KafkaError."""
    allows = node.authorizer.allows
    if not allows(context, Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, transactional_id):
        raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    found = describe(node.coordinators.transactions.store, transactional_id)
    topics: dict[str, list[int]] = {}
    for topic, partition in found.partitions:
        topics.setdefault(topic, []).append(partition)
    return DescribedTransaction(
        error_code=ErrorCode.NONE,
        transactional_id=transactional_id,
        transaction_state=STATE_NAMES[found.state],
        transaction_timeout_ms=found.timeout_ms,
        transaction_start_time_ms=found.start_ms,
        producer_id=found.producer_id,
        producer_epoch=found.producer_epoch,
        topics=[
            TransactionTopic(topic=topic, partitions=partitions)
            for topic, partitions in topics.items()
            if allows(context, Operation.DESCRIBE, ResourceType.TOPIC, topic)
        ],
    )
