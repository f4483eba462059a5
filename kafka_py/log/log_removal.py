"""Deletion of a log: its directory is renamed at once, its files are removed in the background after a delay.

Source: docs/reference/log.md, section 1; LogManager.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.log.disk import filenames
from kafka_py.log.disk.context import LONGEST_DELAY_MS
from kafka_py.log.disk.files import remove_tree
from kafka_py.log.loading.log_dir import LogDir
from kafka_py.log.partition.partition_log import PartitionLog

_log = logging.getLogger(__name__)


class LogRemoval:
    """Deletes logs.

    new_uuid: for the unique new name of a directory. io_failed: takes a directory offline.
    """

    def __init__(
        self,
        dirs: Mapping[str, LogDir],
        new_uuid: Callable[[], uuid.UUID],
        io_failed: Callable[[str, Exception], None],
    ) -> None:
        self._dirs = dirs
        self._new_uuid = new_uuid
        self._io_failed = io_failed

    def retire(self, log: PartitionLog) -> None:
        """Renames the log's directory, closes its files and schedules its removal after file.delete.delay.ms.

        Raises KafkaError(KAFKA_STORAGE_ERROR); the log directory is offline then.
        """
        log_dir = self._dirs[log.log_dir]
        path = log_dir.file(filenames.delete_directory(log.topic_partition, self._new_uuid()))
        try:
            log.files.move(path)
        except OSError as error:
            self._io_failed(log_dir.path, error)
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"cannot delete {log.directory}: {error}") from error
        log.failures.disable("deleted")
        _log.debug("the log of %s is renamed to %s and will be removed", log.topic_partition, path)
        self.remove_later(log_dir, path, log.config.file_delete_delay_ms)

    def remove_later(self, log_dir: LogDir, path: str, delay_ms: int) -> None:
        """Removes a directory in the background after a delay."""
        context = log_dir.context
        context.later(
            min(delay_ms, LONGEST_DELAY_MS),
            lambda: context.background.run(lambda: remove_tree(context.files, path), None, log_dir.failed),
        )
