"""DeleteRecords: the log starts of led partitions move up; the answer waits until all replicas followed (KIP-107).

Knows the replica manager and which brokers live; nothing of requests.
Source: docs/reference/replication.md, section 13; KIP-107.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.internal_topics import INTERNAL_TOPICS
from kafka_py.replication.leader.delayed import DelayedDeleteRecords, DeleteRecordsResult
from kafka_py.replication.leader.replica_manager import ReplicaManager

UP_TO_HIGH_WATERMARK = -1
"""As the offset asked for: everything that consumers can see goes."""


class RecordDeletion:
    """Deletes records from partitions that this broker leads. is_live: whether the cluster has the broker now."""

    def __init__(self, replicas: ReplicaManager, is_live: Callable[[int], bool]) -> None:
        self._replicas = replicas
        self._is_live = is_live

    def delete(
        self,
        offsets: Iterable[tuple[TopicPartition, int]],
        timeout_ms: int,
        on_done: Callable[[list[DeleteRecordsResult]], None],
    ) -> None:
        """Deletes below each offset here, then calls `on_done` with the results, in order, once the replicas follow.

        After `timeout_ms` it is REQUEST_TIMED_OUT for those that do not; what was deleted stays deleted.
        """
        results = [self._delete_here(topic_partition, offset) for topic_partition, offset in offsets]
        waiting = [result.topic_partition for result in results if result.is_waiting]
        if not waiting:
            on_done(results)
            return
        delayed = DelayedDeleteRecords(
            results, self.low_watermark, on_done, self._replicas.metrics.delete_records_expired
        )
        self._replicas.parked.delete.try_complete_else_watch(delayed, waiting, timeout_ms)

    def low_watermark(self, topic_partition: TopicPartition) -> int:
        """Where this log and those of the live followers start at the least; -1 while one has not been heard.

        Raises KafkaError(NOT_LEADER_OR_FOLLOWER) and as HostedPartitions.partition.
        """
        partition = self._replicas.hosted.partition(topic_partition)
        starts = [partition.leader_log().log_start_offset]
        starts += [one.log_start_offset for one in partition.followers.values() if self._is_live(one.broker_id)]
        return min(starts)

    def look_again(self) -> None:
        """The set of live brokers changed: a dead one is not waited for."""
        purgatory = self._replicas.parked.delete
        for key in purgatory.watched_keys() if purgatory.watched else ():
            purgatory.check_and_complete(key)

    def _delete_here(self, topic_partition: TopicPartition, offset: int) -> DeleteRecordsResult:
        try:
            end_offset = self._advance(topic_partition, offset)
            return DeleteRecordsResult(
                topic_partition, end_offset=end_offset, low_watermark=self.low_watermark(topic_partition)
            )
        except KafkaError as error:
            return DeleteRecordsResult(topic_partition, error.code)

    def _advance(self, topic_partition: TopicPartition, offset: int) -> int:
        """Moves the log start up; the offset it was moved to.

        Raises KafkaError(INVALID_TOPIC_EXCEPTION, NOT_LEADER_OR_FOLLOWER, POLICY_VIOLATION, OFFSET_OUT_OF_RANGE).
        """
        if topic_partition.topic in INTERNAL_TOPICS:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic_partition.topic} is an internal topic")
        partition = self._replicas.hosted.partition(topic_partition)
        log = partition.leader_log()
        if not log.config.is_deletable:
            raise KafkaError(
                ErrorCode.POLICY_VIOLATION, f"cleanup.policy of {topic_partition.topic} does not say delete"
            )
        if offset == UP_TO_HIGH_WATERMARK:
            offset = log.high_watermark
        if offset < 0:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"{offset} is no offset")
        if log.advance_log_start_offset(offset):
            self._replicas.parked.note_change(partition, watermark_raised=False)
        return offset
