"""How many connections a broker takes, in all, per listener and per address, and how fast.

Pure bookkeeping: accepts and closes nothing itself. As in Kafka, a full broker or listener lets new connections wait
in the accept queue, while too many from one address are closed, or too fast ones after a time in which they are not
read. With more than one listener the inter-broker one is protected: it may accept although the broker is full, and
another listener's longest idle connection is closed.
Source: docs/reference/quotas.md, section 8; KIP-402, KIP-612.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping

from kafka_py.base.errors import ConfigError
from kafka_py.base.options import MAX_INT
from kafka_py.base.quota_rates import SampledRate
from kafka_py.net.address_rates import AddressRates
from kafka_py.net.configs import NetOptions, listener_limit, parse_overrides
from kafka_py.net.listener import plain_address


class Admission(enum.Enum):
    """May a listener take another connection?"""

    OPEN = "yes"
    MAKE_ROOM = "yes, but close another listener's connection for it"
    WAIT = "not before one has closed"


class ConnectionLimits:
    """Counts of open connections against the limits in force; `configure` changes the limits while running.

    override: sets the limits of single addresses, see `overrides_of`.
    inter_broker_listener: protected when there is another listener. addresses: limits of single addresses, and the
    window of all rates.
    """

    def __init__(
        self, options: NetOptions, listener_names: list[str], inter_broker_listener: str, addresses: AddressRates
    ) -> None:
        self._addresses = addresses
        self._all_accepts = SampledRate(addresses.window)
        self._accepts: dict[str, SampledRate] = {}
        self._ready_ms: dict[str, float] = {}  # by listener: until then it accepts no further connection
        self._inter_broker_listener = inter_broker_listener
        self._protected: str | None = None
        self._by_listener: dict[str, int] = {}
        self._by_host: dict[str, int] = {}
        self._overrides: Mapping[str, int] = {}
        self.total = 0
        self.serve(listener_names)
        self.configure(options)

    def serve(self, listener_names: list[str]) -> None:
        """These are the listeners from now on; `configure` must follow. Connections of others are still counted."""
        self._protected = self._inter_broker_listener if len(listener_names) > 1 else None
        for name in listener_names:
            self._by_listener.setdefault(name, 0)
            self._accepts.setdefault(name, SampledRate(self._addresses.window))

    def configure(self, options: NetOptions) -> None:
        """Take over the limits of `options`. Raises ConfigError and changes nothing when they cannot be read."""
        self._per_listener, self._rates = listener_limits(options, self._by_listener)
        self._most = options.max_connections
        self._most_per_host = options.max_connections_per_ip
        self._rate = options.max_connection_creation_rate

    def override(self, limits: Mapping[str, int]) -> None:
        """How many connections single addresses may have."""
        self._overrides = limits

    def admission(self, listener: str) -> Admission:
        """Whether `listener` may accept now."""
        if self._by_listener[listener] >= self._per_listener[listener]:
            return Admission.WAIT
        if self.total < self._most:
            return Admission.OPEN
        return Admission.MAKE_ROOM if listener == self._protected else Admission.WAIT

    @property
    def is_exceeded(self) -> bool:
        """Whether there are more connections than allowed: of protected ones, or since the limit was lowered."""
        return self.total > self._most

    def is_protected(self, listener: str) -> bool:
        return listener == self._protected

    def record(self, listener: str, host: str, now_ms: float) -> float:
        """Counts an accepted connection in the rates.

        Returns 0, or how long it must be kept unread and then closed, because its address connects too fast; then it
        counts in no rate.
        """
        unread_ms = self._addresses.record(host, now_ms)
        if unread_ms:
            return unread_ms
        delay_ms = 0.0
        if listener != self._protected and self._rate < MAX_INT:
            delay_ms = _record(self._all_accepts, self._rate, now_ms)
        if self._rates[listener] < MAX_INT:
            delay_ms = max(delay_ms, _record(self._accepts[listener], self._rates[listener], now_ms))
        if delay_ms:
            self._ready_ms[listener] = now_ms + min(delay_ms, self._addresses.window.sample_ms)
        return 0.0

    def delay_ms(self, listener: str, now_ms: float) -> float:
        """How long the rates forbid the listener to accept; 0 when they do not."""
        return max(self._ready_ms.get(listener, 0.0) - now_ms, 0.0)

    def allows_host(self, host: str) -> bool:
        """Whether one more connection from this address is within its limit."""
        return self._by_host.get(host, 0) < self._overrides.get(host, self._most_per_host)

    def opened(self, listener: str, host: str) -> None:
        self.total += 1
        self._by_listener[listener] += 1
        self._by_host[host] = self._by_host.get(host, 0) + 1

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


def listener_limits(options: NetOptions, listeners: Iterable[str]) -> tuple[dict[str, int], dict[str, int]]:
    """By listener: how many connections it takes, and how many in a second. Raises ConfigError."""

    def limits(setting: str, default: int) -> dict[str, int]:
        return {name: _listener_setting(options.originals, name, setting, default) for name in listeners}

    return (
        limits("max.connections", options.max_connections),
        limits("max.connection.creation.rate", options.max_connection_creation_rate),
    )


def overrides_of(text: str, address_of: Callable[[str], str]) -> dict[str, int]:
    """`max.connections.per.ip.overrides` by address; a name counts as one address, as it is now.

    address_of: looks a host up, and raises OSError or UnicodeError. Raises ConfigError.
    """
    found = {}
    for host, limit in parse_overrides(text).items():
        try:
            found[plain_address(address_of(host))] = limit
        except (OSError, UnicodeError) as error:
            raise ConfigError(
                f"max.connections.per.ip.overrides: {host!r} is no address, and no host that can be looked up: {error}"
            ) from None
    return found


def _record(rate: SampledRate, limit: int, now_ms: float) -> float:
    rate.record(1, now_ms)
    return rate.throttle_ms(limit, now_ms)


def _listener_setting(properties: Mapping[str, object], listener: str, setting: str, default: int) -> int:
    """`listener.name.<listener>.<setting>`; the broker's own setting when it is not given. Raises ConfigError."""
    name = f"listener.name.{listener.lower()}.{setting}"
    given = properties.get(name)
    if given is None:
        return default
    return listener_limit(name, given)
