"""Producer id, epoch and sequences: what makes a retry of a batch harmless (KIP-98, KIP-360).

Every batch of a partition carries a sequence; the leader refuses gaps and recognises duplicates. The rules here decide,
per partition, which batch may be sent next and what a response means. When a batch certainly did not arrive although
its successors were sent, or has failed for good, the sequences have a gap: the lane waits for all responses, then
restarts at sequence 0 under the next epoch, which the idempotent producer may increment by itself.

Pure: requests no id and sends nothing; sender.py does. Source: KIP-98, KIP-360; docs/reference/log.md, section 8.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.producer.batches import NO_SEQUENCE, ProducerBatch, advance_sequence
from kafka_py.clients.producer.lanes import Lane

MAX_EPOCH = 32_767
GAPS = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID)
"""Errors that say: the broker does not have the batch before this one."""


class ProducerIdentity:
    """The id and epoch of one idempotent producer; `producer_id` is -1 until InitProducerId has succeeded."""

    def __init__(self) -> None:
        self.producer_id = -1
        self.epoch = -1

    @property
    def is_known(self) -> bool:
        return self.producer_id >= 0

    def assume(self, producer_id: int, epoch: int) -> None:
        """Takes the response to InitProducerId. A lane changes to this id once it has nothing in flight."""
        self.producer_id = producer_id
        self.epoch = epoch

    def forget(self) -> None:
        """Drops id and epoch; a new id has to be requested."""
        self.producer_id = self.epoch = -1

    def next_to_send(self, lane: Lane) -> int | None:
        """Index in the lane's queue of the batch that may be sent now; None while it has to wait for responses.

        A retried batch is sent alone: while its result is unknown, its successors would only be refused. So is the
        first batch of an id and epoch: a leader that has not seen these accepts any sequence, also the second batch's.
        """
        first = lane.queue[0]
        if lane.in_flight and not self._may_follow(lane, first):
            return None
        if first.sequence == NO_SEQUENCE:
            return None if lane.bumping else 0
        return next((index for index, batch in enumerate(lane.queue) if self._may_repeat(batch)), None)

    def _may_follow(self, lane: Lane, batch: ProducerBatch) -> bool:
        """Whether a batch may be sent while others of its lane are in flight."""
        return (
            batch.sequence == NO_SEQUENCE
            and lane.last_acked_sequence != NO_SEQUENCE
            and (lane.producer_id, lane.producer_epoch) == (self.producer_id, self.epoch)
            and not any(each.attempts > 1 for each in lane.in_flight)
        )

    @staticmethod
    def _may_repeat(batch: ProducerBatch) -> bool:
        return batch.sequence != NO_SEQUENCE and not batch.rejected

    def stamp(self, batch: ProducerBatch) -> None:
        """Assigns producer id, epoch and sequence to a batch that is sent for the first time."""
        lane = batch.lane
        if batch.sequence != NO_SEQUENCE:
            return
        if (lane.producer_id, lane.producer_epoch) != (self.producer_id, self.epoch):
            self._restart(lane)
        self._number(lane, batch)

    def _restart(self, lane: Lane) -> None:
        lane.producer_id, lane.producer_epoch = self.producer_id, self.epoch
        lane.next_sequence = 0
        lane.last_acked_sequence = NO_SEQUENCE
        lane.bumping = False

    @staticmethod
    def _number(lane: Lane, batch: ProducerBatch) -> None:
        batch.producer_id, batch.producer_epoch = lane.producer_id, lane.producer_epoch
        batch.sequence = lane.next_sequence
        batch.rejected = False
        batch.data = None
        lane.next_sequence = advance_sequence(lane.next_sequence, len(batch.details))

    def acknowledge(self, batch: ProducerBatch) -> None:
        """Notes that the leader has appended the batch."""
        lane = batch.lane
        if (batch.producer_id, batch.producer_epoch) == (lane.producer_id, lane.producer_epoch):
            lane.last_acked_sequence = advance_sequence(batch.sequence, len(batch.details) - 1)

    def refuse(self, batch: ProducerBatch) -> bool:
        """Notes that the leader lacks what precedes the batch; a gap unless that is still to be sent.

        Returns whether the batch is to be sent again.
        """
        lane = batch.lane
        batch.rejected = True
        if batch.sequence == self._expected(lane):
            lane.bumping = True
        return True

    @staticmethod
    def _expected(lane: Lane) -> int:
        acked = lane.last_acked_sequence
        return 0 if acked == NO_SEQUENCE else advance_sequence(acked, 1)

    def give_up(self, batch: ProducerBatch, error: KafkaError) -> None:
        """Notes that a batch will not be sent again: if it has a sequence, the lane restarts under a new epoch."""
        if batch.sequence != NO_SEQUENCE:
            batch.lane.bumping = True

    def settle(self, lane: Lane) -> bool:
        """Restarts a lane that has a gap and no request in flight. Returns whether the lane may send now.

        Without a gap, refused batches are sent again in order.
        """
        if lane.in_flight:
            return True
        if not lane.bumping:
            for batch in lane.queue:
                if batch.sequence == NO_SEQUENCE:
                    break
                batch.rejected = False
            return True
        if any(self._may_repeat(batch) for batch in lane.queue):
            return True
        if not self._bump(lane):
            return False
        for batch in lane.queue:
            if batch.sequence != NO_SEQUENCE:
                self._number(lane, batch)
        return True

    def _bump(self, lane: Lane) -> bool:
        """Moves a lane to the next epoch; False when the epochs are used up and a new producer id is needed."""
        if not self.is_known:
            return False
        if lane.producer_id == self.producer_id and lane.producer_epoch == self.epoch:
            if self.epoch >= MAX_EPOCH:
                self.forget()
                return False
            self.epoch += 1
        self._restart(lane)
        return True
