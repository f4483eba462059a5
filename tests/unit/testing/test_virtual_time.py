"""The loop whose clock jumps ends what would never end, and says what it was."""

import asyncio
import itertools
import os

import pytest

from kafka_py.testing import virtual_time
from kafka_py.testing.virtual_time import Busy, Stuck, VirtualLoop, run_virtual


async def spin(pause_s=0):
    for _ in itertools.count():
        await asyncio.sleep(pause_s)


def test_hours_pass_at_once():
    async def wait():
        await asyncio.sleep(7200)
        return asyncio.get_running_loop().time()

    assert run_virtual(wait()) == 7200


def test_a_wait_for_what_cannot_happen_is_refused():
    async def wait():
        await asyncio.get_running_loop().create_future()

    with pytest.raises(Stuck):
        run_virtual(wait())


def test_a_task_that_never_lets_time_pass_is_named(monkeypatch):
    monkeypatch.setattr(virtual_time, "MOST_TURNS_AT_ONCE", 500)
    with pytest.raises(Busy, match=r"501 turns while it was 0\.000 s(.|\n)*1 times .*spin"):
        run_virtual(spin())


@pytest.mark.parametrize("delay_s", [None, 0.0])
def test_a_callback_that_posts_itself_again_is_named(monkeypatch, delay_s):
    monkeypatch.setattr(virtual_time, "MOST_TURNS_AT_ONCE", 500)

    def post_again():
        loop = asyncio.get_running_loop()
        loop.call_soon(post_again) if delay_s is None else loop.call_later(delay_s, post_again)

    async def wait():
        post_again()
        await asyncio.sleep(1)

    with pytest.raises(Busy, match="post_again"):
        run_virtual(wait())


def test_a_descriptor_that_nobody_reads_is_named(monkeypatch):
    monkeypatch.setattr(virtual_time, "MOST_TURNS_AT_ONCE", 500)
    descriptor = os.eventfd(1)

    def ignore_it():
        pass

    async def wait():
        asyncio.get_running_loop().add_reader(descriptor, ignore_it)
        await asyncio.sleep(1)

    try:
        with pytest.raises(Busy, match="ignore_it"):
            run_virtual(wait())
    finally:
        os.close(descriptor)


def test_progress_of_time_allows_for_more_turns(monkeypatch):
    monkeypatch.setattr(virtual_time, "MOST_TURNS_AT_ONCE", 500)

    async def step():
        for _ in range(20):
            for _ in range(200):
                await asyncio.sleep(0)
            await asyncio.sleep(0.001)

    run_virtual(step())


def test_the_turns_of_a_whole_life_can_be_limited():
    loop = VirtualLoop()
    loop.limit_turns(1000)

    try:
        with pytest.raises(Busy, match=r"1001 turns in 0\.[0-9]+ s"):
            loop.run_until_complete(spin(0.001))
        assert loop.turns < 1000
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
