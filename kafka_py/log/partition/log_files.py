"""The files of one partition's log: segments, producer snapshots, leader epochs; which of their names were synced.

Every call may raise OSError; what that means is the log's to say (failures.py).
Source: docs/reference/log.md, sections 1 and 3.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_py.log.disk import filenames
from kafka_py.log.disk.context import LONGEST_DELAY_MS, LogContext
from kafka_py.log.disk.directory import PartitionDirectory
from kafka_py.log.disk.files import remove_files
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.segments.log_segments import LogSegments
from kafka_py.log.segments.segment import Segment
from kafka_py.log.state import producer_replay
from kafka_py.log.state.epoch_checkpoint import EpochCheckpoint
from kafka_py.log.state.producer_state import ProducerStates


class LogFiles:
    """What is stored of one log.

    snapshots: offsets of the producer snapshots there are. generation: counts truncations and moves; what was captured
    before one of them says nothing afterwards.
    """

    __slots__ = (
        "_is_lowered", "_names_changed", "_snapshots", "context", "epoch_checkpoint", "generation", "place",
        "producers", "segments",
    )  # fmt: skip

    def __init__(
        self,
        place: PartitionDirectory,
        context: LogContext,
        segments: LogSegments,
        epoch_checkpoint: EpochCheckpoint,
        producers: ProducerStates,
        snapshots: list[int],
    ) -> None:
        self.place = place
        self.context = context
        self.segments = segments
        self.epoch_checkpoint = epoch_checkpoint
        self.producers = producers
        self._snapshots = snapshots
        self.generation = 0
        self._names_changed = True
        self._is_lowered = False

    @property
    def is_future(self) -> bool:
        """Whether the log is a replica that is being moved here from another directory."""
        return self.place.path.endswith("-future")

    # -- segments

    def add_segment(self, base_offset: int, config: LogConfig, now_ms: int) -> None:
        """A new active segment; a leftover file of its name is overwritten."""
        jitter_ms = self.context.roll_jitter(config.segment_jitter_ms, config.segment_ms)
        self.segments.add(Segment.create(self.place, base_offset, config, now_ms, roll_jitter_ms=jitter_ms))
        self._names_changed = True

    def delete(self, segments: Sequence[Segment], config: LogConfig, snapshot_kept: int | None = None) -> None:
        """Renames the files at once, and removes them after file.delete.delay.ms in the background.

        snapshot_kept: the base offset whose producer snapshot stays.
        """
        paths: list[str] = []
        for segment in segments:
            segment.let_go()
            keep = segment.base_offset == snapshot_kept
            paths += self.place.rename_segment(segment.base_offset, filenames.DELETED, keep_snapshot=keep)
            if segment.base_offset in self._snapshots and not keep:
                self._snapshots.remove(segment.base_offset)
        files, background = self.context.files, self.context.background
        delay_ms = min(config.file_delete_delay_ms, LONGEST_DELAY_MS)
        self.context.later(delay_ms, lambda: background.run(lambda: remove_files(files, paths)))

    # -- producers

    def write_snapshot(self, end_offset: int) -> bool:
        """Writes the producer state as it is at `end_offset`; whether that made a file."""
        self.producers.reached(end_offset)
        return producer_replay.write_snapshot(self.place, self.producers, self._snapshots)

    def restore_producers(self, start_offset: int, end_offset: int) -> None:
        """The producer state as it was at `end_offset`."""
        producer_replay.load_snapshot(
            self.place, self.producers, self._snapshots, log_start_offset=start_offset, end_offset=end_offset,
            now_ms=self.context.clock.wall_ms(), expiration_ms=self.context.producer_expiration_ms,
        )  # fmt: skip
        producer_replay.replay(self.segments.segments, self.producers, end_offset)

    def remove_expired_producers(self, now_ms: int) -> int:
        """Forgets silent producers; how many."""
        return self.producers.remove_expired(now_ms, self.context.producer_expiration_ms)

    # -- names and generations

    def note_new_names(self) -> None:
        """Files were made or renamed: their directory needs a sync with the next flush."""
        self._names_changed = True

    def take_new_names(self) -> bool:
        """Whether files were made or renamed since the last flush; from now on that flush's business."""
        changed, self._names_changed = self._names_changed, False
        return changed

    def truncated(self, *, lowered: bool) -> None:
        """The log was cut. lowered: a checkpoint may hold an offset which that made wrong."""
        self.generation += 1
        if lowered:
            self._is_lowered = True
            self.context.checkpoints_lowered()

    def settle_checkpoints(self) -> None:
        """Returns when no checkpoint on disk holds an offset that a truncation made wrong."""
        if self._is_lowered:
            self.context.settle_checkpoints()
            self._is_lowered = False

    # -- moves and the end

    @property
    def can_move(self) -> bool:
        """Whether nothing is being written under the directory's present name but by appends."""
        return self.epoch_checkpoint.is_saved

    def save_again(self) -> bool:
        """Makes another attempt at a write that failed and without which `can_move` stays false; whether it does."""
        return self.epoch_checkpoint.save_again()

    def move(self, directory: str) -> None:
        """Renames the log's directory; a flush that is under way counts for nothing.

        A log that is to be used further must be able to (`can_move`).
        """
        self.place.move(directory)
        self.generation += 1
        self._names_changed = True

    def finish(self, end_offset: int, config: LogConfig) -> None:
        """What a clean stop leaves: a producer snapshot, files of their real sizes, the leader epochs. Blocks."""
        if self.write_snapshot(end_offset):
            self._names_changed = True
        self.segments.active.become_inactive(preallocated=config.preallocate)
        self.epoch_checkpoint.save_now()
