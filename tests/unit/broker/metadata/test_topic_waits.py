"""Waiting for topics: what it costs when a request waits for very many, and what is late in the end."""

import asyncio
from collections import Counter

from kafka_py.base.purgatory import Purgatory
from kafka_py.base.timers import Timers
from kafka_py.broker.metadata.topic_waits import wait_for_topics
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
