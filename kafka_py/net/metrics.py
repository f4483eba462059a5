"""What sockets count. Source: docs/reference/metrics.tsv (kafka.network and socket-server-metrics)."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol, runtime_checkable

from kafka_py.base.meters import Fleet, MetricRegistry, MetricTable
from kafka_py.base.metric_rows import Counter, Gauge, Rate, Sampled, Total
from kafka_py.net.address_rates import AddressRates
from kafka_py.net.frames_in import MemoryPool

_SELECTOR_TAGS = ("listener", "networkProcessor")


@runtime_checkable
class TrafficCounts(Protocol):
    """Of one listener."""

    def open_connections(self) -> int: ...

    def count_requests(self) -> None: ...


class SocketMetrics(MetricTable, group="kafka.server:type=socket-server-metrics", attributes=True, tags=_SELECTOR_TAGS):
    """One listener's traffic. There is one event loop, so networkProcessor is always 0.

    The owner is the listener; it brings the counts of requests and responses up to date, which its connections know.
    """

    connections = Gauge("connection-count", of=lambda served: served.open_connections(), about="Open connections.")
    created = Total("connection-creation-total", rate="connection-creation-rate", about="New connections.")
    closed = Total("connection-close-total", rate="connection-close-rate", about="Closed connections.")
    bytes_received = Total("incoming-byte-total", rate="incoming-byte-rate", unit="bytes", about="Bytes received.")
    bytes_sent = Total("outgoing-byte-total", rate="outgoing-byte-rate", unit="bytes", about="Bytes sent.")
    sends = Total("request-total", rate="request-rate", about="Responses sent; to a selector they are its requests.")
    receives = Total("response-total", rate="response-rate", about="Requests received.")
    successful_authentications = Total(
        "successful-authentication-total", rate="successful-authentication-rate",
        about="TLS handshakes and logins that succeeded.",
    )  # fmt: skip
    failed_authentications = Total(
        "failed-authentication-total", rate="failed-authentication-rate",
        about="TLS handshakes and logins that failed.",
    )  # fmt: skip
    unrenewable_authentications = Total(
        "successful-authentication-no-reauth-total",
        about="Logins of clients that cannot renew their session, and TLS handshakes without a login.",
    )  # fmt: skip
    successful_reauthentications = Total(
        "successful-reauthentication-total", rate="successful-reauthentication-rate", about="Sessions renewed.",
    )  # fmt: skip
    failed_reauthentications = Total(
        "failed-reauthentication-total", rate="failed-reauthentication-rate", about="Sessions that were not renewed.",
    )  # fmt: skip
    reauthentication_latency = Sampled(
        avg="reauthentication-latency-avg", max="reauthentication-latency-max", unit="ms",
        about="How long renewals of sessions took.",
    )  # fmt: skip
    expired_connections = Total(
        "expired-connections-killed-count", about="Connections closed because their session was over.",
    )  # fmt: skip

    def settle(self) -> None:
        if isinstance(self.owner, TrafficCounts):
            self.owner.count_requests()


class LinkMetrics(MetricTable, attributes=True):
    """The connections that the broker itself opens for one purpose: subclass with `group=`. See CountedConnection."""

    connections = Gauge("connection-count", about="Open connections.")
    created = Total("connection-creation-total", rate="connection-creation-rate", about="Connections made.")
    closed = Total("connection-close-total", rate="connection-close-rate", about="Connections that ended.")
    bytes_sent = Total("outgoing-byte-total", rate="outgoing-byte-rate", unit="bytes", about="Bytes of requests.")
    bytes_received = Total("incoming-byte-total", rate="incoming-byte-rate", unit="bytes", about="Bytes of responses.")
    requests = Total("request-total", rate="request-rate", about="Requests that got a response.")
    responses = Total("response-total", rate="response-rate", about="Responses received.")
    request_size = Sampled(avg="request-size-avg", max="request-size-max", unit="bytes", about="Size of a request.")

    def settle(self) -> None:
        self.connections = self.created - self.closed


class SoftwareMetrics(
    MetricTable, group="kafka.server:type=socket-server-metrics", attributes=True,
    tags=("clientSoftwareName", "clientSoftwareVersion", "listener", "networkProcessor"),
):  # fmt: skip
    """Connections of one kind of client (KIP-511)."""

    connections = Gauge("connections", about="Open connections of this client software.")


class CipherMetrics(
    MetricTable, group="kafka.server:type=socket-server-metrics", attributes=True,
    tags=("cipher", "protocol", "listener", "networkProcessor"),
):  # fmt: skip
    """Connections with one cipher suite and version of TLS."""

    connections = Gauge("connections", about="Open connections with this cipher suite.")


class AcceptMetrics(MetricTable, group="kafka.server:type=socket-server-metrics", attributes=True, tags=("listener",)):
    """What one listener let in."""

    accepted = Total(rate="connection-accept-rate", about="Accepted connections per second.")
    throttle_time = Sampled(avg="connection-accept-throttle-time", unit="ms", about="Delay by a limit of the rate.")
    ip_throttle_time = Sampled(
        avg="ip-connection-accept-throttle-time", unit="ms", about="How long connections of fast addresses were unread."
    )


class AddressMetrics(Fleet, group="kafka.server:type=socket-server-metrics", attributes=True, tags=("ip",)):
    """Addresses whose rate is limited."""

    accept_rate = Gauge("connection-accept-rate", of=lambda rate: rate(), about="Accepted connections per second.")

    def __init__(self, registry: MetricRegistry, addresses: AddressRates) -> None:
        def measured() -> Iterable[tuple[Sequence[str], Callable[[], float]]]:
            now_ms = registry.clock.monotonic_ms()
            for address, rate in list(addresses.rates.items()):
                yield (address,), partial(rate.per_second, now_ms)

        super().__init__(registry, measured)


class BrokerAcceptMetrics(MetricTable, group="kafka.server:type=socket-server-metrics", attributes=True):
    """What all listeners let in, and the room for large requests. The owner is the MemoryPool."""

    accepted = Total(rate="broker-connection-accept-rate", about="Accepted connections per second, whole broker.")
    depleted_ms = Total("MemoryPoolDepletedTimeTotal", unit="ms", about="How long the request memory was used up.")
    depleted_s = Total(rate="MemoryPoolAvgDepletedPercent", about="Share of time it was used up, 0 to 1.")

    def settle(self) -> None:
        if isinstance(self.owner, MemoryPool):
            self.depleted_ms = round(self.owner.depleted_ms)
            vars(self)["depleted_s"] = self.owner.depleted_ms / 1000.0


class AcceptorMetrics(MetricTable, group="kafka.network:type=Acceptor", tags=("listener",)):
    """How long one listener waited for a free connection slot, or until its rate allowed the next one."""

    blocked = Rate("AcceptorBlockedPercent", unit="blocked time", per_ns=True, about="Share of time accepts waited.")


class SocketServerMetrics(MetricTable, group="kafka.network:type=SocketServer"):
    """All listeners together; the owner is the SocketServer."""

    control_plane_idle_share = Gauge(
        "ControlPlaneNetworkProcessorAvgIdlePercent",
        of=lambda _server: math.nan,
        about="The same loop's share; NaN without a control plane.",
    )
    control_plane_expired = Gauge("ControlPlaneExpiredConnectionsKilledCount", about="Always 0.")
    idle_share = Gauge(
        "NetworkProcessorAvgIdlePercent",
        of=lambda server: server.watch.idle_share if server.watch else 0,
        about="Share of time the event loop waited, 0 to 1.",
    )
    expired = Gauge(
        "ExpiredConnectionsKilledCount",
        of=lambda server: server.expired_connections,
        about="Connections closed for not re-authenticating.",
    )
    pool_available = Gauge(
        "MemoryPoolAvailable",
        unit="bytes",
        of=lambda server: server.pool.available_bytes,
        about="Room for requests being received.",
    )
    pool_used = Gauge(
        "MemoryPoolUsed",
        unit="bytes",
        of=lambda server: server.pool.used_bytes,
        about="Taken by large requests being received.",
    )
    longest_stall_ms = Gauge(
        "LoopLongestStallMs",
        unit="ms",
        of=lambda server: server.watch.longest_stall_ms if server.watch else 0,
        about="Longest turn of the event loop lately.",
    )
    cold_reads = Gauge(
        "ColdReads",
        of=lambda server: server.cold_reads.cold_count,
        about="File slices that had to be read in from disk before they were sent.",
    )
    refused = Counter("ConnectionsRefused", about="Connections closed for max.connections.per.ip.")


class ProcessorMetrics(MetricTable, group="kafka.network:type=Processor", tags=("networkProcessor",)):
    """The one event loop as Kafka's network thread 0; the owner is its watch."""

    idle_share = Gauge("IdlePercent", of=lambda watch: watch.idle_share, about="Share of time the loop waited, 0 to 1.")


class RequestChannelMetrics(MetricTable, group="kafka.network:type=RequestChannel"):
    """What waits between sockets and handlers; the owner is the SocketServer."""

    requests = Gauge(
        "RequestQueueSize", of=lambda server: server.queued_requests, about="Requests read and not taken up yet."
    )
    responses = Gauge(
        "ResponseQueueSize", of=lambda server: server.queued_responses, about="Answers that have not left."
    )


class ResponseQueueMetrics(MetricTable, group="kafka.network:type=RequestChannel", tags=("processor",)):
    """The same for network thread 0, the only one there is."""

    responses = Gauge(
        "ResponseQueueSize", of=lambda server: server.queued_responses, about="Answers that have not left."
    )
