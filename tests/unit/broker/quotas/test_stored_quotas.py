"""Quotas in ZooKeeper: which filters match them, which filters and changes are invalid."""

import asyncio
import math
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.broker.quotas.quota_keys import limit_in
from kafka_py.broker.quotas.stored_quotas import (
    Component,
    Quota,
    QuotaOp,
    changed,
    check_filter,
    matching,
    path_of,
    stored_quotas,
)

ALICE = {"user": "alice"}
ALICE_C1 = {"user": "alice", "client-id": "c1"}
DEFAULT_USER = {"user": None}
C1 = {"client-id": "c1"}
IP = {"ip": "10.0.0.1"}
QUOTAS = [Quota(each, {"producer_byte_rate": 1.0}) for each in (ALICE, ALICE_C1, DEFAULT_USER, C1, IP)]


@pytest.mark.parametrize(
    ("components", "strict", "expected"),
    [
        ([], False, [ALICE, ALICE_C1, DEFAULT_USER, C1, IP]),
        ([], True, []),
        ([Component("user", "alice")], False, [ALICE, ALICE_C1]),
        ([Component("user", "alice")], True, [ALICE]),
        ([Component("user", None)], False, [DEFAULT_USER]),
        ([Component("user", None, is_any=True)], False, [ALICE, ALICE_C1, DEFAULT_USER]),
        ([Component("user", None, is_any=True)], True, [ALICE, DEFAULT_USER]),
        ([Component("user", "alice"), Component("client-id", "c1")], True, [ALICE_C1]),
        ([Component("user", "bob"), Component("client-id", "c1")], False, []),
        ([Component("client-id", None, is_any=True)], False, [ALICE_C1, C1]),
        ([Component("ip", None, is_any=True)], True, [IP]),
    ],
)
def test_which_quotas_a_filter_matches(
    components: list[Component], strict: bool, expected: list[dict[str, str | None]]
) -> None:
    check_filter(components)
    assert [quota.entity for quota in matching(QUOTAS, components, strict=strict)] == expected


@pytest.mark.parametrize(
    ("types", "code", "text"),
    [
        (("user", "user"), ErrorCode.INVALID_REQUEST, "Duplicate user filter component entity type"),
        (("client-id", "client-id"), ErrorCode.INVALID_REQUEST, "Duplicate client filter component entity type"),
        (("",), ErrorCode.INVALID_REQUEST, "Unexpected empty filter component entity type"),
        (("ip", "user"), ErrorCode.INVALID_REQUEST, "an ip cannot be combined"),
        (("client-id", "ip"), ErrorCode.INVALID_REQUEST, "an ip cannot be combined"),
        (("team",), ErrorCode.UNSUPPORTED_VERSION, "Custom entity type 'team' not supported"),
    ],
)
def test_invalid_filters(types: tuple[str, ...], code: ErrorCode, text: str) -> None:
    with pytest.raises(KafkaError, match=text) as refused:
        check_filter([Component(each, "x") for each in types])
    assert refused.value.code is code


class Stored:
    """The settings of entities by folder."""

    async def of_all(self, folder: str) -> dict[str, dict[str, str]]:
        return {
            "users": {"alice": {"SCRAM-SHA-256": "secret"}, "<default>": {"request_percentage": "50.0"}},
            "users/alice/clients": {"c1": {"producer_byte_rate": "1024", "consumer_byte_rate": "many"}},
            "clients": {"c2": {"consumer_byte_rate": "none of them"}},
        }.get(folder, {})


def test_entities_without_a_quota_and_values_that_are_no_numbers_are_left_out() -> None:
    stored: Any = Stored()
    assert asyncio.run(stored_quotas(stored)) == [
        Quota(ALICE_C1, {"producer_byte_rate": 1024.0}), Quota(DEFAULT_USER, {"request_percentage": 50.0}),
    ]  # fmt: skip


def test_paths_have_the_user_first() -> None:
    assert path_of({"client-id": "c/1", "user": "a b"}) == "users/a%20b/clients/c%2F1"
    assert path_of({"client-id": None}) == "clients/<default>"


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("producer_byte_rate", 1024.0, "1024"), ("producer_byte_rate", 1024.0000001, "1024"),
        ("producer_byte_rate", -5.0, "-5"), ("request_percentage", 1.0, "1.0"),
        ("connection_creation_rate", 2147483647.0, "2147483647"),
    ],
)  # fmt: skip
def test_values_are_stored_as_apache_kafka_stores_them(key: str, value: float, text: str) -> None:
    entity = IP if key == "connection_creation_rate" else ALICE
    assert changed({"other": "1"}, entity, [QuotaOp(key, value)]) == {"other": "1", key: text}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("producer_byte_rate", 1024.00001), ("producer_byte_rate", 1e300), ("producer_byte_rate", float("nan")),
        ("connection_creation_rate", 2147483648.0), ("connection_creation_rate", -1.0),
    ],
)  # fmt: skip
def test_values_that_a_key_cannot_have(key: str, value: float) -> None:
    entity = IP if key == "connection_creation_rate" else ALICE
    with pytest.raises(KafkaError) as refused:
        changed({}, entity, [QuotaOp(key, value)])
    assert refused.value.code is ErrorCode.INVALID_REQUEST


def test_a_key_that_is_absent_may_be_removed() -> None:
    assert changed({"producer_byte_rate": "1"}, ALICE, [QuotaOp("unknown", None)]) == {"producer_byte_rate": "1"}


@pytest.mark.parametrize("text", ["many", "nan", ""])
def test_limits_that_are_no_numbers(text: str) -> None:
    with pytest.raises(ValueError):  # the number's own
        limit_in({"producer_byte_rate": text}, "producer_byte_rate")


@pytest.mark.parametrize("limit, text", [(math.inf, "Infinity"), (-math.inf, "-Infinity"), (math.nan, "NaN")])
def test_a_limit_that_is_not_finite_is_stored_as_java_writes_it(limit: float, text: str) -> None:
    changes = [QuotaOp("request_percentage", limit)]
    assert changed({}, {"user": "a"}, changes) == {"request_percentage": text}
    with pytest.raises(KafkaError, match="must be a LONG value"):
        changed({}, {"user": "a"}, [QuotaOp("producer_byte_rate", limit)])
