"""Logs of message formats 0 and 1, as brokers before 0.11 wrote them and as followers copy them."""

import struct

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.log.loading.recovery import Checkpointed
from kafka_py.log.model.answers import UnexpectedAppendOffset
from kafka_py.log.partition.retention import delete_old_segments
from kafka_py.log.segments.segment import Segment
from kafka_py.records.compression import Codec
from kafka_py.records.legacy_records import read_records
from kafka_py.testing.fakes.files import Loss
from kafka_py.testing.fakes.stored_logs import (
    LogWorld,
    batch,
    offset_for_timestamp,
    old_entry,
    old_wrapper,
    slice_bytes,
)

LOG = "00000000000000000000.log"
EPOCHS = "leader-epoch-checkpoint"


def follow(world, *entries):
    return world.log.append_as_follower(memoryview(bytearray(b"".join(entries))), world.clock.wall_ms())


def rows(*timestamps):
    return [(b"k%d" % number, b"v" * 40, timestamp) for number, timestamp in enumerate(timestamps)]


def stored(magic=1, codec=Codec.GZIP):
    """60 records: plain entries and wrappers of three in turn, one millisecond apart."""
    offset = 0
    while offset < 60:
        yield old_entry(magic, offset, b"k", b"v" * 40, timestamp=1000 + offset)
        yield old_wrapper(magic, offset + 1, codec, rows(*range(1001 + offset, 1004 + offset)))
        offset += 4


def filled(magic=1, **settings):
    world = LogWorld({"segment.bytes": 1000, **settings})
    for data in stored(magic):
        follow(world, data)
        world.clock.advance(1)
    return world


def served(world, offset):
    """The offsets that the first entry of a read at `offset` has."""
    data = slice_bytes(world.log.read(offset, 1, up_to_offset=world.log.log_end_offset, min_one_batch=True).slice)
    return [record.offset for record in read_records(data, 0)]


def shape(world):
    log = world.log
    return (
        [(segment.base_offset, segment.size, segment.largest) for segment in log.segments],
        log.log_end_offset,
        [served(world, offset) for offset in range(log.log_start_offset, log.log_end_offset)],
        [offset_for_timestamp(log, timestamp) for timestamp in range(999, 1062)],
    )


# ---- copying


@pytest.mark.parametrize("magic", [0, 1])
def test_a_follower_writes_exactly_what_the_leader_has(magic):
    data = b"".join(stored(magic))
    world = LogWorld()
    info = follow(world, data + b"\0\0\0\0\0\0\0\1\0\0")
    assert (info.last_offset, info.record_count, world.log.log_end_offset) == (59, 0, 60)
    assert world.data(LOG) == data
    assert world.log.epochs.entries() == []


def test_a_wrapper_whose_checksum_does_not_fit_is_refused():
    data = bytearray(b"".join(stored()))
    data[-1] ^= 1
    with pytest.raises(KafkaError) as caught:
        follow(LogWorld(), data)
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE


def test_entries_must_be_in_order_by_their_last_offsets():
    world = LogWorld()
    with pytest.raises(UnexpectedAppendOffset):
        follow(world, old_entry(1, 5, None, b"a"), old_entry(1, 5, None, b"b"))
    follow(world, old_entry(1, 5, None, b"a"))
    with pytest.raises(UnexpectedAppendOffset):
        follow(world, old_wrapper(1, 3, Codec.GZIP, rows(1, 2, 3)))
    assert world.log.log_end_offset == 6


def test_a_wrapper_that_begins_below_the_end_of_an_empty_log_is_taken():
    """DeleteRecords has moved the leader's log start into it."""
    world = LogWorld()
    world.log.truncate_fully_and_start_at(15)
    follow(world, old_wrapper(1, 10, Codec.GZIP, rows(*range(10))))
    assert (world.log.log_start_offset, world.log.log_end_offset) == (15, 20)
    assert served(world, 15) == list(range(10, 20))


