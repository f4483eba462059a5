"""The metrics of a client, under the names and groups of Kafka's Java clients.

The rows are those of base: a Total is a plain integer on the loop, a Sampled takes values one by one; windows are
`metrics.num.samples` of `metrics.sample.window.ms`. `ClientMetrics` is one client's registry; here are also the tables
that all clients share, those of connections. producer/metrics.py and consumer/metrics.py have the others.
Source: Selector, MetricNameTemplate (names of groups and tags).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kafka_py.base.clock import Clock
from kafka_py.base.meters import MetricRegistry, MetricTable
from kafka_py.base.metric_rows import Gauge, Sampled, Total
from kafka_py.base.samples import Sampling
from kafka_py.clients.configs import ClientOptions

CLIENT = ("client-id",)
NODE = ("client-id", "node-id")
TOPIC = ("client-id", "topic")
PARTITION = ("client-id", "topic", "partition")
"""The tags of the instances of one table; the names are Kafka's."""


class MetricName(NamedTuple):
    """A metric's name, its group (such as `producer-topic-metrics`) and its tags, as (name, value) in order."""

    name: str
    group: str
    tags: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        tags = ",".join(f"{name}={value}" for name, value in self.tags)
        return f"{self.group}:{self.name}{{{tags}}}"


class MetricValues(dict[MetricName, float]):
    """All metrics of a client with their values at one time."""

    def find(self, name: str, group: str = "", **tags: str) -> float:
        """The value of the one metric of that name, group (any, when empty) and tags (`client_id` for client-id).

        Raises KeyError when there is none, or more than one.
        """
        wanted = {(tag.replace("_", "-"), value) for tag, value in tags.items()}
        found = [
            each for each in self if each.name == name and group in ("", each.group) and wanted.issubset(each.tags)
        ]
        fewest = min((len(each.tags) for each in found), default=0)
        found = [each for each in found if len(each.tags) == fewest]  # the client's metric, not that of a topic
        if len(found) != 1:
            raise KeyError(f"{len(found)} metrics are called {name} {group} {tags}")
        return self[found[0]]


class Traffic(NamedTuple):
    """The connection tables of a type of client: of all connections, and of each broker."""

    whole: type[ConnectionMetrics]
    node: type[NodeMetrics]


class ClientMetrics(MetricRegistry):
    """The tables of one client, and the timer of their sample windows.

    traffic: PRODUCER, CONSUMER or ADMIN.
    """

    def __init__(self, options: ClientOptions, client_id: str, clock: Clock, traffic: Traffic) -> None:
        window_ms = float(max(options.metrics_sample_window_ms, 1))
        super().__init__(clock, Sampling(window_ms, options.metrics_num_samples - 1, fills_up=True))
        self.client_id = client_id
        self.traffic = traffic
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Starts the timer of the sample windows on the running loop."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self.sampling.window_ms / 1000, self._end_window)

    def _end_window(self) -> None:
        self._timer = None
        try:
            self.tick()
        finally:  # the loop logs what a gauge has raised
            self.start()

    def stop(self) -> None:
        """Stops the timer when the client is closed; the metrics keep their last values."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def values(self) -> MetricValues:
        """The present value of every metric; callable from any thread."""
        self.settle()
        values = MetricValues()
        for table in self.tables():
            tags = tuple(table.tags.items())
            for row in table.rows():
                for name, value in row.read(table).items():
                    values[MetricName(name, table.GROUP, tags)] = float(value)
        return values

    def descriptions(self) -> Iterator[tuple[MetricName, str]]:
        """Every metric with its description."""
        for table in self.tables():
            for row in table.rows():
                for name in row.read(table):
                    yield MetricName(name, table.GROUP, tuple(table.tags.items())), row.about


class ClientTable(MetricTable, attributes=True):
    """A table of one client. Subclass with `group=` and `tags=` (CLIENT, NODE, TOPIC, PARTITION) and rows.

    values: of the tags after client-id, in their order. `close()` when the topic or partition is no longer of interest.
    """

    TAG_NAMES: tuple[str, ...] = CLIENT

    def __init_subclass__(cls, group: str = "", tags: tuple[str, ...] = CLIENT, **kwargs: object) -> None:
        super().__init_subclass__(group=group, tags=tags, **kwargs)  # type: ignore[arg-type]
        cls.TAG_NAMES = tags

    def __init__(self, metrics: ClientMetrics, *values: str, owner: object = None) -> None:
        tags: Mapping[str, str] = dict(zip(self.TAG_NAMES, (metrics.client_id, *values), strict=True))
        super().__init__(metrics, owner, **tags)


class ConnectionMetrics(ClientTable, tags=CLIENT):
    """All connections of a client together. The owner has their number: `open_count`."""

    connections = Gauge("connection-count", of=lambda owner: owner.open_count, about="Open connections.")
    created = Total("connection-creation-total", rate="connection-creation-rate", about="Connections made.")
    closed = Total("connection-close-total", rate="connection-close-rate", about="Connections that ended.")
    bytes_sent = Total("outgoing-byte-total", rate="outgoing-byte-rate", unit="bytes", about="Bytes of requests.")
    bytes_received = Total("incoming-byte-total", rate="incoming-byte-rate", unit="bytes", about="Bytes of responses.")
    requests = Total("request-total", rate="request-rate", about="Requests sent.")
    responses = Total("response-total", rate="response-rate", about="Responses received.")
    request_size = Sampled(avg="request-size-avg", max="request-size-max", unit="bytes", about="Size of a request.")

    def settle(self) -> None:
        self.closed = self.created - self.connections


class NodeMetrics(ClientTable, tags=NODE):
    """The traffic with one broker."""

    bytes_sent = Total("outgoing-byte-total", rate="outgoing-byte-rate", unit="bytes", about="Bytes of requests.")
    bytes_received = Total("incoming-byte-total", rate="incoming-byte-rate", unit="bytes", about="Bytes of responses.")
    requests = Total("request-total", rate="request-rate", about="Requests sent.")
    responses = Total("response-total", rate="response-rate", about="Responses received.")
    request_size = Sampled(avg="request-size-avg", max="request-size-max", unit="bytes", about="Size of a request.")
    latency = Sampled(avg="request-latency-avg", max="request-latency-max", unit="ms", about="Request to response.")


class ProducerConnectionMetrics(ConnectionMetrics, group="producer-metrics"):
    """All connections of a producer."""


class ProducerNodeMetrics(NodeMetrics, group="producer-node-metrics", tags=NODE):
    """The traffic of a producer with one broker."""


class ConsumerConnectionMetrics(ConnectionMetrics, group="consumer-metrics"):
    """All connections of a consumer."""


class ConsumerNodeMetrics(NodeMetrics, group="consumer-node-metrics", tags=NODE):
    """The traffic of a consumer with one broker."""


class AdminConnectionMetrics(ConnectionMetrics, group="admin-client-metrics"):
    """All connections of an admin client."""


class AdminNodeMetrics(NodeMetrics, group="admin-client-node-metrics", tags=NODE):
    """The traffic of an admin client with one broker."""


PRODUCER = Traffic(ProducerConnectionMetrics, ProducerNodeMetrics)
CONSUMER = Traffic(ConsumerConnectionMetrics, ConsumerNodeMetrics)
ADMIN = Traffic(AdminConnectionMetrics, AdminNodeMetrics)
"""The connection tables of each type of client."""
