"""Records between the fetcher and the application, and how many of them the application has been handed.

A poll takes records from the fetcher as one Delivery. That alone moves no position: a partition's position is computed
from what was handed out, so a poll that is cancelled, timed out or interrupted on its way to the application has lost
nothing and a commit stores nothing that the application has not seen. `hand_out` gives everything at once and is the
last step of poll; iterating gives one record at a time. What is left comes back with the next poll (fetcher.py).

The blocking consumer hands out in the application's thread, everything else happens on the event loop. That needs no
lock: the application's thread only stores `complete` and moves a list iterator, and the loop only reads these. An
iteration does nothing per record of its own: how far it is shows from what is left in the list iterator, and whatever
takes the partition away from under it (a seek, a pause, an end of the assignment, the next poll) stops that iterator.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import length_hint
from typing import TYPE_CHECKING

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.fetching.records import ConsumerRecord, ConsumerRecords
from kafka_py.clients.consumer.interceptors import Interceptors

if TYPE_CHECKING:
    from kafka_py.clients.consumer.subscriptions import AssignedPartition


class DeliveredPartition:
    """The records of one partition in a delivery.

    start, start_epoch: the position before the first record, and its leader epoch.
    end_offset, end_epoch: those after the last record, past batches that hold nothing for the application (exclusive).
    """

    __slots__ = (
        "_cursor", "_handed", "delivery", "end_epoch", "end_offset", "records", "start", "start_epoch", "state",
    )  # fmt: skip

    def __init__(self, delivery: Delivery, state: AssignedPartition, records: list[ConsumerRecord]) -> None:
        self.delivery = delivery
        self.state = state
        assert state.position is not None  # or nothing would have been fetched
        self.start, self.start_epoch = state.position, state.offset_epoch
        self.records = records
        self.end_offset, self.end_epoch = self.start, self.start_epoch
        self._handed = 0
        self._cursor: Iterator[ConsumerRecord] | None = None

    @property
    def handed(self) -> int:
        """How many of the records the application has; all of them once the delivery is `complete`."""
        if self._cursor is None:
            return self._handed
        return len(self.records) - length_hint(self._cursor)

    def hand_on(self, handed: int) -> None:
        """The application has so many of the records."""
        self._handed = handed

    def iterator(self) -> Iterator[ConsumerRecord]:
        """The records; each counts as handed out when the iterator returns it. To be called once."""
        self._cursor = iter(self.records)
        return self._cursor

    def stop(self) -> None:
        """An iteration over the records ends here; what it has returned remains handed out."""
        cursor = self._cursor
        if cursor is not None:
            self._handed = len(self.records) - len(list(cursor))  # list() takes the rest in one step for all threads
            self._cursor = None

    @property
    def is_current(self) -> bool:
        """Whether these records still continue what the application has; not after a seek, a reset or another poll."""
        return self.state.delivered is self

    @property
    def is_handed_out(self) -> bool:
        return self.delivery.complete or self.handed >= len(self.records)

    @property
    def position(self) -> int:
        """The offset of the next record for the application."""
        if self.is_handed_out:
            return self.end_offset
        return self.records[self.handed - 1].offset + 1 if self.handed else self.start

    @property
    def offset_epoch(self) -> int:
        """The leader epoch of the last record handed out."""
        if self.is_handed_out:
            return self.end_epoch
        return self.records[self.handed - 1].leader_epoch if self.handed else self.start_epoch


class Delivery:
    """What one poll has taken from the fetcher."""

    __slots__ = ("complete", "parts", "records")

    def __init__(self) -> None:
        self.parts: dict[TopicPartition, DeliveredPartition] = {}
        self.records = ConsumerRecords()
        self.complete = False

    def add(self, state: AssignedPartition, records: list[ConsumerRecord], end_offset: int, end_epoch: int) -> None:
        """More records of a partition, behind those that are there; none where only its position moves."""
        part = self.parts.get(state.topic_partition)
        if part is None:
            part = self.parts[state.topic_partition] = DeliveredPartition(self, state, records)
            state.delivered = part
        else:
            part.records.extend(records)
        part.end_offset, part.end_epoch = end_offset, end_epoch

    def close(self) -> None:
        """The delivery is complete: nothing is added to it after this."""
        self.records = ConsumerRecords({each: part.records for each, part in self.parts.items() if part.records})

    def end(self) -> dict[TopicPartition, DeliveredPartition]:
        """Forgets its parts, which refer to it: records are to be freed at once, not by the garbage collector."""
        parts, self.parts = self.parts, {}
        return parts

    def hand_out(self, interceptors: Interceptors) -> ConsumerRecords:
        """All records, as the interceptors leave them. From the assignment of `complete` on nothing may be raised."""
        records = self.records
        if interceptors and records:
            records = interceptors.on_consume(records)
        self.complete = True
        return records

    def one_by_one(self, interceptors: Interceptors) -> Iterator[Iterator[ConsumerRecord]]:
        """The records as they are taken from iterators, one after the other.

        An iterator ends early for a partition that is paused, sought or no longer assigned.
        """
        if interceptors and self.records:
            yield self._changed(interceptors.on_consume(self.records))
            return
        for part in self.parts.values():
            if part.is_current and not part.state.paused:
                yield part.iterator()

    def _changed(self, records: ConsumerRecords) -> Iterator[ConsumerRecord]:
        """Records that interceptors have changed: an offset counts as handed out with all offsets before it."""
        for record in records:
            part = self.parts.get(record.topic_partition)
            if part is not None:
                if not part.is_current or part.state.paused:
                    continue
                originals, handed = part.records, part.handed
                while handed < len(originals) and originals[handed].offset <= record.offset:
                    handed += 1
                part.hand_on(handed)
            yield record
        for part in self.parts.values():
            if part.is_current and not part.state.paused:
                part.hand_on(len(part.records))  # what interceptors have left out


class Returned:
    """Records that were taken for a delivery and not handed out: like Fetched, to be taken once more."""

    def __init__(self, part: DeliveredPartition) -> None:
        self.topic_partition = part.state.topic_partition
        self.generation = part.state.generation
        self._records = part.records[part.handed :]
        self._end_offset, self._end_epoch = part.end_offset, part.end_epoch
        self.next_offset = part.position
        self.leader_epoch = part.offset_epoch

    @property
    def exhausted(self) -> bool:
        return not self._records

    def take(self, limit: int) -> list[ConsumerRecord]:
        """The next records, `limit` at most."""
        taken, self._records = self._records[:limit], self._records[limit:]
        if not self._records:
            self.next_offset, self.leader_epoch = self._end_offset, self._end_epoch
        elif taken:
            self.next_offset, self.leader_epoch = taken[-1].offset + 1, taken[-1].leader_epoch
        return taken
