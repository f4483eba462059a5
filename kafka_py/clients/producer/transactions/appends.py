"""The accumulator of a transactional producer: it takes records only while a transaction is open.

The check is made where a batch is opened, under the lock, and not for each record: a commit or an abort first changes
the state, then closes all open batches, so that no record is taken between the two that the transaction would not have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka_py.clients.producer.accumulator import Accumulator
from kafka_py.clients.producer.batches import Callback, ProducerBatch


class TransactionalAccumulator(Accumulator):
    """check: raises when no transaction is open; set right after the accumulator is made."""

    check: Callable[[], object]

    def _room_for(self, *arguments: Any) -> tuple[ProducerBatch, bool] | None:
        self.check()
        return super()._room_for(*arguments)

    def append_batch(
        self, topic: str, partition: int, timestamp: int, records: bytes, count: int, callback: Callback
    ) -> bool:
        """As of the base. Raises also as `check`."""
        with self.lock:
            self.check()
            return super().append_batch(topic, partition, timestamp, records, count, callback)
