"""Range assignment, the default: each topic separately, in contiguous ranges of partitions.

With n partitions and m members the first n % m members get one partition more than the others; it is the same members
for every topic. Source: RangeAssignor.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.assignors.assignor import (
    CountingAssignor,
    Subscription,
    members_by_topic,
    partitions_of,
)


class RangeAssignor(CountingAssignor):
    """org.apache.kafka.clients.consumer.RangeAssignor."""

    name = "range"

    def assign_counts(
        self, counts: Mapping[str, int], subscriptions: Mapping[str, Subscription]
    ) -> dict[str, list[TopicPartition]]:
        shares: dict[str, list[TopicPartition]] = {member: [] for member in subscriptions}
        for topic, members in members_by_topic(subscriptions).items():
            partitions = partitions_of(topic, counts.get(topic, 0))
            each, extra = divmod(len(partitions), len(members))
            begin = 0
            for position, member in enumerate(members):
                end = begin + each + (position < extra)
                shares[member] += partitions[begin:end]
                begin = end
        return shares
