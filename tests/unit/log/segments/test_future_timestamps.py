"""A largest timestamp far ahead of the clock counts if a record has it."""

import time

import pytest

from kafka_py.log.partition.retention import delete_old_segments
from kafka_py.log.validation.header_trust import CLOCK_SLACK_MS
from kafka_py.records.batch import read_header
from kafka_py.records.builder import with_records
from kafka_py.records.compression import Codec, compress
from kafka_py.testing.fakes.stored_logs import LogWorld, batch

from ..sent_batches import MAX_TIMESTAMP, encoded, patched, stored_with


def test_a_future_timestamp_that_no_record_has_does_not_postpone_retention():
    world = LogWorld({"retention.ms": 1000})
    stored_with(world, patched(batch([b"x"] * 3, timestamp=world.clock.wall_ms()), (MAX_TIMESTAMP, 1 << 62)))
    world.log.roll(world.clock.wall_ms())
    world.log.update_high_watermark(3)
    assert delete_old_segments(world.log, world.clock.wall_ms()) == 0
    world.clock.advance(1001)
    assert delete_old_segments(world.log, world.clock.wall_ms()) == 1


def test_a_future_timestamp_that_a_record_has_postpones_retention_as_ever():
    world = LogWorld({"retention.ms": 1000})
    world.append(batch([b"x"] * 3, timestamp=world.clock.wall_ms() + 10 * CLOCK_SLACK_MS))
    world.log.roll(world.clock.wall_ms())
    world.log.update_high_watermark(3)
    world.clock.advance(2000)
    assert delete_old_segments(world.log, world.clock.wall_ms()) == 0


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
@pytest.mark.parametrize("is_base_future, kept", [(True, True), (False, False)])
def test_a_future_timestamp_of_a_very_large_batch_is_not_looked_for_record_by_record(codec, is_base_future, kept):
    """The records go on with timestamps of now; what stands at their end would take long to find."""
    count = 200_000
    world = LogWorld({"segment.bytes": 1 << 24, "retention.ms": 1000, "max.message.bytes": 1 << 23})
    now_ms = world.clock.wall_ms()
    base = now_ms + 10 * CLOCK_SLACK_MS if is_base_future else now_ms
    header = read_header(batch())._replace(record_count=count, last_offset_delta=count - 1, base_timestamp=base)
    body = b"".join(encoded(0, number) for number in range(count))
    stored_with(world, with_records(header, codec, compress(codec, body), now_ms + 20 * CLOCK_SLACK_MS))
    world.log.roll(now_ms)
    world.log.update_high_watermark(world.log.log_end_offset)
    world.clock.advance(2000)
    before = time.thread_time()
    deleted = delete_old_segments(world.log, world.clock.wall_ms())
    assert time.thread_time() - before < 0.05
    assert (deleted == 0) is kept
