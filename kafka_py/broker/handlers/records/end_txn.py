"""EndTxn: a transaction is committed or aborted.

Source: docs/reference/transactions.md, section 4; KIP-98.
"""

from __future__ import annotations

from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import ANSWERS_LATER, RequestContext
from kafka_py.broker.requests.transactions import check_protocol, check_transactional_id, code_of
from kafka_py.coordinator.transactions.requests import EndTransaction
from kafka_py.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafka_py.wire.version_meanings import END_TXN_FENCED


def handle(node: Node, context: RequestContext, request: EndTxnRequest) -> object:
    """Answers when the decision is written; markers follow. Raises KafkaError for what is not allowed."""
    check_protocol(node)
    check_transactional_id(node, context, request.transactional_id)
    node.coordinators.transactions.end(
        request.transactional_id,
        EndTransaction(request.producer_id, request.producer_epoch, request.committed),
        lambda reply: context.answer(
            EndTxnResponse(throttle_time_ms=0, error_code=code_of(context, reply, END_TXN_FENCED))
        ),
    )
    return ANSWERS_LATER
