"""A delegation token as a value, and the decisions about one: how long it is valid, who may renew, end or see it.

Pure. Source: docs/reference/security/tokens.md, section 1; KIP-48; DelegationTokenManager.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field, replace
from hmac import digest
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.options import MAX_LONG
from kafka_py.net.principal import Principal


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """A token. Times are wall clock, inclusive; it is over when either of the last two has passed.

    hmac: what proves its possession, 64 bytes; secret. max_ms: to which it can be renewed.
    """

    token_id: str
    owner: Principal
    renewers: tuple[Principal, ...]
    issued_ms: int
    expires_ms: int
    max_ms: int
    hmac: bytes = field(repr=False)

    @property
    def password(self) -> str:
        """The HMAC as text: the password of its logins, and what commands take."""
        return base64.b64encode(self.hmac).decode()

    def is_of(self, who: Principal) -> bool:
        """Whether that is its owner, or a renewer."""
        return who == self.owner or who in self.renewers

    def is_over(self, now_ms: float) -> bool:
        return self.max_ms < now_ms or self.expires_ms < now_ms


class Lifetimes(NamedTuple):
    """The settings. longest_ms: of a token, however often it is renewed. renewal_ms: to the next renewal."""

    longest_ms: int
    renewal_ms: int


def hmac_of(secret: str, token_id: str) -> bytes:
    """The HMAC of a token. secret: what the brokers share."""
    return digest(secret.encode(), token_id.encode(), "sha512")


def new_token(
    token_id: str, hmac: bytes, owner: Principal, renewers: Sequence[Principal], *, lifetime_ms: int,
    lifetimes: Lifetimes, now_ms: int,
) -> DelegationToken:  # fmt: skip
    """lifetime_ms: as asked for; the longest one if it is 0 or less."""
    longest_ms = lifetimes.longest_ms if lifetime_ms <= 0 else min(lifetime_ms, lifetimes.longest_ms)
    max_ms = _after(now_ms, longest_ms)
    expires_ms = min(max_ms, _after(now_ms, lifetimes.renewal_ms))
    return DelegationToken(token_id, owner, tuple(renewers), now_ms, expires_ms, max_ms, hmac)


def renewed(
    token: DelegationToken, who: Principal, period_ms: int, lifetimes: Lifetimes, now_ms: int
) -> DelegationToken:
    """The token with a later end. period_ms: from now; the setting's if it is negative. Raises KafkaError."""
    _check(token, who, now_ms)
    return _ending(token, lifetimes.renewal_ms if period_ms < 0 else period_ms, now_ms)


def expired(token: DelegationToken, who: Principal, period_ms: int, now_ms: int) -> DelegationToken | None:
    """The token with another end; None if it ends at once. period_ms: from now; at once if it is negative.

    Raises KafkaError.
    """
    _check(token, who, now_ms)
    return None if period_ms < 0 else _ending(token, period_ms, now_ms)


def _check(token: DelegationToken, who: Principal, now_ms: int) -> None:
    if not token.is_of(who):
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)
    if token.is_over(now_ms):
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_EXPIRED)


def _ending(token: DelegationToken, period_ms: int, now_ms: int) -> DelegationToken:
    return replace(token, expires_ms=min(token.max_ms, _after(now_ms, period_ms)))


def _after(now_ms: int, period_ms: int) -> int:
    """Apache Kafka's sum overflows for very long periods, and gives a time in the past."""
    return min(now_ms + period_ms, MAX_LONG)


def is_visible(
    token: DelegationToken, who: Principal, wanted: Set[Principal] | None, may_describe: Callable[[str], bool]
) -> bool:
    """Whether `who` is shown the token. wanted: owners and renewers asked for; None: all. may_describe: by its id."""
    if wanted is not None and wanted.isdisjoint((token.owner, *token.renewers)):
        return False
    return token.is_of(who) or may_describe(token.token_id)
