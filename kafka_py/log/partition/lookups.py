"""Queries of a log besides reads: available bytes, search by time, aborted transactions.

Source: docs/reference/log.md, sections 4 and 5; docs/reference/replication.md, section 9.
"""

from __future__ import annotations

import logging
from typing import Protocol

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.log.model.answers import LogRead, TimestampOffset
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition.failures import LogFailures
from kafka_py.log.segments.log_segments import LogSegments
from kafka_py.log.segments.time_index import TimeOffset
from kafka_py.log.segments.time_search import Search
from kafka_py.log.segments.txn_index import CorruptTxnIndex
from kafka_py.log.state.epochs import LeaderEpochs
from kafka_py.log.validation.record_work import plain_limit
from kafka_py.records.batch import CorruptBatch

_log = logging.getLogger(__name__)


class SearchedLog(Protocol):
    """The interface of a log that look-ups use."""

    topic_partition: TopicPartition
    config: LogConfig
    epochs: LeaderEpochs
    log_start_offset: int
    log_end_offset: int


class LogLookups:
    """The look-ups of one log."""

    __slots__ = ("_failures", "_log", "_segments")

    def __init__(self, log: SearchedLog, segments: LogSegments, failures: LogFailures) -> None:
        self._log = log
        self._segments = segments
        self._failures = failures

    def bytes_available(self, offset: int, up_to_offset: int) -> int:
        """Bytes from the batch that holds `offset` up to `up_to_offset` (exclusive); 0 outside of the log.

        Raises KafkaError(KAFKA_STORAGE_ERROR, CORRUPT_MESSAGE).
        """
        log = self._log
        log_end_offset = log.log_end_offset
        if up_to_offset > log_end_offset:
            up_to_offset = log_end_offset
        if not log.log_start_offset <= offset < up_to_offset:
            return 0
        try:
            return self._segments.bytes_between(offset, up_to_offset, log_end_offset)
        except OSError as error:
            self._failures.disk_refused(error)
        except CorruptBatch as corrupt:
            raise self._failures.corrupt(corrupt) from corrupt

    def search_by_time(self, timestamp: int) -> Search:
        """Finds the first record whose timestamp is >= `timestamp` (ms), in steps for the event loop (time_search.py).

        `at_time` converts its result. Raises KafkaError(KAFKA_STORAGE_ERROR, CORRUPT_MESSAGE); for a topic in message
        format 0, which has no timestamps, UNSUPPORTED_FOR_MESSAGE_FORMAT.
        """
        log = self._log
        if not log.config.magic:
            version = log.config.message_format_version
            fault = f"{log.topic_partition} has no timestamps, for its message.format.version is {version}"
            raise KafkaError(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, fault)
        limit = plain_limit(log.config.max_message_bytes)
        try:
            return (
                yield from self._segments.search_by_time(log.topic_partition, timestamp, log.log_start_offset, limit)
            )
        except OSError as error:
            self._failures.disk_refused(error)
        except CorruptBatch as corrupt:
            raise self._failures.corrupt(corrupt) from corrupt

    def at_time(self, found: TimeOffset | None) -> TimestampOffset | None:
        """The result of a search, with the leader epoch that the record was written in."""
        return None if found is None else TimestampOffset(*found, self._log.epochs.epoch_of(found.offset))

    def aborted_transactions(self, fetch_offset: int, data: LogRead) -> list[tuple[int, int]]:
        """(producer id, first offset) of the aborted transactions that may have records in the data that was read.

        Raises KafkaError(KAFKA_STORAGE_ERROR); UNKNOWN_SERVER_ERROR for a malformed transaction index, as Apache Kafka.
        """
        try:
            return self._segments.aborted_transactions(fetch_offset, data, self._log.log_end_offset)
        except OSError as error:
            self._failures.disk_refused(error)
        except CorruptTxnIndex as corrupt:
            what = self._log.topic_partition
            _log.error("%s: %s", what, corrupt)
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{what}: {corrupt}") from corrupt
