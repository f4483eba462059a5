"""Names of broker settings: listener prefixes, levels at which they may be set, secret values.

The values of unknown settings count as secret: they are neither logged nor returned.
Pure. Source: KafkaConfig.maybeSensitive, DynamicBrokerConfig (listener prefixes, password settings); KIP-226.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from enum import Enum
from typing import Any

from kafka_py.base.options import HIDDEN, Kind, Live, Option
from kafka_py.base.texts import paired
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.net.configs import LISTENER_LIMITS, listener_limit
from kafka_py.security.sasl.oauth.options import OAuthOptions

_OF_LISTENER = re.compile(r"listener\.name\.[^.]*\.(.*)", re.DOTALL)
_OF_MECHANISM = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
    *OAuthOptions.ROWS,
)
"""Settings that may follow a listener prefix and the name of a SASL mechanism."""

_CLUSTER_WIDE_OF_LISTENER = LISTENER_LIMITS
"""The only settings with a listener prefix that may be set for all brokers."""

_PER_LISTENER_ONLY = frozenset(
    {
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)
"""Key and trust stores, which are dynamic only with a listener prefix (SslConfigs)."""

_PASSWORDS = tuple(row.name for row in BrokerConfig.ROWS.values() if row.kind is Kind.PASSWORD and row.live.is_live)


def base_name(name: str) -> str:
    """The setting in `listener.name.<listener>.[<mechanism>.]<setting>`; other names are returned unchanged."""
    match = _OF_LISTENER.fullmatch(name)
    if match is None:
        return name
    return next((setting for setting in _OF_MECHANISM if match[1].endswith(setting)), match[1])


def row_of(name: str) -> Option[Any] | None:
    """The row of a setting, with or without a listener prefix; None for an unknown one."""
    return BrokerConfig.ROWS.get(name) or BrokerConfig.ROWS.get(base_name(name))


def check_value(name: str, value: str) -> None:
    """Checks the value of a setting, with or without a listener prefix. Raises ConfigError."""
    row = row_of(name)
    if row is not None:
        row.parse(value)
    match = _OF_LISTENER.fullmatch(name)
    if match is not None and match[1] in LISTENER_LIMITS:
        listener_limit(name, value)


class Misplaced(Enum):
    """Why a setting may not be set dynamically at a level; admin tools show the value."""

    FIXED = "Cannot update these configs dynamically"
    WITHOUT_LISTENER = "These security configs can be dynamically updated only per-listener using the listener prefix"
    NEEDS_BROKER = "Cannot update these configs at default cluster level, broker id must be specified"


def misplaced(name: str, *, is_default: bool) -> Misplaced | None:
    """Why a setting may not be set dynamically for one broker, or for all (`is_default`); None if it may.

    Unknown settings may be set at any level.
    """
    row = BrokerConfig.ROWS.get(name)
    if row is not None and row.live is Live.READ_ONLY:
        return Misplaced.FIXED
    if name in _PER_LISTENER_ONLY:
        return Misplaced.WITHOUT_LISTENER
    match = _OF_LISTENER.fullmatch(name)
    is_own = match[1] not in _CLUSTER_WIDE_OF_LISTENER if match else row is not None and row.live is Live.PER_BROKER
    return Misplaced.NEEDS_BROKER if is_own and is_default else None


def is_secret(name: str) -> bool:
    """Whether the value must not be shown: a password, or unknown."""
    row = row_of(name)
    return row is None or row.sensitive


def is_stored_password(name: str) -> bool:
    """Whether it is a dynamic password setting, which is encrypted in ZooKeeper."""
    return name.endswith(_PASSWORDS)


def shown(settings: Mapping[str, str], known: Collection[str] = ()) -> str:
    """The settings for log lines: `a=1, b=[hidden]`.

    known: names of another table whose values are not secret.
    """
    return paired({name: value if name in known or not is_secret(name) else HIDDEN for name, value in settings.items()})
