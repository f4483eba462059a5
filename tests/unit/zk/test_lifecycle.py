"""The states of a session, and what surrounds its renewal."""

import asyncio

import pytest

from kafka_py.base.clock import SystemClock
from kafka_py.base.moves import IllegalMove
from kafka_py.zk import lifecycle
from kafka_py.zk.lifecycle import MOVES, SessionLifecycle
from kafka_py.zk.session import AuthFailed, SessionClosed, SessionExpired, SessionState

CONNECTING, CONNECTED, EXPIRED = SessionState.CONNECTING, SessionState.CONNECTED, SessionState.EXPIRED


class Session(SessionLifecycle):
    """Opens at once."""

    async def _open(self):
        self._become(CONNECTED)

    def move(self, state):
        self._become(state)

    def refuse(self):
        self._refuse_if_lost()


@pytest.mark.parametrize("target", SessionState)
@pytest.mark.parametrize("origin", SessionState)
def test_every_legal_move_works_and_every_other_raises(origin, target):
    if target in MOVES.events(origin):
        assert MOVES.after(origin, target) is target
    else:
        with pytest.raises(IllegalMove):
            MOVES.after(origin, target)


def test_nothing_comes_after_closed():
    assert MOVES.events(SessionState.CLOSED) == ()


def test_requests_are_refused_only_where_waiting_is_in_vain():
    async def run():
        refused = {EXPIRED: SessionExpired, SessionState.AUTH_FAILED: AuthFailed, SessionState.CLOSED: SessionClosed}
        for state, error in refused.items():
            session = Session(SystemClock())
            session.move(CONNECTED)
            session.move(state)
            with pytest.raises(error):
                session.refuse()
        for states in ([], [CONNECTED], [CONNECTED, SessionState.SUSPENDED]):
            session = Session(SystemClock())
            for state in states:
                session.move(state)
            session.refuse()

    asyncio.run(run())


def test_a_hook_or_listener_that_fails_stops_neither_the_others_nor_the_renewal():
    async def run():
        session = Session(SystemClock())
        session.move(CONNECTED)
        story = []
        done = asyncio.Event()

        def broken_listener(_state):
            raise RuntimeError("a bug in a listener")

        async def broken_hook():
            raise RuntimeError("a bug in a hook")

        async def before():
            story.append("before")

        async def after():
            story.append("after")
            done.set()

        session.add_listener(broken_listener)
        session.add_listener(story.append)
        session.add_expiry_hooks(before=broken_hook, after=broken_hook)
        session.add_expiry_hooks(before=before, after=after)
        session.move(EXPIRED)
        await done.wait()
        assert story == [EXPIRED, "before", CONNECTING, CONNECTED, "after"]

    asyncio.run(run())


def test_a_removed_listener_hears_nothing():
    session = Session(SystemClock())
    heard = []
    session.add_listener(heard.append)
    session.remove_listener(heard.append)
    session.remove_listener(heard.append)
    session.move(CONNECTED)
    assert heard == []


class Reluctant(Session):
    """Fails to open with each of these errors in turn."""

    def __init__(self, *errors):
        super().__init__(SystemClock())
        self.errors = list(errors)
        self.attempts = 0

    async def _open(self):
        self.attempts += 1
        if self.errors:
            raise self.errors.pop(0)
        await super()._open()


def test_a_renewal_that_fails_is_tried_again_until_there_is_a_session(monkeypatch):
    monkeypatch.setattr(lifecycle, "RENEWAL_PAUSE_S", 0)

    async def run():
        session, renewed = Reluctant(OSError("no route"), AuthFailed(), RuntimeError("a bug")), asyncio.Event()
        session.move(CONNECTED)

        async def after():
            renewed.set()

        session.add_expiry_hooks(after=after)
        session.move(EXPIRED)
        await asyncio.wait_for(renewed.wait(), 10)
        assert (session.state, session.attempts) == (CONNECTED, 4)

    asyncio.run(run())


def test_a_session_that_is_closed_while_it_is_renewed_is_not_opened_again(monkeypatch):
    monkeypatch.setattr(lifecycle, "RENEWAL_PAUSE_S", 0)

    async def run():
        session = Reluctant(OSError("no route"))
        session.move(CONNECTED)
        ran = []

        async def before():
            session.move(SessionState.CLOSED)

        async def after():
            ran.append("after")

        session.add_expiry_hooks(before=before, after=after)
        session.move(EXPIRED)
        await asyncio.gather(*(task for task in asyncio.all_tasks() if task is not asyncio.current_task()))
        assert (session.attempts, ran) == (0, [])

    asyncio.run(run())
