"""Delegation tokens in ZooKeeper: conditional writes, each announced by the request that makes it.

So no broker keeps a token that another one has removed, or misses a new one, because its announcement failed.
Source: docs/reference/security/tokens.md, section 2.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from kafka_py.base.clock import Clock
from kafka_py.base.supervision import Supervisor
from kafka_py.zk.access import ZkAccess
from kafka_py.zk.notifications import NotificationListener, Reload
from kafka_py.zk.schema import is_json
from kafka_py.zk.session import (
    BadVersion,
    CreateOp,
    DeleteOp,
    MultiFailed,
    NodeExists,
    NoNode,
    Op,
    OpResult,
    SetOp,
    Stat,
)
from kafka_py.zk.znodes import TokenChangesZNode, TokenChangeZNode, TokensZNode, TokenZNode

ABSENT = -2
"""The version of a token that is not stored."""

_CHANGE_PREFIX = "token_change_"


class StoredToken(NamedTuple):
    """A token and the version of its znode."""

    znode: TokenZNode
    version: int


class TokenStore:
    """Tokens by their ids."""

    def __init__(self, znodes: ZkAccess) -> None:
        self._znodes = znodes

    async def ensure_paths(self) -> None:
        """Creates the parents of tokens and notifications where missing."""
        await self._znodes.ensure_path(TokenChangesZNode.path())
        await self._znodes.ensure_path(TokensZNode.path())

    async def ids(self) -> list[str]:
        """The ids of all tokens, sorted."""
        return sorted(await self._znodes.children_or_empty(TokensZNode.path()))

    async def read(self, token_id: str) -> StoredToken | None:
        """None for one that is not stored, and for data that is not JSON. Raises MalformedZNode for other data."""
        found = await self._znodes.read(TokenZNode.path(token_id))
        if found is None or not is_json(found[0]):
            return None
        return StoredToken(TokenZNode.decode(found[0]), found[1].version)

    async def write(self, token: TokenZNode, version: int) -> int | None:
        """Writes a token if it still has this version, ABSENT for a new one.

        Returns the new version, None if it has another version now, or is gone.
        """
        path, data = TokenZNode.path(token.tokenId), token.encode()
        op = CreateOp(path, data) if version == ABSENT else SetOp(path, data, version)
        try:
            result = await self._announced(token.tokenId, op)
        except NodeExists:
            return None
        except (BadVersion, NoNode):
            if version == ABSENT:  # the parent is missing
                raise
            return None
        return result.version if isinstance(result, Stat) else 0

    async def remove(self, token_id: str, version: int) -> bool:
        """Deletes a token if it still has this version; False if it has another one now, or is gone."""
        try:
            await self._announced(token_id, DeleteOp(TokenZNode.path(token_id), version))
        except (BadVersion, NoNode):
            return False
        return True

    async def _announced(self, token_id: str, op: CreateOp | SetOp | DeleteOp) -> OpResult:
        """Sends a write together with its notification. Returns the result of the write, and raises its errors."""
        ops: list[Op] = [op, CreateOp(TokenChangeZNode.path(), TokenChangeZNode(token_id).encode(), sequence=True)]
        while True:
            try:
                return (await self._znodes.session.multi(ops))[0]
            except MultiFailed as failure:
                if failure.index == 0 or not isinstance(failure.error, NoNode):
                    raise failure.error from None
            # The parent of the notifications was deleted. As an error of the write it would count as a change of the
            # token by another broker, and the write would be retried for ever.
            await self._znodes.ensure_path(TokenChangesZNode.path())

    def listener(
        self,
        apply: Callable[[str], Awaitable[None]],
        clock: Clock,
        supervisor: Supervisor | None = None,
        *,
        on_gap: Reload | None = None,
    ) -> NotificationListener:
        """A listener that calls `apply` with the id of each token that changed, and `on_gap` if some were missed."""

        async def handle(data: bytes) -> None:
            await apply(TokenChangeZNode.decode(data).token_id)

        root = TokenChangesZNode.path()
        return NotificationListener(self._znodes, root, _CHANGE_PREFIX, handle, clock, supervisor, on_gap=on_gap)
