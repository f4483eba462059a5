"""All ACLs in memory, found by resource and by principal.

The patterns that apply to a name are looked up, not searched for: the literal name, the wildcard, and each beginning of
the name that is as long as some prefix. The entries of a pattern are grouped by principal. So a decision costs the same
among ten ACLs and ten thousand. Knows nothing of rules; decisions.py has them.
Source: docs/reference/security/acls.md, section 2.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kafka_py.security.acls.bindings import AclBinding, AclEntry, ResourcePattern
from kafka_py.security.acls.vocabulary import EVERYONE, WILDCARD, Operation, PatternType, Permission, ResourceType

NO_VERSION = -2
"""The version of a pattern that is not stored."""


class PatternAcls(NamedTuple):
    """The entries of one pattern in their order, and the version under which they are stored."""

    entries: tuple[AclEntry, ...]
    version: int
    by_principal: Mapping[str, Sequence[AclEntry]]

    def of(self, principal: str) -> Iterator[AclEntry]:
        """The entries that concern a principal."""
        yield from self.by_principal.get(principal, ())
        yield from self.by_principal.get(EVERYONE, ())


NO_ACLS = PatternAcls((), NO_VERSION, {})


class _Prefixes:
    """The lengths of the prefixes of one resource type, in order, and how many have each."""

    __slots__ = ("counts", "lengths")

    def __init__(self) -> None:
        self.lengths: list[int] = []
        self.counts: dict[int, int] = {}

    def add(self, length: int) -> None:
        count = self.counts.get(length, 0)
        if not count:
            insort(self.lengths, length)
        self.counts[length] = count + 1

    def remove(self, length: int) -> None:
        self.counts[length] -= 1
        if not self.counts[length]:
            del self.counts[length]
            del self.lengths[bisect_left(self.lengths, length)]

    def beginnings(self, name: str) -> Iterator[str]:
        for length in self.lengths[: bisect_right(self.lengths, len(name))]:
            yield name[:length]


class AclIndex:
    """ACLs by pattern. `generation` rises with each change."""

    def __init__(self) -> None:
        self.generation = 0
        self._by_pattern: dict[ResourcePattern, PatternAcls] = {}
        self._prefixes: dict[ResourceType, _Prefixes] = {}
        self._patterns_of: dict[tuple[ResourceType, str], dict[ResourcePattern, None]] = {}

    def __len__(self) -> int:
        return sum(len(acls.entries) for acls in self._by_pattern.values())

    def put(self, pattern: ResourcePattern, entries: Iterable[AclEntry], version: int) -> None:
        """Replaces the entries of one pattern; none at all removes it. Equal ones only have another version."""
        distinct = tuple(dict.fromkeys(entries))
        held = self.of(pattern)
        if distinct == held.entries:
            if distinct:
                self._by_pattern[pattern] = held._replace(version=version)
            return
        self.generation += 1
        self._drop(pattern)
        if not distinct:
            return
        by_principal: dict[str, list[AclEntry]] = {}
        for entry in distinct:
            by_principal.setdefault(entry.principal, []).append(entry)
        self._by_pattern[pattern] = PatternAcls(distinct, version, by_principal)
        if pattern.pattern_type is PatternType.PREFIXED:
            self._prefixes.setdefault(pattern.type, _Prefixes()).add(len(pattern.name))
        for principal in by_principal:
            self._patterns_of.setdefault((pattern.type, principal), {})[pattern] = None

    def _drop(self, pattern: ResourcePattern) -> None:
        acls = self._by_pattern.pop(pattern, None)
        if acls is None:
            return
        if pattern.pattern_type is PatternType.PREFIXED:
            self._prefixes[pattern.type].remove(len(pattern.name))
        for principal in acls.by_principal:
            patterns = self._patterns_of[pattern.type, principal]
            del patterns[pattern]
            if not patterns:
                del self._patterns_of[pattern.type, principal]

    def of(self, pattern: ResourcePattern) -> PatternAcls:
        """The ACLs of exactly that pattern."""
        return self._by_pattern.get(pattern, NO_ACLS)

    def patterns(self) -> list[ResourcePattern]:
        return list(self._by_pattern)

    def bindings(self) -> Iterator[AclBinding]:
        """All ACLs that there are at the first step; the index may change meanwhile."""
        for pattern, acls in list(self._by_pattern.items()):
            for entry in acls.entries:
                yield AclBinding(pattern, entry)

    def applying(self, resource_type: ResourceType, name: str) -> list[PatternAcls]:
        """The ACLs of every pattern that the resource matches."""
        names = [ResourcePattern(resource_type, WILDCARD)]
        if name != WILDCARD:
            names.append(ResourcePattern(resource_type, name))
        prefixes = self._prefixes.get(resource_type)
        if prefixes is not None:
            for beginning in prefixes.beginnings(name):
                names.append(ResourcePattern(resource_type, beginning, PatternType.PREFIXED))
        by_pattern = self._by_pattern
        return [by_pattern[each] for each in names if each in by_pattern]

    def patterns_with(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType, permission: Permission
    ) -> set[ResourcePattern]:
        """The patterns of that type with an entry for this principal, host and operation (or ALL)."""
        hosts, operations = (host, WILDCARD), (operation, Operation.ALL)
        return {
            pattern
            for who in (principal, EVERYONE)
            for pattern in self._patterns_of.get((resource_type, who), ())
            for entry in self._by_pattern[pattern].by_principal[who]
            if entry.permission is permission and entry.host in hosts and entry.operation in operations
        }
