"""Rebalance listeners: how the application is notified of assigned and revoked partitions. Source: KIP-429 (lost)."""

from __future__ import annotations

from collections.abc import Awaitable, Collection

from kafka_py.base.ids import TopicPartition


class RebalanceListener:
    """Base of rebalance listeners; with AsyncConsumer its methods may be coroutine functions.

    They are called during `poll`, `unsubscribe` or `close`, by the thread that polls, and may call the consumer.
    An exception in one of them is raised by that call, after the rebalance.
    """

    def on_partitions_revoked(self, partitions: Collection[TopicPartition]) -> Awaitable[None] | None:
        """These partitions are being revoked; their offsets can still be committed."""
        return None

    def on_partitions_assigned(self, partitions: Collection[TopicPartition]) -> Awaitable[None] | None:
        """These partitions were added; none of their records was returned yet, so that the listener can seek."""
        return None

    def on_partitions_lost(self, partitions: Collection[TopicPartition]) -> Awaitable[None] | None:
        """These partitions may be assigned to other members already; a commit would fail."""
        return self.on_partitions_revoked(partitions)
