"""The fetch loop of a follower: one leader broker, some of the partitions that it leads (I/O).

Each round truncates, fetches and appends. Partitions fail independently: a failing one is delayed, or no longer fetched
until the controller sends its next state, and the others continue (partition_states.py). leader_comparison.py asks the
leader where to truncate, fetch_session.py builds requests, following.py appends to the logs, leader_link.py is the
connection. Source: docs/reference/replication.md, sections 7 and 8; ReplicaFetcherThread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import cast

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError, error_code_of
from kafka_py.base.ids import TopicPartition
from kafka_py.base.supervision import Supervisor
from kafka_py.base.turns import Turn, sliced
from kafka_py.log.state.epochs import EpochEnd
from kafka_py.replication.follower.fetch_session import FollowerFetchSession
from kafka_py.replication.follower.fetch_state import PartitionFetchState
from kafka_py.replication.follower.fetcher_metrics import FetcherMetrics
from kafka_py.replication.follower.followed_partitions import FollowedPartitions
from kafka_py.replication.follower.following import Following, pieces
from kafka_py.replication.follower.leader_comparison import LeaderComparison
from kafka_py.replication.follower.leader_link import Leader, LinkFailed
from kafka_py.replication.follower.partition_states import ACTIVITY, OnFailed, PartitionStates
from kafka_py.replication.follower.states import DELAYED, FETCHING, HELD_BACK, SYNCING
from kafka_py.replication.state.configs import ReplicationOptions
from kafka_py.replication.state.throttle import Throttle
from kafka_py.wire.messages.fetch import FetchablePartitionResponse, FetchRequest, FetchResponse
from kafka_py.wire.primitives import Buffer
from kafka_py.wire.protocol_versions import InterBrokerVersion

_log = logging.getLogger(__name__)

_FIRST_WITH_SESSIONS = 7

class ReplicaFetcher:
    """Fetches from one leader. `follow` and `drop` may be called at any time, and take effect in the next round.

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
        self._following = following
        self._clock = clock
        self._supervisor = supervisor
        self._session = FollowerFetchSession(sessions=version.follower_requests.fetch >= _FIRST_WITH_SESSIONS)
        self._partitions = FollowedPartitions(self._session, clock, lambda: options().replica_fetch_backoff_ms)
        self.followed = self._partitions.all
        self._woken = asyncio.Event()
        self._states = PartitionStates(name, self._partitions, supervisor, on_failed=on_failed, wake=self._woken.set)
        self._comparison = LeaderComparison(
            name, self._partitions, self._states, leader=leader, following=following,
            by_epoch=version.truncates_by_epoch, clock=clock,
        )  # fmt: skip
        self._task: asyncio.Task[None] | None = None
        self._failure_logged = ""

    # ---- partitions

    def start(self) -> None:
        self._task = self._supervisor.loop(self._step, ACTIVITY, self.name, on_failure=self._after_failure)

    @property
    def is_dead(self) -> bool:
        """Whether its loop has ended without `close`."""
        return self._task is not None and self._task.done()

    async def close(self) -> None:
        """Ends the loop; nothing is appended after this."""
        self.followed.clear()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._leader.disconnect()
        self.metrics.close()

    def follow(self, wanted: Iterable[PartitionFetchState]) -> None:
        """Starts to fetch these; one that is already followed in the same leader epoch is not changed."""
        for one in wanted:
            present = self.followed.get(one.topic_partition)
            if present is not None and present.leader_epoch == one.leader_epoch:
                continue
            self._partitions.add(one)
            self._states.resume(one)
        self._woken.set()

    def drop(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Stops fetching these; responses in flight are not appended."""
        for topic_partition in topic_partitions:
            self._partitions.remove(topic_partition)

    def note_log_starts(self) -> None:
        """Sends log start offsets that retention has moved to the leader, with the next fetch."""
        for one in list(self.followed.values()):
            with self._supervisor.guard(ACTIVITY, one.topic_partition):
                if one.log.log_start_offset != one.sent_log_start_offset and one.state is FETCHING:
                    self._states.fetch_next(one)

    # ---- the loop

    async def _step(self) -> None:
        try:
            await self._round()
        except LinkFailed as error:
            self._note_failure(error)
            self._session.failed()
            for one in list(self.followed.values()):
                if one.state is not DELAYED and one.state is not SYNCING:
                    self._partitions.delay(one)

    def _after_failure(self, _error: Exception) -> None:
        """Handles an error that no partition was blamed for: partitions whose state cannot be read are failed."""
        self._session.failed()
        for one in list(self.followed.values()):
            try:
                one.as_request()
                self._comparison.own(one)
            except Exception as error:
                self._states.handle_exception(one, error)

    async def _round(self) -> None:
        for one in self._partitions.due() if self._partitions.delayed else ():
            self._states.resume(one)
        if self._partitions.truncating:
            await self._comparison.truncate(dict(self._partitions.truncating))
        if self._partitions.out_of_range:
            await self._comparison.find_range(dict(self._partitions.out_of_range))
        throttle = self._following.throttle
        if self._partitions.held_back or (throttle is not None and throttle.is_on):
            await self._apply_throttle(throttle)
        if len(self._session):
            await self._fetch()
        elif not self._partitions.truncating and not self._partitions.out_of_range:
            await self._wait()

    async def _apply_throttle(self, throttle: Throttle | None) -> None:
        """Stops fetching lagging partitions while their quota is exceeded, and continues with them afterwards."""
        async for some in sliced(list(self.followed.values())):
            for one in some:
                held = one.lag != 0 and throttle is not None and throttle.is_exceeded_for(one.topic_partition)
                if held and one.state is FETCHING:
                    self._partitions.move(one, HELD_BACK)
                elif not held and one.state is HELD_BACK:
                    self._states.fetch_next(one)

    async def _wait(self) -> None:
        """Waits for a new partition, or for the end of the first delay."""
        self._woken.clear()
        wait_ms = self._partitions.wait_ms()
        try:
            async with asyncio.timeout(None if wait_ms is None else wait_ms / 1000.0):
                await self._woken.wait()
        except TimeoutError:
            return

    def _note_failure(self, error: LinkFailed) -> None:
        reason = str(error)
        if reason != self._failure_logged:  # logged once, not in every round
            self._failure_logged = reason
            _log.warning("%s: %s, retrying", self.name, reason)

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
            raise LinkFailed(f"the fetch failed with {error_code_of(response.error_code).name}")

    async def _take(self, response: FetchResponse) -> None:
        sent = self._session.sent
        turn = Turn(self._clock)
        for topic in response.responses:
            for answer in topic.partition_responses:
                topic_partition = TopicPartition(topic.topic, answer.partition)
                one = self.followed.get(topic_partition)
                if one is None or one is not sent.get(topic_partition) or one.state is not FETCHING:
                    self._session.note_discarded(topic_partition)
                    continue
                try:
                    await self._take_partition(one, answer, turn)
                except Exception as error:
                    self._session.note_discarded(topic_partition)
                    self._states.handle_exception(one, error)

    async def _take_partition(self, one: PartitionFetchState, answer: FetchablePartitionResponse, turn: Turn) -> None:
        code = answer.error_code
        if code == ErrorCode.NONE:
            diverging = answer.diverging_epoch
            if diverging.epoch >= 0:
                await self._comparison.cut(one, EpochEnd(diverging.epoch, diverging.end_offset))
                self._session.note_discarded(one.topic_partition)
                if self._partitions.is_current(one):
                    self._states.fetch_next(one)
            else:
                await self._append(one, answer, turn)
        else:
            self._states.handle_fetch_error(one, error_code_of(code))

    async def _append(self, one: PartitionFetchState, answer: FetchablePartitionResponse, turn: Turn) -> None:
        """Appends fetched records, with one write except for very many small batches."""
        records = cast("Buffer | None", answer.record_set)  # a received response has no file slices
        for piece in pieces(memoryview(records or b"")):
            if not self._partitions.is_current(one):
                self._session.note_discarded(one.topic_partition)
                return
            if not self._append_piece(one, answer, piece):
                return
            self.metrics.bytes += len(piece)
            await turn.maybe_yield()

    def _append_piece(self, one: PartitionFetchState, answer: FetchablePartitionResponse, records: memoryview) -> bool:
        """Appends whole batches; False if they are corrupt, and the partition is delayed."""
        before = one.fetch_offset, one.sent_log_start_offset
        try:
            self._following.take(one, records, answer.high_watermark, answer.log_start_offset)
        except KafkaError as error:
            if error.code is not ErrorCode.CORRUPT_MESSAGE:
                raise
            _log.error("%s: fetched records of %s cannot be appended: %s", self.name, one.topic_partition, error)
            self._partitions.delay(one)
            return False
        if (one.fetch_offset, one.log.log_start_offset) != before:
            self._states.fetch_next(one)
        return True
