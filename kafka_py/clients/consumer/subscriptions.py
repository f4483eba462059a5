"""Which partitions a consumer reads, and its position in each.

`position` is what the application sees: the offset of the next record that it gets. `fetch_offset` is ahead of it by
the records that are buffered. While a delivery is open (delivery.py), the position is computed from the records handed
out. Everything here is plain state, changed on the consumer's event loop only. The types of subscription exclude each
other: partitions named by the user, topics, or a pattern of topics.
"""

from __future__ import annotations

import enum
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.errors import IllegalState
from kafka_py.clients.offsets import OffsetAndMetadata

if TYPE_CHECKING:
    from kafka_py.clients.consumer.delivery import DeliveredPartition

_generations = itertools.count(1)


class SubscriptionType(enum.Enum):
    """How the partitions are chosen."""

    NONE = "without a subscription"
    TOPICS = "subscribed to topics"
    PATTERN = "subscribed to a pattern"
    USER_ASSIGNED = "assigned partitions by the application"


class AssignedPartition:
    """One partition being read.

    fetch_offset: None until known. reset_to: the timestamp whose offset is being looked up, None while there is no
    reset. generation: changes with every seek or reset, so that responses to earlier fetches are recognised.
    fetch_epoch: leader epoch of the last record before fetch_offset, -1 when not known. validated_epoch: the leader
    epoch under which fetch_offset was last validated; validating: whether a validation is in progress.
    on_change: called with the partition when its position is set, or it is paused or resumed.
    """

    __slots__ = (
        "_offset_epoch", "_on_change", "_paused", "_position", "delivered", "fetch_epoch", "fetch_offset",
        "generation", "high_watermark", "last_stable_offset", "log_start_offset", "preferred_replica",
        "preferred_until_ms", "reset_to", "resetting", "retry_at", "topic_partition", "validated_epoch", "validating",
    )  # fmt: skip

    def __init__(
        self, topic_partition: TopicPartition, on_change: Callable[[TopicPartition], object] = lambda _: None
    ) -> None:
        self.topic_partition = topic_partition
        self._on_change = on_change
        self._position: int | None = None
        self._offset_epoch = -1
        self.delivered: DeliveredPartition | None = None
        """The records of this partition that the last poll took; None after a seek or reset."""
        self.fetch_offset: int | None = None
        self.fetch_epoch = -1
        self.validated_epoch = -1
        self.validating = False
        self.reset_to: int | None = None
        self.resetting = False
        self._paused = False
        self.retry_at = 0.0
        self.generation = next(_generations)
        self.high_watermark: int | None = None
        self.last_stable_offset: int | None = None
        self.log_start_offset: int | None = None
        self.preferred_replica = -1
        self.preferred_until_ms = 0.0

    @property
    def position(self) -> int | None:
        """The offset of the next record that the application gets; None until known."""
        delivered = self.delivered
        return self._position if delivered is None else delivered.position

    @property
    def offset_epoch(self) -> int:
        """Leader epoch of the last record handed out; committed with the position (KIP-320)."""
        delivered = self.delivered
        return self._offset_epoch if delivered is None else delivered.offset_epoch

    @property
    def paused(self) -> bool:
        """Whether the application has paused the partition."""
        return self._paused

    def pause(self) -> None:
        """No records are handed out until `resume`."""
        self._paused = True
        if self.delivered is not None:
            self.delivered.stop()
        self._on_change(self.topic_partition)

    def resume(self) -> None:
        """Ends `pause`."""
        self._paused = False
        self._on_change(self.topic_partition)

    def end_delivery(self) -> None:
        """Fixes the position after the records handed out; the rest of that delivery is not handed out."""
        if self.delivered is not None:
            self.delivered.stop()
        self._position, self._offset_epoch = self.position, self.offset_epoch
        self.delivered = None

    def seek(self, offset: int, leader_epoch: int = -1) -> None:
        """Sets the position: the next record returned is the first at or after `offset`.

        A position with a leader epoch is validated again before it is fetched from (KIP-320).
        """
        self.end_delivery()
        self._position = self.fetch_offset = offset
        self._offset_epoch = self.fetch_epoch = leader_epoch
        self.validated_epoch = -1
        self.reset_to = None
        self.generation = next(_generations)
        self._on_change(self.topic_partition)

    def reset(self, timestamp: int) -> None:
        """Drops the position; it will be looked up by `timestamp`, which may stand for an end of the log."""
        self.end_delivery()
        self._position = self.fetch_offset = None
        self.reset_to = timestamp
        self.generation = next(_generations)
        self._on_change(self.topic_partition)

    def needs_validation(self, leader_epoch: int) -> bool:
        """Whether fetch_offset has to be validated under this leader epoch."""
        return 0 <= self.fetch_epoch < leader_epoch and self.validated_epoch < leader_epoch

    def lag(self, *, committed: bool, position: int | None = None) -> int | None:
        """Records from the position (or a given one) to the end, as of the last fetch; None before the first.

        committed: whether the end is the last stable offset instead of the high watermark.
        """
        end = self.last_stable_offset if committed else self.high_watermark
        position = self.position if position is None else position
        return None if end is None or position is None else max(0, end - position)

    def lead(self, position: int | None = None) -> int | None:
        """Records from the log start offset to the position (or a given one), as of the last fetch."""
        start = self.log_start_offset
        position = self.position if position is None else position
        return None if start is None or position is None else max(0, position - start)


