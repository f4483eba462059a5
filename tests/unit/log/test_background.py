"""Work off the loop: inline for tests, in threads with the answer on the loop."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from kafka_py.log.background import InlineBackground, ThreadBackground


def fails():
    raise OSError("no")


def test_inline_runs_and_answers_at_once():
    seen = []
    background = InlineBackground()
    background.run(lambda: 5, seen.append)
    background.run(fails, seen.append, lambda error: seen.append(str(error)))
    background.run(fails)
    assert seen == [5, "no"]


def test_threads_answer_on_the_loop():
    async def main():
        loop = asyncio.get_running_loop()
        seen = loop.create_future()
        failed = loop.create_future()
        with ThreadPoolExecutor(1) as pool:
            background = ThreadBackground(pool, loop.call_soon_threadsafe)
            background.run(threading.get_ident, lambda ident: seen.set_result((ident, threading.get_ident())))
            background.run(fails, None, failed.set_result)
            worker, answered_in = await seen
            assert worker != threading.get_ident() == answered_in
            assert str(await failed) == "no"

    asyncio.run(main())


def test_an_answer_after_the_loop_is_lost_quietly():
    loop = asyncio.new_event_loop()
    loop.close()
    pool = ThreadPoolExecutor(1)
    ThreadBackground(pool, loop.call_soon_threadsafe).run(lambda: 1, lambda result: None)
    pool.shutdown(wait=True)
