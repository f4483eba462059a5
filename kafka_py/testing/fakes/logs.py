"""Logs in memory: what replication and the broker need of a partition's log, without files.

Batches are opaque: each append is one batch of `count` records given by its length, unless a real batch header says
otherwise. For unit tests above the log; the log's own behaviour is tested on the real one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicId, TopicPartition
from kafka_py.base.slices import FileSlice
from kafka_py.log.model.answers import AppendInfo, LogRead, Origin, TimestampOffset
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.state.epochs import LeaderEpochs
from kafka_py.log.validation.header_trust import HeaderTrust

FIRST = TopicPartition("t", 0)


class MemoryFile:
    """Bytes that can be sliced; it has no descriptor."""

    def __init__(self) -> None:
        self.data = bytearray()

    def fileno(self) -> int:
        raise OSError("a file in memory has no descriptor")


def slice_bytes(piece: FileSlice | bytes | None) -> bytes:
    """The bytes of a slice of a MemoryFile."""
    if not isinstance(piece, FileSlice):
        return piece or b""
    assert isinstance(piece.file, MemoryFile)
    return bytes(piece.file.data[piece.position : piece.position + piece.size])


class MemoryLog:
    """A partition's log; every append is one batch that holds one record for each of its bytes."""

    def __init__(
        self,
        topic_partition: TopicPartition = FIRST,
        config: LogConfig | None = None,
        directory: str = "/logs",
    ) -> None:
        self.topic_partition = topic_partition
        self.config = config or LogConfig.for_topic()
        self.log_dir = directory
        self.directory = f"{directory}/{topic_partition}"
        self.topic_id: TopicId | None = None
        self.log_start_offset = 0
        self.high_watermark = 0
        self.failure: KafkaError | OSError | None = None
        self.is_future = False
        self._file = MemoryFile()
        self._batches: list[tuple[int, int, int, int]] = []  # base offset, end offset, position, timestamp
        self.epochs = LeaderEpochs()
        self.stable_limit: int | None = None
        self.flushes: list[Callable[[bool], None]] = []
        self.held_end: int | None = None

    def reconfigure(self, config: LogConfig) -> None:
        self.config = config

    @property
    def log_end_offset(self) -> int:
        return self._batches[-1][1] if self._batches else self.log_start_offset

    @property
    def owes_flush(self) -> bool:
        return self.held_end is not None

    @property
    def last_stable_offset(self) -> int:
        return self.high_watermark if self.stable_limit is None else min(self.stable_limit, self.high_watermark)

    @property
    def size_bytes(self) -> int:
        return len(self._file.data)

    def flush_in_background(self, up_to: int | None = None, then: Callable[[bool], None] | None = None) -> None:
        """Kept in `flushes` until the test lets it succeed or fail."""

        def ended(succeeded: bool) -> None:
            if succeeded:
                self.held_end = None
            if then is not None:
                then(succeeded)

        self.flushes.append(ended)

    def append_as_leader(
        self, records: memoryview, leader_epoch: int, now_ms: int, *, origin: Origin = Origin.CLIENT
    ) -> AppendInfo:
        if self.failure is not None:
            raise self.failure
        self.assign_epoch(leader_epoch, self.log_end_offset)
        first, count = self.log_end_offset, len(records)
        self._batches.append((first, first + count, len(self._file.data), now_ms))
        self._file.data += records
        flush_due = self.log_end_offset >= self.config.flush_messages
        if flush_due and self.held_end is None:
            self.held_end = first
        return AppendInfo(
            first, first + count - 1, now_ms, -1, self.log_start_offset, count, count, flush_due=flush_due
        )

    def begin_append(
        self, records: memoryview, leader_epoch: int, now_ms: int, origin: Origin = Origin.CLIENT,
        trust: HeaderTrust | None = None,
    ) -> AppendInfo:  # fmt: skip
        return self.append_as_leader(records, leader_epoch, now_ms, origin=origin)

    def read(self, offset: int, max_bytes: int, *, up_to_offset: int, min_one_batch: bool = False) -> LogRead:
        if self.failure is not None:
            raise self.failure
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        found = [batch for batch in self._batches if batch[1] > offset and batch[1] <= up_to_offset]
        if not found:
            return LogRead(None, 0, 0, len(self._file.data))
        position = found[0][2]
        size = min(found[-1][2] + found[-1][1] - found[-1][0] - position, max(max_bytes, 0))
        first_size = found[0][1] - found[0][0]
        if size < first_size:
            if not min_one_batch:
                return LogRead(None, 0, 0, position, True)
            size = first_size
        return LogRead(FileSlice(self._file, position, size), size, 0, position)

    @property
    def lookups(self) -> MemoryLog:
        """What look-ups find: the log answers them itself."""
        return self

    def bytes_available(self, offset: int, up_to_offset: int) -> int:
        return sum(end - base for base, end, _, _ in self._batches if end > offset and end <= up_to_offset)

    def aborted_transactions(self, fetch_offset: int, data: LogRead) -> list[tuple[int, int]]:
        return []

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        for base, _, _, time in self._batches:
            if time >= timestamp:
                return TimestampOffset(time, base, self.epochs.epoch_of(base))
        return None

    def assign_epoch(self, epoch: int, offset: int) -> None:
        self.epochs.assign(epoch, offset)

    def update_high_watermark(self, high_watermark: int) -> int:
        self.high_watermark = min(max(high_watermark, self.log_start_offset), self.log_end_offset)
        return self.high_watermark

    def advance_log_start_offset(self, offset: int) -> bool:
        if offset > self.high_watermark:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        moved = offset > self.log_start_offset
        self.log_start_offset = max(offset, self.log_start_offset)
        return moved


class MemoryLogDirs:
    """The logs of a broker, all in one directory in memory."""

    def __init__(self, configs: Mapping[str, LogConfig] | None = None) -> None:
        self.logs: dict[TopicPartition, MemoryLog] = {}
        self.deleted: list[TopicPartition] = []
        self.failure: KafkaError | OSError | None = None
        self._configs = configs or {}

    def get(self, topic_partition: TopicPartition) -> MemoryLog | None:
        return self.logs.get(topic_partition)

    def get_or_create(
        self,
        topic_partition: TopicPartition,
        config: LogConfig | None = None,
        *,
        is_new: bool = False,
        topic_id: TopicId | None = None,
    ) -> MemoryLog:
        if self.failure is not None:
            raise self.failure
        log = self.logs.get(topic_partition)
        if log is None:
            log = self.logs[topic_partition] = MemoryLog(topic_partition, config)
        elif topic_id is not None and log.topic_id not in (None, topic_id):
            raise KafkaError(ErrorCode.INCONSISTENT_TOPIC_ID, f"{topic_partition} belongs to {log.topic_id}")
        log.topic_id = topic_id or log.topic_id
        return log

    def delete(self, topic_partition: TopicPartition) -> None:
        del self.logs[topic_partition]
        self.deleted.append(topic_partition)

    def all_logs(self) -> Iterator[MemoryLog]:
        yield from self.logs.values()

    def logs_of(self, topic: str) -> list[MemoryLog]:
        return [log for log in self.logs.values() if log.topic_partition.topic == topic]
