"""Sequences: what may be sent next, and when a partition starts over under the next epoch."""

from collections import deque

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.producer.accumulator import Lane
from kafka_py.clients.producer.batches import NO_SEQUENCE, ProducerBatch
from kafka_py.clients.producer.idempotence import MAX_EPOCH, ProducerIdentity
from kafka_py.records.builder import BatchBuilder

GONE = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "not delivered")


class World:
    """A lane, an identity, and the moves a sender would make."""

    def __init__(self) -> None:
        self.identity = ProducerIdentity()
        self.identity.assume(7, 0)
        self.lane = Lane("t", 0)

    def add(self, records: int = 1) -> ProducerBatch:
        batch = ProducerBatch(self.lane, BatchBuilder(), 1000, 1000, 0.0)
        batch.details = [(0, -1, 1)] * records
        self.lane.queue.append(batch)
        return batch

    def send(self) -> ProducerBatch | None:
        if not self.identity.settle(self.lane) or not self.lane.queue:
            return None
        index = self.identity.next_to_send(self.lane)
        if index is None:
            return None
        batch = self.lane.queue[index]
        del self.lane.queue[index]
        self.identity.stamp(batch)
        batch.attempts += 1
        self.lane.in_flight.append(batch)
        return batch

    def begin(self) -> None:
        """The first batch, which goes alone, with sequence 0."""
        batch = self.add()
        assert self.send() is batch
        self.acked(batch)

    def acked(self, batch: ProducerBatch) -> None:
        self.lane.in_flight.remove(batch)
        self.identity.acknowledge(batch)

    def back(self, *batches: ProducerBatch, gap: bool = False) -> None:
        for batch in batches:
            self.lane.in_flight.remove(batch)
            if gap:
                self.identity.refuse(batch)
        again = [*batches, *[each for each in self.lane.queue if each.sequence != NO_SEQUENCE]]
        rest = [each for each in self.lane.queue if each.sequence == NO_SEQUENCE]
        self.lane.queue = deque(sorted(again, key=lambda each: each.sequence) + rest)


def test_sequences_count_records_without_gaps() -> None:
    world = World()
    world.begin()
    a, b = world.add(3), world.add(2)
    assert world.send() is a
    assert world.send() is b
    assert (a.sequence, b.sequence) == (1, 4)
    assert (a.producer_id, a.producer_epoch) == (7, 0)


def test_the_first_batch_goes_alone() -> None:
    world = World()
    a, b = world.add(3), world.add()
    assert world.send() is a
    assert world.send() is None
    world.acked(a)
    assert world.send() is b
    assert (a.sequence, b.sequence) == (0, 3)


def test_a_batch_sent_again_keeps_its_sequence_and_goes_alone() -> None:
    world = World()
    world.begin()
    a, b = world.add(), world.add()
    world.send()
    world.send()
    world.add()
    world.back(a)
    assert world.send() is None  # b is still out
    world.back(b, gap=True)  # refused, because a was missing: no gap of ours
    assert not world.lane.bumping
    assert world.send() is a
    assert a.sequence == 1
    assert world.send() is None
    world.acked(a)
    assert world.send() is b
    assert (b.sequence, b.producer_epoch) == (2, 0)


def test_new_batches_wait_while_one_is_being_repeated() -> None:
    world = World()
    a = world.add()
    world.send()
    world.back(a)
    world.send()
    world.add()
    assert world.send() is None
    world.acked(a)
    assert world.send() is not None


def test_a_real_gap_starts_the_partition_over_under_the_next_epoch() -> None:
    world = World()
    world.begin()
    a, b = world.add(2), world.add()
    world.send()
    world.send()
    world.back(a, gap=True)  # it was the next the broker should expect: the broker lost its state
    assert world.lane.bumping
    assert world.send() is None
    world.back(b, gap=True)
    assert world.send() is a
    assert (a.producer_epoch, a.sequence) == (1, 0)
    assert (b.producer_epoch, b.sequence) == (1, 2)


def test_after_a_batch_is_given_up_its_successors_are_renumbered_only_once_surely_refused() -> None:
    world = World()
    world.begin()
    a, b = world.add(), world.add()
    world.send()
    world.send()
    world.lane.in_flight.remove(a)
    world.identity.give_up(a, GONE)
    world.back(b)  # no answer came: it may have been appended
    assert world.send() is b
    assert (b.sequence, b.producer_epoch) == (2, 0)
    world.back(b, gap=True)
    assert world.send() is b
    assert (b.sequence, b.producer_epoch) == (0, 1)


def test_other_partitions_take_the_new_epoch_when_nothing_of_theirs_is_in_flight() -> None:
    world = World()
    other = World()
    other.identity = world.identity
    first = other.add()
    other.send()
    a = world.add()
    world.send()
    world.lane.in_flight.remove(a)
    world.identity.give_up(a, GONE)
    world.add()
    assert world.send() is not None
    assert world.identity.epoch == 1
    second = other.add()
    assert other.send() is None
    other.acked(first)
    assert other.send() is second
    assert (second.producer_epoch, second.sequence) == (1, 0)


def test_when_the_epochs_are_used_up_a_new_id_is_needed() -> None:
    world = World()
    world.identity.assume(7, MAX_EPOCH)
    a = world.add()
    world.send()
    world.back(a, gap=True)
    assert world.send() is None
    assert not world.identity.is_known
    world.identity.assume(8, 0)
    assert world.send() is a
    assert (a.producer_id, a.producer_epoch, a.sequence) == (8, 0, 0)
