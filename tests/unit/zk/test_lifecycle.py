"""The states of a session, and what surrounds its renewal."""

import asyncio

import pytest

from kafka_py.base.moves import IllegalMove
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
            session = Session()
            session.move(CONNECTED)
            session.move(state)
            with pytest.raises(error):
                session.refuse()
        for states in ([], [CONNECTED], [CONNECTED, SessionState.SUSPENDED]):
            session = Session()
            for state in states:
                session.move(state)
            session.refuse()

    asyncio.run(run())


def test_a_hook_or_listener_that_fails_stops_neither_the_others_nor_the_renewal():
    async def run():
        session = Session()
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
    session = Session()
    heard = []
    session.add_listener(heard.append)
    session.remove_listener(heard.append)
    session.remove_listener(heard.append)
    session.move(CONNECTED)
    assert heard == []
