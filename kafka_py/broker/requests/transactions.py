"""What this broker says about transactions, which it does not coordinate.

Every client library ends for good with TRANSACTIONAL_ID_AUTHORIZATION_FAILED; all other errors are retried for ever by
one of them (librdkafka asks for a coordinator again whatever else the answer was). In a cluster with Apache brokers
these coordinate: a transactional id whose partition of __transaction_state another broker leads is sent there.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.internal_topics import TRANSACTION_STATE_TOPIC
from kafka_py.broker.requests.authorization import Operation, ResourceType
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.records.java_hash import partition_for_id

TOPIC = TRANSACTION_STATE_TOPIC

NOT_OFFERED = "this broker does not support transactions"

OFFERED = False
"""Whether this broker takes transactional batches; it does when it can coordinate what ends them."""


def coordinator_of(node: Node, transactional_id: str) -> int:
    """The other broker that coordinates a transactional id.

    Raises KafkaError: COORDINATOR_NOT_AVAILABLE while the partition has no leader, and
        TRANSACTIONAL_ID_AUTHORIZATION_FAILED when it is this broker, or there is no coordinator at all.
    """
    partitions = len(node.metadata.partitions_of(TOPIC))
    if not partitions:
        raise refused()
    info = node.metadata.partition(TopicPartition(TOPIC, partition_for_id(transactional_id, partitions)))
    if info is None or info.leader < 0:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if info.leader == node.broker_id:
        raise refused()
    leader: int = info.leader
    return leader


def refuse(node: Node, transactional_id: str) -> KafkaError:
    """The error for a request of a transactional producer: another broker may be the coordinator, this one is not."""
    try:
        coordinator_of(node, transactional_id)
    except KafkaError as error:
        return error
    return KafkaError(ErrorCode.NOT_COORDINATOR, f"{transactional_id} is coordinated by another broker")


def refused() -> KafkaError:
    """The error that ends a transactional producer."""
    return KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, NOT_OFFERED)


def producer_refusal(node: Node, context: RequestContext, transactional_id: str | None) -> KafkaError | None:
    """Why a produce request with transactional batches is refused as a whole; None when it is not.

    It needs a transactional id, and the right to write under it (ReplicaManager would take the batches of anyone who
    guesses a producer id).
    """
    if not OFFERED:
        return refused()
    if transactional_id is not None and node.authorizer.allows(
        context, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id
    ):
        return None
    return KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
