"""What a fetcher knows of one partition that it follows; also read as a row of the fetch request. Decides nothing.

Source: docs/reference/replication.md, section 7.
"""

from __future__ import annotations

from kafka_py.base.ids import TopicPartition
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.replication.follower.states import NEW
from kafka_py.replication.state.partition import Partition
from kafka_py.replication.state.reads import EpochEnd
from kafka_py.wire.messages.fetch import FetchPartition
from kafka_py.wire.protocol_versions import InterBrokerVersion

UNKNOWN_LAG = -1


class Followed:
    """One partition in one leader epoch; in another epoch it is another value, so that late answers are told apart.

    state: changed by FollowedPartitions alone.
    initial_offset: where following began, the high watermark: what is below it is never cut for lack of epochs.
    fetch_offset: asked for next. lag: records behind the leader's high watermark, UNKNOWN_LAG before the first answer.
    last_fetched_epoch: of the last appended batch, -1 when fetches do not carry it. told_log_start: the log start that
    the leader knows. resume_ms: when a delayed one continues, monotonic. is_truncating: the leader's epochs were not
    compared to the end yet; it stays while the partition is DELAYED.
    """

    __slots__ = (
        "fetch_offset", "initial_offset", "is_truncating", "lag", "last_fetched_epoch", "leader_epoch", "max_bytes",
        "partition", "resume_ms", "sends_epoch", "state", "told_log_start", "topic_partition",
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
        self.told_log_start = -1
        self.resume_ms = 0.0

    @property
    def log(self) -> PartitionLog:
        """The partition's log, which may move to another directory meanwhile."""
        log = self.partition.log
        assert log is not None
        return log

    def must_truncate(self, version: InterBrokerVersion) -> bool:
        """Whether the logs are compared before the first fetch; else the answers to fetches say where they part."""
        return not version.truncates_on_fetch or self.log.epochs.latest < 0

    def as_request(self) -> FetchPartition:
        self.told_log_start = self.log.log_start_offset
        return FetchPartition(
            partition=self.topic_partition[1],
            current_leader_epoch=self.leader_epoch,
            fetch_offset=self.fetch_offset,
            last_fetched_epoch=self.last_fetched_epoch if self.sends_epoch else -1,
            log_start_offset=self.told_log_start,
            partition_max_bytes=self.max_bytes,
        )

    def end_of_epoch(self, epoch: int) -> EpochEnd:
        """Where an epoch ends in this log."""
        return EpochEnd(*self.log.epochs.end_offset_for(epoch, self.log.log_end_offset))
