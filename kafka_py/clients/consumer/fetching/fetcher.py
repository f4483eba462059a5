"""Keeps one fetch in flight to every broker that has partitions to fetch; held.py keeps the records for poll().

As in producer/sender.py one synchronous `step` runs whenever something has changed: it sends fetches for assigned
partitions that have a position, are not paused and do not have enough records buffered (fetch_plan.py).

Source: KIP-74 (limits), KIP-227 (sessions), KIP-392 (preferred replicas).
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import CONSUMER_REPLICA_ID, TopicPartition
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.consumer.configs import NONE, ConsumerOptions
from kafka_py.clients.consumer.fetching.fetch_counts import FetchCounts
from kafka_py.clients.consumer.fetching.fetch_plan import FetchPlan
from kafka_py.clients.consumer.fetching.fetch_sessions import ConsumerFetchSession, PartitionFetch, by_topic
from kafka_py.clients.consumer.fetching.fetched import CompletedFetch, Decoding
from kafka_py.clients.consumer.fetching.held import HeldAnswers
from kafka_py.clients.consumer.subscriptions import AssignedPartition, Subscriptions
from kafka_py.clients.consumer.validation import Validation
from kafka_py.clients.errors import AuthenticationError, OffsetOutOfRange, error_code
from kafka_py.clients.metadata import NO_NODE
from kafka_py.clients.metrics import ClientMetrics
from kafka_py.clients.node_connection import NodeConnection
from kafka_py.wire.messages.fetch import (
    FetchablePartitionResponse,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
)

_log = logging.getLogger(__name__)

ACTIVITY = "consumer fetcher"

SHORT_WAIT_MS = 50
"""How long a broker may delay a fetch without the partitions whose records are buffered here: they have to be fetched
soon, and a broker gets one fetch at a time."""

REFRESH = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
)
"""Errors of a partition after which new metadata is requested."""


class Fetcher:
    """The fetches of one consumer.

    on_event: called when records, a position to reset or an error wait for poll().
    reset: resets a partition's position by auto.offset.reset.
    """

    def __init__(
        self,
        options: ConsumerOptions,
        cluster: Cluster,
        subscriptions: Subscriptions,
        decoding: Decoding,
        metrics: ClientMetrics,
        on_event: Callable[[], object],
        reset: Callable[[AssignedPartition], object],
    ) -> None:
        self._options = options
        self._cluster = cluster
        self._subscriptions = subscriptions
        self._decoding = decoding
        self._counts = FetchCounts(metrics, subscriptions, committed=options.reads_committed)
        self._held = HeldAnswers(subscriptions, self._counts, on_event)
        self._plan = FetchPlan(
            subscriptions, self._held, lambda: cluster.view,
            partition_bytes=options.max_partition_fetch_bytes, retry_backoff_ms=options.retry_backoff_ms,
        )  # fmt: skip
        self.collect = self._held.collect
        self._on_event = on_event
        self._reset = reset
        self._validation = Validation(
            options, cluster, subscriptions, on_done=self.step, on_error=self._held.partition_failed, reset=reset
        )
        self._loop = asyncio.get_running_loop()
        self._supervisor = cluster.supervisor
        self._clock = cluster.clock
        self._busy: set[int] = set()
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at_ms = 0.0
        self._closed = False

    # ---- requests

    def step(self) -> None:
        """Sends a fetch to every broker that has partitions to fetch and no fetch in flight. Never raises."""
        if not self._closed and not self._supervisor.call(ACTIVITY, self._step):
            now_ms = self._clock.monotonic_ms()
            self._arm(now_ms + self._options.retry_backoff_ms, now_ms)

    def _step(self) -> None:
        plan, now_ms = self._plan, self._clock.monotonic_ms()
        doubtful = plan.update(now_ms)
        if plan.leaderless:
            plan.note_refresh_requested()
            self._cluster.request_refresh()
        for node_id, states in doubtful.items():
            self._validation.begin(node_id, states)
        for node_id, session in plan.sessions.items():
            if session.wanted and node_id not in self._busy:
                self._fetch_from(node_id, session)
        if plan.next_ms < math.inf:
            self._arm(plan.next_ms, now_ms)

    def refused(self, error: AuthenticationError) -> None:
        """No metadata can be had: the next poll without records raises why, unless there is some until then."""
        self._held.node_failed(NO_NODE, error)

    def take_view(self) -> None:
        """Examines all partitions after new metadata, because leaders may have changed."""
        self._held.node_works(NO_NODE)
        self._subscriptions.touch_all()
        self.step()

    def _arm(self, at_ms: float, now_ms: float) -> None:
        """Schedules `step` for a time, unless it is scheduled earlier already."""
        if self._timer is not None:
            if self._timer_at_ms <= at_ms:
                return
            self._timer.cancel()
        self._timer_at_ms = at_ms
        self._timer = self._loop.call_later((at_ms - now_ms) / 1000, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self.step()

    def _fetch_from(self, node_id: int, session: ConsumerFetchSession) -> None:
        connection = self._cluster.current_connection(node_id)
        self._busy.add(node_id)
        if connection is None:
            self._run(self._connect_then_step(node_id))
            return
        self._held.node_works(node_id)  # it may be a request for metadata that has opened the connection
        try:
            self._send(node_id, connection, session)
        except BaseException as error:
            self._busy.discard(node_id)
            session.failed(ErrorCode.UNKNOWN_SERVER_ERROR)  # the broker has not received this request
            self._delay(session.wanted)
            if not isinstance(error, KafkaError):
                raise
            self._held.node_failed(node_id, error)

    def _send(self, node_id: int, connection: NodeConnection, session: ConsumerFetchSession) -> None:
        options = self._options
        request = session.build()
        topics: dict[str, list[FetchPartition]] = {}
        for (topic, number), wanted in request.send.items():
            topics.setdefault(topic, []).append(
                FetchPartition(
                    partition=number,
                    current_leader_epoch=wanted.current_leader_epoch,
                    fetch_offset=wanted.fetch_offset,
                    partition_max_bytes=wanted.max_bytes,
                )
            )
        longest_wait_ms = SHORT_WAIT_MS if self._plan.some_wait else options.fetch_max_wait_ms
        future = connection.send(
            FetchRequest(
                replica_id=CONSUMER_REPLICA_ID,
                max_wait_ms=min(options.fetch_max_wait_ms, longest_wait_ms),
                min_bytes=options.fetch_min_bytes,
                max_bytes=options.fetch_max_bytes,
                isolation_level=int(options.reads_committed),
                session_id=request.session_id,
                session_epoch=request.epoch,
                topics=[FetchTopic(topic=name, partitions=parts) for name, parts in topics.items()],
                forgotten_topics_data=[
                    ForgottenTopic(topic=name, partitions=parts) for name, parts in by_topic(request.forget).items()
                ],
                rack_id=options.client_rack,
            ),
            timeout_ms=options.request_timeout_ms + options.fetch_max_wait_ms,
        )
        future.add_done_callback(partial(self._on_answer, node_id, session, self._clock.monotonic_ms()))

    async def _connect_then_step(self, node_id: int) -> None:
        try:
            await self._cluster.connection(node_id)
        except KafkaError as error:
            _log.debug("%s", error)
            if isinstance(error, AuthenticationError):
                self._held.node_failed(node_id, error)
            self._forget_replica(node_id, self._subscriptions.partitions())
            self._cluster.request_refresh()
            await asyncio.sleep(self._options.retry_backoff_ms / 1000)
        else:
            self._held.node_works(node_id)
        finally:
            self._busy.discard(node_id)
        self.step()

    def _run(self, coroutine: Any) -> None:
        task = self._supervisor.spawn(coroutine, ACTIVITY)
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)

    # ---- responses

    def _on_answer(
        self, node_id: int, session: ConsumerFetchSession, sent_ms: float, future: asyncio.Future[Any]
    ) -> None:
        self._busy.discard(node_id)
        if future.cancelled() or future.exception() is not None:
            session.failed(ErrorCode.NETWORK_EXCEPTION)
            self._cluster.request_refresh()
            self._delay(session.asked)
            self._forget_replica(node_id, session.asked)
        elif not self._supervisor.call(
            ACTIVITY, partial(self._take_response, session, future.result(), sent_ms), node_id
        ):
            session.failed(ErrorCode.UNKNOWN_SERVER_ERROR)
            self._delay(session.asked)
        self.step()

    def _take_response(self, session: ConsumerFetchSession, response: Any, sent_ms: float) -> None:
        code = error_code(response.error_code)
        if code is not ErrorCode.NONE:
            session.failed(code)
            if code not in (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH):
                self._delay(session.asked)
            return
        session.succeeded(response.session_id)
        by_topic = self._take_answer(response, session.asked)
        self._counts.answered(self._clock.monotonic_ms() - sent_ms, response.throttle_time_ms, by_topic)

    def _forget_replica(self, node_id: int, partitions: Iterable[TopicPartition]) -> None:
        """Fetches from the leader instead of an unreachable preferred replica, until the leader names one again."""
        for partition in partitions:
            state = self._subscriptions.get(partition)
            if state is not None and state.preferred_replica == node_id:
                state.preferred_replica = -1
                self._subscriptions.touch(partition)

    def _delay(self, partitions: Iterable[TopicPartition]) -> None:
        retry_at = self._clock.monotonic_ms() + self._options.retry_backoff_ms
        for partition in partitions:
            state = self._subscriptions.get(partition)
            if state is not None:
                state.retry_at = retry_at
                self._subscriptions.touch(partition)

    def _take_answer(self, response: Any, asked: Mapping[TopicPartition, PartitionFetch]) -> dict[str, tuple[int, int]]:
        """Takes records and errors of partitions whose position has not changed; returns (bytes, records) by topic."""
        by_topic: dict[str, tuple[int, int]] = {}
        for topic in response.responses:
            size = count = 0
            for answer in topic.partition_responses:
                partition = TopicPartition(topic.topic, answer.partition)
                state = self._subscriptions.get(partition)
                wanted = asked.get(partition)
                if state is None or wanted is None or state.generation != wanted.generation:
                    continue
                if answer.error_code:
                    self._take_error(state, wanted, error_code(answer.error_code))
                elif (fetched := self._take_records(state, wanted, answer)) is not None:
                    size += fetched.size_bytes
                    count += fetched.record_count
            if size:
                by_topic[topic.topic] = (size, count)
        return by_topic

    def _take_records(
        self, state: AssignedPartition, wanted: PartitionFetch, answer: FetchablePartitionResponse
    ) -> CompletedFetch | None:
        state.high_watermark = answer.high_watermark
        state.last_stable_offset = answer.last_stable_offset if answer.last_stable_offset >= 0 else None
        state.log_start_offset = answer.log_start_offset if answer.log_start_offset >= 0 else None
        if answer.preferred_read_replica >= 0:
            state.preferred_replica = answer.preferred_read_replica
            state.preferred_until_ms = self._clock.monotonic_ms() + self._options.metadata_max_age_ms
            self._subscriptions.touch(state.topic_partition)
        records = answer.record_set
        if not isinstance(records, memoryview) or not records:
            return None
        if wanted.fetch_offset != state.fetch_offset:
            return None  # it was also fetched from the previous leader, whose response came first
        aborted = [(each.producer_id, each.first_offset) for each in answer.aborted_transactions or ()]
        fetched = CompletedFetch(
            state.topic_partition, state.generation, wanted.fetch_offset, records, aborted, self._decoding
        )
        if fetched.is_empty:
            return None
        state.fetch_offset = fetched.end_offset
        state.fetch_epoch = max(state.fetch_epoch, fetched.end_epoch)
        self._held.add(fetched)
        return fetched

    def _take_error(self, state: AssignedPartition, wanted: PartitionFetch, code: ErrorCode) -> None:
        partition = state.topic_partition
        self._subscriptions.touch(partition)
        state.retry_at = self._clock.monotonic_ms() + self._options.retry_backoff_ms
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._out_of_range(state, wanted)
            return
        state.preferred_replica = -1
        if code in REFRESH:
            _log.debug("Fetch of %s failed with %s; requesting metadata", partition, code.name)
            self._cluster.request_refresh()
        elif (code.retriable and code is not ErrorCode.CORRUPT_MESSAGE) or code is ErrorCode.UNKNOWN_SERVER_ERROR:
            _log.warning("Fetch of %s failed with %s; retrying", partition, code.name)
        else:
            where = f"fetch of {partition} at offset {wanted.fetch_offset}"
            self._held.partition_failed(state, KafkaError(code, f"{where}: {code.meaning}"))

    def _out_of_range(self, state: AssignedPartition, wanted: PartitionFetch) -> None:
        partition = state.topic_partition
        if state.preferred_replica >= 0:  # a follower may lag: ask the leader
            state.preferred_replica = -1
            return
        if state.position != wanted.fetch_offset:  # buffered records come first; the error recurs if it is real
            return
        if self._options.auto_offset_reset == NONE:
            self._held.partition_failed(state, OffsetOutOfRange({partition: wanted.fetch_offset}))
        else:
            offset = wanted.fetch_offset
            _log.info("Offset %d is not in the log of %s; resetting by auto.offset.reset", offset, partition)
            self._reset(state)
        self._on_event()

    def close(self) -> None:
        """Stops fetching and drops buffered records."""
        self._closed = True
        self._validation.close()
        if self._timer is not None:
            self._timer.cancel()
        for task in list(self._tasks):
            task.cancel()
        self._held.clear()
