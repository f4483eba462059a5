"""Appends behind one whose records are worked on in a thread: order, errors, answers, and the loop's time."""

import asyncio
import random
import struct
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.log.disk.background import ThreadBackground
from kafka_py.log.model.answers import MOST_ERRORS
from kafka_py.log.validation.header_trust import HeaderTrust
from kafka_py.log.validation.record_work import LEAST_PLAIN_LIMIT
from kafka_py.records.batch import read_header
from kafka_py.records.builder import with_records
from kafka_py.records.compression import Codec, compress
from kafka_py.records.crc32c import crc32c
from kafka_py.records.varints import encode_varint
from kafka_py.replication.leader.append_lines import AT_ONCE
from kafka_py.replication.leader.delayed import AppendResult
from kafka_py.replication.state.isr import CommittedIsr
from kafka_py.replication.state.roles import DELETED
from kafka_py.testing.fakes.replicas import ReplicaWorld, role
from kafka_py.testing.fakes.stored_logs import HeldBackground, LogWorld, batch, slice_bytes

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
LARGE = 5000
"""Records of a batch that does not fit the event loop."""


class World:
    """A broker that leads some partitions, all with real logs in memory."""

    def __init__(self, background=None, count: int = 2, settings=None) -> None:
        self.background = HeldBackground() if background is None else background
        self.replicas = ReplicaWorld(self.background)
        self.answers: list[list[AppendResult]] = []
        self.logs = []
        for number in range(count):
            disk = LogWorld({"segment.bytes": 1 << 28, "max.message.bytes": 8 << 20, **(settings or {})})
            self.logs.append(disk.log)
            topic_partition = TopicPartition("t", number)
            self.replicas.known.add(topic_partition)
            partition = self.replicas.manager.hosted.new_partition(topic_partition)
            partition.become_leader(role(leader=1, isr=(1,)), disk.log, 0)
            self.replicas.manager.hosted.partitions[topic_partition] = partition

    def append(self, *parts, acks=1) -> None:
        self.replicas.manager.appends.append(
            [(topic_partition, memoryview(data)) for topic_partition, data in parts], acks, 1000, self.answers.append,
            trust=HeaderTrust("client", random.Random(1)),
        )  # fmt: skip

    @property
    def offsets(self) -> list[list[tuple[ErrorCode, int]]]:
        return [[(result.error, result.base_offset) for result in results] for results in self.answers]


def large(codec=Codec.NONE, **fields):
    return batch([b"x"] * LARGE, timestamp=0, codec=codec, **fields)


def test_what_comes_behind_a_large_batch_is_appended_behind_it() -> None:
    world = World()
    world.append((T0, large()))
    world.append((T0, batch([b"a"])))
    world.append((T0, large()))
    world.append((T0, batch([b"b"])))
    assert world.answers == []
    world.background.finish_one()
    none = ErrorCode.NONE
    assert world.offsets == [[(none, 0)], [(none, LARGE)]]
    world.background.finish_one()
    assert world.offsets[2:] == [[(none, LARGE + 1)], [(none, 2 * LARGE + 1)]]
    assert world.replicas.manager.appends._lines.lines == {}
    assert world.logs[0].log_end_offset == 2 * LARGE + 2


def test_a_producers_batches_keep_their_order_behind_a_large_one() -> None:
    world = World()
    world.append((T0, large(producer_id=7, producer_epoch=0, base_sequence=0)))
    for number in range(4):
        world.append((T0, batch([b"v"], producer_id=7, producer_epoch=0, base_sequence=LARGE + number)))
    world.background.finish_one()
    assert world.offsets == [[(ErrorCode.NONE, 0)], *([(ErrorCode.NONE, LARGE + number)] for number in range(4))]


