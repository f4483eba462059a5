"""The bytes that consumers of a group send each other through the coordinator, which does not interpret them.

A subscription is part of JoinGroup, an assignment part of SyncGroup, each after its version (int16). Also the user data
of the sticky assignors. Source: KIP-429 (owned partitions), KIP-54, KIP-341.
"""

import struct
from collections.abc import Iterable, Sequence

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.assignors.assignor import UNKNOWN_GENERATION, Assignment, Subscription
from kafka_py.wire.compiler import decode, decode_versioned, encode, encode_versioned
from kafka_py.wire.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartitions,
)
from kafka_py.wire.primitives import MalformedMessage
from kafka_py.wire.schema import Bytes, Int32, message, since

PROTOCOL_TYPE = "consumer"
VERSION = 1


@message(versions=(0, 1), flexible=None)
class StickyUserData:
    """The previous assignment of a member, for the sticky assignor. v1 adds its generation (KIP-341)."""

    previous_assignment: list[TopicPartitions]
    generation: Int32 = since(1, default=UNKNOWN_GENERATION, ignorable=True)


_INT32 = struct.Struct(">i")


def encode_subscription(subscription: Subscription) -> bytes:
    """The metadata of a protocol in JoinGroup."""
    body = ConsumerProtocolSubscription(
        topics=list(subscription.topics),
        user_data=subscription.user_data,
        owned_partitions=_by_topic(subscription.owned),
    )
    return encode_versioned(body, VERSION)


def decode_subscription(data: bytes, group_instance_id: str | None = None) -> Subscription:
    """A member's subscription. Raises KafkaError(UNKNOWN_SERVER_ERROR) when it is malformed."""
    try:
        _, body = decode_versioned(ConsumerProtocolSubscription, data, newest_known=True)
    except MalformedMessage as error:
        raise _unreadable("subscription", error) from error
    return Subscription(list(body.topics), _bytes(body.user_data), _flat(body.owned_partitions), group_instance_id)


def encode_assignment(assignment: Assignment) -> bytes:
    """The assignment of a member in SyncGroup."""
    body = ConsumerProtocolAssignment(
        assigned_partitions=_by_topic(assignment.partitions), user_data=assignment.user_data
    )
    return encode_versioned(body, VERSION)


def decode_assignment(data: bytes) -> Assignment:
    """This member's assignment. Raises KafkaError(UNKNOWN_SERVER_ERROR) when it is malformed."""
    try:
        _, body = decode_versioned(ConsumerProtocolAssignment, data, newest_known=True)
    except MalformedMessage as error:
        raise _unreadable("assignment", error) from error
    return Assignment(_flat(body.assigned_partitions), _bytes(body.user_data))


def encode_claim(partitions: Iterable[TopicPartition], generation: int) -> bytes:
    """User data of the sticky assignor: the member's previous assignment and its generation."""
    return encode(StickyUserData(previous_assignment=_by_topic(partitions), generation=generation), 1)


def decode_claim(data: bytes | None) -> tuple[Sequence[TopicPartition], int]:
    """(partitions, generation) in user data; no partitions and -1 if it is missing or malformed."""
    for version in (1, 0) if data else ():
        try:
            body = decode(StickyUserData, version, data or b"")
        except MalformedMessage:
            continue
        return _flat(body.previous_assignment), body.generation
    return (), UNKNOWN_GENERATION


def encode_generation(generation: int) -> bytes:
    """User data of the cooperative sticky assignor: the generation."""
    return _INT32.pack(generation)


def decode_generation(data: bytes | None) -> int:
    """The generation in user data; -1 if it is missing or malformed."""
    if data is None or len(data) < _INT32.size:
        return UNKNOWN_GENERATION
    generation: int = _INT32.unpack_from(data)[0]
    return generation


def _unreadable(what: str, error: MalformedMessage) -> KafkaError:
    return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"a group member's {what} is malformed: {error}")


def _bytes(data: Bytes | None) -> bytes | None:
    return None if data is None else bytes(data)


def _by_topic(partitions: Iterable[TopicPartition]) -> list[TopicPartitions]:
    topics: dict[str, list[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    return [TopicPartitions(topic=topic, partitions=numbers) for topic, numbers in topics.items()]


def _flat(topics: Iterable[TopicPartitions]) -> list[TopicPartition]:
    return [TopicPartition(each.topic, number) for each in topics for number in each.partitions]
