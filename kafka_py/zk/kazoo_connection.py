"""One kazoo client, which has at most one ZooKeeper session.

The part of kazoo_session.py that runs on kazoo's thread. kazoo is used as a connection (framing, pings, reconnects
within the session); all its events are posted to the owner on the loop. It keeps no watches, and after the session has
expired it must not connect again, which would silently open another session. Uses kazoo members that are not
documented: `_call`, `_connection._read_watch_event`, `_connection._socket`, and where sessions log in
`_connection.sasl_options` and `_connection._authenticate_with_sasl`; the contract suite fails if one of them changes.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from typing import Any, Protocol

from kazoo import exceptions as kazoo_errors
from kazoo.client import KazooClient, KazooState, KeeperState
from kazoo.retry import KazooRetry

from kafka_py.zk.configs import ConnectString
from kafka_py.zk.kazoo_bridge import LoopHandler, LoopInbox
from kafka_py.zk.requests import read_watch_event
from kafka_py.zk.secured.digest_md5 import LoginFailed
from kafka_py.zk.secured.logins import log_in
from kafka_py.zk.secured.protection import UNSECURED, SessionProtection
from kafka_py.zk.secured.tls_link import TlsLink
from kafka_py.zk.session import (
    AuthFailed,
    BadArguments,
    BadVersion,
    ConnectionLoss,
    InvalidAcl,
    LoginRequired,
    NoAuth,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
    ServerError,
    SessionExpired,
    SessionState,
    WatchEvent,
    ZkError,
)

_log = logging.getLogger(__name__)

_KAZOO_LOG = logging.getLogger("kafka_py.zk.kazoo")
"""kazoo logs several lines for every attempt to connect; only its errors are passed on."""
_KAZOO_LOG.setLevel(logging.ERROR)

RETRY_S = 0.25
"""The longest pause between attempts to connect: a session with a time-out of 0.5 s must survive a lost connection."""

_ERRORS: dict[type[Exception], type[ZkError]] = {
    kazoo_errors.NoNodeError: NoNode,
    kazoo_errors.NodeExistsError: NodeExists,
    kazoo_errors.BadVersionError: BadVersion,
    kazoo_errors.NotEmptyError: NotEmpty,
    kazoo_errors.NoChildrenForEphemeralsError: NoChildrenForEphemerals,
    kazoo_errors.NoAuthError: NoAuth,
    kazoo_errors.InvalidACLError: InvalidAcl,
    kazoo_errors.BadArgumentsError: BadArguments,
    kazoo_errors.ConnectionLoss: ConnectionLoss,
    kazoo_errors.ConnectionClosedError: ConnectionLoss,
    # The server no longer owns the session and closes the connection; we connect to the server that owns it.
    kazoo_errors.SessionMovedError: ConnectionLoss,
    kazoo_errors.SessionExpiredError: SessionExpired,
    kazoo_errors.AuthFailedError: AuthFailed,
    kazoo_errors.SessionClosedRequireSaslError: LoginRequired,
}


def zk_error(error: BaseException, path: str) -> ZkError:
    """A kazoo exception as one of ours."""
    known = _ERRORS.get(type(error))  # type: ignore[arg-type]
    return known(path) if known is not None else ServerError(path, f"{type(error).__name__} {error}".strip())


class ConnectionOwner(Protocol):
    """The receiver of a connection's events; called on the loop, in the order of the events."""

    def on_connected(self, connection: KazooConnection, credentials: tuple[int, bytes]) -> None:
        """The session is connected. credentials: session id and password."""
        ...

    def on_suspended(self, connection: KazooConnection, last_zxid: int) -> None:
        """The connection is lost. last_zxid: of the last response read; newer changes may have been missed."""
        ...

    def on_logged_in(self, connection: KazooConnection) -> None:
        """A login has succeeded, before `on_connected`."""
        ...

    def on_attempt_failed(self, connection: KazooConnection, reason: str) -> None:
        """TLS or the login could not be completed; further attempts follow."""
        ...

    def on_lost(self, connection: KazooConnection, state: SessionState, reason: str = "") -> None:
        """The session has ended. state: EXPIRED or AUTH_FAILED. reason: why the login was refused."""
        ...

    def on_event(self, connection: KazooConnection, event: WatchEvent) -> None: ...

    def on_answer(self, connection: KazooConnection, request: Request, value: Any, error: ZkError | None) -> None: ...


class Request:
    """A pending request; kazoo sees it as its "async result" and sets it once, or twice if it fails.

    operation: as requests.py declares it. number: order of issue, which is also the order of resending.
    """

    __slots__ = ("_connection", "answer", "issued_s", "number", "operation", "path", "tag")

    def __init__(
        self,
        number: int,
        operation: Any,
        path: str,
        answer: asyncio.Future[Any] | None = None,
        tag: Any = None,
        issued_s: float = 0.0,
    ) -> None:
        self.number = number
        self.operation = operation
        self.path = path
        self.answer = answer
        self.tag = tag
        self.issued_s = issued_s
        self._connection: KazooConnection | None = None

    def sent_by(self, connection: KazooConnection | None) -> None:
        """connection: None after the response, so that further responses are ignored."""
        self._connection = connection

    def set(self, value: Any = None) -> None:
        self._post(value, None)

    def set_exception(self, error: BaseException) -> None:
        self._post(None, zk_error(error, self.path))

    def _post(self, value: Any, error: ZkError | None) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.inbox.post(connection.owner.on_answer, connection, self, value, error)
            connection.answered()