def test_other_partitions_do_not_wait() -> None:
    world = World()
    world.append((T0, large()), (T1, batch([b"a"])))
    world.append((T1, batch([b"b"])))
    assert world.offsets == [[(ErrorCode.NONE, 1)]]
    world.background.finish_one()
    assert world.offsets[1] == [(ErrorCode.NONE, 0), (ErrorCode.NONE, 0)]


def test_a_refused_batch_lets_those_behind_it_pass() -> None:
    world = World(settings={"cleanup.policy": "compact"})
    world.append((T0, large()))
    world.append((T0, batch([b"a"], key=b"k")))
    world.background.finish_one()
    [[refused], [appended]] = world.answers
    assert refused.error is ErrorCode.INVALID_RECORD
    assert len(refused.record_errors) == MOST_ERRORS
    assert (appended.error, appended.base_offset) == (ErrorCode.NONE, 0)


def test_who_no_longer_leads_when_the_work_is_done_appends_nothing() -> None:
    world = World()
    world.append((T0, large()))
    world.replicas.manager.hosted.partitions[T0].leave(DELETED)
    world.background.finish_one()
    assert world.offsets == [[(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)]]
    assert world.logs[0].log_end_offset == 0


def test_replicas_that_fell_behind_while_a_batch_was_worked_on_are_too_few_for_it() -> None:
    world = World(settings={"min.insync.replicas": 2})
    partition = world.replicas.manager.hosted.partitions[T0]
    partition.isr = CommittedIsr(frozenset({1, 2}))
    world.append((T0, large()), acks=-1)
    partition.isr = CommittedIsr(frozenset({1}))
    world.background.finish_one()
    assert world.offsets == [[(ErrorCode.NOT_ENOUGH_REPLICAS, -1)]]
    assert world.logs[0].log_end_offset == 0


def test_a_batch_is_appended_in_the_leader_epoch_in_which_its_work_is_done() -> None:
    world = World()
    world.append((T0, large()))
    log = world.logs[0]
    world.replicas.manager.hosted.partitions[T0].become_leader(role(leader=1, epoch=4, isr=(1,)), log, 0)
    world.background.finish_one()
    assert world.offsets == [[(ErrorCode.NONE, 0)]]
    assert log.epochs.epoch_of(LARGE - 1) == log.epochs.latest == 4
    data = log.read(0, 1 << 20, up_to_offset=LARGE, min_one_batch=True)
    assert read_header(slice_bytes(data.slice)).partition_leader_epoch == 4


def test_an_unforeseen_error_is_answered_and_ends_no_line(monkeypatch) -> None:
    world = World()
    world.append((T0, large()))
    world.append((T0, batch([b"a"])))
    _, _, failed = world.background.jobs.pop(0)
    failed(MemoryError("no memory"))
    assert world.offsets == [[(ErrorCode.UNKNOWN_SERVER_ERROR, -1)], [(ErrorCode.NONE, 0)]]


def test_only_a_few_batches_are_worked_on_at_once() -> None:
    world = World(count=5)
    for number in range(5):
        world.append((TopicPartition("t", number), large()))
    assert len(world.background.jobs) == AT_ONCE
    for _ in range(5):
        world.background.finish_one()
    assert len(world.answers) == 5


def test_a_repeated_batch_behind_its_original_is_recognised() -> None:
    world = World()
    for _ in range(2):
        world.append((T0, large(producer_id=7, producer_epoch=0, base_sequence=0)))
    world.background.finish_one()
    world.background.finish_one()
    assert world.offsets == [[(ErrorCode.NONE, 0)], [(ErrorCode.NONE, 0)]]
    assert world.logs[0].log_end_offset == LARGE


def heavy_batch(codec: Codec, max_timestamp: int) -> bytearray:
    """A few kilobytes that hold some hundred thousand records."""
    count = 300_000
    header = read_header(batch(timestamp=0))._replace(record_count=count, last_offset_delta=count - 1)
    made = with_records(header, codec, compress(codec, _records(count)), max_timestamp)
    struct.pack_into(">I", made, 17, crc32c(memoryview(made)[21:]))
    return made


