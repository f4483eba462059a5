"""Whether one log can be used, and how errors of its files and its data are handled.

Source: LogDirFailureChannel; docs/reference/log.md, section 17.
"""

from __future__ import annotations

import contextlib
import errno
import logging
from typing import NoReturn

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.log.disk.context import LogContext
from kafka_py.log.model.answers import NoDescriptorsLeft
from kafka_py.log.segments.log_segments import LogSegments
from kafka_py.records.batch import CorruptBatch

_log = logging.getLogger(__name__)

_CLOSED = "closed"


class LogFailures:
    """The failure state of one log. reason: why every call is rejected; "" while the log can be used."""

    __slots__ = ("_context", "_segments", "_topic_partition", "reason")

    def __init__(self, topic_partition: TopicPartition, context: LogContext, segments: LogSegments) -> None:
        self._topic_partition = topic_partition
        self._context = context
        self._segments = segments
        self.reason = ""

    def disable(self, reason: str = _CLOSED) -> None:
        """Closes all files without writing anything; every later call is rejected with `reason`."""
        self.reason = reason
        for segment in self._segments.segments:
            segment.release_files()

    @property
    def is_closed(self) -> bool:
        """Whether the log was closed, with everything written."""
        return self.reason == _CLOSED

    def refuse(self) -> NoReturn:
        """Raises KafkaError(KAFKA_STORAGE_ERROR) with `reason`."""
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log of {self._topic_partition} is {self.reason}")

    def corrupt(self, corrupt: CorruptBatch) -> KafkaError:
        """Converts a batch that cannot be read to KafkaError(CORRUPT_MESSAGE)."""
        return KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{self._topic_partition}: {corrupt}")

    def disk_refused(self, error: OSError) -> NoReturn:
        """Raises for calls that may be retried: NoDescriptorsLeft is no disk failure, all other errors are."""
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise NoDescriptorsLeft(ErrorCode.KAFKA_STORAGE_ERROR, f"{self._topic_partition}: {error}") from error
        self.io_failed(error)

    def io_failed(self, error: OSError) -> NoReturn:
        """Takes the log directory and this log offline, and raises KafkaError(KAFKA_STORAGE_ERROR)."""
        if not self.reason:
            self.disable(f"offline: {error}")
            self._context.io_failed(self._context.log_dir, error)
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self._topic_partition}: {error}") from error

    def in_background(self, error: Exception) -> None:
        """Handles an error of background work."""
        if self.reason:  # deleted or closed meanwhile: its files may be missing
            return
        if isinstance(error, OSError):
            with contextlib.suppress(KafkaError):
                self.disk_refused(error)
        else:
            _log.error("%s: background work failed", self._topic_partition, exc_info=error)
