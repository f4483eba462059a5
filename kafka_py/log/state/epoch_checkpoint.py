"""The leader epochs of a log together with their file, `leader-epoch-checkpoint`.

Every change is written to disk, synced, in the background; after a crash before that, recovery finds the epochs in the
batches. Source: docs/reference/log.md, sections 10 and 12.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kafka_py.log.disk import filenames
from kafka_py.log.disk.background import Background
from kafka_py.log.disk.background_file import BackgroundFile
from kafka_py.log.disk.directory import PartitionDirectory
from kafka_py.log.state.checkpoints import format_epochs
from kafka_py.log.state.epochs import EpochStart, LeaderEpochs


class EpochCheckpoint:
    """Changes leader epochs and writes their checkpoint. epochs: the current ones, read only.

    entries: content of the file. failed: called with the error of a failed write.
    """

    __slots__ = ("_file", "epochs")

    def __init__(
        self,
        place: PartitionDirectory,
        background: Background,
        failed: Callable[[Exception], None],
        entries: Iterable[EpochStart] = (),
    ) -> None:
        self.epochs = LeaderEpochs(entries)
        self._file = BackgroundFile(
            lambda data: place.replace(filenames.LEADER_EPOCH_CHECKPOINT, data), background, failed
        )

    def assign(self, epoch: int, start_offset: int) -> None:
        """See LeaderEpochs.assign; likewise for the other methods."""
        self._save_if(self.epochs.assign(epoch, start_offset))

    def truncate_from_end(self, end_offset: int) -> None:
        self._save_if(self.epochs.truncate_from_end(end_offset))

    def truncate_from_start(self, start_offset: int) -> None:
        self._save_if(self.epochs.truncate_from_start(start_offset))

    def clear(self) -> None:
        self._save_if(self.epochs.clear())

    def save_now(self) -> None:
        """Writes pending changes before it returns; blocks. Raises OSError."""
        self._file.save_now()

    def save_again(self) -> bool:
        """Retries the last write if it failed; whether a write was started."""
        return self._file.save_again()

    @property
    def is_saved(self) -> bool:
        """Whether the file is up to date and no write is pending."""
        return self._file.is_saved

    def _save_if(self, has_changed: bool) -> None:
        if has_changed:
            self._file.save(format_epochs(self.epochs.entries()))