def _records(count: int) -> bytes:
    """Encoded records with key b"k", null value, timestamp delta 0 and rising offset deltas."""
    out = []
    for number in range(count):
        body = b"\0\0" + encode_varint(number) + b"\2k\1\0"
        out.append(encode_varint(len(body)) + body)
    return b"".join(out)


@pytest.mark.parametrize("settings", [{}, {"cleanup.policy": "compact"}, {"compression.type": "gzip"}])
def test_a_batch_of_many_records_does_not_hold_the_loop(settings) -> None:
    """The longest time in which the loop did nothing else, beside what a quiet loop shows on this machine."""
    data = heavy_batch(Codec.ZSTD, -1)
    assert len(data) < LEAST_PLAIN_LIMIT // 64

    async def run() -> float:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(2) as pool:
            world = World(ThreadBackground(pool, loop.call_soon_threadsafe), settings=settings)
            longest, before = 0.0, time.thread_time()
            world.append((T0, data))
            while not world.answers:
                longest, before = max(longest, time.thread_time() - before), time.thread_time()
                await asyncio.sleep(0.001)
            assert world.answers[0][0].error is ErrorCode.NONE
            return max(longest, time.thread_time() - before)

    assert asyncio.run(run()) < 0.005


# ---- what is counted of refusals


def refusals(data: bytes, settings=None) -> tuple[dict[str, float], dict[str, float]]:
    """What a refused append adds to the metrics of its topic, and of all topics."""
    world = World(settings=settings)
    world.append((T0, bytearray(data)))
    assert world.answers[0][0].error is not ErrorCode.NONE
    metrics = world.replicas.metrics
    return tuple(  # type: ignore[return-value]
        {name: getattr(table, name) for name in COUNTED if getattr(table, name)}
        for table in (metrics.topic("t"), metrics.all_topics)
    )


COUNTED = (
    "failed_produce_requests", "bytes_rejected", "no_key_records", "invalid_magic_records", "invalid_crc_records",
    "invalid_offset_records",
)  # fmt: skip


def changed(position: int, value: bytes, *, seal: bool = True) -> bytes:
    data = bytearray(batch([b"a", b"b"]))
    data[position : position + len(value)] = value
    if seal:
        struct.pack_into(">I", data, 17, crc32c(memoryview(data)[21:]))
    return bytes(data)


FAILED = {"failed_produce_requests": 1}


def test_a_batch_that_is_too_large_counts_its_bytes_for_the_topic_too() -> None:
    data = bytes(batch([b"x" * 1000]))
    expected = {**FAILED, "bytes_rejected": len(data)}
    assert refusals(data, {"max.message.bytes": 100}) == (expected, expected)


def test_each_missing_key_of_a_compacted_topic_counts() -> None:
    data = bytes(batch([b"a", b"b", b"c"]))
    assert refusals(data, {"cleanup.policy": "compact"}) == (FAILED, {**FAILED, "no_key_records": 3})


def test_a_wrong_checksum_counts() -> None:
    assert refusals(changed(40, b"\1", seal=False)) == (FAILED, {**FAILED, "invalid_crc_records": 1})


@pytest.mark.parametrize("position", [23, 57], ids=["last offset delta", "count"])
def test_offsets_and_counts_that_do_not_fit_together_count(position: int) -> None:
    assert refusals(changed(position, b"\0\0\0\5")) == (FAILED, {**FAILED, "invalid_offset_records": 1})


def test_a_missing_sequence_counts() -> None:
    data = bytes(batch(producer_id=5, producer_epoch=0, base_sequence=-1))
    assert refusals(data) == (FAILED, {**FAILED, "invalid_offset_records": 1})


def test_batches_of_two_formats_count() -> None:
    following = bytearray(batch())
    following[16] = 1
    assert refusals(bytes(batch()) + following) == (FAILED, {**FAILED, "invalid_magic_records": 1})
