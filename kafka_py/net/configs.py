"""The settings of listeners, sockets and connections. Source: docs/reference/configs.tsv."""

from kafka_py.base.errors import ConfigError
from kafka_py.base.options import MAX_INT, Kind, Live, Option, OptionTable, at_least, one_of

SYSTEM_BUFFER_BYTES = -1
DEFAULT_PROTOCOL_MAP = "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"


def parse_overrides(text: str) -> dict[str, int]:
    """`max.connections.per.ip.overrides`: host:count, comma-separated. Raises ConfigError."""
    setting = "max.connections.per.ip.overrides"
    limits: dict[str, int] = {}
    for item in text.split(","):
        if not item.strip():
            continue
        host, _, count = item.strip().rpartition(":")
        if not host or not (count.isascii() and count.isdigit()):
            raise ConfigError(f"{setting}: {item.strip()!r} is not of the form host:count")
        limits[host.strip("[]")] = int(count)
    return limits


LISTENER_LIMITS = frozenset({"max.connections", "max.connection.creation.rate"})
"""What a listener may have its own limit of; without one that of the broker counts for it as well."""


def listener_limit(name: str, value: object) -> int:
    """The value of `listener.name.<listener>.<limit>`; it must be above 0, unlike the broker's. Raises ConfigError."""
    text = str(value).strip()
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ConfigError(f"Invalid value {text} for configuration {name}: must be a number above 0")
    return int(text)


class OwnNetOptions(OptionTable):
    """Settings that Apache Kafka does not have."""

    max_unauthenticated_connections = Option(
        "kafka_py.max.unauthenticated.connections", 500, at_least(1),
        about="At this many connections in a handshake or login, one of the address with most of them is closed.",
    )  # fmt: skip


