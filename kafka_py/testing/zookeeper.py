"""ZooKeeper in memory: one tree, many sessions, all on the event loop; the protocol of kafka_py.zk.session.

`FakeZookeeper().session()` is a session as KazooSession is one; tests/contracts runs one suite on both. Besides, a
test may expire a session, cut and mend its connection, or lose the reply of its next request.
Source: the ZooKeeper programmer's guide; tests/contracts (the behaviour of the real server).
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from kafka_py.base.clock import Clock, SystemClock
from kafka_py.testing.znode_tree import ZnodeTree
from kafka_py.zk.kazoo_session import KazooSession
from kafka_py.zk.lifecycle import CLOSED, CONNECTED, CONNECTING, EXPIRED, SUSPENDED, SessionLifecycle
from kafka_py.zk.secured.access_lists import AccessList
from kafka_py.zk.session import (
    ANY_VERSION,
    CreateOp,
    DeleteOp,
    MultiFailed,
    NoNode,
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


class FakeZookeeper(ZnodeTree):
    """The server: the tree, and who is connected. `requests` counts what sessions asked for."""

    def __init__(self, clock: Clock | None = None, *, session_timeout_ms: float | None = None) -> None:
        """session_timeout_ms: a session whose connection is cut for so long is ended; None: it lives on."""
        super().__init__(clock or SystemClock())
        self.session_timeout_ms = session_timeout_ms
        self.requests = 0
        self.context = contextvars.copy_context()
        """Whose the server's own timers are: not those of a client that may be dead by then."""
        self._sessions: dict[int, FakeSession] = {}
        self._next_session_id = 0x1000_0000_0000_0001

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

    def knows(self, session_id: int) -> bool:
        """Whether the session is neither closed nor expired."""
        return session_id in self._sessions

    def end_session(self, session_id: int) -> None:
        """Removes the session's ephemerals, as an expiry or a close does."""
        self._sessions.pop(session_id, None)
        for path in self.owned_by(session_id):
            self.apply_all(0, [DeleteOp(path)])

    def apply_all(self, session_id: int, ops: Sequence[Op]) -> list[Any]:
        """`apply` for a session; then tells who watches. Raises MultiFailed."""
        results, events = self.apply(session_id, ops)
        for event in events:
            for session in list(self._sessions.values()):
                session.deliver(event)
        return results


class FakeSession(SessionLifecycle):
    """A session of a FakeZookeeper. Answers and watches arrive in order, at the loop's next turn at the earliest."""

    def __init__(self, server: FakeZookeeper) -> None:
        super().__init__(server.clock)
        self._server = server
        self._session_id = 0
        self._outbox: deque[Callable[[], None]] = deque()
        self._held: deque[Callable[[], None]] = deque()
        self._cut_at_zxid = 0
        # The server's side: what it will tell us of, once. The callbacks are in the client's table.
        self._armed: dict[WatchKind, set[str]] = {kind: set() for kind in WatchKind}
        self._replies_to_lose = 0
        self._timeout: asyncio.TimerHandle | None = None
        self._context = contextvars.copy_context()  # whoever causes an event, it reaches us as our own

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

    # ---- what a test may do to it

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
        if self._server.session_timeout_ms is not None:
            timeout_s = self._server.session_timeout_ms / 1000
            self._timeout = asyncio.get_running_loop().call_later(
                timeout_s, self._server.end_session, self._session_id, context=self._server.context.copy()
            )

    def mend(self) -> None:
        """The connection is back: missed changes fire, waiting requests are sent; or the session has timed out."""
        if self._timeout is not None:
            self._timeout.cancel()
        if not self._server.knows(self._session_id):
            self.expire()
            return
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

    # ---- requests

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
            asyncio.get_running_loop().call_soon(self._drain, context=self._context)
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
        loop = asyncio.get_running_loop()
        issued_s = loop.time()
        answer: asyncio.Future[Any] = loop.create_future()
        self._send(action, watch, answer)
        try:
            return await answer
        finally:
            del answer  # its error would hold it by the traceback, and so itself
            if self._report_latency is not None:
                self._report_latency((loop.time() - issued_s) * 1000)

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
            reply = partial(self._fail, answer, error.with_traceback(None))  # as it would come over a wire
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
        self, path: str, data: bytes | None = None, *, ephemeral: bool = False, sequence: bool = False,
        access: AccessList | None = None,
    ) -> tuple[str, Stat]:  # fmt: skip
        result: tuple[str, Stat] = await self._single(CreateOp(path, data, ephemeral, sequence, access))
        return result

    async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> Stat:
        result: Stat = await self._single(SetOp(path, data, version))
        return result

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        await self._single(DeleteOp(path, version))

    async def access(self, path: str) -> tuple[AccessList, Stat]:
        check_path(path)

        def look() -> tuple[AccessList, Stat]:
            node = self._server.node(path)
            return node.access, node.stat()

        found: tuple[AccessList, Stat] = await self._request(look)
        return found

    async def set_access(self, path: str, entries: AccessList, version: int = ANY_VERSION) -> Stat:
        check_path(path)
        stat: Stat = await self._request(lambda: self._server.set_access(path, entries, version))
        return stat

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        for op in ops:
            check_path(op.path)
        results = await self._request(lambda: self._server.apply_all(self._session_id, ops))
        return [result[0] if isinstance(op, CreateOp) else result for op, result in zip(ops, results, strict=True)]

    async def sync(self, path: str) -> None:
        await self._request(lambda: None)


async def expire_real_session(session: KazooSession, connect: str) -> None:
    """Ends a session at the real server, as Apache Kafka's tests do: another client takes it over and closes it.

    The owner of the session connects again as soon as it is thrown out and throws the other one out in turn, so this
    continues until the server has removed the session. The owner is notified then or soon afterwards.
    """
    credentials = session.credentials
    if credentials is None:
        raise SessionExpired()
    while True:
        twin = KazooSession(connect, session_timeout_ms=10_000, credentials=credentials)
        await twin.connect()
        taken_over = twin.session_id == credentials[0]
        await twin.close()
        if not taken_over:
            return


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
