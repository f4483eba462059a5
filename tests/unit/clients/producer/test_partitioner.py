"""Which partition a record goes to."""

import random
from typing import Any

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.base.ids import ZERO_UUID
from kafka_py.clients.metadata import ClusterView, Node, PartitionInfo, TopicInfo
from kafka_py.clients.producer.partitioner import (
    DEFAULT,
    ROUND_ROBIN,
    UNIFORM_STICKY,
    KeyedChoice,
    RoundRobin,
    own_partitioner,
)
from kafka_py.records.java_hash import java_hash_code


def choice(count: int, available: list[int] | None = None) -> KeyedChoice:
    return KeyedChoice(count, list(range(count)) if available is None else available, random.Random(1))


def view(leaders: list[int]) -> ClusterView:
    partitions = tuple(PartitionInfo("t", n, leader, 0, (0,), (0,), ()) for n, leader in enumerate(leaders))
    return ClusterView({0: Node(0, "h", 1)}, {"t": TopicInfo("t", ZERO_UUID, False, partitions)})


@pytest.mark.parametrize(("key", "partition"), [(b"", 9), (b"k1", 5), (b"kafka", 4), (b"hello-world-0123456789", 9)])
def test_we2_5_a_key_goes_to_murmur2_modulo_all_partitions(key: bytes, partition: int) -> None:
    twelve = choice(12)
    assert twelve.for_key(key) == twelve.for_key(key) == partition


def test_we2_5_a_key_may_go_to_a_partition_without_leader() -> None:
    assert choice(12, available=[0]).for_key(b"k1") == 5


def test_we2_5_records_without_key_only_use_available_partitions() -> None:
    sticky = choice(6, available=[1, 4])
    seen = {sticky.switch(sticky.sticky) for _ in range(20)}
    assert seen == {1, 4}


def test_the_sticky_partition_changes_with_every_batch_and_only_then() -> None:
    sticky = choice(3)
    first = sticky.switch(None)
    assert sticky.switch(first + 10) == first  # another thread has already switched
    second = sticky.switch(first)
    assert second != first


def test_without_any_leader_all_partitions_are_candidates() -> None:
    assert choice(1, available=[]).switch(None) == 0


def test_round_robin_takes_available_partitions_in_turn() -> None:
    turn = RoundRobin(random.Random(1))
    taken = [turn.partition("t", None, None, None, None, view([0, -1, 0])) for _ in range(4)]
    assert set(taken) == {0, 2}
    assert taken[0] == taken[2] != taken[1]


class JasonPartitioner:
    """The partitioner of S1-029: numbers by their value, everything else by Java's hash."""

    def partition(
        self, topic: str, key: Any, key_bytes: bytes | None, value: Any, value_bytes: bytes | None, cluster: ClusterView
    ) -> int:
        count = len(cluster.topics[topic].partitions)
        try:
            return abs(int(key) % count)
        except ValueError:
            return abs(java_hash_code(key)) % count


@pytest.mark.parametrize(("key", "partition"), [("0", 0), ("3", 3), ("4", 0), ("-7", 1), ("kafka", 2), ("key", 3)])
def test_s1_029_an_own_partitioner_goes_by_number_or_by_hash(key: str, partition: int) -> None:
    own, _ = own_partitioner(JasonPartitioner, {}, random.Random(1))
    assert own is not None
    assert own.partition("t", key, key.encode(), None, None, view([0, 0, 0, 0])) == partition


def test_partitioner_class_takes_kafkas_names_callables_and_classes() -> None:
    assert own_partitioner(DEFAULT, {}, random.Random(1)) == (None, True)
    assert own_partitioner(UNIFORM_STICKY, {}, random.Random(1)) == (None, False)
    assert isinstance(own_partitioner(ROUND_ROBIN, {}, random.Random(1))[0], RoundRobin)
    first, _ = own_partitioner(lambda *_: 7, {}, random.Random(1))
    assert first is not None
    assert first.partition("t", None, None, None, None, ClusterView()) == 7
    with pytest.raises(ConfigError, match="partitioner"):
        own_partitioner("no.such.Partitioner", {}, random.Random(1))
