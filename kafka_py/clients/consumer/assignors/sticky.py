"""Sticky assignment: balanced, with as few changes as possible from one rebalance to the next (KIP-54, KIP-341).

A member sends its previous assignment in its user data, in the layout of the Java consumer, so that both can be members
of one group.
Layout: previous assignment, an array of (topic string, array of int32); since version 1 the generation, int32.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.assignors.assignor import (
    UNKNOWN_GENERATION,
    Assignment,
    CountingAssignor,
    GroupMetadata,
    Subscription,
)
from kafka_py.clients.consumer.assignors.balancing import MemberData, balance
from kafka_py.clients.consumer.protocol import decode_claim, encode_claim


class StickyAssignor(CountingAssignor):
    """org.apache.kafka.clients.consumer.StickyAssignor."""

    name = "sticky"

    def __init__(self) -> None:
        self._had: Sequence[TopicPartition] | None = None
        self._generation = UNKNOWN_GENERATION

    def on_assignment(self, assignment: Assignment, group: GroupMetadata) -> None:
        self._had = list(assignment.partitions)
        self._generation = group.generation_id

    def subscription_user_data(self, topics: Collection[str]) -> bytes | None:
        return None if self._had is None else encode_claim(self._had, self._generation)

    def assign_counts(
        self, counts: Mapping[str, int], subscriptions: Mapping[str, Subscription]
    ) -> dict[str, list[TopicPartition]]:
        claims = {member: _claim(subscription) for member, subscription in subscriptions.items()}
        return balance(counts, subscriptions, claims)


def _claim(subscription: Subscription) -> MemberData:
    """The member's previous assignment; empty if the user data is missing or malformed."""
    return MemberData(*decode_claim(subscription.user_data))
