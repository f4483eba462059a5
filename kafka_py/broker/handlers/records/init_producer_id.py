"""InitProducerId: an id for an idempotent producer, id and epoch for a transactional one.

Source: docs/reference/groups.md, section 12; docs/reference/transactions.md, section 2; KIP-98, KIP-360.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import ANSWERS_LATER, RequestContext
from kafka_py.broker.requests.transactions import check_transactional_id, code_of
from kafka_py.coordinator.transactions.requests import InitProducer, ProducerIdAndEpoch, TransactionReply
from kafka_py.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from kafka_py.security.acls.authorization import Audit, Authorizer
from kafka_py.security.acls.vocabulary import CLUSTER_NAME, Operation, ResourceType
from kafka_py.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_py.wire.version_meanings import INIT_PRODUCER_ID_FENCED


async def handle(node: Node, context: RequestContext, request: InitProducerIdRequest) -> object:
    """A fresh id with epoch 0, or what the coordinator says. Raises KafkaError for requests that are refused."""
    transactional_id = request.transactional_id
    if transactional_id is not None:
        check_transactional_id(node, context, transactional_id)
    elif not _may_be_idempotent(node.authorizer, context):
        raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "producer id and epoch must be given together or not at all")
    if transactional_id is None:
        return _response(TransactionReply(ErrorCode.NONE, await node.producer_ids.next_id(), 0), ErrorCode.NONE)
    expected = None
    if request.producer_id != NO_PRODUCER_ID:
        expected = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    node.coordinators.transactions.init_producer_id(
        transactional_id,
        InitProducer(request.transaction_timeout_ms, expected),
        lambda reply: context.answer(_response(reply, code_of(context, reply, INIT_PRODUCER_ID_FENCED))),
    )
    return ANSWERS_LATER


def _may_be_idempotent(authorizer: Authorizer, context: RequestContext) -> bool:
    """Whether the principal may write idempotently, by a permission of its own or to some topic (KIP-679)."""
    return authorizer.allows(
        context, Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, CLUSTER_NAME, Audit.IF_ALLOWED
    ) or authorizer.allows_on_any(context, Operation.WRITE, ResourceType.TOPIC)


def _response(reply: TransactionReply, code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        throttle_time_ms=0, error_code=code, producer_id=reply.producer_id, producer_epoch=reply.producer_epoch
    )