def test_a_restarted_log_begins_with_the_first_record_of_a_wrapper():
    world = LogWorld()
    world.log.truncate_fully_and_start_at(15)
    follow(world, old_wrapper(1, 8, Codec.GZIP, rows(1, 2, 3)), old_entry(1, 15, None, b"v"))
    assert [segment.base_offset for segment in world.log.segments] == [8]
    assert (world.log.log_start_offset, world.log.log_end_offset) == (8, 16)


def test_a_new_segment_can_hold_the_first_records_of_the_wrapper_it_begins_with():
    world = LogWorld({"segment.bytes": 200})
    follow(world, old_entry(1, 0, None, b"v" * 150))
    gap = 1 << 31
    follow(world, old_wrapper(1, gap + 1000, Codec.GZIP, rows(1, 2, 3)))
    base = world.log.segments[-1].base_offset
    assert base == gap + 1002 - (gap - 1)
    assert served(world, 5) == [gap + 1000, gap + 1001, gap + 1002]


def test_new_batches_follow_old_entries():
    world = filled()
    world.append(batch([b"n"], timestamp=2000), epoch=3)
    assert world.log.epochs.entries() == [(3, 60)]
    assert offset_for_timestamp(world.log, 1500) == (2000, 60, 3)
    assert served(world, 59) == [57, 58, 59]


# ---- leader epochs


def test_an_old_entry_drops_the_leader_epochs():
    """Otherwise they would seem to last up to the next one; the log is truncated to its high watermark then."""
    world = LogWorld()
    follow(world, batch(base_offset=0, leader_epoch=4))
    assert world.log.epochs.entries() == [(4, 0)]
    follow(world, old_entry(1, 1, None, b"v"))
    assert world.log.epochs.entries() == []
    assert world.data(EPOCHS) == b"0\n0\n"
    follow(world, batch(base_offset=2, leader_epoch=5))
    assert world.log.epochs.entries() == [(5, 2)]


def test_a_topic_in_an_old_format_has_no_leader_epochs():
    world = LogWorld()
    world.append(epoch=4)
    world.log.reconfigure(type(world.config).for_topic(None, {"message.format.version": "0.10.2"}))
    assert world.log.epochs.entries() == []
    world.log.assign_epoch(5, 1)
    assert world.log.epochs.entries() == []


@pytest.mark.parametrize("is_clean", [False, True])
def test_the_file_of_leader_epochs_is_removed_where_the_format_has_none(is_clean, caplog):
    world = LogWorld()
    world.append(epoch=4)
    world.config = type(world.config).for_topic(None, {"message.format.version": "0.10.2"})
    world.open(is_clean=is_clean)
    assert world.log.epochs.entries() == []
    assert EPOCHS not in world.names()
    assert "message format 1 has none" in caplog.text


# ---- offsets and times


@pytest.mark.parametrize("magic", [0, 1])
def test_any_offset_is_served_with_the_entry_that_has_it(magic):
    world = filled(magic)
    assert len(world.log.segments) > 2
    for offset in range(60):
        first = offset // 4 * 4
        assert served(world, offset) == ([first] if offset == first else [first + 1, first + 2, first + 3])


def test_a_time_is_found_exactly_in_plain_entries_and_wrappers():
    world = filled(1)
    for offset in range(60):
        assert offset_for_timestamp(world.log, 1000 + offset) == (1000 + offset, offset, -1)
    assert offset_for_timestamp(world.log, 900) == (1000, 0, -1)
    assert offset_for_timestamp(world.log, 1060) is None


def test_a_search_by_time_begins_at_the_log_start():
    world = filled(1)
    world.log.update_high_watermark(60)
    world.log.advance_log_start_offset(22)
    assert offset_for_timestamp(world.log, 900) == (1022, 22, -1)


def test_format_0_has_no_times():
    assert offset_for_timestamp(filled(0).log, 900) is None


