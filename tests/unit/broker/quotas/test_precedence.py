"""The order of precedence of quotas, and which clients share a budget."""

import pytest

from kafka_py.broker.quotas.precedence import ConfiguredLimits
from kafka_py.broker.quotas.quota_keys import QuotaEntity, tag_of

CLIENTS = [
    ("alice", "c1"), ("alice", "c2"), ("bob", "c1"), ("bob", "c2"), ("alice", ""), ("bob", ""), ("a b", "c 1"),
    ("ANONYMOUS", "c 1"),
]  # fmt: skip
# (static default, limits of entities, and for each of CLIENTS: user tag, client tag, limit)
CASES = [
    (
        None,
        [
            (None, "<default>", 100)
        ],
        [
            ("", "c1", 100.0), ("", "c2", 100.0), ("", "c1", 100.0), ("", "c2", 100.0), ("", "",
            None), ("", "", None), ("", "c 1", 100.0), ("", "c 1", 100.0)
        ],
    ),
    (
        None,
        [
            (None, "c1", 50), (None, "<default>", 100)
        ],
        [
            ("", "c1", 50.0), ("", "c2", 100.0), ("", "c1", 50.0), ("", "c2", 100.0), ("", "",
            None), ("", "", None), ("", "c 1", 100.0), ("", "c 1", 100.0)
        ],
    ),
    (
        None,
        [
            ("alice", None, 10), ("<default>", None, 20)
        ],
        [
            ("alice", "", 10.0), ("alice", "", 10.0), ("bob", "", 20.0), ("bob", "", 20.0),
            ("alice", "", 10.0), ("bob", "", 20.0), ("a%20b", "", 20.0), ("ANONYMOUS", "", 20.0)
        ],
    ),
    (
        None,
        [
            ("alice", "c1", 1), ("alice", "<default>", 2), ("alice", None, 3), ("<default>", "c1",
            4), ("<default>", "<default>", 5), ("<default>", None, 6), (None, "c1", 7), (None,
            "<default>", 8)
        ],
        [
            ("alice", "c1", 1.0), ("alice", "c2", 2.0), ("bob", "c1", 4.0), ("bob", "c2", 5.0),
            ("alice", "", 3.0), ("bob", "", 6.0), ("a%20b", "c 1", 5.0), ("ANONYMOUS", "c 1", 5.0)
        ],
    ),
    (
        None,
        [
            ("<default>", "c1", 4), ("alice", None, 3), (None, "<default>", 8)
        ],
        [
            ("alice", "", 3.0), ("alice", "", 3.0), ("bob", "c1", 4.0), ("", "c2", 8.0), ("alice",
            "", 3.0), ("", "", None), ("", "c 1", 8.0), ("", "c 1", 8.0)
        ],
    ),
    (
        None,
        [
            ("<default>", "<default>", 5), (None, "c1", 7)
        ],
        [
            ("alice", "c1", 5.0), ("alice", "c2", 5.0), ("bob", "c1", 5.0), ("bob", "c2", 5.0),
            ("alice", "", None), ("bob", "", None), ("a%20b", "c 1", 5.0), ("ANONYMOUS", "c 1", 5.0)
        ],
    ),
    (
        1000,
        [
        ],
        [
            ("", "c1", 1000.0), ("", "c2", 1000.0), ("", "c1", 1000.0), ("", "c2", 1000.0), ("", "",
            None), ("", "", None), ("", "c 1", 1000.0), ("", "c 1", 1000.0)
        ],
    ),
    (
        1000,
        [
            ("alice", None, 3)
        ],
        [
            ("alice", "", 3.0), ("alice", "", 3.0), ("", "c1", 1000.0), ("", "c2", 1000.0),
            ("alice", "", 3.0), ("", "", None), ("", "c 1", 1000.0), ("", "c 1", 1000.0)
        ],
    ),
    (
        None,
        [
            ("alice", "c1", 1)
        ],
        [
            ("alice", "c1", 1.0), ("alice", "c2", None), ("bob", "c1", None), ("bob", "c2", None),
            ("alice", "", None), ("bob", "", None), ("a%20b", "c 1", None), ("ANONYMOUS", "c 1",
            None)
        ],
    ),
    (
        None,
        [
        ],
        [
            ("", "c1", None), ("", "c2", None), ("", "c1", None), ("", "c2", None), ("", "", None),
            ("", "", None), ("", "c 1", None), ("", "c 1", None)
        ],
    ),
    (
        None,
        [
            ("a b", None, 9), (None, "c 1", 4)
        ],
        [
            ("", "c1", None), ("", "c2", None), ("", "c1", None), ("", "c2", None), ("", "", None),
            ("", "", None), ("a%20b", "", 9.0), ("", "c 1", 4.0)
        ],
    ),
]


