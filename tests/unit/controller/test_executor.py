"""Plans carried out: steps in order, outcomes and failures back into the plan, others have the loop in between."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.meters import MetricRegistry
from kafka_py.base.supervision import Supervisor
from kafka_py.controller.configs import ControllerOptions
from kafka_py.controller.decisions.notes import LogLines
from kafka_py.controller.decisions.plan import Plan, Worked
from kafka_py.controller.decisions.steps import CountUnclean, Put, PutLater, ReplyToCaller
from kafka_py.controller.decisions.znode_steps import ReadTopics, UnmarkForDeletion
from kafka_py.controller.events import BrokerChange, Event, TopicChange
from kafka_py.controller.executor import ControllerEnvironment, Executor
from kafka_py.controller.metrics import ControllerStats
from kafka_py.testing.virtual_time import run_virtual, virtual_clock
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.zk.access import ControllerMoved
from kafka_py.zk.store import ZkStore


class World:
    """An executor in office. events: what was put, and when."""

    def __init__(self, store: ZkStore) -> None:
        self.store = store
        self.clock = virtual_clock()
        self.events: list[tuple[float, Event]] = []
        registry = MetricRegistry(self.clock)
        self.stats = ControllerStats(registry)
        self.environment = ControllerEnvironment(
            broker_id=1, store=store, config=lambda: ControllerOptions.parse({}), listener="PLAINTEXT",
            request_timeout_ms=1000, connect=self._connect, clock=self.clock, new_topic_id=Chance(1).new_topic_id,
            registry=registry, stats=self.stats, put=self._put, supervisor=Supervisor(self.clock),
        )  # fmt: skip

    def _put(self, event: Event) -> None:
        self.events.append((self.clock.monotonic_ms(), event))

    async def _connect(self, _address: object) -> Any:
        raise ConnectionRefusedError


def scenario(run: Callable[[World, Executor], Awaitable[None]]) -> Callable[[], None]:
    """A test that is a coroutine, run in virtual time."""

    async def main() -> None:
        store = ZkStore(FakeZookeeper().session())
        await store.session.connect()
        await store.brokers.ensure_top_level_paths()
        world = World(store)
        executor = Executor(await store.election.elect(1, 0), world.environment)
        try:
            await run(world, executor)
        finally:
            executor.end()

    def test() -> None:
        run_virtual(main())

    test.__name__ = getattr(run, "__name__", "")
    return test


@scenario
async def test_events_replies_and_counts_go_where_they_belong(world: World, executor: Executor) -> None:
    event = BrokerChange()
    answers: list[object] = []

    def plan() -> Plan[str]:
        yield from Put(event)
        yield from CountUnclean(2)
        yield from ReplyToCaller({"t": 1})
        return "done"

    assert await executor.run(plan(), answers.append) == "done"
    assert [each for _, each in world.events] == [event]
    assert answers == [{"t": 1}]
    assert world.stats.unclean_elections == 2


@scenario
async def test_an_event_put_off_takes_the_place_of_the_one_before(world: World, executor: Executor) -> None:
    first, second = BrokerChange(), TopicChange()

    def plan() -> Plan[None]:
        yield from PutLater(5, first)
        yield from PutLater(7, second)

    begun = world.clock.monotonic_ms()
    await executor.run(plan())
    await asyncio.sleep(10)
    assert [(at - begun, event) for at, event in world.events] == [(7000, second)]


@scenario
async def test_what_zookeeper_refuses_is_raised_in_the_plan(world: World, executor: Executor) -> None:
    await world.store.topics.mark_for_deletion("t")
    await world.store.session.set("/controller_epoch", b"9")
    finished = []

    def plan() -> Plan[None]:
        try:
            yield from UnmarkForDeletion(["t"])
        finally:
            finished.append((yield from ReadTopics()))

    with pytest.raises(ControllerMoved):
        await executor.run(plan())
    assert finished == [set()]


@scenario
async def test_a_plan_that_is_cancelled_finishes_what_it_has_to(world: World, executor: Executor) -> None:
    world.store.session.cut()  # type: ignore[attr-defined]
    finished = []

    def plan() -> Plan[None]:
        try:
            yield from ReadTopics()
        finally:
            yield from Worked(1)
            finished.append(True)

    task = asyncio.ensure_future(executor.run(plan()))
    await asyncio.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert finished == [True]


@scenario
async def test_others_have_the_loop_once_a_turn_is_used_up(_world: World, executor: Executor) -> None:
    seen: list[int] = []

    def plan() -> Plan[None]:
        for number in range(4):
            yield from Worked(1, of=2)
            seen.append(number)

    task = asyncio.ensure_future(executor.run(plan()))
    await asyncio.sleep(0)
    assert seen == [0]  # the second one ends the turn
    await asyncio.sleep(0)
    assert seen == [0, 1, 2]
    await task
    assert seen == [0, 1, 2, 3]


def test_notes_are_logged_under_the_name_of_who_decided(caplog: pytest.LogCaptureFixture) -> None:
    def plan() -> Plan[None]:
        yield from LogLines("kafka_py.controller.decisions.deletion").error("%s failed", "t", error=ValueError("why"))

    async def run(_world: World, executor: Executor) -> None:
        await executor.run(plan())

    with caplog.at_level(logging.ERROR):
        scenario(run)()
    (record,) = caplog.records
    assert (record.name, record.getMessage()) == ("kafka_py.controller.decisions.deletion", "t failed")
    assert "ValueError: why" in caplog.text
