"""The stored side of a partition's log: its segments and offsets; roll, flush, truncate, delete, move, close.

Belongs to the event loop; whatever blocks is a job for the background (flushing.py). Appending and reading are on top
of this (partition_log.py), opening from disk is recovery.py. Knows nothing of leaders, replicas or requests.
Source: docs/reference/log.md, sections 3, 10 to 12 and 14; docs/reference/replication.md, section 2.
"""

from __future__ import annotations

import contextlib
import errno
import logging
from collections.abc import Callable, Sequence
from typing import NoReturn

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ZERO_UUID, TopicId, TopicPartition
from kafka_py.log.disk import filenames
from kafka_py.log.disk.background_file import BackgroundFile
from kafka_py.log.disk.context import LogContext
from kafka_py.log.disk.directory import PartitionDirectory
from kafka_py.log.model.answers import NoDescriptorsLeft
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition import flushing, retention, truncation
from kafka_py.log.partition.log_files import LogFiles
from kafka_py.log.segments.log_segments import LogSegments
from kafka_py.log.segments.segment import MAX_RELATIVE_OFFSET, Segment
from kafka_py.log.state.epoch_checkpoint import EpochCheckpoint
from kafka_py.log.state.epochs import EpochStart
from kafka_py.log.state.partition_metadata import format_topic_id
from kafka_py.log.state.producer_state import ProducerStates
from kafka_py.records.batch import CorruptBatch

_log = logging.getLogger(__name__)

_CLOSED = "closed"


