"""Names of broker settings: with a listener's prefix or without, where they may change, which values are secret.

What this broker does not know may be anything, so it counts as secret: its value is in no log line and in no answer.
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

_OF_LISTENER = re.compile(r"listener\.name\.[^.]*\.(.*)", re.DOTALL)
_OF_MECHANISM = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)
"""May stand behind a listener's prefix and the name of a SASL mechanism."""

_CLUSTER_WIDE_OF_LISTENER = frozenset({"max.connections", "max.connection.creation.rate"})
"""The only settings behind a listener's prefix that all brokers may share."""

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
"""Key and trust stores, which may change at run time behind a listener's prefix alone (SslConfigs)."""

_PASSWORDS = tuple(row.name for row in BrokerConfig.ROWS.values() if row.kind is Kind.PASSWORD and row.live.is_live)


def base_name(name: str) -> str:
    """The setting that `listener.name.<listener>.[<mechanism>.]<setting>` is about; other names are their own."""
    match = _OF_LISTENER.fullmatch(name)
    if match is None:
        return name
    return next((setting for setting in _OF_MECHANISM if match[1].endswith(setting)), match[1])


def row_of(name: str) -> Option[Any] | None:
    """The row of a setting, behind a listener's prefix or not; None for what this broker does not know."""
    return BrokerConfig.ROWS.get(name) or BrokerConfig.ROWS.get(base_name(name))


class Misplaced(Enum):
    """Why a setting may not be set at run time where it is set; the value is what admin tools show."""

    FIXED = "Cannot update these configs dynamically"
    WITHOUT_LISTENER = "These security configs can be dynamically updated only per-listener using the listener prefix"
    NEEDS_BROKER = "Cannot update these configs at default cluster level, broker id must be specified"


def misplaced(name: str, *, is_default: bool) -> Misplaced | None:
    """What keeps a setting from being set at run time for one broker, or for all (`is_default`); None if nothing does.

    What this broker does not know may be set anywhere.
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
    """Whether it is a password that may be set while the broker runs, and is encrypted in ZooKeeper."""
    return name.endswith(_PASSWORDS)


def shown(settings: Mapping[str, str], known: Collection[str] = ()) -> str:
    """The settings as log lines may have them: `a=1, b=[hidden]`.

    known: names of another table whose values are no secrets.
    """
    return paired({name: value if name in known or not is_secret(name) else HIDDEN for name, value in settings.items()})
