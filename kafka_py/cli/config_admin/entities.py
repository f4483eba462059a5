"""What the parts of kafka-configs.sh share: entities, changes, and the order of lists."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

TOPICS, BROKERS, LOGGERS = "topics", "brokers", "broker-loggers"


class Entity(NamedTuple):
    """What has the settings. name: None for all of the type, "" for the default of the type."""

    type: str
    name: str | None

    @property
    def one(self) -> str:
        return self.type.removesuffix("s")


class Changes(NamedTuple):
    """What --alter asks for."""

    added: dict[str, str]
    deleted: list[str]


def in_hash_order(names: Collection[str], capacity: int = 16) -> list[str]:
    """As Apache Kafka lists settings: in the iteration order of a Java HashMap that they are inserted into.

    capacity: the one that it begins with.
    """
    from kafka_py.records.java_hash import java_hash_code

    while len(names) > capacity * 3 // 4:
        capacity *= 2

    def bucket(name: str) -> int:
        code = java_hash_code(name) & 0xFFFFFFFF
        return (code ^ code >> 16) & (capacity - 1)

    return sorted(names, key=bucket)
