"""The files of one partition's log: segments, producer snapshots, leader epochs; whether new names are synced.

Every call may raise OSError; the log decides on the consequences (failures.py).
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
    """The files of one log.

    snapshots: offsets of the producer snapshots. generation: counts truncations and moves; the result of a job captured
    before one of them is not applied.
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
        """Whether the log is a future log."""
        return self.place.path.endswith("-future")

    # ---- segments

    def add_segment(self, base_offset: int, config: LogConfig, now_ms: int) -> None:
        """Creates a new active segment; a leftover file of the same name is overwritten."""
        jitter_ms = self.context.roll_jitter(config.segment_jitter_ms, config.segment_ms)
        self.segments.add(Segment.create(self.place, base_offset, config, now_ms, roll_jitter_ms=jitter_ms))
        self._names_changed = True

    def delete(self, segments: Sequence[Segment], config: LogConfig, snapshot_kept: int | None = None) -> None:
        """Renames the files at once, and removes them after file.delete.delay.ms in the background.

        snapshot_kept: the base offset whose producer snapshot is kept.
        """
        paths: list[str] = []
        for segment in segments:
            segment.release_files()
            keep = segment.base_offset == snapshot_kept
            paths += self.place.rename_segment(segment.base_offset, filenames.DELETED, keep_snapshot=keep)
            if segment.base_offset in self._snapshots and not keep:
                self._snapshots.remove(segment.base_offset)
        files, background = self.context.files, self.context.background
        delay_ms = min(config.file_delete_delay_ms, LONGEST_DELAY_MS)
        self.context.later(delay_ms, lambda: background.run(lambda: remove_files(files, paths)))

    # ---- producers

    def write_snapshot(self, end_offset: int) -> bool:
        """Writes a snapshot of the producer state at `end_offset`; whether a file was created."""
        self.producers.reached(end_offset)
        return producer_replay.write_snapshot(self.place, self.producers, self._snapshots)

    def restore_producers(self, start_offset: int, end_offset: int) -> None:
        """Restores the producer state as of `end_offset` (exclusive)."""
        producer_replay.load_snapshot(
            self.place, self.producers, self._snapshots, log_start_offset=start_offset, end_offset=end_offset,
            now_ms=self.context.clock.wall_ms(), expiration_ms=self.context.producer_expiration_ms,
        )  # fmt: skip
        producer_replay.replay(self.segments.segments, self.producers, end_offset)

    def remove_expired_producers(self, now_ms: int) -> int:
        """Removes expired producers; returns their number."""
        return self.producers.remove_expired(now_ms, self.context.producer_expiration_ms)

    # ---- names and generations

    def note_new_names(self) -> None:
        """Notes that files were created or renamed, so that the next flush syncs their directory."""
        self._names_changed = True

    def take_new_names(self) -> bool:
        """Whether files were created or renamed since the last flush; resets that."""
        changed, self._names_changed = self._names_changed, False
        return changed

    def truncated(self, *, lowered: bool) -> None:
        """Counts a truncation in `generation`. lowered: a checkpoint may be above the new log end, and is rewritten."""
        self.generation += 1
        if lowered:
            self._is_lowered = True
            self.context.checkpoints_lowered()

    def settle_checkpoints(self) -> None:
        """Returns when no checkpoint on disk is invalid because of a truncation."""
        if self._is_lowered:
            self.context.settle_checkpoints()
            self._is_lowered = False

    # ---- moves and closing

    @property
    def can_move(self) -> bool:
        """Whether no background write to the log's directory is pending."""
        return self.epoch_checkpoint.is_saved

    def save_again(self) -> bool:
        """Retries a failed write on which `can_move` waits; whether a write was started."""
        return self.epoch_checkpoint.save_again()

    def move(self, directory: str) -> None:
        """Renames the log's directory; the result of a running flush is not applied.

        If the log is to be used afterwards, `can_move` must be true.
        """
        self.place.move(directory)
        self.generation += 1
        self._names_changed = True

    def finish(self, end_offset: int, config: LogConfig) -> None:
        """Writes a producer snapshot and the leader epochs, and trims the files, for a clean stop. Blocks."""
        if self.write_snapshot(end_offset):
            self._names_changed = True
        self.segments.active.become_inactive(preallocated=config.preallocate)
        self.epoch_checkpoint.save_now()
