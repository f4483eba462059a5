"""Lookups by time on the event loop: what they find, and how long and with how much memory."""

import asyncio
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

from kafka_py.base.clock import SystemClock
from kafka_py.log.disk.background import InlineBackground, ThreadBackground
from kafka_py.log.model.answers import Origin
from kafka_py.log.partition.retention import delete_old_segments
from kafka_py.records.batch import TimestampType, read_header
from kafka_py.records.builder import BatchBuilder, with_records
from kafka_py.records.compression import Codec, compress
from kafka_py.records.varints import encode_varint
from kafka_py.replication.leader.time_lookups import find_by_time
from kafka_py.testing.fakes.stored_logs import LogWorld, batch, offset_for_timestamp

MANY = 60_000


def many_records() -> bytearray:
    """A few kilobytes that hold MANY records with timestamp 1000, and one with timestamp 2000 at the end."""
    out = []
    for number in range(MANY):
        body = b"\0" + encode_varint(1000 if number == MANY - 1 else 0) + encode_varint(number) + b"\1\1\0"
        out.append(encode_varint(len(body)) + body)
    header = read_header(batch(timestamp=1000))._replace(record_count=MANY, last_offset_delta=MANY - 1)
    return with_records(header, Codec.ZSTD, compress(Codec.ZSTD, b"".join(out)), 2000)


def stored(*batches: memoryview | bytearray) -> LogWorld:
    world = LogWorld({"segment.bytes": 1 << 24})
    for one in batches:
        world.append(memoryview(one), origin=Origin.COORDINATOR)
    return world


def test_the_first_record_that_is_not_older_is_found_wherever_it_is() -> None:
    world = stored(*[batch([b"x"] * 3, timestamp=1000 + 10 * number, timestamp_step=1) for number in range(300)])

    async def run() -> None:
        for timestamp in (0, 1000, 1001, 1003, 2500, 3992, 3993):
            found = await find_by_time(world.log, timestamp, InlineBackground(), SystemClock())
            assert found == offset_for_timestamp(world.log, timestamp)

    asyncio.run(run())


def test_a_batch_of_many_records_holds_neither_the_loop_nor_the_memory() -> None:
    world = stored(many_records(), batch([b"x"], timestamp=3000))

    async def run() -> tuple[object, float]:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1) as pool:
            background = ThreadBackground(pool, loop.call_soon_threadsafe)
            task = loop.create_task(find_by_time(world.log, 1500, background, SystemClock()))
            longest, before = 0.0, time.thread_time()
            while not task.done():
                await asyncio.sleep(0.001)
                longest, before = max(longest, time.thread_time() - before), time.thread_time()
            return task.result(), longest

    tracemalloc.start()
    try:
        found, longest = asyncio.run(run())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == (2000, MANY - 1, 0)
    assert longest < 0.005
    assert peak < 4 << 20


def test_a_record_of_very_many_headers_takes_neither_time_nor_memory() -> None:
    """Each of them would be an object if it were decoded."""
    body = b"\0\0\0\1\1" + encode_varint(500_000) + b"\0\1" * 500_000
    header = read_header(batch(timestamp=1000))
    one = with_records(header, Codec.NONE, encode_varint(len(body)) + body, 1000)
    world = stored(one)
    tracemalloc.start()
    try:
        before = time.thread_time()
        found = asyncio.run(find_by_time(world.log, 1000, InlineBackground(), SystemClock()))
        took = time.thread_time() - before
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == (1000, 0, 0)
    assert took < 0.1
    assert peak < 3 * len(one)


def test_append_time_is_that_of_the_first_record_which_compaction_has_left() -> None:
    builder = BatchBuilder(timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time_ms=1000)
    for offset in (3, 7):
        builder.append_at(offset, 5, b"k", None)
    world = LogWorld()
    world.log.append_as_follower(memoryview(bytearray(builder.build())), 0)
    found = offset_for_timestamp(world.log, 900)
    assert found is not None
    assert found[:2] == (1000, 3)


def test_segments_that_are_deleted_meanwhile_are_skipped() -> None:
    world = LogWorld({"segment.bytes": 2000, "retention.ms": -1})
    world.append_many(100, timestamp=1000)
    world.log.update_high_watermark(world.log.log_end_offset)
    search = world.log.lookups.search_by_time(1050)
    next(search)
    world.log.advance_log_start_offset(world.log.segments[4].base_offset)
    delete_old_segments(world.log, world.clock.wall_ms())
    found = None
    try:
        while True:
            look = search.send(found)
            found = None if look is None else look.run()
    except StopIteration as end:
        assert end.value == (1050, 50)
