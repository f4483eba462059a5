"""Waiting for changes of the metadata cache: what is looked at, how long the loop is held, and what is late."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Hashable
from typing import Any

import pytest

from kafka_py.base.purgatory import Purgatory
from kafka_py.base.steps import SLICE
from kafka_py.base.timers import Timers
from kafka_py.base.turns import TURN_MS, Turn
from kafka_py.broker.metadata.cache_waits import IsDone, wait_until_done
from kafka_py.testing.clock import ManualClock

TIMEOUT_MS = 1000
NAMES = [f"t{number}" for number in range(300)]


class World:
    """there: keys that are done. steps: looks that a key takes, if more than one. looks: in their order."""

    def __init__(self, look_ms: float = 0) -> None:
        self.clock = ManualClock()
        self.waits: Purgatory[Hashable] = Purgatory("topic", Timers(self.clock, self.clock.call_later))
        self.there: set[str] = set()
        self.steps: dict[str, int] = {}
        self.looks: list[str] = []
        self._look_ms = look_ms

    def is_done(self, key: str) -> bool | None:
        self.looks.append(key)
        self.clock.advance(self._look_ms)
        self.steps[key] = left = self.steps.get(key, 1) - 1
        return None if left > 0 else key in self.there

    def wait(self, keys: Collection[str], is_done: IsDone[str] | None = None) -> "asyncio.Task[set[str]]":
        turn = Turn(self.clock)
        return asyncio.ensure_future(wait_until_done(self.waits, keys, is_done or self.is_done, TIMEOUT_MS, turn))

    async def until_looked(self, times: int) -> None:
        for _ in range(100):
            if len(self.looks) < times:
                await asyncio.sleep(0)
        assert len(self.looks) == times

    def take_looks(self) -> list[str]:
        looks, self.looks = self.looks, []
        return looks


async def rest() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Runs it; what the loop reports as an error of a callback fails the test."""

    async def watched() -> None:
        reported: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
        await scenario()
        await rest()
        assert reported == []

    asyncio.run(watched())


def test_a_change_of_one_key_looks_at_that_key_alone() -> None:
    """One UpdateMetadata may mention hundreds of the thousands of topics that a request has created."""

    async def scenario() -> None:
        world = World()
        done = world.wait(NAMES)
        await rest()
        for name in NAMES[:200]:
            world.waits.check_and_complete(name)  # mentioned, but not with all that is waited for
        await rest()
        for name in NAMES:
            world.there.add(name)
            world.waits.check_and_complete(name)
        assert await done == set()
        assert max(Counter(world.looks).values()) <= 3
        assert world.waits.watched == world.waits.delayed == 0

    run(scenario)


def test_a_key_that_is_reported_several_times_is_looked_at_once() -> None:
    async def scenario() -> None:
        world = World()
        done = world.wait(["a", "b"])
        await rest()
        assert world.take_looks() == ["a", "b"]
        for _ in range(3):
            world.waits.check_and_complete("b")
            assert world.looks == [], "the handler of UpdateMetadata looks at nothing"
        await rest()
        assert world.take_looks() == ["b"]
        done.cancel()

    run(scenario)


def test_a_key_of_a_later_operation_that_is_done_for_a_short_time_is_done() -> None:
    async def scenario() -> None:
        world = World()
        done = world.wait(NAMES)
        await rest()
        for name in NAMES[1:]:
            world.there.add(name)
            world.waits.check_and_complete(name)
        await world.until_looked(2 * len(NAMES) - 1)
        world.there.clear()
        world.clock.advance(TIMEOUT_MS)
        assert await done == {NAMES[0]}

    run(scenario)


def test_a_key_that_is_done_may_be_reported_again() -> None:
    async def scenario() -> None:
        world = World()
        done = world.wait(["a", "b"])
        await rest()
        for name in ("a", "a", "b"):
            world.there.add(name)
            world.waits.check_and_complete(name)
            await rest()
        assert await done == set()

    run(scenario)


def test_a_key_that_is_not_done_is_looked_at_when_it_is_reported_and_not_before() -> None:
    async def scenario() -> None:
        world = World()
        world.steps["a"] = 3
        done = world.wait(["a"])
        await rest()
        assert world.take_looks() == ["a"] * 3
        world.clock.advance(TIMEOUT_MS - 1)
        await rest()
        assert world.looks == []
        world.steps["a"] = 2
        world.waits.check_and_complete("a")
        await rest()
        assert world.take_looks() == ["a"] * 2
        done.cancel()

    run(scenario)


def test_a_key_that_is_reported_during_a_look_is_looked_at_again() -> None:
    async def scenario() -> None:
        world = World(look_ms=TURN_MS)
        world.steps["a"] = 3
        done = world.wait(["a", "b"])
        await world.until_looked(1)
        world.waits.check_and_complete("a")
        await rest()
        assert world.take_looks() == ["a", "a", "a", "b", "a"]
        done.cancel()

    run(scenario)


def test_a_key_that_is_reported_during_the_look_that_finds_it_done_is_not_looked_at_again() -> None:
    async def scenario() -> None:
        world = World(look_ms=TURN_MS)
        world.steps["a"] = 3
        world.there.add("a")
        done = world.wait(["a", "b"])
        await world.until_looked(2)
        world.waits.check_and_complete("a")
        await rest()
        assert world.take_looks() == ["a", "a", "a", "b"]
        world.there.add("b")
        world.waits.check_and_complete("b")
        assert await done == set()

    run(scenario)


