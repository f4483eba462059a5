"""Real logs on a disk in memory: for tests of the log, and of what stands on it.

`LogWorld` is one machine: a disk, a clock and the log of one partition, which can be closed, crashed and opened again.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from kafka_py.base.ids import TopicPartition
from kafka_py.base.slices import FileSlice
from kafka_py.log.disk.background import Background, InlineBackground
from kafka_py.log.disk.context import LogContext
from kafka_py.log.disk.filenames import partition_directory
from kafka_py.log.disk.handles import OpenHandles
from kafka_py.log.loading.recovery import Checkpointed, open_log
from kafka_py.log.model.answers import AppendInfo, Origin, TimestampOffset
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.log.segments.time_index import TimeOffset
from kafka_py.records.batch import MAGIC, Record, TimestampType, iter_headers, iter_records
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec
from kafka_py.records.control import ControlType, end_txn_marker
from kafka_py.records.legacy_builder import LegacyBuilder, encode_entry
from kafka_py.records.legacy_records import read_records
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.fakes.files import FakeFiles, Loss

_PARTITION = TopicPartition("t", 0)

SMALL = {"segment.index.bytes": 1200, "index.interval.bytes": 200}
"""Index settings with which a few hundred bytes make an entry."""


def batch(
    values: Iterable[bytes | None] = (b"value",),
    *,
    key: bytes | None = None,
    timestamp: int = 1000,
    timestamp_step: int = 0,
    codec: Codec = Codec.NONE,
    base_offset: int = 0,
    leader_epoch: int = -1,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
) -> memoryview:
    """A writable batch, as it comes out of a request."""
    builder = BatchBuilder(
        codec,
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        transactional=transactional,
        timestamp_type=timestamp_type,
        log_append_time_ms=timestamp,
    )
    for number, value in enumerate(values):
        builder.append(timestamp + number * timestamp_step, key, value)
    return memoryview(bytearray(builder.build()))


def old_entry(
    magic: int, offset: int, key: bytes | None, value: bytes | None, *, attributes: int = 0, timestamp: int = 1000
) -> bytes:
    """One entry of format 0 or 1, as a broker before 0.11 stored it."""
    return encode_entry(magic, offset, timestamp, key, value, attributes)


def old_wrapper(
    magic: int, first_offset: int, codec: Codec, rows: Iterable[tuple[bytes | None, bytes | None, int]],
    *, append_time: int | None = None,
) -> bytes:  # fmt: skip
    """A compressed entry with these keys, values and timestamps, their offsets in a row from `first_offset` on.

    append_time: what the wrapper of a topic with LogAppendTime says.
    """
    builder = LegacyBuilder(
        magic, codec, base_offset=first_offset,
        timestamp_type=TimestampType.CREATE_TIME if append_time is None else TimestampType.LOG_APPEND_TIME,
        log_append_time_ms=append_time or 0,
    )  # fmt: skip
    for key, value, timestamp in rows:
        builder.append(timestamp, key, value)
    return builder.build()


def slice_bytes(piece: FileSlice | bytes | None) -> bytes:
    """What a slice holds, read through its descriptor as a socket would."""
    return piece.read() if isinstance(piece, FileSlice) else piece or b""


def records_of(data: bytes) -> list[Record]:
    """Every record of the whole batches in `data`, of whichever format."""
    found: list[Record] = []
    for position, header in iter_headers(data):
        if header.magic == MAGIC:
            found += iter_records(data, position)
        else:
            found += [Record(*record[:4]) for record in read_records(data, position)]
    return found


def offset_for_timestamp(log: PartitionLog, timestamp: int) -> TimestampOffset | None:
    """The first record whose timestamp is >= `timestamp`; None when there is none."""
    search = log.lookups.search_by_time(timestamp)
    answer: TimeOffset | None = None
    while True:
        try:
            look = search.send(answer)
        except StopIteration as found:
            return log.lookups.at_time(found.value)
        answer = None if look is None else look.run()


class HeldBackground:
    """Jobs wait until they are run."""

    def __init__(self) -> None:
        self.jobs: list[tuple[Any, Any, Any]] = []

    def run(self, work: Any, done: Any = None, failed: Any = None) -> None:
        self.jobs.append((work, done, failed))

    def finish_one(self) -> None:
        InlineBackground().run(*self.jobs.pop(0))

    def run_all(self) -> None:
        while self.jobs:
            self.finish_one()


class LogWorld:
    """One partition's log on its own disk. settings: topic settings, SMALL unless said otherwise."""

    def __init__(
        self,
        settings: dict[str, object] | None = None,
        *,
        files: FakeFiles | None = None,
        background: Background | None = None,
        topic_partition: TopicPartition = _PARTITION,
    ) -> None:
        self.clock = ManualClock()
        self.files = files or FakeFiles(now_ms=self.clock.wall_ms)
        self.topic_partition = topic_partition
        self.config = LogConfig.for_topic(None, {**SMALL, **(settings or {})})
        self.failures: list[OSError] = []
        self.handles = OpenHandles()
        self.context = LogContext(
            "/logs",
            self.files,
            self.clock,
            random.Random(1),
            handles=self.handles,
            background=InlineBackground() if background is None else background,
            later=self.clock.later,
            io_failed=lambda _path, error: self.failures.append(error),
        )
        self.directory = f"/logs/{partition_directory(topic_partition)}"
        self.files.make_directory(self.directory)
        self.log = self.open(is_clean=True)

    def open(self, *, is_clean: bool = False, checkpointed: Checkpointed | None = None) -> PartitionLog:
        """Reopens the log from disk; by default as after an unclean stop without any checkpoint."""
        self.log = open_log(
            self.topic_partition,
            self.directory,
            self.config,
            self.context,
            checkpointed=checkpointed or Checkpointed(),
            is_clean=is_clean,
        )
        return self.log

    def append(self, data: memoryview | None = None, *, epoch: int = 0, origin: Origin = Origin.CLIENT) -> AppendInfo:
        """Appends as a leader; one small record by default."""
        return self.log.append_as_leader(batch() if data is None else data, epoch, self.clock.wall_ms(), origin=origin)

    def append_many(self, count: int, size: int = 100, *, timestamp: int = 1000, step: int = 1) -> None:
        """Appends `count` batches of one record each."""
        for number in range(count):
            self.append(batch([b"x" * size], timestamp=timestamp + number * step))

    def mark(
        self, producer_id: int, epoch: int, control_type: ControlType, coordinator_epoch: int = 0, timestamp: int = 1000
    ) -> AppendInfo:
        """Appends the marker that ends a transaction."""
        marker = end_txn_marker(
            control_type,
            producer_id=producer_id,
            producer_epoch=epoch,
            coordinator_epoch=coordinator_epoch,
            timestamp=timestamp,
        )
        return self.append(memoryview(bytearray(marker)), origin=Origin.COORDINATOR)

    def checkpointed(self) -> Checkpointed:
        """What the checkpoints would say now."""
        log = self.log
        return Checkpointed(log.log_start_offset, log.recovery_point, log.high_watermark, log.compaction.cleaned_to)

    def crash(self, loss: Loss = Loss.UNSYNCED, rng: random.Random | None = None) -> PartitionLog:
        """The machine dies, comes back and opens the log with the checkpoints as they were."""
        checkpointed = self.checkpointed()
        self.files.crash(loss, rng)
        self.failures.clear()
        return self.open(checkpointed=checkpointed)

    def read_all(self, start: int | None = None, max_bytes: int = 1 << 30) -> list[Record]:
        """Every record up to the log end, read as a follower would."""
        log = self.log
        offset = log.log_start_offset if start is None else start
        found: list[Record] = []
        while offset < log.log_end_offset:
            data = log.read(offset, max_bytes, up_to_offset=log.log_end_offset, min_one_batch=True)
            records = records_of(slice_bytes(data.slice))
            if not records:
                break
            found += [record for record in records if record.offset >= offset]
            offset = records[-1].offset + 1
        return found

    def names(self, suffix: str = "") -> list[str]:
        """The log's files with that suffix."""
        return [entry.name for entry in self.files.list(self.directory) if entry.name.endswith(suffix)]

    def data(self, name: str) -> bytes:
        """The content of one of the log's files."""
        return self.files.read_bytes(f"{self.directory}/{name}")
