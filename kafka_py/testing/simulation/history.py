"""What really happened in a simulated cluster, whatever its brokers believe: elections, and what leaders appended.

Elections are taken from ZooKeeper as they are written, appends from the logs as leaders make them. So the history knows
which records a partition would have if nothing had ever been compacted or deleted, and which election, if any, may have
cost records. Notes only: what must hold of all this is in watch.py and invariants.py.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from kafka_py.base.ids import TopicId, TopicPartition
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.records.batch import Record, decode_records, iter_headers
from kafka_py.testing.simulation.nodes import current_node
from kafka_py.zk.session import CreateOp, Op, SetOp
from kafka_py.zk.znodes import PartitionStateZNode

_STATE_PATH = re.compile(r"/brokers/topics/([^/]+)/partitions/(\d+)/state")
NO_LEADER = -1
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
class Append:
    """What a leader appended in one epoch, in order. batches: (first offset, data)."""

    broker: str
    batches: list[tuple[int, bytes]] = field(default_factory=list)
    end_offset: int = 0


class History:
    """The elections and appends of every partition. now_s: the loop's time."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self.isr: dict[TopicPartition, frozenset[int]] = {}
        """The in-sync set that is written in ZooKeeper."""
        self.elections: dict[TopicPartition, list[Election]] = {}
        self.appends: dict[tuple[TopicPartition, TopicId | None], dict[int, Append]] = {}
        """By partition, id of its topic, and leader epoch."""
        self._now_s = now_s

    # -- elections

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

    # -- appends

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Notes every append of a leader meanwhile."""
        with ExitStack() as taps:
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

    def _appended(self, log: PartitionLog, first_offset: int, leader_epoch: int) -> None:
        epochs = self.appends.setdefault((log.topic_partition, log.topic_id), {})
        node = current_node()
        append = epochs.setdefault(leader_epoch, Append(node.name if node is not None else ""))
        part = log.read(first_offset, 1 << 30, up_to_offset=log.log_end_offset, min_one_batch=True).slice
        assert part is not None
        append.batches.append((first_offset, os.pread(part.file.fileno(), part.size, part.position)))
        append.end_offset = log.log_end_offset

    def lineage(self, log: PartitionLog, end_offset: int) -> Iterator[Record]:
        """All records that were ever in the log below an offset (exclusive), and not cut, in order.

        An offset belongs to the newest epoch that began at or below it: what older leaders had there was cut.
        """
        epochs = self.appends.get((log.topic_partition, log.topic_id), {})
        starts: list[tuple[int, int]] = []
        for epoch in sorted(epochs):
            start = epochs[epoch].batches[0][0]
            while starts and starts[-1][0] >= start:
                starts.pop()
            starts.append((start, epoch))
        ends = [*(start for start, _epoch in starts), end_offset][1:]
        for (_start, epoch), end in zip(starts, ends, strict=True):
            for first_offset, data in epochs[epoch].batches:
                if first_offset < min(end, end_offset):
                    yield from _records(data)

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


def _covers(append: Append, offset: int) -> bool:
    place = bisect_right(append.batches, offset, key=lambda batch: batch[0])
    return place > 0 and offset < append.end_offset


def _records(data: bytes) -> Iterator[Record]:
    for position, _header in iter_headers(data):
        yield from decode_records(data, position)
