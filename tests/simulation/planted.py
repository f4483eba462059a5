"""Runs the simulation with a fault planted into the broker: `planted.py NAME [options of the simulation]`."""

import sys

from kafka_py.base.errors import ErrorCode
from kafka_py.broker.handlers.records import write_txn_markers
from kafka_py.clients.consumer.async_consumer import AsyncConsumer
from kafka_py.controller.model import elections
from kafka_py.coordinator.groups.offsets import GroupOffsets
from kafka_py.coordinator.transactions.transaction import TransactionMetadata
from kafka_py.log.cleaner import Cleaner
from kafka_py.log.partition.log_compaction import LogCompaction
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.log.state.producer_state import ProducerStates
from kafka_py.records.control import ControlType
from kafka_py.replication.state import partition
from kafka_py.replication.state.isr import PendingShrinkIsr
from kafka_py.replication.state.partition import Partition
from kafka_py.replication.state.reads import Isolation
from kafka_py.testing.simulation.__main__ import main
from kafka_py.testing.simulation.nodes import current_node


def acknowledge_at_once():
    """acks=all is answered before the in-sync replicas have the records."""
    Partition.acks_all_outcome = lambda self, required_offset: ErrorCode.NONE


def commit_at_once():
    """The high watermark is the leader's log end."""

    def raise_to_the_end(self, now_ms):
        if self.log is None or self.log.high_watermark == self.log.log_end_offset:
            return False
        self.log.update_high_watermark(self.log.log_end_offset)
        return True

    Partition.maybe_raise_high_watermark = raise_to_the_end


def read_to_the_end():
    """Consumers read what is not committed."""
    read = Partition.read

    def read_all(self, entry, max_bytes, isolation, **options):
        return read(self, entry, max_bytes, Isolation.LOG_END, **options)

    Partition.read = read_all


def shrink_at_once():
    """A replica that leaves the in-sync set counts no longer before that is written."""
    PendingShrinkIsr.__post_init__ = lambda self: object.__setattr__(self, "maximal", self.intended)


def join_too_early():
    """A follower joins the in-sync set although it does not hold all that is committed."""
    partition.may_join = lambda isr, end_offset, high_watermark, leader_epoch_start: (
        not isr.in_flight and leader_epoch_start is not None and end_offset >= leader_epoch_start
    )


def forget_truncations():
    """A log that is cut below what is compacted counts as compacted as far as before."""
    note_truncation = PartitionLog.note_truncation

    def ends_at_and_forget(self, *offsets):
        before = self.compaction.cleaned_to
        note_truncation(self, *offsets)
        self.compaction.cleaned_to = before

    PartitionLog.note_truncation = ends_at_and_forget


def skip_the_table():
    """Once in the life of a log a part of it counts as compacted that was not."""
    begin = PartitionLog.begin_append
    skipped = set()

    def begin_and_skip(self, *arguments, **options):
        if self.config.is_compacted and self.log_end_offset > 90 and id(self) not in skipped:
            skipped.add(id(self))
            self.compaction.cleaned_to = max(self.compaction.cleaned_to, self.segments[-1].base_offset)
        return begin(self, *arguments, **options)

    PartitionLog.begin_append = begin_and_skip


def inherit_compaction():
    """A topic that is made again counts as compacted as far as the former one of its name was on that broker."""
    known = {}
    begin = PartitionLog.begin_append
    note = LogCompaction.note_cleaned

    def begin_and_inherit(self, *arguments, **options):
        cleaned_to, topic_id = known.get((current_node(), self.topic_partition), (0, self.topic_id))
        if topic_id != self.topic_id and self.log_end_offset >= cleaned_to:
            self.compaction.cleaned_to = max(self.compaction.cleaned_to, min(cleaned_to, self.segments[-1].base_offset))
        return begin(self, *arguments, **options)

    def note_and_keep(self, job):
        note(self, job)
        log = self._log
        known.setdefault((current_node(), log.topic_partition), (self.cleaned_to, log.topic_id))

    PartitionLog.begin_append = begin_and_inherit
    LogCompaction.note_cleaned = note_and_keep


def compact_while_moving():
    """A log is compacted while it is copied to another directory; then the copy counts as compacted as far."""
    make = Cleaner.__init__

    class NeverMoving:
        def __init__(self, logs):
            self._logs = logs

        def __getattr__(self, name):
            return (lambda log: False) if name == "is_moving" else getattr(self._logs, name)

    def make_restless(self, *arguments, logs, **options):
        make(self, *arguments, logs=NeverMoving(logs), **options)

    Cleaner.__init__ = make_restless
    Cleaner.abort = lambda self, topic_partition: None


def append_repeated():
    """Batches that producers send again are appended again."""
    ProducerStates.check = lambda self, header, from_client: None


def elect_anybody():
    """Any live replica may lead, in sync or not."""
    elections.offline = lambda replicas, isr, alive, unclean_permitted: next(
        (elections.Elected(one, (one,), tuple(set(alive) & set(replicas))) for one in replicas if one in alive), None
    )


def lose_the_log_start():
    """A log start that the leader moved is lost again at times."""
    advance = PartitionLog.advance_log_start_offset

    def advance_and_lose(self, offset):
        moved = advance(self, offset)
        if moved and offset % 3 == 0:
            self.log_start_offset = max(offset - 2, self.segments[0].base_offset)
        return moved

    PartitionLog.advance_log_start_offset = advance_and_lose


def commit_what_was_not_read():
    """Members commit more than they were handed."""
    commit = AsyncConsumer.commit

    async def commit_too_much(self, offsets=None, *arguments, **options):
        await commit(self, {each: offset + 1 for each, offset in (offsets or {}).items()}, *arguments, **options)

    AsyncConsumer.commit = commit_too_much


def fall_back():
    """A follower's high watermark is one record too low now and then."""
    update = PartitionLog.update_high_watermark

    def update_too_low(self, high_watermark):
        return update(self, high_watermark - (high_watermark % 20 == 0))

    PartitionLog.update_high_watermark = update_too_low


def read_open_transactions():
    """The last stable offset is the high watermark."""
    PartitionLog.last_stable_offset = property(lambda self: self.high_watermark)


def commit_what_is_aborted():
    """The markers of aborted transactions commit."""
    marker = write_txn_markers.end_txn_marker
    write_txn_markers.end_txn_marker = lambda _type, **fields: marker(ControlType.COMMIT, **fields)


def keep_the_epoch():
    """A producer that starts does not fence the one before it."""
    initialized = TransactionMetadata.initialized

    def initialized_alike(self, producer_id, producer_epoch, *others):
        return initialized(self, producer_id, max(self.producer_epoch, 0), *others)

    TransactionMetadata.initialized = initialized_alike


def forget_transactional_offsets():
    """Offsets that were committed in a transaction are dropped by its marker now and then."""
    complete = GroupOffsets.complete_txn

    def complete_or_abort(self, end):
        return complete(self, end._replace(is_commit=end.is_commit and end.marker_offset % 5 != 0))

    GroupOffsets.complete_txn = complete_or_abort


FAULTS = {
    each.__name__.replace("_", "-"): each
    for each in (
        acknowledge_at_once, append_repeated, commit_at_once, commit_what_is_aborted, commit_what_was_not_read,
        compact_while_moving, elect_anybody, fall_back, forget_transactional_offsets, forget_truncations,
        inherit_compaction, join_too_early, keep_the_epoch, lose_the_log_start, read_open_transactions,
        read_to_the_end, shrink_at_once, skip_the_table,
    )
}  # fmt: skip

if __name__ == "__main__":
    FAULTS[sys.argv.pop(1)]()
    sys.exit(main())
