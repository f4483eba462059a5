"""Results of a log: the values that its methods return, and the errors that carry more than a code.

Values only. Source: docs/reference/replication.md, sections 1 and 9; docs/reference/log.md, sections 6 and 10.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.slices import FileSlice
from kafka_py.records.batch import NO_TIMESTAMP


class Origin(Enum):
    """Who appends; the checks depend on it."""

    CLIENT = "client"
    """A produce request: everything is checked, duplicate batches are recognised."""
    COORDINATOR = "coordinator"
    """The group or transaction coordinator: epochs are checked, sequences are not; control batches are allowed."""


class AppendInfo(NamedTuple):
    """Result of an append.

    first_offset, last_offset: of the records, both inclusive; -1 when there was nothing to append. rolled: a new
        segment was created. log_append_time: the broker's timestamp of the records in ms; -1 when the producer's
        timestamps are kept. For a duplicate: its stored timestamp. duplicate: the batch is in the log already; the
        offsets are the stored ones and nothing was written. flush_due is set again if the flush of the first append has
        not ended.
    flush_due: flush.messages is reached and the flush was left to the caller (LogContext.flush_in_append false).
    """

    first_offset: int
    last_offset: int
    max_timestamp: int
    log_append_time: int
    log_start_offset: int
    record_count: int
    size_bytes: int
    duplicate: bool = False
    rolled: bool = False
    flush_due: bool = False

    @classmethod
    def nothing(cls, log_start_offset: int) -> AppendInfo:
        """The result when there was nothing to append."""
        return cls(-1, -1, NO_TIMESTAMP, NO_TIMESTAMP, log_start_offset, record_count=0, size_bytes=0)


class LogRead(NamedTuple):
    """A range of one segment that begins with the batch that holds the offset asked for; it may end inside a batch.

    slice: None when there is no data. segment_base, position: its start (that of the log end when there is no data).
        first_batch_incomplete: even the first batch exceeds the limit (only without min_one_batch).
    """

    slice: FileSlice | None
    size: int
    segment_base: int
    position: int
    first_batch_incomplete: bool = False


class TimestampOffset(NamedTuple):
    """Result of a search by timestamp: a record, and the leader epoch it was written in (-1 unknown)."""

    timestamp: int
    offset: int
    leader_epoch: int


MOST_ERRORS = 1000
"""How many rejected records of a batch are listed one by one in the response."""


class RecordError(NamedTuple):
    """One rejected record of a batch, by its index in the batch (0 based)."""

    batch_index: int
    message: str


class BatchFault(Enum):
    """Why records were rejected, as far as there are metrics of the reason."""

    CHECKSUM = "the checksum fails"
    MAGIC = "the record format is not the one of the batch before"
    OFFSETS = "offsets, counts or sequences do not fit together"
    NO_KEY = "a compacted topic needs a key"


class RejectedBatch(KafkaError):
    """A batch was rejected. fault: for the metrics; `faulty`: how many records have this fault."""

    record_errors: Sequence[RecordError] = ()

    def __init__(self, code: ErrorCode, detail: str, fault: BatchFault | None = None, faulty: int = 1) -> None:
        super().__init__(code, detail)
        self.fault = fault
        self.faulty = faulty


class RecordErrors(RejectedBatch):
    """A batch was rejected because of some of its records (KIP-467): INVALID_RECORD or INVALID_TIMESTAMP."""

    def __init__(self, code: ErrorCode, detail: str, record_errors: list[RecordError], *, no_key: int = 0) -> None:
        """no_key: how many of the errors are missing keys."""
        super().__init__(code, detail, BatchFault.NO_KEY if no_key else None, no_key)
        self.record_errors = record_errors


class NoDescriptorsLeft(KafkaError):
    """A call failed because the process has run out of file descriptors: no disk failure, the call may be retried."""


class UnexpectedAppendOffset(Exception):
    """Fetched records do not continue this log; the fetcher marks the partition failed, or restarts the log."""

    def __init__(self, detail: str, first_offset: int, last_offset: int) -> None:
        super().__init__(detail)
        self.first_offset = first_offset
        self.last_offset = last_offset
