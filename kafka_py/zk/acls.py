"""ACLs in ZooKeeper: the entries of each resource pattern, conditional writes, and notifications of changes.

Entries are text, as stored; security/acls interprets them. Source: docs/reference/security/acls.md, section 4.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from kafka_py.base.clock import Clock
from kafka_py.base.supervision import Supervisor
from kafka_py.zk.access import ZkAccess
from kafka_py.zk.acl_znodes import (
    ACL_TYPES,
    LITERAL,
    PREFIXED,
    AclResource,
    AclRow,
    LiteralAclChangesZNode,
    LiteralAclChangeZNode,
    LiteralAclTypeZNode,
    PrefixedAclChangesZNode,
    PrefixedAclChangeZNode,
    PrefixedAclTypeZNode,
    acls_path,
    decode_acls,
    encode_acls,
)
from kafka_py.zk.notifications import NotificationListener, Reload
from kafka_py.zk.session import BadVersion, NodeExists, NoNode, NotEmpty

_log = logging.getLogger(__name__)

ABSENT = -2
"""The version of entries that are not stored."""

_CHANGE_PREFIX = "acl_changes_"


class StoredAcls(NamedTuple):
    """The entries of a pattern and the version of their znode, ABSENT if there is none.

    is_parent: whether patterns whose names continue this one with a slash may be stored below it.
    """

    rows: list[AclRow]
    version: int
    is_parent: bool = False


class AclStore:
    """Entries by resource pattern."""

    def __init__(self, znodes: ZkAccess) -> None:
        self._znodes = znodes

    async def ensure_paths(self) -> None:
        """Creates the parents of entries and notifications where missing."""
        for parent, changes in (
            (LiteralAclTypeZNode, LiteralAclChangesZNode.path()),
            (PrefixedAclTypeZNode, PrefixedAclChangesZNode.path()),
        ):
            for title in ACL_TYPES.values():
                await self._znodes.ensure_path(parent.path(title))
            await self._znodes.ensure_path(changes)

    async def patterns(self) -> list[AclResource]:
        """All patterns with a znode directly below its type, sorted; unknown types are logged and left out."""
        parents = {LITERAL: LiteralAclTypeZNode, PREFIXED: PrefixedAclTypeZNode}
        found = []
        for pattern_type, parent in parents.items():
            root = parent.path("x").rpartition("/")[0]
            unknown = set(await self._znodes.children_or_empty(root)) - set(ACL_TYPES.values())
            for title in sorted(unknown):
                _log.warning("ACLs of the unknown resource type %s are ignored: %s/%s", title, root, title)
            for type_, title in ACL_TYPES.items():
                names = await self._znodes.children_or_empty(parent.path(title))
                found += [AclResource(type_, name, pattern_type) for name in sorted(names)]
        return found

    async def below(self, pattern: AclResource) -> list[AclResource]:
        """The patterns one slash below another one, sorted: names are not escaped, and groups may have slashes."""
        names = await self._znodes.children_or_empty(acls_path(pattern))
        return [pattern._replace(name=f"{pattern.name}/{name}") for name in sorted(names)]

    async def read(self, pattern: AclResource) -> StoredAcls:
        """Raises MalformedZNode for entries of another version."""
        found = await self._znodes.read(acls_path(pattern))
        if found is None:
            return StoredAcls([], ABSENT)
        return StoredAcls(decode_acls(pattern, found[0]), found[1].version, found[1].num_children > 0)

    async def write(self, pattern: AclResource, rows: list[AclRow], version: int) -> int | None:
        """Writes the entries if they still have this version; none at all deletes them.

        Returns the new version, ABSENT after a deletion, None if they have another version now.
        """
        path = acls_path(pattern)
        try:
            if not rows:
                await self._delete(pattern, path, version)
                return ABSENT
            data = encode_acls(pattern, rows)
            if version == ABSENT:
                await self._znodes.create_recursive(path, data)
                return 0
            return (await self._znodes.session.set(path, data, version)).version
        except NoNode:
            return None if rows else ABSENT
        except (BadVersion, NodeExists):
            return None

    async def _delete(self, pattern: AclResource, path: str, version: int) -> None:
        """Deletes the entries; a znode with others below it remains, without entries."""
        try:
            await self._znodes.session.delete(path, version)
        except NotEmpty:
            await self._znodes.session.set(path, encode_acls(pattern, []), version)

    async def announce(self, pattern: AclResource) -> None:
        """Notifies every broker to read one pattern again."""
        change = PrefixedAclChangeZNode if pattern.pattern_type == PREFIXED else LiteralAclChangeZNode
        await self._znodes.create_recursive(change.path(), change(pattern).encode(), sequence=True)

    def listeners(
        self,
        apply: Callable[[AclResource], Awaitable[None]],
        clock: Clock,
        supervisor: Supervisor | None = None,
        *,
        on_gap: Reload | None = None,
    ) -> list[NotificationListener]:
        """Listeners that call `apply` with each pattern whose entries changed, and `on_gap` if some were missed."""

        async def on_literal(data: bytes) -> None:
            await apply(LiteralAclChangeZNode.decode(data).resource)

        async def on_prefixed(data: bytes) -> None:
            await apply(PrefixedAclChangeZNode.decode(data).resource)

        handlers = {LiteralAclChangesZNode.path(): on_literal, PrefixedAclChangesZNode.path(): on_prefixed}
        return [
            NotificationListener(self._znodes, root, _CHANGE_PREFIX, handler, clock, supervisor, on_gap=on_gap)
            for root, handler in handlers.items()
        ]