class KazooConnection:
    """A kazoo client that reports its changes of state to `owner`. Create it on the loop."""

    def __init__(
        self,
        owner: ConnectionOwner,
        connect: ConnectString,
        session_timeout_ms: int,
        max_in_flight: int,
        credentials: tuple[int, bytes] | None = None,
        protection: SessionProtection = UNSECURED,
    ) -> None:
        """credentials: session id and password of an existing session to take over."""
        self.owner = owner
        self.inbox = LoopInbox(asyncio.get_running_loop())
        tls = None if protection.tls is None else TlsLink(protection.tls, self._on_attempt_failed, protection.named)
        self._handler = LoopHandler(len(connect.servers), tls)
        self._protection = protection
        self._refusal = ""
        self._ending = False
        # Both threads use the window: a response lets the next request be sent without a turn of the loop.
        self._lock = threading.RLock()
        self._max_in_flight = max_in_flight
        self._in_flight = 0
        self._queue: deque[Request] = deque()
        self._pumping = False
        self._client = KazooClient(
            hosts=connect.hosts,
            timeout=session_timeout_ms / 1000,
            client_id=credentials,
            handler=self._handler,
            connection_retry=KazooRetry(
                max_tries=-1, delay=0.1, max_delay=RETRY_S, sleep_func=self._handler.sleep_func
            ),
            command_retry=KazooRetry(max_tries=0, sleep_func=self._handler.sleep_func),
            logger=_KAZOO_LOG,
        )
        self._client.add_listener(self._on_state)
        self._client._connection._read_watch_event = self._on_watch_bytes
        if protection.login is not None:
            self._client._connection.sasl_options = {}  # not None: has kazoo log in
            self._client._connection._authenticate_with_sasl = self._log_in

    def start(self) -> None:
        """Starts to connect, with unlimited retries; does not block."""
        self._client.start_async()

    def call(self, request: Request) -> None:
        """Sends a request as soon as the window allows; every request gets a result, at least ConnectionLoss."""
        request.sent_by(self)
        with self._lock:
            self._queue.append(request)
            self._pump()

    def answered(self) -> None:
        """Removes an answered request from the window; called on kazoo's thread."""
        with self._lock:
            self._in_flight -= 1
            self._pump()

    def _pump(self) -> None:
        """Fills the window; the caller holds the lock."""
        if self._pumping:
            # Called within `_call` below, which responds at once when the session has ended: the outer loop continues.
            return
        self._pumping = True
        try:
            while self._queue and self._in_flight < self._max_in_flight:
                self._in_flight += 1
                request = self._queue.popleft()
                self._client._call(request.operation, request)
        finally:
            self._pumping = False

    def drop(self) -> None:
        """Breaks the connection like a network failure; kazoo reconnects within the session."""
        sock = self._client._connection._socket
        if sock is not None:
            sock.shutdown()

    def stop(self) -> asyncio.Future[None]:
        """Closes the session, if connected; the future is done when kazoo's thread has ended.

        Runs in a daemon thread, which does not keep the process from exiting.
        """
        self._ending = True
        if not self._client.connected:
            self.drop()
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def finished() -> None:
            if not done.done():
                done.set_result(None)

        def run() -> None:
            try:
                self._client.stop()
                self._client.close()
            except Exception as error:
                _log.warning("the ZooKeeper connection did not stop cleanly: %s", error)
            self.inbox.post(finished)

        threading.Thread(target=run, name="zookeeper-stop", daemon=True).start()
        return done

    # ---- called by kazoo, on its thread

    def _on_state(self, state: str) -> None:
        if state == KazooState.CONNECTED:
            if self._protection.login is None:  # else requests wait for the login
                self.inbox.post(self.owner.on_connected, self, self._client.client_id)
        elif state == KazooState.SUSPENDED:
            self.inbox.post(self.owner.on_suspended, self, self._client.last_zxid)
        elif not self._ending:
            self._handler.bar()
            refused = self._client.client_state == KeeperState.AUTH_FAILED
            ended = SessionState.AUTH_FAILED if refused else SessionState.EXPIRED
            self.inbox.post(self.owner.on_lost, self, ended, self._refusal)

    def _log_in(self, host: str, timeout_s: float) -> None:
        assert self._protection.login is not None
        try:
            log_in(self._client._connection, self._protection.login.exchange(host), timeout_s)
        except LoginFailed as failure:
            self._refusal = f"{self._protection.login_origin}, at {host}: {failure}"
            raise kazoo_errors.AuthFailedError(str(failure)) from None
        except kazoo_errors.ConnectionDropped as error:
            self._on_attempt_failed(f"{self._protection.login_origin}, at {host}: no login: {error}")
            raise
        self.inbox.post(self.owner.on_logged_in, self)
        self.inbox.post(self.owner.on_connected, self, self._client.client_id)

    def _on_attempt_failed(self, reason: str) -> None:
        self.inbox.post(self.owner.on_attempt_failed, self, reason)

    def _on_watch_bytes(self, buffer: bytes, offset: int) -> None:
        event = read_watch_event(buffer, offset)
        if event is not None:
            self.inbox.post(self.owner.on_event, self, event)
