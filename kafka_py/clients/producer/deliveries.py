"""The results of batches that were sent or have expired: they are acknowledged, retried, split, or they fail.

Decides and carries out, but sends nothing; sender.py does. Every batch that is sent or completed passes through here,
so the producer's metrics of records and batches are counted here.

Source: Sender, ProducerBatch (retries, delivery.timeout.ms, splitting of batches that the broker finds too large).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.supervision import Supervisor
from kafka_py.clients.errors import AuthenticationError
from kafka_py.clients.metrics import ClientMetrics
from kafka_py.clients.producer.accumulator import Accumulator
from kafka_py.clients.producer.batches import ProducerBatch
from kafka_py.clients.producer.configs import ProducerOptions
from kafka_py.clients.producer.idempotence import GAPS, ProducerIdentity
from kafka_py.clients.producer.metrics import ProducerMetrics, ProducerTopicMetrics
from kafka_py.clients.producer.requests import answers_by_partition, error_of, timed_out

ACTIVITY = "producer batch"

_log = logging.getLogger(__name__)


class Deliveries:
    """The batches of one producer from their sending to their completion; used on its event loop.

    identity: that of an idempotent producer, else None. refresh: requests new metadata.
    metrics: of all topics; the table of a topic is created with its first batch.
    """

    def __init__(
        self,
        options: ProducerOptions,
        accumulator: Accumulator,
        identity: ProducerIdentity | None,
        refresh: Callable[[], object],
        metrics: ProducerMetrics,
        supervisor: Supervisor,
    ) -> None:
        self._options = options
        self._accumulator = accumulator
        self._identity = identity
        self._refresh = refresh
        self._metrics = metrics
        self._supervisor = supervisor
        self._topics: dict[str, ProducerTopicMetrics] = {}
        self._delivery_ms = float(options.delivery_timeout_ms)
        self._compresses = options.compression_type != "none"

    # ---- before sending

    def prepare(self, batch: ProducerBatch) -> bool:
        """Assigns the batch its sequence and encodes it, unless that was done; False if the batch fails in that."""
        try:
            if self._identity is not None:
                self._identity.stamp(batch)
            if batch.data is None:
                data = batch.encode()
                if self._compresses:
                    self._accumulator.note_compression(batch.lane, batch.builder.uncompressed_size, len(data))
        except Exception as error:
            self.break_off(batch, error)
            return False
        return True

    def break_off(self, batch: ProducerBatch, error: Exception) -> None:
        """Fails this batch, and no other, with an unexpected error, which is logged."""
        self._supervisor.report(ACTIVITY, error, batch.lane)
        lane = batch.lane
        if batch in lane.in_flight:
            lane.in_flight.remove(batch)
        if batch in lane.queue:
            self._accumulator.take(lane, lane.queue.index(batch))
        if not batch.finished:
            self._give_up(batch, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{batch.lane}: {error!r}"))

    def note_sent(self, batches: list[ProducerBatch], node_id: int, now_ms: float) -> None:
        """Counts the batches as sent in one request, and in flight."""
        metrics, records = self._metrics, 0
        for batch in batches:
            batch.attempts += 1
            batch.lane.in_flight.append(batch)
            batch.lane.sent_to = node_id
            assert batch.data is not None
            count, size = len(batch.details), len(batch.data)
            topic = self.topic(batch.lane.topic)
            records += count
            topic.records_sent += count
            topic.bytes_sent += size
            metrics.batch_size.update(size)
            metrics.queue_time.update(now_ms - batch.created_ms)
            metrics.record_size.update(batch.largest)
            ratio = size / max(batch.builder.uncompressed_size, 1) if self._compresses else 1.0
            metrics.compression.update(ratio)
            topic.compression.update(ratio)
        metrics.records_sent += records
        metrics.records_per_request.update(records)

    def topic(self, name: str) -> ProducerTopicMetrics:
        """The metrics of a topic, created on first use."""
        table = self._topics.get(name)
        if table is None:
            registry = self._metrics.registry
            assert isinstance(registry, ClientMetrics)
            table = self._topics[name] = ProducerTopicMetrics(registry, name)
        return table

    # ---- responses

    def take_answer(self, batches: list[ProducerBatch], response: Any, latency_ms: float, now_ms: float) -> None:
        """Takes the response to a request for these batches."""
        self._metrics.latency.update(latency_ms)
        self._metrics.throttle_time.update(response.throttle_time_ms)
        answers = answers_by_partition(response)
        for batch in batches:
            if batch.finished:
                continue  # the batch has expired in flight
            answer = answers.get((batch.lane.topic, batch.lane.partition))
            try:
                if answer is not None and answer.error_code == 0:
                    self.finish(batch, answer.base_offset, answer.log_append_time_ms)
                else:
                    self._refused(batch, error_of(batch, answer), now_ms)
            except Exception as error:
                self.break_off(batch, error)

    def finish(self, batch: ProducerBatch, base_offset: int, log_append_time: int) -> None:
        """Completes a batch that was acknowledged, or that was sent with acks=0."""
        batch.lane.in_flight.remove(batch)
        if self._identity is not None:
            self._identity.acknowledge(batch)
        self._accumulator.release(batch)
        batch.succeed(base_offset, log_append_time)

    def failed(self, batches: Iterable[ProducerBatch], error: BaseException, now_ms: float) -> None:
        """Retries or fails the batches of a request without response; they may or may not have been appended."""
        if not isinstance(error, KafkaError):
            error = KafkaError(ErrorCode.NETWORK_EXCEPTION, f"the connection was lost before the response: {error}")
        for batch in list(batches):
            if batch.finished:
                continue
            try:
                self._refused(batch, error, now_ms)
            except Exception as problem:
                self.break_off(batch, problem)

    def _refused(self, batch: ProducerBatch, error: KafkaError, now_ms: float) -> None:
        """Retries, splits or fails a batch after an error."""
        lane = batch.lane
        code = error.code
        if code.invalid_metadata:
            self._refresh()
        if code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            self.finish(batch, -1, -1)
            return
        lane.in_flight.remove(batch)
        if code is ErrorCode.MESSAGE_TOO_LARGE and len(batch.details) > 1:
            self._split(batch)
            return
        retriable = code.retriable
        if self._identity is not None and code in GAPS:
            retriable = self._identity.refuse(batch)
        expired = now_ms >= batch.created_ms + self._delivery_ms
        if retriable and not expired and batch.attempts <= self._options.retries:
            batch.retry_at = now_ms + self._options.retry_backoff_ms
            self._accumulator.put_back(lane, [batch])
            self._metrics.retries += len(batch.details)
            self.topic(lane.topic).retries += len(batch.details)
            return
        if expired and retriable:
            error = timed_out(batch, now_ms, f"; the last error was {error}")
        self._give_up(batch, error)

    def _split(self, batch: ProducerBatch) -> None:
        """Splits a batch that is too large for the broker; the parts are sent without delay, in order."""
        count = len(batch.details)
        _log.warning("The batch of %d records for %s is too large for the broker; splitting it", count, batch.lane)
        parts = batch.split()
        self._accumulator.replace(batch, parts)
        self._accumulator.put_back(batch.lane, parts)
        self._metrics.splits += 1

    def _give_up(self, batch: ProducerBatch, error: KafkaError) -> None:
        if self._identity is not None:
            self._identity.give_up(batch, error)
        self._accumulator.release(batch)
        self._metrics.errors += len(batch.details)
        self.topic(batch.lane.topic).errors += len(batch.details)
        batch.fail(error)

    # ---- completion without a response

    def expire(self, now_ms: float) -> None:
        """Fails batches whose delivery.timeout.ms has expired; later responses to those in flight are ignored."""
        for batch in self._accumulator.overdue(now_ms, self._delivery_ms):
            lane = batch.lane
            if batch in lane.in_flight:
                lane.in_flight.remove(batch)
                self._give_up(batch, timed_out(batch, now_ms, "; it was sent, but not acknowledged"))
            elif batch in lane.queue:
                self._accumulator.take(lane, lane.queue.index(batch))
                self._give_up(batch, timed_out(batch, now_ms))

    def fail_all(self, error: KafkaError) -> None:
        """Refuses further records and fails all queued batches with `error`; those in flight continue."""
        self._accumulator.stop(error)
        for lane in list(self._accumulator.active):
            while lane.queue:
                self._give_up(self._accumulator.take(lane), error)

    def refused(self, error: AuthenticationError, fails: Callable[[int], bool]) -> None:
        """Brokers do not accept this client: fails what is queued for leaders (node ids) for which `fails` holds.

        No use to keep it until delivery.timeout.ms, after which its error would not say why.
        """
        for lane in list(self._accumulator.active):
            if fails(lane.leader):
                while lane.queue:
                    self._give_up(self._accumulator.take(lane), error)

    def drop_unsent(self, error: KafkaError) -> None:
        """The transaction failed or is aborted: what no broker can have fails with `error`, the rest is waited for."""
        for batch in self._accumulator.take_unsent():
            self._give_up(batch, error)

    def abort(self, error: KafkaError) -> None:
        """Fails all incomplete batches, also those in flight, with `error`."""
        for batch in list(self._accumulator.incomplete):
            batch.lane.queue.clear()
            batch.lane.in_flight.clear()
            self._accumulator.release(batch)
            batch.fail(error)
        self._accumulator.active.clear()
