"""Which partitions a consumer reads, and where it stands in each.

`position` is what the application sees: the offset of the next record that it will be handed. `fetch_offset` runs
ahead of it by what is buffered. While a delivery is open (delivery.py) the position is computed from what was handed
out. Everything here is plain state, changed by the consumer's own event loop only. Kinds of subscription exclude each
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


class Kind(enum.Enum):
    """How the partitions are chosen."""

    NONE = "without a subscription"
    TOPICS = "subscribed to topics"
    PATTERN = "subscribed to a pattern"
    USER_ASSIGNED = "assigned partitions by hand"


class AssignedPartition:
    """One partition being read.

    fetch_offset: None until known. reset_to: the timestamp whose offset is being looked up, None when no
    reset is going on. generation: another number after every jump, so that older answers are recognised.
    fetch_epoch: leader epoch of the last record before fetch_offset, -1 when not known. validated_epoch: the leader
    epoch under which fetch_offset was last found to stand; validating: whether the leader is being asked.
    on_change: called with the partition when its position jumps, or it is paused or resumed.
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
        """What the last poll took of this partition; None after a jump."""
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
        """The offset of the next record for the application; None until known."""
        delivered = self.delivered
        return self._position if delivered is None else delivered.position

    @property
    def offset_epoch(self) -> int:
        """Leader epoch of the last record handed out; committed with the position (KIP-320)."""
        delivered = self.delivered
        return self._offset_epoch if delivered is None else delivered.offset_epoch

    @property
    def paused(self) -> bool:
        """Whether the application wants no records for now."""
        return self._paused

    def pause(self) -> None:
        """Nothing more is handed out until `resume`."""
        self._paused = True
        if self.delivered is not None:
            self.delivered.stop()
        self._on_change(self.topic_partition)

    def resume(self) -> None:
        """Undoes `pause`."""
        self._paused = False
        self._on_change(self.topic_partition)

    def end_delivery(self) -> None:
        """The position stays at what was handed out; the rest of that delivery is not handed out."""
        if self.delivered is not None:
            self.delivered.stop()
        self._position, self._offset_epoch = self.position, self.offset_epoch
        self.delivered = None

    def seek(self, offset: int, leader_epoch: int = -1) -> None:
        """Jumps: the next record returned is the first at or after `offset`.

        Whether records before a position with an epoch were truncated is checked again before it is fetched from.
        """
        self.end_delivery()
        self._position = self.fetch_offset = offset
        self._offset_epoch = self.fetch_epoch = leader_epoch
        self.validated_epoch = -1
        self.reset_to = None
        self.generation = next(_generations)
        self._on_change(self.topic_partition)

    def reset(self, timestamp: int) -> None:
        """Wants the offset at `timestamp` (or an end) as its position."""
        self.end_delivery()
        self._position = self.fetch_offset = None
        self.reset_to = timestamp
        self.generation = next(_generations)
        self._on_change(self.topic_partition)

    def needs_validation(self, leader_epoch: int) -> bool:
        """Whether records before fetch_offset may be gone, now that the partition has this leader epoch."""
        return 0 <= self.fetch_epoch < leader_epoch and self.validated_epoch < leader_epoch

    def lag(self, *, committed: bool, position: int | None = None) -> int | None:
        """Records between the position (or another one) and the end, as of the last fetch; None before the first.

        committed: the end is where the first open transaction begins.
        """
        end = self.last_stable_offset if committed else self.high_watermark
        position = self.position if position is None else position
        return None if end is None or position is None else max(0, end - position)

    def lead(self, position: int | None = None) -> int | None:
        """Records between the oldest one kept and the position (or another one), as of the last fetch."""
        start = self.log_start_offset
        position = self.position if position is None else position
        return None if start is None or position is None else max(0, position - start)


