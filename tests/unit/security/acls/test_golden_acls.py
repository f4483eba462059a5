"""Decisions, filters and bit fields against samples that were made with the classes of Apache Kafka 2.8.2."""

from typing import Any

import pytest

from kafka_py.net.principal import Principal
from kafka_py.security.acls.authorization import ALLOW_ALL, authorized_operations
from kafka_py.security.acls.bindings import AclEntry, PatternFilter, ResourcePattern
from kafka_py.security.acls.decisions import decide, decide_on_any
from kafka_py.security.acls.index import AclIndex
from kafka_py.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType

from .golden_acls import samples


def index_of(rows: list[list[str]]) -> AclIndex:
    entries: dict[ResourcePattern, list[AclEntry]] = {}
    for type_, name, pattern_type, principal, permission, host, operation in rows:
        pattern = ResourcePattern(ResourceType[type_], name, PatternType[pattern_type])
        entry = AclEntry(principal, host, Operation[operation], Permission[permission])
        entries.setdefault(pattern, []).append(entry)
    index = AclIndex()
    for pattern, those in entries.items():
        index.put(pattern, those, version=0)
    return index


def names(allowed: bool) -> str:
    return "ALLOWED" if allowed else "DENIED"


@pytest.mark.parametrize(("sample", "expected"), samples("acl_filter"))
def test_a_filter_selects_what_apaches_selects(sample: Any, expected: bool) -> None:
    type_, name, pattern_type = sample["filter"]
    wanted = PatternFilter(ResourceType[type_], name, PatternType[pattern_type])
    type_, name, pattern_type = sample["pattern"]
    assert wanted.matches(ResourcePattern(ResourceType[type_], name, PatternType[pattern_type])) is expected


@pytest.mark.parametrize(("sample", "expected"), samples("authorize"))
def test_an_action_is_decided_as_by_apache(sample: Any, expected: list[str]) -> None:
    index = index_of(sample["acls"])
    made = []
    for user, host, operation, type_, name in sample["queries"]:
        verdict = decide(
            index, f"User:{user}", host, Operation[operation], ResourceType[type_], name,
            allowed_without_acls=sample["allow_everyone"],
        )  # fmt: skip
        made.append(names(f"User:{user}" in sample["super_users"] or verdict.allowed))
    assert made == expected


@pytest.mark.parametrize(("sample", "expected"), samples("authorize_by_type"))
def test_an_action_on_any_resource_is_decided_as_by_apache(sample: Any, expected: list[str]) -> None:
    index = index_of(sample["acls"])
    made = []
    for user, host, operation, type_ in sample["queries"]:
        allowed = decide_on_any(
            index, f"User:{user}", host, Operation[operation], ResourceType[type_],
            allowed_without_acls=sample["allow_everyone"],
        )  # fmt: skip
        made.append(names(f"User:{user}" in sample["super_users"] or allowed))
    assert made == expected


class Somebody:
    """A client of which nothing matters."""

    principal = Principal("User", "somebody")
    host = "10.0.0.1"
    request_name = "Metadata"


@pytest.mark.parametrize(("sample", "expected"), samples("authorized_operations_all"))
def test_all_operations_of_a_type_as_a_bit_field(sample: str, expected: int) -> None:
    assert authorized_operations(ALLOW_ALL, Somebody(), ResourceType[sample], "x") == expected
