"""CompletedFetch records and errors that wait for poll().

Records that a poll took but did not hand out (delivery.py) come first in the next poll. Knows nothing of brokers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.delivery import Delivery, Returned
from kafka_py.clients.consumer.fetching.fetch_counts import FetchCounts
from kafka_py.clients.consumer.fetching.fetched import CompletedFetch
from kafka_py.clients.consumer.subscriptions import AssignedPartition, Subscriptions

ANSWERS_AHEAD = 2
"""Responses buffered per partition before it is left out of fetches: one to hand out, and one in reserve."""


class _Waiting(NamedTuple):
    """An error for the application. generation: that of the partition's position when the error occurred."""

    error: KafkaError
    generation: int


class HeldAnswers:
    """The records and errors that wait in one consumer. on_event: called when something was added."""

    def __init__(self, subscriptions: Subscriptions, counts: FetchCounts, on_event: Callable[[], object]) -> None:
        self._subscriptions = subscriptions
        self._counts = counts
        self._on_event = on_event
        self._answers: deque[CompletedFetch | Returned] = deque()
        self._held: dict[TopicPartition, int] = {}
        self._delivery = Delivery()
        self._errors: dict[TopicPartition | int, _Waiting] = {}
        """The latest error of each partition (or node id), oldest first."""

    def add(self, fetched: CompletedFetch) -> None:
        """Adds records of a partition, after those that are buffered."""
        self._answers.append(fetched)
        self._count(fetched.topic_partition, 1)
        self._subscriptions.touch(fetched.topic_partition)
        self._on_event()

    def has_enough(self, partition: TopicPartition) -> bool:
        """Whether enough responses of a partition are buffered, so that it is not fetched."""
        return self._held.get(partition, 0) >= ANSWERS_AHEAD

    def _count(self, partition: TopicPartition, change: int) -> None:
        before = self._held.get(partition, 0)
        self._held[partition] = before + change
        if (before >= ANSWERS_AHEAD) is not (before + change >= ANSWERS_AHEAD):
            self._subscriptions.touch(partition)

    # ---- errors

    def node_failed(self, node_id: int, error: KafkaError) -> None:
        """Notes an error of a broker; the next poll without records raises it."""
        self._errors[node_id] = _Waiting(error, 0)
        self._on_event()

    def node_works(self, node_id: int) -> None:
        """Drops the error of a broker that has not been raised."""
        self._errors.pop(node_id, None)

    def partition_failed(self, state: AssignedPartition, error: KafkaError) -> None:
        """Notes an error of a partition; the next poll without records raises it, unless the position has changed."""
        self._errors[state.topic_partition] = _Waiting(error, state.generation)
        self._subscriptions.touch(state.topic_partition)
        self._on_event()

    def has_error(self, state: AssignedPartition) -> bool:
        """Whether an error of the partition waits; it is not fetched until poll has raised the error."""
        if not self._errors:
            return False
        waiting = self._errors.get(state.topic_partition)
        return waiting is not None and waiting.generation == state.generation

    def _next_error(self) -> KafkaError | None:
        """Removes and returns the oldest error that is still valid: its partition's position has not changed."""
        for where, waiting in list(self._errors.items()):
            if isinstance(where, TopicPartition):
                state = self._subscriptions.get(where)
                if state is not None and state.generation == waiting.generation and state.paused:
                    continue
                del self._errors[where]
                self._subscriptions.touch(where)
                if state is None or state.generation != waiting.generation:
                    continue
            else:
                del self._errors[where]
            return waiting.error
        return None

    # ---- records

    def collect(self, limit: int) -> Delivery:
        """Takes up to `limit` buffered records; those that the last delivery did not hand out come first.

        Raises an error that waits, unless there are records to return first.
        """
        self._take_back()
        delivery = self._delivery = Delivery()
        aside: list[CompletedFetch | Returned] = []
        try:
            self._collect(delivery, limit, aside)
        finally:
            self._answers.extendleft(reversed(aside))
            delivery.close()
        if self._errors and not delivery.records and (error := self._next_error()) is not None:
            raise error
        return delivery

    def _collect(self, delivery: Delivery, limit: int, aside: list[CompletedFetch | Returned]) -> None:
        """Adds records to a delivery. aside: collects the responses of paused partitions."""
        taken = 0
        while taken < limit and self._answers:
            fetched = self._answers[0]
            state = self._subscriptions.get(fetched.topic_partition)
            if state is None or state.generation != fetched.generation:
                self._drop_first()
                continue
            if state.paused:
                aside.append(self._answers.popleft())
                continue
            try:
                records = fetched.take(limit - taken)
            except KafkaError:
                if taken:
                    break
                raise
            taken += len(records)
            delivery.add(state, records, fetched.next_offset, fetched.leader_epoch)
            if records and isinstance(fetched, CompletedFetch):
                self._counts.consumed(state, len(records), fetched.take_size(), fetched.next_offset)
            if fetched.exhausted:
                self._drop_first()

    def _take_back(self) -> None:
        """Ends the last delivery: records that were not handed out are put before all other buffered records."""
        for part in reversed(self._delivery.end().values()):
            if part.is_current:
                state = part.state
                part.stop()
                if not part.is_handed_out and self._subscriptions.get(state.topic_partition) is state:
                    self._answers.appendleft(Returned(part))
                    self._count(state.topic_partition, 1)
                state.end_delivery()

    def _drop_first(self) -> None:
        fetched = self._answers.popleft()
        self._count(fetched.topic_partition, -1)

    def clear(self) -> None:
        """Drops the records."""
        self._answers.clear()
