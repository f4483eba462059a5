"""A tree of znodes in memory: what a ZooKeeper server keeps, without anybody connected to it.

`apply` is the one way to change it: all of a list of operations or none, as one write with one zxid.
Source: the ZooKeeper programmer's guide; tests/contracts (the behaviour of the real server).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kafka_py.base.clock import Clock
from kafka_py.zk.secured.access_lists import OPEN, AccessList
from kafka_py.zk.session import (
    ANY_VERSION,
    BadVersion,
    CheckOp,
    CreateOp,
    DeleteOp,
    EventType,
    InvalidAcl,
    MultiFailed,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
    Op,
    SetOp,
    Stat,
    WatchEvent,
    ZkError,
    check_path,
)
from kafka_py.zk.watches import WatchKind


class Znode:
    """One znode. `creations` counts the children ever made: the next sequence number.

    access: its access list, which is stored and not enforced; aversion: how often that was changed.
    """

    __slots__ = (
        "access",
        "aversion",
        "children",
        "created",
        "creations",
        "ctime",
        "czxid",
        "data",
        "mtime",
        "mzxid",
        "owner",
        "pzxid",
        "version",
    )

    def __init__(self, data: bytes | None, zxid: int, now_ms: int, owner: int) -> None:
        self.data = data
        self.children: set[str] = set()
        self.creations = 0
        self.czxid = self.mzxid = self.pzxid = zxid
        self.ctime = self.mtime = now_ms
        self.version = 0
        self.owner = owner
        self.access = OPEN
        self.aversion = 0

    def stat(self) -> Stat:
        count = len(self.children)
        return Stat(
            self.czxid, self.mzxid, self.ctime, self.mtime, self.version, self.creations * 2 - count,
            self.aversion, self.owner, len(self.data or b""), count, self.pzxid,
        )  # fmt: skip


class ZnodeTree:
    """The znodes by path. `zxid` counts the writes."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.zxid = 0
        self._nodes: dict[str, Znode] = {"/": Znode(None, 0, 0, 0)}
        for path in ("/zookeeper", "/zookeeper/config", "/zookeeper/quota"):
            self.apply(0, [CreateOp(path)])

    def tree(self) -> dict[str, bytes | None]:
        """Every path and its data, for assertions."""
        return {path: node.data for path, node in sorted(self._nodes.items())}

    def node(self, path: str) -> Znode:
        """Raises NoNode."""
        node = self._nodes.get(path)
        if node is None:
            raise NoNode(path)
        return node

    def set_access(self, path: str, entries: AccessList, version: int) -> Stat:
        """Replaces an access list. Raises NoNode, BadVersion, InvalidAcl."""
        node = self.node(path)
        if version not in (ANY_VERSION, node.aversion):
            raise BadVersion(path)
        if not entries:
            raise InvalidAcl(path)
        self.zxid += 1
        node.access = entries
        node.aversion += 1
        return node.stat()

    def owned_by(self, owner: int) -> list[str]:
        """The ephemerals of a session."""
        return sorted(path for path, node in self._nodes.items() if node.owner == owner)

    def apply(self, owner: int, ops: Sequence[Op]) -> tuple[list[Any], list[WatchEvent]]:
        """Applies all of ops or none, as one write by the session `owner`. Raises MultiFailed.

        Returns the results as `ZkSession.multi` gives them, but (path, Stat) for a create; and what happened, in order.
        """
        self.zxid += 1
        undo: list[Callable[[], None]] = []
        events: list[WatchEvent] = []
        results: list[Any] = []
        for index, op in enumerate(ops):
            try:
                results.append(self._apply(owner, op, undo, events))
            except ZkError as error:
                for step in reversed(undo):
                    step()
                raise MultiFailed(index, error) from None
        return results, events

    def _apply(self, owner: int, op: Op, undo: list[Callable[[], None]], events: list[WatchEvent]) -> Any:
        check_path(op.path)
        match op:
            case CheckOp():
                return self._versioned(op.path, op.version) and None
            case CreateOp():
                return self._create(owner, op, undo, events)
            case SetOp():
                return self._set(op, undo, events)
            case DeleteOp():
                return self._delete(op, undo, events)

    def _versioned(self, path: str, version: int) -> Znode:
        node = self.node(path)
        if version not in (ANY_VERSION, node.version):
            raise BadVersion(path)
        return node

    def _create(self, owner: int, op: CreateOp, undo: list[Callable[[], None]], events: list[WatchEvent]) -> Any:
        parent_path, _, name = op.path.rpartition("/")
        parent_path = parent_path or "/"
        parent = self._nodes.get(parent_path)
        if parent is None:
            raise NoNode(op.path)
        if op.sequence:
            name = f"{name}{parent.creations:010d}"
        path = f"{parent_path.rstrip('/')}/{name}"
        if path in self._nodes:
            raise NodeExists(op.path)
        if parent.owner:
            raise NoChildrenForEphemerals(op.path)
        node = Znode(op.data, self.zxid, self.clock.wall_ms(), owner if op.ephemeral else 0)
        node.access = op.access or OPEN
        pzxid = parent.pzxid
        self._nodes[path] = node
        parent.children.add(name)
        parent.creations += 1
        parent.pzxid = self.zxid

        def back() -> None:
            del self._nodes[path]
            parent.children.remove(name)
            parent.creations -= 1
            parent.pzxid = pzxid

        undo.append(back)
        events += [WatchEvent(EventType.CREATED, path), WatchEvent(EventType.CHILDREN, parent_path)]
        return path, node.stat()

    def _set(self, op: SetOp, undo: list[Callable[[], None]], events: list[WatchEvent]) -> Stat:
        node = self._versioned(op.path, op.version)
        before = node.data, node.mzxid, node.mtime, node.version

        def back() -> None:
            node.data, node.mzxid, node.mtime, node.version = before

        undo.append(back)
        node.data, node.mzxid, node.mtime = op.data, self.zxid, self.clock.wall_ms()
        node.version += 1
        events.append(WatchEvent(EventType.CHANGED, op.path))
        return node.stat()

    def _delete(self, op: DeleteOp, undo: list[Callable[[], None]], events: list[WatchEvent]) -> None:
        node = self._versioned(op.path, op.version)
        if node.children:
            raise NotEmpty(op.path)
        parent_path, _, name = op.path.rpartition("/")
        parent_path = parent_path or "/"
        parent = self._nodes[parent_path]
        pzxid = parent.pzxid
        del self._nodes[op.path]
        parent.children.remove(name)
        parent.pzxid = self.zxid

        def back() -> None:
            self._nodes[op.path] = node
            parent.children.add(name)
            parent.pzxid = pzxid

        undo.append(back)
        events += [WatchEvent(EventType.DELETED, op.path), WatchEvent(EventType.CHILDREN, parent_path)]

    def missed(self, kind: WatchKind, path: str, since_zxid: int) -> WatchEvent | None:
        """What a watch set before `since_zxid` would have seen since; None if nothing."""
        node = self._nodes.get(path)
        if kind is WatchKind.EXIST:
            return WatchEvent(EventType.CREATED, path) if node is not None else None
        if node is None:
            return WatchEvent(EventType.DELETED, path)
        if kind is WatchKind.DATA:
            return WatchEvent(EventType.CHANGED, path) if node.mzxid > since_zxid else None
        return WatchEvent(EventType.CHILDREN, path) if node.pzxid > since_zxid else None
