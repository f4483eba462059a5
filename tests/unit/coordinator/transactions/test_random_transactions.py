"""Transactions under random requests, time, failing writes and coordinators that crash: what must hold at every moment.

Every request is answered at most once (AskedTransaction sees to that).
"""

from __future__ import annotations

import random

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.transactions.markers import MarkerOutcome
from kafka_py.coordinator.transactions.requests import ProducerIdAndEpoch, TransactionReply
from kafka_py.coordinator.transactions.states import IS_DECIDED
from kafka_py.coordinator.transactions.transaction import TransactionMetadata
from kafka_py.testing.fakes.transactions import PARTITION, AskedTransaction, TransactionWorld

STEPS = 250
SEEDS = range(40)
IDS = ("a", "b")
PARTITIONS = [TopicPartition("t", number) for number in range(4)]
WRITE_ERRORS = (
    *[ErrorCode.NONE] * 8,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
)
WRITTEN_ANYWAY = {ErrorCode.REQUEST_TIMED_OUT}


class RandomTransactions:
    """One run.

    producers: by id, what was handed out, oldest first. inits: with whether the producer named its epoch. of_replaced:
    requests of producers that had been replaced when they asked. decisions: by (id, producer id, start), whether its
    markers say commit.
    """

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.world = TransactionWorld()
        self.world.waiting = []
        self.producers: dict[str, list[TransactionReply]] = {each: [] for each in IDS}
        self.inits: list[tuple[str, bool, AskedTransaction]] = []
        self.of_replaced: list[AskedTransaction] = []
        self.commits: list[tuple[tuple[str, int, int], AskedTransaction]] = []
        self.decisions: dict[tuple[str, int, int], bool] = {}

    def step(self) -> None:
        chance, world = self.chance, self.world
        world.clock.advance(chance.choice((1, 1, 1, 200, 15_000)))  # so that no two transactions begin at once
        world.error = chance.choice(WRITE_ERRORS)
        world.is_written_anyway = world.error in WRITTEN_ANYWAY
        actions = (self.init, self.add, self.add, self.add, self.end, self.end, self.acknowledge, self.acknowledge,
                   self.acknowledge, self.markers, self.markers, world.look)  # fmt: skip
        chance.choice(actions)()
        if chance.random() < 0.04:
            world.become_coordinator(loses_unacknowledged=chance.random() < 0.5)
        self.check()

    def init(self) -> None:
        name = self.chance.choice(IDS)
        known = self.producers[name]
        expected = None
        if known and self.chance.random() < 0.4:
            chosen = self.chance.choice(known)
            expected = ProducerIdAndEpoch(chosen.producer_id, chosen.producer_epoch)
        self.inits.append((name, expected is not None, self.world.init(name, expected, timeout_ms=20_000)))

    def _speaker(self) -> tuple[str, TransactionReply] | None:
        name = self.chance.choice(IDS)
        known = self.producers[name]
        if not known:
            return None
        return name, known[-1] if self.chance.random() < 0.8 else self.chance.choice(known)

    def add(self) -> None:
        speaker = self._speaker()
        if speaker is not None:
            name, producer = speaker
            asked = self.world.add(producer, self.chance.choice(PARTITIONS), transactional_id=name)
            if producer != self.producers[name][-1]:
                self.of_replaced.append(asked)

    def end(self) -> None:
        speaker = self._speaker()
        if speaker is not None:
            name, producer = speaker
            running = self._running(name)
            is_commit = self.chance.random() < 0.6
            asked = self.world.end(producer, is_commit=is_commit, transactional_id=name)
            if producer != self.producers[name][-1]:
                self.of_replaced.append(asked)
            if is_commit and running is not None and not asked.replies:
                self.commits.append((running, asked))

    def _running(self, name: str) -> tuple[str, int, int] | None:
        transaction = self.world.store.get(PARTITION, name)
        if transaction is None or transaction.metadata.start_ms < 0:
            return None
        return name, transaction.metadata.producer_id, transaction.metadata.start_ms

    def acknowledge(self) -> None:
        if self.world.waiting:
            self.world.acknowledge()

    def markers(self) -> None:
        if self.world.sender.sent:
            self.world.sender.end()

    # ---- what must hold

    def check(self) -> None:
        for sent in self.world.sender.sent:
            markers = sent.markers
            running = self._running(markers.transactional_id)
            assert running is not None
            assert self.decisions.setdefault(running, markers.is_commit) is markers.is_commit, running
            assert markers.coordinator_epoch == self.world.epoch
        self.check_producers()
        for running, asked in self.commits:
            if asked.replies and asked.error is ErrorCode.NONE:
                assert self.decisions[running], f"{running} was committed, its producer was told, and it is aborted"

    def check_producers(self) -> None:
        """Epochs never go back, nobody gets one that another producer has, and who was replaced gets nothing done."""
        for name, is_by_epoch, asked in list(self.inits):
            if asked.replies:
                self.inits.remove((name, is_by_epoch, asked))
                if asked.error is ErrorCode.NONE:
                    known = self.producers[name]
                    if known and known[-1].producer_id == asked.reply.producer_id:
                        step = asked.reply.producer_epoch - known[-1].producer_epoch
                        assert step > 0 or (step == 0 and is_by_epoch), (known[-1], asked.reply)
                    if not known or known[-1] != asked.reply:
                        known.append(asked.reply)
        for asked in self.of_replaced:
            assert not asked.replies or asked.error is not ErrorCode.NONE

    def end_well(self) -> None:
        """Without further failures every decision gets its markers, all of them, and the id is free again."""
        world = self.world
        world.error = ErrorCode.NONE
        for _ in range(100):
            while world.waiting:
                world.acknowledge()
            while world.sender.sent:
                world.sender.end(MarkerOutcome.COMPLETE)
            world.clock.advance(1000)
        for transaction in world.store.transactions(PARTITION):
            assert transaction.state not in IS_DECIDED
            assert transaction.pending is None

    def replayed(self) -> dict[str, TransactionMetadata]:
        self.world.become_coordinator()
        return {each.id: each.metadata for each in self.world.store.transactions(PARTITION)}


@pytest.mark.parametrize("seed", SEEDS)
def test_what_must_hold_holds_at_every_step(seed: int) -> None:
    run = RandomTransactions(seed)
    for _ in range(STEPS):
        run.step()
    run.end_well()
    assert run.decisions


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_read_back_is_what_was_in_memory(seed: int) -> None:
    run = RandomTransactions(seed)
    run.world.waiting = None
    for _ in range(STEPS):
        chance, world = run.chance, run.world
        world.clock.advance(chance.choice((1, 200, 15_000)))
        chance.choice((run.init, run.add, run.add, run.end, run.markers, world.look))()
        run.check()
        live = {each.id: each for each in world.store.transactions(PARTITION)}
        if chance.random() < 0.2:
            kept = {
                name: each.metadata._replace(last_producer_id=-1, last_producer_epoch=-1) for name, each in live.items()
            }
            assert run.replayed() == kept
