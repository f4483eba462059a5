"""Bytes are those of Kafka 2.8.2's own classes (version in front of the body)."""

from __future__ import annotations

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.member import Member
from kafka_py.coordinator.groups.offsets import CommittedOffset, GroupOffsets
from kafka_py.coordinator.groups.records import (
    GroupKey,
    KeyReader,
    OffsetKey,
    UnreadableRecord,
    group_key,
    group_value,
    offset_keys,
    offset_value,
    read_group_value,
    read_key,
    read_offset_value,
)
from kafka_py.wire.compiler import encode_versioned
from kafka_py.wire.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue

HELLO = "héllo wörld"

VALUES = [
    (0, CommittedOffset(12, -1, "", -(1 << 63)), "0000 000000000000000c 0000 8000000000000000"),
    (0, CommittedOffset(1, -1, HELLO, 0), "0000 0000000000000001 000d68c3a96c6c6f2077c3b6726c64 0000000000000000"),
    (1, CommittedOffset(1, -1, "topic-28", 0, 159),
     "0001 0000000000000001 0008746f7069632d3238 0000000000000000 000000000000009f"),
    (1, CommittedOffset(-(1 << 63), -1, "", 1, -1), "0001 8000000000000000 0000 0000000000000001 ffffffffffffffff"),
    (2, CommittedOffset(162, -1, "topic-86", 197), "0002 00000000000000a2 0008746f7069632d3836 00000000000000c5"),
    (3, CommittedOffset(-4783962916905646743, 0, HELLO, 1),
     "0003 bd9bf312d7328569 00000000 000d68c3a96c6c6f2077c3b6726c64 0000000000000001"),
    (3, CommittedOffset(7, 3, "", 1), "0003 0000000000000007 00000003 0000 0000000000000001"),
    (2, CommittedOffset(7, -1, "abcd", 1), "0002 0000000000000007 0004 61626364 0000000000000001"),
    (1, CommittedOffset(7, -1, "", 1, 9), "0001 0000000000000007 0000 0000000000000001 0000000000000009"),
    (3, CommittedOffset(1, -1, "topic-63", -1), "0003 0000000000000001 ffffffff 0008746f7069632d3633 ffffffffffffffff"),
]  # fmt: skip

KEYS = [
    ("0000 0008746f7069632d3532 000d68c3a96c6c6f2077c3b6726c64 4f0b3a6d", "topic-52", HELLO, 1326135917),
    ("0001 0008746f7069632d3233 0008746f7069632d3138 ffffffff", "topic-23", "topic-18", -1),
    ("0001 0000 0000 00000000", "", "", 0),
]


@pytest.mark.parametrize(("version", "commit", "golden"), VALUES)
def test_values_of_every_version_are_read_and_written_as_the_classic_does(
    version: int, commit: CommittedOffset, golden: str
) -> None:
    data = bytes.fromhex(golden)
    assert offset_value(commit, version) == data
    assert read_offset_value(data, 7) == commit._replace(record_offset=7)
    message = OffsetCommitValue(
        offset=commit.offset, metadata=commit.metadata, commit_timestamp=commit.commit_timestamp,
    )  # fmt: skip
    message.leader_epoch, message.expire_timestamp = commit.leader_epoch, commit.expire_timestamp
    assert encode_versioned(message, version) == data


def test_an_expiry_of_its_own_makes_the_value_version_1() -> None:
    commit = CommittedOffset(5, 3, "m", 10, 20)
    data = offset_value(commit, 3)
    assert data[:2] == b"\0\1"
    assert read_offset_value(data, 0) == CommittedOffset(5, -1, "m", 10, 20, 0)


@pytest.mark.parametrize(("golden", "group", "topic", "partition"), KEYS)
def test_keys_of_both_versions_are_read(golden: str, group: str, topic: str, partition: int) -> None:
    data = bytes.fromhex(golden)
    assert read_key(data) == OffsetKey(group, TopicPartition(topic, partition))
    if data[1] == 1:
        assert offset_keys(group, [TopicPartition(topic, partition)]) == [data]
        assert encode_versioned(OffsetCommitKey(group=group, topic=topic, partition=partition), 1) == data


