"""Keeps a fetch under way to every broker that has something we may want; held.py keeps the answers for poll().

As in producer/sender.py one synchronous `step` runs whenever something changed: it sends fetches for assigned
partitions that have a position, are not paused and do not hold enough answers already.

Source: KIP-74 (limits), KIP-227 (sessions), KIP-392 (preferred replicas), KIP-320 (leader epochs).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.consumer.configs import NONE, ConsumerOptions
from kafka_py.clients.consumer.fetch_counts import FetchCounts
from kafka_py.clients.consumer.fetch_sessions import FetchSession, Wanted, by_topic
from kafka_py.clients.consumer.fetched import Decoding, Fetched
from kafka_py.clients.consumer.held import HeldAnswers
from kafka_py.clients.consumer.offsets import CONSUMER
from kafka_py.clients.consumer.subscriptions import AssignedPartition, Subscriptions
from kafka_py.clients.consumer.validation import Validation
from kafka_py.clients.errors import OffsetOutOfRange, error_code
from kafka_py.clients.metadata import PartitionInfo
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

ANSWERS_AHEAD = 2
"""Answers held per partition before it is left out of fetches: one to hand out, one so that the next is at hand."""

SHORT_WAIT_MS = 50
"""How long a broker may hold a fetch that leaves out partitions whose answers wait here: they will be wanted soon, and
one broker gets one fetch at a time."""

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
"""Errors of a partition that newer metadata may cure."""


class Fetcher:
    """The fetches of one consumer.

    on_news: called when records, a position to reset or an error wait for poll().
    reset: asks for a partition's position by auto.offset.reset.
    """

    def __init__(
        self,
        options: ConsumerOptions,
        cluster: Cluster,
        subscriptions: Subscriptions,
        decoding: Decoding,
        metrics: ClientMetrics,
        on_news: Callable[[], object],
        reset: Callable[[AssignedPartition], object],
    ) -> None:
        self._options = options
        self._cluster = cluster
        self._subscriptions = subscriptions
        self._decoding = decoding
        self._counts = FetchCounts(metrics, subscriptions, committed=options.reads_committed)
        self._held = HeldAnswers(subscriptions, self._counts, on_news)
        self.collect = self._held.collect
        self._on_news = on_news
        self._reset = reset
        self._validation = Validation(
            options, cluster, subscriptions, on_done=self.step, on_error=self._held.partition_failed, reset=reset
        )
        self._loop = asyncio.get_running_loop()
        self._supervisor = cluster.supervisor
        self._clock = cluster.clock
        self._sessions: dict[int, FetchSession] = {}
        self._busy: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._some_wait = False

    # Asking

    def step(self) -> None:
        """Sends a fetch to every idle broker that leads a partition we want more of. Raises nothing."""
        if not self._closed and not self._supervisor.call(ACTIVITY, self._step):
            self._arm(self._options.retry_backoff_ms)

    def _step(self) -> None:
        now_ms = self._clock.monotonic_ms()
        wanted: dict[int, dict[TopicPartition, Wanted]] = {}
        doubtful: dict[int, list[AssignedPartition]] = {}
        look_again_at: float | None = None
        self._some_wait = False
        for state in self._subscriptions:
            if state.fetch_offset is None or state.paused or state.validating:
                continue
            if self._held.has_error(state):
                continue
            if self._held.count_of(state.topic_partition) >= ANSWERS_AHEAD:
                self._some_wait = True
                continue
            if state.retry_at > now_ms:
                look_again_at = min(look_again_at or state.retry_at, state.retry_at)
                continue
            self._want(state, wanted, doubtful, now_ms)
        for node_id, states in doubtful.items():
            self._validation.begin(node_id, states)
        for node_id, partitions in wanted.items():
            if node_id not in self._busy:
                self._fetch_from(node_id, partitions)
        if look_again_at is not None:
            self._arm(look_again_at - now_ms)

    def _want(
        self,
        state: AssignedPartition,
        wanted: dict[int, dict[TopicPartition, Wanted]],
        doubtful: dict[int, list[AssignedPartition]],
        now_ms: float,
    ) -> None:
        """Puts the partition where it belongs: fetched from a node, or first to be validated by one."""
        info = self._cluster.view.partition(state.topic_partition)
        if info is None or info.leader not in self._cluster.view.nodes:
            state.retry_at = now_ms + self._options.retry_backoff_ms
            self._cluster.request_refresh()
            self._arm(self._options.retry_backoff_ms)
            return
        node_id = info.leader
        if state.needs_validation(info.leader_epoch):
            doubtful.setdefault(node_id, []).append(state)
            return
        if state.preferred_replica >= 0:
            if self._may_read_from_replica(state, info, now_ms):
                node_id = state.preferred_replica
            else:
                state.preferred_replica = -1
        assert state.fetch_offset is not None
        wanted.setdefault(node_id, {})[state.topic_partition] = Wanted(
            state.fetch_offset, self._options.max_partition_fetch_bytes, info.leader_epoch
        )

    def _may_read_from_replica(self, state: AssignedPartition, info: PartitionInfo, now_ms: float) -> bool:
        replica = state.preferred_replica
        alive = replica in self._cluster.view.nodes and replica not in info.offline_replicas
        return alive and state.preferred_until_ms > now_ms

    def _arm(self, delay_ms: float) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(delay_ms / 1000, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self.step()

    def _fetch_from(self, node_id: int, partitions: dict[TopicPartition, Wanted]) -> None:
        connection = self._cluster.current_connection(node_id)
        self._busy.add(node_id)
        if connection is None:
            self._run(self._connect_then_step(node_id))
            return
        try:
            self._send(node_id, connection, partitions)
        except KafkaError as error:
            self._busy.discard(node_id)
            self._delay(partitions)
            self._held.node_failed(node_id, error)
        except BaseException:
            self._busy.discard(node_id)
            self._delay(partitions)
            raise

    def _send(self, node_id: int, connection: NodeConnection, partitions: dict[TopicPartition, Wanted]) -> None:
        options = self._options
        session = self._sessions.setdefault(node_id, FetchSession())
        request = session.build(partitions)
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
        longest_wait_ms = SHORT_WAIT_MS if self._some_wait else options.fetch_max_wait_ms
        future = connection.send(
            FetchRequest(
                replica_id=CONSUMER,
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
        generations = {each: self._subscriptions.of(each).generation for each in partitions}
        sent_ms = self._clock.monotonic_ms()
        future.add_done_callback(partial(self._on_answer, node_id, partitions, generations, sent_ms))

    async def _connect_then_step(self, node_id: int) -> None:
        try:
            await self._cluster.connection(node_id)
        except KafkaError as error:
            _log.debug("%s", error)
            self._forget_replica(node_id, self._subscriptions.partitions())
            self._cluster.request_refresh()
            await asyncio.sleep(self._options.retry_backoff_ms / 1000)
        finally:
            self._busy.discard(node_id)
        self.step()

    def _run(self, coroutine: Any) -> None:
        task = self._supervisor.spawn(coroutine, ACTIVITY)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # Answers

    def _on_answer(
        self,
        node_id: int,
        partitions: dict[TopicPartition, Wanted],
        generations: dict[TopicPartition, int],
        sent_ms: float,
        future: asyncio.Future[Any],
    ) -> None:
        self._busy.discard(node_id)
        session = self._sessions[node_id]
        if future.cancelled() or future.exception() is not None:
            session.failed(ErrorCode.NETWORK_EXCEPTION)
            self._cluster.request_refresh()
            self._delay(partitions)
            self._forget_replica(node_id, partitions)
        elif not self._supervisor.call(
            ACTIVITY, partial(self._take_response, session, future.result(), partitions, generations, sent_ms), node_id
        ):
            session.failed(ErrorCode.UNKNOWN_SERVER_ERROR)
            self._delay(partitions)
        self.step()

    def _take_response(
        self,
        session: FetchSession,
        response: Any,
        partitions: dict[TopicPartition, Wanted],
        generations: dict[TopicPartition, int],
        sent_ms: float,
    ) -> None:
        code = error_code(response.error_code)
        if code is not ErrorCode.NONE:
            session.failed(code)
            if code not in (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH):
                self._delay(partitions)
            return
        session.succeeded(response.session_id)
        by_topic = self._take_answer(response, partitions, generations)
        self._counts.answered(self._clock.monotonic_ms() - sent_ms, response.throttle_time_ms, by_topic)

    def _forget_replica(self, node_id: int, partitions: Iterable[TopicPartition]) -> None:
        """A follower that cannot be reached is not preferred: the leader names one again."""
        for partition in partitions:
            state = self._subscriptions.get(partition)
            if state is not None and state.preferred_replica == node_id:
                state.preferred_replica = -1

    def _delay(self, partitions: dict[TopicPartition, Wanted]) -> None:
        retry_at = self._clock.monotonic_ms() + self._options.retry_backoff_ms
        for partition in partitions:
            state = self._subscriptions.get(partition)
            if state is not None:
                state.retry_at = retry_at

    def _take_answer(
        self, response: Any, partitions: dict[TopicPartition, Wanted], generations: dict[TopicPartition, int]
    ) -> dict[str, tuple[int, int]]:
        """Keeps what is still wanted; returns (bytes, records) by topic."""
        by_topic: dict[str, tuple[int, int]] = {}
        for topic in response.responses:
            size = count = 0
            for answer in topic.partition_responses:
                partition = TopicPartition(topic.topic, answer.partition)
                state = self._subscriptions.get(partition)
                wanted = partitions.get(partition)
                if state is None or wanted is None or state.generation != generations[partition]:
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
        self, state: AssignedPartition, wanted: Wanted, answer: FetchablePartitionResponse
    ) -> Fetched | None:
        state.high_watermark = answer.high_watermark
        state.last_stable_offset = answer.last_stable_offset if answer.last_stable_offset >= 0 else None
        state.log_start_offset = answer.log_start_offset if answer.log_start_offset >= 0 else None
        if answer.preferred_read_replica >= 0:
            state.preferred_replica = answer.preferred_read_replica
            state.preferred_until_ms = self._clock.monotonic_ms() + self._options.metadata_max_age_ms
        records = answer.record_set
        if not isinstance(records, memoryview) or not records:
            return None
        aborted = [(each.producer_id, each.first_offset) for each in answer.aborted_transactions or ()]
        fetched = Fetched(
            state.topic_partition, state.generation, wanted.fetch_offset, records, aborted, self._decoding
        )
        if fetched.is_empty:
            return None
        state.fetch_offset = fetched.end_offset
        state.fetch_epoch = max(state.fetch_epoch, fetched.end_epoch)
        self._held.add(fetched)
        return fetched

    def _take_error(self, state: AssignedPartition, wanted: Wanted, code: ErrorCode) -> None:
        partition = state.topic_partition
        state.retry_at = self._clock.monotonic_ms() + self._options.retry_backoff_ms
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._out_of_range(state, wanted)
            return
        state.preferred_replica = -1
        if code in REFRESH:
            _log.debug("Fetch of %s failed with %s; asking for metadata", partition, code.name)
            self._cluster.request_refresh()
        elif (code.retriable and code is not ErrorCode.CORRUPT_MESSAGE) or code is ErrorCode.UNKNOWN_SERVER_ERROR:
            _log.warning("Fetch of %s failed with %s; trying again", partition, code.name)
        else:
            where = f"fetch of {partition} at offset {wanted.fetch_offset}"
            self._held.partition_failed(state, KafkaError(code, f"{where}: {code.meaning}"))

    def _out_of_range(self, state: AssignedPartition, wanted: Wanted) -> None:
        partition = state.topic_partition
        if state.preferred_replica >= 0:  # a follower that is behind: the leader knows better
            state.preferred_replica = -1
            return
        if state.position != wanted.fetch_offset:  # what is held comes first, the truth about the rest shows later
            return
        if self._options.auto_offset_reset == NONE:
            self._held.partition_failed(state, OffsetOutOfRange({partition: wanted.fetch_offset}))
        else:
            offset = wanted.fetch_offset
            _log.info("Offset %d is not in the log of %s; continuing where auto.offset.reset says", offset, partition)
            self._reset(state)
        self._on_news()

    def close(self) -> None:
        """Asks for nothing more; what is held is forgotten."""
        self._closed = True
        self._validation.close()
        if self._timer is not None:
            self._timer.cancel()
        for task in list(self._tasks):
            task.cancel()
        self._held.clear()
