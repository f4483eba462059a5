"""The fetch loop of a follower: one leader broker, some of the partitions it leads (I/O).

Truncates what has to be, fetches, appends, and does so again. Each partition fares for itself: one that fails waits, or
is not fetched until the controller sends its next state, while the others continue. What to truncate is decided in
truncation.py, what a request says in follower_session.py, what becomes of fetched records in following.py; the network
is leader_link.py. Source: docs/reference/replication.md, sections 7 and 8.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import cast

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.supervision import Supervisor
from kafka_py.base.turns import Turn, next_turn
from kafka_py.log.model.answers import NoDescriptorsLeft
from kafka_py.replication.follower.fetch_session import FollowerSession
from kafka_py.replication.follower.fetch_state import Followed
from kafka_py.replication.follower.fetcher_metrics import FetcherMetrics
from kafka_py.replication.follower.followed_partitions import FollowedPartitions
from kafka_py.replication.follower.following import Following, pieces
from kafka_py.replication.follower.leader_link import EpochQuestion, Leader, LinkFailed, OffsetReply, error_of
from kafka_py.replication.follower.truncation import Cut, OwnLog, after_out_of_range, cut_after
from kafka_py.replication.leader.offset_queries import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafka_py.replication.state.configs import ReplicationOptions
from kafka_py.replication.state.reads import EpochEnd
from kafka_py.replication.state.throttle import Throttle
from kafka_py.wire.messages.fetch import FetchablePartitionResponse, FetchRequest, FetchResponse
from kafka_py.wire.primitives import Buffer
from kafka_py.wire.protocol_versions import InterBrokerVersion

log = logging.getLogger(__name__)

_FIRST_WITH_SESSIONS = 7
_ACTIVITY = "replica fetcher"

OnFailed = Callable[[Followed], None]


class Fetcher:
    """Fetches from one leader. `follow` and `drop` may be called at any time; the loop takes notice on its next round.

    on_failed: called with a partition that is not fetched again until the controller sends its next state.
    """

    def __init__(
        self,
        name: str,
        replica_id: int,
        leader: Leader,
        *,
        options: Callable[[], ReplicationOptions],
        version: InterBrokerVersion,
        following: Following,
        clock: Clock,
        metrics: FetcherMetrics,
        on_failed: OnFailed,
        supervisor: Supervisor,
    ) -> None:
        self.name = name
        self.metrics = metrics
        self._replica_id = replica_id
        self._leader = leader
        self._options = options
        self._version = version
        self._following = following
        self._clock = clock
        self._on_failed = on_failed
        self._supervisor = supervisor
        self._session = FollowerSession(sessions=version.follower_requests.fetch >= _FIRST_WITH_SESSIONS)
        self._places = FollowedPartitions(self._session, clock, lambda: options().replica_fetch_backoff_ms)
        self.followed = self._places.all
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._failure_logged = ""

    # ---- what is fetched

    def start(self) -> None:
        self._task = self._supervisor.loop(self._step, _ACTIVITY, self.name, on_failure=self._after_failure)

    @property
    def is_dead(self) -> bool:
        """Whether its loop ended though nobody closed it."""
        return self._task is not None and self._task.done()

    async def close(self) -> None:
        """Ends the loop; nothing is appended any more."""
        self.followed.clear()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._leader.disconnect()
        self.metrics.close()

    def follow(self, wanted: Iterable[Followed]) -> None:
        """Fetches these from now on. One that is followed in the same leader epoch already stays as it is."""
        for one in wanted:
            present = self.followed.get(one.topic_partition)
            if present is not None and present.leader_epoch == one.leader_epoch:
                continue
            self._places.leave(one.topic_partition)
            self.followed[one.topic_partition] = one
            self._resume(one)
        self._woken.set()

    def drop(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Fetches these no more; what is under way for them is not appended."""
        for topic_partition in topic_partitions:
            self._places.remove(topic_partition)

    def note_log_starts(self) -> None:
        """Looks for log starts that moved by themselves (retention): the leader is told."""
        for one in list(self.followed.values()):
            with self._supervisor.guard(_ACTIVITY, one.topic_partition):
                if one.log.log_start_offset != one.told_log_start and self._places.is_fetching(one):
                    self._want(one)

    def _want(self, one: Followed) -> None:
        """Fetches it with the next request, which acknowledges what the log holds; what flush.messages wants synced
        is synced before."""
        try:
            if one.log.owes_flush:
                self._hold_until_synced(one)
            else:
                self._session.want(one)
        except Exception as error:
            self._went_wrong(one, error)

    def _hold_until_synced(self, one: Followed) -> None:
        if self._places.syncing.get(one.topic_partition) is one:
            return
        self._session.forget(one.topic_partition)
        self._places.syncing[one.topic_partition] = one
        one.log.flush_in_background(then=lambda succeeded: self._synced(one, succeeded))

    def _synced(self, one: Followed, succeeded: bool) -> None:
        if self._places.syncing.get(one.topic_partition) is not one:
            return
        del self._places.syncing[one.topic_partition]
        if succeeded:
            self._want(one)
        elif one.log.is_usable:  # there was no descriptor left
            self._places.delay(one)
        else:
            self._give_up(one, "its log cannot be synced")
        self._woken.set()

    def _give_up(self, one: Followed, reason: object) -> None:
        log.warning("%s: %s is no longer fetched: %s", self.name, one.topic_partition, reason)
        self._places.remove(one.topic_partition)
        self._on_failed(one)

    def _went_wrong(self, one: Followed, error: Exception) -> None:
        """One partition raised: without a free descriptor it waits, all else ends its fetching; others continue."""
        if not isinstance(error, KafkaError):
            self._supervisor.report(_ACTIVITY, error, one.topic_partition)
        if not self._places.is_current(one):
            return
        if isinstance(error, NoDescriptorsLeft):
            log.warning("%s: %s waits to be tried again: %s", self.name, one.topic_partition, error)
            self._places.delay(one)
        else:
            self._give_up(one, error)

    def _resume(self, one: Followed) -> None:
        """Begins it, or continues after a delay."""
        if one.is_truncating:
            self._places.truncating[one.topic_partition] = one
        else:
            self._want(one)

    # ---- the loop

    async def _step(self) -> None:
        try:
            await self._round()
        except LinkFailed as error:
            self._note_failure(error)
            self._session.failed()
            for one in list(self.followed.values()):
                if one.topic_partition not in self._places.delayed and one.topic_partition not in self._places.syncing:
                    self._places.delay(one)

    def _after_failure(self, _error: Exception) -> None:
        """A round raised for no partition in particular; one that cannot even be looked at is not fetched again."""
        self._session.failed()
        for one in list(self.followed.values()):
            try:
                one.as_request()
                self._own(one)
            except Exception as error:
                self._went_wrong(one, error)

    async def _round(self) -> None:
        for one in self._places.take_due() if self._places.delayed else ():
            self._resume(one)
        if self._places.truncating:
            await self._truncate(dict(self._places.truncating))
        if self._places.out_of_range:
            await self._find_range(dict(self._places.out_of_range))
        throttle = self._following.throttle
        if self._places.held_back or (throttle is not None and throttle.is_on):
            self._apply_throttle(throttle)
        if len(self._session):
            await self._fetch()
        elif not self._places.truncating and not self._places.out_of_range:
            await self._wait()

    def _apply_throttle(self, throttle: Throttle | None) -> None:
        """Leaves out what is throttled and behind while the limit is passed; takes it up again afterwards."""
        for one in list(self.followed.values()):
            topic_partition = one.topic_partition
            held = one.lag != 0 and throttle is not None and throttle.holds_back(topic_partition)
            if held and self._places.is_fetching(one):
                self._session.forget(topic_partition)
                self._places.held_back[topic_partition] = one
            elif not held and self._places.held_back.pop(topic_partition, None) is not None:
                self._want(one)

    async def _wait(self) -> None:
        """Until there is something to do: a new partition, or the first of the delayed ones."""
        self._woken.clear()
        wait_ms = self._places.wait_ms()
        try:
            async with asyncio.timeout(None if wait_ms is None else wait_ms / 1000.0):
                await self._woken.wait()
        except TimeoutError:
            return

    def _note_failure(self, error: LinkFailed) -> None:
        reason = str(error)
        if reason != self._failure_logged:  # once a second would drown everything else
            self._failure_logged = reason
            log.warning("%s: %s, trying until it works", self.name, reason)

    # ---- fetch

    async def _fetch(self) -> None:
        options = self._options()
        asked = self._session.next_request()
        request = FetchRequest(
            replica_id=self._replica_id,
            max_wait_ms=0 if self._session.has_changes else options.replica_fetch_wait_max_ms,
            min_bytes=options.replica_fetch_min_bytes,
            max_bytes=options.replica_fetch_response_max_bytes,
            session_id=asked.session_id,
            session_epoch=asked.session_epoch,
            topics=asked.topics,
            forgotten_topics_data=asked.forgotten,
        )
        response = await self._leader.fetch(request)
        self._failure_logged = ""
        self.metrics.requests += 1
        if self._session.answered(response.error_code, response.session_id):
            await self._take(response)
        elif response.error_code not in (
            ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ):  # fmt: skip
            raise LinkFailed(f"fetch was answered by {error_of(response.error_code).name}")

    async def _take(self, response: FetchResponse) -> None:
        sent = self._session.sent
        turn = Turn(self._clock)
        for topic in response.responses:
            for answer in topic.partition_responses:
                topic_partition = TopicPartition(topic.topic, answer.partition)
                one = self.followed.get(topic_partition)
                if one is None or one is not sent.get(topic_partition) or not self._places.is_fetching(one):
                    self._session.not_heeded(topic_partition)
                    continue
                try:
                    await self._take_partition(one, answer, turn)
                except Exception as error:
                    self._session.not_heeded(topic_partition)
                    self._went_wrong(one, error)

    async def _take_partition(self, one: Followed, answer: FetchablePartitionResponse, turn: Turn) -> None:
        code = answer.error_code
        if code == ErrorCode.NONE:
            diverging = answer.diverging_epoch
            if diverging.epoch >= 0:
                await self._cut(one, EpochEnd(diverging.epoch, diverging.end_offset))
                self._session.not_heeded(one.topic_partition)
                if self._places.is_current(one):
                    self._want(one)
            else:
                await self._append(one, answer, turn)
        elif code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._session.forget(one.topic_partition)
            self._places.out_of_range[one.topic_partition] = one
        else:
            self._refused(one, error_of(code), "fetch")

    async def _append(self, one: Followed, answer: FetchablePartitionResponse, turn: Turn) -> None:
        """One write, but for very many small batches."""
        records = cast("Buffer | None", answer.record_set)  # what was received is never a slice of a file
        for piece in pieces(memoryview(records or b"")):
            if not self._places.is_current(one):
                self._session.not_heeded(one.topic_partition)
                return
            if not self._append_piece(one, answer, piece):
                return
            self.metrics.bytes += len(piece)
            await turn.maybe_yield()

    def _append_piece(self, one: Followed, answer: FetchablePartitionResponse, records: memoryview) -> bool:
        """Whether it went well."""
        before = one.fetch_offset, one.told_log_start
        try:
            self._following.take(one, records, answer.high_watermark, answer.log_start_offset)
        except KafkaError as error:
            if error.code is not ErrorCode.CORRUPT_MESSAGE:
                raise
            log.error("%s: what was sent of %s cannot be appended: %s", self.name, one.topic_partition, error)
            self._places.delay(one)
            return False
        if (one.fetch_offset, one.log.log_start_offset) != before:
            self._want(one)
        return True

    def _refused(self, one: Followed, error: ErrorCode, what: str) -> None:
        """The leader answered one partition with an error that has no procedure of its own."""
        if error is ErrorCode.FENCED_LEADER_EPOCH:
            self._give_up(one, f"{what}: {error.name} in leader epoch {one.leader_epoch}")
            return
        log.log(
            logging.DEBUG if error in _EXPECTED else logging.ERROR,
            "%s: %s of %s was answered by %s", self.name, what, one.topic_partition, error.name,
        )  # fmt: skip
        self._places.delay(one)

    # ---- truncation

    async def _truncate(self, truncating: dict[TopicPartition, Followed]) -> None:
        """Cuts where the leader's epochs say; logs without epochs end at their high watermark."""
        questions = {
            topic_partition: EpochQuestion(one.leader_epoch, one.log.latest_epoch)
            for topic_partition, one in truncating.items()
            if self._version.truncates_by_epoch and one.log.latest_epoch >= 0
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
                self._refused(one, error, "OffsetsForLeaderEpoch")
            else:
                await self._try_to_cut(one, reply.end)
                await turn.maybe_yield()

    def _own(self, one: Followed) -> OwnLog:
        return OwnLog(one.log.log_end_offset, one.initial_offset, one.end_of_epoch)

    async def _try_to_cut(self, one: Followed, leader_end: EpochEnd | None) -> None:
        try:
            await self._cut(one, leader_end)
        except Exception as error:
            self._went_wrong(one, error)

    async def _cut(self, one: Followed, leader_end: EpochEnd | None) -> None:
        """leader_end: where the leader's log has the end of our last epoch; None if there are no epochs to compare."""
        cut = Cut(one.initial_offset, True) if leader_end is None else cut_after(leader_end, self._own(one))
        if not await self._cut_in_turns(one, cut.offset):
            return
        self._following.truncate(one, cut.offset)
        if one.is_truncating and cut.complete:
            one.is_truncating = False
            del self._places.truncating[one.topic_partition]
            self._want(one)

    async def _cut_in_turns(self, one: Followed, offset: int) -> bool:
        """Most of the way down to `offset` where that is far; whether the partition is still followed afterwards."""
        for on_the_way in one.log.cuts_before(offset):
            self._following.truncate(one, on_the_way)
            await next_turn()
            if not self._places.is_current(one):
                return False
        return True

    # ---- out of range

    async def _find_range(self, lost: dict[TopicPartition, Followed]) -> None:
        """Finds where to go on, for partitions whose fetch offset the leader does not hold."""
        latest = await self._offsets(LATEST_TIMESTAMP, lost)
        undecided = {
            topic_partition: one
            for topic_partition, one in lost.items()
            if topic_partition in latest and latest[topic_partition] >= one.log.log_end_offset
        }
        earliest = await self._offsets(EARLIEST_TIMESTAMP, undecided) if undecided else {}
        for topic_partition, leader_end in latest.items():
            one = lost[topic_partition]
            if not self._places.is_current(one) or topic_partition not in self._places.out_of_range:
                continue
            decision = after_out_of_range(one.log.log_end_offset, leader_end, earliest.get(topic_partition))
            if decision is None:
                continue
            log.warning(
                "%s: offset %d of %s is out of range of the leader's log; going on at %d",
                self.name, one.fetch_offset, topic_partition, decision.fetch_offset,
            )  # fmt: skip
            try:
                target = 0 if decision.restart else decision.truncate_to
                if target is not None and not await self._cut_in_turns(one, target):
                    continue
                self._following.reset(one, decision)
            except Exception as error:
                self._went_wrong(one, error)
                continue
            del self._places.out_of_range[topic_partition]
            self._want(one)

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
                self._refused(one, reply.error, "ListOffsets")
        return found


_EXPECTED = frozenset(
    (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.KAFKA_STORAGE_ERROR,
    )
)
"""What a leader says that has not heard the controller yet, or whose disk failed: time will tell."""
