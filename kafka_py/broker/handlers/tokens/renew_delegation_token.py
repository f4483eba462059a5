"""RenewDelegationToken: puts off the end of a token. Source: docs/reference/security/tokens.md, section 3; KIP-48."""

from __future__ import annotations

from kafka_py.broker.handlers.tokens.token_rules import end_after
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.wire.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse


async def handle(
    node: Node, context: RequestContext, request: RenewDelegationTokenRequest
) -> RenewDelegationTokenResponse:
    """When the token now ends; -1 with an error."""
    who, hmac, period_ms = context.principal, bytes(request.hmac), request.renew_period_ms
    code, ends_ms = await end_after(node, context, lambda tokens: tokens.renew(who, hmac, period_ms))
    return RenewDelegationTokenResponse(error_code=code, expiry_timestamp_ms=ends_ms, throttle_time_ms=0)
