"""Sequences of a transactional producer: as of an idempotent one, but every epoch comes from the coordinator (KIP-360).

A batch goes out once its partition is part of the transaction. What the idempotent producer heals with an epoch of its
own choice (a batch that was dropped, a gap) fails the transaction here; the epoch after its abort starts at sequence 0.

Pure. Source: KIP-98, KIP-360; TransactionManager.
"""

from __future__ import annotations

from kafka_py.base.errors import KafkaError
from kafka_py.clients.producer.batches import NO_SEQUENCE, ProducerBatch
from kafka_py.clients.producer.idempotence import ProducerIdentity
from kafka_py.clients.producer.lanes import Lane
from kafka_py.clients.producer.transactions.manager import ProducerTransactions
from kafka_py.clients.producer.transactions.treatments import is_refusal


class TransactionalIdentity(ProducerIdentity):
    """The id and epoch of a transactional producer; `transactions` is set right after both are made."""

    transactions: ProducerTransactions

    def next_to_send(self, lane: Lane) -> int | None:
        """As of the base, None also while the partition is not part of the transaction."""
        if not self.transactions.may_send(lane.topic_partition):
            return None
        return super().next_to_send(lane)

    def stamp(self, batch: ProducerBatch) -> None:
        """As of the base; marks the batch as part of a transaction."""
        batch.builder.transactional = True
        super().stamp(batch)

    def refuse(self, batch: ProducerBatch) -> bool:
        """As of the base. Only a batch whose predecessors may still arrive is sent again."""
        batch.rejected = True
        return self.transactions.is_open and batch.sequence != self._expected(batch.lane)

    def give_up(self, batch: ProducerBatch, error: KafkaError) -> None:
        """Fails the transaction; a batch that was sent leaves a gap.

        Where brokers give no other epoch (before 2.5), the sequence of a batch that was certainly not stored is used
        again: the gap is closed when the responses to its successors, which are refused as well, are there.
        """
        has_gap = batch.sequence != NO_SEQUENCE
        # An earlier attempt without a response may have been stored, whatever the last one says.
        is_absent = batch.rejected or (batch.attempts <= 1 and is_refusal(error.code))
        if has_gap and is_absent and not self.transactions.can_renew:
            batch.lane.bumping = True
            has_gap = False
        self.transactions.batch_failed(error, has_gap=has_gap)

    def settle(self, lane: Lane) -> bool:
        """As of the base, which never has to begin a new epoch here."""
        if not lane.in_flight:
            if lane.bumping and not any(batch.sequence != NO_SEQUENCE for batch in lane.queue):
                lane.bumping = False
                lane.next_sequence = self._expected(lane)
            for batch in lane.queue:
                batch.rejected = False
        return True
