"""What an assignor is: a name that all members of a group know, and a function from their subscriptions to shares.

Knows nothing of the wire; protocol.py has the bytes. Source: KIP-54, KIP-429 (cooperative), KIP-345 (static members).
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.metadata import ClusterView

UNKNOWN_GENERATION = -1
UNKNOWN_MEMBER = ""


class RebalanceProtocol(enum.IntEnum):
    """What members do with their partitions during a rebalance: give all up first, or keep what stays theirs."""

    EAGER = 0
    COOPERATIVE = 1


@dataclass(frozen=True, slots=True)
class Subscription:
    """What one member wants. owned: the partitions it still reads; user_data: from `subscription_user_data`."""

    topics: Sequence[str]
    user_data: bytes | None = None
    owned: Sequence[TopicPartition] = ()
    group_instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one member gets; user_data reaches its `on_assignment`."""

    partitions: Sequence[TopicPartition]
    user_data: bytes | None = None


class GroupMetadata(NamedTuple):
    """A consumer as its group knows it; a transactional producer commits offsets in its name (KIP-447)."""

    group_id: str
    generation_id: int = UNKNOWN_GENERATION
    member_id: str = UNKNOWN_MEMBER
    group_instance_id: str | None = None


Assignments = Mapping[str, Assignment | Sequence[TopicPartition]]
"""What each member gets, by member id."""


class Assignor:
    """Base of all assignors, built in or written by users.

    name: what members of other makes know it by; must differ from all others in the group's lists.
    protocols: the rebalance protocols it is made for; a consumer uses the highest that all its assignors share.
    A method `configure(configs)` is called with the consumer's settings where there is one.
    """

    name: str
    protocols: tuple[RebalanceProtocol, ...] = (RebalanceProtocol.EAGER,)

    def subscription_user_data(self, topics: Collection[str]) -> bytes | None:
        """What this member tells the leader besides its topics."""
        return None

    def assign(self, cluster: ClusterView, subscriptions: Mapping[str, Subscription]) -> Assignments:
        """What each member gets. Members that are left out get nothing.

        subscriptions: by member id. cluster: knows all their topics that exist.
        """
        raise TypeError(f"{type(self).__name__} does not say how it assigns")

    def on_assignment(self, assignment: Assignment, group: GroupMetadata) -> None:
        """What this member got, before the rebalance listener hears of it."""


class CountingAssignor(Assignor):
    """Base of assignors that look at topics and partition counts only."""

    def assign(self, cluster: ClusterView, subscriptions: Mapping[str, Subscription]) -> Assignments:
        wanted = {topic for subscription in subscriptions.values() for topic in subscription.topics}
        return self.assign_counts(partition_counts(cluster, wanted), subscriptions)

    def assign_counts(
        self, counts: Mapping[str, int], subscriptions: Mapping[str, Subscription]
    ) -> dict[str, list[TopicPartition]]:
        """What each member gets. counts: partitions by topic, of topics that exist."""
        raise TypeError(f"{type(self).__name__} does not say how it assigns")


def partition_counts(cluster: ClusterView, topics: Iterable[str]) -> dict[str, int]:
    """How many partitions each of these topics has; those that are not known are left out."""
    known = ((topic, cluster.topics.get(topic)) for topic in topics)
    return {topic: len(info.partitions) for topic, info in known if info is not None and info.partitions}


def in_order(members: Iterable[str], subscriptions: Mapping[str, Subscription]) -> list[str]:
    """Members in the order in which partitions are dealt out: static ones by instance id, then the others by id."""

    def key(member: str) -> tuple[bool, str]:
        instance = subscriptions[member].group_instance_id
        return (instance is None, member if instance is None else instance)

    return sorted(members, key=key)


def members_by_topic(subscriptions: Mapping[str, Subscription]) -> dict[str, list[str]]:
    """Who subscribes to each topic, in order."""
    by_topic: dict[str, list[str]] = defaultdict(list)
    for member in in_order(subscriptions, subscriptions):
        for topic in dict.fromkeys(subscriptions[member].topics):
            by_topic[topic].append(member)
    return dict(by_topic)


def partitions_of(topic: str, count: int) -> list[TopicPartition]:
    """All partitions of a topic."""
    return [TopicPartition(topic, number) for number in range(count)]
