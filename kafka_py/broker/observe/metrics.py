"""Metrics of requests and of the broker itself. Source: docs/reference/metrics.tsv."""

from __future__ import annotations

import os
from resource import RLIMIT_NOFILE, getpagesize, getrlimit
from threading import active_count
from time import process_time
from typing import Any

from kafka_py import KAFKA_VERSION, __version__
from kafka_py.base.meters import Fleet, MetricRegistry, MetricTable
from kafka_py.base.metric_rows import Distribution, Gauge, Rate
from kafka_py.broker.observe.exchanges import Exchanges
from kafka_py.broker.observe.request_log import Finished
from kafka_py.net.event_loop.loop import LoopWatch
from kafka_py.wire.apis import APIS, Api, ApiKey

_REQUEST = ("request",)
FETCH_FOLLOWER = "FetchFollower"
"""The name under which the fetches of followers are measured."""
FOLD_AT = 256
"""Number of finished requests of an API after which their times are evaluated."""
_SAMPLES_A_SECOND = 200
_FEWEST, _MOST = 4, 64
"""Smallest sample of those requests: at high rates about 200 a second are evaluated."""


class RequestMetrics(MetricTable, group="kafka.network:type=RequestMetrics"):
    """Times and sizes of one API's requests; counts by version and by error have one more tag."""

    requests = Rate("RequestsPerSec", unit="requests", tags=("request", "version"), about="Requests.")
    errors = Rate("ErrorsPerSec", unit="requests", tags=("request", "error"), about="Error codes in responses.")
    request_queue_time = Distribution(
        "RequestQueueTimeMs", unit="ms", tags=_REQUEST, about="From the last byte's arrival until processing starts."
    )
    local_time = Distribution("LocalTimeMs", unit="ms", tags=_REQUEST, about="Time in the handler.")
    remote_time = Distribution("RemoteTimeMs", unit="ms", tags=_REQUEST, about="Time parked in a purgatory.")
    response_queue_time = Distribution(
        "ResponseQueueTimeMs", unit="ms", tags=_REQUEST, about="From the response's completion until it is sent."
    )
    response_send_time = Distribution(
        "ResponseSendTimeMs", unit="ms", tags=_REQUEST, about="Until the socket has taken the whole response."
    )
    total_time = Distribution("TotalTimeMs", unit="ms", tags=_REQUEST, about="From arrival until the response is sent.")
    throttle_time = Distribution("ThrottleTimeMs", unit="ms", tags=_REQUEST, about="Throttle time of responses.")
    request_bytes = Distribution("RequestBytes", unit="bytes", tags=_REQUEST, about="Size of requests.")

    def settle(self) -> None:
        if isinstance(self.owner, ApiMetrics):
            self.owner.fold()


