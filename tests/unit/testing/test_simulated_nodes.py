"""Nodes of a simulation: killed, paused and resumed while others go on."""

import asyncio

import pytest

from kafka_py.testing.simulation.nodes import InlineExecutor, NodeLoop


@pytest.fixture
def loop():
    loop = NodeLoop()
    loop.set_exception_handler(lambda *_: None)
    yield loop
    loop.close()


async def count(ticks, every_s=1.0):
    while True:
        await asyncio.sleep(every_s)
        ticks.append(asyncio.get_running_loop().time())


def test_a_killed_node_does_nothing_more_and_others_go_on(loop):
    async def scenario():
        one, other = loop.node("one"), loop.node("other")
        ticks, others = [], []
        tasks = [one.run(count(ticks)), other.run(count(others))]
        await asyncio.sleep(3.5)
        one.kill()
        await asyncio.sleep(3)
        tasks[1].cancel()
        return len(ticks), len(others)

    assert loop.run_until_complete(scenario()) == (3, 6)


def test_a_paused_node_catches_up_when_it_is_resumed(loop):
    async def scenario():
        node = loop.node("one")
        ticks = []
        task = node.run(count(ticks))
        await asyncio.sleep(1.5)
        node.pause()
        await asyncio.sleep(5)
        assert len(ticks) == 1
        node.resume()
        await asyncio.sleep(0.2)
        task.cancel()
        return ticks

    assert loop.run_until_complete(scenario()) == [pytest.approx(1.0), pytest.approx(6.5)]


def test_a_timer_that_is_cancelled_while_its_node_catches_up_does_not_fire(loop):
    """Both come due in the pause; the first one cancels the second, as it would in a process that was stopped."""

    async def scenario():
        node = loop.node("one")
        fired = []

        async def begin():
            second = loop.call_later(2, fired.append, "second")
            loop.call_later(1, lambda: (fired.append("first"), second.cancel()))

        await node.run(begin())
        node.pause()
        await asyncio.sleep(5)
        node.resume()
        await asyncio.sleep(1)
        return fired

    assert loop.run_until_complete(scenario()) == ["first"]


def test_work_for_threads_is_done_at_once(loop):
    async def scenario():
        before = loop.time()
        result = await loop.run_in_executor(InlineExecutor(), lambda: 7)
        return result, loop.time() - before

    assert loop.run_until_complete(scenario()) == (7, 0)