class Subscriptions:
    """The assigned partitions of one consumer, and what it subscribes to.

    changes: how often the assigned partitions have changed.

    topics: subscribed to, by name or because they match. group_topics: what the whole group subscribes to, which its
    leader has to know; else empty.

    without_position: the assigned partitions whose position is not known.
    """

    def __init__(self) -> None:
        self.kind = Kind.NONE
        self.changes = 0
        self.subscribed: frozenset[str] = frozenset()
        self.group_topics: frozenset[str] = frozenset()
        self.pattern: re.Pattern[str] | None = None
        self.without_position: dict[TopicPartition, AssignedPartition] = {}
        self._assigned: dict[TopicPartition, AssignedPartition] = {}
        self._touched: dict[TopicPartition, None] = {}

    # What the user wants

    def assign(self, partitions: Collection[TopicPartition]) -> None:
        """Reads exactly these from now on; those it already read keep their position. None of them: as unsubscribe.

        Raises IllegalState on a consumer that subscribes.
        """
        if partitions:
            self._become(Kind.USER_ASSIGNED)
            self.set_assigned(partitions)
        else:
            self.unsubscribe()

    def subscribe(self, topics: Collection[str]) -> None:
        """Reads what the group gives it of these topics. Raises IllegalState on one that has another kind."""
        self._become(Kind.TOPICS)
        self.subscribed = frozenset(topics)

    def subscribe_pattern(self, pattern: re.Pattern[str]) -> None:
        """Reads what the group gives it of topics that match. Raises IllegalState on one that has another kind."""
        self._become(Kind.PATTERN)
        self.pattern = pattern

    def matched(self, topics: Iterable[str]) -> None:
        """These topics match the pattern now."""
        self.subscribed = frozenset(topics)

    def note_group_topics(self, topics: Iterable[str]) -> None:
        """What the members of the group subscribe to together, as far as this one has to know."""
        self.group_topics = frozenset(topics)

    def _become(self, kind: Kind) -> None:
        if self.kind not in (Kind.NONE, kind):
            raise IllegalState(f"this consumer is {self.kind.value}; unsubscribe before it is {kind.value}")
        self.kind = kind

    def unsubscribe(self) -> None:
        self.set_assigned(())
        self.subscribed = self.group_topics = frozenset()
        self.pattern = None
        self.kind = Kind.NONE

    @property
    def by_group(self) -> bool:
        """Whether partitions come from the group."""
        return self.kind in (Kind.TOPICS, Kind.PATTERN)

    def matches(self, partition: TopicPartition) -> bool:
        """Whether the group may give us this partition."""
        if self.pattern is not None:
            return self.pattern.fullmatch(partition.topic) is not None
        return partition.topic in self.subscribed

    # What is read

    def set_assigned(self, partitions: Iterable[TopicPartition]) -> None:
        """Reads exactly these; those it already read keep their position."""
        before = self._assigned
        self._assigned = {tp: before.get(tp) or AssignedPartition(tp, self._moved) for tp in partitions}
        for partition in before.keys() - self._assigned.keys():
            before[partition].end_delivery()
        for partition in dict.fromkeys((*before, *self._assigned)):
            if (partition in before) is not (partition in self._assigned):
                self._moved(partition)
        self.changes += 1

    # What has changed

    def touch(self, partition: TopicPartition) -> None:
        """Something happened that may decide whether, or from where, the partition is fetched."""
        self._touched[partition] = None

    def _moved(self, partition: TopicPartition) -> None:
        """As `touch`, when the position may be another."""
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
        """Those to know about: of assigned partitions, and what is subscribed to."""
        assigned = {partition.topic for partition in self._assigned}
        return assigned.union(self.subscribed, self.group_topics)

    def paused(self) -> set[TopicPartition]:
        return {state.topic_partition for state in self if state.paused}

    def consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What a commit of all that was handed out stores."""
        return {
            state.topic_partition: OffsetAndMetadata(position, "", state.offset_epoch)
            for state in self
            if (position := state.position) is not None
        }

    def check_not_empty(self) -> None:
        """Raises IllegalState when nothing was subscribed to."""
        if self.kind is Kind.NONE:
            raise IllegalState("nothing to poll: subscribe to topics or assign partitions first")