def test_times_of_a_topic_in_format_0_cannot_be_searched():
    world = filled(0, **{"message.format.version": "0.9.0"})
    with pytest.raises(KafkaError, match=r"message\.format\.version is 0\.9\.0") as caught:
        offset_for_timestamp(world.log, 900)
    assert caught.value.code is ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT


def test_a_wrapper_that_cannot_be_read_is_skipped_in_a_search_by_time(caplog):
    world = LogWorld()
    follow(
        world,
        old_entry(1, 0, None, b"v", timestamp=1000),
        old_entry(1, 3, None, b"junk", attributes=Codec.GZIP, timestamp=3000),
        old_entry(1, 4, None, b"v", timestamp=2000),
    )
    assert offset_for_timestamp(world.log, 1500) == (2000, 4, -1)
    assert "batch at offset 3 is skipped" in caplog.text


def test_a_wrapper_that_holds_too_much_answers_with_the_offset_after_the_entry_before(monkeypatch):
    monkeypatch.setattr("kafka_py.log.partition.lookups.plain_limit", lambda _: 1000)
    world = LogWorld()
    follow(world, old_entry(1, 4, None, b"v", timestamp=1000))
    follow(world, old_wrapper(1, 5, Codec.GZIP, [(None, b"v" * 900, 2000), (None, b"v" * 900, 2001)]))
    assert offset_for_timestamp(world.log, 1500) == (2001, 5, -1)


# ---- recovery, retention, truncation


@pytest.mark.parametrize("magic", [0, 1])
def test_recovery_finds_the_same_log(magic):
    world = filled(magic)
    before = shape(world)
    world.crash(Loss.NOTHING)
    assert shape(world) == before
    for name in world.names("index"):
        world.files.remove(f"{world.directory}/{name}")
    world.open(is_clean=True)
    assert shape(world) == before


@pytest.mark.parametrize("magic", [0, 1])
def test_indexes_that_recovery_writes_are_those_of_the_appends(magic):
    world = filled(magic)
    world.log.close()
    before = {name: world.data(name) for name in world.names("index")}
    world.open()
    world.log.close()
    assert {name: world.data(name) for name in world.names("index")} == before


def test_recovery_cuts_at_an_entry_whose_checksum_does_not_fit():
    world = LogWorld()
    data = list(stored())
    follow(world, *data)
    position = sum(map(len, data[:7])) + 20
    world.files.corrupt(f"{world.directory}/{LOG}", position, 1)
    world.open()
    assert world.log.log_end_offset == 13
    assert world.data(LOG)[: world.log.size_bytes] == b"".join(data[:7])


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("offset", [5, 7, 4000])
def test_recovery_finds_a_wrapper_whose_offset_was_changed(magic, offset):
    """No checksum covers it; the wrapper before that, which is in order, is kept."""
    data = list(stored(magic))
    damaged = bytearray(data[5])  # offsets 9 to 11
    damaged[:8] = offset.to_bytes(8, "big")
    world = LogWorld()
    follow(world, b"".join(data))
    world.log.close()
    file = world.files.open(f"{world.directory}/{LOG}")
    file.write(b"".join((*data[:5], damaged, *data[6:])), 0)
    world.open()
    assert world.data(LOG)[: world.log.size_bytes] == b"".join(data[:5])
    assert world.log.log_end_offset == 9


def test_recovery_cuts_a_wrapper_that_is_there_twice():
    data = list(stored(1))
    world = LogWorld()
    follow(world, b"".join(data[:6]))
    world.log.close()
    world.files.open(f"{world.directory}/{LOG}").write(data[5], sum(map(len, data[:6])))
    world.open()
    assert world.log.log_end_offset == 12
    world.log.close()
    world.open(is_clean=True)
    assert served(world, 11) == [9, 10, 11]


@pytest.mark.parametrize("offset", range(0, 60, 7))
def test_a_truncation_into_a_wrapper_removes_it_whole(offset):
    world = filled(1)
    world.log.truncate_to(offset)
    first = offset // 4 * 4
    kept = first if offset == first else first + 1
    assert world.log.log_end_offset == offset
    assert [served(world, each)[-1] for each in range(kept)] == [
        each if each % 4 == 0 else each // 4 * 4 + 3 for each in range(kept)
    ]
    assert offset_for_timestamp(world.log, 1000 + kept) is None


