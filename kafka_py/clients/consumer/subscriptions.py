"""Which partitions a consumer reads, and where it stands in each.

`position` is what the application sees: the offset of the next record that poll() will return. `fetch_offset` runs
ahead of it by what is buffered. Everything here is plain state, changed by the consumer's own event loop only.
Kinds of subscription exclude each other; the group's kinds belong to the group membership.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Collection, Iterator

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.errors import IllegalState

EARLIEST_TIMESTAMP = -2
LATEST_TIMESTAMP = -1
"""What ListOffsets takes for the two ends of a partition."""


_generations = itertools.count(1)


class Kind(enum.Enum):
    """How the partitions are chosen."""

    NONE = "none"
    USER_ASSIGNED = "user assigned"


class AssignedPartition:
    """One partition being read.

    position, fetch_offset: None until known. reset_to: the timestamp whose offset is being looked up, None when no
    reset is going on. generation: another number after every jump, so that older answers are recognised.
    """

    __slots__ = (
        "fetch_offset", "generation", "high_watermark", "last_stable_offset", "log_start_offset", "offset_epoch",
        "paused", "position", "preferred_replica", "preferred_until_ms", "reset_to", "resetting", "retry_at",
        "topic_partition",
    )  # fmt: skip

    def __init__(self, topic_partition: TopicPartition) -> None:
        self.topic_partition = topic_partition
        self.position: int | None = None
        self.fetch_offset: int | None = None
        self.offset_epoch = -1
        """Leader epoch of the last record read; what a later validation of the position starts from (KIP-320)."""
        self.reset_to: int | None = None
        self.resetting = False
        self.paused = False
        self.retry_at = 0.0
        self.generation = next(_generations)
        self.high_watermark: int | None = None
        self.last_stable_offset: int | None = None
        self.log_start_offset: int | None = None
        self.preferred_replica = -1
        self.preferred_until_ms = 0.0

    def seek(self, offset: int) -> None:
        """Jumps: the next record returned is the first at or after `offset`."""
        self.position = self.fetch_offset = offset
        self.reset_to = None
        self.generation = next(_generations)

    def reset(self, timestamp: int) -> None:
        """Wants the offset at `timestamp` (or an end) as its position."""
        self.position = self.fetch_offset = None
        self.reset_to = timestamp
        self.generation = next(_generations)


class Subscriptions:
    """The assigned partitions of one consumer."""

    def __init__(self) -> None:
        self.kind = Kind.NONE
        self._assigned: dict[TopicPartition, AssignedPartition] = {}

    def assign(self, partitions: Collection[TopicPartition]) -> None:
        """Reads exactly these from now on; those it already read keep their position. None of them: as unsubscribe."""
        before = self._assigned
        self._assigned = {tp: before.get(tp) or AssignedPartition(tp) for tp in partitions}
        self.kind = Kind.USER_ASSIGNED if partitions else Kind.NONE

    def unsubscribe(self) -> None:
        self.assign(())

    def __iter__(self) -> Iterator[AssignedPartition]:
        return iter(self._assigned.values())

    def __contains__(self, partition: object) -> bool:
        return partition in self._assigned

    def get(self, partition: TopicPartition) -> AssignedPartition | None:
        return self._assigned.get(partition)

    def of(self, partition: TopicPartition) -> AssignedPartition:
        """The state of an assigned partition. Raises IllegalState when it is not assigned."""
        state = self._assigned.get(partition)
        if state is None:
            raise IllegalState(f"No current assignment for partition {partition}")
        return state

    def partitions(self) -> set[TopicPartition]:
        return set(self._assigned)

    def topics(self) -> set[str]:
        return {partition.topic for partition in self._assigned}

    def paused(self) -> set[TopicPartition]:
        return {state.topic_partition for state in self if state.paused}

    def check_not_empty(self) -> None:
        """Raises IllegalState when nothing was subscribed to."""
        if self.kind is Kind.NONE:
            raise IllegalState("Consumer is not subscribed to any topics or assigned any partitions")
