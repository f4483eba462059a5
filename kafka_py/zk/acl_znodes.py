"""Znodes of ACLs: the entries of a resource pattern, and the notifications of their changes.

Part of the table in znodes.py. Names of resources are not escaped.
Source: docs/reference/security/acls.md, section 4.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple, Self

from kafka_py.zk.schema import MalformedZNode, ZNode, load_json, znode

ACL_TYPES = {
    "TOPIC": "Topic",
    "GROUP": "Group",
    "CLUSTER": "Cluster",
    "TRANSACTIONAL_ID": "TransactionalId",
    "DELEGATION_TOKEN": "DelegationToken",
}
"""The types of resources that have ACLs -> their znodes."""

LITERAL, PREFIXED = "LITERAL", "PREFIXED"


class AclResource(NamedTuple):
    """A resource pattern. type: a key of ACL_TYPES, or something unknown that a notification has."""

    type: str
    name: str
    pattern_type: str = LITERAL


class AclRow(NamedTuple):
    """One entry: its JSON keys, with values as written (`User:alice`, `Allow`, `Read`, `*`)."""

    principal: str
    permissionType: str  # the name of the key
    operation: str
    host: str


@znode("/kafka-acl/{type}")
class LiteralAclTypeZNode(ZNode):
    """Parent of the literal patterns of a type."""


@znode("/kafka-acl-extended/prefixed/{type}")
class PrefixedAclTypeZNode(ZNode):
    """Parent of the prefixed patterns of a type."""


@znode("/kafka-acl/{type}/{name}", version=1)
class LiteralAclsZNode(ZNode):
    """The entries of a literal pattern."""

    acls: list[AclRow]


@znode("/kafka-acl-extended/prefixed/{type}/{name}", version=1)
class PrefixedAclsZNode(ZNode):
    """The entries of a prefixed pattern."""

    acls: list[AclRow]


@znode("/kafka-acl-changes")
class LiteralAclChangesZNode(ZNode):
    """Parent of the notifications about literal patterns."""


@znode("/kafka-acl-extended-changes")
class PrefixedAclChangesZNode(ZNode):
    """Parent of the notifications about prefixed patterns."""


@znode("/kafka-acl-changes/acl_changes_")
class LiteralAclChangeZNode(ZNode):
    """Notifies every broker to read a literal pattern again: the text `TOPIC:name`. Sequential."""

    resource: AclResource

    def encode(self) -> bytes:
        return f"{self.resource.type}:{self.resource.name}".encode()

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        type_, colon, name = (data or b"").decode(errors="replace").partition(":")
        if not colon:
            raise MalformedZNode(f"{cls.__name__}: no type and name: {data!r}")
        return cls(AclResource(type_.upper(), name))


@znode("/kafka-acl-extended-changes/acl_changes_", version=1)
class PrefixedAclChangeZNode(ZNode):
    """Notifies every broker to read a prefixed pattern again. Sequential."""

    resource: AclResource

    def to_json(self) -> dict[str, Any]:
        type_, name, pattern_type = self.resource
        return {"version": 1, "resourceType": type_, "name": name, "patternType": pattern_type}

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        row = load_json(data, cls.__name__)
        values = [row.get(key) for key in ("resourceType", "name", "patternType")]
        if row.get("version") != 1 or len(row) != 1 + len(values) or not all(type(value) is str for value in values):
            raise MalformedZNode(f"{cls.__name__}: not a notification of version 1: {row}")
        type_, name, pattern_type = map(str, values)
        known = pattern_type in (LITERAL, PREFIXED)
        return cls(AclResource(type_.upper(), name, pattern_type if known else "UNKNOWN"))


def acls_path(resource: AclResource) -> str:
    """Where the entries of a pattern are."""
    return _entries_of(resource).path(ACL_TYPES[resource.type], resource.name)


def encode_acls(resource: AclResource, rows: list[AclRow]) -> bytes:
    return _entries_of(resource)(acls=rows).encode()


def decode_acls(resource: AclResource, data: bytes | None) -> list[AclRow]:
    """The entries; data that is not JSON has none. Raises MalformedZNode for another version, or wrong JSON."""
    try:
        row = json.loads(data or b"")
    except (ValueError, RecursionError):
        return []
    if not isinstance(row, dict) or row.get("version") != 1:
        raise MalformedZNode(f"{acls_path(resource)}: not ACLs of version 1")
    return _entries_of(resource).from_json(row).acls


def _entries_of(resource: AclResource) -> type[LiteralAclsZNode] | type[PrefixedAclsZNode]:
    return PrefixedAclsZNode if resource.pattern_type == PREFIXED else LiteralAclsZNode
