"""Who may send requests about tokens, and what a refusal looks like."""

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.broker.handlers.tokens import (
    create_delegation_token,
    describe_delegation_token,
    expire_delegation_token,
    renew_delegation_token,
)
from kafka_py.broker.handlers.tokens.token_rules import may_manage_tokens
from kafka_py.net.endpoints import SecurityProtocol
from kafka_py.net.principal import ANONYMOUS, Principal, TokenPrincipal
from kafka_py.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from kafka_py.wire.messages.describe_delegation_token import DescribeDelegationTokenRequest
from kafka_py.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from kafka_py.wire.messages.renew_delegation_token import RenewDelegationTokenRequest

ALICE = Principal("User", "alice")


@pytest.mark.parametrize(
    ("principal", "allowed"),
    [
        (ALICE, {"SSL", "SASL_PLAINTEXT", "SASL_SSL"}),
        (ANONYMOUS, {"SASL_PLAINTEXT", "SASL_SSL"}),
        (TokenPrincipal(*ALICE), set()),
    ],
)
def test_only_who_has_proven_his_name_without_a_token_manages_tokens(principal: Principal, allowed: set[str]) -> None:
    assert {each.name for each in SecurityProtocol if may_manage_tokens(principal, each)} == allowed


def refused(handle: Callable[[Any, Any, Any], Awaitable[Any]], request: object) -> Any:
    """The answer of a broker without a secret for tokens; its error is counted once."""
    counted: list[str] = []
    context: Any = SimpleNamespace(
        principal=ALICE, connection=SimpleNamespace(security_protocol=SecurityProtocol.SASL_SSL),
        metrics=SimpleNamespace(count_error=counted.append),
    )  # fmt: skip

    async def run() -> Any:
        return await handle(SimpleNamespace(tokens=None), context, request)

    answer = asyncio.run(run())
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    assert counted == ["DELEGATION_TOKEN_AUTH_DISABLED"]
    return answer


def test_a_refusal_to_create_names_the_client_and_no_token() -> None:
    made = refused(create_delegation_token.handle, CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=-1))
    assert (made.principal_type, made.principal_name) == ALICE
    assert (made.issue_timestamp_ms, made.expiry_timestamp_ms, made.max_timestamp_ms) == (-1, -1, -1)
    assert (made.token_id, made.hmac) == ("", b"")


def test_other_refusals_have_no_time_and_no_tokens() -> None:
    renewed = refused(renew_delegation_token.handle, RenewDelegationTokenRequest(hmac=b"", renew_period_ms=-1))
    expired = refused(expire_delegation_token.handle, ExpireDelegationTokenRequest(hmac=b"", expiry_time_period_ms=-1))
    assert (renewed.expiry_timestamp_ms, expired.expiry_timestamp_ms) == (-1, -1)
    assert refused(describe_delegation_token.handle, DescribeDelegationTokenRequest(owners=None)).tokens == []
