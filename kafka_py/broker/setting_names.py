"""Names of broker settings: with a listener's prefix or without, whose values are secret, which are passwords.

What this broker does not know may be anything, so it counts as secret: its value is in no log line and in no answer.
Pure. Source: KafkaConfig.maybeSensitive, DynamicBrokerConfig (listener prefixes, password settings); KIP-226.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from kafka_py.base.options import HIDDEN, Kind, Option
from kafka_py.base.texts import paired
from kafka_py.broker.configs import BrokerConfig

LISTENER_PREFIX = "listener.name."
_OF_LISTENER = re.compile(r"listener\.name\.[^.]*\.(.*)", re.DOTALL)
_OF_MECHANISM = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)
"""May stand behind a listener's prefix and the name of a SASL mechanism."""

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
