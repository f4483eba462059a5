"""Leader epoch cache: the start offset of each leader epoch in one log (KIP-101, KIP-279).

Pure: a list of (epoch, start offset), both strictly rising; the owner writes the checkpoint when a method reports a
change. Source: docs/reference/log.md, section 10.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from kafka_py.records.batch import NO_LEADER_EPOCH


class EpochStart(NamedTuple):
    """A leader epoch and the first offset written in it."""

    epoch: int
    start_offset: int


class EpochEnd(NamedTuple):
    """A leader epoch and its end offset (exclusive); (-1, -1) when unknown."""

    epoch: int
    end_offset: int


UNKNOWN_END = EpochEnd(NO_LEADER_EPOCH, -1)


class LeaderEpochs:
    """The leader epochs of one log. latest: -1 when there is none."""

    __slots__ = ("_epochs", "_starts", "latest")

    def __init__(self, entries: Iterable[EpochStart] = ()) -> None:
        self._epochs: list[int] = []
        self._starts: list[int] = []
        self.latest = NO_LEADER_EPOCH
        for epoch, start in entries:
            self.assign(epoch, start)

    def entries(self) -> list[EpochStart]:
        """Every epoch in order."""
        return list(map(EpochStart, self._epochs, self._starts))

    def __len__(self) -> int:
        return len(self._epochs)

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Assigns `epoch` from `start_offset` on; whether the entries changed.

        Entries with an epoch or a start offset that is not below are removed. Raises ValueError for negative arguments.
        """
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"leader epoch {epoch} cannot begin at offset {start_offset}")
        if self._epochs and epoch == self.latest and start_offset >= self._starts[-1]:
            return False
        kept = min(bisect_left(self._epochs, epoch), bisect_left(self._starts, start_offset))
        del self._epochs[kept:]
        del self._starts[kept:]
        self._epochs.append(epoch)
        self._starts.append(start_offset)
        self.latest = epoch
        return True

    def note_batch(self, epoch: int, offset: int) -> bool:
        """Notes a batch that recovery found; whether the entries changed. A negative epoch is ignored.

        Contradicting entries are removed: after a power failure the batches from before a truncation may reappear while
        the entries from after it remain, and would assign the batches to a newer leader.
        """
        held = self.epoch_of(offset)
        if epoch < 0 or epoch == held or (held == NO_LEADER_EPOCH and epoch <= self.latest):
            return False
        if held > epoch:
            kept = bisect_right(self._epochs, epoch)
            del self._epochs[kept:]
            del self._starts[kept:]
            self.latest = self._epochs[-1] if self._epochs else NO_LEADER_EPOCH
            if self.latest == epoch:
                return True
        return self.assign(epoch, offset)

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEnd:
        """Where `epoch` ends in this log, as OffsetsForLeaderEpoch answers it.

        epoch: as asked; -1 asks for nothing.
        Returns the largest known epoch <= `epoch` and its end offset (exclusive). Older than all known epochs:
            (`epoch`, the first start offset). -1, or newer than all known epochs: UNKNOWN_END.
        """
        if epoch == NO_LEADER_EPOCH or not self._epochs or epoch > self.latest:
            return UNKNOWN_END
        if epoch == self.latest:
            return EpochEnd(epoch, log_end_offset)
        later = bisect_right(self._epochs, epoch)
        held = self._epochs[later - 1] if later else epoch
        return EpochEnd(held, self._starts[later])

    def epoch_of(self, offset: int) -> int:
        """The epoch in which the record at `offset` was written; -1 when it is below all known start offsets."""
        slot = bisect_right(self._starts, offset) - 1
        return self._epochs[slot] if slot >= 0 else NO_LEADER_EPOCH

    def truncate_from_end(self, end_offset: int) -> bool:
        """Removes the epochs that begin at or after `end_offset`; whether there were any."""
        kept = bisect_left(self._starts, end_offset)
        if kept == len(self._starts):
            return False
        del self._epochs[kept:]
        del self._starts[kept:]
        self.latest = self._epochs[-1] if self._epochs else NO_LEADER_EPOCH
        return True

    def truncate_from_start(self, start_offset: int) -> bool:
        """Removes the epochs that end at or before `start_offset`; the one that contains it now begins there."""
        dropped = bisect_right(self._starts, start_offset)
        if dropped == 0 or (dropped == 1 and self._starts[0] == start_offset):
            return False
        del self._epochs[: dropped - 1]
        del self._starts[: dropped - 1]
        self._starts[0] = start_offset
        return True

    def clear(self) -> bool:
        """Removes all epochs; whether there were any."""
        had = bool(self._epochs)
        self._epochs.clear()
        self._starts.clear()
        self.latest = NO_LEADER_EPOCH
        return had
