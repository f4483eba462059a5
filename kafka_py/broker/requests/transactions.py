"""What the requests of transactional producers have in common: rights, the age of the cluster, and how they are told
that another producer has taken their place.

Source: docs/reference/transactions.md, sections 2 to 4; KafkaApis.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.coordinator.transactions.requests import TransactionReply
from kafka_py.security.acls.vocabulary import Operation, ResourceType

FIRST_PROTOCOL = "0.11.0-IV0"
"""The inter-broker protocol from which on there are transactions (KIP-98)."""


def check_transactional_id(node: Node, context: RequestContext, transactional_id: str) -> None:
    """Raises KafkaError(TRANSACTIONAL_ID_AUTHORIZATION_FAILED)."""
    if not _may_write(node, context, transactional_id):
        raise KafkaError(
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, f"WRITE on {transactional_id} is not allowed"
        )


def check_protocol(node: Node) -> None:
    """Raises KafkaError(UNSUPPORTED_VERSION) under an inter-broker protocol without transactions."""
    if not node.config.inter_broker_version().at_least(FIRST_PROTOCOL):
        needed = f"transactions need inter.broker.protocol.version {FIRST_PROTOCOL} or later"
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, needed)


def code_of(context: RequestContext, reply: TransactionReply, fenced: Sequence[ErrorCode]) -> ErrorCode:
    """The code that the response carries, counted if it is an error. fenced: by version, the one that means fenced."""
    code = reply.error
    if code is ErrorCode.NONE:
        return code
    if code is ErrorCode.PRODUCER_FENCED:
        code = fenced[context.api_version]
    context.metrics.count_error(code.name)
    return code


def producer_refusal(node: Node, context: RequestContext, transactional_id: str | None) -> KafkaError | None:
    """Why a produce request with transactional batches is refused as a whole; None when it is not.

    It needs a transactional id, and the right to write under it (ReplicaManager would take the batches of anyone who
    guesses a producer id).
    """
    if transactional_id is not None and _may_write(node, context, transactional_id):
        return None
    return KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


def _may_write(node: Node, context: RequestContext, transactional_id: str) -> bool:
    return node.authorizer.allows(context, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id)