def test_the_reader_gives_equal_names_as_one_object() -> None:
    reader = KeyReader()
    first, second = (reader.read(key) for key in offset_keys("g", [TopicPartition("t", 1)] * 2))
    assert isinstance(first, OffsetKey) and isinstance(second, OffsetKey)
    assert first.topic_partition is second.topic_partition


def test_a_group_key_has_version_2() -> None:
    assert group_key(HELLO) == bytes.fromhex("0002 000d68c3a96c6c6f2077c3b6726c64")
    assert read_key(group_key(HELLO)) == GroupKey(HELLO)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"\0\1",
        b"\0\1\0\5ab",
        b"\0\1\0\1g\0\1t\0\0",
        b"\0\3\0\0",
        b"\xff\xff\0\0",
        b"\0\1\0\1\xff\0\1t\0\0\0\0",
    ],
)
def test_a_key_that_nobody_wrote_is_unreadable(data: bytes) -> None:
    with pytest.raises(UnreadableRecord):
        read_key(data)


@pytest.mark.parametrize("version", range(4))
def test_a_value_cut_short_anywhere_is_unreadable(version: int) -> None:
    data = offset_value(CommittedOffset(1, 2, "abc", 3), version)
    for end in range(len(data)):
        with pytest.raises(UnreadableRecord):
            read_offset_value(data[:end], 0)


_NO_METADATA = b"\0\2" + bytes(8) + b"\xff\xff" + bytes(8)
_NO_METADATA_EITHER = b"\0\3" + bytes(12) + b"\xff\xff" + bytes(8)


@pytest.mark.parametrize(
    "data",
    [b"\0\4" + bytes(30), b"\0\4" + bytes(22), b"\xff\xff" + bytes(30), _NO_METADATA, _NO_METADATA_EITHER],
)
def test_a_value_of_an_unknown_kind_is_unreadable(data: bytes) -> None:
    with pytest.raises(UnreadableRecord):
        read_offset_value(data, 0)


def group_of_one() -> Group:
    group = Group("g", GroupOffsets(), 1)
    group.protocol_type, group.protocol, group.generation = "consumer", "range", 3
    group.add(Member("m-1", "i-1", "c", "/127.0.0.1", 60_000, 10_000, (("range", b"sub"), ("other", b"x"))))
    return group


@pytest.mark.parametrize(
    ("version", "golden"),
    [
        (0, "0000 0008636f6e73756d6572 00000003 000572616e6765 00036d2d31 00000001"
            "00036d2d31 000163 000a2f3132372e302e302e31 00002710 00000003737562 0000000161"),
        (1, "0001 0008636f6e73756d6572 00000003 000572616e6765 00036d2d31 00000001"
            "00036d2d31 000163 000a2f3132372e302e302e31 0000ea60 00002710 00000003737562 0000000161"),
        (2, "0002 0008636f6e73756d6572 00000003 000572616e6765 00036d2d31 0000000000000001 00000001"
            "00036d2d31 000163 000a2f3132372e302e302e31 0000ea60 00002710 00000003737562 0000000161"),
        (3, "0003 0008636f6e73756d6572 00000003 000572616e6765 00036d2d31 0000000000000001 00000001"
            "00036d2d31 0003692d31 000163 000a2f3132372e302e302e31 0000ea60 00002710 00000003737562 0000000161"),
    ],
)  # fmt: skip
def test_a_group_is_written_with_the_chosen_strategy_alone(version: int, golden: str) -> None:
    data = group_value(group_of_one(), {"m-1": b"a"}, version)
    assert data.hex() == golden.replace(" ", "")
    read = read_group_value(data)
    assert (read.protocol_type, read.generation, read.leader, len(read.members)) == ("consumer", 3, "m-1", 1)


def test_a_group_without_members_has_no_leader_and_no_strategy() -> None:
    data = group_value(Group("g", GroupOffsets(), 1), {})
    assert data.hex() == "0003 0000 00000000 ffff ffff 0000000000000001 00000000".replace(" ", "")


@pytest.mark.parametrize("data", [b"", b"\0\4", b"\0\3\0", group_value(group_of_one(), {})[:-3]])
def test_a_group_that_cannot_be_read_is_unreadable(data: bytes) -> None:
    with pytest.raises(UnreadableRecord):
        read_group_value(data)