class NetOptions(OwnNetOptions):
    """Where a broker listens, what it tells others of that, and how much it takes from whom."""

    listeners = Option(
        "listeners", None, kind=Kind.STRING, importance="high", live=Live.PER_BROKER,
        about="NAME://host:port, comma-separated. An empty host binds all interfaces; names and ports are unique.",
    )  # fmt: skip
    advertised_listeners = Option(
        "advertised.listeners", None, kind=Kind.STRING, importance="high", live=Live.PER_BROKER,
        about="What clients and brokers connect to, where it differs from listeners; its names are a subset of theirs.",
    )  # fmt: skip
    port = Option(
        "port", 9092, importance="high", deprecated=True,
        about="Only used when listeners is not set.",
    )  # fmt: skip
    host_name = Option(
        "host.name", "", importance="high", deprecated=True,
        about="Only used when listeners is not set.",
    )  # fmt: skip
    advertised_host_name = Option(
        "advertised.host.name", None, kind=Kind.STRING, importance="high", deprecated=True,
        about="Only used when advertised.listeners is not set.",
    )  # fmt: skip
    advertised_port = Option(
        "advertised.port", None, kind=Kind.INT, importance="high", deprecated=True,
        about="Only used when advertised.listeners is not set.",
    )  # fmt: skip
    listener_security_protocol_map = Option(
        "listener.security.protocol.map", DEFAULT_PROTOCOL_MAP, importance="low", live=Live.PER_BROKER,
        about="The security protocol of each listener name.",
    )  # fmt: skip
    security_inter_broker_protocol = Option(
        "security.inter.broker.protocol", "PLAINTEXT", one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        about="Names the listener between brokers where inter.broker.listener.name is not set.",
    )  # fmt: skip
    inter_broker_listener_name = Option(
        "inter.broker.listener.name", None, kind=Kind.STRING,
        about="The listener that brokers use among themselves.",
    )  # fmt: skip
    control_plane_listener_name = Option(
        "control.plane.listener.name", None, kind=Kind.STRING, importance="high",
        about="A listener for the controller's requests alone; without it they come on the inter-broker listener.",
    )  # fmt: skip
    socket_send_buffer_bytes = Option(
        "socket.send.buffer.bytes", 102_400, importance="high", unit="bytes",
        about="SO_SNDBUF of accepted sockets; the default and -1 leave it to the system, which grows it as needed.",
    )  # fmt: skip
    socket_receive_buffer_bytes = Option(
        "socket.receive.buffer.bytes", 102_400, importance="high", unit="bytes",
        about="SO_RCVBUF of accepted sockets; the default and -1 leave it to the system, which grows it as needed.",
    )  # fmt: skip
    socket_request_max_bytes = Option(
        "socket.request.max.bytes", 104_857_600, at_least(1), importance="high", unit="bytes",
        about="A connection that announces a larger request is closed.",
    )  # fmt: skip
    max_connections_per_ip = Option(
        "max.connections.per.ip", MAX_INT, at_least(0), live=True,
        about="Further connections from one address are closed; 0 only with overrides.",
    )  # fmt: skip
    max_connections_per_ip_overrides = Option(
        "max.connections.per.ip.overrides", "", live=True,
        about="host:count, comma-separated: other limits for some addresses.",
    )  # fmt: skip
    max_connections = Option(
        "max.connections", MAX_INT, at_least(0), live=True,
        about="At this many, listeners accept no further one until one closes; a listener may have its own limit.",
    )  # fmt: skip
    max_connection_creation_rate = Option(
        "max.connection.creation.rate", MAX_INT, at_least(0), live=True,
        about="Connections accepted per second; beyond it they wait.",
    )  # fmt: skip
    connections_max_idle_ms = Option(
        "connections.max.idle.ms", 600_000, kind=Kind.LONG, unit="ms",
        about="A connection without traffic for this long is closed; negative: never.",
    )  # fmt: skip
    connection_failed_authentication_delay_ms = Option(
        "connection.failed.authentication.delay.ms", 100, at_least(0), importance="low", unit="ms",
        about="How long a connection that failed to log in is kept before it is closed.",
    )  # fmt: skip
    num_network_threads = Option(
        "num.network.threads", 3, at_least(1), importance="high", live=True,
        no_effect="one event loop serves all connections", about="Threads that read requests and write responses.",
    )  # fmt: skip
    queued_max_requests = Option(
        "queued.max.requests", 500, at_least(1), importance="high",
        about="Beyond this many requests that wait for their turn, a connection with an unanswered one is not read.",
    )  # fmt: skip
    queued_max_request_bytes = Option(
        "queued.max.request.bytes", -1, kind=Kind.LONG, unit="bytes",
        about="Room for large requests that are being received; beyond it their connections wait. <= 0: no bound.",
    )  # fmt: skip

    def buffer_bytes(self, option: Option[int]) -> int:
        """What to ask the system for; SYSTEM_BUFFER_BYTES when it should decide.

        Setting any size turns the system's own growing of buffers off, and 102400 bytes, meant as a large size when it
        became Kafka's default, then cost several times the system calls. So only a size that differs is set.
        """
        value: int = getattr(self, option.attribute)
        return SYSTEM_BUFFER_BYTES if value == option.default else value

    def validate(self) -> None:
        super().validate()
        if 0 < self.queued_max_request_bytes < self.socket_request_max_bytes:
            raise ConfigError(
                f"queued.max.request.bytes ({self.queued_max_request_bytes}) must be 0 or less (no bound) or at least "
                f"socket.request.max.bytes ({self.socket_request_max_bytes})"
            )
        parse_overrides(self.max_connections_per_ip_overrides)
        if self.max_connections_per_ip == 0 and not self.max_connections_per_ip_overrides:
            raise ConfigError(
                "max.connections.per.ip can be 0 only if max.connections.per.ip.overrides allows some addresses"
            )
        idle_ms = self.connections_max_idle_ms
        if 0 <= idle_ms <= self.connection_failed_authentication_delay_ms:
            raise ConfigError(
                f"connection.failed.authentication.delay.ms ({self.connection_failed_authentication_delay_ms}) "
                f"must be less than connections.max.idle.ms ({idle_ms})"
            )
