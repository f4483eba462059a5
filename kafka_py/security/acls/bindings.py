"""One ACL as a value, and filters that select ACLs.

Source: docs/reference/security/acls.md, sections 1 and 5; KIP-290; AclBinding; ResourcePatternFilter.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_py.security.acls.vocabulary import WILDCARD, Operation, PatternType, Permission, ResourceType


class ResourcePattern(NamedTuple):
    """The resources that an ACL is about: the one of that name, or all whose names begin with it."""

    type: ResourceType
    name: str
    pattern_type: PatternType = PatternType.LITERAL

    def __str__(self) -> str:
        type_, pattern = self.type.name, self.pattern_type.name
        return f"ResourcePattern(resourceType={type_}, name={self.name}, patternType={pattern})"


class AclEntry(NamedTuple):
    """Who is allowed or denied what. principal: `User:alice`. host: an address, or `*`."""

    principal: str
    host: str
    operation: Operation
    permission: Permission

    def __str__(self) -> str:
        operation, permission = self.operation.name, self.permission.name
        return (
            f"(principal={self.principal}, host={self.host}, operation={operation}, permissionType={permission})"
        )


class AclBinding(NamedTuple):
    """One ACL."""

    pattern: ResourcePattern
    entry: AclEntry


class PatternFilter(NamedTuple):
    """Selects patterns. name None: any. The pattern type MATCH selects all patterns that apply to a resource."""

    type: ResourceType
    name: str | None = None
    pattern_type: PatternType = PatternType.ANY

    def matches(self, pattern: ResourcePattern) -> bool:
        if self.type not in (ResourceType.ANY, pattern.type):
            return False
        wanted = self.pattern_type
        if wanted not in (PatternType.ANY, PatternType.MATCH, pattern.pattern_type):
            return False
        if self.name is None:
            return True
        if wanted is not PatternType.MATCH:
            return self.name == pattern.name
        if pattern.pattern_type is PatternType.PREFIXED:
            return self.name.startswith(pattern.name)
        return pattern.name in (self.name, WILDCARD)

    def named(self) -> list[ResourcePattern]:
        """The patterns that it selects, if it names them; none if only a look at all patterns can tell."""
        if self.name is None or self.type is ResourceType.ANY or self.pattern_type is PatternType.MATCH:
            return []
        either = (PatternType.LITERAL, PatternType.PREFIXED)
        types = either if self.pattern_type is PatternType.ANY else (self.pattern_type,)
        return [ResourcePattern(self.type, self.name, each) for each in types]

    def __str__(self) -> str:
        name = "null" if self.name is None else self.name
        return f"ResourcePattern(resourceType={self.type.name}, name={name}, patternType={self.pattern_type.name})"


class EntryFilter(NamedTuple):
    """Selects entries; None and ANY select any."""

    principal: str | None = None
    host: str | None = None
    operation: Operation = Operation.ANY
    permission: Permission = Permission.ANY

    def matches(self, entry: AclEntry) -> bool:
        return (
            self.principal in (None, entry.principal)
            and self.host in (None, entry.host)
            and self.operation in (Operation.ANY, entry.operation)
            and self.permission in (Permission.ANY, entry.permission)
        )

    @property
    def is_exact(self) -> bool:
        """Whether it selects one entry, which is equal to it."""
        return not (
            self.principal is None or self.host is None or Operation.ANY is self.operation
            or Permission.ANY is self.permission
        )  # fmt: skip


class AclFilter(NamedTuple):
    """Selects ACLs."""

    pattern: PatternFilter
    entry: EntryFilter = EntryFilter()

    def matches(self, binding: AclBinding) -> bool:
        return self.pattern.matches(binding.pattern) and self.entry.matches(binding.entry)


ALL_ACLS = AclFilter(PatternFilter(ResourceType.ANY))
