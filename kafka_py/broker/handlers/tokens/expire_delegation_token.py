"""ExpireDelegationToken: ends a token, at once or at another time.

Source: docs/reference/security/tokens.md, section 3; KIP-48.
"""

from __future__ import annotations

from kafka_py.broker.handlers.tokens.token_rules import end_after
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse


async def handle(
    node: Node, context: RequestContext, request: ExpireDelegationTokenRequest
) -> ExpireDelegationTokenResponse:
    """When the token ends; -1 with an error."""
    who, hmac, period_ms = context.principal, bytes(request.hmac), request.expiry_time_period_ms
    code, ends_ms = await end_after(node, context, lambda tokens: tokens.expire(who, hmac, period_ms))
    return ExpireDelegationTokenResponse(error_code=code, expiry_timestamp_ms=ends_ms, throttle_time_ms=0)
