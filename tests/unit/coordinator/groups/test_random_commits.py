"""Random commits, transactions, failures and fail-overs: what a coordinator holds the next one finds in the log.

Acknowledgements come mostly in the order of the log, as the high watermark rises, and sometimes in another.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.groups.offsets import CommittedOffset, GroupOffsets, TxnEnd
from kafka_py.records.control import ControlType
from kafka_py.testing.fakes.stored_groups import GROUP, PARTITION, StoredGroups, commit

STEPS = 120
SEEDS = range(40)
PARTITIONS = [TopicPartition("t", number) for number in range(3)] + [TopicPartition("u", 0)]
PRODUCERS = (7, 8, 9)
ERRORS = (ErrorCode.NONE, ErrorCode.NONE, ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS)

Held = dict[TopicPartition, CommittedOffset]


def held(offsets: GroupOffsets) -> tuple[Held, dict[int, Held]]:
    """What counts now, and by producer what its transaction may commit."""
    assert not offsets.pending
    assert not any(transaction.appending for transaction in offsets.pending_txn.values())
    return offsets.committed, {each: transaction.appended for each, transaction in offsets.pending_txn.items()}


class Commits:
    """One run."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.world = StoredGroups().own()
        self.world.waiting = []
        self.number = 0
        self.markers: list[Callable[[], None]] = []

    def step(self) -> None:
        actions = (self.commit, self.commit_in_transaction, self.commit_in_transaction, self.end, self.acknowledge,
                   self.acknowledge, self.delete, self.fail_over)  # fmt: skip
        self.world.error = self.chance.choice(ERRORS)
        self.chance.choice(actions)()

    def rows(self) -> Iterator[tuple[TopicPartition, CommittedOffset]]:
        for where in self.chance.sample(PARTITIONS, self.chance.randint(1, 3)):
            self.number += 1
            yield where, commit(self.number)

    def commit(self) -> None:
        self.world.commit(*self.rows())

    def commit_in_transaction(self) -> None:
        self.world.commit_in_transaction(*self.rows(), producer=(self.chance.choice(PRODUCERS), 0))

    def end(self) -> None:
        """The marker is appended now, and acknowledged after all that was appended before it."""
        producer_id, is_commit = self.chance.choice(PRODUCERS), self.chance.random() < 0.6
        control_type = ControlType.COMMIT if is_commit else ControlType.ABORT
        end = TxnEnd(producer_id, self.world.disk.mark(producer_id, 0, control_type).first_offset, is_commit)
        assert self.world.waiting is not None
        complete = partial(self.world.store.complete_txn, PARTITION, end)
        self.world.waiting.append(complete)
        self.markers.append(complete)

    def acknowledge(self, count: int | None = None) -> None:
        waiting = self.world.waiting
        assert waiting is not None
        for _ in range(self.chance.randint(0, len(waiting)) if count is None else count):
            self.take(waiting)()

    def take(self, waiting: list[Callable[[], None]]) -> Callable[[], None]:
        """The next one; or, if commits are before them, the one after it: never a marker before another one."""
        is_swapped = len(waiting) > 1 and waiting[0] not in self.markers and self.chance.random() < 0.3
        return waiting.pop(int(is_swapped))

    def delete(self) -> None:
        """Not while a transaction is open: its marker would bring the offset back for who reads the log."""
        group = self.world.store.get(GROUP)
        if group is not None and not self.world.waiting and not group.offsets.pending_txn:
            self.world.error = ErrorCode.NONE
            self.world.offsets.delete(GROUP, self.chance.sample(PARTITIONS, 2))
            self.acknowledge(len(self.world.waiting or ()))

    def fail_over(self) -> None:
        """Everything that is in the log has reached the next coordinator; it finds what this one holds."""
        assert self.world.waiting is not None
        self.acknowledge(len(self.world.waiting))
        before = self.world.store.get(GROUP)
        after = self.world.reload().get(GROUP)
        assert held(GroupOffsets() if after is None else after.offsets) == held(
            GroupOffsets() if before is None else before.offsets
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_next_coordinator_holds_what_this_one_held(seed: int) -> None:
    run = Commits(seed)
    for _ in range(STEPS):
        run.step()
    run.fail_over()
    for producer_id in PRODUCERS:
        run.world.disk.mark(producer_id, 0, ControlType.COMMIT)
        run.world.store.complete_txn(PARTITION, TxnEnd(producer_id, run.world.disk.log.log_end_offset - 1, True))
    run.fail_over()
    group = run.world.store.get(GROUP)
    assert group is None or not group.offsets.pending_txn
