"""Admin calls on delegation tokens.

Any broker answers, on a listener on which clients prove who they are, to those that have not logged in with a token.
A token is a DelegationToken (security/tokens/delegation_tokens.py). Source: KIP-48; KafkaAdminClient.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kafka_py.clients.admin.core import AdminCore, error_of
from kafka_py.net.principal import Principal
from kafka_py.security.tokens.delegation_tokens import DelegationToken
from kafka_py.wire.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from kafka_py.wire.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from kafka_py.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from kafka_py.wire.messages.renew_delegation_token import RenewDelegationTokenRequest


async def create_delegation_token(
    core: AdminCore, renewers: Collection[Principal] = (), *, max_lifetime_ms: int = -1, timeout: float | None = None
) -> DelegationToken:
    """A token for the client's own principal.

    renewers: who may renew and end it besides. max_lifetime_ms: the broker's longest one if it is 0 or less.
    Raises KafkaError.
    """
    rows = [CreatableRenewers(principal_type=each.kind, principal_name=each.name) for each in renewers]
    request = CreateDelegationTokenRequest(renewers=rows, max_lifetime_ms=max_lifetime_ms)
    made = await _answer(core, request, "no delegation token is created", timeout)
    return DelegationToken(
        token_id=made.token_id,
        owner=Principal(made.principal_type, made.principal_name),
        renewers=tuple(renewers),
        issued_ms=made.issue_timestamp_ms,
        expires_ms=made.expiry_timestamp_ms,
        max_ms=made.max_timestamp_ms,
        hmac=bytes(made.hmac),
    )


async def renew_delegation_token(
    core: AdminCore, hmac: bytes, *, period_ms: int = -1, timeout: float | None = None
) -> int:
    """Puts off the end of a token; returns when it now ends.

    hmac: of the token. period_ms: from now; the broker's setting if it is negative. Raises KafkaError.
    """
    request = RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=period_ms)
    renewed = await _answer(core, request, "the delegation token is not renewed", timeout)
    return int(renewed.expiry_timestamp_ms)


async def expire_delegation_token(
    core: AdminCore, hmac: bytes, *, period_ms: int = -1, timeout: float | None = None
) -> int:
    """Ends a token; returns when it ends. period_ms: from now; at once if it is negative. Raises KafkaError."""
    request = ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=period_ms)
    expired = await _answer(core, request, "the delegation token is not ended", timeout)
    return int(expired.expiry_timestamp_ms)


async def describe_delegation_token(
    core: AdminCore, owners: Collection[Principal] | None = None, *, timeout: float | None = None
) -> list[DelegationToken]:
    """The tokens of these owners and renewers, or all, that the client may see. Raises KafkaError."""
    rows = None
    if owners is not None:
        rows = [DescribeDelegationTokenOwner(principal_type=each.kind, principal_name=each.name) for each in owners]
    request = DescribeDelegationTokenRequest(owners=rows)
    found = await _answer(core, request, "the delegation tokens are not described", timeout)
    return [
        DelegationToken(
            token_id=row.token_id,
            owner=Principal(row.principal_type, row.principal_name),
            renewers=tuple(Principal(each.principal_type, each.principal_name) for each in row.renewers),
            issued_ms=row.issue_timestamp,
            expires_ms=row.expiry_timestamp,
            max_ms=row.max_timestamp,
            hmac=bytes(row.hmac),
        )
        for row in found.tokens
    ]


async def _answer(core: AdminCore, request: object, what: str, timeout: float | None) -> Any:
    """The response. what: has failed, if it has an error, which is raised."""
    response = await core.once(lambda timeout_ms: core.cluster.send_any(request, timeout_ms=timeout_ms), timeout)
    error = error_of(response.error_code, None, what)
    if error is not None:
        raise error
    return response
