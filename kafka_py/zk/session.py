"""Interface of a ZooKeeper session: requests, one-shot watches, states, errors.

Holds no client: kazoo_session.py is the real session, kafka_py.testing.zookeeper an in-memory one, and one suite
(tests/contracts) runs on both. Paths are relative to the chroot. All calls and callbacks run on the event loop.

Ordering: requests issued without an await between them are sent in that order and answered in that order (pipelining
is `asyncio.gather`); a watch runs before the answer to any request that could already show the change.
Source: the ZooKeeper programmer's guide; docs/reference/zookeeper.md, section 3.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, Protocol

from kafka_py.base.supervision import Supervisor
from kafka_py.zk.secured.access_lists import AccessList

ANY_VERSION = -1


class Stat(NamedTuple):
    """A znode's metadata, in wire order. `czxid` of a broker's registration is its broker epoch."""

    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    cversion: int
    aversion: int
    ephemeral_owner: int
    data_length: int
    num_children: int
    pzxid: int


class EventType(enum.Enum):
    """The kind of change that a watch reports."""

    CREATED = "NodeCreated"
    DELETED = "NodeDeleted"
    CHANGED = "NodeDataChanged"
    CHILDREN = "NodeChildrenChanged"


class WatchEvent(NamedTuple):
    """One change of one znode; the path is the one that was watched."""

    type: EventType
    path: str


Watch = Callable[[WatchEvent], None]


class SessionState(enum.Enum):
    """The state of a session; listeners are called with each change.

    CONNECTING: not connected yet. SUSPENDED: the connection is lost, the session may still be alive; requests wait.
    EXPIRED: the session has ended with its ephemerals and watches; a new one follows (CONNECTED) unless closed.
    AUTH_FAILED: the server refused our credentials.
    """

    CONNECTING = "connecting"
    CONNECTED = "connected"
    SUSPENDED = "suspended"
    EXPIRED = "expired"
    AUTH_FAILED = "auth failed"
    CLOSED = "closed"


StateListener = Callable[[SessionState], None]
Hook = Callable[[], Awaitable[None]]


class ZkError(Exception):
    """ZooKeeper or the session rejected a request; `path` is the znode concerned, if any."""

    reason = "ZooKeeper request failed"

    def __init__(self, path: str = "", detail: str = "") -> None:
        super().__init__(path, detail)
        self.path = path
        self.detail = detail

    def __str__(self) -> str:
        return ": ".join(part for part in (self.reason, self.path, self.detail) if part)


class NoNode(ZkError):
    """The znode, or the parent of one to create, does not exist."""

    reason = "no such znode"


class NodeExists(ZkError):
    """The znode to create exists."""

    reason = "znode exists"


class BadVersion(ZkError):
    """The znode's version is not the expected one: another client wrote it."""

    reason = "znode has another version"


class NotEmpty(ZkError):
    """The znode to delete has children."""

    reason = "znode has children"


class NoChildrenForEphemerals(ZkError):
    """The parent of the znode to create is ephemeral."""

    reason = "an ephemeral znode cannot have children"


class NoAuth(ZkError):
    """The znode's access list does not let this session do that."""

    reason = "not permitted by the znode's access list"


class InvalidAcl(ZkError):
    """The access list given is empty or names an unknown scheme."""

    reason = "invalid access list"


class BadArguments(ZkError):
    """A malformed path or request."""

    reason = "invalid path or arguments"


class ServerError(ZkError):
    """Any other code of the server; `detail` names it."""

    reason = "ZooKeeper server error"


class ConnectionLoss(ZkError):
    """The connection broke before the answer; whether the request was carried out is unknown.

    Sessions resend such requests themselves, so callers see it only from a session that is being closed.
    """

    reason = "connection to ZooKeeper lost"


class SessionLost(ZkError):
    """The session is over, and another one follows."""


class SessionExpired(SessionLost):
    """The session has expired; the request was not carried out, or its result is lost."""

    reason = "ZooKeeper session expired"


class SessionClosed(ZkError):
    """The session was closed by this process."""

    reason = "ZooKeeper session closed"


class AuthFailed(SessionLost):
    """ZooKeeper refused the session's credentials."""

    reason = "ZooKeeper authentication failed"


class LoginRequired(ZkError):
    """The ensemble closes sessions that have not logged in."""

    reason = "ZooKeeper requires a login"


class ConnectTimeout(ZkError):
    """No server could be reached in time; `detail` names the addresses and the settings."""

    reason = "cannot connect to ZooKeeper"


class MultiFailed(ZkError):
    """No operation of a multi was carried out, because operation `index` failed with `error`."""

    reason = "multi failed"

    def __init__(self, index: int, error: ZkError) -> None:
        super().__init__(error.path, f"operation {index}: {error}")
        self.index = index
        self.error = error


