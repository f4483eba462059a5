"""Background work under a supervisor: one failure is reported with its traceback and harms nothing else."""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable

import pytest

from kafka_py.base.supervision import NEVER, AwaitedWasCancelled, Backoff, Supervisor
from kafka_py.base.timers import Timers
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.virtual_time import VirtualClock, run_virtual, virtual_clock


def run(scene: Callable[[VirtualClock], Awaitable[None]]) -> None:
    async def main() -> None:
        await scene(virtual_clock())

    run_virtual(main())


def failures_with_traceback(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.exc_info and record.exc_info[2]]


class TestTasks:
    def test_a_failure_is_logged_with_its_traceback_counted_and_handed_on(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def fail() -> None:
            raise KeyError("unforeseen")

        async def scene(clock: VirtualClock) -> None:
            supervisor, seen = Supervisor(clock), list[BaseException]()
            supervisor.spawn(fail(), "checkpoint", "t-0", on_failure=seen.append)
            await asyncio.sleep(1)
            assert supervisor.failures == {"checkpoint": 1}
            assert [type(error) for error in seen] == [KeyError]

        run(scene)
        assert failures_with_traceback(caplog) == ["checkpoint: t-0 failed"]

    def test_an_on_failure_that_fails_is_reported_too(self, caplog: pytest.LogCaptureFixture) -> None:
        async def fail() -> None:
            raise KeyError("unforeseen")

        def fail_again(_error: BaseException) -> None:
            raise RuntimeError("nor this")

        async def scene(clock: VirtualClock) -> None:
            supervisor = Supervisor(clock)
            supervisor.spawn(fail(), "checkpoint", on_failure=fail_again)
            await asyncio.sleep(1)
            assert supervisor.failures == {"checkpoint": 2}

        run(scene)

    def test_whoever_awaits_a_task_gets_what_it_returned_or_raised(self) -> None:
        async def seven() -> int:
            return 7

        async def fail() -> None:
            raise KeyError("unforeseen")

        async def scene(clock: VirtualClock) -> None:
            supervisor = Supervisor(clock)
            assert await supervisor.spawn(seven(), "sums") == 7
            with pytest.raises(KeyError):
                await supervisor.spawn(fail(), "sums")

        run(scene)

    def test_a_cancelled_task_says_nothing_but_one_whose_work_was_cancelled_by_another_does(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def scene(clock: VirtualClock) -> None:
            supervisor = Supervisor(clock)
            loop = asyncio.get_running_loop()
            supervisor.spawn(asyncio.sleep(3600), "sleep").cancel()
            await asyncio.sleep(1)
            assert not supervisor.failures

            async def wait_for(future: asyncio.Future[None]) -> None:
                await future

            shared: asyncio.Future[None] = loop.create_future()
            supervisor.spawn(wait_for(shared), "wait")
            await asyncio.sleep(1)
            shared.cancel()
            await asyncio.sleep(1)
            assert supervisor.failures == {"wait": 1}

        run(scene)

    def test_close_ends_every_task_and_returns_when_they_have_ended(self) -> None:
        ended = []

        async def stay(name: str) -> None:
            try:
                await asyncio.sleep(3600)
            finally:
                await asyncio.sleep(2)
                ended.append(name)

        async def scene(clock: VirtualClock) -> None:
            supervisor = Supervisor(clock)
            for name in ("a", "b"):
                supervisor.spawn(stay(name), "stay")
            await asyncio.sleep(1)
            await supervisor.close()
            assert sorted(ended) == ["a", "b"]

        run(scene)


    def test_a_child_ends_its_own_tasks_alone_and_counts_with_its_parent(self) -> None:
        async def fail() -> None:
            raise KeyError("unforeseen")

        async def scene(clock: VirtualClock) -> None:
            parent = Supervisor(clock)
            child = parent.child()
            other = parent.spawn(asyncio.sleep(3600), "stay")
            short = child.spawn(asyncio.sleep(5), "stay")
            child.spawn(fail(), "checkpoint")
            await child.drain()
            assert short.done()
            long = child.spawn(asyncio.sleep(3600), "stay")
            await child.close()
            assert long.cancelled()
            assert not other.done()
            assert parent.failures == {"checkpoint": 1}
            await parent.close()

        run(scene)


class TestLoops:
    def test_a_step_that_raises_is_reported_and_the_next_one_waits_longer_each_time(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def scene(clock: VirtualClock) -> None:
            supervisor = Supervisor(clock)
            begun: list[float] = []
            put_in_order: list[Exception] = []

            async def step() -> None:
                begun.append(clock.monotonic_ms())
                if len(begun) <= 4:
                    raise ZeroDivisionError
                await asyncio.sleep(1)

            start = clock.monotonic_ms()
            supervisor.loop(
                step, "fetcher", "1 of broker 2", on_failure=put_in_order.append, backoff=Backoff(100.0, 300.0)
            )
            await asyncio.sleep(3)
            assert [round(at - start) for at in begun] == [0, 100, 300, 600, 900, 1900, 2900]
            assert supervisor.failures == {"fetcher": 4}
            assert len(put_in_order) == 4
            await supervisor.close()

        run(scene)
        assert failures_with_traceback(caplog) == ["fetcher: 1 of broker 2 failed"] * 4

    def test_a_success_makes_the_next_wait_short_again(self) -> None:
        async def scene(clock: VirtualClock) -> None:
            supervisor = Supervisor(clock)
            begun: list[float] = []

            async def step() -> None:
                begun.append(clock.monotonic_ms())
                if len(begun) in (1, 2, 4):
                    raise ZeroDivisionError

            supervisor.loop(step, "fetcher", until=lambda: len(begun) == 5, backoff=Backoff(100.0, 10_000.0))
            await asyncio.sleep(3)
            assert [round(at - begun[0]) for at in begun] == [0, 100, 300, 300, 400]

        run(scene)

    def test_a_loop_survives_the_cancellation_of_what_it_awaits(self) -> None:
        """The silent end of a loop: CancelledError is no Exception, and a cancelled future raises it in its reader."""
        async def scene(clock: VirtualClock) -> None:
            supervisor = Supervisor(clock)
            shared: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            steps, errors = list[int](), list[Exception]()

            async def step() -> None:
                steps.append(1)
                await (shared if len(steps) == 1 else asyncio.sleep(1))

            task = supervisor.loop(step, "fetcher", on_failure=errors.append)
            await asyncio.sleep(1)
            shared.cancel()
            await asyncio.sleep(5)
            assert len(steps) > 1
            assert [type(error) for error in errors] == [AwaitedWasCancelled]
            task.cancel()
            await asyncio.sleep(1)
            assert task.cancelled()
            assert supervisor.failures == {"fetcher": 1}

        run(scene)

    def test_until_ends_it_before_a_step(self) -> None:
        async def scene(clock: VirtualClock) -> None:
            left = [3, 2, 1]

            async def step() -> None:
                left.pop()

            await Supervisor(clock).loop(step, "mover", until=lambda: not left)
            assert left == []

        run(scene)


class TestPeriodicWork:
    def scene(self) -> tuple[ManualClock, Supervisor]:
        clock = ManualClock()
        return clock, Supervisor(clock)

    def test_work_that_raises_is_called_again_all_the_same(self, caplog: pytest.LogCaptureFixture) -> None:
        clock, supervisor = self.scene()
        calls: list[float] = []

        def work() -> None:
            calls.append(clock.monotonic_ms())
            raise ZeroDivisionError

        periodic = supervisor.every(clock.later, 100, work, "retention", delay_ms=30)
        clock.advance(350)
        assert calls == [30, 130, 230, 330]
        assert supervisor.failures == {"retention": 4}
        assert failures_with_traceback(caplog) == ["retention failed"] * 4
        periodic.cancel()
        clock.advance(1000)
        assert len(calls) == 4

    def test_the_interval_is_asked_for_each_time_and_the_last_one_serves_if_it_cannot_be_read(self) -> None:
        clock, supervisor = self.scene()
        calls: list[float] = []
        intervals = [100.0, 200.0]
        supervisor.every(clock.later, lambda: intervals.pop(0), lambda: calls.append(clock.monotonic_ms()), "look")
        clock.advance(750)
        assert calls == [100, 300, 500, 700]
        assert supervisor.failures == {"look": 3}

    def test_it_runs_on_the_timing_wheel(self) -> None:
        async def scene(clock: VirtualClock) -> None:
            timers = Timers(clock, asyncio.get_running_loop().call_later)
            calls: list[int] = []
            Supervisor(clock).every(timers.schedule, 100, lambda: calls.append(1), "look")
            await asyncio.sleep(1.05)
            assert len(calls) == 10
            timers.close()

        run(scene)


class TestQuarantine:
    def test_the_other_items_are_worked_on_and_the_failed_one_is_tried_again_later(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        clock = ManualClock()
        supervisor = Supervisor(clock)
        quarantine = supervisor.quarantine("retention", Backoff(100.0, 300.0))
        done: list[tuple[str, float]] = []
        broken = {"b"}

        def work(item: str) -> None:
            if item in broken:
                raise OSError(24, "too many open files")
            done.append((item, clock.monotonic_ms()))

        def look() -> None:
            for item in quarantine.ready("abc"):
                with quarantine.guard(item):
                    work(item)

        look()
        assert done == [("a", 0), ("c", 0)]
        assert supervisor.failures == {"retention": 1}
        assert quarantine.retry_at_ms() == 100
        done.clear()
        clock.advance(99)
        look()
        assert done == [("a", 99), ("c", 99)]
        clock.advance(1)
        look()
        assert quarantine.faults["b"].attempts == 2
        assert quarantine.retry_at_ms() == 300
        clock.advance(200)
        broken.clear()
        done.clear()
        look()
        assert [item for item, _ in done] == ["a", "b", "c"]
        assert not quarantine.faults
        assert quarantine.retry_at_ms() is None
        assert failures_with_traceback(caplog) == ["retention: b failed"] * 2

    def test_items_may_stay_aside_until_they_are_released(self) -> None:
        clock = ManualClock()
        quarantine = Supervisor(clock).quarantine("cleaner", NEVER)
        quarantine.failed("t-0", ValueError("corrupt"))
        clock.advance(10**9)
        assert quarantine.is_aside("t-0")
        assert quarantine.faults["t-0"].retry_at_ms == math.inf
        assert quarantine.retry_at_ms() is None
        quarantine.release("t-0")
        assert list(quarantine.ready(["t-0"])) == ["t-0"]

    def test_attempt_says_whether_it_went_well(self) -> None:
        quarantine = Supervisor(ManualClock()).quarantine("cleaner")
        assert quarantine.attempt("a", lambda: None)
        assert not quarantine.attempt("a", lambda: 1 // 0)

    def test_a_guard_holds_no_cancellation_up(self) -> None:
        async def scene(clock: VirtualClock) -> None:
            supervisor = Supervisor(clock)
            quarantine = supervisor.quarantine("fetcher")

            async def work() -> None:
                with quarantine.guard("t-0"):
                    await asyncio.sleep(3600)

            task = supervisor.spawn(work(), "fetcher")
            await asyncio.sleep(1)
            task.cancel()
            await asyncio.sleep(1)
            assert task.cancelled()
            assert not quarantine.faults
            assert not supervisor.failures

        run(scene)


def test_call_keeps_one_callback_from_harming_another(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    supervisor = Supervisor(ManualClock())
    called: list[str] = []
    for name, work in {"a": lambda: called.append("a"), "b": lambda: 1 // 0, "c": lambda: called.append("c")}.items():
        supervisor.call("listener", work, name)
    assert called == ["a", "c"]
    assert failures_with_traceback(caplog) == ["listener: b failed"]


def test_the_wait_doubles_up_to_the_longest() -> None:
    backoff = Backoff(100.0, 1_000.0)
    assert [backoff.after(attempts) for attempts in (1, 2, 3, 4, 5, 10_000)] == [100, 200, 400, 800, 1_000, 1_000]
