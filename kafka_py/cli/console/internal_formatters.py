"""Formatters of kafka-console-consumer.sh for the brokers' own topics: offsets, groups, transactions.

A record that is not of the formatter's kind prints nothing; a tombstone prints NULL.
Source: docs/reference/tools.md, section 13; OffsetAndMetadata, GroupMetadata, TransactionMetadata (their texts).
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_py.base.ids import TopicPartition
from kafka_py.broker.settings import scala_order
from kafka_py.clients.consumer.fetching.records import ConsumerRecord
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

NULL = "NULL"
NOT_SET = -1


class InternalFormatter:
    """`<key>::<value>` per record. Raises UndecodableRecord for what is no record of the topic."""

    def configure(self, properties: Mapping[str, str]) -> None:
        """Has no properties."""

    def format(self, record: ConsumerRecord) -> bytes:
        if record.key is None:
            return b""
        key = self.key_text(bytes(record.key))
        if key is None:
            return b""
        value = NULL if record.value is None else self.value_text(key, bytes(record.value))
        return f"{key}::{value}\n".encode()

    def key_text(self, key: bytes) -> str | None:
        """What stands for the key; None for a record of another kind."""
        raise UndecodableRecord("not a record of the brokers' own topics")

    def value_text(self, key: str, value: bytes) -> str:
        """What stands for the value. key: its text."""
        raise UndecodableRecord("not a record of the brokers' own topics")

    def close(self) -> None:
        """Holds nothing."""


def _group_topic_version(key: bytes) -> int:
    version = version_of(key)
    if not 0 <= version <= GROUP_KEY_VERSION:
        raise UndecodableRecord(f"a record of __consumer_offsets has a key of version {version}")
    return version


class OffsetsMessageFormatter(InternalFormatter):
    """Committed offsets of __consumer_offsets."""

    def key_text(self, key: bytes) -> str | None:
        if _group_topic_version(key) == GROUP_KEY_VERSION:
            return None
        commit = decoded(OffsetCommitKey, key)
        return f"[{commit.group},{commit.topic},{commit.partition}]"

    def value_text(self, key: str, value: bytes) -> str:
        committed = decoded(OffsetCommitValue, value)
        epoch = "Optional.empty" if committed.leader_epoch == NOT_SET else f"Optional[{committed.leader_epoch}]"
        expires = "None" if committed.expire_timestamp == NOT_SET else f"Some({committed.expire_timestamp})"
        return (
            f"OffsetAndMetadata(offset={committed.offset}, leaderEpoch={epoch}, metadata={committed.metadata}, "
            f"commitTimestamp={committed.commit_timestamp}, expireTimestamp={expires})"
        )


class GroupMetadataMessageFormatter(InternalFormatter):
    """Groups and their members in __consumer_offsets."""

    def key_text(self, key: bytes) -> str | None:
        return decoded(GroupMetadataKey, key).group if _group_topic_version(key) == GROUP_KEY_VERSION else None

    def value_text(self, key: str, value: bytes) -> str:
        group = decoded(GroupMetadataValue, value)
        members = {member.member_id: member for member in group.members}
        listed = ", ".join(
            f"{member_id} -> {_member_text(members[member_id], group.protocol)}"
            for member_id in scala_order.of_strings(members)
        )
        return (
            f"GroupMetadata(groupId={key}, generation={group.generation}, "
            f"protocolType={_option(group.protocol_type or None)}, currentState={'Stable' if members else 'Empty'}, "
            f"members=HashMap({listed}))"
        )


def _member_text(member: MemberMetadata, protocol: str | None) -> str:
    return (
        f"MemberMetadata(memberId={member.member_id}, groupInstanceId={_option(member.group_instance_id)}, "
        f"clientId={member.client_id}, clientHost={member.client_host}, sessionTimeoutMs={member.session_timeout}, "
        f"rebalanceTimeoutMs={member.rebalance_timeout}, supportedProtocols=List({protocol}), )"
    )


def _option(text: str | None) -> str:
    return "None" if text is None else f"Some({text})"


class TransactionLogMessageFormatter(InternalFormatter):
    """Transactional ids and the state of their transactions in __transaction_state."""

    def key_text(self, key: bytes) -> str | None:
        return decoded(TransactionLogKey, key).transactional_id

    def value_text(self, key: str, value: bytes) -> str:
        found = decoded(TransactionLogValue, value)
        status = found.transaction_status
        if not 0 <= status < len(TRANSACTION_STATES):
            raise UndecodableRecord(f"a transaction has the unknown state {status}")
        partitions = scala_order.of_partitions(
            TopicPartition(topic.topic, number)
            for topic in found.transaction_partitions or ()
            for number in topic.partition_ids
        )
        return (
            f"TransactionMetadata(transactionalId={key}, producerId={found.producer_id}, "
            f"producerEpoch={found.producer_epoch}, txnTimeoutMs={found.transaction_timeout_ms}, "
            f"state={TRANSACTION_STATES[status]}, pendingState=None, "
            f"topicPartitions=HashSet({', '.join(map(str, partitions))}), "
            f"txnStartTimestamp={found.transaction_start_timestamp_ms}, "
            f"txnLastUpdateTimestamp={found.transaction_last_update_timestamp_ms})"
        )
