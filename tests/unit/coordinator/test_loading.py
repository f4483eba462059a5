"""What brokers before 0.11 left in `__consumer_offsets` is read: entries of formats 0 and 1, plain and compressed."""

from __future__ import annotations

import logging

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.groups.offsets import NO_EXPIRY, CommittedOffset
from kafka_py.coordinator.groups.records import group_key, group_value, offset_keys, offset_value
from kafka_py.records.compression import Codec
from kafka_py.testing.fakes.stored_groups import GROUP, StoredGroups, commit
from kafka_py.testing.fakes.stored_logs import old_entry, old_wrapper

CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
PARTITIONS = [TopicPartition("t", number) for number in range(4)]
Row = tuple[bytes | None, bytes | None]


def key(partition: TopicPartition, version: int = 1) -> bytes:
    (made,) = offset_keys(GROUP, [partition])
    return version.to_bytes(2, "big") + made[2:]


def value(offset: int, version: int) -> bytes:
    expires = 9000 if version == 1 else NO_EXPIRY
    return offset_value(CommittedOffset(offset, 2 if version == 3 else -1, "m", 50, expires), version)


def copy(world: StoredGroups, magic: int, codec: Codec, *rows: Row) -> None:
    """What a leader of an old version wrote."""
    log = world.disk.log
    end = log.log_end_offset
    if codec:
        data = old_wrapper(magic, end, codec, [(*row, 1000) for row in rows])
    else:
        data = b"".join(old_entry(magic, end + number, *row) for number, row in enumerate(rows))
    log.append_as_follower(memoryview(bytearray(data)), 0)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("magic", [0, 1])
def test_commits_of_every_version_in_old_formats_count(magic: int, codec: Codec) -> None:
    world = StoredGroups()
    rows = [(key(one, version % 2), value(10 + version, version)) for version, one in enumerate(PARTITIONS)]
    copy(world, magic, codec, *rows)
    copy(world, magic, codec, (key(PARTITIONS[0]), value(20, 0)), (key(PARTITIONS[1]), None))
    found = world.reload().get(GROUP)
    assert found is not None
    offsets = found.offsets.committed
    assert {one.partition: offsets[one].offset for one in offsets} == {0: 20, 2: 12, 3: 13}
    assert offsets[PARTITIONS[3]][1:4] == (2, "m", 50)


@pytest.mark.parametrize("version", range(4))
def test_a_group_of_every_version_in_a_wrapper_counts(version: int) -> None:
    world = StoredGroups()
    group = world.own().stable_group()
    copy(world, 1, Codec.GZIP, (key(PARTITIONS[0]), value(5, 1)),
         (group_key(GROUP), group_value(group, {"m": b"work"}, version)))  # fmt: skip
    found = world.reload().get(GROUP)
    assert found is not None
    assert (found.generation, list(found.members), found.members["m"].assignment) == (3, ["m"], b"work")
    assert found.offsets.committed[PARTITIONS[0]].expire_timestamp == 9000


def test_new_commits_follow_old_ones() -> None:
    world = StoredGroups()
    copy(world, 1, Codec.SNAPPY, *((key(one), value(1, 1)) for one in PARTITIONS))
    world.own()
    world.commit((PARTITIONS[0], commit(7)))
    found = world.reload().get(GROUP)
    assert found is not None
    assert [found.offsets.committed[one].offset for one in PARTITIONS] == [7, 1, 1, 1]


def test_a_commit_in_a_wrapper_is_known_by_the_wrappers_first_offset() -> None:
    """As in a batch of format 2: it decides which of two commits is the later one when a transaction ends."""
    world = StoredGroups()
    copy(world, 1, Codec.GZIP, *((key(one), value(1, 1)) for one in PARTITIONS))
    found = world.reload().get(GROUP)
    assert found is not None
    assert {commit.record_offset for commit in found.offsets.committed.values()} == {0}


def test_a_wrapper_of_many_records_is_read_in_pieces() -> None:
    world = StoredGroups()
    many = [TopicPartition("t", number) for number in range(1000)]
    copy(world, 1, Codec.LZ4, *((key(one), value(one.partition, 1)) for one in many))
    found = world.reload().get(GROUP)
    assert found is not None
    assert [found.offsets.committed[one].offset for one in many] == list(range(1000))


def test_a_wrapper_that_cannot_be_read_is_left_out_alone(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    world = StoredGroups()
    copy(world, 1, Codec.GZIP, (key(PARTITIONS[0]), value(1, 1)))
    world.disk.log.append_as_follower(memoryview(bytearray(old_entry(1, 1, None, b"junk", attributes=1))), 0)
    copy(world, 1, Codec.GZIP, (key(PARTITIONS[1]), value(2, 1)))
    found = world.reload().get(GROUP)
    assert found is not None
    assert list(found.offsets.committed) == PARTITIONS[:2]
    assert "the batch at offset 1 is left out" in caplog.text
