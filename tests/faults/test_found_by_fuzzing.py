"""What the fuzzer and the flipped bytes have found, each with the smallest input that shows it."""

import struct

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.placement import MOST_REPLICAS, BrokerRack, place
from kafka_py.log.loading.recovery import Checkpointed
from kafka_py.log.partition.retention import delete_old_segments
from kafka_py.records.control import ControlType, end_txn_marker
from kafka_py.records.crc32c import crc32c
from kafka_py.testing.fakes.files import Loss
from kafka_py.testing.fakes.stored_logs import LogWorld, batch, offset_for_timestamp
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.znodes import TopicZNode


def unreadable_marker(base_offset: int) -> memoryview:
    """A control batch whose checksum fits and whose record does not."""
    marker = end_txn_marker(ControlType.ABORT, producer_id=4, producer_epoch=0, coordinator_epoch=0, timestamp=1)
    made = bytearray(marker)
    made[61] = 0x7F  # the record's length
    struct.pack_into(">I", made, 17, crc32c(bytes(made[21:])))
    struct.pack_into(">q", made, 0, base_offset)
    return memoryview(made)


def test_a_follower_refuses_a_marker_that_recovery_would_cut() -> None:
    world = LogWorld()
    world.append_many(3)
    with pytest.raises(KafkaError) as refusal:
        world.log.append_as_follower(unreadable_marker(3), 0)
    assert refusal.value.code is ErrorCode.CORRUPT_MESSAGE
    assert world.log.log_end_offset == 3


def test_a_batch_that_recovery_cuts_leaves_no_index_entry() -> None:
    """It did, and every later append failed because its offset was not above that entry's."""
    world = LogWorld({"segment.bytes": 100_000})
    world.append_many(3)
    log = f"{world.directory}/00000000000000000000.log"
    world.files.open(log).write(unreadable_marker(3), world.log.size_bytes)
    world.crash(Loss.NOTHING)
    assert world.log.log_end_offset == 3
    world.append_many(10)
    assert [record.offset for record in world.read_all()] == list(range(13))


def test_a_leader_epoch_that_is_none_costs_nothing_at_recovery() -> None:
    """The epoch is outside of the checksum. Recovery took it for offsets that go backwards, and dropped the segment."""
    world = LogWorld()
    world.log.assign_epoch(0, 0)
    world.append_many(3)
    made = bytearray(batch([b"a"]))
    struct.pack_into(">q", made, 0, 3)
    struct.pack_into(">i", made, 12, -513)
    world.log.append_as_follower(memoryview(made), 0)
    world.crash(Loss.NOTHING)
    assert world.log.log_end_offset == 4


def test_a_timestamp_beyond_64_bits_is_refused_where_batches_are_made_anew() -> None:
    world = LogWorld({"compression.type": "gzip"})
    made = bytearray(batch([b"a", b"b"], timestamp_step=5))
    struct.pack_into(">qq", made, 27, (1 << 63) - 1, (1 << 63) - 1)
    struct.pack_into(">I", made, 17, crc32c(bytes(made[21:])))
    with pytest.raises(KafkaError) as refusal:
        world.append(memoryview(made))
    assert refusal.value.code is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("data", [b"[" * 100_000, b'{"partitions":' * 100_000, b'{"version":' + b"1" * 5000 + b"}"])
def test_json_without_end_is_malformed_and_the_error_is_short(data: bytes) -> None:
    with pytest.raises(MalformedZNode) as error:
        TopicZNode.decode(data)
    assert len(str(error.value)) < 500


def test_more_replicas_than_can_be_are_refused_before_they_are_placed() -> None:
    with pytest.raises(KafkaError) as error:
        place([BrokerRack(0)], MOST_REPLICAS + 1, 1)
    assert error.value.code is ErrorCode.INVALID_PARTITIONS
    assert len(place([BrokerRack(0)], 1000, 1, fixed_start=0)) == 1000


def closed(**settings: object) -> LogWorld:
    world = LogWorld({"segment.bytes": 1700, **settings})
    world.append_many(30)
    world.log.close()
    return world


@pytest.mark.parametrize("flip", [0x01, 0x04, 0x40])
@pytest.mark.parametrize("field", [2, 3, 6, 7])
def test_a_wrong_index_entry_hides_nothing_and_moves_no_offset(field: int, flip: int) -> None:
    """After a clean stop the last entry decided where the log ended: appends would have reused offsets."""
    world = closed()
    for name in world.names(".index"):
        size = len(world.data(name))
        for entry in range(0, size, 8):
            world.files.corrupt(f"{world.directory}/{name}", entry + field, flip)
    log = world.open(is_clean=True)
    assert log.log_end_offset == 30
    assert [world.read_all(offset)[0].offset for offset in range(30)] == list(range(30))
    assert world.append().first_offset == 30
    world.log.close()
    assert world.open(is_clean=True).log_end_offset == 31
    assert [record.offset for record in world.read_all()] == list(range(31))


def test_wrong_times_in_the_index_delete_nothing_and_mislead_no_look_up() -> None:
    world = closed(**{"retention.ms": 1000})
    for name in world.names(".timeindex"):
        for entry in range(0, len(world.data(name)), 12):
            world.files.corrupt(f"{world.directory}/{name}", entry + 6, 0x04)
    log = world.open(is_clean=True, checkpointed=Checkpointed(0, 30, 30))
    assert delete_old_segments(log, 1500) == 0
    assert [offset_for_timestamp(log, 1000 + number) for number in range(30)] == [
        (1000 + number, number, 0) for number in range(30)
    ]


def test_a_broken_tail_after_a_clean_stop_is_cut_as_after_a_crash() -> None:
    world = closed()
    last = world.names(".log")[-1]
    size = len(world.data(last))
    world.files.corrupt(f"{world.directory}/{last}", size - 170 + 9, 0x40)  # the size of the last batch
    log = world.open(is_clean=True)
    assert log.log_end_offset == 29
    assert world.append().first_offset == 29
    assert [record.offset for record in world.read_all()] == list(range(30))


def test_a_base_offset_that_jumped_ahead_costs_its_batch_and_not_those_before() -> None:
    world = LogWorld({"segment.bytes": 100_000})
    world.append_many(10)
    world.files.crash(Loss.NOTHING)
    world.files.corrupt(f"{world.directory}/00000000000000000000.log", 5 * 170 + 7, 0x40)
    assert world.open().log_end_offset == 5
    assert [record.offset for record in world.read_all()] == list(range(5))
