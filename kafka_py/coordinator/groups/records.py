"""The stored format of groups: keys and values of the records in `__consumer_offsets`.

Converts bytes to values and back, in every version ever written; knows no logs and no groups. Offsets are encoded by
hand, for there are many; groups by the declared messages (wire/messages/group_metadata_record.py).
Source: docs/reference/groups.md, section 9; docs/reference/messages.tsv (OffsetCommitKey, OffsetCommitValue,
GroupMetadataKey, GroupMetadataValue).

Layout: int16 version, then the fields; strings with an int16 length. Key version 0 and 1: group, topic, partition
int32; version 2: group. Offset value: offset int64, (3:) leader_epoch int32, metadata, commit_timestamp int64, (1:)
expire_timestamp int64. A null value is a tombstone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from struct import Struct
from struct import error as struct_error
from typing import NamedTuple

from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.offsets import NO_EXPIRY, CommittedOffset
from kafka_py.records.batch import NO_LEADER_EPOCH
from kafka_py.wire.compiler import decode, encode_versioned
from kafka_py.wire.messages.group_metadata_record import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from kafka_py.wire.primitives import MalformedMessage

OFFSET_KEY_VERSION = 1
GROUP_KEY_VERSION = 2
NEWEST_VALUE_VERSION = 3
EXPIRING_VALUE_VERSION = 1
"""The only version of an offset value that has a field for an explicit expiry."""

_SHORT = Struct(">h")
_INT = Struct(">i")
_OFFSET_AND_LENGTH = Struct(">hqh")
_OFFSET_EPOCH_AND_LENGTH = Struct(">hqih")
_WITHOUT_METADATA = Struct(">hqihq")
_LONG = Struct(">q")
_TWO_LONGS = Struct(">qq")
_new = tuple.__new__


class ValueVersions(NamedTuple):
    """Which versions of values are written: by the inter-broker protocol, so that all brokers can read them."""

    offset: int = NEWEST_VALUE_VERSION
    group: int = NEWEST_VALUE_VERSION


class OffsetKey(NamedTuple):
    """The record is a commit of this partition by this group."""

    group: str
    topic_partition: TopicPartition


class GroupKey(NamedTuple):
    """The record describes this group."""

    group: str


class UnreadableRecord(ValueError):
    """A key or value is truncated, has an unknown version, or contains text that is not valid."""


# ---- keys


def offset_key_prefix(group: str, topic: str) -> bytes:
    """The key of an offset record without its last four bytes, the partition."""
    group_bytes, topic_bytes = group.encode(), topic.encode()
    return b"%b%b%b%b%b" % (
        _SHORT.pack(OFFSET_KEY_VERSION), _SHORT.pack(len(group_bytes)), group_bytes,
        _SHORT.pack(len(topic_bytes)), topic_bytes,
    )  # fmt: skip


def offset_keys(group: str, topic_partitions: Iterable[TopicPartition]) -> list[bytes]:
    """The key of each partition's offset record."""
    pack = _INT.pack
    prefixes: dict[str, bytes] = {}
    keys = []
    for topic, partition in topic_partitions:
        prefix = prefixes.get(topic)
        if prefix is None:
            prefix = prefixes[topic] = offset_key_prefix(group, topic)
        keys.append(prefix + pack(partition))
    return keys


def group_key(group: str) -> bytes:
    return encode_versioned(GroupMetadataKey(group=group), GROUP_KEY_VERSION)


class KeyReader:
    """Reads keys; equal names and partitions become the same objects, because a log repeats them very often.

    partitions: those read so far, by the bytes of an offset's key from `partition_position` on.
    """

    __slots__ = ("_groups", "partitions")

    def __init__(self) -> None:
        self.partitions: dict[bytes, TopicPartition] = {}
        self._groups: dict[bytes, str] = {}

    def read(self, data: bytes) -> OffsetKey | GroupKey:
        """What a record is about. Raises UnreadableRecord, also for a version that Apache Kafka 2.8.2 does not know."""
        try:
            if data[0] == 0 and data[1] <= OFFSET_KEY_VERSION:
                topic_at = partition_position(data)
                raw_group, raw_partition = data[4:topic_at], data[topic_at:]
                group = self._groups.get(raw_group)
                if group is None:
                    group = self._groups[raw_group] = raw_group.decode()
                topic_partition = self.partitions.get(raw_partition)
                if topic_partition is None:
                    topic_partition = self.partitions[raw_partition] = _read_partition(raw_partition)
                return _new(OffsetKey, (group, topic_partition))
            if data[0] == 0 and data[1] == GROUP_KEY_VERSION:
                return GroupKey(decode(GroupMetadataKey, GROUP_KEY_VERSION, data, 2).group)
        except (IndexError, struct_error, UnicodeDecodeError, MalformedMessage) as error:
            raise UnreadableRecord(f"a key cannot be read: {error}") from None
        raise UnreadableRecord(f"key version {int.from_bytes(data[:2], 'big', signed=True)} is not known")


