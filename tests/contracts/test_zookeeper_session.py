"""One suite for the real ZooKeeper and the one in memory: what the protocol of kafka_py.zk.session promises.

Each promise is a coroutine over a World; `on_both` makes it two tests.
"""

import asyncio
import functools

import pytest

from kafka_py.testing.peers.tcp_proxy import TcpProxy
from kafka_py.testing.zookeeper import FakeZookeeper, expire_real_session
from kafka_py.zk.configs import ConnectString
from kafka_py.zk.kazoo_session import KazooSession
from kafka_py.zk.secured.access_lists import OPEN, Access, AccessEntry
from kafka_py.zk.session import (
    BadArguments,
    BadVersion,
    CheckOp,
    CreateOp,
    DeleteOp,
    EventType,
    InvalidAcl,
    MultiFailed,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
    SessionClosed,
    SessionExpired,
    SessionState,
    SetOp,
    WatchEvent,
)

WAIT_S = 20


class FakeWorld:
    """Sessions of a FakeZookeeper."""

    def __init__(self, _connect):
        self._server = FakeZookeeper()
        self._sessions = []

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        for session in self._sessions:
            await session.close()

    async def session(self):
        session = self._server.session()
        await session.connect()
        self._sessions.append(session)
        return session

    async def expire(self, session):
        session.expire()

    async def cut(self, session):
        session.cut()

    async def mend(self, session):
        session.mend()

    async def with_lost_reply(self, session, request, _happened):
        session.lose_next_reply()
        return await request


class RealWorld:
    """Sessions of a real server, each behind a proxy of its own."""

    def __init__(self, connect):
        self._connect = ConnectString.parse(connect)
        self._sessions = {}

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        for session, proxy in self._sessions.items():
            proxy.mend()
            await session.close()
            await proxy.__aexit__(None, None, None)

    async def session(self):
        proxy = await TcpProxy(*self._connect.servers[0]).__aenter__()
        session = KazooSession(
            f"127.0.0.1:{proxy.port}{self._connect.chroot}", session_timeout_ms=10_000, create_chroot=True
        )
        await session.connect()
        self._sessions[session] = proxy
        return session

    async def expire(self, session):
        await expire_real_session(session, str(self._connect))

    async def cut(self, session):
        gone = state_reached(session, SessionState.SUSPENDED)
        self._sessions[session].cut()
        await gone

    async def mend(self, session):
        self._sessions[session].mend()

    async def with_lost_reply(self, session, request, happened):
        """happened: a coroutine function that another session answers with true once the request was carried out."""
        proxy = self._sessions[session]
        proxy.swallow_replies()
        task = asyncio.ensure_future(request)
        while not await happened():
            pass
        proxy.cut()
        proxy.mend()
        return await task


WORLDS = {"fake": FakeWorld, "real": RealWorld}


def on_both(promise):
    """Runs a promise on the fake and on the real thing."""

    @pytest.mark.parametrize("kind", WORLDS)
    @functools.wraps(promise)
    def test(kind, request):
        async def run():
            async with asyncio.timeout(WAIT_S), WORLDS[kind](connect) as world:
                await promise(world)

        connect = request.getfixturevalue("zk_chroot") if kind == "real" else ""
        asyncio.run(run())

    del test.__wrapped__  # or pytest would take `world` for a fixture
    return test


def state_reached(session, state):
    """A future for the moment at which the session gets into the state."""
    reached = asyncio.get_running_loop().create_future()

    def listen(new):
        if new is state and not reached.done():
            session.remove_listener(listen)
            reached.set_result(None)

    session.add_listener(listen)
    return reached


class Events:
    """A watch that keeps what it sees."""

    def __init__(self):
        self.seen = []
        self._changed = asyncio.Event()

    def __call__(self, event):
        self.seen.append((event.type, event.path))
        self._changed.set()

    async def wait(self, count=1):
        while len(self.seen) < count:
            self._changed.clear()
            await self._changed.wait()
        return self.seen


async def settled(session):
    """After this, whatever the server sent before has arrived."""
    await session.sync("/")
    await session.exists("/")


# ---- reads and writes


@on_both
async def test_what_is_written_is_read_back_with_its_versions(world):
    zk = await world.session()
    path, created = await zk.create("/a", b"one")
    assert (path, created.version, created.data_length, created.ephemeral_owner) == ("/a", 0, 3, 0)
    written = await zk.set("/a", b"three", 0)
    assert (written.version, written.data_length) == (1, 5)
    assert written.mzxid > written.czxid == created.czxid
    assert await zk.get("/a") == (b"three", written)
    assert await zk.exists("/a") == written
    await zk.delete("/a", 1)
    assert await zk.exists("/a") is None


