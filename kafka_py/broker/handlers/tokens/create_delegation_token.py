"""CreateDelegationToken: a token for the client's principal, when ZooKeeper has it.

Source: docs/reference/security/tokens.md, section 3; KIP-48.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.broker.handlers.tokens.token_rules import check_client, counted, tokens_of
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.net.principal import Principal
from kafka_py.security.tokens.delegation_tokens import DelegationToken
from kafka_py.wire.messages.create_delegation_token import CreateDelegationTokenRequest, CreateDelegationTokenResponse

_RENEWER_TYPE = "User"


async def handle(
    node: Node, context: RequestContext, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse:
    """The token. A refusal has the client's principal as well."""
    owner = Principal(*context.principal)
    try:
        check_client(context)
        renewers = [Principal(row.principal_type, row.principal_name) for row in request.renewers]
        if any(each.kind != _RENEWER_TYPE for each in renewers):
            raise KafkaError(ErrorCode.INVALID_PRINCIPAL_TYPE)
        token = await tokens_of(node).create(owner, renewers, request.max_lifetime_ms)
    except KafkaError as error:
        return _response(owner, None, counted(context, error))
    return _response(owner, token)


def _response(
    owner: Principal, token: DelegationToken | None, code: ErrorCode = ErrorCode.NONE
) -> CreateDelegationTokenResponse:
    return CreateDelegationTokenResponse(
        error_code=code,
        principal_type=owner.kind,
        principal_name=owner.name,
        issue_timestamp_ms=-1 if token is None else token.issued_ms,
        expiry_timestamp_ms=-1 if token is None else token.expires_ms,
        max_timestamp_ms=-1 if token is None else token.max_ms,
        token_id="" if token is None else token.token_id,
        hmac=b"" if token is None else token.hmac,
        throttle_time_ms=0,
    )
