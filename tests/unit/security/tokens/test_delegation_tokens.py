"""How long a token is valid, and who may renew, end or see it."""

from dataclasses import replace

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.net.principal import Principal
from kafka_py.security.tokens.delegation_tokens import (
    DelegationToken,
    Lifetimes,
    expired,
    is_visible,
    new_token,
    renewed,
)

ALICE, BOB, EVE = (Principal("User", name) for name in ("alice", "bob", "eve"))
LIFETIMES = Lifetimes(longest_ms=1000, renewal_ms=100)
LONGEST_PERIOD = (1 << 63) - 1


def token(lifetime_ms: int = -1, lifetimes: Lifetimes = LIFETIMES) -> DelegationToken:
    return new_token("id", b"secret", ALICE, [BOB], lifetime_ms=lifetime_ms, lifetimes=lifetimes, now_ms=5000)


@pytest.mark.parametrize(
    ("asked_ms", "longest_ms", "renewal_ms", "expected"),
    [
        (-1, 1000, 100, (6000, 5100)),
        (0, 1000, 100, (6000, 5100)),
        (700, 1000, 100, (5700, 5100)),
        (50, 1000, 100, (5050, 5050)),
        (2000, 1000, 100, (6000, 5100)),
        (-1, 1000, 3000, (6000, 6000)),
        (LONGEST_PERIOD, LONGEST_PERIOD, LONGEST_PERIOD, (LONGEST_PERIOD, LONGEST_PERIOD)),
    ],
)
def test_times_of_a_new_token(asked_ms: int, longest_ms: int, renewal_ms: int, expected: tuple[int, int]) -> None:
    made = token(asked_ms, Lifetimes(longest_ms, renewal_ms))
    assert (made.max_ms, made.expires_ms) == expected
    assert made.issued_ms == 5000


@pytest.mark.parametrize(
    ("period_ms", "expected"), [(-1, 5150), (-7, 5150), (0, 5050), (20, 5070), (5000, 6000), (LONGEST_PERIOD, 6000)]
)
def test_a_renewed_token_never_outlasts_its_longest_time(period_ms: int, expected: int) -> None:
    for who in (ALICE, BOB):
        made = renewed(token(), who, period_ms, LIFETIMES, 5050)
        assert made.expires_ms == expected
        assert (made.issued_ms, made.max_ms, made.token_id) == (5000, 6000, "id")


@pytest.mark.parametrize(("period_ms", "expected"), [(0, 5050), (20, 5070), (5000, 6000)])
def test_a_token_is_given_another_end(period_ms: int, expected: int) -> None:
    made = expired(token(), BOB, period_ms, 5050)
    assert made is not None
    assert made.expires_ms == expected


def test_a_negative_period_ends_a_token_at_once() -> None:
    assert expired(token(), ALICE, -1, 5050) is None


@pytest.mark.parametrize(
    ("who", "now_ms", "code"),
    [
        (EVE, 5050, ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH),
        (EVE, 9000, ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH),
        (Principal("Group", "alice"), 5050, ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH),
        (ALICE, 5101, ErrorCode.DELEGATION_TOKEN_EXPIRED),
        (BOB, 6001, ErrorCode.DELEGATION_TOKEN_EXPIRED),
    ],
)
def test_refusals(who: Principal, now_ms: int, code: ErrorCode) -> None:
    for period_ms in (-1, 10):
        with pytest.raises(KafkaError) as failed:
            renewed(token(), who, period_ms, LIFETIMES, now_ms)
        assert failed.value.code is code
        with pytest.raises(KafkaError) as failed:
            expired(token(), who, period_ms, now_ms)
        assert failed.value.code is code


def test_the_last_millisecond_counts() -> None:
    assert not token().is_over(5100)
    assert token().is_over(5101)
    stored = replace(token(), max_ms=5050)  # as a broker of Apache Kafka may write it, whose sum overflows
    assert not stored.is_over(5050)
    assert stored.is_over(5051)
    assert renewed(token(), ALICE, 10, LIFETIMES, 5100).expires_ms == 5110


@pytest.mark.parametrize(
    ("who", "wanted", "may_describe", "expected"),
    [
        (ALICE, None, False, True),
        (BOB, None, False, True),
        (EVE, None, False, False),
        (EVE, None, True, True),
        (ALICE, {ALICE}, False, True),
        (ALICE, {BOB}, False, True),
        (ALICE, {EVE}, True, False),
        (EVE, {ALICE, EVE}, True, True),
        (ALICE, set(), True, False),
    ],
)
def test_who_is_shown_a_token(
    who: Principal, wanted: set[Principal] | None, may_describe: bool, expected: bool
) -> None:
    asked: list[str] = []

    def allows(name: str) -> bool:
        asked.append(name)
        return may_describe

    assert is_visible(token(), who, wanted, allows) is expected
    assert asked == (["id"] if who == EVE else [])


def test_a_token_does_not_show_its_hmac() -> None:
    assert "secret" not in repr(token())
    assert token().password == "c2VjcmV0"
