"""When offsets are committed: by itself, or without anybody waiting."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients import OffsetAndMetadata
from kafka_py.clients.consumer.committer import NEVER, Committer, call_here
from kafka_py.clients.consumer.configs import ConsumerOptions
from kafka_py.clients.consumer.interceptors import ConsumerInterceptors
from kafka_py.clients.consumer.subscriptions import Subscriptions
from kafka_py.testing.clock import ManualClock

A = TopicPartition("t", 0)


class Offsets:
    """In place of CommittedOffsets. failures: what the next commits raise."""

    def __init__(self) -> None:
        self.committed: list[dict[TopicPartition, OffsetAndMetadata]] = []
        self.failures: list[KafkaError] = []
        self.answer = asyncio.Event()
        self.answer.set()

    async def commit_once(self, offsets: Any, *, as_member: bool) -> None:
        await self.answer.wait()
        if self.failures:
            raise self.failures.pop(0)
        self.committed.append(dict(offsets))

    async def commit(self, offsets: Any, timeout_ms: float, *, as_member: bool) -> None:
        await self.commit_once(offsets, as_member=as_member)


class Play:
    """A committer with a clock that the test moves."""

    def __init__(self, **settings: object) -> None:
        names = {name.replace("_", "."): value for name, value in settings.items()}
        self.clock = ManualClock()
        self.offsets = Offsets()
        self.subscriptions = Subscriptions()
        self.subscriptions.assign([A])
        self.news = 0
        options = ConsumerOptions.load({"bootstrap.servers": "h:1", "group.id": "g", **names})
        self.committer = Committer(
            options, self.offsets, self.subscriptions, ConsumerInterceptors([], {}), self.clock,  # type: ignore[arg-type]
            call_user=call_here, on_event=self.note,
        )  # fmt: skip

    def note(self) -> None:
        self.news += 1

    async def settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


def play(scenario: Callable[[Play], Coroutine[Any, Any, None]], **settings: object) -> None:
    async def run() -> None:
        await scenario(Play(**settings))

    asyncio.run(run())


def test_an_automatic_commit_is_of_what_was_returned_and_comes_every_interval() -> None:
    async def scenario(on: Play) -> None:
        on.subscriptions.of(A).seek(5, 2)
        on.committer.commit_if_due()
        await on.settle()
        assert on.offsets.committed == []
        for _ in range(2):
            on.clock.advance(5000)
            on.committer.commit_if_due()
            on.committer.commit_if_due()
            await on.settle()
        assert on.offsets.committed == [{A: OffsetAndMetadata(5, "", 2)}] * 2

    play(scenario)


def test_one_that_is_not_answered_does_not_pile_up_nor_spin() -> None:
    async def scenario(on: Play) -> None:
        on.subscriptions.of(A).seek(5)
        on.offsets.answer.clear()
        for _ in range(3):
            on.clock.advance(5000)
            on.committer.commit_if_due()
            await on.settle()
            assert on.committer.due_ms > on.clock.monotonic_ms()
        on.offsets.answer.set()
        await on.settle()
        assert len(on.offsets.committed) == 1

    play(scenario)


def test_a_passing_failure_is_tried_again_soon() -> None:
    async def scenario(on: Play) -> None:
        on.subscriptions.of(A).seek(5)
        on.offsets.failures = [KafkaError(ErrorCode.NOT_COORDINATOR)]
        on.clock.advance(5000)
        on.committer.commit_if_due()
        await on.settle()
        await on.committer.run_callbacks()
        assert on.committer.due_ms - on.clock.monotonic_ms() == 100

    play(scenario)


def test_manual_means_never_by_itself() -> None:
    async def scenario(on: Play) -> None:
        on.subscriptions.of(A).seek(5)
        assert on.committer.due_ms == NEVER
        on.committer.commit_if_due()
        await on.committer.commit_automatically(1000)
        await on.settle()
        assert on.offsets.committed == []

    play(scenario, enable_auto_commit=False)


def test_the_automatic_commit_before_a_rebalance_fails_quietly() -> None:
    async def scenario(on: Play) -> None:
        on.subscriptions.of(A).seek(5)
        on.offsets.failures = [KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)]
        await on.committer.commit_automatically(1000)
        await on.committer.commit_automatically(1000)
        assert len(on.offsets.committed) == 1

    play(scenario)


def test_callbacks_wait_for_the_next_call() -> None:
    async def scenario(on: Play) -> None:
        heard: list[tuple[Any, Any]] = []
        failure = KafkaError(ErrorCode.NOT_COORDINATOR)
        on.offsets.failures = [failure]
        for offset in (1, 2):
            on.committer.commit_async({A: OffsetAndMetadata(offset)}, lambda *each: heard.append(each))
        await on.settle()
        assert on.committer.has_callbacks
        assert on.news
        assert heard == []
        await on.committer.run_callbacks()
        assert heard == [({A: OffsetAndMetadata(1)}, failure), ({A: OffsetAndMetadata(2)}, None)]

    play(scenario)


def test_the_end_waits_for_commits_under_way() -> None:
    async def scenario(on: Play) -> None:
        heard: list[Any] = []
        on.committer.commit_async({A: OffsetAndMetadata(1)}, lambda *each: heard.append(each))
        await on.committer.finish(1000)
        assert len(heard) == 1
        on.offsets.answer.clear()
        on.committer.commit_async({A: OffsetAndMetadata(2)})
        await on.committer.finish(10)  # in vain
        on.committer.close()

    play(scenario)
