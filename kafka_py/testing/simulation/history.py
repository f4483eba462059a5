"""What really happened in a simulated cluster, whatever its brokers believe: elections, and what leaders appended.

Elections are taken from ZooKeeper as they are written, appends from the logs as leaders make them. So the history knows
which records a partition would have if nothing had ever been compacted or deleted, and which election, if any, may have
cost records. Which epoch came before its own in a leader's log is asked of that log: a leader may never have had what
the one before it wrote, as after an unclean election, or where it was elected before it had copied from that leader.
What was committed in between says whether it had to have it. Notes only: what must hold of all this is in watch.py and
invariants.py.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from kafka_py.base.ids import NO_LEADER, TopicId, TopicPartition
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.records.batch import Record, decode_records, iter_headers
from kafka_py.replication.state.partition import Partition
from kafka_py.testing.simulation.nodes import current_node
from kafka_py.zk.session import CreateOp, Op, SetOp
from kafka_py.zk.znodes import PartitionStateZNode

_STATE_PATH = re.compile(r"/brokers/topics/([^/]+)/partitions/(\d+)/state")
LEADER_APPENDS = ("begin_append", "finish_append")
"""The methods of a log that append as its leader, none of which calls another; the second argument is the epoch."""


@dataclass(frozen=True)
class Election:
    """A leader in an epoch. is_unclean: the leader was not in sync, so committed records may be lost."""

    at_s: float
    leader: int
    leader_epoch: int
    is_unclean: bool


@dataclass
class EpochAppends:
    """What a leader appended in one epoch, in order. batches: (first offset, data).

    before: (start offset, leader epoch) of what its log held from older epochs, in order. committed: what the leader
    knew to be committed in this epoch ended here (exclusive).
    """

    broker: str
    before: list[tuple[int, int]] = field(default_factory=list)
    batches: list[tuple[int, bytes]] = field(default_factory=list)
    end_offset: int = 0
    committed: int = 0

    @property
    def start_offset(self) -> int:
        return self.batches[0][0]


class ClusterHistory:
    """The elections and appends of every partition. now_s: the loop's time."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self.isr: dict[TopicPartition, frozenset[int]] = {}
        """The in-sync set that is written in ZooKeeper."""
        self.elections: dict[TopicPartition, list[Election]] = {}
        self.appends: dict[tuple[TopicPartition, TopicId | None], dict[int, EpochAppends]] = {}
        """By partition, id of its topic, and leader epoch."""
        self._now_s = now_s

    # ---- elections

    def written(self, ops: Sequence[Op]) -> None:
        """Something was written to ZooKeeper."""
        for op in ops:
            if isinstance(op, CreateOp | SetOp) and (found := _STATE_PATH.fullmatch(op.path)):
                self._state_written(TopicPartition(found[1], int(found[2])), op)

    def _state_written(self, name: TopicPartition, op: CreateOp | SetOp) -> None:
        state = PartitionStateZNode.decode(op.data)
        if isinstance(op, CreateOp):  # a new partition, or a new one of an old name
            self.elections[name] = []
            self.isr[name] = frozenset(state.isr)
        known = self.elections.setdefault(name, [])
        if not known or known[-1].leader_epoch != state.leader_epoch:
            is_unclean = state.leader != NO_LEADER and state.leader not in self.isr[name]
            known.append(Election(self._now_s(), state.leader, state.leader_epoch, is_unclean))
        self.isr[name] = frozenset(state.isr)

    def had_unclean_election(self, name: TopicPartition) -> bool:
        """Whether committed records may have been lost."""
        return any(election.is_unclean for election in self.elections.get(name, ()))

    # ---- appends

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Notes every append of a leader meanwhile, and what leaders take for committed."""
        with ExitStack() as taps:
            commit = self._noting_commits(Partition.maybe_raise_high_watermark)
            taps.enter_context(mock.patch.object(Partition, "maybe_raise_high_watermark", commit))
            for name in LEADER_APPENDS:
                taps.enter_context(mock.patch.object(PartitionLog, name, self._noting(getattr(PartitionLog, name))))
            yield

    def _noting(self, append: Callable[..., Any]) -> Callable[..., Any]:
        def append_and_note(log: PartitionLog, records: Any, leader_epoch: int, *others: Any, **options: Any) -> Any:
            end_offset = log.log_end_offset
            done = append(log, records, leader_epoch, *others, **options)
            if log.log_end_offset != end_offset:
                self._appended(log, end_offset, leader_epoch)
            return done

        return append_and_note

    def _noting_commits(self, commit: Callable[[Partition, float], bool]) -> Callable[[Partition, float], bool]:
        def commit_and_note(partition: Partition, now_ms: float) -> bool:
            is_raised = commit(partition, now_ms)
            if is_raised and (log := partition.log) is not None:
                append = self.appends.get((log.topic_partition, log.topic_id), {}).get(partition.leader_epoch)
                if append is not None:
                    append.committed = max(append.committed, log.high_watermark)
            return is_raised

        return commit_and_note

    def _appended(self, log: PartitionLog, first_offset: int, leader_epoch: int) -> None:
        epochs = self.appends.setdefault((log.topic_partition, log.topic_id), {})
        if leader_epoch not in epochs:
            node, before = current_node(), self._epochs_of(log, leader_epoch)
            epochs[leader_epoch] = EpochAppends(node.name if node is not None else "", _cut(before, first_offset))
        append = epochs[leader_epoch]
        part = log.read(first_offset, 1 << 30, up_to_offset=log.log_end_offset, min_one_batch=True).slice
        assert part is not None
        append.batches.append((first_offset, part.read()))
        append.end_offset = log.log_end_offset

    def _epochs_of(self, log: PartitionLog, below: float = math.inf) -> list[tuple[int, int]]:
        """(start offset, leader epoch) of what a log holds from leaders of older epochs than `below`, in order.

        The log is asked for the newest such epoch alone: what came before that one is known since it began.
        """
        epochs = self.appends.get((log.topic_partition, log.topic_id), {})
        held = [each.epoch for each in log.epochs.entries() if each.epoch in epochs and each.epoch < below]
        newest = max(held, default=None)
        return [*epochs[newest].before, (epochs[newest].start_offset, newest)] if newest is not None else []

    def lineage(self, leader: PartitionLog, end_offset: int) -> Iterator[Record]:
        """All records that were ever in a leader's log below an offset (exclusive), and not cut, in order."""
        epochs = self.appends.get((leader.topic_partition, leader.topic_id), {})
        starts = _cut(self._epochs_of(leader), end_offset)
        ends = [*(start for start, _epoch in starts), end_offset][1:]
        for (_start, epoch), end in zip(starts, ends, strict=True):
            for first_offset, data in epochs[epoch].batches:
                if first_offset < end:
                    yield from _records(data)

    def left_out(self, leader: PartitionLog) -> list[int]:
        """The epochs that had something committed where a leader's log holds records of older epochs instead.

        After an unclean election none counts. What a log lost at its end, as in a power failure, is not looked for.
        """
        if self.had_unclean_election(leader.topic_partition):
            return []
        starts = self._epochs_of(leader)
        known = {epoch for _start, epoch in starts}
        return [
            epoch
            for epoch, append in self.appends.get((leader.topic_partition, leader.topic_id), {}).items()
            if epoch not in known and append.committed > append.start_offset
            if append.start_offset < next((start for start, newer in starts if newer > epoch), math.inf)
        ]

    def leaders_since(self, log: PartitionLog, offset: int) -> set[str]:
        """The brokers that led when the record at `offset` was appended for the first time, or later."""
        epochs = self.appends.get((log.topic_partition, log.topic_id), {})
        first = min((epoch for epoch, append in epochs.items() if _covers(append, offset)), default=None)
        if first is None:
            return set()
        later = self.elections.get(log.topic_partition, ())
        return {f"broker{each.leader}" for each in later if each.leader_epoch >= first and each.leader != NO_LEADER} | {
            epochs[first].broker
        }


def _cut(starts: list[tuple[int, int]], end_offset: int) -> list[tuple[int, int]]:
    """Those epochs that begin below an offset."""
    return [each for each in starts if each[0] < end_offset]


def _covers(append: EpochAppends, offset: int) -> bool:
    place = bisect_right(append.batches, offset, key=lambda batch: batch[0])
    return place > 0 and offset < append.end_offset


def _records(data: bytes) -> Iterator[Record]:
    for position, _header in iter_headers(data):
        yield from decode_records(data, position)
