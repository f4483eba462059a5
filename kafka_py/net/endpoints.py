"""Listeners as values: parsed from settings, checked, and turned into what the broker tells others.

Pure: binds nothing, resolves nothing; the machine's name and the bound ports are handed in. Every error names the
setting it is about. Source: docs/reference/configs.tsv; docs/reference/zookeeper.md, section 6.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kafka_py.base.errors import ConfigError
from kafka_py.base.texts import ENDPOINT
from kafka_py.net.configs import NetOptions

_ANY_ADDRESS = "0.0.0.0"


class SecurityProtocol(enum.IntEnum):
    """How a listener's connections are protected; the value is its id on the wire."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3

    @property
    def has_tls(self) -> bool:
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def has_sasl(self) -> bool:
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


class Endpoint(NamedTuple):
    """One place to listen at or to connect to. An empty host means all interfaces, port 0 one that is free."""

    listener_name: str
    security_protocol: SecurityProtocol
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.listener_name}://{bracketed(self.host)}:{self.port}"


def bracketed(host: str) -> str:
    """A host as written before `:port`: IPv6 addresses in brackets."""
    return f"[{host}]" if ":" in host else host


def parse_protocol_map(text: str) -> dict[str, SecurityProtocol]:
    """`listener.security.protocol.map`: upper-case listener names -> protocol. Raises ConfigError."""
    setting = "listener.security.protocol.map"
    protocols: dict[str, SecurityProtocol] = {}
    for item in _items(text):
        name, colon, protocol = item.rpartition(":")
        if not colon or not name:
            raise ConfigError(f"{setting}: {item!r} is not of the form LISTENER:PROTOCOL")
        listener = name.strip().upper()
        if listener in protocols:
            raise ConfigError(f"{setting}: listener {listener} is given twice")
        try:
            protocols[listener] = SecurityProtocol[protocol.strip().upper()]
        except KeyError:
            known = ", ".join(each.name for each in SecurityProtocol)
            raise ConfigError(f"{setting}: unknown security protocol {protocol.strip()!r} (one of {known})") from None
    return protocols


def parse_endpoints(setting: str, text: str, protocols: Mapping[str, SecurityProtocol]) -> list[Endpoint]:
    """A list of NAME://host:port. Raises ConfigError naming `setting`, also when a name occurs twice."""
    endpoints = [_parse_endpoint(setting, item, protocols) for item in _items(text)]
    if not endpoints:
        raise ConfigError(f"{setting}: at least one listener is needed, as in PLAINTEXT://host:9092")
    twice = _first_repeated(endpoint.listener_name for endpoint in endpoints)
    if twice is not None:
        raise ConfigError(f"{setting}: {twice} names two listeners in {text}")
    return endpoints


def _parse_endpoint(setting: str, text: str, protocols: Mapping[str, SecurityProtocol]) -> Endpoint:
    found = ENDPOINT.fullmatch(text)
    if found is None:
        raise ConfigError(f"{setting}: unable to parse {text!r}; expected NAME://host:port")
    name, host, port = found[1].strip().upper(), found[2], int(found[3])
    if name not in protocols:
        raise ConfigError(
            f"{setting}: no security protocol is defined for listener {name!r} in listener.security.protocol.map"
        )
    if not 0 <= port <= 65535:
        raise ConfigError(f"{setting}: port {port} of {text} is not between 0 and 65535")
    return Endpoint(name, protocols[name], host, port)


def listeners_of(options: NetOptions) -> list[Endpoint]:
    """Where the broker is to listen. Raises ConfigError."""
    protocols = parse_protocol_map(options.listener_security_protocol_map)
    text = options.listeners
    if text is None:
        text = f"PLAINTEXT://{bracketed(options.host_name)}:{options.port}"
    endpoints = parse_endpoints("listeners", text, protocols)
    twice = _first_repeated(endpoint.port for endpoint in endpoints if endpoint.port)
    if twice is not None:
        raise ConfigError(f"listeners: two listeners share port {twice} in {text}")
    return endpoints


class Listening(NamedTuple):
    """What the settings say about listeners, checked as a whole; hosts and ports are as written."""

    listeners: list[Endpoint]
    advertised: list[Endpoint]
    inter_broker_listener: str
    control_plane_listener: str | None

    def advertise(self, bound_ports: Mapping[str, int], canonical_host: str) -> list[Endpoint]:
        """The endpoints for the registration and for metadata: no port 0, no empty host.

        bound_ports: by listener name, the port each one got. canonical_host: this machine's name.
        """
        return [
            endpoint._replace(
                host=endpoint.host or canonical_host, port=endpoint.port or bound_ports[endpoint.listener_name]
            )
            for endpoint in self.advertised
        ]


def listening_of(options: NetOptions) -> Listening:
    """All listener settings together. Raises ConfigError for the first rule that is broken."""
    listeners = listeners_of(options)
    advertised = _advertised_of(options, listeners)
    inter_broker = _inter_broker_listener_of(options, advertised)
    return Listening(listeners, advertised, inter_broker, _control_plane_listener_of(options, advertised, inter_broker))


def _advertised_of(options: NetOptions, listeners: list[Endpoint]) -> list[Endpoint]:
    advertised = listeners
    if options.advertised_listeners is not None:
        protocols = parse_protocol_map(options.listener_security_protocol_map)
        advertised = parse_endpoints("advertised.listeners", options.advertised_listeners, protocols)
    elif options.advertised_host_name is not None or options.advertised_port is not None:
        host = options.host_name if options.advertised_host_name is None else options.advertised_host_name
        port = options.port if options.advertised_port is None else options.advertised_port
        advertised = [Endpoint("PLAINTEXT", SecurityProtocol.PLAINTEXT, host, port)]
    names = [endpoint.listener_name for endpoint in listeners]
    unknown = [endpoint.listener_name for endpoint in advertised if endpoint.listener_name not in names]
    if unknown:
        raise ConfigError(
            f"advertised.listeners: {', '.join(unknown)} is not among the names in listeners ({', '.join(names)})"
        )
    if any(endpoint.host == _ANY_ADDRESS for endpoint in advertised):
        raise ConfigError(
            "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address."
        )
    return advertised


def _inter_broker_listener_of(options: NetOptions, advertised: list[Endpoint]) -> str:
    by_name = options.inter_broker_listener_name
    if by_name is not None and "security.inter.broker.protocol" in options.originals:
        raise ConfigError("Only one of inter.broker.listener.name and security.inter.broker.protocol should be set.")
    setting = "security.inter.broker.protocol" if by_name is None else "inter.broker.listener.name"
    name = (options.security_inter_broker_protocol if by_name is None else by_name).upper()
    names = [endpoint.listener_name for endpoint in advertised]
    if name not in names:
        raise ConfigError(
            f"{setting}: advertised.listeners has no {name}, only {', '.join(names)}"
        )
    return name


def _control_plane_listener_of(options: NetOptions, advertised: list[Endpoint], inter_broker: str) -> str | None:
    if options.control_plane_listener_name is None:
        return None
    name = options.control_plane_listener_name.upper()
    names = [endpoint.listener_name for endpoint in advertised]
    if name not in names:
        raise ConfigError(
            f"control.plane.listener.name: advertised.listeners has no {name}, only {', '.join(names)}"
        )
    if name == inter_broker:
        raise ConfigError(f"control.plane.listener.name: {name} is the inter-broker listener already")
    return name


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _first_repeated(values: Iterable[object]) -> object | None:
    seen: set[object] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None
