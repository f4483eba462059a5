"""Each topic by itself, in contiguous ranges: the classic default.

With n partitions and m members the first n % m members get one more than the others; over many topics it is always
the same members that do. Source: RangeAssignor.
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
