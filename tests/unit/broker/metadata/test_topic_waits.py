"""Waiting for topics: what it costs when a request waits for very many, and what is late in the end."""

import asyncio
from collections import Counter
from functools import partial
from types import SimpleNamespace
from typing import cast

from kafka_py.base.ids import NO_LEADER, TopicPartition
from kafka_py.base.purgatory import Purgatory
from kafka_py.base.timers import Timers
from kafka_py.base.turns import TURN_MS, Turn
from kafka_py.broker.metadata.metadata_cache import MetadataCache
from kafka_py.broker.metadata.topic_waits import (
    MOST_STEPS,
    STEP_PARTITIONS,
    IsDone,
    LeaderWait,
    wait_for_leaders,
    wait_for_topics,
)
from kafka_py.testing.clock import ManualClock

NAMES = [f"t{number}" for number in range(300)]


def test_a_change_of_one_topic_looks_at_that_topic_alone() -> None:
    """One UpdateMetadata may mention hundreds of the thousands of topics that a request has made."""

    async def scenario() -> None:
        there: set[str] = set()
        looks: Counter[str] = Counter()

        def is_there(name: str) -> bool:
            looks[name] += 1
            return name in there

        waits: Purgatory[object] = Purgatory("topic", Timers(ManualClock(), asyncio.get_running_loop().call_later))
        waiting = {name: lambda name=name: is_there(name) for name in NAMES}
        done = asyncio.ensure_future(wait_for_topics(waits, waiting, 1000))
        await asyncio.sleep(0)
        for name in NAMES[:200]:
            waits.check_and_complete(name)  # mentioned, but not with all that is waited for
        for name in NAMES:
            there.add(name)
            waits.check_and_complete(name)
        assert await done == set()
        assert max(looks.values()) <= 3

    asyncio.run(scenario())


def test_partitions_that_have_had_a_leader_are_not_looked_at_again() -> None:
    leaders = {0: 1, 1: 1, 2: NO_LEADER}
    looks: list[TopicPartition] = []

    class Cache:
        def partition(self, topic_partition: TopicPartition) -> SimpleNamespace | None:
            looks.append(topic_partition)
            leader = leaders.get(topic_partition.partition)
            return None if leader is None else SimpleNamespace(leader=leader)

    is_done = LeaderWait(cast(MetadataCache, Cache()), "t", range(4)).is_done
    assert looks == []
    assert not is_done()
    leaders[2] = 5
    assert not is_done()
    leaders[3] = 0
    assert is_done()
    assert is_done()
    assert looks == [TopicPartition("t", number) for number in (0, 1, 2, 2, 3, 3)]
    assert LeaderWait(cast(MetadataCache, Cache()), "t", []).is_done()


def test_topics_whose_partitions_have_leaders_are_looked_at_in_turns() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        seen: list[str] = []

        class Cache:
            def partition(self, topic_partition: TopicPartition) -> SimpleNamespace:
                clock.advance(TURN_MS / 2)
                seen.append(topic_partition.topic)
                return SimpleNamespace(leader=NO_LEADER if topic_partition.topic in ("t1", "t2") else 0)

        waits: Purgatory[object] = Purgatory("topic", Timers(clock, asyncio.get_running_loop().call_later))
        cache, wanted = cast(MetadataCache, Cache()), {name: [0] for name in NAMES[:6]}
        done = asyncio.ensure_future(wait_for_leaders(waits, cache, wanted, 1000, Turn(clock)))
        await asyncio.sleep(0)
        assert seen == ["t0", "t1"]
        for _ in range(10):
            await asyncio.sleep(0)
        assert len(seen) == 8, "with one look more for each that has no leader"
        waits.close()
        assert await done == {"t1", "t2"}
        assert await wait_for_leaders(waits, cache, wanted, 0, Turn(clock)) == set(wanted), "it may wait no longer"

    asyncio.run(scenario())


