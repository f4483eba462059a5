"""DeleteRecords: advances the log start offsets of led partitions, and waits until all replicas follow (KIP-107).

Knows the replica manager and which brokers are alive; nothing of requests.
Source: docs/reference/replication.md, section 13; KIP-107.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import INTERNAL_TOPICS, TopicPartition
from kafka_py.replication.leader.delayed import DelayedDeleteRecords, DeleteRecordsResult
from kafka_py.replication.leader.replica_manager import ReplicaManager
from kafka_py.wire.messages.delete_records import UP_TO_HIGH_WATERMARK


class RecordDeletion:
    """Deletes records from partitions that this broker leads. is_live: whether a broker is alive."""

    def __init__(self, replicas: ReplicaManager, is_live: Callable[[int], bool]) -> None:
        self._replicas = replicas
        self._is_live = is_live

    def delete(
        self,
        offsets: Iterable[tuple[TopicPartition, int]],
        timeout_ms: int,
        on_done: Callable[[list[DeleteRecordsResult]], None],
    ) -> None:
        """Deletes below each offset (exclusive), and calls `on_done` with the results, in order, once replicas follow.

        After `timeout_ms` the others get REQUEST_TIMED_OUT; their records stay deleted on the leader.
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
        """The smallest log start offset of this log and the live followers' logs; -1 while one is unknown.

        Raises KafkaError(NOT_LEADER_OR_FOLLOWER) and what HostedPartitions.partition raises.
        """
        partition = self._replicas.hosted.partition(topic_partition)
        starts = [partition.leader_log().log_start_offset]
        starts += [one.log_start_offset for one in partition.followers.values() if self._is_live(one.broker_id)]
        return min(starts)

    def check_all(self) -> None:
        """Checks all parked deletions after the set of live brokers has changed."""
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
        """Advances the log start offset; returns the new one.

        Raises KafkaError(INVALID_TOPIC_EXCEPTION, NOT_LEADER_OR_FOLLOWER, POLICY_VIOLATION, OFFSET_OUT_OF_RANGE).
        """
        if topic_partition.topic in INTERNAL_TOPICS:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic_partition.topic} is an internal topic")
        partition = self._replicas.hosted.partition(topic_partition)
        log = partition.leader_log()
        if not log.config.is_deletable:
            raise KafkaError(
                ErrorCode.POLICY_VIOLATION, f"cleanup.policy of {topic_partition.topic} does not contain delete"
            )
        if offset == UP_TO_HIGH_WATERMARK:
            offset = log.high_watermark
        if offset < 0:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"{topic_partition}: offset {offset} is negative")
        if log.advance_log_start_offset(offset):
            self._replicas.parked.note_change(partition, watermark_raised=False)
        return offset
