"""Partitions that come, are read, and go; with a state that only notes what happens to it."""

from __future__ import annotations

import asyncio
import errno
import tracemalloc
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.loading import RECORDS_AT_ONCE
from kafka_py.coordinator.runtime import Appended, CoordinatorRuntime, RuntimeServices
from kafka_py.log.model.answers import Origin
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.log.validation.record_work import LEAST_PLAIN_LIMIT
from kafka_py.records.batch import BatchHeader, Record, read_header
from kafka_py.records.builder import with_records
from kafka_py.records.compression import Codec, compress
from kafka_py.records.control import ControlType
from kafka_py.records.varints import encode_varint
from kafka_py.testing.fakes.stored_logs import LogWorld, batch
from kafka_py.testing.virtual_time import run_virtual, virtual_clock


class Notes:
    """A state that writes down what it hears."""

    def __init__(self) -> None:
        self.seen: list[object] = []
        self.fails_at = ""
        self.refusal: KafkaError | None = None
        self.is_finished = False

    def replay(self, partition: int) -> Notes:
        return self

    def records(self, header: BatchHeader, records: list[Record]) -> None:
        self.seen += [record.value for record in records]

    def marker(self, header: BatchHeader, *, committed: bool) -> None:
        self.seen.append(f"{header.producer_id} {'committed' if committed else 'aborted'}")

    def damaged(self, offset: int, reason: Exception) -> None:
        self.seen.append(f"damage at {offset}")

    def finish(self) -> Iterator[object]:
        self.is_finished = True
        yield 1
        if self.refusal is not None:
            raise self.refusal
        if self.fails_at == "finish":
            raise RuntimeError("out of order")
        self.seen.append("in place")
        yield 2

    def unload(self, partition: int) -> Iterator[object]:
        self.seen.append(f"forgot {partition}")
        yield 1
        self.seen.append("told")


class World:
    def __init__(self) -> None:
        self.disk = LogWorld()
        self.state = Notes()
        self.tasks: list[Coroutine[Any, Any, None]] = []
        self.hosted = True
        self.before_read: Callable[[], None] = lambda: None
        around = RuntimeServices(
            append=self._append,
            log_of=self._log_of,
            in_thread=self._in_thread,
            spawn=self.tasks.append,
            clock=self.disk.clock,
        )
        self.runtime = CoordinatorRuntime("topic", 10, self.state, around, buffer_bytes=1000)

    def _append(self, partition: int, data: bytes, acks: int, timeout_ms: int, on_done: Appended) -> None:
        on_done(ErrorCode.NONE, 7)

    def _log_of(self, partition: int) -> PartitionLog | None:
        return self.disk.log if self.hosted else None

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        self.before_read()
        return work()

    def run(self) -> None:
        while self.tasks:
            asyncio.run(self.tasks.pop(0))

    def refusal(self, partition: int = 3) -> ErrorCode | None:
        try:
            self.runtime.check(partition)
        except KafkaError as error:
            return error.code
        return None


@pytest.fixture
def world() -> World:
    return World()


def test_records_and_markers_come_in_the_order_of_the_log(world: World) -> None:
    world.disk.append(batch([b"1", b"2"]))
    world.disk.append(batch([b"3"], producer_id=5, producer_epoch=0, base_sequence=0, transactional=True))
    world.disk.mark(5, 0, ControlType.COMMIT)
    world.disk.append(batch([b"4"], producer_id=6, producer_epoch=0, base_sequence=0, transactional=True))
    world.disk.mark(6, 0, ControlType.ABORT)
    world.disk.log.roll(0)
    world.disk.append_many(50)
    world.runtime.elected(3, 0)
    world.run()
    assert world.state.seen[:6] == [b"1", b"2", b"3", "5 committed", b"4", "6 aborted"]
    assert len(world.state.seen) == 6 + 50 + 1
    assert world.refusal() is None


def test_reading_begins_at_the_log_start(world: World) -> None:
    world.disk.append(batch([b"1", b"2"]))
    world.disk.append(batch([b"3"]))
    world.disk.log.update_high_watermark(3)
    world.disk.log.advance_log_start_offset(2)
    world.runtime.elected(3, 0)
    world.run()
    assert world.state.seen == [b"3", "in place"]


def test_partitions_are_read_one_after_the_other(world: World) -> None:
    for partition in (1, 2, 3):
        world.runtime.elected(partition, 0)
    assert len(world.tasks) == 1
    assert world.runtime.is_loading
    world.run()
    assert world.runtime.owned == {1, 2, 3}


def test_a_partition_lost_while_its_file_is_read_is_dropped(world: World) -> None:
    world.disk.append(batch([b"1"]))
    world.before_read = lambda: world.runtime.resigned(3, 1)
    world.runtime.elected(3, 0)
    world.run()
    assert world.refusal() is ErrorCode.NOT_COORDINATOR
    assert "in place" not in world.state.seen
    assert not world.state.is_finished, "part of the records is no state, not for one step"


def test_a_partition_that_is_not_here_is_not_taken(world: World) -> None:
    world.hosted = False
    world.runtime.elected(3, 0)
    world.run()
    assert world.refusal() is ErrorCode.NOT_COORDINATOR
    assert not world.runtime.is_loading


