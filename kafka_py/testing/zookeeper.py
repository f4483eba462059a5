"""ZooKeeper in memory: one tree, many sessions, all on the event loop; the protocol of kafka_py.zk.session.

`FakeZookeeper().session()` is a session as KazooSession is one; tests/contracts runs one suite on both. Besides, a
test may expire a session, cut and mend its connection, or lose the reply of its next request.
Source: the ZooKeeper programmer's guide; behaviour of the real server as the contract suite shows it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from kafka_py.base.clock import Clock, SystemClock
from kafka_py.zk.lifecycle import CLOSED, CONNECTED, CONNECTING, EXPIRED, SUSPENDED, SessionLifecycle
from kafka_py.zk.session import (
    ANY_VERSION,
    BadVersion,
    CheckOp,
    CreateOp,
    DeleteOp,
    EventType,
    MultiFailed,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
    Op,
    OpResult,
    SessionClosed,
    SessionExpired,
    SetOp,
    Stat,
    Watch,
    WatchEvent,
    ZkError,
    check_path,
)
from kafka_py.zk.store import ZkStore
from kafka_py.zk.watches import FIRED_BY, WatchKind


class _Node:
    """One znode."""

    __slots__ = (
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

    def stat(self) -> Stat:
        count = len(self.children)
        return Stat(
            self.czxid, self.mzxid, self.ctime, self.mtime, self.version, self.creations * 2 - count, 0,
            self.owner, len(self.data or b""), count, self.pzxid,
        )  # fmt: skip


class FakeZookeeper:
    """The server: the tree and who is connected. `zxid` counts the writes."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or SystemClock()
        self.zxid = 0
        self.requests = 0
        self._nodes: dict[str, _Node] = {"/": _Node(None, 0, 0, 0)}
        self._sessions: dict[int, FakeSession] = {}
        self._next_session_id = 0x1000_0000_0000_0001
        for path in ("/zookeeper", "/zookeeper/config", "/zookeeper/quota"):
            self.apply_all(0, [CreateOp(path)])

    def session(self) -> FakeSession:
        """A session to `connect()`."""
        return FakeSession(self)

    def open_session(self, session: FakeSession) -> int:
        """A new session id."""
        session_id = self._next_session_id
        self._next_session_id += 1
        self._sessions[session_id] = session
        self.zxid += 1
        return session_id

    def end_session(self, session_id: int) -> None:
        """Removes the session's ephemerals, as an expiry or a close does."""
        self._sessions.pop(session_id, None)
        for path in sorted(path for path, node in self._nodes.items() if node.owner == session_id):
            self.apply_all(0, [DeleteOp(path)])

    def tree(self) -> dict[str, bytes | None]:
        """Every path and its data, for assertions."""
        return {path: node.data for path, node in sorted(self._nodes.items())}

    def node(self, path: str) -> _Node:
        """Raises NoNode."""
        node = self._nodes.get(path)
        if node is None:
            raise NoNode(path)
        return node

    def apply_all(self, session_id: int, ops: Sequence[Op]) -> list[Any]:
        """Applies all of ops or none, as one write; then tells who watches. Raises MultiFailed.

        Results as `ZkSession.multi` gives them, but a create gives (path, Stat).
        """
        self.zxid += 1
        undo: list[Callable[[], None]] = []
        events: list[WatchEvent] = []
        results: list[Any] = []
        for index, op in enumerate(ops):
            try:
                results.append(self._apply(session_id, op, undo, events))
            except ZkError as error:
                for step in reversed(undo):
                    step()
                raise MultiFailed(index, error) from None
        for event in events:
            for session in list(self._sessions.values()):
                session.deliver(event)
        return results

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

    def _versioned(self, path: str, version: int) -> _Node:
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
        node = _Node(op.data, self.zxid, self.clock.wall_ms(), owner if op.ephemeral else 0)
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


