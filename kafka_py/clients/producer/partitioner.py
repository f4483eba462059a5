"""Chooses the partition of a record for which send() names none (partitioner.class).

The default hashes the key over all partitions. Records without key stay with one available partition until its batch
is full (KIP-480), which makes larger batches than round-robin. A custom partitioner is a callable or an object with
`partition(topic, key, key_bytes, value, value_bytes, cluster)` that returns the partition's number.

Source: DefaultPartitioner, UniformStickyPartitioner, RoundRobinPartitioner; KIP-369, KIP-480.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from kafka_py.base.chance import Random
from kafka_py.base.errors import ConfigError
from kafka_py.base.plugins import load_class
from kafka_py.clients.metadata import ClusterView
from kafka_py.records.murmur2 import partition_for_key

_JAVA_PACKAGE = "org.apache.kafka.clients.producer."
DEFAULT = _JAVA_PACKAGE + "internals.DefaultPartitioner"
UNIFORM_STICKY = _JAVA_PACKAGE + "UniformStickyPartitioner"
ROUND_ROBIN = _JAVA_PACKAGE + "RoundRobinPartitioner"

REMEMBERED_KEYS = 20_000
"""How many keys' partitions are cached per topic: hashing in Python costs more than a look-up."""


class Partitioner(Protocol):
    """The interface of a custom partitioner (partitioner.class)."""

    def partition(
        self, topic: str, key: Any, key_bytes: bytes | None, value: Any, value_bytes: bytes | None, cluster: ClusterView
    ) -> int:
        """The partition's number. May also have `configure(configs)` and `close()`."""
        ...


class KeyedChoice:
    """The default partitioner's choice for one topic with `count` partitions.

    sticky: the partition for records without key; None until the first is chosen.
    hashes_keys: False for the uniform sticky partitioner, which ignores keys.
    """

    def __init__(self, count: int, available: list[int], draw: Random, *, hashes_keys: bool = True) -> None:
        self.count = count
        self.available = available
        self.hashes_keys = hashes_keys
        self.sticky: int | None = None
        self._draw = draw
        self._by_key: dict[bytes, int] = {}

    def for_key(self, key: bytes) -> int:
        """The partition of a key, chosen among all partitions, whether or not they have leaders."""
        partition = self._by_key.get(key)
        if partition is None:
            if len(self._by_key) >= REMEMBERED_KEYS:
                self._by_key.clear()
            partition = self._by_key[key] = partition_for_key(key, self.count)
        return partition

    def switch(self, previous: int | None) -> int:
        """A sticky partition other than `previous`, drawn among the available ones, or among all if there are none."""
        if self.sticky is not None and self.sticky != previous:
            return self.sticky
        candidates = self.available or range(self.count)
        if len(candidates) == 1:
            self.sticky = candidates[0]
        else:
            others = [each for each in candidates if each != previous]
            self.sticky = self._draw.choice(others)
        return self.sticky


class RoundRobin:
    """Partitions in turn, whether or not records have keys; only available ones as long as there are any."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._counters: dict[str, int] = {}

    def partition(
        self, topic: str, key: Any, key_bytes: bytes | None, value: Any, value_bytes: bytes | None, cluster: ClusterView
    ) -> int:
        counter = self._counters.get(topic)
        if counter is None:
            counter = self._rng.randrange(1 << 16)
        self._counters[topic] = counter + 1
        available = cluster.available_partitions(topic)
        if available:
            return available[counter % len(available)]
        return counter % len(cluster.topics[topic].partitions)


class FunctionPartitioner:
    """Adapts a plain callable to the interface of a partitioner."""

    def __init__(self, function: Any) -> None:
        self.partition = function


def own_partitioner(setting: Any, configs: Mapping[str, Any], rng: Random) -> tuple[Partitioner | None, bool]:
    """What partitioner.class names: (a custom partitioner, or None for a built-in one; whether that one hashes keys).

    Raises ConfigError for a class that cannot be found or has no `partition`.
    """
    if setting in (DEFAULT, "DefaultPartitioner"):
        return None, True
    if setting in (UNIFORM_STICKY, "UniformStickyPartitioner"):
        return None, False
    if setting in (ROUND_ROBIN, "RoundRobinPartitioner"):
        return RoundRobin(rng), True
    if isinstance(setting, str):
        setting = load_class("partitioner.class", setting)
    if isinstance(setting, type):
        setting = setting()
    if not hasattr(setting, "partition"):
        if not callable(setting):
            raise ConfigError(f"Invalid value {setting!r} for configuration partitioner.class: it has no partition()")
        return FunctionPartitioner(setting), True
    if hasattr(setting, "configure"):
        setting.configure(configs)
    partitioner: Partitioner = setting
    return partitioner, True
