"""Sessions end by time and by logout, and are found by an id that nobody can guess."""

from kafka_py.base.chance import Chance
from kafka_py.manager.identity.roles import AccessRole, WebUser
from kafka_py.manager.identity.sessions import MOST_SESSIONS, BrowserSessions
from kafka_py.testing.clock import ManualClock

ANN = WebUser("ann", AccessRole.READER)


def sessions(clock: ManualClock) -> BrowserSessions:
    return BrowserSessions(clock, Chance(1), idle_ms=1_000, longest_ms=5_000)


def test_a_session_is_found_by_its_key_only() -> None:
    opened = sessions(ManualClock())
    one, two = opened.open(ANN), opened.open(ANN)
    assert opened.find(one.key) is one
    assert opened.find("") is None
    assert len({one.key, two.key, one.csrf_token, two.csrf_token}) == 4
    assert all(len(text) == 64 for text in (one.key, one.csrf_token))
    opened.close(one.key)
    assert opened.find(one.key) is None


def test_an_unused_session_ends() -> None:
    clock = ManualClock()
    opened = sessions(clock)
    session = opened.open(ANN)
    for _ in range(3):
        clock.advance(1_000)
        assert opened.find(session.key) is session
    clock.advance(1_001)
    assert opened.find(session.key) is None


def test_whoever_only_asks_for_a_session_does_not_use_it() -> None:
    clock = ManualClock()
    opened = sessions(clock)
    session = opened.open(ANN)
    clock.advance(1_000)
    assert opened.is_open(session.key)
    clock.advance(1)
    assert not opened.is_open(session.key)
    assert not opened.is_open("")


def test_a_session_in_use_ends_as_well() -> None:
    clock = ManualClock()
    opened = sessions(clock)
    session = opened.open(ANN)
    for _ in range(5):
        clock.advance(1_000)
        assert opened.find(session.key) is session
    clock.advance(1)
    assert opened.find(session.key) is None


def test_the_one_that_was_unused_for_longest_is_dropped_for_one_more() -> None:
    opened = sessions(ManualClock())
    first, second = opened.open(ANN), opened.open(ANN)
    for _ in range(MOST_SESSIONS - 2):
        opened.open(ANN)
    assert opened.find(first.key) is first
    opened.open(ANN)
    assert opened.find(second.key) is None
    assert opened.find(first.key) is first
