"""Work in turns: how long one turn is, and what comes of the whole."""

import asyncio
from collections.abc import Generator
from itertools import pairwise
from typing import Any

import pytest

from kafka_py.base.turns import (
    SHARERS,
    TURN_MS,
    Done,
    Turn,
    finish,
    in_turns,
    next_turn,
    release,
    run_turn,
    sliced,
    take_in_turns,
)
from kafka_py.testing.clock import ManualClock


def counting(clock: ManualClock, steps: int, step_ms: float) -> Generator[None, None, int]:
    """Takes so long for each step, and returns their number."""
    for _ in range(steps):
        clock.advance(step_ms)
        yield
    return steps


def test_a_turn_ends_when_its_time_is_over() -> None:
    clock = ManualClock()
    steps = counting(clock, 7, TURN_MS / 3)
    begun_ms = clock.monotonic_ms()
    assert run_turn(steps, clock.monotonic_ms) is None
    assert clock.monotonic_ms() - begun_ms == pytest.approx(TURN_MS)
    assert run_turn(steps, clock.monotonic_ms) is None
    assert run_turn(steps, clock.monotonic_ms) == Done(7)


def test_what_fails_raises_from_its_turn() -> None:
    def failing() -> Generator[None, None, None]:
        yield
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run_turn(failing(), ManualClock().monotonic_ms)


def test_others_have_the_loop_between_turns() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        seen = []
        asyncio.get_running_loop().call_soon(seen.append, "another")
        assert await finish(counting(clock, 2, TURN_MS / 3), clock.monotonic_ms) == 2
        assert seen == []  # it was through within its turn
        assert await finish(counting(clock, 4, TURN_MS / 3), clock.monotonic_ms) == 4
        assert seen == ["another"]
        turn = Turn(clock)
        asyncio.get_running_loop().call_soon(seen.append, "a third")
        await turn.maybe_yield()
        assert seen == ["another"]
        clock.advance(TURN_MS)
        await turn.maybe_yield()
        assert seen == ["another", "a third"]

    asyncio.run(scenario())


def test_a_turn_may_be_shorter() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        seen = []
        turn = Turn(clock, TURN_MS * 0.75)
        asyncio.get_running_loop().call_soon(seen.append, "another")
        clock.advance(TURN_MS / 2)
        await turn.maybe_yield()
        assert seen == []
        clock.advance(TURN_MS / 4)
        await turn.maybe_yield()
        assert seen == ["another"]

    asyncio.run(scenario())


def test_after_a_long_wait_a_turn_is_as_long_as_any() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        turn, seen = Turn(clock), list[str]()
        clock.advance(10 * TURN_MS)
        await turn.maybe_yield()
        asyncio.get_running_loop().call_soon(seen.append, "another")
        clock.advance(TURN_MS * 0.75)
        await turn.maybe_yield()
        assert seen == []
        clock.advance(TURN_MS * 0.25)
        await turn.maybe_yield()
        assert seen == ["another"]

    asyncio.run(scenario())


def test_a_generator_is_taken_to_its_end_and_others_have_the_loop_meanwhile() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        seen: list[object] = []

        def steps() -> Generator[str, None, None]:
            for number in range(4):
                clock.advance(TURN_MS / 2)
                seen.append(number)
                yield "this means nothing"

        asyncio.get_running_loop().call_soon(seen.append, "another")
        await take_in_turns(steps(), Turn(clock))
        assert seen == [0, 1, "another", 2, 3]

    asyncio.run(scenario())


def test_of_many_whose_turn_is_over_one_goes_on_at_a_time() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        in_one_turn = []

        async def work() -> None:
            turn = Turn(clock)
            for _ in range(3):
                clock.advance(TURN_MS)
                await turn.maybe_yield()
                in_one_turn[-1] += 1

        working = [asyncio.create_task(work()) for _ in range(20)]
        while not all(task.done() for task in working):
            in_one_turn.append(0)
            await asyncio.sleep(0)
        assert sum(in_one_turn) == 60
        assert max(in_one_turn) == 1

    asyncio.run(scenario())


