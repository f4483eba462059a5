"""The delegation tokens of a cluster: read from ZooKeeper into an index, followed, and changed (I/O).

A token is read or written by one task at a time. Writes are conditional on the version that the decision was made from,
so a token that another broker has removed is not written again.
Source: docs/reference/security/tokens.md, sections 1 and 2; DelegationTokenManager.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from kafka_py.base.chance import Chance
from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.exclusion import KeyedLocks
from kafka_py.base.ids import uuid_to_text
from kafka_py.base.supervision import Supervisor
from kafka_py.base.turns import sliced
from kafka_py.net.principal import Principal
from kafka_py.security.tokens.delegation_tokens import (
    DelegationToken,
    Lifetimes,
    expired,
    hmac_of,
    new_token,
    renewed,
)
from kafka_py.security.tokens.token_index import TokenIndex
from kafka_py.zk.access import pipelined, raise_first
from kafka_py.zk.config_znodes import desanitize, sanitize
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.tokens import ABSENT, TokenStore
from kafka_py.zk.znodes import TokenZNode

_log = logging.getLogger(__name__)

AT_A_TIME = 12
"""Tokens that are read or changed at a time: more than a session has in flight, and few enough that all of them have
a reply in one turn of the loop, of 100 microseconds each."""

Decide = Callable[[DelegationToken, int], DelegationToken | None]
"""(a token, now) -> what becomes of it: itself: nothing is written; None: it is removed. Raises KafkaError."""


class TokenKeeper:
    """All tokens of a cluster: `index` has them after `start`, and follows what other brokers change."""

    def __init__(
        self, store: TokenStore, secret: str, lifetimes: Lifetimes, clock: Clock, chance: Chance,
        supervisor: Supervisor | None = None,
    ) -> None:  # fmt: skip
        """secret: the same on all brokers."""
        self.index = TokenIndex(chance)
        self._store = store
        self._secret = secret
        self._lifetimes = lifetimes
        self._clock = clock
        self._chance = chance
        self._supervisor = supervisor or Supervisor(clock)
        self._locks = KeyedLocks()
        self._has_read_all = False
        self._listener = store.listener(self._on_change, clock, supervisor, on_gap=self.read_all)

    async def start(self) -> None:
        """Reads all tokens, then follows the changes. One that cannot be read is reported and left out."""
        await self._store.ensure_paths()
        await self._listener.start()
        self._has_read_all = True
        await self.read_all()
        _log.info("%d delegation tokens are known", len(self.index))

    async def read_all(self) -> None:
        """Reads every token that is stored or known."""
        known = [token.token_id for token in self.index.tokens()]
        token_ids = dict.fromkeys([*await self._store.ids(), *known])
        results = await pipelined(map(self._refresh, token_ids), AT_A_TIME)
        for token_id, result in zip(token_ids, results, strict=True):
            if isinstance(result, MalformedZNode):
                self._supervisor.report("delegation tokens", result, token_id)
            elif result is not None:
                raise result

    async def close(self) -> None:
        await self._listener.stop()

    async def _on_change(self, token_id: str) -> None:
        """A token has changed. What was announced before the start is read with everything else."""
        if self._has_read_all:
            await self._refresh(token_id)

    async def _refresh(self, token_id: str) -> None:
        async with self._locks.hold(token_id):
            await self._read(token_id)

    async def _read(self, token_id: str) -> None:
        found = await self._store.read(token_id)
        if found is None:
            self.index.remove(token_id)
        else:
            self.index.put(token_of(token_id, found.znode, hmac_of(self._secret, token_id)), found.version)

    # ---- changes

    async def create(self, owner: Principal, renewers: Sequence[Principal], lifetime_ms: int) -> DelegationToken:
        """Makes a token. lifetime_ms: the longest one if it is 0 or less."""
        token_id = uuid_to_text(self._chance.new_topic_id())  # its text is never taken for an option of a command
        now_ms, hmac = int(self._clock.wall_ms()), hmac_of(self._secret, token_id)
        token = new_token(
            token_id, hmac, owner, renewers, lifetime_ms=lifetime_ms, lifetimes=self._lifetimes, now_ms=now_ms
        )
        async with self._locks.hold(token_id):
            version = await self._store.write(znode_of(token), ABSENT)
            if version is None:  # the request was sent again, and had been carried out
                await self._read(token_id)
            else:
                self.index.put(token, version)
        _log.info("%s has created the delegation token %s", owner, token_id)
        return token

    async def renew(self, who: Principal, hmac: bytes, period_ms: int) -> int:
        """When the token with that HMAC now ends. period_ms: from now; the setting's if negative. Raises KafkaError."""
        return await self._change_of(
            who, hmac, lambda token, now_ms: renewed(token, who, period_ms, self._lifetimes, now_ms)
        )

    async def expire(self, who: Principal, hmac: bytes, period_ms: int) -> int:
        """When the token with that HMAC now ends. period_ms: from now; at once if negative. Raises KafkaError."""
        return await self._change_of(who, hmac, lambda token, now_ms: expired(token, who, period_ms, now_ms))

    async def remove_expired(self) -> None:
        """Removes the tokens that are over. Raises ZkError."""
        now_ms = self._clock.wall_ms()
        over: list[str] = []
        async for some in sliced(self.index.tokens()):
            over += [token.token_id for token in some if token.is_over(now_ms)]
        results = await pipelined((self._change(token_id, _ended_if_over) for token_id in over), AT_A_TIME)
        async for outcomes in sliced(results):
            raise_first(outcomes)

    async def _change_of(self, who: Principal, hmac: bytes, decide: Decide) -> int:
        """When the token with that HMAC ends after the change. Raises KafkaError."""
        token_id = self.index.id_of(hmac)
        ends_ms = None if token_id is None else await self._change(token_id, decide)
        if ends_ms is None:
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
        _log.info("%s has set the end of the delegation token %s: %d", who, token_id, ends_ms)
        return ends_ms

    async def _change(self, token_id: str, decide: Decide) -> int | None:
        """Stores what `decide` makes of a token, deciding again if another broker wrote it meanwhile.

        Returns when it now ends, None if it does not exist. Raises what `decide` raises.
        """
        async with self._locks.hold(token_id):
            while (found := self.index.of(token_id)) is not None:
                token, version = found
                now_ms = int(self._clock.wall_ms())
                wanted = decide(token, now_ms)
                if wanted is None:
                    if await self._removed(token_id, version):
                        return now_ms
                elif wanted is token or await self._written(wanted, version):
                    return wanted.expires_ms
        return None

    async def _removed(self, token_id: str, version: int) -> bool:
        """Whether it is no longer stored; else it has been read again."""
        if await self._store.remove(token_id, version):
            self.index.remove(token_id)
            _log.info("The delegation token %s was removed", token_id)
        else:
            await self._read(token_id)
        return self.index.of(token_id) is None

    async def _written(self, token: DelegationToken, version: int) -> bool:
        """Whether it is stored, perhaps by a request whose reply was lost; else the stored one has been read again."""
        written = await self._store.write(znode_of(token), version)
        if written is None:
            await self._read(token.token_id)
            found = self.index.of(token.token_id)
            return found is not None and found[0] == token
        self.index.put(token, written)
        return True


def _ended_if_over(token: DelegationToken, now_ms: int) -> DelegationToken | None:
    return None if token.is_over(now_ms) else token


# ---- the form in ZooKeeper


def znode_of(token: DelegationToken) -> TokenZNode:
    return TokenZNode(
        issueTimestamp=token.issued_ms,
        renewers=[sanitize(str(each)) for each in token.renewers],
        tokenId=token.token_id,
        owner=sanitize(str(token.owner)),
        expiryTimestamp=token.expires_ms,
        maxTimestamp=token.max_ms,
    )


def token_of(token_id: str, stored: TokenZNode, hmac: bytes) -> DelegationToken:
    """Raises MalformedZNode for a principal without type."""
    try:
        owner, *renewers = (Principal.parse(desanitize(each)) for each in (stored.owner, *stored.renewers))
    except ValueError as error:
        raise MalformedZNode(f"delegation token {token_id}: {error}") from None
    return DelegationToken(
        token_id, owner, tuple(renewers), stored.issueTimestamp, stored.expiryTimestamp, stored.maxTimestamp, hmac
    )
