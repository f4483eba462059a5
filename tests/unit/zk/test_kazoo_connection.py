"""What a connection reports of kazoo's states and of the login, without a server."""

import asyncio

import pytest
from kazoo import exceptions as kazoo_errors
from kazoo.client import KazooState, KeeperState

from kafka_py.zk import kazoo_connection
from kafka_py.zk.configs import ConnectString
from kafka_py.zk.kazoo_connection import KazooConnection
from kafka_py.zk.kazoo_session import KazooSession
from kafka_py.zk.secured.digest_md5 import DigestMd5, LoginFailed
from kafka_py.zk.secured.protection import UNSECURED, SessionProtection
from kafka_py.zk.session import SessionState

LOGIN = SessionProtection(login=DigestMd5("broker", "hush"), login_origin="section Client")


class Owner:
    """Notes the name of each event, and what is told besides the connection."""

    def __init__(self):
        self.events = []

    def __getattr__(self, name):
        return lambda _connection, *told: self.events.append((name, *told))


def events_of(protection, *steps):
    """What the owner hears of calls on kazoo's thread, each of which gets the connection."""

    async def run():
        owner = Owner()
        connection = KazooConnection(owner, ConnectString.parse("h:1"), 1000, 10, (7, b"secret"), protection)
        for step in steps:
            step(connection)
        await asyncio.sleep(0)
        return owner.events

    return asyncio.run(run())


def names_of(protection, *steps):
    return [name for name, *_ in events_of(protection, *steps)]


def is_connected(connection):
    connection._on_state(KazooState.CONNECTED)


def is_lost(connection):
    connection._on_state(KazooState.LOST)


@pytest.fixture
def logging_in(monkeypatch):
    """Makes a step of a login with this outcome."""

    def make(error=None):
        def log_in(*_):
            if error is not None:
                raise error

        def step(connection):
            monkeypatch.setattr(kazoo_connection, "log_in", log_in)
            connection._log_in("h", 1.0)

        return step

    return make


def test_requests_wait_for_the_login(logging_in):
    assert names_of(UNSECURED, is_connected) == ["on_connected"]
    assert names_of(LOGIN, is_connected) == []
    assert names_of(LOGIN, is_connected, logging_in()) == ["on_logged_in", "on_connected"]


def test_a_refused_login_ends_the_session_with_its_reason(logging_in):
    def refused(connection):
        with pytest.raises(kazoo_errors.AuthFailedError):
            logging_in(LoginFailed("the password is wrong"))(connection)
        connection._client._state = KeeperState.AUTH_FAILED

    [(name, state, reason)] = events_of(LOGIN, is_connected, refused, is_lost)
    assert (name, state) == ("on_lost", SessionState.AUTH_FAILED)
    assert reason == "section Client, at h: the password is wrong"


def test_a_login_that_is_cut_off_is_an_attempt_that_failed(logging_in):
    def cut_off(connection):
        with pytest.raises(kazoo_errors.ConnectionDropped):
            logging_in(kazoo_errors.ConnectionDropped("reset"))(connection)

    [(name, reason)] = events_of(LOGIN, cut_off)
    assert (name, reason) == ("on_attempt_failed", "section Client, at h: no login: reset")


def test_after_the_end_of_a_session_there_is_no_other_by_itself():
    def connects(connection):
        with pytest.raises(OSError, match="the session has expired"):
            connection._handler.create_connection(("127.0.0.1", 1), 1.0)

    assert events_of(UNSECURED, is_lost, connects) == [("on_lost", SessionState.EXPIRED, "")]


def test_each_connection_of_a_session_is_secured_alike():
    async def run():
        session = KazooSession("h:1", protection=LOGIN)
        made = [session._new_connection(each) for each in (None, (7, b"secret"))]
        return [connection._protection for connection in made]

    assert asyncio.run(run()) == [LOGIN, LOGIN]
