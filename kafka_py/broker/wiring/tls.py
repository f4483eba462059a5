"""TLS of one broker's listeners, by the settings of each (I/O: key and trust stores).

Source: docs/reference/security/tls.md, sections 2 and 3; KIP-103 (settings by listener); KIP-226.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.net.endpoints import Endpoint, Listening, SecurityProtocol, listening_of
from kafka_py.security.tls.listener_tls import ListenerTls, StoreContexts
from kafka_py.security.tls.principal_rules import SETTING as MAPPING_RULES
from kafka_py.security.tls.principal_rules import PrincipalRules
from kafka_py.security.tls.settings import SETTINGS, TlsSettings

_log = logging.getLogger(__name__)

CLIENT_AUTH = "ssl.client.auth"
_HANDSHAKE_THREADS = 2
"""A flood of connections takes this many processors at most, and never the event loop."""


class BrokerTls:
    """The listeners with TLS, by name; none before `reconfigure`."""

    def __init__(self) -> None:
        self._listeners: dict[str, ListenerTls] = {}
        self._executor: ThreadPoolExecutor | None = None

    def listener(self, name: str) -> ListenerTls | None:
        """None for a listener without TLS."""
        return self._listeners.get(name)

    def executor(self) -> Executor:
        """For the cryptography of handshakes."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(_HANDSHAKE_THREADS, "kafka-tls")
        return self._executor

    def reconfigure(self, config: BrokerConfig) -> None:
        """Takes over listeners and changed stores. Raises ConfigError, and changes nothing then."""
        listeners: dict[str, ListenerTls] = {}
        changed: dict[str, StoreContexts] = {}
        listening = listening_of(config)
        for endpoint in listening.listeners:
            if not endpoint.security_protocol.has_tls:
                continue
            name, settings = endpoint.listener_name, listener_settings(config, endpoint)
            present = self._listeners.get(name)
            listeners[name] = present or _listener(config, endpoint, settings, listening)
            made = None if present is None else present.check(settings)
            if made is not None:
                changed[name] = made
        for name, made in changed.items():
            listeners[name].take(made)
            _log.info("Listener %s has new key and trust stores, for new connections", name)
        self._listeners = listeners

    def check(self, config: BrokerConfig) -> None:
        """Raises ConfigError when such stores must not replace the present ones, or are of no use to a new listener."""
        listening = listening_of(config)
        for endpoint in listening.listeners:
            if not endpoint.security_protocol.has_tls:
                continue
            present, settings = self._listeners.get(endpoint.listener_name), listener_settings(config, endpoint)
            if present is None:
                _listener(config, endpoint, settings, listening)
            else:
                present.check(settings)

    def close(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)


def listener_settings(config: BrokerConfig, endpoint: Endpoint) -> TlsSettings:
    """The TLS settings of one listener: its own, and those of the broker for what it has none. Raises ConfigError."""
    prefix = _prefix(endpoint)
    values = {name: _value(config, prefix, name) for name in SETTINGS}
    client_auth = _value(config, prefix, CLIENT_AUTH)
    if endpoint.security_protocol is SecurityProtocol.SASL_SSL and prefix + CLIENT_AUTH not in config.originals:
        client_auth = "none"  # who the client is, its login says
    return TlsSettings.of(values, _shown_prefix(config.originals, prefix), client_auth)


def _listener(config: BrokerConfig, endpoint: Endpoint, settings: TlsSettings, listening: Listening) -> ListenerTls:
    prefix, name = _prefix(endpoint), endpoint.listener_name
    setting = prefix + MAPPING_RULES if prefix + MAPPING_RULES in config.originals else MAPPING_RULES
    rules = PrincipalRules(_value(config, prefix, MAPPING_RULES) or "", setting)
    tls = ListenerTls(settings, rules, is_inter_broker=name == listening.inter_broker_listener)
    if not tls.has_key:
        _log.warning("Listener %s has TLS, but ssl.keystore.location is not set: every handshake will fail", name)
    is_sasl = endpoint.security_protocol is SecurityProtocol.SASL_SSL
    if is_sasl and settings.client_auth == "none" and config.ssl_client_auth != "none":
        _log.warning(
            "%s=%s does not count on listener %s, which has logins; %s%s would", CLIENT_AUTH, config.ssl_client_auth,
            name, prefix, CLIENT_AUTH,
        )  # fmt: skip
    return tls


def _prefix(endpoint: Endpoint) -> str:
    return f"listener.name.{endpoint.listener_name.lower()}."


def _shown_prefix(given: Mapping[str, object], prefix: str) -> str:
    """The prefix, if any setting of TLS is given with it: errors name settings as they were written."""
    return prefix if any(name.startswith(f"{prefix}ssl.") for name in given) else ""


def _value(config: BrokerConfig, prefix: str, name: str) -> Any:
    """The listener's own value, else the broker's. Raises ConfigError."""
    row = BrokerConfig.ROWS[name]
    own = config.originals.get(prefix + name)
    return row.parse(own) if own is not None else getattr(config, row.attribute)