@on_both
async def test_null_data_and_empty_data_are_two_things(world):
    zk = await world.session()
    await zk.create("/null")
    await zk.create("/empty", b"")
    assert (await zk.get("/null"))[0] is None
    assert (await zk.get("/empty"))[0] == b""
    await zk.set("/empty", None)
    assert (await zk.get("/empty"))[0] is None
    await zk.multi([CreateOp("/m"), SetOp("/null", b"")])
    assert (await zk.get("/m"))[0] is None
    assert (await zk.get("/null"))[0] == b""


@on_both
async def test_refused_requests_name_the_reason_and_the_path(world):
    zk = await world.session()
    await zk.create("/a")
    await zk.create("/a/b")
    await zk.create("/e", ephemeral=True)
    for error, request in [
        (NoNode, zk.get("/none")),
        (NoNode, zk.children("/none")),
        (NoNode, zk.set("/none", b"")),
        (NoNode, zk.delete("/none")),
        (NoNode, zk.create("/none/a")),
        (NodeExists, zk.create("/a")),
        (BadVersion, zk.set("/a", b"", 5)),
        (BadVersion, zk.delete("/a/b", 5)),
        (NotEmpty, zk.delete("/a")),
        (NoChildrenForEphemerals, zk.create("/e/a")),
        (BadArguments, zk.get("a")),
        (BadArguments, zk.create("/a/")),
        (BadArguments, zk.exists("/a//b")),
        (BadArguments, zk.children("")),
    ]:
        with pytest.raises(error):
            await request
    with pytest.raises(NodeExists, match="/a"):
        await zk.create("/a")


@on_both
async def test_children_are_names_and_their_parent_counts_them(world):
    zk = await world.session()
    _, parent = await zk.create("/a")
    assert await zk.children("/a") == []
    await zk.create("/a/x")
    _, last = await zk.create("/a/y")
    await zk.create("/a/x/deep")
    stat = await zk.exists("/a")
    assert sorted(await zk.children("/a")) == ["x", "y"]
    assert (stat.num_children, stat.cversion, stat.pzxid) == (2, 2, last.czxid)
    assert stat.mzxid == parent.mzxid
    await zk.delete("/a/y")
    stat = await zk.exists("/a")
    assert (stat.num_children, stat.cversion) == (1, 3)


@on_both
async def test_sequence_numbers_have_ten_digits_and_never_come_again(world):
    zk = await world.session()
    await zk.create("/q")
    first, _ = await zk.create("/q/n_", b"", sequence=True)
    second, _ = await zk.create("/q/other_", b"", sequence=True)
    await zk.delete(second)
    third, _ = await zk.create("/q/n_", b"", sequence=True)
    assert [first, second, third] == ["/q/n_0000000000", "/q/other_0000000001", "/q/n_0000000002"]


@on_both
async def test_every_creation_has_a_larger_czxid(world):
    """Broker epochs rest on it."""
    zk = await world.session()
    _, first = await zk.create("/a")
    await zk.delete("/a")
    _, second = await zk.create("/a")
    assert second.czxid > first.czxid


@on_both
async def test_requests_issued_together_are_carried_out_in_order(world):
    zk = await world.session()
    await zk.create("/a")
    stats = await asyncio.gather(*(zk.set("/a", str(number).encode(), number) for number in range(300)))
    assert [stat.version for stat in stats] == list(range(1, 301))
    assert (await zk.get("/a"))[0] == b"299"


# ---- multi


@on_both
async def test_a_multi_gives_each_operations_result_and_later_ones_see_earlier_ones(world):
    zk = await world.session()
    await zk.create("/a", b"x")
    results = await zk.multi(
        [
            CheckOp("/a", 0),
            CreateOp("/b", ephemeral=True),
            SetOp("/b", b"payload", 0),
            CreateOp("/a/n_", sequence=True),
            DeleteOp("/a/n_0000000000"),
        ]
    )
    assert results[0] is None
    assert results[1] == "/b"
    assert (results[2].version, results[2].ephemeral_owner) == (1, zk.session_id)
    assert results[3:] == ["/a/n_0000000000", None]
    assert await zk.get("/b") == (b"payload", results[2])


