"""How many connections a broker takes, in all, per listener and per address, and how fast.

Pure bookkeeping: accepts and closes nothing itself. As in Kafka, a full broker or listener lets new connections wait
in the accept queue, while too many from one address are closed. With more than one listener the inter-broker one is
protected: it may accept although the broker is full, and another listener's longest idle connection is closed.
Source: docs/reference/protocol.md, section 1; KIP-402, KIP-612.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping

from kafka_py.base.errors import ConfigError
from kafka_py.base.options import MAX_INT
from kafka_py.net.configs import NetOptions, parse_overrides


class Admission(enum.Enum):
    """May a listener take another connection?"""

    OPEN = "yes"
    MAKE_ROOM = "yes, but close another listener's connection for it"
    WAIT = "not before one has closed"


class ConnectionLimits:
    """Counts of open connections against the limits in force; `configure` changes the limits while running.

    inter_broker_listener: protected when there is another listener.
    """

    def __init__(self, options: NetOptions, listener_names: list[str], inter_broker_listener: str) -> None:
        self._inter_broker_listener = inter_broker_listener
        self._protected: str | None = None
        self._by_listener: dict[str, int] = {}
        self._by_host: dict[str, int] = {}
        self._second = -1  # the one that the accepts below were counted in
        self._accepts = 0
        self._accepts_by_listener: dict[str, int] = {}
        self.total = 0
        self.serve(listener_names)
        self.configure(options)

    def serve(self, listener_names: list[str]) -> None:
        """These are the listeners from now on; `configure` must follow. Connections of others are still counted."""
        self._protected = self._inter_broker_listener if len(listener_names) > 1 else None
        for name in listener_names:
            self._by_listener.setdefault(name, 0)

    def configure(self, options: NetOptions) -> None:
        """Take over the limits of `options`. Raises ConfigError and changes nothing when they cannot be read."""
        overrides = parse_overrides(options.max_connections_per_ip_overrides)
        per_listener = {
            name: _listener_setting(options.originals, name, "max.connections") for name in self._by_listener
        }
        rates = {
            name: _listener_setting(options.originals, name, "max.connection.creation.rate")
            for name in self._by_listener
        }
        self._overrides = overrides
        self._per_listener = per_listener
        self._rates = rates
        self._most = options.max_connections
        self._most_per_host = options.max_connections_per_ip
        self._rate = options.max_connection_creation_rate

    def admission(self, listener: str) -> Admission:
        """Whether `listener` may accept now."""
        if self._by_listener[listener] >= self._per_listener[listener]:
            return Admission.WAIT
        if self.total < self._most:
            return Admission.OPEN
        return Admission.MAKE_ROOM if listener == self._protected else Admission.WAIT

    def delay_ms(self, listener: str, now_ms: float) -> float:
        """How long the creation rate forbids to accept; 0 when it does not."""
        second = math.floor(now_ms / 1000)
        if second != self._second:
            self._second = second
            self._accepts = 0
            self._accepts_by_listener = {}
        over = self._accepts >= self._rate and listener != self._protected
        if over or self._accepts_by_listener.get(listener, 0) >= self._rates[listener]:
            return (second + 1) * 1000 - now_ms
        return 0.0

    def allows_host(self, host: str) -> bool:
        """Whether one more connection from this address is within its limit."""
        return self._by_host.get(host, 0) < self._overrides.get(host, self._most_per_host)

    def opened(self, listener: str, host: str) -> None:
        self.total += 1
        self._by_listener[listener] += 1
        self._by_host[host] = self._by_host.get(host, 0) + 1
        self._accepts += 1
        self._accepts_by_listener[listener] = self._accepts_by_listener.get(listener, 0) + 1

    def closed(self, listener: str, host: str) -> None:
        self.total -= 1
        self._by_listener[listener] -= 1
        left = self._by_host[host] - 1
        if left:
            self._by_host[host] = left
        else:
            del self._by_host[host]

    def open_connections(self, listener: str) -> int:
        return self._by_listener[listener]


def _listener_setting(properties: Mapping[str, object], listener: str, setting: str) -> int:
    """`listener.name.<listener>.<setting>`, no limit when it is not given. Raises ConfigError."""
    name = f"listener.name.{listener.lower()}.{setting}"
    text = str(properties.get(name, MAX_INT)).strip()
    if not (text.isascii() and text.isdigit()):
        raise ConfigError(f"Invalid value {text} for configuration {name}: must be a number from 0 on")
    return int(text)
