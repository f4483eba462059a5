"""Whose settings a property file has: each kind is a table of settings; the one that knows most names is meant."""

from __future__ import annotations

from collections.abc import Collection

from kafka_py.base.options import OptionTable
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.clients.admin.configs import AdminOptions
from kafka_py.clients.consumer.configs import ConsumerOptions
from kafka_py.clients.producer.configs import ProducerOptions

KINDS: dict[str, type[OptionTable]] = {
    "server": BrokerConfig,
    "producer": ProducerOptions,
    "consumer": ConsumerOptions,
    "admin": AdminOptions,
}


def kind_of(names: Collection[str]) -> str:
    """The kind that knows most of these names; the earlier one of several."""
    return max(KINDS, key=lambda kind: sum(name in KINDS[kind].ROWS for name in names))


def others_with(name: str, kind: str) -> list[str]:
    """The other kinds that have a setting of this name."""
    return [other for other, table in KINDS.items() if other != kind and name in table.ROWS]
