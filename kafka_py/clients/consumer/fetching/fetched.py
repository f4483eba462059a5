"""The records of one partition in one fetch response, decoded batch by batch when poll() takes them.

Verifies checksums, and skips control records and, for read_committed consumers, records of aborted transactions.
A fetch may begin inside a batch: records below the fetch offset are skipped here.

Source: KIP-98 (aborted transactions); docs/reference/groups.md, section 13.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.fetching.records import ConsumerRecord
from kafka_py.clients.serialization import Deserialize
from kafka_py.records.batch import (
    BatchHeader,
    Buffer,
    CorruptBatch,
    decode_records,
    iter_headers,
    verify_crc,
)
from kafka_py.records.control import ControlType, read_control_type
from kafka_py.records.record import Record

_new = tuple.__new__


class Decoding:
    """How the records of one consumer are converted to ConsumerRecords."""

    __slots__ = ("check_crcs", "key", "reads_committed", "value")

    def __init__(
        self,
        key: Deserialize | None = None,
        value: Deserialize | None = None,
        *,
        check_crcs: bool = True,
        reads_committed: bool = False,
    ) -> None:
        self.key = key
        self.value = value
        self.check_crcs = check_crcs
        self.reads_committed = reads_committed


class CompletedFetch:
    """The remaining records of one partition's fetch response.

    next_offset: that of the next record to return (inclusive); after the last one the position to continue from.
    end_offset: past all batches (exclusive), where the next fetch of the partition begins. end_epoch: the leader epoch
    of the last batch, -1 when there is none.
    aborted: (producer id, first offset) pairs.
    """

    def __init__(
        self,
        topic_partition: TopicPartition,
        generation: int,
        fetch_offset: int,
        records: Buffer,
        aborted: Iterable[tuple[int, int]],
        decoding: Decoding,
    ) -> None:
        self.topic_partition = topic_partition
        self.generation = generation
        self.next_offset = fetch_offset
        self.leader_epoch = -1
        self.exhausted = False
        self._buffer = records
        self._decoding = decoding
        self._aborted = deque(sorted(aborted, key=lambda each: each[1]))
        self._aborting: set[int] = set()
        self._batches: deque[tuple[int, BatchHeader]] = deque()
        self._broken: CorruptBatch | None = None
        try:
            self._batches.extend(iter_headers(records))
        except CorruptBatch as error:
            self._broken = error
        last = self._batches[-1][1] if self._batches else None
        self.end_offset = fetch_offset if last is None else max(fetch_offset, _end_of(last))
        self.end_epoch = -1 if last is None else last.partition_leader_epoch
        self._ready: list[Record] = []
        self._ready_from = 0
        self._ready_header: BatchHeader | None = None
        self._counted = False

    @property
    def size_bytes(self) -> int:
        """The size of all batches as received, in bytes."""
        return len(self._buffer)

    @property
    def record_count(self) -> int:
        """The number of records in batches that are not decoded yet."""
        return sum(header.record_count for _, header in self._batches)

    def take_size(self) -> int:
        """The size of the batches in bytes at the first call, 0 at later ones, so that it is counted once."""
        counted, self._counted = self._counted, True
        return 0 if counted else self.size_bytes

    @property
    def is_empty(self) -> bool:
        """Whether there is no batch, not even a corrupt one."""
        return not self._batches and self._broken is None

    def take(self, limit: int) -> list[ConsumerRecord]:
        """The next records, `limit` at most; none once exhausted.

        Raises KafkaError(CORRUPT_MESSAGE) at a corrupt batch and INVALID_RECORD at a record that cannot be
        deserialized, after the records before it were returned, and at every later call: the position stays there.
        """
        taken: list[ConsumerRecord] = []
        while limit > len(taken):
            if self._ready_from == len(self._ready):
                try:
                    if not self._decode_next():
                        break
                except KafkaError:
                    if taken:
                        break
                    raise
                continue
            some = self._ready[self._ready_from : self._ready_from + limit - len(taken)]
            if self._add(some, taken):
                break
        return taken

    def _add(self, some: list[Record], taken: list[ConsumerRecord]) -> bool:
        """Converts records and adds them to `taken`; True if one fails after others, which are to be returned first."""
        before = len(taken)
        header = self._ready_header
        assert header is not None
        stopped = False
        if self._decoding.key is None and self._decoding.value is None:
            taken += _plain(self.topic_partition, header, some)
        else:
            try:
                for record in some:
                    taken.append(self._converted(record, header))
            except KafkaError:
                if not taken:
                    raise
                stopped = True
        self._ready_from += len(taken) - before
        if len(taken) > before:
            self.next_offset = taken[-1].offset + 1
            if self._ready_from == len(self._ready):
                self.next_offset = max(self.next_offset, _end_of(header))
        return stopped

    def _decode_next(self) -> bool:
        """Decodes the next batch; False at the end."""
        if not self._batches:
            if self._broken is not None:
                raise self._corrupt(self._broken)
            self.exhausted = True
            return False
        position, header = self._batches[0]
        try:
            if self._decoding.check_crcs:
                verify_crc(self._buffer, position, header)
            records = self._records_of(position, header)
        except CorruptBatch as error:
            raise self._corrupt(error) from error
        self._batches.popleft()
        self._ready, self._ready_from, self._ready_header = records, 0, header
        self.leader_epoch = header.partition_leader_epoch
        if not records:
            self.next_offset = max(self.next_offset, _end_of(header))
        return True

    def _corrupt(self, error: CorruptBatch) -> KafkaError:
        return KafkaError(
            ErrorCode.CORRUPT_MESSAGE,
            f"Record batch for partition {self.topic_partition} at offset {self.next_offset} is invalid, "
            f"cause: {error}",
        )

    def _records_of(self, position: int, header: BatchHeader) -> list[Record]:
        if self._decoding.reads_committed and header.has_producer_id and self._is_aborted(position, header):
            return []
        if header.is_control:
            return []
        records = decode_records(self._buffer, position, header=header)
        wanted = self.next_offset
        if header.base_offset < wanted:
            records = [record for record in records if record.offset >= wanted]
        return records

    def _is_aborted(self, position: int, header: BatchHeader) -> bool:
        """Whether an aborted transaction wrote the batch; tracks the producers with aborted transactions."""
        while self._aborted and self._aborted[0][1] <= header.last_offset:
            self._aborting.add(self._aborted.popleft()[0])
        if header.is_control:
            marker = next(iter(decode_records(self._buffer, position, header=header)), None)
            if marker is not None and read_control_type(marker) is ControlType.ABORT:
                self._aborting.discard(header.producer_id)
            return False
        return header.is_transactional and header.producer_id in self._aborting

    def _converted(self, record: Record, header: BatchHeader) -> ConsumerRecord:
        topic, partition = self.topic_partition
        key, value = record.key, record.value
        try:
            converted_key = key if self._decoding.key is None else self._decoding.key(topic, key)
            converted_value = value if self._decoding.value is None else self._decoding.value(topic, value)
        except Exception as error:
            raise KafkaError(
                ErrorCode.INVALID_RECORD,
                f"the record at offset {record.offset} of {self.topic_partition} cannot be deserialized: {error}. "
                f"A seek to offset {record.offset + 1} skips it.",
            ) from error
        return ConsumerRecord(
            topic,
            partition,
            record.offset,
            record.timestamp,
            header.timestamp_type,
            -1 if key is None else len(key),
            -1 if value is None else len(value),
            converted_key,
            converted_value,
            record.headers,
            header.partition_leader_epoch,
        )


def _plain(topic_partition: TopicPartition, header: BatchHeader, records: list[Record]) -> list[ConsumerRecord]:
    """The fast conversion of records whose keys and values remain bytes."""
    topic, partition = topic_partition
    kind = header.timestamp_type
    epoch = header.partition_leader_epoch
    return [
        _new(
            ConsumerRecord,
            (
                topic, partition, offset, timestamp, kind, -1 if key is None else len(key),
                -1 if value is None else len(value), key, value, headers, epoch,
            ),
        )
        for offset, timestamp, key, value, headers in records
    ]  # fmt: skip


def _end_of(header: BatchHeader) -> int:
    """The end offset (exclusive) of a batch, or of a message of the old formats, which have one offset each."""
    return header.base_offset + header.last_offset_delta + 1
