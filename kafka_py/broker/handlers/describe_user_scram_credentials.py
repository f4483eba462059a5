"""DescribeUserScramCredentials: which users have SCRAM credentials in ZooKeeper; never a secret (KIP-554)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kafka_py.base.errors import ErrorCode
from kafka_py.base.turns import Turn
from kafka_py.broker.node import Node
from kafka_py.broker.requests import RequestContext
from kafka_py.wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from kafka_py.zk.znodes import DEFAULT_ENTITY, entity_path

_MECHANISMS = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}


async def handle(
    node: Node, context: RequestContext, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    """All users with credentials, or the named ones; what is wrong with a name is that user's error alone."""
    named = Counter(user.name for user in request.users or ())
    results = []
    turn = Turn(node.clock)
    if named:
        for name, times in named.items():
            await turn.maybe_yield()
            config = await node.store.entity_config(entity_path(("users", name))) if name else {}
            results.append(_named_result(name, times, _credentials(config)))
    else:
        for name, config in (await node.store.all_entity_configs("users")).items():
            credentials = _credentials(config)
            if credentials and name != DEFAULT_ENTITY:
                results.append(_result(name, ErrorCode.NONE, "", credentials))
    return DescribeUserScramCredentialsResponse(
        throttle_time_ms=0, error_code=ErrorCode.NONE, error_message="", results=results
    )


def _named_result(name: str, times: int, credentials: list[CredentialInfo]) -> DescribeUserScramCredentialsResult:
    if times > 1:
        text = f"The user {name} is in the request {times} times"
        return _result(name, ErrorCode.DUPLICATE_RESOURCE, text, [])
    if not name:
        return _result(name, ErrorCode.RESOURCE_NOT_FOUND, "Username must not be empty", [])
    if not credentials:
        text = f"Attempt to describe a user credential that does not exist: {name}"
        return _result(name, ErrorCode.RESOURCE_NOT_FOUND, text, [])
    return _result(name, ErrorCode.NONE, "", credentials)


def _result(
    name: str, code: ErrorCode, text: str, credentials: list[CredentialInfo]
) -> DescribeUserScramCredentialsResult:
    return DescribeUserScramCredentialsResult(
        user=name, error_code=code, error_message=text, credential_infos=credentials
    )


def _credentials(config: Mapping[str, str]) -> list[CredentialInfo]:
    """Mechanism and iterations of each credential that can be read."""
    found = []
    for mechanism, number in _MECHANISMS.items():
        fields = dict(field.partition("=")[::2] for field in config.get(mechanism, "").split(","))
        iterations = fields.get("iterations", "")
        if iterations.isascii() and iterations.isdigit():
            found.append(CredentialInfo(mechanism=number, iterations=int(iterations)))
    return found
