"""RenewDelegationToken: puts off the end of a token. Source: docs/reference/security/tokens.md, section 3; KIP-48."""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.broker.handlers.tokens.token_rules import check_client, counted, tokens_of
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.wire.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse


async def handle(
    node: Node, context: RequestContext, request: RenewDelegationTokenRequest
) -> RenewDelegationTokenResponse:
    """When the token now ends; -1 with an error."""
    try:
        check_client(context)
        tokens = tokens_of(node)
        ends_ms = await tokens.renew(context.principal, bytes(request.hmac), request.renew_period_ms)
    except KafkaError as error:
        code = counted(context, error)
        return RenewDelegationTokenResponse(error_code=code, expiry_timestamp_ms=-1, throttle_time_ms=0)
    return RenewDelegationTokenResponse(error_code=ErrorCode.NONE, expiry_timestamp_ms=ends_ms, throttle_time_ms=0)
