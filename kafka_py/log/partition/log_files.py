"""The files of one partition's log: segments, producer snapshots, leader epochs; which of their names were synced.

`OpenLog` is what the parts of this room need of the log that the files belong to. Every call may raise OSError; what
that means is the log's to say. Source: docs/reference/log.md, sections 1 and 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn, Protocol

from kafka_py.base.ids import TopicPartition
from kafka_py.log.disk import filenames
from kafka_py.log.disk.background_file import BackgroundFile
from kafka_py.log.disk.context import LONGEST_DELAY_MS, LogContext
from kafka_py.log.disk.directory import PartitionDirectory
from kafka_py.log.disk.files import remove_files
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.segments.log_segments import LogSegments
from kafka_py.log.segments.segment import Segment
from kafka_py.log.state import producer_replay
from kafka_py.log.state.epoch_checkpoint import EpochCheckpoint
from kafka_py.log.state.producer_state import ProducerStates
from kafka_py.records.batch import CorruptBatch


class LogFiles:
    """What is stored of one log.

    snapshots: offsets of the producer snapshots there are. generation: counts truncations and moves; what was captured
    before one of them says nothing afterwards. names_changed: whether files were made since the last flush, so that
    their directory needs a sync too. is_lowered: whether a checkpoint may hold an offset that a truncation made wrong.
    """

    __slots__ = (
        "context", "epochs", "generation", "is_lowered", "names_changed", "place", "producers", "segments", "snapshots",
    )  # fmt: skip

    def __init__(
        self,
        place: PartitionDirectory,
        context: LogContext,
        segments: LogSegments,
        epochs: EpochCheckpoint,
        producers: ProducerStates,
        snapshots: list[int],
    ) -> None:
        self.place = place
        self.context = context
        self.segments = segments
        self.epochs = epochs
        self.producers = producers
        self.snapshots = snapshots
        self.generation = 0
        self.names_changed = True
        self.is_lowered = False

    def add_segment(self, base_offset: int, config: LogConfig, now_ms: int) -> None:
        """A new active segment; a leftover file of its name is overwritten."""
        segment = Segment.create(self.place, base_offset, config, now_ms)
        segment.roll_jitter_ms = self.context.roll_jitter(config.segment_jitter_ms, config.segment_ms)
        self.segments.add(segment)
        self.names_changed = True

    def delete(self, segments: Sequence[Segment], config: LogConfig, snapshot_kept: int | None = None) -> None:
        """Renames the files at once, and removes them after file.delete.delay.ms in the background.

        snapshot_kept: the base offset whose producer snapshot stays.
        """
        paths: list[str] = []
        for segment in segments:
            segment.let_go()
            keep = segment.base_offset == snapshot_kept
            paths += self.place.rename_segment(segment.base_offset, filenames.DELETED, keep_snapshot=keep)
            if segment.base_offset in self.snapshots and not keep:
                self.snapshots.remove(segment.base_offset)
        files, background = self.context.files, self.context.background
        delay_ms = min(config.file_delete_delay_ms, LONGEST_DELAY_MS)
        self.context.later(delay_ms, lambda: background.run(lambda: remove_files(files, paths)))

    def replaced_file(self, name: str, failed: Callable[[Exception], None]) -> BackgroundFile:
        """A small file in the log's directory, saved in the background. failed: told on the loop of a failed write."""
        place = self.place
        return BackgroundFile(lambda data: place.replace(name, data), self.context.background, failed)

    def write_snapshot(self, end_offset: int) -> bool:
        """Writes the producer state as it is at `end_offset`; whether that made a file."""
        self.producers.end_offset = end_offset
        return producer_replay.write_snapshot(self.place, self.producers, self.snapshots)

    def restore_producers(self, start_offset: int, end_offset: int) -> None:
        """The producer state as it was at `end_offset`."""
        producer_replay.load_snapshot(
            self.place, self.producers, self.snapshots, start_offset, end_offset,
            self.context.clock.wall_ms(), self.context.producer_expiration_ms,
        )  # fmt: skip
        producer_replay.replay(self.segments.segments, self.producers, end_offset)


class OpenLog(Protocol):
    """A log as its own parts see it: its offsets, its files, and how it takes errors."""

    topic_partition: TopicPartition
    config: LogConfig
    files: LogFiles
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    recovery_point: int
    cleaned_to: int
    held_end: int | None
    last_flush_ms: int

    @property
    def size_bytes(self) -> int:
        """Bytes of all segments' data."""

    @property
    def owes_flush(self) -> bool:
        """Whether flush.messages asks for a flush that has not ended yet."""

    def roll(self, now_ms: int) -> bool:
        """Begins a new segment at the log end; False when the active one is empty."""

    def advance_log_start_offset(self, offset: int) -> bool:
        """Moves the log start up; whether it moved."""

    def update_high_watermark(self, high_watermark: int) -> int:
        """Sets the high watermark, kept between log start and log end."""

    def update_first_unstable(self) -> None:
        """Lets the last stable offset follow the producer state."""

    def bound_cleaned(self) -> None:
        """Nothing at or above the active segment counts as compacted."""

    def corrupt(self, corrupt: CorruptBatch) -> Exception:
        """A corrupt batch as an error of this log."""

    def disk_refused(self, error: OSError) -> NoReturn:
        """For calls that can be tried again."""

    def io_failed(self, error: OSError) -> NoReturn:
        """The directory goes offline, and so does this log."""

    def background_failed(self, error: Exception) -> None:
        """Work in the background has failed."""
