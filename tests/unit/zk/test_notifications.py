"""Sequential notifications, written and read."""

import asyncio

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.testing.zookeeper import FakeZookeeper, on_fake
from kafka_py.zk import notifications
from kafka_py.zk.access import ControllerMoved
from kafka_py.zk.notifications import EXPIRY_MS, NotificationListener, config_change_listener
from kafka_py.zk.session import AuthFailed, ConnectionLoss, NodeExists, SessionExpired
from kafka_py.zk.store import ZkStore

T0, U1 = TopicPartition("t", 0), TopicPartition("u", 1)


class Clock:
    """A wall clock that stands still until it is moved."""

    def __init__(self, now_ms):
        self.now_ms = now_ms

    def wall_ms(self):
        return self.now_ms

    def monotonic_ms(self):
        return float(self.now_ms)


class Applied:
    """A handler that keeps what it was given."""

    def __init__(self):
        self.entities = []
        self._changed = asyncio.Event()

    async def __call__(self, entity):
        self.entities.append(entity)
        self._changed.set()
        if entity.endswith("broken"):
            raise RuntimeError("cannot be applied")

    async def wait(self, count):
        while len(self.entities) < count:
            self._changed.clear()
            await self._changed.wait()


@on_fake
async def test_isr_changes_are_announced_read_and_deleted_as_listed(store, zk):
    await store.brokers.ensure_top_level_paths()
    epoch = await store.election.elect(1, 0)
    seen = []
    assert await store.notifications.isr_changes(seen.append) == []
    await store.notifications.announce_isr_changes([T0, U1])
    await store.notifications.announce_isr_changes([T0])
    names = await store.notifications.isr_changes()
    assert names == ["isr_change_0000000000", "isr_change_0000000001"]
    assert len(seen) == 1
    assert await store.notifications.read_isr_changes(names) == {T0, U1}
    await store.notifications.announce_isr_changes([U1])
    with pytest.raises(ControllerMoved):
        await store.notifications.delete_isr_changes(names, 0)
    await store.notifications.delete_isr_changes([*names, "isr_change_0000000099"], epoch.epoch_zk_version)
    assert await store.notifications.isr_changes() == ["isr_change_0000000002"]


@on_fake
async def test_notifications_that_cannot_be_read_list_nothing(store, zk):
    await store.brokers.ensure_top_level_paths()
    await store.session.create("/isr_change_notification/isr_change_0000000000", b"?")
    await store.session.create("/log_dir_event_notification/log_dir_event_0000000000", None)
    assert await store.notifications.read_isr_changes(await store.notifications.isr_changes()) == set()
    assert await store.notifications.read_log_dir_events(await store.notifications.log_dir_events()) == set()


@on_fake
async def test_log_dir_events_name_their_brokers(store, zk):
    await store.brokers.ensure_top_level_paths()
    epoch = await store.election.elect(1, 0)
    await store.notifications.announce_log_dir_failure(3)
    await store.notifications.announce_log_dir_failure(3)
    names = await store.notifications.log_dir_events()
    assert await store.notifications.read_log_dir_events(names) == {3}
    await store.notifications.delete_log_dir_events(names, epoch.epoch_zk_version)
    assert await store.notifications.log_dir_events() == []


@on_fake
async def test_existing_notifications_are_replayed_at_the_start_and_new_ones_follow(store, zk):
    await store.brokers.ensure_top_level_paths()
    await store.configs.announce_change("topics/a")
    await store.configs.announce_change("topics/b")
    applied = Applied()
    listener = config_change_listener(store.znodes, applied, Clock(0))
    await listener.start()
    assert applied.entities == ["topics/a", "topics/b"]
    await store.configs.announce_change("topics/c")
    await applied.wait(3)
    await store.configs.announce_change("topics/d")
    await applied.wait(4)
    assert applied.entities == ["topics/a", "topics/b", "topics/c", "topics/d"]
    await listener.stop()