def element(name: str | None) -> str | None:
    return name if name in (None, "<default>") else tag_of(name)


@pytest.mark.parametrize(("static_default", "quotas", "expected"), CASES)
def test_budgets_and_limits_are_those_of_apache_kafka(
    static_default: int | None, quotas: list[tuple[str | None, str | None, int]],
    expected: list[tuple[str, str, float | None]],
) -> None:  # fmt: skip
    limits = ConfiguredLimits(static_default)
    for user, client, limit in quotas:
        limits.set_limit(QuotaEntity(element(user), element(client)), limit)
    assert limits.is_on == bool(quotas or static_default)
    found = []
    for user, client in CLIENTS:
        tags = limits.tags_of(("User", user), client)
        found.append((*tags, limits.limit_of(tags)))
    assert found == expected


def test_a_level_counts_also_after_its_last_limit_was_removed() -> None:
    limits = ConfiguredLimits()
    assert limits.set_limit(QuotaEntity("alice", None), 5.0)
    assert not limits.set_limit(QuotaEntity("alice", None), 5.0)
    assert limits.set_limit(QuotaEntity("alice", None), None)
    assert not limits.set_limit(QuotaEntity("alice", None), None)
    assert limits.is_on
    assert limits.tags_of(("User", "bob"), "c") == ("bob", "")
    assert limits.limit_of(("bob", "")) is None


def test_a_users_default_client_comes_before_a_client_of_the_default_user() -> None:
    limits = ConfiguredLimits()
    limits.set_limit(QuotaEntity("<default>", "c"), 1.0)
    limits.set_limit(QuotaEntity("alice", "<default>"), 2.0)
    assert limits.limit_of(limits.tags_of(("User", "alice"), "c")) == 2.0
    assert limits.limit_of(limits.tags_of(("User", "bob"), "c")) == 1.0


def test_a_user_who_is_called_default_is_not_the_default() -> None:
    limits = ConfiguredLimits()
    limits.set_limit(QuotaEntity("<default>", None), 1.0)
    limits.set_limit(QuotaEntity(tag_of("<default>"), None), 2.0)
    assert limits.limit_of(limits.tags_of(("User", "<default>"), "c")) == 2.0
    assert limits.limit_of(limits.tags_of(("User", "alice"), "c")) == 1.0


SANITIZED = {
    "alice": "alice",
    "user@example.com": "user%40example.com",
    "CN=Alice,OU=Users,O=Ex C,C=US": "CN%3DAlice%2COU%3DUsers%2CO%3DEx%20C%2CC%3DUS",
    "a b": "a%20b",
    "a+b": "a%2Bb",
    "a*b": "a%2Ab",
    "a/b": "a%2Fb",
    "a%b": "a%25b",
    "Zoë": "Zo%C3%AB",
    "a.b-c_d": "a.b-c_d",
    "~x": "%7Ex",
    "<default>": "%3Cdefault%3E",
    "": "",
}


def test_names_are_encoded_as_in_paths_of_znodes() -> None:
    assert {name: tag_of(name) for name in SANITIZED} == SANITIZED
