"""The topic id of a log's directory, with its file `partition.metadata` (KIP-516)."""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ZERO_UUID, TopicId
from kafka_py.log.disk import filenames
from kafka_py.log.disk.background_file import BackgroundFile
from kafka_py.log.disk.context import LogContext
from kafka_py.log.disk.directory import PartitionDirectory
from kafka_py.log.partition.failures import LogFailures
from kafka_py.log.state.partition_metadata import format_topic_id


class TopicIdFile:
    """topic_id: None while the directory has none. is_unsaved: the file must be written before an append."""

    __slots__ = ("_context", "_failures", "_file", "_place", "is_unsaved", "topic_id")

    def __init__(
        self, place: PartitionDirectory, context: LogContext, failures: LogFailures, topic_id: TopicId | None
    ) -> None:
        self._place = place
        self._context = context
        self._failures = failures
        self._file: BackgroundFile | None = None
        self.topic_id = topic_id
        self.is_unsaved = False

    def assign(self, topic_id: TopicId) -> None:
        """Assigns the topic id; written to disk in the background, but always before the next append.

        Raises KafkaError(INCONSISTENT_TOPIC_ID) when the directory has another one.
        """
        if topic_id == ZERO_UUID or topic_id == self.topic_id:
            return
        place = self._place
        if self.topic_id is not None:
            fault = f"{place.path} has topic id {self.topic_id}, not {topic_id}"
            raise KafkaError(ErrorCode.INCONSISTENT_TOPIC_ID, fault)
        self.topic_id = topic_id
        self._file = BackgroundFile(
            lambda data: place.replace(filenames.PARTITION_METADATA, data), self._context.background,
            self._failures.in_background,
        )  # fmt: skip
        self.is_unsaved = True
        self._file.save(format_topic_id(topic_id))

    def save(self) -> None:
        """Returns when partition.metadata is on disk, so that no record is stored without the id of its topic.

        Raises KafkaError(KAFKA_STORAGE_ERROR).
        """
        if self._file is not None and not self._file.is_saved:
            try:
                self._file.save_now()
            except OSError as error:
                self._failures.disk_refused(error)
        self._file = None
        self.is_unsaved = False