def test_very_many_partitions_of_a_topic_are_looked_at_in_turns() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        looks = 0

        class Cache:
            def partition(self, topic_partition: TopicPartition) -> SimpleNamespace:
                nonlocal looks
                looks += 1
                clock.advance(TURN_MS / 1000)
                return SimpleNamespace(leader=0)

        waits: Purgatory[object] = Purgatory("topic", Timers(clock, asyncio.get_running_loop().call_later))
        cache, count = cast(MetadataCache, Cache()), 20_000
        done = asyncio.ensure_future(wait_for_leaders(waits, cache, {"t": range(count)}, 1000, Turn(clock)))
        before, most = 0, 0
        for _ in range(100):
            await asyncio.sleep(0)
            before, most = looks, max(most, looks - before)
        assert looks == count
        assert most <= 1000 + STEP_PARTITIONS
        assert await done == set()

    asyncio.run(scenario())


def test_when_the_leaders_of_very_many_partitions_come_at_once_others_have_the_loop_meanwhile() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        leader, looks = NO_LEADER, 0

        class Cache:
            def partition(self, topic_partition: TopicPartition) -> SimpleNamespace:
                nonlocal looks
                looks += 1
                return SimpleNamespace(leader=leader)

        waits: Purgatory[object] = Purgatory("topic", Timers(clock, asyncio.get_running_loop().call_later))
        cache, count, others = cast(MetadataCache, Cache()), 20 * STEP_PARTITIONS * MOST_STEPS, {"u": [0]}
        wanted = {"t": range(count), **others}
        done = asyncio.ensure_future(wait_for_leaders(waits, cache, wanted, 1000, Turn(clock)))
        await asyncio.sleep(0)
        leader, looks = 1, 0
        waits.check_and_complete("u")
        waits.check_and_complete("t")
        most, before = looks, looks
        for _ in range(30):
            await asyncio.sleep(0)
            most, before = max(most, looks - before), looks
        assert looks == count + 1
        assert most <= STEP_PARTITIONS * MOST_STEPS + 1
        assert done.done() and await done == set()

    asyncio.run(scenario())


def test_looks_at_several_topics_that_go_on_later_have_the_loop_one_at_a_time() -> None:
    async def scenario() -> None:
        looks: Counter[str] = Counter()
        waits: Purgatory[object] = Purgatory("topic", Timers(ManualClock(), asyncio.get_running_loop().call_later))

        def look(topic: str) -> bool | None:
            looks[topic] += 1
            return True if looks[topic] == 5 else None

        waiting: dict[str, IsDone] = {topic: partial(look, topic) for topic in NAMES[:8]}
        done = asyncio.ensure_future(wait_for_topics(waits, waiting, 1000))
        await asyncio.sleep(0)
        turns = 0
        while not done.done():
            waits.check_and_complete(NAMES[0]) if turns == 3 else None
            before = looks.total()
            await asyncio.sleep(0)
            turns += 1
            assert looks.total() - before <= 1
        assert await done == set()
        assert set(looks.values()) == {5}

    asyncio.run(scenario())


def test_a_look_that_goes_on_later_ends_with_the_wait() -> None:
    async def scenario() -> None:
        looks: list[str] = []
        waits: Purgatory[object] = Purgatory("topic", Timers(ManualClock(), asyncio.get_running_loop().call_later))

        def look(topic: str, outcome: bool) -> bool | None:
            looks.append(topic)
            return None if looks.count(topic) < 10 else outcome

        waiting: dict[str, IsDone] = {topic: partial(look, topic, topic == "there") for topic in ("there", "late")}
        done = asyncio.ensure_future(wait_for_topics(waits, waiting, 1000))
        await asyncio.sleep(0)
        assert len(looks) < 10
        waits.close()
        assert looks.count("there") == looks.count("late") == 10, "what is there when the time is over is not late"
        for _ in range(5):
            await asyncio.sleep(0)
        assert len(looks) == 20
        assert await done == {"late"}

    asyncio.run(scenario())


def test_those_that_are_not_done_when_the_wait_ends_are_late() -> None:
    async def scenario() -> None:
        there = {"t0"}
        waits: Purgatory[object] = Purgatory("topic", Timers(ManualClock(), asyncio.get_running_loop().call_later))
        waiting = {name: lambda name=name: name in there for name in NAMES[:3]}
        done = asyncio.ensure_future(wait_for_topics(waits, waiting, 1000))
        await asyncio.sleep(0)
        there.add("t1")
        waits.check_and_complete("t1")
        waits.check_and_complete("t2")  # mentioned, and not done
        waits.close()
        assert await done == {"t2"}

    asyncio.run(scenario())
