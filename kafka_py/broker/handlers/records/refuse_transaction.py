"""AddPartitionsToTxn, AddOffsetsToTxn, EndTxn: refused for good, or sent to the broker that coordinates transactions.

Source: kafka_py/broker/requests/transactions.py.
"""

from __future__ import annotations

from kafka_py.broker.requests import transactions
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafka_py.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kafka_py.wire.messages.end_txn import EndTxnRequest


def handle(
    node: Node, context: RequestContext, request: AddPartitionsToTxnRequest | AddOffsetsToTxnRequest | EndTxnRequest
) -> object:
    """Raises KafkaError(TRANSACTIONAL_ID_AUTHORIZATION_FAILED, NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE)."""
    raise transactions.refuse(node, request.transactional_id)
