"""The real ZooKeeper session, over kazoo: waiting requests, resending, watches, renewal.

Runs on the loop; kazoo_connection.py has the thread's side and the window (zookeeper.max.in.flight.requests). In the
order of a request's processing: `_submit`, `on_answer`, and if the connection broke meanwhile `_send_again`,
`on_connected`.
Source: docs/reference/zookeeper.md, section 3.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Iterator, Sequence
from typing import Any, Self

from kazoo.protocol.serialization import Delete, SetData

from kafka_py.base.clock import Clock, SystemClock
from kafka_py.zk.configs import ConnectString, ZkOptions
from kafka_py.zk.kazoo_connection import KazooConnection, Request, zk_error
from kafka_py.zk.lifecycle import AUTH_FAILED, CLOSED, CONNECTED, CONNECTING, EXPIRED, SUSPENDED, SessionLifecycle
from kafka_py.zk.requests import (
    AccessRequest,
    ChildrenRequest,
    CreateRequest,
    DeleteRequest,
    ExistsRequest,
    GetRequest,
    MultiRequest,
    SetAccessRequest,
    SetRequest,
    SetWatchesRequest,
    ZkSyncRequest,
    kazoo_create,
    kazoo_operation,
)
from kafka_py.zk.secured.access_lists import AccessList, access_list_of
from kafka_py.zk.secured.protection import UNSECURED, SessionProtection
from kafka_py.zk.session import (
    ANY_VERSION,
    AuthFailed,
    ConnectionLoss,
    ConnectTimeout,
    CreateOp,
    MultiFailed,
    NodeExists,
    NoNode,
    Op,
    OpResult,
    SessionClosed,
    SessionExpired,
    SessionState,
    Stat,
    Watch,
    WatchEvent,
    ZkError,
    check_path,
)
from kafka_py.zk.watches import WatchKind

_log = logging.getLogger(__name__)

CLOSE_TIMEOUT_S = 6.0
ABANDON_TIMEOUT_S = 0.5
MAX_PACKET_BYTES = 0xFFFFF
"""Default of jute.maxbuffer: the server closes the connection on larger requests."""

_SET_WATCHES_BYTES = 128 * 1024
_ROLLED_BACK = (0, -2)
"""Error codes of multi operations that failed only because another operation failed."""


class KazooSession(SessionLifecycle):
    """A ZkSession with a real ensemble.

    connect: servers and chroot. connection_timeout_ms: for the first connection only; None: the session timeout.
    create_chroot: create the chroot's znodes when connecting, as brokers do; tools do not. credentials: session id and
        password of an existing session to take over. protection: TLS, login, access lists. connect_setting: for errors.
    """

    def __init__(
        self,
        connect: ConnectString | str,
        *,
        session_timeout_ms: int = 18000,
        connection_timeout_ms: int | None = None,
        max_in_flight: int = 10,
        create_chroot: bool = False,
        credentials: tuple[int, bytes] | None = None,
        clock: Clock | None = None,
        protection: SessionProtection = UNSECURED,
        connect_setting: str = "zookeeper.connect",
    ) -> None:
        super().__init__(clock or SystemClock())
        self._connect = ConnectString.parse(connect) if isinstance(connect, str) else connect
        self._chroot = self._connect.chroot
        self._session_timeout_ms = session_timeout_ms
        self._connection_timeout_ms = session_timeout_ms if connection_timeout_ms is None else connection_timeout_ms
        self._max_in_flight = max_in_flight
        self._create_chroot = create_chroot
        self._credentials = credentials
        self._protection = protection
        self._connect_setting = connect_setting
        self._failures: dict[str, None] = {}  # why attempts failed since the last connection
        self._refusal = ""
        self._connection: KazooConnection | None = None
        self._opened: asyncio.Future[None] | None = None
        self._session_id = 0
        self._last_zxid = 0
        self._numbers = itertools.count()
        # Requests that wait for a connection: issued without one, or pending when one was lost.
        self._waiting: list[Request] = []
        # The connection is broken, even if on_suspended was not called yet: new requests must not overtake the lost
        # ones.
        self._broken = False

    @classmethod
    def of(
        cls, options: ZkOptions, *, clock: Clock | None = None, create_chroot: bool = True,
        protection: SessionProtection = UNSECURED, connect_setting: str = "zookeeper.connect",
    ) -> Self:  # fmt: skip
        """A broker's session. Raises ConfigError."""
        return cls(
            options.connect_string(),
            session_timeout_ms=options.zookeeper_session_timeout_ms,
            connection_timeout_ms=options.connection_timeout_ms(),
            max_in_flight=options.zookeeper_max_in_flight_requests,
            create_chroot=create_chroot,
            clock=clock,
            protection=protection,
            connect_setting=connect_setting,
        )

    # ---- life

    @property
    def session_id(self) -> int:
        return self._session_id

    @property
    def credentials(self) -> tuple[int, bytes] | None:
        """Id and password of the current session, with which it can be taken over; None before the first connection."""
        return self._credentials

    async def connect(self) -> None:
        try:
            async with asyncio.timeout(self._connection_timeout_ms / 1000):
                await self._open()
        except TimeoutError:
            await self.close()
            reasons = "".join(f"; {reason}" for reason in self._failures)
            raise ConnectTimeout(
                detail=f"no server of {self._connect_setting}={self._connect} answered within "
                f"{self._connection_timeout_ms} ms (zookeeper.connection.timeout.ms){reasons}"
            ) from None
        except AuthFailed:
            await self.close()
            raise
        if self._create_chroot and self._chroot:
            await self._ensure_chroot(self._chroot)

    async def _open(self) -> None:
        self._opened = asyncio.get_running_loop().create_future()
        self._connection = self._new_connection(self._credentials)
        self._connection.start()
        await asyncio.shield(self._opened)

    def _new_connection(self, credentials: tuple[int, bytes] | None) -> KazooConnection:
        return KazooConnection(
            self, self._connect, self._session_timeout_ms, self._max_in_flight, credentials, self._protection
        )

    async def _ensure_chroot(self, path: str) -> None:
        """Creates it; parents are written only if they are missing, for they may belong to others."""
        try:
            await self._submit(CreateRequest(self._creation(CreateOp(path), path)), path)
        except NodeExists:
            return
        except NoNode:
            await self._ensure_chroot(path.rpartition("/")[0])
            await self._ensure_chroot(path)

    async def close(self) -> None:
        if self._state is CLOSED:
            return
        self._stop_renewals()
        # Without a connection the session cannot be closed at the server; only kazoo's thread has to end.
        patience_s = CLOSE_TIMEOUT_S if self._state is CONNECTED else ABANDON_TIMEOUT_S
        self._become(CLOSED)
        self._fail_waiting(SessionClosed)
        if self._opened is not None and not self._opened.done():
            self._opened.set_exception(SessionClosed())
            self._opened.exception()  # marks the exception as retrieved, in case no caller waits for it
        if self._connection is not None:
            await asyncio.wait([self._connection.stop()], timeout=patience_s)

    def drop_connection(self) -> None:
        """Breaks the connection within the session; for tests."""
        if self._connection is not None:
            self._connection.drop()

    # ---- events of the connection

    def on_connected(self, connection: KazooConnection, credentials: tuple[int, bytes]) -> None:
        if connection is not self._connection or self._state is CLOSED:
            return
        self._credentials = credentials
        self._session_id = credentials[0]
        self._refusal = ""
        self._failures.clear()
        for piece in self._watches_to_arm():
            connection.call(Request(next(self._numbers), piece, ""))
        for request in sorted(self._waiting, key=lambda request: request.number):
            connection.call(request)
        self._waiting.clear()
        self._broken = False
        self._become(CONNECTED)
        if self._opened is not None and not self._opened.done():
            self._opened.set_result(None)

    def on_suspended(self, connection: KazooConnection, last_zxid: int) -> None:
        if connection is self._connection and self._state is CONNECTED:
            self._last_zxid = last_zxid
            self._become(SUSPENDED)

    def on_logged_in(self, connection: KazooConnection) -> None:
        if connection is self._connection and self._report_login is not None:
            self._report_login()

    def on_attempt_failed(self, connection: KazooConnection, reason: str) -> None:
        if connection is self._connection and reason not in self._failures:
            self._failures[reason] = None
            _log.warning("ZooKeeper cannot be reached: %s", reason)

    def on_lost(self, connection: KazooConnection, state: SessionState, reason: str = "") -> None:
        if connection is not self._connection or self._state is CLOSED:
            return
        if state is AUTH_FAILED and reason != self._refusal:
            self._refusal = reason
            _log.error("ZooKeeper refuses the login: %s", reason)
        self._connection = None
        connection.stop()
        if self._state is CONNECTING and state is EXPIRED:
            # The given session has ended, or the client failed, before any caller had a session: open a new one.
            self._connection = self._new_connection(None)
            self._connection.start()
            return
        self._credentials = None
        self._fail_waiting(SessionExpired if state is EXPIRED else AuthFailed)
        self._become(state)
        if state is AUTH_FAILED and self._opened is not None and not self._opened.done():
            self._opened.set_exception(AuthFailed(detail=reason))

    def on_event(self, connection: KazooConnection, event: WatchEvent) -> None:
        if connection is self._connection and self._state is not CLOSED:
            self._watches.fire(WatchEvent(event.type, self._below_chroot(event.path)))

    def on_answer(self, connection: KazooConnection, request: Request, value: Any, error: ZkError | None) -> None:
        if request.answer is None:
            if error is not None and not isinstance(error, ConnectionLoss):
                _log.warning("watches could not be set again: %s", error)
            return
        if self._report_latency is not None and not isinstance(error, ConnectionLoss):
            self._report_latency((self._clock.monotonic_s() - request.issued_s) * 1000)
        if error is None:
            self._succeed(request, value)
        elif not isinstance(error, ConnectionLoss):
            _fail(request, error)
        elif self._state is CLOSED:
            _fail(request, SessionClosed(request.path))
        elif connection is not self._connection:
            _fail(request, SessionExpired(request.path))
        else:
            self._broken = True
            self._send_again(request)

    def _succeed(self, request: Request, value: Any) -> None:
        if request.tag is not None:
            watch, kind = request.tag
            if kind is WatchKind.DATA and value is None:
                kind = WatchKind.EXIST
            self._watches.add(kind, request.path, watch)
        if request.answer is not None and not request.answer.done():
            request.answer.set_result(value)

    def _send_again(self, request: Request) -> None:
        """Keeps a request until the session is connected again, unless it can never succeed."""
        if len(request.operation.serialize()) > MAX_PACKET_BYTES:
            _fail(request, ConnectionLoss(request.path, f"the request is larger than {MAX_PACKET_BYTES} bytes"))
        else:
            self._waiting.append(request)

    def _fail_waiting(self, error: type[ZkError]) -> None:
        waiting, self._waiting = self._waiting, []
        for request in waiting:
            _fail(request, error(request.path))

    # ---- sending

    def _submit(self, operation: Any, path: str, tag: Any = None) -> asyncio.Future[Any]:
        """Sends a request, or keeps it until connected. tag: watch and kind to register when it succeeds."""
        self._refuse_if_lost()
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        request = Request(next(self._numbers), operation, path, answer, tag, self._clock.monotonic_s())
        if self._state is CONNECTED and not self._broken and self._connection is not None:
            self._connection.call(request)
        else:
            self._waiting.append(request)
        return answer

    def _watches_to_arm(self) -> Iterator[SetWatchesRequest]:
        """The requests to send first on a new connection of the same session, each within jute.maxbuffer."""
        paths = [
            (kind, path if path == "/" and not self._chroot else self._full(path))
            for kind in WatchKind
            for path in self._watches.paths(kind)
        ]
        while paths:
            size, count = 0, 0
            while count < len(paths) and size < _SET_WATCHES_BYTES:
                size += len(paths[count][1].encode()) + 4
                count += 1
            piece, paths = paths[:count], paths[count:]
            of = {kind: [path for other, path in piece if other is kind] for kind in WatchKind}
            yield SetWatchesRequest(self._last_zxid, of[WatchKind.DATA], of[WatchKind.EXIST], of[WatchKind.CHILD])

    def _full(self, path: str) -> str:
        check_path(path)
        return path if not self._chroot else self._chroot if path == "/" else self._chroot + path

    def _below_chroot(self, path: str) -> str:
        return (path.removeprefix(self._chroot) or "/") if self._chroot else path

    # ---- requests

    async def get(self, path: str, watch: Watch | None = None) -> tuple[bytes | None, Stat]:
        tag = (watch, WatchKind.DATA) if watch is not None else None
        found: tuple[bytes | None, Stat] = await self._submit(
            GetRequest(self._full(path), watch is not None), path, tag
        )
        return found

    async def exists(self, path: str, watch: Watch | None = None) -> Stat | None:
        tag = (watch, WatchKind.DATA) if watch is not None else None
        stat: Stat | None = await self._submit(ExistsRequest(self._full(path), watch is not None), path, tag)
        return stat

    async def children(self, path: str, watch: Watch | None = None) -> list[str]:
        tag = (watch, WatchKind.CHILD) if watch is not None else None
        names: list[str] = await self._submit(ChildrenRequest(self._full(path), watch is not None), path, tag)
        return names

    async def create(
        self, path: str, data: bytes | None = None, *, ephemeral: bool = False, sequence: bool = False,
        access: AccessList | None = None,
    ) -> tuple[str, Stat]:  # fmt: skip
        operation = self._creation(CreateOp(path, data, ephemeral, sequence, access), self._full(path))
        created, stat = await self._submit(CreateRequest(operation), path)
        return self._below_chroot(created), stat

    async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> Stat:
        stat: Stat = await self._submit(SetRequest(SetData(self._full(path), data, version)), path)
        return stat

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        await self._submit(DeleteRequest(Delete(self._full(path), version)), path)

    def _creation(self, op: CreateOp, full_path: str) -> Any:
        entries = access_list_of(op.path, protected=self._protection.protects) if op.access is None else op.access
        return kazoo_create(op, full_path, entries)

    async def access(self, path: str) -> tuple[AccessList, Stat]:
        found: tuple[AccessList, Stat] = await self._submit(AccessRequest(self._full(path)), path)
        return found

    async def set_access(self, path: str, entries: AccessList, version: int = ANY_VERSION) -> Stat:
        stat: Stat = await self._submit(SetAccessRequest(self._full(path), entries, version), path)
        return stat

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        operations = [
            self._creation(op, self._full(op.path)) if isinstance(op, CreateOp)
            else kazoo_operation(op, self._full(op.path))
            for op in ops
        ]  # fmt: skip
        results = await self._submit(MultiRequest(operations), ops[0].path if ops else "/")
        for index, result in enumerate(results):
            if isinstance(result, Exception) and getattr(result, "code", 0) not in _ROLLED_BACK:
                raise MultiFailed(index, zk_error(result, ops[index].path))
        return [self._below_chroot(result) if isinstance(result, str) else result for result in results]

    async def sync(self, path: str) -> None:
        await self._submit(ZkSyncRequest(self._full(path)), path)


def _fail(request: Request, error: ZkError) -> None:
    if request.answer is not None and not request.answer.done():
        request.answer.set_exception(error)