@on_both
async def test_a_failed_multi_changes_nothing_and_names_what_failed(world):
    zk = await world.session()
    await zk.create("/a")
    events = Events()
    await zk.exists("/new", events)
    cases = [
        ([CreateOp("/new"), CheckOp("/a", 7), SetOp("/a", b"")], 1, BadVersion, "/a"),
        ([CheckOp("/none", 0), CreateOp("/new")], 0, NoNode, "/none"),
        ([CreateOp("/new"), SetOp("/a", b"x"), CreateOp("/a")], 2, NodeExists, "/a"),
        ([CreateOp("/new"), CreateOp("/new/x"), DeleteOp("/new")], 2, NotEmpty, "/new"),
        ([SetOp("/a", b"x", 0), DeleteOp("/none")], 1, NoNode, "/none"),
    ]
    for ops, index, error, path in cases:
        with pytest.raises(MultiFailed) as failure:
            await zk.multi(ops)
        assert (failure.value.index, type(failure.value.error), failure.value.error.path) == (index, error, path)
    assert await zk.exists("/new") is None
    data, stat = await zk.get("/a")
    assert (data, stat.version, stat.num_children) == (None, 0, 0)
    assert events.seen == []


# ---- watches


@on_both
async def test_each_kind_of_watch_sees_its_changes_once(world):
    zk, other = await world.session(), await world.session()
    await other.create("/a")
    data, exist, child = Events(), Events(), Events()
    await zk.get("/a", data)
    assert await zk.exists("/b", exist) is None
    await zk.children("/a", child)

    await other.set("/a", b"1")
    await other.set("/a", b"2")
    await other.create("/b")
    await other.set("/b", b"")
    await other.create("/a/x")
    await other.create("/a/y")
    await settled(zk)
    assert data.seen == [(EventType.CHANGED, "/a")]
    assert exist.seen == [(EventType.CREATED, "/b")]
    assert child.seen == [(EventType.CHILDREN, "/a")]


@on_both
async def test_deletion_fires_every_kind_on_the_node_and_the_parents_child_watch(world):
    zk = await world.session()
    await zk.create("/p")
    await zk.create("/p/a")
    data, child, parent = Events(), Events(), Events()
    await zk.exists("/p/a", data)
    await zk.children("/p/a", child)
    await zk.children("/p", parent)
    await zk.delete("/p/a")
    await settled(zk)
    assert data.seen == child.seen == [(EventType.DELETED, "/p/a")]
    assert parent.seen == [(EventType.CHILDREN, "/p")]


@on_both
async def test_a_child_watch_does_not_see_data_nor_a_data_watch_children(world):
    zk = await world.session()
    await zk.create("/a")
    data, child = Events(), Events()
    await zk.get("/a", data)
    await zk.children("/a", child)
    await zk.create("/a/x")
    await settled(zk)
    assert (data.seen, child.seen) == ([], [(EventType.CHILDREN, "/a")])
    await zk.children("/a", child)
    await zk.set("/a", b"")
    await settled(zk)
    assert (data.seen, len(child.seen)) == ([(EventType.CHANGED, "/a")], 1)


@on_both
async def test_a_request_that_fails_sets_no_watch(world):
    zk = await world.session()
    events = Events()
    for request in (zk.get("/a", events), zk.children("/a", events)):
        with pytest.raises(NoNode):
            await request
    await zk.create("/a")
    await zk.set("/a", b"")
    await zk.create("/a/x")
    await settled(zk)
    assert events.seen == []


@on_both
async def test_one_callable_set_twice_is_called_once_and_two_are_both_called(world):
    zk = await world.session()
    await zk.create("/a")
    once, too = Events(), Events()
    await zk.get("/a", once)
    await zk.exists("/a", once)
    await zk.exists("/a", too)
    await zk.set("/a", b"")
    await settled(zk)
    assert len(once.seen) == len(too.seen) == 1


@on_both
async def test_a_watch_runs_before_an_answer_that_shows_the_change(world):
    zk, other = await world.session(), await world.session()
    await zk.create("/a", b"old")
    order = []
    await zk.get("/a", lambda event: order.append("watch"))
    await other.set("/a", b"new")
    while (await zk.get("/a"))[0] != b"new":
        pass
    order.append("answer")
    assert order == ["watch", "answer"]


