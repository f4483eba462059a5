"""How a tool shows keys and values: as text, or decoded as records of the brokers' own topics.

A decoder takes key and value (None for null) and returns the text of each, None for what is left out. Used by
kafka-dump-log.sh, and by the console consumer's formatters. Source: docs/reference/tools.md, section 18.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

from kafka_py.base.ids import TopicPartition
from kafka_py.broker.settings import scala_order
from kafka_py.wire.messages.consumer_protocol import ConsumerProtocolAssignment
from kafka_py.wire.messages.group_metadata_record import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from kafka_py.wire.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from kafka_py.wire.messages.transaction_log_record import TransactionLogKey, TransactionLogValue
from kafka_py.wire.stored_records import (
    GROUP_KEY_VERSION,
    TRANSACTION_STATES,
    UndecodableRecord,
    decoded,
    version_of,
)

Texts = tuple[str | None, str | None]
Decoder = Callable[[bytes | None, bytes | None], Texts]

STRINGS = "kafka.serializer.StringDecoder"
TOMBSTONE = "<DELETE>"


# ---- keys and values each by themselves


def plain_texts(decode_key: Callable[[bytes], Any], decode_value: Callable[[bytes], Any]) -> Decoder:
    """The decoder that shows key and value each by its own function."""

    def texts(key: bytes | None, value: bytes | None) -> Texts:
        try:
            return (
                None if key is None else str(decode_key(key)),
                None if value is None else str(decode_value(value)),
            )
        except Exception as error:
            raise UndecodableRecord(f"a key or value cannot be decoded: {error}") from error

    return texts


def text_of(data: bytes) -> str:
    """UTF-8, with a replacement character for what is none."""
    return data.decode("utf-8", "replace")


def hex_of(data: bytes) -> str:
    """Digits without leading zeroes, nothing for no bytes: as Apache Kafka shows what it cannot read."""
    return f"{int.from_bytes(data, 'big'):X}" if data else ""


def _number(layout: str) -> Callable[[bytes], int]:
    return lambda data: int(struct.unpack(layout, data)[0])


_CLASSIC_DECODERS: dict[str, Callable[[bytes], Any]] = {
    STRINGS: text_of,
    "kafka.serializer.DefaultDecoder": hex_of,
    "kafka.serializer.LongDecoder": _number(">q"),
    "kafka.serializer.IntegerDecoder": _number(">i"),
}


def decoder_named(option: str, name: str) -> Callable[[bytes], Any]:
    """The function behind a decoder class: a classic decoder, a deserializer, or a Python class `module.Class`.

    Raises ConfigError.
    """
    classic = _CLASSIC_DECODERS.get(name)
    if classic is not None:
        return classic
    from kafka_py.clients.serialization import deserializer

    deserialize = deserializer(option, name, {})
    if deserialize is None:
        return hex_of
    return lambda data: deserialize("", data)


# ---- __consumer_offsets


def offsets_texts(key: bytes | None, value: bytes | None) -> Texts:
    """A record of __consumer_offsets. Raises UndecodableRecord."""
    if key is None:
        raise UndecodableRecord("a record of __consumer_offsets has no key")
    version = version_of(key)
    if version < GROUP_KEY_VERSION:
        commit = decoded(OffsetCommitKey, key)
        shown = f"offset_commit::group={commit.group},partition={commit.topic}-{commit.partition}"
        return shown, TOMBSTONE if value is None else _commit_text(value)
    if version == GROUP_KEY_VERSION:
        shown = f"group_metadata::group={decoded(GroupMetadataKey, key).group}"
        return shown, TOMBSTONE if value is None else _group_text(value)
    raise UndecodableRecord(f"a record of __consumer_offsets has a key of version {version}")


def _commit_text(value: bytes) -> str:
    committed = decoded(OffsetCommitValue, value)
    metadata = f",metadata={committed.metadata}" if committed.metadata else ""
    return f"offset={committed.offset}{metadata}"


def _group_text(value: bytes) -> str:
    group = decoded(GroupMetadataValue, value)
    members = ",".join(f"{each.member_id}={_assignment_text(each, group.protocol_type)}" for each in group.members)
    shown = {
        "protocolType": group.protocol_type,
        "protocol": group.protocol,
        "generationId": group.generation,
        "assignment": f"{{{members}}}",
    }
    return json.dumps(shown, separators=(",", ":"), ensure_ascii=False)


def _assignment_text(member: MemberMetadata, protocol_type: str) -> str:
    if protocol_type != "consumer":
        return hex_of(bytes(member.assignment))
    assignment = decoded(ConsumerProtocolAssignment, bytes(member.assignment), newest_known=True)
    partitions = ", ".join(
        f"{topic.topic}-{partition}" for topic in assignment.assigned_partitions for partition in topic.partitions
    )
    return f"[{partitions}]" + (f":{hex_of(bytes(assignment.user_data))}" if assignment.user_data else "")


# ---- __transaction_state


def transaction_texts(key: bytes | None, value: bytes | None) -> Texts:
    """A record of __transaction_state. Raises UndecodableRecord."""
    if key is None:
        raise UndecodableRecord("a record of __transaction_state has no key")
    shown = f"transaction_metadata::transactionalId={decoded(TransactionLogKey, key).transactional_id}"
    return shown, TOMBSTONE if value is None else _transaction_text(value)


def _transaction_text(value: bytes) -> str:
    state = decoded(TransactionLogValue, value)
    status = state.transaction_status
    if not 0 <= status < len(TRANSACTION_STATES):
        raise UndecodableRecord(f"a transaction has the unknown state {status}")
    partitions = scala_order.of_partitions(
        TopicPartition(topic.topic, number)
        for topic in state.transaction_partitions or ()
        for number in topic.partition_ids
    )
    return (
        f"producerId:{state.producer_id},producerEpoch:{state.producer_epoch},state={TRANSACTION_STATES[status]},"
        f"partitions=[{','.join(map(str, partitions))}],"
        f"txnLastUpdateTimestamp={state.transaction_last_update_timestamp_ms},txnTimeoutMs={state.transaction_timeout_ms}"
    )
