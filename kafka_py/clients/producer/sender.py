"""Sends batches from the accumulator to the leaders of their partitions; deliveries.py handles the responses.

One synchronous `step` runs whenever something has changed: a batch was opened, a response arrived, a timer expired, the
metadata or a connection changed. It never waits, so there is no task per request, and it examines only lanes that have
changed (ready.py). idempotence.py decides which batch of an idempotent lane may be sent next.

Source: Sender (linger.ms, max.in.flight.requests.per.connection, one batch per partition and request).
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.configs import INT_MAX
from kafka_py.clients.errors import AuthenticationError, error_code
from kafka_py.clients.metadata import NO_NODE, ClusterView
from kafka_py.clients.node_connection import NodeConnection
from kafka_py.clients.producer.accumulator import Accumulator
from kafka_py.clients.producer.batches import NO_SEQUENCE, ProducerBatch, settle
from kafka_py.clients.producer.configs import ProducerOptions
from kafka_py.clients.producer.deliveries import Deliveries
from kafka_py.clients.producer.idempotence import ProducerIdentity
from kafka_py.clients.producer.lanes import Lane
from kafka_py.clients.producer.metrics import ProducerMetrics
from kafka_py.clients.producer.ready import ReadyLanes
from kafka_py.clients.producer.requests import produce_request
from kafka_py.net.connection_failures import ConnectionLost
from kafka_py.wire.messages.init_producer_id import InitProducerIdRequest

_log = logging.getLogger(__name__)

ACTIVITY = "producer sender"

EAGER_LINGER_MS = 2.0
"""With linger.ms=0 a batch that is not full still waits for an outstanding response of the same broker, but no longer
than this: otherwise a busy producer would spend its time on requests of a few records each."""

ROUNDING_S = 1e-6
"""Added to the delay of a timer, so that rounding does not let it expire before its time."""

UNANSWERED_PAUSE_MS = 1.0
"""With acks=0 there are no responses: while the socket is full, the sender tries again after this long."""

FATAL_FOR_IDENTITY = (
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)


class Sender:
    """The sender of one producer; all methods are called on the producer's event loop."""

    def __init__(
        self,
        options: ProducerOptions,
        cluster: Cluster,
        accumulator: Accumulator,
        metrics: ProducerMetrics,
        identity: ProducerIdentity | None = None,
    ) -> None:
        """identity: of a transactional producer, whose coordinator gives it its id."""
        self._options = options
        self._cluster = cluster
        self._accumulator = accumulator
        self._identity = identity or (ProducerIdentity() if options.enable_idempotence else None)
        self._transactional_id = options.transactional_id
        self._deliveries = Deliveries(
            options, accumulator, self._identity, cluster.request_refresh, metrics, cluster.supervisor
        )
        self._loop = asyncio.get_running_loop()
        self._supervisor = cluster.supervisor
        self._clock = cluster.clock
        self._acks = options.acks_code
        self._linger_ms = float(options.linger_ms)
        self._delivery_ms = float(options.delivery_timeout_ms)
        self._in_flight: dict[int, int] = {}
        self._connecting: set[int] = set()
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._ready = ReadyLanes()
        self._flushing = 0
        self._hurried = False
        self._looks_at_all = False
        self._initializing = False
        self._closed = False
        cluster.on_update(self._on_view)
        cluster.on_refused(partial(self._deliveries.refused, fails=cluster.lacks_connection))

    @property
    def requests_in_flight(self) -> int:
        """Produce requests that await their response."""
        return sum(self._in_flight.values())

    # ---- one round

    def step(self) -> None:
        """Sends what may be sent now and sets the timer for the rest. Never raises."""
        if not self._closed and not self._supervisor.call(ACTIVITY, self._step):
            self._looks_at_all = True
            self._arm(self._clock.monotonic_ms() + self._options.retry_backoff_ms)

    def _step(self) -> None:
        now_ms = self._clock.monotonic_ms()
        accumulator, ready = self._accumulator, self._ready
        end_ms = accumulator.oldest_ms + self._delivery_ms
        if end_ms <= now_ms:
            self._deliveries.expire(now_ms)
            end_ms = accumulator.oldest_ms + self._delivery_ms
        touched = accumulator.take_touched()
        hurried, self._hurried = self._hurried, bool(self._flushing or accumulator.pool.waiting)
        if self._looks_at_all or (self._hurried and not hurried):
            self._looks_at_all = False
            touched = list(accumulator.active)
        for lane in touched:
            self._place(lane, now_ms)
        if ready.next_ms <= now_ms:
            for lane in ready.due(now_ms):
                self._place(lane, now_ms)
        if ready.has_leaderless:
            self._cluster.request_refresh()
        wake_at = now_ms + 1000.0
        for node_id in ready.nodes():
            wake_at = min(wake_at, self._serve(node_id, now_ms))
        if now_ms < end_ms < wake_at:
            wake_at = end_ms
        self._arm(now_ms if accumulator.has_touched else min(wake_at, ready.next_ms))

    def _place(self, lane: Lane, now_ms: float) -> None:
        """Notes in ready.py whether a lane may be sent from now, later, or not at all."""
        ready, queue = self._ready, lane.queue
        if not queue:
            if lane.place is not None:
                ready.forget(lane)
            return
        if lane.leader == NO_NODE:
            ready.put_leaderless(lane)
            return
        first = queue[0]
        if first.attempts:
            due_ms, eager = first.retry_at, False
        elif len(queue) > 1 or first.size >= first.limit or lane.open is not first or self._hurried:
            due_ms, eager = 0.0, False
        else:
            linger_ms = self._linger_ms
            eager = linger_ms < EAGER_LINGER_MS and self._in_flight.get(lane.leader, 0) > 0
            due_ms = first.created_ms + (EAGER_LINGER_MS if eager else linger_ms)
        if due_ms <= now_ms:
            ready.put_ready(lane)
        else:
            ready.put_waiting(lane, due_ms, eager=eager)

    def _serve(self, node_id: int, now_ms: float) -> float:
        """Sends as many requests to one broker as its limit allows; returns the time of the next attempt (ms)."""
        connection = self._cluster.current_connection(node_id)
        if connection is None:
            self._connect(node_id)
            return now_ms + 1000.0
        muted_for_ms = connection.muted_for_ms
        if muted_for_ms:  # throttled by the broker; meanwhile batches grow, or expire
            return now_ms + muted_for_ms
        limit = self._options.max_in_flight
        if self._acks == 0 and connection.unsent_bytes > self._options.max_request_size:
            return now_ms + UNANSWERED_PAUSE_MS
        while self._in_flight.get(node_id, 0) < limit:
            batches = self._drain(node_id, now_ms)
            if not batches:
                break
            if not self._send(node_id, connection, batches, now_ms):
                break
        return now_ms + 1000.0

    def _drain(self, node_id: int, now_ms: float) -> list[ProducerBatch]:
        """The batches for one request, at most one per lane; lanes with more batches queue again for the next request.

        A lane whose next batch has to wait for a response leaves the queue until that response arrives.
        """
        batches: list[ProducerBatch] = []
        room = self._options.max_request_size
        for _ in range(self._ready.count(node_id)):
            lane = self._ready.first(node_id)
            try:
                index = self._next_index(lane)
            except Exception as error:
                self._deliveries.break_off(self._accumulator.take(lane), error)
                index = None
            if index is None:
                self._ready.forget(lane)
                continue
            batch = lane.queue[index]
            if batches and batch.size > room:
                break
            batch = self._accumulator.take(lane, index)
            room -= batch.size
            batches.append(batch)
            self._ready.forget(lane)
            if lane.queue:
                self._place(lane, now_ms)
        return batches

    def _next_index(self, lane: Lane) -> int | None:
        if not lane.queue:
            return None
        if lane.in_flight and lane.sent_to != lane.leader:
            return None  # wait for the old leader, or the new one might append a later batch before a retried one
        if self._identity is not None:
            if not self._identity.settle(lane):
                self._initialize()
                return None
            if not self._identity.is_known and lane.queue[0].sequence == NO_SEQUENCE:
                self._initialize()
                return None
            return self._identity.next_to_send(lane)
        if self._options.max_in_flight == 1 and lane.in_flight:
            return None  # one request in flight per partition keeps the order
        return 0

    def _arm(self, at_ms: float) -> None:
        if self._timer is not None:
            if self._timer_at <= at_ms:
                return
            self._timer.cancel()
        self._timer_at = at_ms
        left_ms = at_ms - self._clock.monotonic_ms()
        delay_s = left_ms / 1000 + ROUNDING_S if left_ms > 0 else 0.0
        self._timer = self._loop.call_later(delay_s, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if self._accumulator.active or self._accumulator.incomplete:
            self.step()

    # ---- requests and responses

    def _send(self, node_id: int, connection: NodeConnection, batches: list[ProducerBatch], now_ms: float) -> bool:
        """Sends one request; returns whether another one may be sent immediately."""
        batches = [batch for batch in batches if self._deliveries.prepare(batch)]
        if not batches:
            return True
        self._deliveries.note_sent(batches, node_id, now_ms)
        try:
            request = produce_request(
                batches, self._acks, self._options.request_timeout_ms, self._transactional_id
            )
            if self._acks == 0:
                connection.send_and_forget(request)
                for batch in batches:
                    self._deliveries.finish(batch, -1, -1)
                return False
            future = connection.send(request)
        except (KafkaError, ConnectionLost) as error:
            self._deliveries.failed(batches, error, now_ms)
            return False
        except Exception as error:
            for batch in batches:
                self._deliveries.break_off(batch, error)
            return False
        self._in_flight[node_id] = self._in_flight.get(node_id, 0) + 1
        future.add_done_callback(partial(self._on_answer, node_id, batches, now_ms))
        return True

    def _on_answer(
        self, node_id: int, batches: list[ProducerBatch], sent_ms: float, future: asyncio.Future[Any]
    ) -> None:
        self._in_flight[node_id] -= 1
        if self._closed:
            return
        now_ms = self._clock.monotonic_ms()
        if not self._in_flight[node_id]:
            for lane in self._ready.idle(node_id):
                self._place(lane, now_ms)
        error = ConnectionLost("closed") if future.cancelled() else future.exception()
        if error is not None:
            self._deliveries.failed(batches, error, now_ms)
            self._cluster.request_refresh()
        else:
            response, latency_ms = future.result(), now_ms - sent_ms
            take = partial(self._deliveries.take_answer, batches, response, latency_ms, now_ms)
            if not self._supervisor.call(ACTIVITY, take, "answer"):
                unread = [batch for batch in batches if batch in batch.lane.in_flight]
                self._deliveries.failed(unread, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "bad response"), now_ms)
        self.step()

    # ---- metadata, connections, producer id, flush

    def _on_view(self, view: ClusterView) -> None:
        self._accumulator.take_view(view)
        if self._accumulator.active:
            self.step()

    def _connect(self, node_id: int) -> None:
        if node_id not in self._connecting:
            self._connecting.add(node_id)
            self._run(self._connect_then_step(node_id))

    async def _connect_then_step(self, node_id: int) -> None:
        try:
            await self._cluster.connection(node_id)
        except KafkaError as error:
            _log.debug("%s", error)
            if isinstance(error, AuthenticationError):
                self._deliveries.refused(error, lambda leader: leader == node_id)
            self._cluster.request_refresh()
        finally:
            self._connecting.discard(node_id)
        self.step()

    def _initialize(self) -> None:
        if self._transactional_id is not None:
            return  # the coordinator gives the id, see transactions/driver.py
        if not self._initializing and self._identity is not None and not self._identity.is_known:
            self._initializing = True
            self._run(self._ask_for_identity())

    async def _ask_for_identity(self) -> None:
        assert self._identity is not None
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=INT_MAX)
        try:
            while not self._identity.is_known:
                try:
                    response = await self._cluster.send_any(request)
                    code = error_code(response.error_code)
                    if code is not ErrorCode.NONE:
                        raise KafkaError(code, "InitProducerId failed")
                    self._identity.assume(response.producer_id, response.producer_epoch)
                    self._looks_at_all = True
                except Exception as error:
                    if not isinstance(error, KafkaError):
                        self._supervisor.report(ACTIVITY, error, "InitProducerId")
                        error = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"InitProducerId failed: {error!r}")
                    if error.code in FATAL_FOR_IDENTITY or not error.retriable:
                        self._deliveries.fail_all(error)
                        return
                    await asyncio.sleep(self._options.retry_backoff_ms / 1000)
        finally:
            self._initializing = False
        self.step()

    def _run(self, coroutine: Any) -> None:
        task = self._supervisor.spawn(coroutine, ACTIVITY)
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)

    # ---- transactions

    def look_at_all(self) -> None:
        """Lanes that had to wait may send now: their partitions have become part of the transaction."""
        self._looks_at_all = True
        self.step()

    def drop_unsent(self, error: KafkaError) -> None:
        """The transaction failed or is aborted: what no broker can have fails with `error`."""
        self._deliveries.drop_unsent(error)

    def fail_all(self, error: KafkaError) -> None:
        """Nothing can be sent any longer: everything that waits fails with `error`."""
        self._deliveries.fail_all(error)

    # ---- ends

    async def flush(self) -> None:
        """Waits until all batches that exist now are complete; meanwhile batches are sent without lingering."""
        with self._accumulator.lock:
            batches = list(self._accumulator.incomplete)
            for batch in batches:
                if batch.lane.open is batch:
                    batch.lane.open = None
        self._flushing += 1
        try:
            self.step()
            for batch in batches:
                await _answered(batch, self._loop)
        finally:
            self._flushing -= 1

    def close(self, error: KafkaError) -> None:
        """Stops immediately; incomplete batches fail with `error`."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        for task in list(self._tasks):
            task.cancel()
        self._deliveries.abort(error)


async def _answered(batch: ProducerBatch, loop: asyncio.AbstractEventLoop) -> None:
    """Waits until a batch, or every part that it was split into, is complete."""
    if not batch.finished and batch.parts is None:
        future = loop.create_future()
        batch.notify(len(batch.details) - 1, lambda _metadata, _error: settle(future))
        await future
    for _, part in batch.parts or ():
        await _answered(part, loop)