def read_key(data: bytes) -> OffsetKey | GroupKey:
    """Reads a single key; see KeyReader.read."""
    return KeyReader().read(data)


def partition_position(offset_key: bytes) -> int:
    """The end of the group's name: from there on the key is about topic and partition."""
    return 4 + (offset_key[2] << 8 | offset_key[3])


def _read_partition(data: bytes) -> TopicPartition:
    """Topic and partition, the second part of an offset's key."""
    end = 2 + (data[0] << 8 | data[1])
    (partition,) = _INT.unpack_from(data, end)
    return TopicPartition(data[2:end].decode(), partition)


# ---- offsets


def offset_value(commit: CommittedOffset, version: int = NEWEST_VALUE_VERSION) -> bytes:
    """The value of an offset record; an explicit expiry makes it version 1 whatever `version` is."""
    metadata = commit.metadata.encode()
    if commit.expire_timestamp != NO_EXPIRY or version == EXPIRING_VALUE_VERSION:
        head = _OFFSET_AND_LENGTH.pack(EXPIRING_VALUE_VERSION, commit.offset, len(metadata))
        return head + metadata + _TWO_LONGS.pack(commit.commit_timestamp, commit.expire_timestamp)
    if version == NEWEST_VALUE_VERSION:
        head = _OFFSET_EPOCH_AND_LENGTH.pack(version, commit.offset, commit.leader_epoch, len(metadata))
    else:
        head = _OFFSET_AND_LENGTH.pack(version, commit.offset, len(metadata))
    return head + metadata + _LONG.pack(commit.commit_timestamp)


def read_offset_value(data: bytes, record_offset: int) -> CommittedOffset:
    """The commit, appended in the batch that begins at `record_offset`. Raises UnreadableRecord."""
    if len(data) == _WITHOUT_METADATA.size:
        version, offset, leader_epoch, length, committed_ms = _WITHOUT_METADATA.unpack(data)
        if version == NEWEST_VALUE_VERSION and not length:  # as nearly all are
            return _new(CommittedOffset, (offset, leader_epoch, "", committed_ms, NO_EXPIRY, record_offset))
    try:
        version = data[1] if data[0] == 0 else -1
        if version == NEWEST_VALUE_VERSION:
            _, offset, leader_epoch, length = _OFFSET_EPOCH_AND_LENGTH.unpack_from(data)
            position = _OFFSET_EPOCH_AND_LENGTH.size
        elif 0 <= version < NEWEST_VALUE_VERSION:
            _, offset, length = _OFFSET_AND_LENGTH.unpack_from(data)
            leader_epoch, position = NO_LEADER_EPOCH, _OFFSET_AND_LENGTH.size
        else:
            raise UnreadableRecord(f"version {int.from_bytes(data[:2], 'big', signed=True)} of an offset is not known")
        if length < 0:
            raise UnreadableRecord("an offset has no metadata")
        end = position + length
        metadata = data[position:end].decode() if length else ""
        if version == EXPIRING_VALUE_VERSION:
            committed_ms, expires_ms = _TWO_LONGS.unpack_from(data, end)
        else:
            (committed_ms,), expires_ms = _LONG.unpack_from(data, end), NO_EXPIRY
    except (IndexError, struct_error, UnicodeDecodeError) as error:
        raise UnreadableRecord(f"an offset cannot be read: {error}") from None
    return _new(CommittedOffset, (offset, leader_epoch, metadata, committed_ms, expires_ms, record_offset))


# ---- groups


def group_value(group: Group, assignments: Mapping[str, bytes], version: int = NEWEST_VALUE_VERSION) -> bytes:
    """The group as it is, with the members' assignments (empty for those that `assignments` lacks).

    Of each member's strategies only the metadata of the chosen one is stored.
    """
    protocol = group.protocol
    members = [
        MemberMetadata(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout=member.rebalance_timeout_ms,
            session_timeout=member.session_timeout_ms,
            subscription=b"" if protocol is None else member.metadata(protocol),
            assignment=assignments.get(member.member_id, b""),
        )
        for member in group.members.values()
    ]
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=protocol,
        leader=group.leader,
        current_state_timestamp=-1 if group.current_state_timestamp is None else group.current_state_timestamp,
        members=members,
    )
    return encode_versioned(value, version)


def read_group_value(data: bytes) -> GroupMetadataValue:
    """The group that a record describes. Raises UnreadableRecord."""
    version = int.from_bytes(data[:2], "big", signed=True)
    if not 0 <= version <= NEWEST_VALUE_VERSION:
        raise UnreadableRecord(f"version {version} of a group is not known")
    try:
        return decode(GroupMetadataValue, version, data, 2)
    except MalformedMessage as error:
        raise UnreadableRecord(f"a group cannot be read: {error}") from None
