"""The fetch state of one followed partition, from which the entries of fetch requests are made. Decides nothing.

Source: docs/reference/replication.md, section 7; PartitionFetchState.
"""

from __future__ import annotations

from kafka_py.base.ids import TopicPartition
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.log.state.epochs import EpochEnd
from kafka_py.replication.follower.states import NEW
from kafka_py.replication.state.partition import Partition
from kafka_py.wire.messages.fetch import FetchPartition
from kafka_py.wire.protocol_versions import InterBrokerVersion

UNKNOWN_LAG = -1


class PartitionFetchState:
    """One partition in one leader epoch. Another epoch is another object, by which late responses are recognised.

    state: changed only by FollowedPartitions.
    initial_offset: the high watermark when following began; the log is not truncated below it for lack of epochs.
    fetch_offset: of the next fetch. lag: records behind the leader's high watermark, UNKNOWN_LAG before the first
    response. last_fetched_epoch: leader epoch of the last appended batch, -1 if there is none. sent_log_start_offset:
    the log start offset in the last request. resume_ms: when a DELAYED partition continues, monotonic. is_truncating:
    whether the comparison with the leader's epochs is incomplete; kept while the partition is DELAYED.
    """

    __slots__ = (
        "fetch_offset",
        "initial_offset",
        "is_truncating",
        "lag",
        "last_fetched_epoch",
        "leader_epoch",
        "max_bytes",
        "partition",
        "resume_ms",
        "sends_epoch",
        "sent_log_start_offset",
        "state",
        "topic_partition",
    )  # fmt: skip

    def __init__(self, partition: Partition, log: PartitionLog, max_bytes: int, version: InterBrokerVersion) -> None:
        self.state = NEW
        self.partition = partition
        self.topic_partition: TopicPartition = partition.topic_partition
        self.leader_epoch = partition.leader_epoch
        self.max_bytes = max_bytes
        self.sends_epoch = version.truncates_on_fetch
        self.is_truncating = self.must_truncate(version)
        self.initial_offset = log.high_watermark
        self.fetch_offset = log.high_watermark if self.is_truncating else log.log_end_offset
        self.last_fetched_epoch = log.epochs.latest
        self.lag = UNKNOWN_LAG
        self.sent_log_start_offset = -1
        self.resume_ms = 0.0

    @property
    def log(self) -> PartitionLog:
        """The partition's log; another object after a move to another log directory."""
        log = self.partition.log
        assert log is not None
        return log

    def must_truncate(self, version: InterBrokerVersion) -> bool:
        """Whether the logs are compared before the first fetch; if not, fetch responses tell where they diverge."""
        return not version.truncates_on_fetch or self.log.epochs.latest < 0

    def as_request(self) -> FetchPartition:
        self.sent_log_start_offset = self.log.log_start_offset
        return FetchPartition(
            partition=self.topic_partition[1],
            current_leader_epoch=self.leader_epoch,
            fetch_offset=self.fetch_offset,
            last_fetched_epoch=self.last_fetched_epoch if self.sends_epoch else -1,
            log_start_offset=self.sent_log_start_offset,
            partition_max_bytes=self.max_bytes,
        )

    def end_of_epoch(self, epoch: int) -> EpochEnd:
        """The end offset of an epoch in this log."""
        return self.log.epochs.end_offset_for(epoch, self.log.log_end_offset)