class ApiMetrics:
    """The metrics of one API; tables of versions and errors are created on first use.

    whole: the metrics that include these, as Fetch includes FetchConsumer; all values are added there too. finished:
    requests that are done but not evaluated; the appender calls `fold` at FOLD_AT.
    """

    __slots__ = (
        "_errors", "_failed", "_registry", "_throttled", "_turn", "finished", "name", "parts", "times", "versions",
        "whole",
    )  # fmt: skip

    def __init__(self, registry: MetricRegistry, name: str, whole: ApiMetrics | None = None) -> None:
        self.name = name
        self.whole = whole
        self.parts: list[ApiMetrics] = []
        if whole is not None:
            whole.parts.append(self)
        self.finished: list[Finished] = []
        self.times = RequestMetrics(registry, self, request=name)
        self._registry = registry
        self._failed = 0
        self._throttled: list[float] = []
        self._turn = 0
        self.versions: dict[int, RequestMetrics] = {}
        """The tables of the versions used so far; see `version`."""
        self._errors: dict[str, RequestMetrics] = {}

    def count(self, version: int) -> None:
        """Counts one request of that version."""
        (self.versions.get(version) or self.version(version)).requests += 1

    def version(self, version: int) -> RequestMetrics:
        """The table of requests of that version, created on first use."""
        table = self.versions.get(version)
        if table is None:
            table = self.versions[version] = RequestMetrics(self._registry, request=self.name, version=str(version))
        return table

    def count_error(self, error_name: str) -> None:
        """Counts one error code in a response."""
        self._failed += 1
        self._error_table(error_name).errors += 1
        if self.whole is not None:
            self.whole.count_error(error_name)

    def note_throttled(self, time_ms: float) -> None:
        """Notes the throttle time of one response."""
        self._throttled.append(time_ms)

    def _error_table(self, error_name: str) -> RequestMetrics:
        table = self._errors.get(error_name)
        if table is None:
            table = self._errors[error_name] = RequestMetrics(self._registry, request=self.name, error=error_name)
        return table

    def fold(self) -> None:
        """Evaluates the times of the finished requests since the last call."""
        for part in self.parts:
            part.fold()
        finished = self.finished
        if not finished:
            return
        self.finished = []
        throttled, self._throttled = self._throttled, []
        times: ApiMetrics | None = self
        while times is not None:
            times.take(finished, throttled)
            times = times.whole

    def take(self, finished: list[Finished], throttled: list[float]) -> None:
        """Adds the times of finished requests, of this API or of a part of it. throttled: throttle times over 0."""
        self._count_sound(len(finished))
        table, count = self.times, len(finished)
        span_s = finished[-1][5] - finished[0][5]
        size = min(max(int(span_s * _SAMPLES_A_SECOND), _FEWEST), _MOST)
        step = max(count // size, 1)
        received, taken, parked, answered, turn, sent, sizes = zip(*finished[self._turn % step :: step], strict=True)
        self._turn += 1
        table.total_time.extend([(row[5] - row[0]) * 1000.0 for row in finished], sample=size)
        table.request_bytes.extend(sizes, count)
        table.throttle_time.extend(throttled)
        if count > len(throttled):
            table.throttle_time.extend((0.0,), count - len(throttled))
        done = [p or a for p, a in zip(parked, answered, strict=True)]
        for histogram, begins, ends in (
            (table.request_queue_time, received, taken),
            (table.local_time, taken, done),
            (table.remote_time, done, answered),
            (table.response_queue_time, answered, turn),
            (table.response_send_time, turn, sent),
        ):
            histogram.extend([max(e - b, 0.0) * 1000.0 for b, e in zip(begins, ends, strict=True)], count)

    def _count_sound(self, finished: int) -> None:
        """Counts responses without an error code as NONE. A response with several codes counts as several ones."""
        sound = finished - self._failed
        self._failed = max(-sound, 0)
        if sound > 0:
            self._error_table("NONE").errors += sound


class AllRequestMetrics:
    """Every API's metrics, with separate ones for fetches of consumers and of followers; and the kept requests."""

    __slots__ = ("_by_key", "exchanges", "fetch_consumer", "fetch_follower")

    def __init__(self, registry: MetricRegistry) -> None:
        self._by_key = {key: ApiMetrics(registry, api.name) for key, api in APIS.items()}
        fetch = self._by_key[ApiKey.FETCH]
        self.fetch_consumer = ApiMetrics(registry, "FetchConsumer", fetch)
        self.fetch_follower = ApiMetrics(registry, FETCH_FOLLOWER, fetch)
        self.exchanges = Exchanges()

    def of(self, api: Api) -> ApiMetrics:
        return self._by_key[ApiKey(api.key)]


class PurgatoryMetrics(MetricTable, group="kafka.server:type=DelayedOperationPurgatory"):
    """Metrics of one purgatory, which is the owner."""

    size = Gauge(
        "PurgatorySize",
        of=lambda purgatory: purgatory.watched,
        tags=("delayedOperation",),
        about="Watched entries: an operation counts once for each of its keys.",
    )
    delayed = Gauge(
        "NumDelayedOperations",
        of=lambda purgatory: purgatory.delayed,
        tags=("delayedOperation",),
        about="Operations still waiting.",
    )


class ServerMetrics(MetricTable, group="kafka.server:type=KafkaServer"):
    """Metrics of the server; the owner is the KafkaServer."""

    broker_state = Gauge(
        "BrokerState",
        of=lambda server: int(server.state),
        about="0 not running, 1 starting, 2 recovering, 3 running, 6 pending controlled shutdown, 7 shutting down.",
    )
    cluster_id = Gauge("ClusterId", of=lambda server: server.cluster_id or "", about="The cluster's id.")
    metric_count = Gauge(
        "yammer-metrics-count", of=lambda server: server.registry.count(one_bean=False), about="Metrics of this kind."
    )
    disk_reads = Gauge("linux-disk-read-bytes", of=lambda _: disk_bytes("read_bytes"), about="Read from disk.")
    disk_writes = Gauge("linux-disk-write-bytes", of=lambda _: disk_bytes("write_bytes"), about="Written to disk.")


class HandlerMetrics(MetricTable, group="kafka.server:type=KafkaRequestHandlerPool"):
    """Idle share of the event loop, in place of the handler threads; the owner is its LoopWatch."""

    idle = Rate("RequestHandlerAvgIdlePercent", unit="percent", per_ns=True, about="Share of idle time, 0 to 1.")

    def settle(self) -> None:
        if isinstance(self.owner, LoopWatch):
            self.idle = self.owner.idle_ns


class AppInfo(MetricTable, group="kafka.server:type=app-info", attributes=True, tags=("id",)):
    """Version and start time, in the form of JMX. The owner is the start time, wall clock in ms."""

    version = Gauge("Version", of=lambda _: KAFKA_VERSION, about="Release of Apache Kafka that this broker matches.")
    commit = Gauge("CommitId", of=lambda _: f"kafka_py-{__version__}", about="This software.")
    start_time = Gauge("StartTimeMs", of=lambda started_ms: started_ms, unit="ms", about="When the process started.")


class AppInfoMetrics(MetricTable, group="kafka.server:type=app-info", attributes=True):
    """Version and start time among Kafka's second kind of metrics."""

    version = Gauge("version", of=lambda _: KAFKA_VERSION, about="Release of Apache Kafka that this broker matches.")
    commit = Gauge("commit-id", of=lambda _: f"kafka_py-{__version__}", about="This software.")
    start_time = Gauge("start-time-ms", of=lambda started_ms: started_ms, unit="ms", about="When the process started.")


class MetricsCount(MetricTable, group="kafka.server:type=kafka-metrics-count", attributes=True):
    """Number of metrics; the owner is the registry."""

    count = Gauge("count", of=lambda registry: registry.count(one_bean=True), about="Metrics of Kafka's second kind.")


class ProcessMetrics(MetricTable, group="kafka_py:type=process", attributes=True):
    """Metrics of this process, with the names of Prometheus. The owner is the start time, wall clock in ms.

    Counting thousands of open files takes milliseconds, so a thread counts them before a scrape.
    """

    cpu = Gauge("cpu_seconds_total", of=lambda _: process_time(), unit="s", about="Processor time, user and system.")
    resident = Gauge("resident_memory_bytes", of=lambda _: resident_bytes(), unit="bytes", about="Resident memory.")
    virtual = Gauge("virtual_memory_bytes", of=lambda _: virtual_bytes(), unit="bytes", about="Virtual memory.")
    open_files = Gauge("open_fds", about="Open files and sockets at the last `count_open_files`.")
    most_files = Gauge("max_fds", of=lambda _: getrlimit(RLIMIT_NOFILE)[0], about="Limit on open files and sockets.")
    start_time = Gauge("start_time_seconds", of=lambda started_ms: started_ms / 1000, unit="s", about="The start.")
    threads = Gauge("threads", of=lambda _: active_count(), about="Threads.")


class BackgroundMetrics(Fleet, group="kafka_py:type=background", tags=("activity",)):
    """Failures of background work by activity; an activity without failures is not listed."""

    failures = Gauge("failures_total", of=lambda count: count, about="Unforeseen failures; the log has tracebacks.")


def measure_server(server: Any, registry: MetricRegistry, watch: LoopWatch | None, started_ms: int) -> ProcessMetrics:
    """Registers the metrics of the broker as a whole. server: the KafkaServer."""
    ServerMetrics(registry, server)
    HandlerMetrics(registry, watch)
    AppInfoMetrics(registry, started_ms)
    MetricsCount(registry, registry)
    failures = server.supervisor.failures
    BackgroundMetrics(registry, lambda: [((activity,), count) for activity, count in failures.items()])
    return ProcessMetrics(registry, started_ms)


def disk_bytes(name: str) -> int:
    """A counter of disk I/O from /proc/self/io; -1 where that cannot be read."""
    try:
        with open("/proc/self/io", "rb") as file:
            for line in file:
                if line.startswith(name.encode()):
                    return int(line.split()[1])
    except OSError:
        pass
    return -1


def _memory(field: int) -> int:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[field]) * getpagesize()
    except OSError:
        return 0


def virtual_bytes() -> int:
    """Virtual memory of the process."""
    return _memory(0)


def resident_bytes() -> int:
    """Resident memory of the process."""
    return _memory(1)


def count_open_files() -> int:
    """Open file descriptors of the process. May take milliseconds."""
    try:
        return len(os.listdir("/proc/self/fd")) - 1  # without the one of the listing itself
    except OSError:
        return 0
