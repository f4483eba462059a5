"""Runs the simulation with a fault planted into the broker: `planted.py NAME [options of the simulation]`.

To be run under PYTHONHASHSEED=0, under which the simulation does not start itself again.
"""

import sys

from kafka_py.base.errors import ErrorCode
from kafka_py.log.partition_log import PartitionLog
from kafka_py.replication.isr import Shrinking
from kafka_py.replication.partition import Partition
from kafka_py.replication.reads import Isolation
from kafka_py.testing.simulation.__main__ import main


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
    Shrinking.maximal = property(lambda self: self.intended)


def join_too_early():
    """A follower joins the in-sync set although it does not hold all that is committed."""
    Partition._may_join = lambda self, progress: (
        self.log is not None
        and not self.isr.in_flight
        and self.leader_epoch_start is not None
        and progress.log_end_offset >= self.leader_epoch_start
    )


def fall_back():
    """A follower's high watermark is one record too low now and then."""
    update = PartitionLog.update_high_watermark

    def update_too_low(self, high_watermark):
        return update(self, high_watermark - (high_watermark % 20 == 0))

    PartitionLog.update_high_watermark = update_too_low


FAULTS = {
    each.__name__.replace("_", "-"): each
    for each in (acknowledge_at_once, commit_at_once, read_to_the_end, shrink_at_once, join_too_early, fall_back)
}

if __name__ == "__main__":
    FAULTS[sys.argv.pop(1)]()
    sys.exit(main())
