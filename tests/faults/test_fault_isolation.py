"""Every loop, timer and listener of a broker meets what nobody foresaw in one of its items.

Each case sets up one activity with two items, has the work on the first raise, and looks that the second is worked on,
that the activity itself continues, and that the failure is reported under its name with a traceback. (Fetchers and
moves between directories: tests/unit/replication; log files: tests/unit/log.) The last test finds background work that
is started past the supervisor.
"""

import ast
import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import kafka_py
from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.base.meters import MetricRegistry, MetricTable, Reading
from kafka_py.base.metric_rows import Gauge
from kafka_py.base.supervision import AwaitedWasCancelled, Supervisor
from kafka_py.base.timers import Timers
from kafka_py.broker.observe.instruments import Observation
from kafka_py.broker.observe.metrics import ProcessMetrics
from kafka_py.broker.observe.reporting import Reporting
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.controller.channels import Channels
from kafka_py.controller.decisions.batch import ControllerRequest
from kafka_py.controller.decisions.steps import Address
from kafka_py.coordinator.configs import CoordinatorOptions
from kafka_py.coordinator.groups.coordinator import Membership
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.member import Member
from kafka_py.coordinator.groups.metadata_store import TOPIC, GroupStore
from kafka_py.coordinator.groups.offset_keeper import OffsetKeeper
from kafka_py.coordinator.groups.offsets import CommittedOffset
from kafka_py.coordinator.groups.records import ValueVersions
from kafka_py.coordinator.groups.requests import CommitRequest
from kafka_py.coordinator.groups.states import STABLE
from kafka_py.coordinator.runtime import Appended, RuntimeServices
from kafka_py.log.model.answers import Origin
from kafka_py.replication.leader.isr_updates import QUIET_MS, IsrUpdates
from kafka_py.replication.state.isr import CommittedIsr, PendingExpandIsr
from kafka_py.replication.state.partition import Partition
from kafka_py.testing.fakes.controllers import ControllerWorld
from kafka_py.testing.fakes.groups import FakeGroupConfig
from kafka_py.testing.fakes.replicas import LAG_MAX_MS, ReplicaWorld
from kafka_py.testing.fakes.stored_logs import LogWorld
from kafka_py.testing.virtual_time import VirtualClock, run_virtual, virtual_clock
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.wire.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from kafka_py.zk.notifications import config_change_listener
from kafka_py.zk.session import SessionState
from kafka_py.zk.store import ZkStore

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


class Unforeseen(Exception):
    """What no code under test catches by name."""


def fail(*_arguments: Any, **_named: Any) -> Any:
    raise Unforeseen


def fails_for(first: Any, original: Callable[..., Any], told_apart_by: Callable[..., Any]) -> Callable[..., Any]:
    """`original`, but for calls about `first`."""

    def call(*arguments: Any, **named: Any) -> Any:
        if told_apart_by(*arguments) == first:
            raise Unforeseen
        return original(*arguments, **named)

    return call


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(600):
        while not condition():  # noqa: ASYNC110  # virtual time; nothing tells of every state
            await asyncio.sleep(0.01)


Case = Callable[[Supervisor, VirtualClock, pytest.MonkeyPatch], Awaitable[object]]
CASES: dict[str, tuple[str, Case]] = {}


def case(activity: str) -> Callable[[Case], Case]:
    """Registers a case; activity: the name under which its failures are counted."""

    def register(story: Case) -> Case:
        CASES[story.__name__] = activity, story
        return story

    return register


# ---- replication


class IsrStore:
    """Fails as long as `broken` holds a partition, or "announce"."""

    def __init__(self) -> None:
        self.broken: set[object] = set()
        self.announced: list[TopicPartition] = []

    async def write_isr(self, partition: TopicPartition, _state: object) -> int:
        if partition in self.broken:
            raise Unforeseen
        return 7

    async def announce_isr_changes(self, partitions: Any) -> None:
        if "announce" in self.broken:
            raise Unforeseen
        self.announced += partitions


