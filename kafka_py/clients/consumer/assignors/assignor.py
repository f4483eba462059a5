"""The interface of assignors: a name that all members of a group share, and a function from subscriptions to shares.

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
    """What members do with their partitions before a join: revoke all (eager), or keep them (cooperative)."""

    EAGER = 0
    COOPERATIVE = 1


@dataclass(frozen=True, slots=True)
class Subscription:
    """The subscription of one member. owned: the partitions it still has; user_data: of `subscription_user_data`."""

    topics: Sequence[str]
    user_data: bytes | None = None
    owned: Sequence[TopicPartition] = ()
    group_instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """The assignment of one member; user_data is passed to its `on_assignment`."""

    partitions: Sequence[TopicPartition]
    user_data: bytes | None = None


class GroupMetadata(NamedTuple):
    """A consumer's generation and member id; a transactional producer commits offsets with them (KIP-447)."""

    group_id: str
    generation_id: int = UNKNOWN_GENERATION
    member_id: str = UNKNOWN_MEMBER
    group_instance_id: str | None = None


Assignments = Mapping[str, Assignment | Sequence[TopicPartition]]
"""The assignments by member id."""


class Assignor:
    """Base of all assignors, built in or written by users.

    name: identifies the assignor among all members of the group; must be unique in partition.assignment.strategy.
    protocols: the rebalance protocols that it supports; a consumer uses the highest that all its assignors share.
    A method `configure(configs)`, if there is one, is called with the consumer's settings.
    """

    name: str
    protocols: tuple[RebalanceProtocol, ...] = (RebalanceProtocol.EAGER,)

    def subscription_user_data(self, topics: Collection[str]) -> bytes | None:
        """Bytes for the leader's assignor that this member sends with its topics; None for none."""
        return None

    def assign(self, cluster: ClusterView, subscriptions: Mapping[str, Subscription]) -> Assignments:
        """The assignment of each member, by member id. Members that are left out get no partitions.

        subscriptions: by member id. cluster: contains all subscribed topics that exist.
        """
        raise TypeError(f"{type(self).__name__} does not say how it assigns")

    def on_assignment(self, assignment: Assignment, group: GroupMetadata) -> None:
        """Called with the assignment of this member, before the rebalance listener is called."""


class CountingAssignor(Assignor):
    """Base of assignors that use only topics and their numbers of partitions."""

    def assign(self, cluster: ClusterView, subscriptions: Mapping[str, Subscription]) -> Assignments:
        wanted = {topic for subscription in subscriptions.values() for topic in subscription.topics}
        return self.assign_counts(partition_counts(cluster, wanted), subscriptions)

    def assign_counts(
        self, counts: Mapping[str, int], subscriptions: Mapping[str, Subscription]
    ) -> dict[str, list[TopicPartition]]:
        """The partitions of each member. counts: number of partitions by topic, for topics that exist."""
        raise TypeError(f"{type(self).__name__} does not say how it assigns")


def partition_counts(cluster: ClusterView, topics: Iterable[str]) -> dict[str, int]:
    """The number of partitions of each of these topics; unknown topics are left out."""
    known = ((topic, cluster.topics.get(topic)) for topic in topics)
    return {topic: len(info.partitions) for topic, info in known if info is not None and info.partitions}


def in_order(members: Iterable[str], subscriptions: Mapping[str, Subscription]) -> list[str]:
    """Members in the order of assignment: static ones by group.instance.id, then the others by member id."""

    def key(member: str) -> tuple[bool, str]:
        instance = subscriptions[member].group_instance_id
        return (instance is None, member if instance is None else instance)

    return sorted(members, key=key)


def members_by_topic(subscriptions: Mapping[str, Subscription]) -> dict[str, list[str]]:
    """The subscribed members of each topic, in the order of `in_order`."""
    by_topic: dict[str, list[str]] = defaultdict(list)
    for member in in_order(subscriptions, subscriptions):
        for topic in dict.fromkeys(subscriptions[member].topics):
            by_topic[topic].append(member)
    return dict(by_topic)


def partitions_of(topic: str, count: int) -> list[TopicPartition]:
    """All partitions of a topic."""
    return [TopicPartition(topic, number) for number in range(count)]
