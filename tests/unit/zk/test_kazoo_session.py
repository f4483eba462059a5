"""What the real session decides, with a connection that does what the test says. kazoo's part is in tests/contracts."""

import asyncio
import logging

import pytest

from kafka_py.testing.virtual_time import run_virtual
from kafka_py.zk.kazoo_session import KazooSession
from kafka_py.zk.requests import SetWatchesRequest
from kafka_py.zk.secured.access_lists import CREATOR_AND_READERS, CREATOR_ONLY, OPEN, Access, AccessEntry
from kafka_py.zk.secured.protection import SessionProtection
from kafka_py.zk.session import (
    AuthFailed,
    CheckOp,
    ConnectionLoss,
    ConnectTimeout,
    CreateOp,
    EventType,
    NoNode,
    SessionClosed,
    SessionExpired,
    SessionState,
    WatchEvent,
)

CREDENTIALS = (77, b"secret")


class Connection:
    """Keeps what was sent; the test answers."""

    def __init__(self, owner, credentials):
        self.owner = owner
        self.credentials = credentials
        self.sent = []
        self.stopped = False

    def start(self):
        pass

    def call(self, request):
        self.sent.append(request)

    def stop(self):
        self.stopped = True
        done = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    def operations(self):
        return [repr(request.operation) for request in self.sent]

    def answer(self, index, value=None, error=None):
        self.owner.on_answer(self, self.sent[index], value, error)


class Session(KazooSession):
    """A session whose connections are the test's."""

    def __init__(self, **settings):
        super().__init__("h:1/chroot", **settings)
        self.made = []

    def _new_connection(self, credentials):
        self.made.append(Connection(self, credentials))
        return self.made[-1]


async def connected():
    session = Session()
    connecting = asyncio.ensure_future(session.connect())
    await asyncio.sleep(0)
    session.on_connected(session.made[0], CREDENTIALS)
    await connecting
    return session, session.made[0]


def virtually(scenario):
    """Runs a coroutine function in virtual time."""

    def test():
        run_virtual(scenario())

    test.__name__, test.__doc__ = scenario.__name__, scenario.__doc__
    return test


async def issue(*requests):
    """The requests as tasks that have begun."""
    tasks = [asyncio.ensure_future(request) for request in requests]
    await asyncio.sleep(0)
    return tasks


@virtually
async def test_paths_are_below_the_chroot_on_the_wire_and_only_there():
    session, connection = await connected()
    tasks = await issue(session.exists("/"), session.get("/a"), session.create("/b"))
    assert connection.operations()[:2] == [
        "ExistsRequest('/chroot', watch=False)",
        "GetRequest('/chroot/a', watch=False)",
    ]
    connection.answer(2, ("/chroot/b", "stat"))
    assert await tasks[2] == ("/b", "stat")
    connection.answer(0, None)
    assert await tasks[0] is None
    connection.answer(1, error=SessionExpired())
    with pytest.raises(SessionExpired):
        await tasks[1]


@virtually
async def test_lost_requests_are_sent_again_before_later_ones_in_the_order_of_issue():
    session, connection = await connected()
    lost = await issue(*(session.exists(f"/{n}") for n in range(3)))
    for index in (0, 1, 2):
        connection.answer(index, error=ConnectionLoss())
    late = await issue(session.exists("/3"))  # the news of the disconnect is still on its way
    session.on_suspended(connection, 5)
    later = await issue(session.exists("/4"))
    assert len(connection.sent) == 3
    session.on_connected(connection, CREDENTIALS)
    assert connection.operations()[3:] == [f"ExistsRequest('/chroot/{n}', watch=False)" for n in range(5)]
    for index in range(3, 8):
        connection.answer(index, index)
    assert [await task for task in (*lost, *late, *later)] == [3, 4, 5, 6, 7]


@virtually
async def test_watches_are_armed_first_with_the_zxid_of_the_disconnect():
    session, connection = await connected()
    seen = []
    await issue(session.get("/a", seen.append), session.exists("/b", seen.append), session.children("/", seen.append))
    for index, value in enumerate([(b"", "stat"), None, []]):
        connection.answer(index, value)
    session.on_suspended(connection, 41)
    await issue(session.exists("/c"))
    session.on_connected(connection, CREDENTIALS)
    armed = connection.sent[3].operation
    assert isinstance(armed, SetWatchesRequest)
    assert (armed.last_zxid, *armed.lists) == (41, ["/chroot/a"], ["/chroot/b"], ["/chroot"])
    assert connection.operations()[4] == "ExistsRequest('/chroot/c', watch=False)"
    session.on_event(connection, WatchEvent(EventType.CHILDREN, "/chroot"))
    session.on_event(connection, WatchEvent(EventType.CREATED, "/chroot/b"))
    assert seen == [WatchEvent(EventType.CHILDREN, "/"), WatchEvent(EventType.CREATED, "/b")]


