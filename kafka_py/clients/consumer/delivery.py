"""Records between the fetcher and the application, and how many of them were handed out to the application.

A poll takes records from the fetcher as one Delivery. That alone moves no position: a partition's position is computed
from the records handed out, so a poll that is cancelled, timed out or interrupted before it returns has lost no record,
and a commit stores no offset that the application has not reached. `hand_out` gives all records at once and is the last
step of poll; iterating gives one record at a time. The rest is returned by the next poll (held.py).

The blocking consumer hands out records in the application's thread, everything else happens on the event loop. That
needs no lock: the application's thread only stores `complete` and moves a list iterator, and the loop only reads these.
An iteration does no extra work per record: its progress is computed from the rest of the list iterator, and whatever
invalidates the delivery (a seek, a pause, a revocation, the next poll) exhausts that iterator.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import length_hint
from typing import TYPE_CHECKING

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.fetching.records import ConsumerRecord, ConsumerRecords
from kafka_py.clients.consumer.interceptors import ConsumerInterceptors

if TYPE_CHECKING:
    from kafka_py.clients.consumer.subscriptions import AssignedPartition


class DeliveredPartition:
    """The records of one partition in a delivery.

    start, start_epoch: the position before the first record (inclusive), and its leader epoch.
    end_offset, end_epoch: those after the last record (exclusive), past batches without records for the application.
    """

    __slots__ = (
        "_cursor", "_handed", "delivery", "end_epoch", "end_offset", "records", "start", "start_epoch", "state",
    )  # fmt: skip

    def __init__(self, delivery: Delivery, state: AssignedPartition, records: list[ConsumerRecord]) -> None:
        self.delivery = delivery
        self.state = state
        assert state.position is not None  # otherwise nothing would have been fetched
        self.start, self.start_epoch = state.position, state.offset_epoch
        self.records = records
        self.end_offset, self.end_epoch = self.start, self.start_epoch
        self._handed = 0
        self._cursor: Iterator[ConsumerRecord] | None = None

    @property
    def handed(self) -> int:
        """How many of the records were handed out; all of them once the delivery is `complete`."""
        if self._cursor is None:
            return self._handed
        return len(self.records) - length_hint(self._cursor)

    def hand_on(self, handed: int) -> None:
        """Notes how many of the records were handed out."""
        self._handed = handed

    def iterator(self) -> Iterator[ConsumerRecord]:
        """The records; each is handed out when the iterator returns it. To be called once."""
        self._cursor = iter(self.records)
        return self._cursor

    def stop(self) -> None:
        """Ends an iteration over the records; those that it has returned remain handed out."""
        cursor = self._cursor
        if cursor is not None:
            self._handed = len(self.records) - len(list(cursor))  # list() takes the rest in one step for all threads
            self._cursor = None

    @property
    def is_current(self) -> bool:
        """Whether these records still follow the position; not after a seek, a reset or another poll."""
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
    """The records that one poll has taken from the fetcher."""

    __slots__ = ("complete", "parts", "records")

    def __init__(self) -> None:
        self.parts: dict[TopicPartition, DeliveredPartition] = {}
        self.records = ConsumerRecords()
        self.complete = False

    def add(self, state: AssignedPartition, records: list[ConsumerRecord], end_offset: int, end_epoch: int) -> None:
        """Adds records of a partition after those already added; none of them if only the position moves."""
        part = self.parts.get(state.topic_partition)
        if part is None:
            part = self.parts[state.topic_partition] = DeliveredPartition(self, state, records)
            state.delivered = part
        else:
            part.records.extend(records)
        part.end_offset, part.end_epoch = end_offset, end_epoch

    def close(self) -> None:
        """Ends the adding of records."""
        self.records = ConsumerRecords({each: part.records for each, part in self.parts.items() if part.records})

    def end(self) -> dict[TopicPartition, DeliveredPartition]:
        """Removes and returns the parts. They refer to the delivery, and a cycle would delay the freeing of records."""
        parts, self.parts = self.parts, {}
        return parts

    def hand_out(self, interceptors: ConsumerInterceptors) -> ConsumerRecords:
        """All records, as changed by the interceptors. Nothing may raise after `complete` is assigned."""
        records = self.records
        if interceptors and records:
            records = interceptors.on_consume(records)
        self.complete = True
        return records

    def one_by_one(self, interceptors: ConsumerInterceptors) -> Iterator[Iterator[ConsumerRecord]]:
        """Iterators over the records, one per partition, to be consumed one after the other.

        An iterator ends early when its partition is paused, sought or no longer assigned.
        """
        if interceptors and self.records:
            yield self._changed(interceptors.on_consume(self.records))
            return
        for part in self.parts.values():
            if part.is_current and not part.state.paused:
                yield part.iterator()

    def _changed(self, records: ConsumerRecords) -> Iterator[ConsumerRecord]:
        """Records as changed by interceptors; each record hands out all records with offsets up to its own."""
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
                part.hand_on(len(part.records))  # those that interceptors have removed


class Returned:
    """Records of a delivery that were not handed out, with the interface of CompletedFetch for the next poll."""

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