@on_fake
async def test_each_notification_is_handled_once_also_when_it_fails(store, zk):
    await store.brokers.ensure_top_level_paths()
    applied = Applied()
    listener = config_change_listener(store.znodes, applied, Clock(0))
    await listener.start()
    await store.session.create("/config/changes/config_change_0000000000", b"not json")
    for entity in ("topics/broken", "topics/fine"):
        await store.configs.announce_change(entity)
    await applied.wait(2)
    await store.configs.announce_change("topics/last")
    await applied.wait(3)
    assert applied.entities == ["topics/broken", "topics/fine", "topics/last"]
    await listener.stop()


def failing(of, *errors):
    """A coroutine function that raises each of the errors before it does as `of`."""
    left = list(errors)

    async def call(*arguments):
        if left:
            raise left.pop(0)
        return await of(*arguments)

    return call


def test_a_list_that_could_not_be_read_is_read_again(monkeypatch):
    """Its watch has fired, so nothing else would say that there are notifications."""
    monkeypatch.setattr(notifications, "RETRY_S", 0)

    @on_fake
    async def scenario(store, zk):
        await store.brokers.ensure_top_level_paths()
        applied = Applied()
        listener = config_change_listener(store.znodes, applied, Clock(0))
        await listener.start()
        store.session.children = failing(store.session.children, ConnectionLoss(), ConnectionLoss())
        await store.configs.announce_change("topics/a")
        await asyncio.wait_for(applied.wait(1), 10)
        await listener.stop()

    scenario()


def test_a_notification_is_handled_again_when_zookeeper_did_not_answer_its_handler(monkeypatch):
    monkeypatch.setattr(notifications, "RETRY_S", 0)

    @on_fake
    async def scenario(store, zk):
        await store.brokers.ensure_top_level_paths()
        applied = Applied()
        listener = config_change_listener(store.znodes, failing(applied, ConnectionLoss(), ConnectionLoss()), Clock(0))
        await listener.start()
        await store.configs.announce_change("topics/a")
        await store.configs.announce_change("topics/b")
        await asyncio.wait_for(applied.wait(2), 10)
        assert applied.entities == ["topics/a", "topics/b"]
        await listener.stop()

    scenario()


@pytest.mark.parametrize("end", [SessionExpired, AuthFailed])
def test_a_notification_during_whose_handling_the_session_ends_is_handled_in_the_next(end):
    @on_fake
    async def scenario(store, zk):
        await store.brokers.ensure_top_level_paths()
        applied = Applied()
        outcomes = [end()]

        async def handle(entity):
            if outcomes:
                ended.set()
                raise outcomes.pop()
            await applied(entity)

        ended = asyncio.Event()
        listener = config_change_listener(store.znodes, handle, Clock(0))
        await listener.start()
        await store.configs.announce_change("topics/a")
        await asyncio.wait_for(ended.wait(), 10)
        assert applied.entities == []
        await listener._on_new_session()
        await asyncio.wait_for(applied.wait(1), 10)
        await listener.stop()

    scenario()


@on_fake
async def test_a_request_that_zookeeper_refuses_does_not_stop_the_list(store, zk):
    """As for an entity whose name makes no path: to try again would change nothing."""
    await store.brokers.ensure_top_level_paths()
    applied = Applied()
    listener = config_change_listener(store.znodes, failing(applied, NodeExists("/n")), Clock(0))
    await listener.start()
    await store.configs.announce_change("topics/a")
    await store.configs.announce_change("topics/b")
    await asyncio.wait_for(applied.wait(1), 10)
    assert applied.entities == ["topics/b"]
    await listener.stop()


@on_fake
async def test_a_name_without_number_stops_the_list(store, zk):
    await store.brokers.ensure_top_level_paths()
    await store.configs.announce_change("topics/a")
    await store.session.create("/config/changes/zzz")
    applied = Applied()
    listener = config_change_listener(store.znodes, applied, Clock(0))
    await listener.start()
    assert applied.entities == []
    await store.session.delete("/config/changes/zzz")
    await applied.wait(1)
    await listener.stop()