def test_who_no_longer_waits_for_a_turn_costs_the_others_none() -> None:
    async def scenario() -> None:
        seen = []

        async def work(name: str) -> None:
            await next_turn()
            seen.append(name)

        first, *_ = working = [asyncio.create_task(work(name)) for name in "abc"]
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(*working, return_exceptions=True)
        assert seen == ["b", "c"]

    asyncio.run(scenario())


def test_who_no_longer_waits_delays_the_others_by_no_turn_of_the_loop() -> None:
    async def turns_until_the_last(count: int, cancelled: int) -> int:
        turns = 0
        working = [asyncio.create_task(next_turn()) for _ in range(count)]
        await asyncio.sleep(0)
        for task in working[:cancelled]:
            task.cancel()
        while not working[-1].done():
            turns += 1
            await asyncio.sleep(0)
        return turns

    async def scenario() -> None:
        assert await turns_until_the_last(4, cancelled=3) == await turns_until_the_last(1, cancelled=0)

    asyncio.run(scenario())


def test_very_many_that_share_a_turn_are_resumed_some_at_a_time() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        turn, in_one_turn = Turn(clock), list[int]()

        async def work() -> None:
            await turn.maybe_yield()
            in_one_turn[-1] += 1

        clock.advance(TURN_MS)
        working = [asyncio.create_task(work()) for _ in range(3 * SHARERS)]
        another = asyncio.create_task(next_turn())
        while not all(task.done() for task in working):
            in_one_turn.append(0)
            await asyncio.sleep(0)
            assert sum(in_one_turn) <= SHARERS or another.done()
        assert [count for count in in_one_turn if count] == [SHARERS] * 3

    asyncio.run(scenario())


def test_however_many_share_a_turn_they_have_one_place_among_the_others() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        turns, had_one = 0, list[int]()
        shared, own = Turn(clock), Turn(clock)

        async def work() -> None:
            await shared.maybe_yield()
            clock.advance(TURN_MS)

        async def other_work() -> None:
            for _ in range(20):
                await own.maybe_yield()
                clock.advance(TURN_MS)
                had_one.append(turns)

        clock.advance(TURN_MS)
        working = [asyncio.create_task(work()) for _ in range(5 * SHARERS)]
        another = asyncio.create_task(other_work())
        while not another.done():
            turns += 1
            await asyncio.sleep(0)
        assert max(later - earlier for earlier, later in pairwise(had_one)) == 2
        await asyncio.gather(*working)

    asyncio.run(scenario())


@pytest.mark.parametrize("count", [SHARERS, SHARERS + 1, 3 * SHARERS])
def test_however_many_share_a_turn_each_admission_is_of_use_and_none_has_a_second_part_before_all_had_one(
    count: int,
) -> None:
    async def scenario() -> None:
        clock = ManualClock()
        turn, seen, turns = Turn(clock), list[int](), 0

        async def work(number: int) -> None:
            for _ in range(2):
                await turn.maybe_yield()
                clock.advance(TURN_MS)
                seen.append(number)

        clock.advance(TURN_MS)
        working = [asyncio.create_task(work(number)) for number in range(count)]
        while not all(task.done() for task in working):
            turns += 1
            await asyncio.sleep(0)
        assert sorted(seen[:count]) == list(range(count))
        assert turns <= 4 * count + 2

    asyncio.run(scenario())


def test_tasks_that_share_a_turn_hold_the_loop_no_longer_than_one() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        turn = Turn(clock)
        busy_ms = []

        async def work() -> None:
            for _ in range(10):
                await turn.maybe_yield()
                clock.advance(TURN_MS / 2)

        working = [asyncio.create_task(work()) for _ in range(20)]
        while not all(task.done() for task in working):
            begun_ms = clock.monotonic_ms()
            await asyncio.sleep(0)
            busy_ms.append(clock.monotonic_ms() - begun_ms)
        assert sum(busy_ms) == 100 * TURN_MS
        assert max(busy_ms) <= TURN_MS

    asyncio.run(scenario())