class FakeSession(SessionLifecycle):
    """A session of a FakeZookeeper. Answers and watches arrive in order, at the loop's next turn at the earliest."""

    def __init__(self, server: FakeZookeeper) -> None:
        super().__init__()
        self._server = server
        self._session_id = 0
        self._outbox: deque[Callable[[], None]] = deque()
        self._held: deque[Callable[[], None]] = deque()
        self._cut_at_zxid = 0
        # The server's side: what it will tell us of, once. The callbacks are in the client's table.
        self._armed: dict[WatchKind, set[str]] = {kind: set() for kind in WatchKind}
        self._replies_to_lose = 0

    @property
    def session_id(self) -> int:
        return self._session_id

    async def connect(self) -> None:
        await self._open()

    async def _open(self) -> None:
        await asyncio.sleep(0)
        if self._state is not CONNECTING:
            return
        self._session_id = self._server.open_session(self)
        self._become(CONNECTED)
        self._send_held()

    async def close(self) -> None:
        if self._state is CLOSED:
            return
        self._stop_renewals()
        self._become(CLOSED)
        self._disarm()
        self._send_held()
        self._server.end_session(self._session_id)
        await asyncio.sleep(0)

    # --- what a test may do to it ---

    def expire(self) -> None:
        """The server ends the session, and the client learns it."""
        if self._state is CONNECTING:
            return
        self._server.end_session(self._session_id)
        self._disarm()
        self._become(EXPIRED)
        self._send_held()

    def cut(self) -> None:
        """The connection breaks: from now on requests wait and watches are missed."""
        self._cut_at_zxid = self._server.zxid
        self._disarm()
        self._become(SUSPENDED)

    def mend(self) -> None:
        """The connection is back within the same session: missed changes fire, waiting requests are sent."""
        self._become(CONNECTED)
        for kind in WatchKind:
            for path in list(self._watches.paths(kind)):
                event = self._server.missed(kind, path, self._cut_at_zxid)
                if event is None:
                    self._armed[kind].add(path)
                else:
                    self._post(partial(self._watches.fire, event))
        self._send_held()

    def lose_next_reply(self, count: int = 1) -> None:
        """The next requests are carried out, their replies lost with the connection, and they are sent again."""
        self._replies_to_lose += count

    # --- requests ---

    def deliver(self, event: WatchEvent) -> None:
        """The server's side of a watch: it is sent once, if it was set when the change happened."""
        armed = [kind for kind in FIRED_BY[event.type] if event.path in self._armed[kind]]
        for kind in armed:
            self._armed[kind].remove(event.path)
        if armed:
            self._post(partial(self._watches.fire, event))

    def _disarm(self) -> None:
        for paths in self._armed.values():
            paths.clear()

    def _post(self, action: Callable[[], None]) -> None:
        if not self._outbox:
            asyncio.get_running_loop().call_soon(self._drain)
        self._outbox.append(action)

    def _drain(self) -> None:
        for _ in range(len(self._outbox)):
            if self._outbox:
                self._outbox.popleft()()

    def _send_held(self) -> None:
        held, self._held = self._held, deque()
        for send in held:
            send()

    async def _request(self, action: Callable[[], Any], watch: Watch | None = None) -> Any:
        """Carries out an action on the server now, or when connected again; its answer comes through the outbox.

        action: returns the result, or with a watch (result, kind and path to watch).
        """
        self._refuse_if_lost()
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._send(action, watch, answer)
        return await answer

    def _send(self, action: Callable[[], Any], watch: Watch | None, answer: asyncio.Future[Any]) -> None:
        if self._state in (EXPIRED, CLOSED):
            self._fail(answer, SessionExpired() if self._state is EXPIRED else SessionClosed())
            return
        if self._state is not CONNECTED:
            self._held.append(partial(self._send, action, watch, answer))
            return
        self._server.requests += 1
        try:
            result = action()
        except ZkError as error:
            reply = partial(self._fail, answer, error)
        else:
            reply = partial(self._succeed, answer, result, watch)
        if self._replies_to_lose:
            self._replies_to_lose -= 1
            self._send(action, watch, answer)
        else:
            self._post(reply)

    def _succeed(self, answer: asyncio.Future[Any], result: Any, watch: Watch | None) -> None:
        if watch is not None:
            result, kind, path = result
            self._watches.add(kind, path, watch)
        if not answer.done():
            answer.set_result(result)

    @staticmethod
    def _fail(answer: asyncio.Future[Any], error: ZkError) -> None:
        if not answer.done():
            answer.set_exception(error)

    async def _watched(self, look: Callable[[], tuple[Any, WatchKind]], path: str, watch: Watch | None) -> Any:
        check_path(path)

        def action() -> Any:
            result, kind = look()
            if watch is None:
                return result
            self._armed[kind].add(path)
            return result, kind, path

        return await self._request(action, watch)

    async def get(self, path: str, watch: Watch | None = None) -> tuple[bytes | None, Stat]:
        def look() -> tuple[Any, WatchKind]:
            node = self._server.node(path)
            return (node.data, node.stat()), WatchKind.DATA

        result: tuple[bytes | None, Stat] = await self._watched(look, path, watch)
        return result

    async def exists(self, path: str, watch: Watch | None = None) -> Stat | None:
        def look() -> tuple[Any, WatchKind]:
            try:
                return self._server.node(path).stat(), WatchKind.DATA
            except NoNode:
                return None, WatchKind.EXIST

        result: Stat | None = await self._watched(look, path, watch)
        return result

    async def children(self, path: str, watch: Watch | None = None) -> list[str]:
        def look() -> tuple[Any, WatchKind]:
            return list(self._server.node(path).children), WatchKind.CHILD

        result: list[str] = await self._watched(look, path, watch)
        return result

    async def _single(self, op: Op) -> Any:
        check_path(op.path)

        def action() -> Any:
            try:
                return self._server.apply_all(self._session_id, [op])[0]
            except MultiFailed as failure:
                raise failure.error from None

        return await self._request(action)

    async def create(
        self, path: str, data: bytes | None = None, *, ephemeral: bool = False, sequence: bool = False
    ) -> tuple[str, Stat]:
        result: tuple[str, Stat] = await self._single(CreateOp(path, data, ephemeral, sequence))
        return result

    async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> Stat:
        result: Stat = await self._single(SetOp(path, data, version))
        return result

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        await self._single(DeleteOp(path, version))

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        for op in ops:
            check_path(op.path)
        results = await self._request(lambda: self._server.apply_all(self._session_id, ops))
        return [result[0] if isinstance(op, CreateOp) else result for op, result in zip(ops, results, strict=True)]

    async def sync(self, path: str) -> None:
        await self._request(lambda: None)


def on_fake(scenario: Callable[[ZkStore, FakeZookeeper], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Makes a test of a coroutine function over a store with a connected session, and its server."""

    def test() -> None:
        async def run() -> None:
            server = FakeZookeeper()
            session = server.session()
            await session.connect()
            await scenario(ZkStore(session), server)
            await session.close()

        asyncio.run(run())

    test.__name__, test.__doc__ = scenario.__name__, scenario.__doc__
    return test
