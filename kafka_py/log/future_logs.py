"""Future replicas, which are being moved to another log directory of the same broker (KIP-113).

Creates, drops and promotes their logs; replication/mover.py copies the records. Source: docs/reference/log.md, section
18.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Mapping

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.log.cleaner import Cleaner
from kafka_py.log.disk import filenames
from kafka_py.log.loading.log_dir import LogDir
from kafka_py.log.loading.offset_checkpoints import OffsetCheckpoints
from kafka_py.log.loading.placement import LogDirPlacement
from kafka_py.log.loading.recovery import open_log
from kafka_py.log.log_registry import LogRegistry
from kafka_py.log.log_removal import LogRemoval
from kafka_py.log.partition.partition_log import PartitionLog

_log = logging.getLogger(__name__)


class FutureLogs:
    """The future logs of a broker.

    new_uuid: for the unique directory name of a future log. io_failed: takes a directory offline.
    """

    def __init__(
        self,
        dirs: Mapping[str, LogDir],
        placement: LogDirPlacement,
        logs: LogRegistry,
        checkpoints: OffsetCheckpoints,
        cleaner: Cleaner,
        removal: LogRemoval,
        *,
        new_uuid: Callable[[], uuid.UUID],
        io_failed: Callable[[str, Exception], None],
    ) -> None:
        self._dirs = dirs
        self._placement = placement
        self._logs = logs
        self._checkpoints = checkpoints
        self._cleaner = cleaner
        self._removal = removal
        self._new_uuid = new_uuid
        self._io_failed = io_failed
        self._loaded: set[TopicPartition] = set()
        """Future logs that were loaded at start-up; see `resume`."""

    def note_loaded(self, futures: Iterable[PartitionLog]) -> None:
        """Notes the future logs that were loaded at start-up."""
        self._loaded.update(log.topic_partition for log in futures)

    def get(self, topic_partition: TopicPartition) -> PartitionLog | None:
        """The future log of a partition; None when it is not being moved."""
        return self._logs.future.get(topic_partition)

    def create(self, topic_partition: TopicPartition, directory: str) -> PartitionLog:
        """Creates an empty log in another directory, with the log start offset of the present one.

        The present log is not compacted until the future one is promoted or dropped, so that the copy is compacted as
        far as the present log is.
        Raises KafkaError(LOG_DIR_NOT_FOUND); KAFKA_STORAGE_ERROR also while any directory is offline, because it may
            hold a future replica of the partition already: with two of them the broker would not start.
        """
        if not self._placement.is_live(directory):
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log directory {directory} is offline")
        offline = [log_dir.path for log_dir in self._dirs.values() if not log_dir.is_online]
        if offline:
            raise KafkaError(
                ErrorCode.KAFKA_STORAGE_ERROR,
                f"an offline directory may hold a future replica of {topic_partition}: {', '.join(offline)}",
            )
        current, log_dir = self._logs.present[topic_partition], self._dirs[directory]
        path = log_dir.file(filenames.future_directory(topic_partition, self._new_uuid()))
        self._checkpoints.settle_before_creation(topic_partition)
        self._cleaner.abort(topic_partition)
        try:
            log_dir.context.files.make_directory(path)
            future = open_log(topic_partition, path, current.config, log_dir.context, is_clean=True)
        except OSError as error:
            self._io_failed(directory, error)
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"cannot create {path}: {error}") from error
        if current.log_start_offset:
            future.truncate_fully_and_start_at(current.log_start_offset)
        self._logs.add(future)
        self._loaded.discard(topic_partition)
        self._note_copied_from(current, future)
        return future

    def resume(self, topic_partition: TopicPartition) -> None:
        """Prepares a move begun before the last restart: restarts the copy if the present log was compacted since.

        While the copy was offline, the present log may have lost tombstones of keys that the copy still has. Raises
        KafkaError(KAFKA_STORAGE_ERROR).
        """
        current, future = self._logs.present.get(topic_partition), self._logs.future.get(topic_partition)
        if topic_partition not in self._loaded or current is None or future is None:
            return
        self._loaded.discard(topic_partition)
        if future.compaction.cleaned_to != current.compaction.cleaned_to:
            _log.info("%s: compacted since its copy to %s began, copying it again", topic_partition, future.log_dir)
            future.truncate_fully_and_start_at(current.log_start_offset)
            self._note_copied_from(current, future)

    def _note_copied_from(self, current: PartitionLog, future: PartitionLog) -> None:
        future.compaction.begin_copy_of(current.compaction)
        if current.compaction.cleaned_to:
            self._checkpoints.write(filenames.CLEANER_CHECKPOINT, only=future.log_dir)

    def drop(self, topic_partition: TopicPartition) -> None:
        """Cancels the move; no-op when there is none. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
        future = self._logs.future.get(topic_partition)
        if future is not None:
            self._removal.retire(future)  # if this fails, the log is among those of the failed directory
            self._logs.remove(future)
            self._checkpoints.removed(topic_partition)

    def promote(self, topic_partition: TopicPartition) -> PartitionLog:
        """Replaces the present log by the future one, which has caught up and `can_move`; returns it.

        A failure of the present log's directory after the future one was renamed does not undo the move.
        A process that dies between the two renames leaves a directory of the same name in both log directories; the
        next start fails, as in Apache Kafka 2.8.2, until the administrator removes one of the two identical
        directories.
        Raises KafkaError(KAFKA_STORAGE_ERROR) when the future log's directory fails; the present log stays in use.
        """
        current, future = self._logs.present[topic_partition], self._logs.future[topic_partition]
        log_dir = self._dirs[future.log_dir]
        future.update_high_watermark(current.high_watermark)
        try:
            future.files.move(log_dir.file(filenames.partition_directory(topic_partition)))
        except OSError as error:
            self._io_failed(future.log_dir, error)
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"cannot move {future.directory}: {error}") from error
        future.compaction.take_over_from(current.compaction)
        self._cleaner.forget(topic_partition)
        self._logs.promote(topic_partition)
        if current.topic_id is not None:
            future.topic_id_file.assign(current.topic_id)
        _log.info("%s: moved from %s to %s", topic_partition, current.log_dir, future.log_dir)
        try:
            self._removal.retire(current)
        except KafkaError as error:
            _log.error("%s: the log could not be deleted from its previous directory: %s", topic_partition, error)
            current.failures.disable("moved to another log directory")
        self._checkpoints.removed(topic_partition)
        return future
