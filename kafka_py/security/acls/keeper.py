"""The ACLs of a cluster: read from ZooKeeper into an index, followed, and changed (I/O).

A pattern is read or written by one task at a time, so what was read before a write never replaces what it wrote.
Source: docs/reference/security/acls.md, sections 4 and 5; AclAuthorizer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import islice

from kafka_py.base.chance import Chance
from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.exclusion import KeyedLocks
from kafka_py.base.supervision import Supervisor
from kafka_py.base.turns import Turn
from kafka_py.security.acls.authorization import Removal
from kafka_py.security.acls.bindings import AclBinding, AclEntry, AclFilter, ResourcePattern
from kafka_py.security.acls.index import NO_VERSION, AclIndex
from kafka_py.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType
from kafka_py.zk.access import pipelined, raise_first
from kafka_py.zk.acl_znodes import ACL_TYPES, AclResource, AclRow
from kafka_py.zk.acls import ABSENT, AclStore
from kafka_py.zk.notifications import NotificationListener
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.session import ZkError

_log = logging.getLogger(__name__)

MOST_RETRIES = 10
RETRY_MS = 100
RETRY_JITTER_MS = 50
SETTLED_AFTER = 1000
"""Patterns, read or written."""

Change = Callable[[tuple[AclEntry, ...]], Iterable[AclEntry]]


class AclKeeper:
    """All ACLs of a cluster: `index` has them after `start`, and follows what other brokers and tools change."""

    def __init__(
        self, store: AclStore, clock: Clock, chance: Chance, supervisor: Supervisor | None = None,
        *, with_prefixed: bool = True, settle: Callable[[], object] = lambda: None,
    ) -> None:  # fmt: skip
        """with_prefixed: whether ACLs of prefixed patterns may be added, because all brokers know them.

        settle: called when very many ACLs are new: the search for garbage need not look at them any longer.
        """
        self.index = AclIndex()
        self.with_prefixed = with_prefixed
        self._store = store
        self._clock = clock
        self._chance = chance
        self._locks = KeyedLocks()
        self._has_read_all = False
        self._unannounced: set[ResourcePattern] = set()  # written, perhaps: an attempt that fails leaves it to the next
        self._settle = settle
        self._unsettled = 0
        self._listeners: list[NotificationListener] = store.listeners(
            self._on_change, clock, supervisor, on_gap=self.read_all
        )

    async def start(self) -> None:
        """Reads everything, then follows the changes. Raises MalformedZNode for entries of another version."""
        await self._store.ensure_paths()
        for listener in self._listeners:
            await listener.start()
        self._has_read_all = True
        await self.read_all()

    async def read_all(self) -> None:
        """Reads the entries of every pattern. Raises MalformedZNode."""
        stored = map(_pattern_of, await self._store.patterns())
        patterns = list(dict.fromkeys([*stored, *self.index.patterns()]))
        while patterns:
            results = await pipelined(map(self._refresh, patterns))
            raise_first(results)
            parents = [pattern for pattern, is_parent in zip(patterns, results, strict=True) if is_parent]
            found = await pipelined(self._store.below(_resource_of(pattern)) for pattern in parents)
            raise_first(found)
            patterns = [_pattern_of(each) for some in found if not isinstance(some, Exception) for each in some]

    async def close(self) -> None:
        for listener in self._listeners:
            await listener.stop()

    async def _on_change(self, resource: AclResource) -> None:
        """A pattern has changed. What was announced before the start is read with everything else."""
        if not self._has_read_all:
            return
        if resource.type not in ACL_TYPES or resource.pattern_type not in _STORED_TYPES:
            _log.warning("A change of the ACLs of %s is ignored: its type is not known", resource)
            return
        await self._refresh(_pattern_of(resource))

    async def _refresh(self, pattern: ResourcePattern) -> bool:
        """Reads one pattern; whether others may be stored below it."""
        async with self._locks.hold(pattern):
            rows, version, is_parent = await self._store.read(_resource_of(pattern))
            self._put(pattern, entries_of(rows), version)
            return is_parent

    def _put(self, pattern: ResourcePattern, entries: tuple[AclEntry, ...], version: int) -> None:
        self.index.put(pattern, entries, version)
        self._unsettled += 1
        if self._unsettled >= SETTLED_AFTER:
            self._unsettled = 0
            self._settle()

    async def _read(self, pattern: ResourcePattern) -> tuple[tuple[AclEntry, ...], int]:
        rows, version, _ = await self._store.read(_resource_of(pattern))
        return entries_of(rows), version

    # ---- changes

    async def add(self, bindings: Sequence[AclBinding]) -> list[KafkaError | None]:
        """Adds ACLs, those of one pattern with one write. The result of each; one that exists is a success."""
        by_pattern: dict[ResourcePattern, list[AclEntry]] = {}
        results: list[KafkaError | None] = []
        for binding in bindings:
            refusal = None if self._knows(binding.pattern) else KafkaError(_INVALID, "Failed to create ACL")
            results.append(refusal)
            if refusal is None:
                by_pattern.setdefault(binding.pattern, []).append(binding.entry)
        errors = await self._change_all({
            pattern: partial(_with, entries) for pattern, entries in by_pattern.items()
        })
        return [
            result or errors.get(binding.pattern) for result, binding in zip(results, bindings, strict=True)
        ]

    async def remove(self, filters: Sequence[AclFilter]) -> list[list[Removal]]:
        """Removes what the filters select; each ACL is in the result of the first filter that selected it."""
        found: list[dict[AclBinding, None]] = [{} for _ in filters]
        changes: dict[ResourcePattern, Change] = {}
        turn = Turn(self._clock)
        named: list[ResourcePattern] = []
        for each in filters:
            named += each.pattern.named()
            await turn.maybe_yield()
        for pattern in dict.fromkeys([*self.index.patterns(), *named]):
            matching = [number for number, each in enumerate(filters) if each.pattern.matches(pattern)]
            if matching:
                changes[pattern] = partial(_without, pattern, [(filters[each], found[each]) for each in matching])
            await turn.maybe_yield()
        errors = await self._change_all(changes)
        return [[Removal(binding, errors.get(binding.pattern)) for binding in each] for each in found]

    def _knows(self, pattern: ResourcePattern) -> bool:
        return self.with_prefixed or pattern.pattern_type is not PatternType.PREFIXED

    async def _change_all(self, changes: Mapping[ResourcePattern, Change]) -> dict[ResourcePattern, KafkaError]:
        """The patterns that could not be changed."""
        results = await pipelined(self._change(*change) for change in changes.items())
        errors = {}
        for pattern, result in zip(changes, results, strict=True):
            if isinstance(result, (ZkError, MalformedZNode, ValueError)):
                _log.error("The ACLs of %s were not changed: %s", pattern, result)
                errors[pattern] = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, str(result))
            elif isinstance(result, KafkaError):
                errors[pattern] = result
            elif isinstance(result, BaseException):
                raise result
        return errors

    async def _change(self, pattern: ResourcePattern, change: Change) -> None:
        """Writes what `change` makes of the entries, again if others wrote them meanwhile; then announces it."""
        resource = _resource_of(pattern)
        async with self._locks.hold(pattern):
            entries, version, _ = self.index.of(pattern)
            if version == NO_VERSION:
                entries, version = await self._read(pattern)
            before = entries
            for retry in range(MOST_RETRIES + 1):
                if retry:
                    await asyncio.sleep((RETRY_MS + self._chance.number(0, RETRY_JITTER_MS)) / 1000)
                    entries, version = await self._read(pattern)
                wanted = tuple(dict.fromkeys(change(entries)))
                if not set(before) == set(wanted) == set(entries):  # others may have read either of them
                    self._unannounced.add(pattern)
                written = await self._store.write(resource, _rows_of(wanted), version)
                if written is not None:
                    break
            else:
                raise KafkaError(
                    ErrorCode.UNKNOWN_SERVER_ERROR,
                    f"Failed to update ACLs for {pattern} after trying a maximum of {MOST_RETRIES} times",
                )
            self._put(pattern, wanted, written)
            if pattern in self._unannounced:
                _log.info("The ACLs of %s have changed: %d of them", pattern, len(wanted))
                await self._store.announce(resource)
                self._unannounced.discard(pattern)


_INVALID = ErrorCode.INVALID_REQUEST
_STORED_TYPES = (PatternType.LITERAL.name, PatternType.PREFIXED.name)


def _with(added: list[AclEntry], entries: tuple[AclEntry, ...]) -> list[AclEntry]:
    for entry in added:
        if ":" not in entry.principal:
            raise ValueError(f"expected a principal as type:name, not {entry.principal!r}")
    return [*entries, *added]


def _without(
    pattern: ResourcePattern,
    filters: list[tuple[AclFilter, dict[AclBinding, None]]],
    entries: tuple[AclEntry, ...],
) -> list[AclEntry]:
    """The entries that no filter selects. The others are noted with the first filter that does.

    Filters are found by the entry, or by the principal that they name: a command that removes the entries of a thousand
    principals from one pattern has a thousand filters.
    """
    exact: dict[tuple[object, ...], int] = {}
    others: dict[str | None, list[int]] = {}
    for number, (each, _) in enumerate(filters):
        if each.entry.is_exact:
            exact.setdefault(each.entry, number)
        else:
            others.setdefault(each.entry.principal, []).append(number)
    kept = []
    for entry in entries:
        selecting = [exact[entry]] if entry in exact else []
        for principal in (entry.principal, None):
            matching = (number for number in others.get(principal, ()) if filters[number][0].entry.matches(entry))
            selecting += islice(matching, 1)
        if selecting:
            filters[min(selecting)][1][AclBinding(pattern, entry)] = None
        else:
            kept.append(entry)
    return kept


# ---- the form in ZooKeeper


def entries_of(rows: Iterable[AclRow]) -> tuple[AclEntry, ...]:
    """Stored entries as values; unknown names become UNKNOWN. Raises MalformedZNode for a principal without type."""
    entries = []
    for row in rows:
        if ":" not in row.principal:
            raise MalformedZNode(f"an ACL's principal is not type:name: {row.principal!r}")
        entries.append(AclEntry(row.principal, row.host, _operation(row.operation), _permission(row.permissionType)))
    return tuple(entries)


@cache
def _known(kind: type[Operation] | type[Permission]) -> Mapping[str, Operation | Permission]:
    return {word.title.lower(): word for word in kind}


def _operation(title: str) -> Operation:
    return Operation(_known(Operation).get(title.lower(), Operation.UNKNOWN))


def _permission(title: str) -> Permission:
    return Permission(_known(Permission).get(title.lower(), Permission.UNKNOWN))


def _rows_of(entries: Iterable[AclEntry]) -> list[AclRow]:
    return [
        AclRow(entry.principal, entry.permission.title, entry.operation.title, entry.host) for entry in entries
    ]


def _pattern_of(resource: AclResource) -> ResourcePattern:
    return ResourcePattern(ResourceType[resource.type], resource.name, PatternType[resource.pattern_type])


def _resource_of(pattern: ResourcePattern) -> AclResource:
    return AclResource(pattern.type.name, pattern.name, pattern.pattern_type.name)


assert ABSENT == NO_VERSION  # what is not stored and what is not in the index