@pytest.mark.parametrize("ahead_ms", [0, 1 << 41])
def test_notifications_15_minutes_older_than_the_newest_are_deleted_after_a_round(ahead_ms):
    """By ZooKeeper's clock, whatever this broker's says."""

    async def run():
        server_clock = Clock(1_000_000)
        zk = FakeZookeeper(server_clock)
        session = zk.session()
        await session.connect()
        store = ZkStore(session)
        await store.brokers.ensure_top_level_paths()
        await store.configs.announce_change("topics/old")
        server_clock.now_ms += 1
        await store.configs.announce_change("topics/young")
        server_clock.now_ms += EXPIRY_MS
        await store.configs.announce_change("topics/new")
        applied = Applied()
        listener = config_change_listener(store.znodes, applied, Clock(ahead_ms))
        await listener.start()
        assert applied.entities == ["topics/old", "topics/young", "topics/new"]
        assert sorted(await session.children("/config/changes")) == [f"config_change_000000000{one}" for one in (1, 2)]
        await listener.stop()

    asyncio.run(run())


@on_fake
async def test_where_notifications_were_deleted_unread_everything_is_read_again(store, zk):
    """By a broker of Apache Kafka whose clock is ahead, or while this one had no session for very long."""
    await store.brokers.ensure_top_level_paths()
    await store.configs.announce_change("topics/a")
    applied, reloads = Applied(), []

    async def reload():
        reloads.append(list(applied.entities))
        if len(reloads) == 1:
            raise ConnectionLoss

    listener = config_change_listener(store.znodes, applied, Clock(0), on_gap=reload)
    await listener.start()
    await store.configs.announce_change("topics/b")
    await applied.wait(2)
    assert not reloads, "nothing is missing yet"
    store.session.cut()
    other = zk.session()
    await other.connect()
    for topic in ("c", "d"):
        await ZkStore(other).configs.announce_change(f"topics/{topic}")
    await other.delete("/config/changes/config_change_0000000002")
    store.session.mend()
    await applied.wait(3)
    assert applied.entities == ["topics/a", "topics/b", "topics/d"]
    assert reloads == [["topics/a", "topics/b"]] * 2, "again after the lost connection, before the next is handled"
    await listener.stop()


@on_fake
async def test_after_a_new_session_what_came_meanwhile_is_handled(store, zk):
    await store.brokers.ensure_top_level_paths()
    applied = Applied()
    listener = config_change_listener(store.znodes, applied, Clock(0))
    await listener.start()
    store.session.expire()
    other = zk.session()
    await other.connect()
    await ZkStore(other).configs.announce_change("topics/a")
    await applied.wait(1)
    await ZkStore(other).configs.announce_change("topics/b")
    await applied.wait(2)
    assert applied.entities == ["topics/a", "topics/b"]
    await listener.stop()


@on_fake
async def test_a_listener_serves_any_root(store, zk):
    await store.znodes.create_recursive("/delegation_token/token_changes")
    got = []

    async def handle(data):
        got.append(data)

    listener = NotificationListener(store.znodes, "/delegation_token/token_changes", "token_change_", handle, Clock(0))
    await store.znodes.create_recursive("/delegation_token/token_changes/token_change_", b"id", sequence=True)
    await listener.start()
    assert got == [b"id"]
    await listener.stop()


@on_fake
async def test_very_many_notifications_are_handled_by_their_numbers_and_sorted_in_turns(store, zk):
    """ZooKeeper lists them in no order."""
    applied, sorted_at_once = Applied(), []
    await store.brokers.ensure_top_level_paths()
    for number in range(100):
        await store.configs.announce_change(f"topics/t{number}")
    children, merge = store.session.children, notifications.merge

    async def shuffled(path, watch=None):
        names = await children(path, watch)
        return [*names[50:], *reversed(names[:50])]

    def noted(*runs):
        sorted_at_once.extend(map(len, runs))
        return merge(*runs)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(notifications, "_SLICE", 8)
        patched.setattr(store.session, "children", shuffled)
        patched.setattr(notifications, "merge", noted)
        listener = config_change_listener(store.znodes, applied, Clock(0))
        await listener.start()
        await listener.stop()
    assert applied.entities == [f"topics/t{number}" for number in range(100)]
    assert sum(sorted_at_once) == 100 and max(sorted_at_once) == 8
