"""The wall clock jumps: nothing is rolled or deleted that would not have been anyway, and nobody waits longer or less.

What a user asked for by time (retention) goes by the records' timestamps and the clock as it is; waits go by the
clock that never jumps.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kafka_py.base.clock import SystemClock
from kafka_py.base.ids import TopicPartition
from kafka_py.log.partition.retention import delete_old_segments
from kafka_py.testing.clock import START_MS
from kafka_py.testing.fakes.stored_logs import LogWorld, offset_for_timestamp
from kafka_py.testing.fakes.stored_logs import batch as stored_batch
from kafka_py.testing.local_broker import LocalBroker, batch, in_folder
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.wire.messages.fetch import FetchRequest

DAY_MS = 86_400_000
WEEK: dict[str, object] = {"retention.ms": 7 * DAY_MS, "segment.ms": 7 * DAY_MS}


@pytest.mark.parametrize("jump_ms", [-400 * DAY_MS, -DAY_MS, -1, DAY_MS, 6 * DAY_MS])
def test_a_jump_within_retention_rolls_and_deletes_nothing(jump_ms: int) -> None:
    world = LogWorld({**WEEK, "segment.bytes": 1000})
    for number in range(20):
        world.append(stored_batch([b"x" * 100], timestamp=START_MS + number))
    world.log.update_high_watermark(20)
    segments = world.names(".log")
    world.clock.jump_wall(jump_ms)
    assert delete_old_segments(world.log, world.clock.wall_ms()) == 0
    info = world.append(stored_batch([b"y"], timestamp=START_MS + 20))
    assert (info.first_offset, info.rolled) == (20, False)
    assert world.names(".log") == segments
    world.clock.jump_wall(-jump_ms)
    assert delete_old_segments(world.log, world.clock.wall_ms()) == 0
    assert len(world.read_all()) == 21


def test_append_times_that_go_back_leave_offsets_and_look_ups_in_order() -> None:
    world = LogWorld({**WEEK, "message.timestamp.type": "LogAppendTime", "segment.bytes": 1000})
    for jump_ms in (0, DAY_MS, -3 * DAY_MS, 2 * DAY_MS, -DAY_MS):
        world.clock.jump_wall(jump_ms)
        for _ in range(6):
            world.append(stored_batch([b"x" * 100]))
    assert [record.offset for record in world.read_all()] == list(range(30))
    found = offset_for_timestamp(world.log, START_MS + 1)
    assert found is not None and found.offset == 6
    world.crash()
    assert offset_for_timestamp(world.log, START_MS + 1) == found
    world.log.update_high_watermark(30)
    assert delete_old_segments(world.log, world.clock.wall_ms()) == 0


def test_producers_are_not_forgotten_when_the_clock_goes_back() -> None:
    world = LogWorld(WEEK)
    first: dict[str, Any] = {"producer_id": 4, "producer_epoch": 0, "base_sequence": 0, "timestamp": START_MS}
    world.append(stored_batch([b"a"], **first))
    world.clock.jump_wall(-DAY_MS)
    world.log.files.remove_expired_producers(world.clock.wall_ms())
    assert world.append(stored_batch([b"a"], **first)).duplicate


class JumpingClock(SystemClock):
    """The system's clock, its wall `ahead_ms`."""

    ahead_ms = 0

    def wall_ms(self) -> int:
        return super().wall_ms() + self.ahead_ms


def on_jumping_clock(
    scenario: Callable[[LocalBroker, JumpingClock], Coroutine[Any, Any, None]],
) -> Callable[[], None]:
    async def run(folder: str) -> None:
        clock = JumpingClock()
        settings = {"connections.max.idle.ms": "60000", "log.index.size.max.bytes": "4096"}
        broker = LocalBroker(folder, FakeZookeeper(), settings, clock=clock)
        await broker.start()
        try:
            await broker.create_topic("t")
            await scenario(broker, clock)
        finally:
            await broker.stop()

    return in_folder(run, scenario)


@on_jumping_clock
async def test_a_long_poll_and_a_connection_outlive_jumps(broker: LocalBroker, clock: JumpingClock) -> None:
    for ahead_ms in (DAY_MS, -DAY_MS, 0):
        waiting = await broker.connect()
        purgatory = broker.server.node.replicas.parked.fetch
        poll = waiting.send_nowait(long_poll(broker), 11)
        await broker.until(lambda purgatory=purgatory: purgatory.delayed > 0)
        clock.ahead_ms = ahead_ms
        assert broker.server._sockets is not None
        broker.server._sockets._idle._sweep()
        assert not poll.done()
        offset = (await broker.produce("t", batch(b"v"))).base_offset
        async with asyncio.timeout(20):
            answer = (await poll).responses[0].partition_responses[0]
        assert answer.high_watermark == offset + 1
        assert not waiting.closed
        waiting.close()


def long_poll(broker: LocalBroker) -> FetchRequest:
    log = broker.server.node.log_dirs.get(TopicPartition("t", 0))
    assert log is not None
    return broker.fetch_request({TopicPartition("t", 0): log.log_end_offset}, max_wait_ms=15_000, min_bytes=1)
