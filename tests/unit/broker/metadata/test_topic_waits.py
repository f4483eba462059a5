"""Waiting for topics: which partitions are looked at, and how many of them in one turn."""

import asyncio
from collections.abc import Hashable, Iterator, Mapping
from types import SimpleNamespace
from typing import cast

from kafka_py.base.ids import NO_LEADER
from kafka_py.base.purgatory import Purgatory
from kafka_py.base.steps import SLICE
from kafka_py.base.timers import Timers
from kafka_py.base.turns import TURN_MS, Turn
from kafka_py.broker.metadata.metadata_cache import MetadataCache
from kafka_py.broker.metadata.topic_waits import STEP_PARTITIONS, LeaderWait, wait_for_leaders, wait_for_topics
from kafka_py.testing.clock import ManualClock


class Leaders(Mapping[int, SimpleNamespace]):
    """Partitions of a topic, whose leaders a test may change. looks: partitions that were read, in their order."""

    def __init__(self, clock: ManualClock, look_ms: float = 0) -> None:
        self.leaders: dict[int, int] = {}
        self.looks: list[int] = []
        self._clock = clock
        self._look_ms = look_ms

    def __getitem__(self, partition: int) -> SimpleNamespace:
        self.looks.append(partition)
        self._clock.advance(self._look_ms)
        return SimpleNamespace(leader=self.leaders[partition])

    def __iter__(self) -> Iterator[int]:
        return iter(self.leaders)

    def __len__(self) -> int:
        return len(self.leaders)


def cache_of(topics: Mapping[str, Leaders]) -> MetadataCache:
    return cast(MetadataCache, SimpleNamespace(partitions_of=topics.__getitem__))


def purgatory(clock: ManualClock) -> Purgatory[Hashable]:
    return Purgatory("topic", Timers(clock, clock.call_later))


def test_partitions_that_have_had_a_leader_are_not_looked_at_again() -> None:
    topic = Leaders(ManualClock())
    topic.leaders = {0: 1, 1: 1, 2: NO_LEADER}
    is_done = LeaderWait(cache_of({"t": topic}), "t", range(4)).is_done
    assert topic.looks == []
    assert is_done() is False
    topic.leaders[2] = 5
    topic.leaders[0] = NO_LEADER
    assert is_done() is False
    topic.leaders[3] = 0
    assert is_done() is True
    assert is_done() is True
    assert topic.looks == [0, 1, 2, 2, 3, 3]
    assert LeaderWait(cache_of({"t": topic}), "t", []).is_done() is True


def test_one_look_is_at_so_many_partitions_and_the_next_one_continues_there() -> None:
    topic = Leaders(ManualClock())
    topic.leaders = dict.fromkeys(range(STEP_PARTITIONS + 1), 1)
    is_done = LeaderWait(cache_of({"t": topic}), "t", range(STEP_PARTITIONS + 1)).is_done
    assert is_done() is None
    assert len(topic.looks) == STEP_PARTITIONS
    assert is_done() is True
    assert topic.looks == list(range(STEP_PARTITIONS + 1))
    assert LeaderWait(cache_of({"t": topic}), "t", range(STEP_PARTITIONS)).is_done() is True


def test_when_the_leaders_of_very_many_partitions_come_at_once_others_have_the_loop_meanwhile() -> None:
    async def scenario() -> None:
        clock, count = ManualClock(), 80 * STEP_PARTITIONS
        topics = {name: Leaders(clock, TURN_MS / STEP_PARTITIONS / 2) for name in "tu"}
        waits = purgatory(clock)
        wanted = {"t": range(count), "u": range(count)}
        requests = [
            asyncio.ensure_future(wait_for_leaders(waits, cache_of(topics), {name: some}, 60_000, Turn(clock)))
            for name, some in wanted.items()
        ]
        for _ in range(10):
            await asyncio.sleep(0)
        for name, topic in topics.items():
            topic.leaders = dict.fromkeys(range(count), 1)
            topic.looks.clear()
            waits.check_and_complete(name)
        before = most = 0
        while not all(request.done() for request in requests):
            await asyncio.sleep(0)
            looks = sum(len(topic.looks) for topic in topics.values())
            most, before = max(most, looks - before), looks
        assert before == 2 * count
        assert most <= 3 * STEP_PARTITIONS, "those of one request: a turn, and the look with which it ends"
        assert [await request for request in requests] == [set(), set()]

    asyncio.run(scenario())


def test_topics_whose_partitions_lack_a_leader_in_the_end_are_late() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        topics = {name: Leaders(clock) for name in "abc"}
        topics["a"].leaders = {0: 1}
        waits, wanted = purgatory(clock), {name: [0] for name in topics}
        done = asyncio.ensure_future(wait_for_leaders(waits, cache_of(topics), wanted, 1000, Turn(clock)))
        for _ in range(10):
            await asyncio.sleep(0)
        topics["b"].leaders = {0: 1}
        clock.advance(1001)
        assert await done == {"c"}
        assert topics["a"].looks == [0]

    asyncio.run(scenario())


def test_without_a_time_out_all_topics_are_late_and_none_is_looked_at() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        topic, turn = Leaders(clock), Turn(clock)
        topic.leaders = {0: 1}
        waits = purgatory(clock)
        for timeout_ms in (0, -1):
            assert await wait_for_leaders(waits, cache_of({"t": topic}), {"t": [0]}, timeout_ms, turn) == {"t"}
            assert await wait_for_topics(waits, ["t"], lambda _: True, timeout_ms, turn) == {"t"}
        assert topic.looks == []

    asyncio.run(scenario())


def test_without_time_to_wait_all_topics_are_late_however_many() -> None:
    async def main() -> None:
        clock = ManualClock()
        topics = [f"t{number}" for number in range(2 * SLICE + 1)]
        found = await wait_for_topics(purgatory(clock), topics, lambda _: True, 0, Turn(clock))
        assert found == set(topics)

    asyncio.run(main())
