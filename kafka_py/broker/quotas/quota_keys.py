"""The keys of client and address quotas: the one place with their names.

Source: docs/reference/quotas.md, section 1; docs/reference/configs.tsv.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from kafka_py.zk.config_znodes import DEFAULT_ENTITY, sanitize

USER, CLIENT_ID, IP = "user", "client-id", "ip"
"""The types of entities, as the protocol and the tags of metrics name them."""


class QuotaType(Enum):
    """What a quota of clients limits; the value is the name in metrics and in calls of a plug-in."""

    PRODUCE = "Produce"
    FETCH = "Fetch"
    REQUEST = "Request"
    CONTROLLER_MUTATION = "ControllerMutation"


_WHOLE = re.compile(r"[+-]?[0-9]+")
_DOUBLE = re.compile(r"([+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))[dDfF]?")
_BITS = {"INT": 31, "LONG": 63}


def double_of(text: str) -> float:
    """A number as Java reads it, and brokers of Apache Kafka with it: Python reads more, such as 1_000.

    Raises ValueError.
    """
    match = _DOUBLE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a number")
    return float(match[1])


class QuotaKey(NamedTuple):
    """A key. kind: of its values, LONG, INT or DOUBLE. type: None for the one of addresses."""

    name: str
    kind: str
    type: QuotaType | None

    def fault_of(self, text: str) -> str | None:
        """Why this cannot be its value in ZooKeeper, as tools show it; None if it can."""
        try:
            if self.kind == "DOUBLE":
                double_of(text)
                return None
            most = 1 << _BITS[self.kind]
            if _WHOLE.fullmatch(text.strip()) is None or not -most <= int(text) < most:
                raise ValueError
        except ValueError:
            return f"Not a number of type {self.kind}"
        return "must be at least 0" if self.name == CONNECTION_RATE and int(text) < 0 else None


CONNECTION_RATE = "connection_creation_rate"
QUOTA_KEYS = {
    key.name: key
    for key in (
        QuotaKey("producer_byte_rate", "LONG", QuotaType.PRODUCE),
        QuotaKey("consumer_byte_rate", "LONG", QuotaType.FETCH),
        QuotaKey("request_percentage", "DOUBLE", QuotaType.REQUEST),
        QuotaKey("controller_mutation_rate", "DOUBLE", QuotaType.CONTROLLER_MUTATION),
        QuotaKey(CONNECTION_RATE, "INT", None),
    )
}
CLIENT_KEYS = {name: key for name, key in QUOTA_KEYS.items() if key.type is not None}
IP_KEYS = {name: key for name, key in QUOTA_KEYS.items() if key.type is None}


class QuotaEntity(NamedTuple):
    """Whose quota: names as in paths of znodes, DEFAULT_ENTITY for the default; None: not part of the entity."""

    user: str | None
    client_id: str | None


def tag_of(name: str) -> str:
    """A user or client id as in paths of znodes; one that is called `<default>` is not the default entity."""
    return "%3Cdefault%3E" if name == DEFAULT_ENTITY else sanitize(name)


def limit_in(settings: Mapping[str, str], key: str) -> float | None:
    """The limit in an entity's settings; None without one. Raises ValueError if it is not a number."""
    text = settings.get(key)
    if text is None:
        return None
    limit = double_of(text)
    if math.isnan(limit):
        raise ValueError(f"{text!r} is not a number")
    return limit
