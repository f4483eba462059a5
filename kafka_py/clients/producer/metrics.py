"""A producer's metrics of records, batches and memory. Source: SenderMetricsRegistry, RecordAccumulator."""

from __future__ import annotations

from kafka_py.base.metric_rows import Gauge, Sampled, Total
from kafka_py.clients.metrics import CLIENT, TOPIC, ClientTable


class ProducerMetrics(ClientTable, group="producer-metrics", tags=CLIENT):
    """All topics together. The owner is the ProducerCore."""

    records_sent = Total("record-send-total", rate="record-send-rate", about="Records sent.")
    retries = Total("record-retry-total", rate="record-retry-rate", about="Records sent again.")
    errors = Total("record-error-total", rate="record-error-rate", about="Records that could not be delivered.")
    splits = Total("batch-split-total", rate="batch-split-rate", about="Batches split because they were too large.")
    batch_size = Sampled(avg="batch-size-avg", max="batch-size-max", unit="bytes", about="Size of a batch as sent.")
    compression = Sampled(avg="compression-rate-avg", about="Compressed size of a batch by its uncompressed size.")
    queue_time = Sampled(
        avg="record-queue-time-avg", max="record-queue-time-max", unit="ms", about="Time until a batch is sent."
    )
    latency = Sampled(avg="request-latency-avg", max="request-latency-max", unit="ms", about="Request to response.")
    throttle_time = Sampled(
        avg="produce-throttle-time-avg", max="produce-throttle-time-max", unit="ms", about="Throttle time of responses."
    )
    records_per_request = Sampled(avg="records-per-request-avg", about="Records in a request.")
    record_size = Sampled(
        avg="record-size-avg", max="record-size-max", unit="bytes", about="The largest record of each batch."
    )
    in_flight = Gauge("requests-in-flight", of=lambda core: core.requests_in_flight, about="Requests without response.")
    metadata_age = Gauge(
        "metadata-age", of=lambda core: core.metadata_age_s, unit="s", about="Age of the metadata in use."
    )
    waiting = Gauge("waiting-threads", of=lambda core: core.accumulator.pool.waiting, about="Waits for memory.")
    memory = Gauge(
        "buffer-total-bytes", of=lambda core: core.options.buffer_memory, unit="bytes", about="Memory for batches."
    )
    memory_left = Gauge(
        "buffer-available-bytes", of=lambda core: core.accumulator.pool.available, unit="bytes", about="Free memory."
    )
    memory_wait = Total(
        "bufferpool-wait-time-total", rate="bufferpool-wait-ratio", per_s=1e-9, unit="ns", about="Waits for memory."
    )
    exhausted = Total(
        "buffer-exhausted-total", rate="buffer-exhausted-rate", about="Records refused for lack of memory."
    )


class ProducerTopicMetrics(ClientTable, group="producer-topic-metrics", tags=TOPIC):
    """One topic."""

    records_sent = Total("record-send-total", rate="record-send-rate", about="Records sent.")
    bytes_sent = Total("byte-total", rate="byte-rate", unit="bytes", about="Bytes of batches sent.")
    retries = Total("record-retry-total", rate="record-retry-rate", about="Records sent again.")
    errors = Total("record-error-total", rate="record-error-rate", about="Records that could not be delivered.")
    compression = Sampled(avg="compression-rate", about="Compressed size of a batch by its uncompressed size.")
