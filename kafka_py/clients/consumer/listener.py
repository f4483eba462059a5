"""How an application hears that partitions come and go. Source: KIP-429 (lost partitions)."""

from __future__ import annotations

from collections.abc import Awaitable, Collection

from kafka_py.base.ids import TopicPartition


class RebalanceListener:
    """Base of rebalance listeners; with AsyncConsumer its methods may be coroutine functions.

    They are called inside of `poll` (and `unsubscribe`, `close`), by the thread that polls, and may call the consumer.
    An exception in one of them is raised by that call, after the rebalance.
    """

    def on_partitions_revoked(self, partitions: Collection[TopicPartition]) -> Awaitable[None] | None:
        """These will be read by others from now on: the last chance to commit them."""
        return None

    def on_partitions_assigned(self, partitions: Collection[TopicPartition]) -> Awaitable[None] | None:
        """These are new here, none of their records was returned yet: the time to seek."""
        return None

    def on_partitions_lost(self, partitions: Collection[TopicPartition]) -> Awaitable[None] | None:
        """These are read by others already; a commit would fail."""
        return self.on_partitions_revoked(partitions)