def test_a_load_that_fails_leaves_nothing_and_is_tried_again(world: World) -> None:
    async def main() -> None:
        world.runtime.elected(3, 0)
        world.state.fails_at = "finish"
        for pause_s in (1, 2, 4):
            await world.tasks.pop(0)
            assert world.refusal() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            assert world.state.seen == ["forgot 3", "told"]
            world.state.seen.clear()
            began_ms = virtual_clock().monotonic_ms()
            await world.tasks.pop(0)
            assert virtual_clock().monotonic_ms() - began_ms == pytest.approx(pause_s * 1000)
        world.state.fails_at = ""
        await world.tasks.pop(0)
        assert world.refusal() is None
        assert not world.tasks

    run_virtual(main())


def test_a_partition_that_may_not_be_served_says_so_until_it_may(world: World) -> None:
    async def main() -> None:
        world.runtime.elected(3, 0)
        world.state.refusal = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "offset 17")
        assert world.refusal() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        await world.tasks.pop(0)
        with pytest.raises(KafkaError, match="topic-3 is not served: offset 17") as refused:
            world.runtime.check(3)
        assert refused.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert not world.runtime.is_loading, "a list of the other partitions has all that will be there"
        world.state.refusal = None
        for _ in range(2):
            await world.tasks.pop(0)
        assert world.refusal() is None

    run_virtual(main())


def test_a_load_without_a_free_descriptor_is_tried_again(world: World) -> None:
    async def main() -> None:
        world.disk.append(batch([b"1"]))
        world.disk.log.roll(0)
        for _ in range(2):
            world.disk.handles.close_idle()
        world.disk.files.fail("open", errno.EMFILE)
        world.runtime.elected(3, 0)
        await world.tasks.pop(0)
        assert world.refusal() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        for _ in range(2):
            await world.tasks.pop(0)
        assert world.refusal() is None
        assert world.state.seen == ["forgot 3", "told", b"1", "in place"]

    run_virtual(main())


@pytest.mark.parametrize("has_failed", [True, False], ids=["the disk has failed", "the partition has gone meanwhile"])
def test_a_load_is_not_tried_again_when(has_failed: bool, world: World) -> None:
    async def main() -> None:
        world.runtime.elected(3, 0)
        world.state.fails_at = "finish"
        if has_failed:
            world.disk.log.failures.disable("offline")
        await world.tasks.pop(0)
        if not has_failed:
            world.runtime.resigned(3, 1)
            while world.tasks:
                await world.tasks.pop(0)
        assert world.refusal() is ErrorCode.NOT_COORDINATOR
        assert not world.tasks and not world.runtime.is_loading

    run_virtual(main())


def test_a_resignation_is_told_step_by_step_but_counts_at_once(world: World) -> None:
    world.runtime.elected(3, 0)
    world.run()
    world.runtime.resigned(3, 1)
    assert world.refusal() is ErrorCode.NOT_COORDINATOR
    assert world.state.seen[-1] == "forgot 3"
    world.run()
    assert world.state.seen[-1] == "told"
    world.runtime.resigned(3, 2)
    assert world.state.seen[-1] == "told", "there is nothing more to forget"


def test_appends_go_to_partitions_that_are_ours(world: World) -> None:
    heard: list[tuple[ErrorCode, int]] = []
    world.runtime.append(3, b"", -1, 100, lambda code, offset: heard.append((code, offset)))
    world.runtime.elected(3, 0)
    world.run()
    world.runtime.append(3, b"", -1, 100, lambda code, offset: heard.append((code, offset)))
    assert heard == [(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1), (ErrorCode.NONE, 7)]


def test_the_name_of_a_group_decides_its_partition(world: World) -> None:
    assert world.runtime.partition_for("my-group") == 1906497762 % 10
    assert TopicPartition(world.runtime.topic, 2) == ("topic", 2)


def test_a_batch_of_very_many_records_is_taken_in_piece_by_piece() -> None:
    """Records of some kilobytes, compressed, must not become a list of a gigabyte."""
    world = World()
    count = 60_000
    out = []
    for number in range(count):
        body = b"\0\0" + encode_varint(number) + b"\2k\1\0"
        out.append(encode_varint(len(body)) + body)
    header = read_header(batch(timestamp=1000))._replace(record_count=count, last_offset_delta=count - 1)
    data = with_records(header, Codec.ZSTD, compress(Codec.ZSTD, b"".join(out)), 1000)
    world.disk.append(memoryview(data), origin=Origin.COORDINATOR)
    pieces: list[int] = []
    world.state.records = lambda _header, records: pieces.append(len(records))  # type: ignore[assignment]
    tracemalloc.start()
    try:
        world.runtime.elected(0, 1)
        world.run()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sum(pieces) == count
    assert max(pieces) <= RECORDS_AT_ONCE
    assert peak < 4 << 20


def test_a_batch_that_holds_more_than_it_may_is_left_out_and_named(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    header = read_header(batch(timestamp=1000))._replace(record_count=9, last_offset_delta=8)
    bomb = with_records(header, Codec.ZSTD, compress(Codec.ZSTD, bytes(LEAST_PLAIN_LIMIT + 1)), 1000)
    world.disk.append(memoryview(bomb), origin=Origin.COORDINATOR)
    world.disk.append(batch([b"after"]))
    world.runtime.elected(0, 1)
    world.run()
    assert world.state.seen == ["damage at 0", b"after", "in place"]
    assert any("the batch at offset 0 is left out" in message for message in caplog.messages)
