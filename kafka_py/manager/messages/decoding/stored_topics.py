"""Records of __consumer_offsets and __transaction_state as documents, with the names of Kafka's messages.

Source: docs/reference/tools.md, section 18; docs/reference/messages.tsv (OffsetCommitKey, GroupMetadataKey,
TransactionLogKey and their values).
"""

from __future__ import annotations

from typing import Any

from kafka_py.base.ids import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
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

STORED_TOPICS = (GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC)
Stored = tuple[str, dict[str, Any], dict[str, Any] | None]
"""What the record is about, the document of its key, and that of its value (None for a tombstone)."""


def stored_record(topic: str, key: bytes | None, value: bytes | None) -> Stored:
    """A record of one of STORED_TOPICS. Raises UndecodableRecord."""
    if key is None:
        raise UndecodableRecord(f"a record of {topic} has no key")
    if topic == TRANSACTION_STATE_TOPIC:
        about: dict[str, Any] = {"transactional_id": decoded(TransactionLogKey, key).transactional_id}
        return "transaction", about, None if value is None else _transaction(decoded(TransactionLogValue, value))
    version = version_of(key)
    if version < GROUP_KEY_VERSION:
        commit = decoded(OffsetCommitKey, key)
        about = {"group": commit.group, "topic": commit.topic, "partition": commit.partition}
        return "offsets", about, None if value is None else _commit(decoded(OffsetCommitValue, value))
    if version == GROUP_KEY_VERSION:
        about = {"group": decoded(GroupMetadataKey, key).group}
        return "group", about, None if value is None else _group(decoded(GroupMetadataValue, value))
    raise UndecodableRecord(f"a record of {topic} has a key of version {version}")


def _commit(value: OffsetCommitValue) -> dict[str, Any]:
    return {
        "offset": value.offset,
        "leader_epoch": value.leader_epoch,
        "metadata": value.metadata,
        "commit_timestamp": value.commit_timestamp,
        "expire_timestamp": value.expire_timestamp,
    }


def _group(value: GroupMetadataValue) -> dict[str, Any]:
    return {
        "protocol_type": value.protocol_type,
        "generation": value.generation,
        "protocol": value.protocol,
        "leader": value.leader,
        "members": [_member(each, value.protocol_type) for each in value.members],
    }


def _member(member: MemberMetadata, protocol_type: str) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "member_id": member.member_id,
        "group_instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "rebalance_timeout_ms": member.rebalance_timeout,
        "session_timeout_ms": member.session_timeout,
    }
    assignment = bytes(member.assignment)
    if protocol_type == "consumer" and assignment:
        try:
            body = decoded(ConsumerProtocolAssignment, assignment, newest_known=True)
        except UndecodableRecord:
            return {**shown, "assignment": assignment.hex()}
        return {**shown, "assignment": {each.topic: list(each.partitions) for each in body.assigned_partitions}}
    return {**shown, "assignment": assignment.hex()}


def _transaction(value: TransactionLogValue) -> dict[str, Any]:
    status = value.transaction_status
    return {
        "producer_id": value.producer_id,
        "producer_epoch": value.producer_epoch,
        "state": TRANSACTION_STATES[status] if 0 <= status < len(TRANSACTION_STATES) else f"unknown ({status})",
        "timeout_ms": value.transaction_timeout_ms,
        "partitions": {each.topic: list(each.partition_ids) for each in value.transaction_partitions or ()},
        "start_timestamp": value.transaction_start_timestamp_ms,
        "last_update_timestamp": value.transaction_last_update_timestamp_ms,
    }