def test_what_is_in_the_cache_when_the_time_is_over_is_not_late_although_it_has_not_been_reported() -> None:
    async def scenario() -> None:
        world = World()
        done = world.wait(NAMES)
        await rest()
        world.there.update(NAMES[1:])
        world.clock.advance(TIMEOUT_MS + 1)
        assert await done == {NAMES[0]}

    run(scenario)


@pytest.mark.parametrize("steps", [1, 4])
def test_looks_when_the_time_is_over_have_the_loop_one_turn_at_a_time(steps: int) -> None:
    async def scenario() -> None:
        world = World(look_ms=TURN_MS / 2)
        done = world.wait(NAMES[:20])
        await world.until_looked(20)
        world.take_looks()
        world.there.update(NAMES[:10])
        world.steps = dict.fromkeys(NAMES[:20], steps)
        world.clock.advance(TIMEOUT_MS + 1)
        assert world.looks == []
        before = 0
        while not done.done():
            await asyncio.sleep(0)
            assert len(world.looks) - before <= 2
            before = len(world.looks)
        assert await done == set(NAMES[10:20])
        assert Counter(world.looks) == dict.fromkeys(NAMES[:20], steps)

    run(scenario)


def test_a_look_that_the_end_of_the_time_interrupts_continues_and_is_repeated_if_it_fails() -> None:
    async def scenario() -> None:
        world = World(look_ms=TURN_MS)
        world.steps = {"there": 6, "late": 6}
        done = world.wait(["there", "late"])
        await world.until_looked(3)
        world.there.add("there")
        world.clock.advance(TIMEOUT_MS + 1)
        assert await done == {"late"}
        assert Counter(world.take_looks()) == {"there": 6, "late": 6 + 1}
        await rest()
        assert world.looks == []

    run(scenario)


@pytest.mark.parametrize("number_of_look", [1, 2, 3])
def test_a_look_that_raises_fails_the_request(number_of_look: int) -> None:
    """At first, when the key was reported, and when the time is over."""

    async def scenario() -> None:
        world = World()
        looks = 0

        def look(key: str) -> bool:
            nonlocal looks
            looks += key == "faulty"
            if looks == number_of_look:
                raise ValueError("faulty look")
            return False

        done = world.wait(["faulty", *NAMES], look)
        await rest()
        world.waits.check_and_complete("faulty")
        await rest()
        world.clock.advance(TIMEOUT_MS + 1)
        with pytest.raises(ValueError, match="faulty look"):
            await done
        assert world.waits.watched == world.waits.delayed == 0

    run(scenario)


def test_looks_of_several_requests_have_the_loop_one_turn_at_a_time() -> None:
    async def scenario() -> None:
        world = World(look_ms=TURN_MS)
        requests = [world.wait(NAMES[: 2 + number]) for number in range(10)]
        before = 0
        for _ in range(300):
            await asyncio.sleep(0)
            assert len(world.looks) - before <= 1
            before = len(world.looks)
        assert before == sum(2 + number for number in range(10))
        world.there.update(NAMES)
        for name in NAMES:
            world.waits.check_and_complete(name)
        while not all(request.done() for request in requests):
            await asyncio.sleep(0)
            assert len(world.looks) - before <= 1
            before = len(world.looks)
        assert [await request for request in requests] == [set()] * 10

    run(scenario)


class SlowClock(ManualClock):
    """A turn is over whenever it is asked."""

    def monotonic_ms(self) -> float:
        self._monotonic_ms += TURN_MS / 1000
        return super().monotonic_ms()


def test_a_request_begins_to_wait_for_very_many_in_turns() -> None:
    async def scenario() -> None:
        world = World()
        names = [f"t{number}" for number in range(10 * SLICE + 1)]
        turn = Turn(SlowClock(), turn_ms=0)
        done = asyncio.ensure_future(wait_until_done(world.waits, names, world.is_done, TIMEOUT_MS, turn))
        before, most = 0, 0
        while before < len(names):
            await asyncio.sleep(0)
            most, before = max(most, world.waits.watched - before), world.waits.watched
        assert most == SLICE
        world.there.update(names[1:-1])
        world.clock.advance(TIMEOUT_MS + 1)
        assert await done == {names[0], names[-1]}
        assert world.waits.watched == world.waits.delayed == 0

    run(scenario)


def test_a_request_leaves_the_purgatory_in_the_pieces_in_which_it_entered_it() -> None:
    async def scenario() -> None:
        world = World()
        names = [f"t{number}" for number in range(2 * SLICE)]
        world.there.update(names[:SLICE])
        done = world.wait(names)
        await rest()
        assert world.waits.watched == SLICE
        done.cancel()

    run(scenario)


def test_a_request_that_is_cancelled_waits_no_longer() -> None:
    async def scenario() -> None:
        world = World()
        names = [f"t{number}" for number in range(2 * SLICE)]
        done = world.wait(names)
        await rest()
        assert world.waits.delayed == 2
        done.cancel()
        await rest()
        assert world.waits.watched == world.waits.delayed == 0
        world.take_looks()
        world.waits.check_and_complete("t0")
        world.clock.advance(TIMEOUT_MS + 1)
        await rest()
        assert world.looks == []

    run(scenario)


def test_when_the_purgatory_is_closed_those_that_are_not_done_are_late() -> None:
    async def scenario() -> None:
        world = World()
        world.there.add("t0")
        done = world.wait(NAMES[:3])
        await rest()
        world.there.add("t1")
        world.waits.close()
        assert await done == {"t2"}
        assert await world.wait([]) == set()

    run(scenario)
