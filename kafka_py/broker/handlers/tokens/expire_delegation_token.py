"""ExpireDelegationToken: ends a token, at once or at another time.

Source: docs/reference/security/tokens.md, section 3; KIP-48.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.broker.handlers.tokens.token_rules import check_client, counted, tokens_of
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse


async def handle(
    node: Node, context: RequestContext, request: ExpireDelegationTokenRequest
) -> ExpireDelegationTokenResponse:
    """When the token ends; -1 with an error."""
    try:
        check_client(context)
        tokens = tokens_of(node)
        ends_ms = await tokens.expire(context.principal, bytes(request.hmac), request.expiry_time_period_ms)
    except KafkaError as error:
        code = counted(context, error)
        return ExpireDelegationTokenResponse(error_code=code, expiry_timestamp_ms=-1, throttle_time_ms=0)
    return ExpireDelegationTokenResponse(error_code=ErrorCode.NONE, expiry_timestamp_ms=ends_ms, throttle_time_ms=0)
