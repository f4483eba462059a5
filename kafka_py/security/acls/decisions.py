"""The rules: what the ACLs say about one action.

Source: docs/reference/security/acls.md, section 2; KIP-679; AclAuthorizer.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_py.security.acls.bindings import AclEntry, ResourcePattern
from kafka_py.security.acls.index import AclIndex, PatternAcls
from kafka_py.security.acls.vocabulary import WILDCARD, Operation, PatternType, Permission, ResourceType

_IMPLIED_BY = {
    Operation.DESCRIBE: (Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER),
    Operation.DESCRIBE_CONFIGS: (Operation.ALTER_CONFIGS,),
}
"""Whoever is allowed one of these is allowed the operation as well; a denial has no such effect."""


class Verdict(NamedTuple):
    """A decision. entry: the one that it is based on, None if none matched. has_acls: whether any pattern applied."""

    allowed: bool
    entry: AclEntry | None = None
    has_acls: bool = True


def decide(
    index: AclIndex, principal: str, host: str, operation: Operation, resource_type: ResourceType, name: str,
    *, allowed_without_acls: bool,
) -> Verdict:  # fmt: skip
    """Whether the principal may do the operation on the resource; a denial goes before any permission."""
    found = index.applying(resource_type, name)
    if not found:
        return Verdict(allowed_without_acls, has_acls=False)
    denial = _matching(found, principal, host, (operation, Operation.ALL), Permission.DENY)
    if denial is not None:
        return Verdict(False, denial)
    allowing = (operation, Operation.ALL, *_IMPLIED_BY.get(operation, ()))
    permission = _matching(found, principal, host, allowing, Permission.ALLOW)
    return Verdict(permission is not None, permission)


def _matching(
    found: list[PatternAcls], principal: str, host: str, operations: tuple[Operation, ...], permission: Permission
) -> AclEntry | None:
    for acls in found:
        for entry in acls.of(principal):
            if entry.permission is permission and entry.host in (host, WILDCARD) and entry.operation in operations:
                return entry
    return None


def decide_on_any(
    index: AclIndex, principal: str, host: str, operation: Operation, resource_type: ResourceType,
    *, allowed_without_acls: bool,
) -> bool:  # fmt: skip
    """Whether there can be a resource of that type on which the principal may do the operation (KIP-679).

    No operation is implied by another one here.
    """
    denied = index.patterns_with(principal, host, operation, resource_type, Permission.DENY)
    if ResourcePattern(resource_type, WILDCARD) in denied:
        return False
    if allowed_without_acls:
        return True
    allowed = index.patterns_with(principal, host, operation, resource_type, Permission.ALLOW)
    if not denied:
        return bool(allowed)
    prefixes = {pattern.name for pattern in denied if pattern.pattern_type is PatternType.PREFIXED}
    lengths = sorted({len(prefix) for prefix in prefixes})
    return any(
        _is_wildcard(pattern) or (pattern not in denied and not _begins_with(pattern.name, prefixes, lengths))
        for pattern in allowed
    )


def _is_wildcard(pattern: ResourcePattern) -> bool:
    return pattern.name == WILDCARD and pattern.pattern_type is PatternType.LITERAL


def _begins_with(name: str, prefixes: set[str], lengths: list[int]) -> bool:
    return any(name[:length] in prefixes for length in lengths if length <= len(name))
