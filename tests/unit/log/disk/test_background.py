"""Work off the loop: inline for tests, in threads with the answer on the loop."""

import asyncio
import threading
from concurrent.futures import Executor, ThreadPoolExecutor

from kafka_py.log.disk.background import InlineBackground, ThreadBackground
from kafka_py.log.disk.background_file import BackgroundFile


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


class Deferred:
    """Jobs that run when the test says so."""

    def __init__(self) -> None:
        self.jobs = []

    def run(self, work, done=None, failed=None):
        def job():
            try:
                result = work()
            except OSError as error:
                failed(error)
            else:
                done(result)

        self.jobs.append(job)

    def run_one(self):
        self.jobs.pop(0)()


class TestAFileThatCannotBeWritten:
    def scene(self):
        background, written, errors = Deferred(), [], []
        broken = [True]

        def replace(data):
            if broken[0]:
                raise OSError(24, "Too many open files")
            written.append(data)

        return BackgroundFile(replace, background, errors.append), background, written, errors, broken

    def test_what_came_meanwhile_is_written_though_the_write_before_it_failed(self):
        file, background, written, errors, broken = self.scene()
        file.save(b"old")
        file.save(b"new")
        background.run_one()
        broken[0] = False
        background.run_one()
        assert (written, len(errors)) == ([b"new"], 1)
        assert file.is_saved

    def test_another_attempt_is_made_only_where_one_failed(self):
        file, background, written, _, broken = self.scene()
        assert not file.save_again()
        file.save(b"data")
        assert not file.save_again()  # one is under way
        background.run_one()
        assert not file.is_saved
        broken[0] = False
        assert file.save_again()
        background.run_one()
        assert written == [b"data"]
        assert file.is_saved
        assert not file.save_again()

    def test_a_write_that_begins_late_does_not_bring_back_what_was_replaced_meanwhile(self):
        file, background, written, _, broken = self.scene()
        broken[0] = False
        file.save(b"first")
        file.save_now(b"second")
        file.save(b"third")
        background.run_one()
        assert written == [b"second", b"third"]

    def test_the_next_save_tries_again_what_no_thread_took(self):
        written, errors, pool = [], [], NoThread()
        background = ThreadBackground(pool, lambda work, *arguments: work(*arguments))
        file = BackgroundFile(written.append, background, errors.append)
        file.save(b"first")
        assert not file.is_saved and len(errors) == 1
        pool.has_threads = True
        file.save(b"second")
        assert written == [b"second"] and file.is_saved


class NoThread(Executor):
    """A pool that keeps what it refuses in its queue, as ThreadPoolExecutor does when it cannot start a thread."""

    def __init__(self):
        self.has_threads = False
        self.queue = []

    def submit(self, work):
        self.queue.append(work)
        if not self.has_threads:
            raise RuntimeError("can't start new thread")
        while self.queue:
            self.queue.pop(0)()


def test_what_was_refused_never_runs():
    """Its caller may have begun something else instead."""
    pool = NoThread()
    background = ThreadBackground(pool, lambda work, *arguments: work(*arguments))
    seen = []
    ran = []
    background.run(lambda: ran.append(1), None, seen.append)
    assert len(seen) == 1
    pool.has_threads = True
    background.run(lambda: ran.append(2))
    assert ran == [2] and len(seen) == 1