def leading(world: ReplicaWorld, updates: IsrUpdates | None = None) -> dict[TopicPartition, Partition]:
    for one in (FIRST, SECOND):
        world.lead(one, isr=(1, 2))
        if updates is not None:
            world.partition(one).isr = PendingExpandIsr(frozenset({1, 2}), adding=3)
            updates.submit(world.partition(one))
    return {one: world.partition(one) for one in (FIRST, SECOND)}


@case("in-sync sets")
async def in_sync_sets_are_written(
    supervisor: Supervisor, clock: VirtualClock, _monkeypatch: pytest.MonkeyPatch
) -> None:
    store, metrics = IsrStore(), ReplicaWorld().metrics
    updates = IsrUpdates(
        store.write_isr, store.announce_isr_changes, clock, metrics.manager, lambda _partition, _raised: None,
        supervisor,
    )  # fmt: skip
    store.broken.add(FIRST)
    partitions = leading(ReplicaWorld(), updates)
    joined = CommittedIsr(frozenset({1, 2, 3}))
    await until(lambda: partitions[SECOND].isr == joined)
    assert partitions[FIRST].isr.in_flight
    store.broken.clear()
    await until(lambda: partitions[FIRST].isr == joined)
    updates.close()


@case("announcement of in-sync sets")
async def in_sync_sets_are_announced(
    supervisor: Supervisor, clock: VirtualClock, _monkeypatch: pytest.MonkeyPatch
) -> None:
    store, metrics = IsrStore(), ReplicaWorld().metrics
    updates = IsrUpdates(
        store.write_isr, store.announce_isr_changes, clock, metrics.manager, lambda _partition, _raised: None,
        supervisor,
    )  # fmt: skip
    leading(ReplicaWorld(), updates)
    store.broken.add("announce")
    await asyncio.sleep(2 * QUIET_MS / 1000)
    updates.announce_if_due()
    await asyncio.sleep(1)
    assert not store.announced
    store.broken.clear()
    await asyncio.sleep(2 * QUIET_MS / 1000)
    updates.announce_if_due()
    await until(lambda: store.announced == [FIRST, SECOND])
    updates.close()


