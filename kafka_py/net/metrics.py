"""What sockets count. Source: reference metrics table (kafka.network and socket-server-metrics)."""

from kafka_py.base.meters import Counter, Gauge, MetricTable, Rate, Total

_SELECTOR_TAGS = ("listener", "networkProcessor")


class SocketMetrics(MetricTable, group="kafka.server:type=socket-server-metrics", attributes=True, tags=_SELECTOR_TAGS):
    """One listener's traffic. There is one event loop, so networkProcessor is always 0."""

    connections = Gauge("connection-count", about="Open connections.")
    created = Total("connection-creation-total", rate="connection-creation-rate", about="New connections.")
    closed = Total("connection-close-total", rate="connection-close-rate", about="Closed connections.")
    bytes_received = Total("incoming-byte-total", rate="incoming-byte-rate", unit="bytes", about="Bytes received.")
    bytes_sent = Total("outgoing-byte-total", rate="outgoing-byte-rate", unit="bytes", about="Bytes sent.")


class AcceptMetrics(MetricTable, group="kafka.server:type=socket-server-metrics", attributes=True, tags=("listener",)):
    """What one listener let in."""

    accepted = Total(rate="connection-accept-rate", about="Accepted connections per second.")


class AcceptorMetrics(MetricTable, group="kafka.network:type=Acceptor", tags=("listener",)):
    """How long one listener waited for a free connection slot."""

    blocked = Rate("AcceptorBlockedPercent", unit="blocked time", about="Share of time that accepting was held, in ns.")


class SocketServerMetrics(MetricTable, group="kafka.network:type=SocketServer"):
    """All listeners together."""

    idle_share = Gauge("NetworkProcessorAvgIdlePercent", about="Share of time the event loop waited, 0 to 1.")
    expired = Gauge("ExpiredConnectionsKilledCount", about="Connections closed for not re-authenticating.")
    pool_available = Gauge("MemoryPoolAvailable", unit="bytes", about="Room for requests being received.")
    pool_used = Gauge("MemoryPoolUsed", unit="bytes", about="Taken by large requests being received.")
    longest_stall_ms = Gauge("LoopLongestStallMs", unit="ms", about="Longest turn of the event loop lately.")
    cold_reads = Gauge("ColdReads", about="File slices that had to be read in from disk before they were sent.")
    refused = Counter("ConnectionsRefused", about="Connections closed for max.connections.per.ip.")
