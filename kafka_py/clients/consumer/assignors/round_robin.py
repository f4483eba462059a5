"""Round-robin assignment: the partitions of all topics in turn; members that do not subscribe to a topic are skipped.

Balanced if all members subscribe to the same topics, otherwise often not.
Source: RoundRobinAssignor.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.assignors.assignor import (
    CountingAssignor,
    Subscription,
    in_order,
    members_by_topic,
    partitions_of,
)


class RoundRobinAssignor(CountingAssignor):
    """org.apache.kafka.clients.consumer.RoundRobinAssignor."""

    name = "roundrobin"

    def assign_counts(
        self, counts: Mapping[str, int], subscriptions: Mapping[str, Subscription]
    ) -> dict[str, list[TopicPartition]]:
        shares: dict[str, list[TopicPartition]] = {member: [] for member in subscriptions}
        subscribers = {topic: set(members) for topic, members in members_by_topic(subscriptions).items()}
        turns = cycle(in_order(subscriptions, subscriptions))
        for topic in sorted(subscribers):
            takers = subscribers[topic]
            for partition in partitions_of(topic, counts.get(topic, 0)):
                member = next(turns)
                while member not in takers:
                    member = next(turns)
                shares[member].append(partition)
        return shares
