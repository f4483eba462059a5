"""InitProducerId: an id for an idempotent producer. Transactional ids need a coordinator, which this broker is not.

Source: docs/reference/groups.md, section 12.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.broker.requests import transactions
from kafka_py.broker.requests.authorization import CLUSTER_NAME, Operation, ResourceType
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from kafka_py.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse


async def handle(node: Node, context: RequestContext, request: InitProducerIdRequest) -> InitProducerIdResponse:
    """A fresh id with epoch 0. Raises KafkaError for requests that are refused; the answer carries its code."""
    transactional_id = request.transactional_id
    authorizer = node.authorizer
    if transactional_id is None:
        if not authorizer.allows(context, Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, CLUSTER_NAME):
            raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    elif not authorizer.allows(context, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id):
        raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "producer id and epoch must be given together or not at all")
    if transactional_id == "":
        raise KafkaError(ErrorCode.INVALID_REQUEST, "the transactional id is empty")
    if transactional_id is not None:
        raise transactions.refuse(node, transactional_id)
    producer_id = await node.producer_ids.next_id()
    return InitProducerIdResponse(
        throttle_time_ms=0, error_code=ErrorCode.NONE, producer_id=producer_id, producer_epoch=0
    )