class StoredLog:
    """The stored side of PartitionLog, which is what everyone uses.

    log_start_offset <= high_watermark <= log_end_offset. recovery_point: everything below it is synced.
    cleaned_to: below it (exclusive) no record has a later one with its key, below it too: all of that was compacted.
        Never beyond the base offset of the active segment; 0 for nothing. Of a log that is being moved here: how far
        the present log was compacted when the copy began.
    held_end: from here on this copy does not count until a flush has ended; None where flush.messages owes none.
    """

    __slots__ = (
        "_context", "_epochs", "_failed", "_first_unstable", "_id_file", "_producers", "_segments", "cleaned_to",
        "config", "files", "held_end", "high_watermark", "last_flush_ms", "log_end_offset", "log_start_offset",
        "recovery_point", "topic_id", "topic_partition",
    )  # fmt: skip

    def __init__(
        self,
        topic_partition: TopicPartition,
        place: PartitionDirectory,
        config: LogConfig,
        context: LogContext,
        segments: LogSegments,
        *,
        producers: ProducerStates,
        snapshots: list[int],
        epochs: Sequence[EpochStart],
        log_start_offset: int,
        log_end_offset: int,
        recovery_point: int,
        cleaned_to: int = 0,
        topic_id: TopicId | None = None,
    ) -> None:
        self.topic_partition = topic_partition
        self.config = config
        self.topic_id = topic_id
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.high_watermark = log_start_offset
        self.recovery_point = recovery_point
        self.cleaned_to = cleaned_to
        self.last_flush_ms = context.clock.wall_ms()
        self._context = context
        self._segments = segments
        self._epochs = EpochCheckpoint(place, context.background, self.background_failed, epochs)
        self._producers = producers
        self.files = LogFiles(place, context, segments, self._epochs, producers, snapshots)
        self._first_unstable: int | None = None
        self.held_end: int | None = None
        self._id_file: BackgroundFile | None = None
        self._failed = ""
        self.update_first_unstable()
        self.bound_cleaned()

    @property
    def directory(self) -> str:
        """The path of the partition's directory."""
        return self.files.place.path

    @property
    def log_dir(self) -> str:
        """The log directory that holds it."""
        return self._context.log_dir

    @property
    def segments(self) -> Sequence[Segment]:
        """Oldest first; the last one is active. Read only."""
        return self._segments.segments

    @property
    def size_bytes(self) -> int:
        """Bytes of all segments' data."""
        return self._segments.size_bytes

    @property
    def last_stable_offset(self) -> int:
        """Below it no transaction is undecided (exclusive); never above the high watermark."""
        first_unstable = self._first_unstable
        high_watermark = self.high_watermark
        return high_watermark if first_unstable is None or first_unstable > high_watermark else first_unstable

    @property
    def producers(self) -> ProducerStates:
        """What is known of the partition's producers. Read only."""
        return self._producers

    @property
    def start_to_checkpoint(self) -> int | None:
        """The log start, where the first segment's name does not say it already."""
        return self.log_start_offset if self.log_start_offset > self._segments.bases[0] else None

    @property
    def is_future(self) -> bool:
        """Whether this is a replica being moved here from another directory."""
        return self.files.place.path.endswith("-future")

    # -- offsets

    @property
    def owes_flush(self) -> bool:
        """Whether flush.messages asks for a flush that has not ended yet."""
        return self.held_end is not None

    @property
    def counted_end_offset(self) -> int:
        """Up to where this copy counts for the high watermark (exclusive): the log end, but not what flush.messages
        wants synced first."""
        held_end = self.held_end
        return self.log_end_offset if held_end is None else held_end

    def _hold(self, end_offset: int) -> None:
        """From `end_offset` on nothing counts until a flush has ended."""
        if self.held_end is None:
            self.held_end = end_offset

    def update_high_watermark(self, high_watermark: int) -> int:
        """Sets the high watermark, kept between log start and log end; returns what it is now."""
        if high_watermark < self.log_start_offset:
            high_watermark = self.log_start_offset
        if high_watermark > self.log_end_offset:
            high_watermark = self.log_end_offset
        self.high_watermark = high_watermark
        if self._first_unstable is not None:
            self._producers.forget_replicated(high_watermark)
            self.update_first_unstable()
        return high_watermark

    def advance_log_start_offset(self, offset: int) -> bool:
        """Moves the log start up (DeleteRecords, or the leader's); whether it moved.

        Raises KafkaError(OFFSET_OUT_OF_RANGE) beyond the high watermark.
        """
        if offset > self.high_watermark:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"log start {offset} of {self.topic_partition} is beyond the high watermark {self.high_watermark}",
            )
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        self._epochs.truncate_from_start(offset)
        self.update_first_unstable()
        return True

    def update_first_unstable(self) -> None:
        first = self._producers.first_unstable_offset() if self._producers.has_unstable else None
        self._first_unstable = None if first is None else max(first, self.log_start_offset)

    def remove_expired_producers(self, now_ms: int) -> int:
        """Forgets silent producers; how many."""
        return self._producers.remove_expired(now_ms, self._context.producer_expiration_ms)

    # -- roll

    def roll(self, now_ms: int) -> bool:
        """Begins a new segment at the log end; False when the active one is empty."""
        return self._roll(self.log_end_offset, now_ms)

    def _roll(self, base_offset: int, now_ms: int) -> bool:
        active = self._segments.active
        if active.size == 0 and base_offset - active.base_offset <= MAX_RELATIVE_OFFSET:
            return False
        try:
            active.become_inactive(preallocated=self.config.preallocate)
            self.files.write_snapshot(base_offset)
            if self.files.is_lowered:
                self._context.settle_checkpoints()
                self.files.is_lowered = False
                if self._failed:  # the directory, with that
                    self._refuse()
            self.files.add_segment(base_offset, self.config, now_ms)
        except OSError as error:
            self.disk_refused(error)
        self.flush_in_background(base_offset)
        return True

    # -- flush

    def flush(self, up_to: int | None = None) -> None:
        """Syncs at once, in the caller's thread; blocks. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
        flushing.flush(self, up_to)

    def flush_in_background(self, up_to: int | None = None, then: Callable[[bool], None] | None = None) -> None:
        """Syncs in a pool thread; the recovery point follows when that is done.

        then: told afterwards whether it succeeded, also when there was nothing to do.
        """
        flushing.flush_in_background(self, up_to, then)

    # -- delete

    def delete_old_segments(self, now_ms: int, most: int | None = None) -> int:
        """Applies the retention rules; how many segments went. Their files are removed after file.delete.delay.ms.

        most: bound on how many go for now; if so many went, there may be others.
        """
        return 0 if self._failed else retention.delete_old_segments(self, now_ms, most)

    # -- truncate

    def cuts_before(self, offset: int) -> list[int]:
        """Where to cut first on the way down to `offset`, largest first, so that no cut has many files to rename.

        None in most cases. After each of these cuts the log is a whole one, for others and for a crash: whoever can
        lets others have the loop in between.
        """
        return truncation.cuts_before(self._segments, offset)

    def truncate_to(self, offset: int) -> bool:
        """Cuts the log so that it ends at `offset`; whether data was cut.

        At or beyond the log end only epochs that began without data are forgotten (KIP-101).
        Raises KafkaError(KAFKA_STORAGE_ERROR), and KafkaError(CORRUPT_MESSAGE) where the place to cut cannot be found
            because of a corrupt batch before it; the log is then as it was.
        """
        return truncation.truncate_to(self, offset)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Deletes everything; the log is empty and begins at `offset`. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
        truncation.truncate_fully_and_start_at(self, offset)

    def bound_cleaned(self) -> None:
        """Nothing at or above the active segment counts as compacted."""
        if not self.is_future:
            self.cleaned_to = min(self.cleaned_to, self._segments.active.base_offset)

    # -- identity and end of life

    def assign_topic_id(self, topic_id: TopicId) -> None:
        """Ties the directory to a topic id; written to disk in the background, and in any case before the next append.

        Raises KafkaError(INCONSISTENT_TOPIC_ID) when it belongs to another one.
        """
        if topic_id == ZERO_UUID or topic_id == self.topic_id:
            return
        if self.topic_id is not None:
            fault = f"{self.directory} belongs to topic id {self.topic_id}, not {topic_id}"
            raise KafkaError(ErrorCode.INCONSISTENT_TOPIC_ID, fault)
        self.topic_id = topic_id
        self._id_file = self.files.replaced_file(filenames.PARTITION_METADATA, self.background_failed)
        self._id_file.save(format_topic_id(topic_id))

    def _save_topic_id(self) -> None:
        """Returns when partition.metadata is on disk, so that no record is there without the id of its topic."""
        if self._id_file is not None and not self._id_file.is_saved:
            try:
                self._id_file.save_now()
            except OSError as error:
                self.disk_refused(error)
        self._id_file = None

    @property
    def can_move(self) -> bool:
        """Whether nothing is being written under the directory's present name but by appends."""
        return self._epochs.is_saved

    def save_again(self) -> bool:
        """Makes another attempt at a write that failed and without which `can_move` stays false; whether it does."""
        return self._epochs.save_again()

    def move_to(self, directory: str) -> None:
        """Renames the log's directory; a flush that is under way counts for nothing. Raises OSError.

        A log that is to be used further must be able to (`can_move`).
        """
        self.files.place.move(directory)
        self.files.generation += 1
        self.files.names_changed = True

    def take_over_from(self, present: StoredLog) -> None:
        """This log replaces `present`, which was not compacted while this one was copied from it."""
        self.cleaned_to = min(present.cleaned_to, self._segments.active.base_offset)

    def close(self) -> None:
        """Flushes, takes a producer snapshot, trims the files and lets them go: a clean end.

        Blocks; may run in any thread once the loop uses the log no more. Raises KafkaError(KAFKA_STORAGE_ERROR).
        """
        if self._failed:
            return
        try:
            if self.files.write_snapshot(self.log_end_offset):
                self.files.names_changed = True
            self._segments.active.become_inactive(preallocated=self.config.preallocate)
            self._epochs.save_now()
        except OSError as error:
            self.io_failed(error)
        self.flush()
        self.let_go(_CLOSED)

    @property
    def is_usable(self) -> bool:
        """Whether it is neither closed or deleted nor on a directory that has failed."""
        return not self._failed

    @property
    def is_closed(self) -> bool:
        """Whether `close` has come to its end."""
        return self._failed == _CLOSED

    def let_go(self, reason: str) -> None:
        """Drops all open files without writing anything; every later call is refused, naming `reason`."""
        self._failed = reason
        for segment in self._segments.segments:
            segment.let_go()

    def corrupt(self, corrupt: CorruptBatch) -> KafkaError:
        return KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{self.topic_partition}: {corrupt}")

    def _refuse(self) -> NoReturn:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log of {self.topic_partition} is {self._failed}")

    def disk_refused(self, error: OSError) -> NoReturn:
        """For calls that can be tried again: a lack of descriptors is no failure of the disk, all else is."""
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise NoDescriptorsLeft(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.topic_partition}: {error}") from error
        self.io_failed(error)

    def io_failed(self, error: OSError) -> NoReturn:
        """The directory goes offline, and so does this log."""
        if not self._failed:
            self.let_go(f"offline: {error}")
            self._context.io_failed(self._context.log_dir, error)
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.topic_partition}: {error}") from error

    def background_failed(self, error: Exception) -> None:
        if self._failed:  # deleted or closed meanwhile: its files may be gone
            return
        if isinstance(error, OSError):
            self.files.names_changed = True
            with contextlib.suppress(KafkaError):
                self.disk_refused(error)
        else:
            _log.error("%s: background work failed", self.topic_partition, exc_info=error)
