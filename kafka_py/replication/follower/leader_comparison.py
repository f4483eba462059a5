"""Compares a follower's logs with the leader's: asks where to truncate, and where to continue (I/O).

Requests the end offset of the follower's last epoch, and, for a fetch offset that is out of range, the leader's log
start and end offsets. truncation.py decides by the responses.
Source: docs/reference/replication.md, section 7; AbstractFetcherThread.
"""

from __future__ import annotations

import logging

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, TopicPartition
from kafka_py.base.turns import Turn, next_turn
from kafka_py.log.state.epochs import EpochEnd
from kafka_py.replication.follower.fetch_state import PartitionFetchState
from kafka_py.replication.follower.followed_partitions import FollowedPartitions
from kafka_py.replication.follower.following import Following
from kafka_py.replication.follower.leader_link import EpochQuery, Leader, OffsetReply
from kafka_py.replication.follower.partition_states import PartitionStates
from kafka_py.replication.follower.states import OUT_OF_RANGE
from kafka_py.replication.follower.truncation import FollowerLog, Truncation, after_out_of_range, truncation_for

_log = logging.getLogger(__name__)


class LeaderComparison:
    """Compares the logs of a fetcher's partitions with the leader's, and truncates them.

    by_epoch: whether brokers of this version truncate by leader epoch (KIP-101); if not, at the high watermark.
    """

    def __init__(
        self,
        name: str,
        partitions: FollowedPartitions,
        states: PartitionStates,
        *,
        leader: Leader,
        following: Following,
        by_epoch: bool,
        clock: Clock,
    ) -> None:
        self._name = name
        self._partitions = partitions
        self._states = states
        self._leader = leader
        self._following = following
        self._by_epoch = by_epoch
        self._clock = clock

    async def truncate(self, truncating: dict[TopicPartition, PartitionFetchState]) -> None:
        """Truncates logs by the leader's epochs; logs without epochs are truncated to their high watermark."""
        questions = {
            topic_partition: EpochQuery(one.leader_epoch, one.log.epochs.latest)
            for topic_partition, one in truncating.items()
            if self._by_epoch and one.log.epochs.latest >= 0
        }
        turn = Turn(self._clock)
        for topic_partition, one in truncating.items():
            if topic_partition not in questions and self._partitions.is_current(one):
                await self._try_to_truncate(one, None)
                await turn.maybe_yield()
        replies = await self._leader.epoch_ends(questions) if questions else {}
        for topic_partition, one in truncating.items():
            if topic_partition not in questions or not self._partitions.is_current(one):
                continue
            reply = replies.get(topic_partition)
            if reply is None or reply.error is not ErrorCode.NONE:
                error = ErrorCode.UNKNOWN_SERVER_ERROR if reply is None else reply.error
                self._states.handle_error(one, error, "OffsetsForLeaderEpoch")
            else:
                await self._try_to_truncate(one, reply.end)
                await turn.maybe_yield()

    def own(self, one: PartitionFetchState) -> FollowerLog:
        return FollowerLog(one.log.log_end_offset, one.initial_offset, one.end_of_epoch)

    async def _try_to_truncate(self, one: PartitionFetchState, leader_end: EpochEnd | None) -> None:
        try:
            await self.cut(one, leader_end)
        except Exception as error:
            self._states.handle_exception(one, error)

    async def cut(self, one: PartitionFetchState, leader_end: EpochEnd | None) -> None:
        """Truncates one log. leader_end: the leader's end of this log's last epoch; None if there are no epochs."""
        cut = Truncation(one.initial_offset, True) if leader_end is None else truncation_for(leader_end, self.own(one))
        if not await self._truncate_in_turns(one, cut.offset):
            return
        self._following.truncate(one, cut.offset)
        if one.is_truncating and cut.complete:
            one.is_truncating = False
            self._states.fetch_next(one)

    async def _truncate_in_turns(self, one: PartitionFetchState, offset: int) -> bool:
        """Truncates in steps while `offset` is far below the end; returns whether the partition is still followed."""
        for on_the_way in one.log.cuts_before(offset):
            self._following.truncate(one, on_the_way)
            await next_turn()
            if not self._partitions.is_current(one):
                return False
        return True

    # ---- out of range

    async def find_range(self, lost: dict[TopicPartition, PartitionFetchState]) -> None:
        """Finds where partitions continue whose fetch offset is out of range."""
        latest = await self._offsets(LATEST_TIMESTAMP, lost)
        undecided = {
            topic_partition: one
            for topic_partition, one in lost.items()
            if topic_partition in latest
            and after_out_of_range(one.log.log_end_offset, latest[topic_partition], None) is None
        }
        earliest = await self._offsets(EARLIEST_TIMESTAMP, undecided) if undecided else {}
        for topic_partition, leader_end in latest.items():
            one = lost[topic_partition]
            if one.state is not OUT_OF_RANGE:
                continue
            decision = after_out_of_range(one.log.log_end_offset, leader_end, earliest.get(topic_partition))
            if decision is None:
                continue
            _log.warning(
                "%s: offset %d of %s is out of range of the leader's log; continuing at offset %d",
                self._name, one.fetch_offset, topic_partition, decision.fetch_offset,
            )  # fmt: skip
            try:
                target = 0 if decision.restart else decision.truncate_to
                if target is not None and not await self._truncate_in_turns(one, target):
                    continue
                self._following.reset(one, decision)
            except Exception as error:
                self._states.handle_exception(one, error)
                continue
            self._states.fetch_next(one)

    async def _offsets(
        self, timestamp: int, wanted: dict[TopicPartition, PartitionFetchState]
    ) -> dict[TopicPartition, int]:
        """The leader's offsets; partitions with an error are handled and left out."""
        epochs = {topic_partition: one.leader_epoch for topic_partition, one in wanted.items()}
        replies = await self._leader.offsets(timestamp, epochs)
        found = {}
        for topic_partition, one in wanted.items():
            if not self._partitions.is_current(one):
                continue
            reply = replies.get(topic_partition, OffsetReply(ErrorCode.UNKNOWN_SERVER_ERROR, -1))
            if reply.error is ErrorCode.NONE and reply.offset >= 0:
                found[topic_partition] = reply.offset
            else:
                self._states.handle_error(one, reply.error, "ListOffsets")
        return found
