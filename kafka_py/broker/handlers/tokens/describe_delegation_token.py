"""DescribeDelegationToken: the tokens that the client owns, may renew, or may DESCRIBE; with their HMACs.

Source: docs/reference/security/tokens.md, section 3; KIP-48.
"""

from __future__ import annotations

from functools import partial

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.turns import Turn
from kafka_py.broker.handlers.tokens.token_rules import check_client, counted, tokens_of
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.net.principal import Principal
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.security.tokens.delegation_tokens import DelegationToken, is_visible
from kafka_py.wire.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)


async def handle(
    node: Node, context: RequestContext, request: DescribeDelegationTokenRequest
) -> DescribeDelegationTokenResponse:
    """Those of the owners and renewers in the request; of all if it has no list. An empty list selects none."""
    try:
        check_client(context)
        known = tokens_of(node).index.tokens()
    except KafkaError as error:
        return DescribeDelegationTokenResponse(error_code=counted(context, error), tokens=[], throttle_time_ms=0)
    wanted = None
    if request.owners is not None:
        wanted = {Principal(row.principal_type, row.principal_name) for row in request.owners}
    may_describe = partial(node.authorizer.allows, context, Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN)
    turn = Turn(node.clock)
    rows = []
    for token in known:
        await turn.maybe_yield()
        if is_visible(token, context.principal, wanted, may_describe):
            rows.append(_row(token))
    return DescribeDelegationTokenResponse(error_code=ErrorCode.NONE, tokens=rows, throttle_time_ms=0)


def _row(token: DelegationToken) -> DescribedDelegationToken:
    return DescribedDelegationToken(
        principal_type=token.owner.kind,
        principal_name=token.owner.name,
        issue_timestamp=token.issued_ms,
        expiry_timestamp=token.expires_ms,
        max_timestamp=token.max_ms,
        token_id=token.token_id,
        hmac=token.hmac,
        renewers=[
            DescribedDelegationTokenRenewer(principal_type=kind, principal_name=name) for kind, name in token.renewers
        ],
    )