def test_tasks_that_share_a_turn_and_wait_together_go_on_together() -> None:
    """Admitted one by one, each would have a turn of the loop to itself, however little it does in it."""

    async def scenario() -> None:
        clock = ManualClock()
        turn = Turn(clock)
        in_one_turn = []

        async def work() -> None:
            await turn.maybe_yield()
            clock.advance(TURN_MS / 4)
            in_one_turn[-1] += 1

        clock.advance(TURN_MS)
        working = [asyncio.create_task(work()) for _ in range(20)]
        another = asyncio.create_task(next_turn())
        while not all(task.done() for task in working):
            in_one_turn.append(0)
            await asyncio.sleep(0)
        assert max(in_one_turn) == 4
        assert len([worked for worked in in_one_turn if worked]) == 5
        assert another.done()

    asyncio.run(scenario())


def test_tasks_that_share_a_turn_and_each_take_all_of_it_alternate() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        turn = Turn(clock)
        seen = []

        async def work(name: str) -> None:
            for _ in range(4):
                await turn.maybe_yield()
                clock.advance(TURN_MS)
                seen.append(name)

        await asyncio.gather(*map(work, "abc"))
        assert "".join(seen[1:10]) == "abc" * 3

    asyncio.run(scenario())


def test_who_has_found_a_shared_turn_over_comes_before_those_that_had_it() -> None:
    """Those may wait for something else in between and then come first, time and again."""

    async def scenario() -> None:
        clock = ManualClock()
        turn = Turn(clock)
        seen = []

        async def work(name: str, steps: int) -> None:
            for _ in range(steps):
                await turn.maybe_yield()
                clock.advance(TURN_MS)
                seen.append(name)
                await asyncio.sleep(0)

        others = [asyncio.create_task(next_turn()) for _ in range(5)]
        clock.advance(TURN_MS)
        await asyncio.gather(work("x", 30), work("c", 3), *others)
        assert "".join(seen).startswith("xcxcxc")

    asyncio.run(scenario())


@pytest.mark.parametrize("callbacks", range(8))
def test_who_comes_to_wait_for_a_shared_turn_at_any_moment_has_one_of_the_next(callbacks: int) -> None:
    """Also between the admission of others and when they go on, as after a reply of ZooKeeper."""

    async def scenario() -> None:
        clock = ManualClock()
        turn, pieces, pieces_before = Turn(clock), 0, list[int]()

        async def work() -> None:
            nonlocal pieces
            for _ in range(100):
                await turn.maybe_yield()
                clock.advance(TURN_MS)
                pieces += 1

        async def come() -> None:
            await reply
            before = pieces
            await turn.maybe_yield()
            pieces_before.append(pieces - before)

        reply = asyncio.get_running_loop().create_future()
        late = asyncio.create_task(come())
        await asyncio.sleep(0)
        clock.advance(TURN_MS)
        working = asyncio.create_task(work())
        for _ in range(callbacks):
            await asyncio.sleep(0)
        reply.set_result(None)
        await asyncio.gather(late, working)
        assert pieces_before[0] <= 2

    asyncio.run(scenario())


def test_of_very_many_that_share_a_turn_each_has_its_part() -> None:
    """Those for whom there was no room do not come before those that were resumed and found the turn over."""

    async def scenario() -> None:
        clock = ManualClock()
        turn = Turn(clock)
        pieces = [0] * (SHARERS + 1)

        async def work(number: int) -> None:
            for _ in range(3):
                await turn.maybe_yield()
                clock.advance(TURN_MS)
                pieces[number] += 1

        working = [asyncio.create_task(work(number)) for number in range(len(pieces))]
        while not all(task.done() for task in working):
            await asyncio.sleep(0)
            assert max(pieces) - min(pieces) <= 2

    asyncio.run(scenario())


