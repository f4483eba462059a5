"""What a follower asks its leader before it fetches: where its log must be cut, and where to continue (I/O).

Where the leader's log has the end of the follower's last epoch, and, for a fetch offset that the leader does not hold,
where the leader's log begins and ends. What follows from the answers is decided in truncation.py.
Source: docs/reference/replication.md, section 7; AbstractFetcherThread.
"""

from __future__ import annotations

import logging

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, TopicPartition
from kafka_py.base.turns import Turn, next_turn
from kafka_py.replication.follower.fetch_state import Followed
from kafka_py.replication.follower.followed_partitions import FollowedPartitions
from kafka_py.replication.follower.following import Following
from kafka_py.replication.follower.leader_link import EpochQuestion, Leader, OffsetReply
from kafka_py.replication.follower.partition_states import PartitionStates
from kafka_py.replication.follower.states import OUT_OF_RANGE
from kafka_py.replication.follower.truncation import Cut, OwnLog, after_out_of_range, cut_after
from kafka_py.replication.state.reads import EpochEnd

_log = logging.getLogger(__name__)


class LeaderComparison:
    """Compares the logs of a fetcher's partitions with the leader's, and cuts them.

    by_epoch: whether brokers of this version truncate by leader epoch (KIP-101); if not, at the high watermark.
    """

    def __init__(
        self,
        name: str,
        places: FollowedPartitions,
        states: PartitionStates,
        *,
        leader: Leader,
        following: Following,
        by_epoch: bool,
        clock: Clock,
    ) -> None:
        self._name = name
        self._places = places
        self._states = states
        self._leader = leader
        self._following = following
        self._by_epoch = by_epoch
        self._clock = clock

    async def truncate(self, truncating: dict[TopicPartition, Followed]) -> None:
        """Cuts where the leader's epochs say; logs without epochs end at their high watermark."""
        questions = {
            topic_partition: EpochQuestion(one.leader_epoch, one.log.epochs.latest)
            for topic_partition, one in truncating.items()
            if self._by_epoch and one.log.epochs.latest >= 0
        }
        turn = Turn(self._clock)
        for topic_partition, one in truncating.items():
            if topic_partition not in questions and self._places.is_current(one):
                await self._try_to_cut(one, None)
                await turn.maybe_yield()
        replies = await self._leader.epoch_ends(questions) if questions else {}
        for topic_partition, one in truncating.items():
            if topic_partition not in questions or not self._places.is_current(one):
                continue
            reply = replies.get(topic_partition)
            if reply is None or reply.error is not ErrorCode.NONE:
                error = ErrorCode.UNKNOWN_SERVER_ERROR if reply is None else reply.error
                self._states.refused(one, error, "OffsetsForLeaderEpoch")
            else:
                await self._try_to_cut(one, reply.end)
                await turn.maybe_yield()

    def own(self, one: Followed) -> OwnLog:
        return OwnLog(one.log.log_end_offset, one.initial_offset, one.end_of_epoch)

    async def _try_to_cut(self, one: Followed, leader_end: EpochEnd | None) -> None:
        try:
            await self.cut(one, leader_end)
        except Exception as error:
            self._states.went_wrong(one, error)

    async def cut(self, one: Followed, leader_end: EpochEnd | None) -> None:
        """leader_end: where the leader's log has the end of our last epoch; None if there are no epochs to compare."""
        cut = Cut(one.initial_offset, True) if leader_end is None else cut_after(leader_end, self.own(one))
        if not await self._cut_in_turns(one, cut.offset):
            return
        self._following.truncate(one, cut.offset)
        if one.is_truncating and cut.complete:
            one.is_truncating = False
            self._states.want(one)

    async def _cut_in_turns(self, one: Followed, offset: int) -> bool:
        """Most of the way down to `offset` where that is far; whether the partition is still followed afterwards."""
        for on_the_way in one.log.cuts_before(offset):
            self._following.truncate(one, on_the_way)
            await next_turn()
            if not self._places.is_current(one):
                return False
        return True

    # ---- out of range

    async def find_range(self, lost: dict[TopicPartition, Followed]) -> None:
        """Finds where to go on, for partitions whose fetch offset the leader does not hold."""
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
                "%s: offset %d of %s is out of range of the leader's log; going on at %d",
                self._name, one.fetch_offset, topic_partition, decision.fetch_offset,
            )  # fmt: skip
            try:
                target = 0 if decision.restart else decision.truncate_to
                if target is not None and not await self._cut_in_turns(one, target):
                    continue
                self._following.reset(one, decision)
            except Exception as error:
                self._states.went_wrong(one, error)
                continue
            self._states.want(one)

    async def _offsets(self, timestamp: int, wanted: dict[TopicPartition, Followed]) -> dict[TopicPartition, int]:
        """The leader's offsets; partitions that it refuses are dealt with and left out."""
        epochs = {topic_partition: one.leader_epoch for topic_partition, one in wanted.items()}
        replies = await self._leader.offsets(timestamp, epochs)
        found = {}
        for topic_partition, one in wanted.items():
            if not self._places.is_current(one):
                continue
            reply = replies.get(topic_partition, OffsetReply(ErrorCode.UNKNOWN_SERVER_ERROR, -1))
            if reply.error is ErrorCode.NONE and reply.offset >= 0:
                found[topic_partition] = reply.offset
            else:
                self._states.refused(one, reply.error, "ListOffsets")
        return found