@on_both
async def test_a_watch_may_be_set_again_from_within_itself(world):
    zk = await world.session()
    await zk.create("/a")
    seen = Events()
    tasks = []

    def again(event):
        seen(event)
        tasks.append(asyncio.ensure_future(zk.get("/a", again)))

    await zk.get("/a", again)
    for count in (1, 2, 3):
        await zk.set("/a", b"")
        await seen.wait(count)
        await asyncio.gather(*tasks)
    assert len(seen.seen) == 3


# ---- sessions


@on_both
async def test_ephemerals_vanish_when_their_session_is_closed(world):
    zk, other = await world.session(), await world.session()
    _, stat = await zk.create("/e", ephemeral=True)
    assert stat.ephemeral_owner == zk.session_id != 0
    gone = Events()
    await other.exists("/e", gone)
    await zk.close()
    assert zk.state is SessionState.CLOSED
    assert await gone.wait() == [(EventType.DELETED, "/e")]
    for request in (zk.get("/e"), zk.create("/x"), zk.multi([CheckOp("/", 0)])):
        with pytest.raises(SessionClosed):
            await request


@on_both
async def test_an_expired_session_is_replaced_between_the_hooks_and_watches_nothing(world):
    zk, other = await world.session(), await world.session()
    await zk.create("/e", ephemeral=True)
    await zk.create("/p")
    forgotten, gone = Events(), Events()
    await zk.get("/p", forgotten)
    await other.exists("/e", gone)
    old_id = zk.session_id
    story = []
    done = asyncio.get_running_loop().create_future()

    async def before():
        story.append(("before", zk.state))
        with pytest.raises(SessionExpired):
            await zk.get("/p")

    async def after():
        story.append(("after", zk.state, zk.session_id != old_id, await zk.exists("/e")))
        done.set_result(None)

    zk.add_listener(story.append)
    zk.add_expiry_hooks(before=before, after=after)
    await world.expire(zk)
    await done

    assert [step for step in story if step is not SessionState.SUSPENDED] == [
        SessionState.EXPIRED,
        ("before", SessionState.EXPIRED),
        SessionState.CONNECTING,
        SessionState.CONNECTED,
        ("after", SessionState.CONNECTED, True, None),
    ]
    assert await gone.wait() == [(EventType.DELETED, "/e")]
    await other.set("/p", b"changed")
    await settled(zk)
    assert forgotten.seen == []


@on_both
async def test_a_session_may_expire_more_than_once(world):
    zk = await world.session()
    ids = [zk.session_id]
    for _ in range(2):
        renewed = asyncio.get_running_loop().create_future()

        async def after(renewed=renewed):
            if not renewed.done():
                renewed.set_result(None)

        zk.add_expiry_hooks(after=after)
        await world.expire(zk)
        await renewed
        ids.append(zk.session_id)
    assert len(set(ids)) == 3
    await zk.create("/still-works")


@on_both
async def test_while_the_connection_is_cut_requests_wait_and_are_then_carried_out_in_order(world):
    zk = await world.session()
    await zk.create("/e", ephemeral=True)
    session_id = zk.session_id
    await world.cut(zk)
    assert zk.state is SessionState.SUSPENDED
    requests = asyncio.gather(zk.create("/a", b"0"), *(zk.set("/a", b"", number) for number in range(20)))
    back = state_reached(zk, SessionState.CONNECTED)
    await asyncio.sleep(0)
    assert not requests.done()
    await world.mend(zk)
    results = await requests
    await back
    assert results[-1].version == 20
    assert zk.session_id == session_id
    assert (await zk.exists("/e")).ephemeral_owner == session_id


@on_both
async def test_changes_missed_while_the_connection_was_cut_fire_afterwards(world):
    zk, other = await world.session(), await world.session()
    for path in ("/changed", "/deleted", "/parent", "/gone-parent"):
        await other.create(path)
    watches = {name: Events() for name in ("changed", "deleted", "created", "children", "gone", "untouched")}
    await other.create("/untouched")
    await zk.get("/changed", watches["changed"])
    await zk.exists("/deleted", watches["deleted"])
    await zk.exists("/created", watches["created"])
    await zk.children("/parent", watches["children"])
    await zk.children("/gone-parent", watches["gone"])
    await zk.get("/untouched", watches["untouched"])
    await zk.children("/untouched", watches["untouched"])

    await world.cut(zk)
    await other.set("/changed", b"")
    await other.delete("/deleted")
    await other.create("/created")
    await other.create("/parent/x")
    await other.delete("/gone-parent")
    await world.mend(zk)

    assert await watches["changed"].wait() == [(EventType.CHANGED, "/changed")]
    assert await watches["deleted"].wait() == [(EventType.DELETED, "/deleted")]
    assert await watches["created"].wait() == [(EventType.CREATED, "/created")]
    assert await watches["children"].wait() == [(EventType.CHILDREN, "/parent")]
    assert await watches["gone"].wait() == [(EventType.DELETED, "/gone-parent")]
    await settled(zk)
    assert watches["untouched"].seen == []