@case("shrinking of in-sync sets")
async def who_fell_behind_leaves_the_in_sync_sets(
    supervisor: Supervisor, _clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = ReplicaWorld(supervisor=supervisor)
    partitions = leading(world)
    world.append(FIRST, SECOND)
    original = Partition.shrink_isr
    monkeypatch.setattr(Partition, "shrink_isr", fails_for(FIRST, original, lambda one, *_: one.topic_partition))
    world.clock.advance(10 * LAG_MAX_MS)
    await world.manager.fetches.shrink_isrs()
    assert partitions[SECOND].isr.in_flight


@case("notice of log starts")
async def readers_notice_log_starts(
    supervisor: Supervisor, _clock: VirtualClock, _monkeypatch: pytest.MonkeyPatch
) -> None:
    class Reader:
        def __init__(self) -> None:
            self.told = 0

        def on_change(self) -> None:
            self.told += 1

    class Broken(Reader):
        def on_change(self) -> None:
            raise Unforeseen

    world, reader = ReplicaWorld(supervisor=supervisor), Reader()
    for one, listener in ((FIRST, Broken()), (SECOND, reader)):
        log = world.lead(one)
        world.partition(one).listeners[listener] = None
        log.log_start_offset = 5
    world.manager.fetches.notice_log_starts()
    assert reader.told == 1


# ---- controller


@case("controller")
async def the_controller_takes_the_next_event(
    supervisor: Supervisor, _clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = ControllerWorld()
    await world.start(1, 2)
    controller = world.controller
    controller._supervisor.failures = supervisor.failures
    monkeypatch.setattr(type(controller._gauges), "show", fail)  # outside of what an event does
    await world.make_topic("first", {0: [1, 2]})
    monkeypatch.undo()
    await world.make_topic("second", {0: [2, 1]})
    assert ((await world.state("first")).leader, (await world.state("second")).leader) == (1, 2)
    assert await controller.list_reassignments(None) == {}


@case("controller")
async def an_event_that_is_cancelled_by_another_is_answered_and_the_next_one_taken(
    supervisor: Supervisor, _clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CancelledError is no Exception: it would end the queue without a word."""
    world = ControllerWorld()
    await world.start(1, 2)
    controller = world.controller
    controller._supervisor.failures = supervisor.failures

    async def cancelled(*_arguments: Any) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(type(controller), "_dispatch", cancelled)
    with pytest.raises(AwaitedWasCancelled):
        await controller.list_reassignments(None)
    monkeypatch.undo()
    assert await controller.list_reassignments(None) == {}


def update(number: int) -> ControllerRequest:
    return ControllerRequest(1, UpdateMetadataRequest(controller_id=1, controller_epoch=number, live_brokers=[]), 7)


class Peer:
    """A broker that raises what the script says, in turn, and then answers."""

    def __init__(self, *script: BaseException) -> None:
        self.script = list(script)
        self.sent: list[int] = []

    async def connect(self, _address: Address) -> "Peer":
        return self

    async def send(self, request: Any, _version: int) -> UpdateMetadataResponse:
        if self.script:
            raise self.script.pop(0)
        self.sent.append(request.controller_epoch)
        return UpdateMetadataResponse(error_code=0)

    def close(self) -> None:
        """There is nothing to close."""


@case("requests of the controller")
async def a_request_that_was_cancelled_by_another_is_sent_again_before_the_next(
    supervisor: Supervisor, clock: VirtualClock, _monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = Peer(asyncio.CancelledError(), asyncio.CancelledError())
    channels = Channels(
        peer.connect, lambda *_: None, request_timeout_ms=30_000, clock=clock, registry=MetricRegistry(clock),
        supervisor=supervisor,
    )  # fmt: skip
    channels.add(1, Address("h", 1))
    channels.send(update(1))
    channels.send(update(2))
    await until(lambda: peer.sent == [1, 2])
    channels.close()


@case("requests of the controller")
async def a_request_that_cannot_be_sent_is_reported_once_and_tried_until_it_can(
    supervisor: Supervisor, clock: VirtualClock, _monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = Peer(*[Unforeseen("again and again")] * 20)
    channels = Channels(
        peer.connect, lambda *_: None, request_timeout_ms=30_000, clock=clock, registry=MetricRegistry(clock),
        supervisor=supervisor,
    )  # fmt: skip
    channels.add(1, Address("h", 1))
    channels.send(update(1))
    await until(lambda: peer.sent == [1])
    assert sum(supervisor.failures.values()) == 1
    channels.close()


@case("replies to the controller")
async def a_reply_that_fails_does_not_end_the_channel(
    supervisor: Supervisor, clock: VirtualClock, _monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = Peer()
    channels = Channels(
        peer.connect, fail, request_timeout_ms=30_000, clock=clock, registry=MetricRegistry(clock),
        supervisor=supervisor,
    )  # fmt: skip
    channels.add(1, Address("h", 1))
    channels.send(update(1))
    channels.send(update(2))
    await until(lambda: peer.sent == [1, 2])
    channels.close()


# ---- coordinator


class Groups:
    """A store of groups over the logs of two partitions."""

    def __init__(self, supervisor: Supervisor, clock: VirtualClock) -> None:
        self.disks = {number: LogWorld(topic_partition=TopicPartition(TOPIC, number)) for number in range(50)}
        options = CoordinatorOptions.parse({})
        around = RuntimeServices(
            append=self._append, log_of=lambda number: self.disks[number].log, in_thread=self._in_thread,
            spawn=lambda work: supervisor.spawn(work, "group coordinator"), clock=clock, supervisor=supervisor,
        )  # fmt: skip
        self.store = GroupStore(lambda: options, ValueVersions, 50, around)
        timers = Timers(clock, asyncio.get_running_loop().call_later)
        membership = Membership(self.store, clock, timers, FakeGroupConfig, new_id=lambda: "x")
        self.offsets = OffsetKeeper(self.store, membership.sessions, clock, lambda: options)

    def _append(self, number: int, data: bytes, _acks: int, _timeout_ms: int, on_done: Appended) -> None:
        info = self.disks[number].append(memoryview(bytearray(data)), origin=Origin.COORDINATOR)
        on_done(ErrorCode.NONE, info.first_offset)

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        return work()

    async def own(self, *groups: str) -> set[int]:
        """Loads the partitions of these groups; their numbers."""
        numbers = {self.store.runtime.partition_for(group) for group in groups}
        for number in numbers:
            self.store.runtime.elected(number, 0)
        await until(lambda: not self.store.loading)
        return numbers

    def make(self, group_id: str) -> Group:
        """A stable group of one member with an offset, and its records."""
        group = self.store.get_or_create(group_id)
        group.protocol_type, group.protocol, group.generation = "consumer", "range", 3
        group.add(Member(f"{group_id}-m", None, "client", "/127.0.0.1", 60_000, 10_000, (("range", b"sub"),)))
        group.state = STABLE
        codes: list[ErrorCode] = []
        self.store.persist(group, {}, codes.append)
        commit = CommitRequest(3, f"{group_id}-m", None, {FIRST: CommittedOffset(5, 2, "", 0)})
        self.offsets.commit(group_id, commit, codes.append)
        assert codes == [ErrorCode.NONE] * 2
        return group


def neighbours(store: GroupStore) -> tuple[str, str]:
    """Two groups of one partition."""
    first = "g0"
    number = store.runtime.partition_for(first)
    second = next(name for name in (f"g{n}" for n in range(1, 999)) if store.runtime.partition_for(name) == number)
    return first, second


@case("loading of coordinator state")
async def one_partition_that_cannot_be_loaded_leaves_the_next_alone(
    supervisor: Supervisor, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = Groups(supervisor, clock)
    first, second = groups.store.runtime.partition_for("a"), groups.store.runtime.partition_for("b")
    original = groups.store.replay
    monkeypatch.setattr(groups.store, "replay", fails_for(first, original, lambda number: number))
    for number in (first, second):
        groups.store.runtime.elected(number, 0)
    await until(lambda: groups.store.runtime.owned)
    assert groups.store.runtime.owned == {second}
    monkeypatch.undo()  # the next attempt comes by itself
    await until(lambda: groups.store.runtime.owned == {first, second})


@case("loading of groups")
async def one_group_that_cannot_be_restored_leaves_the_others_of_its_partition_alone(
    supervisor: Supervisor, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Groups(supervisor, clock)
    first, second = neighbours(before.store)
    (number,) = await before.own(first, second)
    for name in (first, second):
        before.make(name)
    after = Groups(supervisor, clock)
    after.disks = before.disks
    monkeypatch.setattr(Group, "restore", fails_for(first, Group.restore, lambda group: group.id))
    await after.own(first, second)
    assert after.store.runtime.owned == {number}
    restored, damaged = after.store.get(second), after.store.get(first)
    assert restored is not None and restored.state is STABLE
    assert damaged is not None and FIRST in damaged.offsets.committed


@case("loading of groups")
async def one_listener_of_loaded_groups_that_fails_leaves_the_other_groups_alone(
    supervisor: Supervisor, clock: VirtualClock, _monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Groups(supervisor, clock)
    first, second = neighbours(before.store)
    (number,) = await before.own(first, second)
    for name in (first, second):
        before.make(name)
    after = Groups(supervisor, clock)
    after.disks = before.disks
    told: list[str] = []
    note = fails_for(first, lambda group: told.append(group.id), lambda group: group.id)
    after.store.attach(SimpleNamespace(on_loaded=note))
    await after.own(first, second)
    assert (after.store.runtime.owned, told) == ({number}, [second])


@case("upkeep of groups")
async def unloading_expiry_and_deleted_topics_go_group_by_group(
    supervisor: Supervisor, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = Groups(supervisor, clock)
    first, second = neighbours(groups.store)
    (number,) = await groups.own(first, second)
    one, other = groups.make(first), groups.make(second)
    told: list[str] = []
    note = fails_for(first, lambda group: told.append(group.id), lambda group: group.id)
    groups.store.attach(SimpleNamespace(on_unloaded=note))
    monkeypatch.setattr(groups.store, "bury", fails_for(one, groups.store.bury, lambda group, _: group))
    for _ in groups.offsets.remove_topics([FIRST.topic]):
        pass
    assert not other.offsets.committed
    for _ in groups.offsets.remove_expired():
        pass
    monkeypatch.undo()
    assert sum(supervisor.failures.values()) == 2
    groups.store.runtime.resigned(number, None)
    await until(lambda: one.is_dead and other.is_dead)
    assert told == [second]


# ---- ZooKeeper


async def two_sessions(supervisor: Supervisor) -> tuple[FakeZookeeper, Any, ZkStore]:
    server = FakeZookeeper(virtual_clock())
    session = server.session()
    session.supervise(supervisor)
    await session.connect()
    hands = ZkStore(server.session())
    await hands.session.connect()
    await hands.brokers.ensure_top_level_paths()
    return server, session, hands


@case("notifications")
async def notifications_are_handled_one_by_one(
    supervisor: Supervisor, clock: VirtualClock, _monkeypatch: pytest.MonkeyPatch
) -> None:
    _, session, hands = await two_sessions(supervisor)
    applied: list[str] = []

    async def apply(entity: str) -> None:
        if entity == "topics/first":
            raise Unforeseen
        applied.append(entity)

    listener = config_change_listener(ZkStore(session).znodes, apply, clock, supervisor)
    await listener.start()
    await hands.configs.announce_change("topics/first")
    await hands.configs.announce_change("topics/second")
    await until(lambda: applied == ["topics/second"])
    await listener.stop()


@case("notifications")
async def a_round_of_notifications_that_fails_is_repeated(
    supervisor: Supervisor, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, session, hands = await two_sessions(supervisor)
    applied: list[str] = []

    async def apply(entity: str) -> None:
        applied.append(entity)

    listener = config_change_listener(ZkStore(session).znodes, apply, clock, supervisor)
    await listener.start()
    monkeypatch.setattr(listener, "_purge", fail)
    await hands.configs.announce_change("topics/first")
    await until(lambda: applied)
    monkeypatch.undo()
    await hands.configs.announce_change("topics/second")
    await until(lambda: applied == ["topics/first", "topics/second"])
    await listener.stop()


@case("ZooKeeper session")
async def listeners_and_hooks_of_a_session_are_called_one_by_one_and_it_is_renewed(
    supervisor: Supervisor, _clock: VirtualClock, _monkeypatch: pytest.MonkeyPatch
) -> None:
    _, session, _ = await two_sessions(supervisor)
    called: list[object] = []

    async def hook() -> None:
        called.append("hook")

    session.add_expiry_hooks(before=fail, after=fail)
    session.add_expiry_hooks(before=hook, after=hook)
    session.add_listener(fail)
    session.add_listener(called.append)
    session.expire()
    await until(lambda: called.count("hook") == 2)
    assert called == [SessionState.EXPIRED, "hook", SessionState.CONNECTING, SessionState.CONNECTED, "hook"]


@case("ZooKeeper session")
async def a_renewal_that_fails_is_tried_until_there_is_a_session(
    supervisor: Supervisor, _clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, session, _ = await two_sessions(supervisor)
    monkeypatch.setattr(type(session), "_open", fail)
    session.expire()
    await asyncio.sleep(5)
    assert session.state is SessionState.CONNECTING
    monkeypatch.undo()
    await until(lambda: session.state is SessionState.CONNECTED)


# ---- broker


class Things(MetricTable, group="test:type=Things", tags=("thing",)):
    value = Gauge("Value", of=lambda owner: owner(), about="What the owner says.")


@case("metrics reporters")
async def one_metric_and_one_reporter_that_fail_leave_the_others_alone(
    supervisor: Supervisor, clock: VirtualClock, _monkeypatch: pytest.MonkeyPatch
) -> None:
    class Reporter:
        def __init__(self) -> None:
            self.reported: list[dict[str, str]] = []

        def configure(self, configs: Mapping[str, object]) -> None:
            """There is nothing to set."""

        def report(self, readings: Sequence[Reading], now_ms: int) -> None:
            self.reported += [reading.tags for reading in readings]

        def close(self) -> None:
            """There is nothing to close."""

    class Broken(Reporter):
        def report(self, readings: Sequence[Reading], now_ms: int) -> None:
            raise Unforeseen

    class Inline:
        def submit(self, work: Callable[..., Any], *arguments: Any) -> Any:
            future: Future[Any] = Future()
            try:
                future.set_result(work(*arguments))
            except Exception as error:
                future.set_exception(error)
            return future

    registry = MetricRegistry(clock)
    Things(registry, fail, thing="first")
    Things(registry, lambda: 1, thing="second")
    reporter = Reporter()
    reporting = Reporting([Broken(), reporter], registry, clock, Inline(), supervisor)  # type: ignore[arg-type]
    for rounds in (1, 2):
        reporting.report()
        await until(lambda: len(reporter.reported) == rounds)  # noqa: B023
    assert reporter.reported == [{"thing": "second"}] * 2
    await reporting.close()


@case("averages of metrics")
async def one_table_whose_averages_fail_leaves_the_others_alone(
    supervisor: Supervisor, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = MetricRegistry(clock)
    first, second = Things(registry, thing="first"), Things(registry, thing="second")
    ticked: list[MetricTable] = []

    def ticking(table: MetricTable) -> Iterator[None]:
        yield
        if table is first:
            raise Unforeseen
        ticked.append(table)

    monkeypatch.setattr(MetricTable, "ticking", ticking)
    config = BrokerConfig.parse({"zookeeper.connect": "host:1", "metrics.http.port": "-1"})
    process: ProcessMetrics = None  # type: ignore[assignment]  # only a scrape asks it
    observation = Observation(config, registry, process, clock, None, supervisor)  # type: ignore[arg-type]
    timers = Timers(clock, asyncio.get_running_loop().call_later)
    await observation.start(lambda ms, work, name: supervisor.every(timers.schedule, ms, work, name))
    await until(lambda: ticked.count(second) == 3)
    await observation.close()
    timers.close()


# ---- the walk


@pytest.mark.parametrize("name", CASES)
def test_one_item_that_fails_is_reported_and_nothing_else_notices(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    activity, story = CASES[name]

    async def main() -> None:
        clock = virtual_clock()
        supervisor = Supervisor(clock)
        await story(supervisor, clock, monkeypatch)
        assert set(supervisor.failures) == {activity}
        await supervisor.close()

    run_virtual(main())
    reported = [record for record in caplog.records if record.exc_info and record.getMessage().startswith(activity)]
    assert reported
    assert all(record.exc_info is not None and record.exc_info[1] is not None for record in reported)


SWEPT = ("replication", "controller", "coordinator", "broker", "zk", "net")
STARTERS = {"create_task", "ensure_future"}
ALLOWED = {
    "broker/requests/dispatch.py": "somebody waits for the answer of each request, and gets the error",
    "broker/requests/topic_admin.py": "requests wait for the names that are read for them all, and get its error",
    "net/secured/client_security.py": "a login that is repeated takes every exception, and closes its connection then",
}


def tasks_started_in(path: Path) -> Iterator[int]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in STARTERS:
            yield node.lineno


def test_no_task_of_the_broker_is_started_past_the_supervisor() -> None:
    root = Path(kafka_py.__file__).parent
    found = {
        path.relative_to(root).as_posix(): lines
        for package in SWEPT for path in sorted((root / package).rglob("*.py"))
        if (lines := list(tasks_started_in(path)))
    }  # fmt: skip
    assert set(found) == set(ALLOWED)