def test_a_turn_whose_tasks_have_all_been_cancelled_begins_for_the_next_one() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        turn = Turn(clock)
        clock.advance(TURN_MS)
        cancelled = asyncio.create_task(turn.maybe_yield())
        await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.gather(cancelled, return_exceptions=True)
        await asyncio.wait_for(turn.maybe_yield(), 10)
        clock.advance(TURN_MS)
        seen: list[str] = []
        asyncio.get_running_loop().call_soon(seen.append, "another")
        await asyncio.wait_for(turn.maybe_yield(), 10)
        assert seen == ["another"]

    asyncio.run(scenario())


def test_a_generator_is_driven_in_the_turn_that_others_share() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        turn = Turn(clock)
        busy_ms = []
        working = [asyncio.create_task(turn.finish(counting(clock, steps, TURN_MS / 4))) for steps in (5, 0, 7)]
        while not all(task.done() for task in working):
            begun_ms = clock.monotonic_ms()
            await asyncio.sleep(0)
            busy_ms.append(clock.monotonic_ms() - begun_ms)
        assert [await task for task in working] == [5, 0, 7]
        assert sum(busy_ms) == 3 * TURN_MS
        assert max(busy_ms) <= TURN_MS

    asyncio.run(scenario())


def test_where_no_one_waits_for_a_turn_the_loop_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        await next_turn()
        await asyncio.sleep(0)
        loop, calls = asyncio.get_running_loop(), list[Any]()
        call_soon = loop.call_soon

        def noted(*given: Any, **named: Any) -> Any:
            calls.append(given)
            return call_soon(*given, **named)

        monkeypatch.setattr(loop, "call_soon", noted)
        for _ in range(5):
            await asyncio.sleep(0)
        assert calls  # of this task
        assert not [call for call in calls if "_admit" in repr(call)]

    asyncio.run(scenario())


def test_of_tasks_that_share_a_turn_only_one_need_still_be_waiting() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        turn = Turn(clock)
        clock.advance(TURN_MS)
        first, second = working = [asyncio.create_task(turn.maybe_yield()) for _ in range(2)]
        another = asyncio.create_task(next_turn())
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait_for(asyncio.gather(*working, another, return_exceptions=True), 10)
        assert first.cancelled()
        assert second.exception() is None

    asyncio.run(scenario())


def test_steps_without_a_clock_are_a_turn_each_and_one_of_many_goes_on_at_a_time() -> None:
    seen: list[tuple[str, int]] = []

    def steps(name: str) -> Generator[None, None, str]:
        for number in range(3):
            seen.append((name, number))
            yield
        return name

    def failing() -> Generator[None, None, None]:
        yield
        raise ValueError

    async def scenario() -> None:
        many = asyncio.gather(in_turns(steps("a")), in_turns(steps("b")))
        passed = 0
        while not many.done():
            await asyncio.sleep(0)
            passed += 1
        assert await many == ["a", "b"]
        assert seen == [(name, number) for number in range(3) for name in "ab"]
        assert passed >= len(seen)
        with pytest.raises(ValueError):
            await in_turns(failing())

    asyncio.run(scenario())


def test_a_large_collection_comes_in_slices_with_a_stop_between() -> None:
    async def scenario() -> None:
        seen: list[Any] = []
        asyncio.get_running_loop().call_soon(seen.append, "another")
        async for some in sliced({"a": 1, "b": 2}.items(), 2):
            seen.append(some)
        async for some in sliced([], 2):
            seen.append(some)
        assert seen == [[("a", 1), ("b", 2)]]  # no stop
        async for numbers in sliced(range(5), 2):
            seen.append(numbers)
        assert seen[1:] == [[0, 1], "another", [2, 3], [4]]

    asyncio.run(scenario())


def test_many_values_are_freed_in_turns() -> None:
    async def scenario() -> None:
        many = list(range(1000))
        task = asyncio.ensure_future(release(many))
        await asyncio.sleep(0)
        assert 0 < len(many) < 1000
        await task
        assert many == []

    asyncio.run(scenario())
