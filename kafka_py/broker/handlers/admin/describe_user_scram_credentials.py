"""DescribeUserScramCredentials: which users have SCRAM credentials in ZooKeeper; never a secret (KIP-554)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kafka_py.base.errors import ErrorCode
from kafka_py.base.turns import Turn, sliced
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.security.sasl.scram_credentials import MECHANISM_IDS, parse_credential
from kafka_py.wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from kafka_py.zk.config_znodes import DEFAULT_ENTITY, entity_path


async def handle(
    node: Node, context: RequestContext, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    """All users with credentials, or the named ones; an error affects only its user."""
    named = Counter(user.name for user in request.users or ())
    results = []
    turn = Turn(node.clock)
    if named:
        for name, times in named.items():
            await turn.maybe_yield()
            config = await node.store.configs.of_entity(entity_path(("users", name))) if name else {}
            results.append(_named_result(name, times, config))
    else:
        async for some in sliced((await node.store.configs.of_all("users")).items()):
            for name, config in some:
                if name != DEFAULT_ENTITY and not MECHANISM_IDS.keys().isdisjoint(config):
                    results.append(_described(name, config))
    return DescribeUserScramCredentialsResponse(
        throttle_time_ms=0, error_code=ErrorCode.NONE, error_message="", results=results
    )


def _named_result(name: str, times: int, config: Mapping[str, str]) -> DescribeUserScramCredentialsResult:
    if times > 1:
        text = f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
        return _result(name, ErrorCode.DUPLICATE_RESOURCE, text, [])
    if not name:
        return _result(name, ErrorCode.RESOURCE_NOT_FOUND, "Username must not be empty", [])
    if MECHANISM_IDS.keys().isdisjoint(config):
        text = f"Attempt to describe a user credential that does not exist: {name}"
        return _result(name, ErrorCode.RESOURCE_NOT_FOUND, text, [])
    return _described(name, config)


def _described(name: str, config: Mapping[str, str]) -> DescribeUserScramCredentialsResult:
    """The result of one user; an unreadable credential is an error of the user."""
    try:
        return _result(name, ErrorCode.NONE, "", _credentials(config))
    except ValueError:
        return _result(name, ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.UNKNOWN_SERVER_ERROR.meaning, [])


def _result(
    name: str, code: ErrorCode, text: str, credentials: list[CredentialInfo]
) -> DescribeUserScramCredentialsResult:
    return DescribeUserScramCredentialsResult(
        user=name, error_code=code, error_message=text, credential_infos=credentials
    )


def _credentials(config: Mapping[str, str]) -> list[CredentialInfo]:
    """Mechanism and iterations of each credential. Raises ValueError for one that cannot be read."""
    return [
        CredentialInfo(mechanism=number, iterations=parse_credential(config[mechanism]).iterations)
        for mechanism, number in MECHANISM_IDS.items()
        if mechanism in config
    ]
