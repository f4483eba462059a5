"""Sticky assignment for the cooperative protocol (KIP-429): a partition moves to another member in two rebalances.

A partition that is to move is assigned to no member in this generation; its owner revokes it and joins again, and the
next generation assigns it. The user data is the generation (int32) in which the member got the partitions it owns, so
that a member that was absent does not reclaim partitions that were reassigned meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.assignors.assignor import (
    UNKNOWN_GENERATION,
    Assignment,
    CountingAssignor,
    GroupMetadata,
    RebalanceProtocol,
    Subscription,
)
from kafka_py.clients.consumer.assignors.balancing import MemberData, balance
from kafka_py.clients.consumer.protocol import decode_generation, encode_generation


class CooperativeStickyAssignor(CountingAssignor):
    """org.apache.kafka.clients.consumer.CooperativeStickyAssignor."""

    name = "cooperative-sticky"
    protocols = (RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER)

    def __init__(self) -> None:
        self._generation = UNKNOWN_GENERATION

    def on_assignment(self, assignment: Assignment, group: GroupMetadata) -> None:
        self._generation = group.generation_id

    def subscription_user_data(self, topics: Collection[str]) -> bytes | None:
        return encode_generation(self._generation)

    def assign_counts(
        self, counts: Mapping[str, int], subscriptions: Mapping[str, Subscription]
    ) -> dict[str, list[TopicPartition]]:
        claims = {
            member: MemberData(subscription.owned, decode_generation(subscription.user_data))
            for member, subscription in subscriptions.items()
        }
        return without_transfers(balance(counts, subscriptions, claims), subscriptions)


def without_transfers(
    shares: Mapping[str, list[TopicPartition]], subscriptions: Mapping[str, Subscription]
) -> dict[str, list[TopicPartition]]:
    """The shares without the partitions that another member still owns."""
    owners: dict[TopicPartition, set[str]] = {}
    for member, subscription in subscriptions.items():
        for partition in subscription.owned:
            owners.setdefault(partition, set()).add(member)
    return {
        member: [each for each in share if each not in owners or member in owners[each]]
        for member, share in shares.items()
    }