@virtually
async def test_many_watches_are_armed_in_pieces_that_the_server_takes():
    session, connection = await connected()
    count = 10_000
    tasks = await issue(*(session.get(f"/topic-with-a-long-name-{n:05}", print) for n in range(count)))
    for index in range(count):
        connection.answer(index, (b"", "stat"))
    await asyncio.gather(*tasks)
    session.on_suspended(connection, 1)
    session.on_connected(connection, CREDENTIALS)
    pieces = [request.operation for request in connection.sent[count:]]
    assert len(pieces) == 4
    assert sum(len(piece.lists[0]) for piece in pieces) == count
    assert max(len(piece.serialize()) for piece in pieces) < 140_000


@virtually
async def test_an_expiry_fails_what_waits_and_makes_a_new_session_without_watches():
    session, connection = await connected()
    await issue(session.get("/a", print))
    connection.answer(0, (b"", "stat"))
    session.on_suspended(connection, 1)
    (waiting,) = await issue(session.exists("/b"))
    session.on_lost(connection, SessionState.EXPIRED)
    assert connection.stopped
    assert session.state is SessionState.EXPIRED
    with pytest.raises(SessionExpired):
        await waiting
    await asyncio.sleep(0.1)
    fresh = session.made[1]
    assert fresh.credentials is None
    assert session.state is SessionState.CONNECTING
    (early,) = await issue(session.exists("/c"))
    session.on_connected(fresh, (78, b"other"))
    assert fresh.operations() == ["ExistsRequest('/chroot/c', watch=False)"]
    assert (session.session_id, session.state) == (78, SessionState.CONNECTED)
    fresh.answer(0, None)
    assert await early is None


@virtually
async def test_news_of_a_former_connection_changes_nothing():
    session, old = await connected()
    (request,) = await issue(session.exists("/a"))
    session.on_lost(old, SessionState.EXPIRED)
    await asyncio.sleep(0.1)
    session.on_connected(session.made[1], (78, b"other"))
    session.on_suspended(old, 1)
    session.on_lost(old, SessionState.EXPIRED)
    session.on_connected(old, CREDENTIALS)
    assert (session.session_id, session.state) == (78, SessionState.CONNECTED)
    old.answer(0, error=ConnectionLoss())
    with pytest.raises(SessionExpired):
        await request


@virtually
async def test_refused_credentials_fail_the_start():
    session = Session()
    connecting = asyncio.ensure_future(session.connect())
    await asyncio.sleep(0)
    session.on_lost(session.made[0], SessionState.AUTH_FAILED)
    with pytest.raises(AuthFailed):
        await connecting
    assert session.state is SessionState.CLOSED
    assert len(session.made) == 1


@virtually
async def test_credentials_refused_later_are_tried_again_after_a_second():
    session, connection = await connected()
    session.on_lost(connection, SessionState.AUTH_FAILED)
    await asyncio.sleep(0.9)
    assert len(session.made) == 1
    with pytest.raises(AuthFailed):
        await session.exists("/")
    await asyncio.sleep(0.2)
    assert len(session.made) == 2


@virtually
async def test_a_lost_login_fails_what_waits_by_that_name():
    session, connection = await connected()
    session.on_suspended(connection, 1)
    (waiting,) = await issue(session.exists("/a"))
    session.on_lost(connection, SessionState.AUTH_FAILED)
    with pytest.raises(AuthFailed):
        await waiting


@virtually
async def test_a_session_to_take_over_that_is_gone_is_replaced_by_a_fresh_one():
    session = Session(credentials=CREDENTIALS)
    connecting = asyncio.ensure_future(session.connect())
    await asyncio.sleep(0)
    assert session.made[0].credentials == CREDENTIALS
    session.on_lost(session.made[0], SessionState.EXPIRED)
    assert session.made[1].credentials is None
    session.on_connected(session.made[1], (78, b"other"))
    await connecting
    assert session.session_id == 78


@virtually
async def test_a_request_larger_than_the_server_takes_is_sent_once():
    session, connection = await connected()
    (large,) = await issue(session.set("/a", bytes(1 << 20)))
    connection.answer(0, error=ConnectionLoss())
    with pytest.raises(ConnectionLoss, match="larger than"):
        await large


@virtually
async def test_closing_fails_what_waits_and_what_comes_later():
    session, connection = await connected()
    session.on_suspended(connection, 1)
    (waiting,) = await issue(session.exists("/a"))
    await session.close()
    for request in (waiting, session.exists("/b")):
        with pytest.raises(SessionClosed):
            await request
    await session.close()
    assert connection.stopped