class Subscriptions:
    """The assigned partitions of one consumer, and what it subscribes to.

    changes: how often the assigned partitions have changed.

    subscribed: the subscribed topics, given by name or matched by the pattern. group_topics: the topics of the whole
    group on its leader, which needs their metadata; else empty.

    without_position: the assigned partitions whose position is not known.
    """

    def __init__(self) -> None:
        self.type = SubscriptionType.NONE
        self.changes = 0
        self.subscribed: frozenset[str] = frozenset()
        self.group_topics: frozenset[str] = frozenset()
        self.pattern: re.Pattern[str] | None = None
        self.without_position: dict[TopicPartition, AssignedPartition] = {}
        self._assigned: dict[TopicPartition, AssignedPartition] = {}
        self._touched: dict[TopicPartition, None] = {}

    # ---- what the application asks for

    def assign(self, partitions: Collection[TopicPartition]) -> None:
        """Reads exactly these partitions; those already assigned keep their position. Without any: unsubscribes.

        Raises IllegalState on a consumer that subscribes.
        """
        if partitions:
            self._become(SubscriptionType.USER_ASSIGNED)
            self.set_assigned(partitions)
        else:
            self.unsubscribe()

    def subscribe(self, topics: Collection[str]) -> None:
        """Subscribes to these topics. Raises IllegalState if the consumer has another type of subscription."""
        self._become(SubscriptionType.TOPICS)
        self.subscribed = frozenset(topics)

    def subscribe_pattern(self, pattern: re.Pattern[str]) -> None:
        """Subscribes to matching topics. Raises IllegalState if the consumer has another type of subscription."""
        self._become(SubscriptionType.PATTERN)
        self.pattern = pattern

    def matched(self, topics: Iterable[str]) -> None:
        """Sets the topics that match the pattern."""
        self.subscribed = frozenset(topics)

    def note_group_topics(self, topics: Iterable[str]) -> None:
        """Sets the topics to which the members of the group subscribe, on its leader."""
        self.group_topics = frozenset(topics)

    def _become(self, wanted: SubscriptionType) -> None:
        if self.type not in (SubscriptionType.NONE, wanted):
            raise IllegalState(f"this consumer is {self.type.value}; unsubscribe before it is {wanted.value}")
        self.type = wanted

    def unsubscribe(self) -> None:
        self.set_assigned(())
        self.subscribed = self.group_topics = frozenset()
        self.pattern = None
        self.type = SubscriptionType.NONE

    @property
    def by_group(self) -> bool:
        """Whether the group assigns the partitions."""
        return self.type in (SubscriptionType.TOPICS, SubscriptionType.PATTERN)

    def matches(self, partition: TopicPartition) -> bool:
        """Whether the partition's topic is subscribed to."""
        if self.pattern is not None:
            return self.pattern.fullmatch(partition.topic) is not None
        return partition.topic in self.subscribed

    # ---- assigned partitions

    def set_assigned(self, partitions: Iterable[TopicPartition]) -> None:
        """Sets the assigned partitions; those already assigned keep their position."""
        before = self._assigned
        self._assigned = {tp: before.get(tp) or AssignedPartition(tp, self._moved) for tp in partitions}
        for partition in before.keys() - self._assigned.keys():
            before[partition].end_delivery()
        for partition in dict.fromkeys((*before, *self._assigned)):
            if (partition in before) is not (partition in self._assigned):
                self._moved(partition)
        self.changes += 1

    # ---- changed partitions

    def touch(self, partition: TopicPartition) -> None:
        """Marks a partition whose fetch may have changed: whether, from which offset or from which broker."""
        self._touched[partition] = None

    def _moved(self, partition: TopicPartition) -> None:
        """As `touch`, when the position may have changed."""
        self.touch(partition)
        state = self._assigned.get(partition)
        if state is not None and state.position is None:
            self.without_position[partition] = state
        else:
            self.without_position.pop(partition, None)

    def touch_all(self) -> None:
        """As `touch`, for all assigned partitions."""
        self._touched.update(dict.fromkeys(self._assigned))

    def take_touched(self) -> Iterable[TopicPartition]:
        """The partitions touched since the last call."""
        touched, self._touched = self._touched, {}
        return touched

    def __iter__(self) -> Iterator[AssignedPartition]:
        return iter(self._assigned.values())

    def __contains__(self, partition: object) -> bool:
        return partition in self._assigned

    def __len__(self) -> int:
        return len(self._assigned)

    def get(self, partition: TopicPartition) -> AssignedPartition | None:
        return self._assigned.get(partition)

    def of(self, partition: TopicPartition) -> AssignedPartition:
        """The state of an assigned partition. Raises IllegalState when it is not assigned."""
        state = self._assigned.get(partition)
        if state is None:
            raise IllegalState(f"{partition} is not assigned to this consumer")
        return state

    def partitions(self) -> set[TopicPartition]:
        return set(self._assigned)

    def topics(self) -> set[str]:
        """The topics whose metadata is needed: those of assigned partitions, and the subscribed ones."""
        assigned = {partition.topic for partition in self._assigned}
        return assigned.union(self.subscribed, self.group_topics)

    def paused(self) -> set[TopicPartition]:
        return {state.topic_partition for state in self if state.paused}

    def consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """The positions of all partitions that have one, to be committed."""
        return {
            state.topic_partition: OffsetAndMetadata(position, "", state.offset_epoch)
            for state in self
            if (position := state.position) is not None
        }

    def check_not_empty(self) -> None:
        """Raises IllegalState without subscription and assignment."""
        if self.type is SubscriptionType.NONE:
            raise IllegalState("nothing to poll: subscribe to topics or assign partitions first")
