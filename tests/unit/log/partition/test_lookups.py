"""What is asked of a log: bytes available, times, aborted transactions."""

import random

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.log.model.answers import Origin
from kafka_py.records.control import ControlType
from kafka_py.testing.fakes.stored_logs import LogWorld, batch, offset_for_timestamp

from .log_calls import offsets, produced, read


def test_a_transaction_index_that_cannot_be_read_is_an_error_of_the_partition():
    world = LogWorld()
    world.append(produced(0, transactional=True))
    world.mark(9, 0, ControlType.ABORT)
    world.log.update_high_watermark(2)
    world.log.segments[0].txn_index.close()
    world.files.open(f"{world.directory}/00000000000000000000.txnindex").write(b"\0\1", 0)
    world.log.segments[0].txn_index.opened(34)
    with pytest.raises(KafkaError) as caught:
        world.log.lookups.aborted_transactions(0, read(world.log, 0))
    assert caught.value.code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_aborted_transactions_are_found_for_the_range_read():
    world = LogWorld()
    world.append(produced(0, transactional=True))
    world.append()
    world.mark(9, 0, ControlType.ABORT)
    world.append(produced(1, transactional=True))
    world.mark(9, 0, ControlType.COMMIT)
    world.append()
    world.log.update_high_watermark(6)
    assert world.log.lookups.aborted_transactions(0, read(world.log, 0)) == [(9, 0)]
    assert world.log.lookups.aborted_transactions(2, read(world.log, 2)) == [(9, 0)]
    assert world.log.lookups.aborted_transactions(3, read(world.log, 3)) == []


def test_aborted_transactions_are_found_whatever_segments_come_and_go():
    """Against a list of all that was aborted: what was read is covered, and nothing else is named."""
    for seed in range(8):
        rng = random.Random(seed)
        world = LogWorld({"segment.bytes": 1500})
        begun, aborted = {}, []
        for _ in range(250):
            step, producer = rng.random(), rng.randrange(4)
            end = world.log.log_end_offset
            if step < 0.55:
                fields = {"producer_epoch": 0, "base_sequence": 0, "transactional": True}
                world.append(batch([b"v" * 60], producer_id=producer, **fields), origin=Origin.COORDINATOR)
                begun.setdefault(producer, end)
            elif step < 0.8 and producer in begun:
                control = rng.choice((ControlType.ABORT, ControlType.COMMIT))
                world.mark(producer, 0, control)
                first = begun.pop(producer)
                if control is ControlType.ABORT:
                    aborted.append((producer, first, end))
            elif step < 0.83 and end:
                cut = rng.randrange(max(end - 30, 0), end)
                world.log.truncate_to(cut)
                aborted = [each for each in aborted if each[2] < cut]
                begun = {
                    key: known.txn_first_offset
                    for key, known in world.log.producers.active()
                    if known.txn_first_offset is not None
                }
            elif step < 0.85:
                world.log.close()
                world.open(is_clean=True, checkpointed=world.checkpointed())
            if not world.log.log_end_offset:
                continue
            offset = rng.randrange(world.log.log_end_offset)
            data = read(world.log, offset, rng.choice((200, 1000, 1 << 20)))
            last = offsets(data)[-1]
            found = world.log.lookups.aborted_transactions(offset, data)
            must = [(one[0], one[1]) for one in aborted if one[2] >= offset and one[1] <= last]
            may = [(one[0], one[1]) for one in aborted if one[2] >= offset]
            assert [each for each in found if each in must] == must
            assert not [each for each in found if each not in may]


def test_bytes_available_counts_across_segments(world):
    size = world.log.segments[0].size // 10
    log = world.log
    assert log.lookups.bytes_available(0, 200) == 100 * size
    assert log.lookups.bytes_available(5, 8) == 2 * size
    assert log.lookups.bytes_available(190, 200) == 5 * size
    assert log.lookups.bytes_available(18, 22) == 2 * size
    assert log.lookups.bytes_available(200, 200) == 0
    assert log.lookups.bytes_available(9, 5) == 0
    assert log.lookups.bytes_available(190, 10**9) == 5 * size


def test_timestamps_lead_to_the_first_record_that_is_not_older(world):
    log = world.log
    assert offset_for_timestamp(log, 0) == (1000, 0, 0)
    assert offset_for_timestamp(log, 1000) == (1000, 0, 0)
    assert offset_for_timestamp(log, 1001) == (1010, 2, 0)
    assert offset_for_timestamp(log, 1990) == (1990, 198, 0)
    assert offset_for_timestamp(log, 1991) is None


def test_a_timestamp_is_found_inside_a_batch_and_never_before_the_log_start():
    world = LogWorld()
    world.append(batch([b"v"] * 5, timestamp=100, timestamp_step=10))
    assert offset_for_timestamp(world.log, 121) == (130, 3, 0)
    world.log.update_high_watermark(5)
    world.log.advance_log_start_offset(4)
    assert offset_for_timestamp(world.log, 121) == (140, 4, 0)


def test_out_of_order_timestamps_are_found_by_scanning():
    world = LogWorld()
    for timestamp in (100, 300, 200, 250, 400):
        world.append(batch([b"x" * 150], timestamp=timestamp))
    assert offset_for_timestamp(world.log, 150) == (300, 1, 0)
    assert offset_for_timestamp(world.log, 301) == (400, 4, 0)