class CheckOp(NamedTuple):
    """Succeeds if the znode exists with this version; its result is None."""

    path: str
    version: int


class CreateOp(NamedTuple):
    """Creates a znode; data None is a null buffer, which differs from an empty one. Its result is the path.

    access: None for the list that the session gives to a znode of that path.
    """

    path: str
    data: bytes | None = None
    ephemeral: bool = False
    sequence: bool = False
    access: AccessList | None = None


class SetOp(NamedTuple):
    """Writes a znode expecting `version` (-1: any). Its result is the new Stat."""

    path: str
    data: bytes | None
    version: int = ANY_VERSION


class DeleteOp(NamedTuple):
    """Deletes a childless znode expecting `version` (-1: any). Its result is None."""

    path: str
    version: int = ANY_VERSION


Op = CheckOp | CreateOp | SetOp | DeleteOp
OpResult = str | Stat | None


def check_path(path: str) -> None:
    """Raises BadArguments for a path that the server would reject or misinterpret."""
    if path == "/" or (path.startswith("/") and not path.endswith("/") and "//" not in path and "\0" not in path):
        return
    raise BadArguments(path, "a path starts with / and has no empty part")


def path_parents(path: str) -> list[str]:
    """The parents of a path, nearest first, without the root."""
    parents = []
    while path := path.rpartition("/")[0]:
        parents.append(path)
    return parents


class ZkSession(Protocol):
    """The ZooKeeper session of a process; an expired one is replaced by a new one.

    Every request raises ZkError subclasses. While the connection is lost requests wait (without limit) and are resent,
    so a write may have been carried out already when its retry fails: writers must compare the stored data. They raise
    SessionExpired after the session has expired, SessionClosed after close().

    A watch is called once, on the loop, at the first matching change after the request that set it; a request that
    raised sets none, but `exists` sets one for an absent znode too. The same callable set twice is called once.
    Expiry drops watches without a call.
    """

    @property
    def state(self) -> SessionState: ...

    @property
    def session_id(self) -> int:
        """Id of the current session, signed 64 bit as in `Stat.ephemeral_owner`; 0 before the first connection."""
        ...

    async def connect(self) -> None:
        """Opens the session. Raises ConnectTimeout."""
        ...

    async def close(self) -> None:
        """Ends the session; its ephemerals are deleted at once. Waiting requests raise SessionClosed."""
        ...

    def add_listener(self, listener: StateListener) -> None:
        """Adds a listener, which is called on the loop at each change of state."""
        ...

    def remove_listener(self, listener: StateListener) -> None: ...

    def add_expiry_hooks(self, *, before: Hook | None = None, after: Hook | None = None) -> None:
        """Adds coroutines to await after an expiry: `before` a new session is opened, `after` it is connected."""
        ...

    def supervise(self, supervisor: Supervisor) -> None:
        """Reports failures of the renewal, of listeners, hooks and watches to `supervisor` from now on."""
        ...

    def report_logins(self, report: Callable[[], None]) -> None:
        """Calls `report` after each login to a server."""
        ...

    def report_latency(self, report: Callable[[float], None]) -> None:
        """Calls `report` with the latency of each request, in ms from its issue to its response."""
        ...

    async def get(self, path: str, watch: Watch | None = None) -> tuple[bytes | None, Stat]:
        """The data (None where it is null) and Stat. Watches for change and deletion."""
        ...

    async def exists(self, path: str, watch: Watch | None = None) -> Stat | None:
        """The Stat, or None if there is no such znode. Watches for creation, change and deletion."""
        ...

    async def children(self, path: str, watch: Watch | None = None) -> list[str]:
        """Names of the children, unordered. Watches for children created or deleted, and deletion of the znode."""
        ...

    async def create(
        self, path: str, data: bytes | None = None, *, ephemeral: bool = False, sequence: bool = False,
        access: AccessList | None = None,
    ) -> tuple[str, Stat]:  # fmt: skip
        """The path as created (with `sequence`, a sequence number of 10 digits is appended) and its Stat.

        access: as in CreateOp.
        """
        ...

    async def set(self, path: str, data: bytes | None, version: int = ANY_VERSION) -> Stat: ...

    async def delete(self, path: str, version: int = ANY_VERSION) -> None: ...

    async def access(self, path: str) -> tuple[AccessList, Stat]:
        """The znode's access list, and its Stat, whose `aversion` counts the changes of the list."""
        ...

    async def set_access(self, path: str, entries: AccessList, version: int = ANY_VERSION) -> Stat:
        """Replaces the access list, expecting the `aversion` to be `version`."""
        ...

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        """Carries out all operations in order, or none. Raises MultiFailed with the first operation that failed."""
        ...

    async def sync(self, path: str) -> None:
        """Waits until the connected server has caught up with the ensemble's leader."""
        ...
