"""Waiting for elected leaders: what it costs when a request waits for very many, and what is missing in the end."""

import asyncio
from collections.abc import Hashable
from types import SimpleNamespace
from typing import cast

from kafka_py.base.ids import TopicPartition
from kafka_py.base.purgatory import Purgatory
from kafka_py.base.timers import Timers
from kafka_py.base.turns import Turn
from kafka_py.broker.metadata.election_waits import wait_for_leaders
from kafka_py.broker.metadata.metadata_cache import MetadataCache
from kafka_py.testing.clock import ManualClock

PARTITIONS = [TopicPartition("t", number) for number in range(600)]


class Cache:
    def __init__(self) -> None:
        self.leaders = dict.fromkeys(PARTITIONS[1:], 1)  # the first one is unknown
        self.looks: list[TopicPartition] = []

    def partition(self, partition: TopicPartition) -> SimpleNamespace | None:
        self.looks.append(partition)
        leader = self.leaders.get(partition)
        return None if leader is None else SimpleNamespace(leader=leader)


async def rest() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_a_change_of_one_partition_looks_at_that_partition_alone() -> None:
    async def scenario() -> None:
        clock, cache = ManualClock(), Cache()
        waits: Purgatory[Hashable] = Purgatory("ElectLeader", Timers(clock, clock.call_later))
        expected = dict.fromkeys(PARTITIONS, 2)
        metadata = cast(MetadataCache, cache)
        done = asyncio.ensure_future(wait_for_leaders(waits, metadata, expected, 1000, Turn(clock)))
        await rest()
        cache.looks.clear()
        for partition in PARTITIONS[:200]:
            waits.check_and_complete(partition)
        await rest()
        assert cache.looks == PARTITIONS[:200]
        cache.leaders = dict.fromkeys(PARTITIONS, 2)
        for partition in PARTITIONS:
            waits.check_and_complete(partition)
        assert await done == set()
        assert len(cache.looks) == 200 + len(PARTITIONS)

    asyncio.run(scenario())


def test_partitions_without_the_elected_leader_in_the_end_are_missing() -> None:
    async def scenario() -> None:
        clock, cache = ManualClock(), Cache()
        waits: Purgatory[Hashable] = Purgatory("ElectLeader", Timers(clock, clock.call_later))
        metadata, turn = cast(MetadataCache, cache), Turn(clock)
        cache.leaders[PARTITIONS[2]] = 2
        for timeout_ms in (1000, 0, -5):  # without a time-out the cache is looked at as well
            expected = dict.fromkeys(PARTITIONS[:3], 2)
            done = asyncio.ensure_future(wait_for_leaders(waits, metadata, expected, timeout_ms, turn))
            await rest()
            clock.advance(1001)
            assert await done == set(PARTITIONS[:2])
        assert await wait_for_leaders(waits, metadata, {}, 1000, turn) == set()

    asyncio.run(scenario())
