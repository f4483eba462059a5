"""AlterUserScramCredentials: sets and deletes the SCRAM credentials of users in ZooKeeper (KIP-554).

The request has salted passwords, of which the keys to store are derived. Source: ZkAdminManager.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.turns import Turn
from kafka_py.broker.requests.item_errors import error_of
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.security.acls.vocabulary import CLUSTER_NAME, Operation, ResourceType
from kafka_py.security.sasl.scram_credentials import (
    LEAST_ITERATIONS,
    MECHANISM_IDS,
    MOST_ITERATIONS,
    credential_of,
)
from kafka_py.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kafka_py.zk.config_znodes import entity_path

_log = logging.getLogger(__name__)

_MECHANISMS = {number: name for name, number in MECHANISM_IDS.items()}

ScramChange = ScramCredentialDeletion | ScramCredentialUpsertion


async def handle(
    node: Node, context: RequestContext, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    """One result per user, whose changes are all made or none. Raises KafkaError for the whole."""
    if not node.controller.is_active:
        raise KafkaError(ErrorCode.NOT_CONTROLLER)
    if not node.authorizer.allows(context, Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME):
        raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    asked: dict[str, list[ScramChange]] = {}
    turn = Turn(node.clock)
    changes: list[ScramChange] = [*request.deletions, *request.upsertions]
    for change in changes:
        await turn.maybe_yield()
        asked.setdefault(change.name, []).append(change)
    results = []
    for user, those in asked.items():
        await turn.maybe_yield()
        result = AlterUserScramCredentialsResult(user=user, error_code=ErrorCode.NONE, error_message=None)
        results.append(result)
        try:
            await _alter(node, user, those, turn)
            _log.info("SCRAM credentials of user %s changed by %s", user, context.principal)
        except Exception as failure:  # an error of this user only
            error = error_of(failure, _log, f"The SCRAM credentials of user {user} are not changed")
            context.metrics.count_error(error.code.name)
            result.error_code, result.error_message = error.code, error.message
    return AlterUserScramCredentialsResponse(throttle_time_ms=0, results=results)


async def _alter(node: Node, user: str, changes: Iterable[ScramChange], turn: Turn) -> None:
    """Raises KafkaError."""
    credentials = await _checked(changes, turn)
    entity = entity_path(("users", user))

    async def edit(present: Mapping[str, str]) -> dict[str, str]:
        wanted = dict(present)
        for mechanism, text in credentials.items():
            if text is not None:
                wanted[mechanism] = text
            elif wanted.pop(mechanism, None) is None:
                text = "Attempt to delete a user credential that does not exist"
                raise KafkaError(ErrorCode.RESOURCE_NOT_FOUND, text)
        return wanted

    async with node.config_locks.hold(entity):
        await node.store.configs.edit(entity, edit)
        try:
            await node.apply_settings(entity)
        except Exception as failure:  # the notification follows
            error_of(failure, _log, f"The credentials of {entity} are stored, but could not be applied at once")


async def _checked(changes: Iterable[ScramChange], turn: Turn) -> dict[str, str | None]:
    """The text to store for each mechanism, None to delete it. Raises KafkaError for the first illegal change.

    Only where all are legal it matters whether two of them are for the same credential. Keys are derived after that:
    a request may have very many changes of one credential.
    """
    legal: dict[str, ScramChange] = {}
    is_twice = False
    for change in changes:
        await turn.maybe_yield()
        mechanism = _mechanism_of(change)
        is_twice = is_twice or mechanism in legal
        legal[mechanism] = change
    if is_twice:
        text = "A user credential cannot be altered twice in the same request"
        raise KafkaError(ErrorCode.DUPLICATE_RESOURCE, text)
    return {mechanism: _text_of(mechanism, change) for mechanism, change in legal.items()}


def _mechanism_of(change: ScramChange) -> str:
    """Raises KafkaError for an illegal change."""
    if not change.name:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    mechanism = _MECHANISMS.get(change.mechanism)
    if mechanism is None:
        raise KafkaError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if isinstance(change, ScramCredentialDeletion):
        return mechanism
    if change.iterations < LEAST_ITERATIONS:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if change.iterations > MOST_ITERATIONS:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    if not change.salted_password:  # anyone could make the proofs of its keys; Java refuses empty keys
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "The salted password is empty")
    return mechanism


def _text_of(mechanism: str, change: ScramChange) -> str | None:
    if isinstance(change, ScramCredentialDeletion):
        return None
    return credential_of(mechanism, bytes(change.salted_password), bytes(change.salt), change.iterations).text()