def test_segments_of_format_0_are_deleted_by_the_time_of_their_files():
    world = filled(0, **{"retention.ms": "10"})
    log = world.log
    log.update_high_watermark(60)
    world.clock.advance(1000)
    assert delete_old_segments(log, world.clock.wall_ms()) == 3
    assert log.log_start_offset == 60


def test_segments_of_format_1_are_deleted_by_the_time_of_their_records():
    world = filled(1, **{"retention.ms": "100"})
    log = world.log
    log.update_high_watermark(60)
    assert delete_old_segments(log, 1100) == 0
    last = log.segments[0].largest.timestamp
    assert delete_old_segments(log, last + 101) == 1


def test_a_segment_of_format_0_rolls_by_the_time_of_its_creation():
    world = LogWorld({"segment.ms": "1000"})
    follow(world, old_entry(0, 0, None, b"v"))
    world.clock.advance(1001)
    follow(world, old_entry(0, 1, None, b"v"))
    assert [segment.base_offset for segment in world.log.segments] == [0, 1]


def test_a_segment_of_format_1_rolls_by_the_times_of_its_entries():
    world = LogWorld({"segment.ms": "1000"})
    follow(world, old_entry(1, 0, None, b"v", timestamp=5000))
    world.clock.advance(1001)
    follow(world, old_entry(1, 1, None, b"v", timestamp=6000))
    follow(world, old_entry(1, 2, None, b"v", timestamp=6001))
    assert [segment.base_offset for segment in world.log.segments] == [0, 2]


def test_records_inside_a_wrapper_can_be_deleted():
    world = filled(1)
    world.log.update_high_watermark(60)
    world.log.advance_log_start_offset(6)
    assert served(world, 6) == [5, 6, 7]
    with pytest.raises(KafkaError):
        world.log.read(5, 100, up_to_offset=60)
    world.crash()
    world.open(checkpointed=Checkpointed(log_start_offset=6))
    assert world.log.log_start_offset == 6


@pytest.mark.parametrize("magic", [0, 1])
def test_an_index_that_names_the_first_offsets_of_wrappers_is_used(magic, caplog):
    """As versions before 0.11 wrote it."""
    world = LogWorld()
    data = list(stored(magic))
    follow(world, b"".join(data))
    world.log.close()
    positions = [sum(map(len, data[:number])) for number in range(30)]
    entries = [(number // 2 * 4 + number % 2, positions[number]) for number in (3, 7, 8, 15, 21)]
    index = world.files.open(f"{world.directory}/00000000000000000000.index")
    index.truncate(0)
    index.write(b"".join(struct.pack(">ii", *entry) for entry in entries), 0)
    world.open(is_clean=True)
    for offset in range(60):
        first = offset // 4 * 4
        assert served(world, offset) == ([first] if offset == first else [first + 1, first + 2, first + 3])
    if magic:
        assert [offset_for_timestamp(world.log, 1000 + offset).offset for offset in range(60)] == list(range(60))
    assert "index is ignored" not in caplog.text


def test_a_damaged_offset_of_a_live_log_does_not_reach_its_time_index():
    world = LogWorld()
    follow(world, old_entry(1, 0, None, b"v", timestamp=2000), old_entry(1, 1, None, b"v", timestamp=1000))
    follow(world, old_entry(1, 2, None, b"v", timestamp=900))
    world.log.close()
    world.files.remove(f"{world.directory}/00000000000000000000.timeindex")
    world.files.open(f"{world.directory}/{LOG}").write(b"\x40", 0)
    segment = Segment(world.log.files.place, 0, size=len(world.data(LOG)))
    segment.time_index.create(1200)
    segment.add_last_time_entry()
    assert segment.largest == (1000, 1)
