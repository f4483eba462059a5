"""Znodes by hand, blocking: what an administrator does with zookeeper-shell, and what tests look at.

Knows paths and bytes, nothing of their meaning.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Self

from kafka_py.clients.loop import LoopThread
from kafka_py.zk.access import ZkAccess
from kafka_py.zk.configs import ConnectString
from kafka_py.zk.kazoo_session import KazooSession
from kafka_py.zk.secured.protection import UNSECURED, SessionProtection

SESSION_TIMEOUT_MS = 30_000


class Znodes:
    """A session of the test's own; a context manager. protection: TLS and login."""

    def __init__(self, connect: str, protection: SessionProtection = UNSECURED) -> None:
        self._thread = LoopThread("znodes")
        self._access = self._thread.run(self._open(connect, protection))

    @staticmethod
    async def _open(connect: str, protection: SessionProtection) -> ZkAccess:
        servers = ConnectString.parse(connect)
        session = KazooSession(
            servers, session_timeout_ms=SESSION_TIMEOUT_MS, create_chroot=False, protection=protection
        )
        await session.connect()
        return ZkAccess(session)

    def get(self, path: str) -> bytes:
        """Its data; null data is empty. Raises NoNode."""
        return self._thread.run(self._access.session.get(path))[0] or b""

    def exists(self, path: str) -> bool:
        return self._thread.run(self._access.session.exists(path)) is not None

    def children(self, path: str) -> list[str]:
        """Sorted; none if the znode is not there."""
        return sorted(self._thread.run(self._access.children_or_empty(path)))

    def access(self, path: str) -> list[str]:
        """Its access list, as `world:anyone:r`, sorted. Raises NoNode."""
        entries, _ = self._thread.run(self._access.session.access(path))
        return sorted(f"{entry.scheme}:{entry.id}:{entry.letters}" for entry in entries)

    def tree(self, path: str = "/") -> Iterator[str]:
        """It and all that is below it; what vanishes meanwhile is left out."""
        yield path
        for name in self.children(path):
            yield from self.tree(f"{path.rstrip('/')}/{name}")

    def set(self, path: str, data: str | bytes) -> None:
        """Writes it, made with its parents if need be."""
        self._thread.run(self._access.set_or_create(path, data.encode() if isinstance(data, str) else data))

    def create_sequential(self, path: str, data: str | bytes) -> str:
        """Makes `path` with ten digits behind it; returns its whole name."""
        encoded = data.encode() if isinstance(data, str) else data
        return self._thread.run(self._access.create_recursive(path, encoded, sequence=True))

    def delete(self, path: str) -> None:
        """With all that is below it; nothing if it is not there."""
        self._thread.run(self._access.delete_recursive(path))

    def close(self) -> None:
        self._thread.run(self._access.session.close())
        self._thread.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