@virtually
async def test_closing_ends_a_connect_that_is_under_way():
    session = Session()
    connecting = asyncio.ensure_future(session.connect())
    await asyncio.sleep(0)
    await session.close()
    with pytest.raises(SessionClosed):
        await connecting


@virtually
async def test_a_refused_login_ends_the_start_with_its_reason():
    session = Session()
    connecting = asyncio.ensure_future(session.connect())
    await asyncio.sleep(0)
    session.on_lost(session.made[0], SessionState.AUTH_FAILED, "section Client: the server refuses the password")
    with pytest.raises(AuthFailed, match="section Client: the server refuses the password"):
        await connecting


@virtually
async def test_a_start_without_tls_says_why():
    session = Session(connection_timeout_ms=500)
    connecting = asyncio.ensure_future(session.connect())
    await asyncio.sleep(0)
    for _ in range(3):
        session.on_attempt_failed(session.made[0], "h:1: the server's certificate is refused")
    with pytest.raises(ConnectTimeout, match=r"zookeeper\.connect=h:1/chroot .*; h:1: the server's certificate"):
        await connecting


def test_each_server_that_cannot_be_used_is_named_once_until_there_is_a_connection(caplog):
    caplog.set_level(logging.WARNING, logger="kafka_py.zk")  # commands that ran in this process have raised it

    async def scenario():
        session, connection = await connected()
        named = []
        for _ in range(2):
            for host in ("h", "i") * 3:
                session.on_attempt_failed(connection, f"{host}:1: the server's certificate is refused")
            named.append([record.args[0][:1] for record in caplog.records if "cannot be reached" in record.msg])
            session.on_suspended(connection, 1)
            session.on_connected(connection, CREDENTIALS)
        assert named == [["h", "i"], ["h", "i"] * 2]

    run_virtual(scenario())


@virtually
async def test_a_start_without_a_connection_names_what_each_server_said():
    session = Session(connection_timeout_ms=500)
    connecting = asyncio.ensure_future(session.connect())
    await asyncio.sleep(0)
    for reason in ("h:1: no TLS", "i:1: no login", "h:1: no TLS"):
        session.on_attempt_failed(session.made[0], reason)
    with pytest.raises(ConnectTimeout, match=r"; h:1: no TLS; i:1: no login$"):
        await connecting


@virtually
async def test_a_chroot_of_many_levels_is_there_after_the_connect():
    session = Session(create_chroot=True)
    session._chroot = "/a/b/c"
    there = set()
    connecting = asyncio.ensure_future(session.connect())
    await asyncio.sleep(0)
    session.on_connected(session.made[0], CREDENTIALS)
    answered = 0
    while not connecting.done():
        await asyncio.sleep(0)
        sent = session.made[0].sent
        for request in sent[answered:]:
            parent = request.path.rpartition("/")[0]
            error = None if parent in ("", *there) else NoNode(request.path)
            if error is None:
                there.add(request.path)
            session.made[0].answer(answered, (request.path, "stat"), error)
            answered += 1
    assert there == {"/a", "/a/b", "/a/b/c"}


@virtually
async def test_logins_are_reported():
    session, connection = await connected()
    logins = []
    session.report_logins(lambda: logins.append(1))
    session.on_logged_in(connection)
    session.on_logged_in("the connection before")
    assert len(logins) == 1


@virtually
async def test_new_znodes_have_the_lists_of_their_paths_below_the_chroot():
    session = Session(create_chroot=True, protection=SessionProtection(protects=True))
    connecting = asyncio.ensure_future(session.connect())
    await asyncio.sleep(0)
    connection = session.made[0]
    session.on_connected(connection, CREDENTIALS)
    for _ in range(3):
        await asyncio.sleep(0)
    assert list_of(connection.sent[0].operation.operation) == CREATOR_AND_READERS  # the chroot
    connection.answer(0, ("/chroot", "stat"))
    await connecting
    await issue(
        session.create("/consumers"),
        session.create("/config/users"),
        session.create("/config/users", access=OPEN),
        session.multi([CheckOp("/a", 0), CreateOp("/config/brokers/0"), CreateOp("/a")]),
    )
    lists = [list_of(request.operation.operation) for request in connection.sent[1:4]]
    assert lists == [OPEN, CREATOR_ONLY, OPEN]
    multi = connection.sent[4].operation.operations
    assert [list_of(operation) for operation in multi[1:]] == [CREATOR_ONLY, CREATOR_AND_READERS]


def list_of(creation):
    """The access list of a creation of kazoo's."""
    return tuple(AccessEntry(Access(entry.perms), entry.id.scheme, entry.id.id) for entry in creation.acl)
