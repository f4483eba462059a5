"""Logins under way: one browser, once, in time."""

import pytest

from kafka_py.base.chance import Chance
from kafka_py.manager.identity.oidc import transactions
from kafka_py.manager.identity.oidc.transactions import LIFETIME_MS, LoginTransactions, TransactionRefused
from kafka_py.testing.clock import ManualClock


def test_a_login_ends_once_and_in_the_browser_that_began_it() -> None:
    logins = LoginTransactions(ManualClock(), Chance(1))
    made = logins.begin("/a")
    assert len({made.state, made.nonce, made.verifier, made.secret}) == 4
    for cookies in ({}, {made.cookie: ""}, {made.cookie: "0" * 64}, {made.cookie: "\udcff"}, {"other": made.secret}):
        with pytest.raises(TransactionRefused, match="another browser"):
            logins.take(made.state, cookies)
    assert logins.take(made.state, {made.cookie: made.secret}).next == "/a"
    with pytest.raises(TransactionRefused, match="finished before"):
        logins.take(made.state, {made.cookie: made.secret})


def test_two_tabs_have_a_login_each() -> None:
    logins = LoginTransactions(ManualClock(), Chance(1))
    one, two = logins.begin("/1"), logins.begin("/2")
    cookies = {one.cookie: one.secret, two.cookie: two.secret}
    assert len(cookies) == 2
    with pytest.raises(TransactionRefused, match="another browser"):
        logins.take(one.state, {one.cookie: two.secret})
    assert logins.take(two.state, cookies).next == "/2"
    assert logins.take(one.state, cookies).next == "/1"


def test_a_login_that_took_too_long_is_refused() -> None:
    clock = ManualClock()
    logins = LoginTransactions(clock, Chance(1))
    in_time, late = logins.begin("/"), logins.begin("/")
    clock.advance(LIFETIME_MS)
    logins.take(in_time.state, {in_time.cookie: in_time.secret})
    clock.advance(1)
    with pytest.raises(TransactionRefused, match="too long"):
        logins.take(late.state, {late.cookie: late.secret})


def test_the_oldest_login_is_dropped_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "MOST_OPEN", 2)
    logins = LoginTransactions(ManualClock(), Chance(1))
    old, *kept = [logins.begin("/") for _ in range(3)]
    for made in kept:
        logins.take(made.state, {made.cookie: made.secret})
    with pytest.raises(TransactionRefused, match="finished before"):
        logins.take(old.state, {old.cookie: old.secret})