@on_both
async def test_watches_stay_armed_across_a_reconnect(world):
    zk, other = await world.session(), await world.session()
    await other.create("/a")
    data, exist, child = Events(), Events(), Events()
    await zk.get("/a", data)
    await zk.exists("/b", exist)
    await zk.children("/a", child)
    for _ in range(2):
        await world.cut(zk)
        back = state_reached(zk, SessionState.CONNECTED)
        await world.mend(zk)
        await back
        await settled(zk)
    assert (data.seen, exist.seen, child.seen) == ([], [], [])
    await other.set("/a", b"")
    await other.create("/b")
    await other.create("/a/x")
    assert await data.wait() == [(EventType.CHANGED, "/a")]
    assert await exist.wait() == [(EventType.CREATED, "/b")]
    assert await child.wait() == [(EventType.CHILDREN, "/a")]


@on_both
async def test_a_watch_that_was_set_while_cut_is_set_after_all(world):
    zk, other = await world.session(), await world.session()
    await other.create("/a")
    await world.cut(zk)
    events = Events()
    request = asyncio.ensure_future(zk.get("/a", events))
    await asyncio.sleep(0)
    await world.mend(zk)
    await request
    await other.set("/a", b"")
    assert await events.wait() == [(EventType.CHANGED, "/a")]


@on_both
async def test_a_write_whose_reply_was_lost_is_sent_again(world):
    """So the writer sees NodeExists or BadVersion, and must look whether it was itself."""
    zk, other = await world.session(), await world.session()

    async def created():
        return await other.exists("/a")

    with pytest.raises(NodeExists):
        await world.with_lost_reply(zk, zk.create("/a", b"mine"), created)
    assert await zk.get("/a") == await other.get("/a")

    async def changed():
        return (await other.exists("/a")).version == 1

    with pytest.raises(BadVersion):
        await world.with_lost_reply(zk, zk.set("/a", b"x", 0), changed)


@on_both
async def test_an_expiry_while_cut_fails_the_waiting_requests(world):
    zk = await world.session()
    await world.cut(zk)
    request = asyncio.ensure_future(zk.get("/"))
    await asyncio.sleep(0)
    await world.expire(zk)
    if zk.state is SessionState.SUSPENDED:
        await world.mend(zk)
    with pytest.raises(SessionExpired):
        await request


@on_both
async def test_closing_while_cut_fails_the_waiting_requests(world):
    zk = await world.session()
    await world.cut(zk)
    request = asyncio.ensure_future(zk.get("/"))
    await asyncio.sleep(0)
    await zk.close()
    with pytest.raises(SessionClosed):
        await request
    await zk.close()


@on_both
async def test_a_watch_that_raises_harms_nobody(world):
    zk = await world.session()
    await zk.create("/a")
    events = Events()

    def broken(_event: WatchEvent) -> None:
        raise RuntimeError("a bug in a watch")

    await zk.get("/a", broken)
    await zk.get("/a", events)
    await zk.set("/a", b"")
    assert await events.wait() == [(EventType.CHANGED, "/a")]


@on_both
async def test_an_access_list_is_read_and_replaced_and_its_versions_are_counted(world):
    session = await world.session()
    path, _ = await session.create("/a")
    entries, stat = await session.access(path)
    assert (entries, stat.aversion) == (OPEN, 0)
    readable = (AccessEntry(Access.READ | Access.ADMIN, "world", "anyone"),)
    stat = await session.set_access(path, readable, 0)
    assert (stat.version, stat.aversion) == (0, 1)
    entries, again = await session.access(path)
    assert (entries, again) == (readable, stat)
    with pytest.raises(BadVersion):
        await session.set_access(path, OPEN, 0)
    with pytest.raises(InvalidAcl):
        await session.set_access(path, ())
    with pytest.raises(NoNode):
        await session.set_access("/missing", OPEN)
    assert (await session.set_access(path, OPEN)).aversion == 2
