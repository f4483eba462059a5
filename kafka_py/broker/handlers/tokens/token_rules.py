"""Who may send requests about delegation tokens at all.

Source: docs/reference/security/tokens.md, section 3; KafkaApis.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.net.endpoints import SecurityProtocol
from kafka_py.net.principal import ANONYMOUS, Principal, TokenPrincipal

if TYPE_CHECKING:
    from kafka_py.security.tokens.token_keeper import TokenKeeper


def may_manage_tokens(principal: Principal, protocol: SecurityProtocol) -> bool:
    """Whether the client has proven who it is, and not by a token."""
    if isinstance(principal, TokenPrincipal) or protocol is SecurityProtocol.PLAINTEXT:
        return False
    return protocol is not SecurityProtocol.SSL or principal != ANONYMOUS


def check_client(context: RequestContext) -> None:
    """Raises KafkaError."""
    if not may_manage_tokens(context.principal, context.connection.security_protocol):
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)


def tokens_of(node: Node) -> TokenKeeper:
    """Raises KafkaError for a broker without a secret for tokens."""
    if node.tokens is None:
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    return node.tokens


async def end_after(
    node: Node, context: RequestContext, change: Callable[[TokenKeeper], Awaitable[int]]
) -> tuple[ErrorCode, int]:
    """Changes a token: the code of the response, and when the token ends; -1 with an error."""
    try:
        check_client(context)
        return ErrorCode.NONE, await change(tokens_of(node))
    except KafkaError as error:
        return counted(context, error), -1


def counted(context: RequestContext, error: KafkaError) -> ErrorCode:
    """The code of an error that is answered here, after it was counted."""
    context.metrics.count_error(error.code.name)
    return error.code
