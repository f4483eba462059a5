"""Admin calls on SCRAM credentials of users.

A password never leaves the client: it is salted here. Source: KIP-554; KafkaAdminClient.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.admin.core import AdminCore, error_of
from kafka_py.clients.admin.results import Results
from kafka_py.security.sasl.scram_credentials import LEAST_ITERATIONS, MECHANISM_IDS, random_text, salted_password
from kafka_py.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kafka_py.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName

_MECHANISMS = {number: name for name, number in MECHANISM_IDS.items()}


class ScramIterations(NamedTuple):
    """One credential of a user; the secret itself is never sent."""

    mechanism: str
    iterations: int


@dataclass(frozen=True, slots=True)
class ScramPassword:
    """A new password. salt: a random one if it is None."""

    password: str = field(repr=False)
    iterations: int = LEAST_ITERATIONS
    salt: bytes | None = field(default=None, repr=False)


async def describe_user_scram_credentials(
    core: AdminCore, users: Collection[str] = (), *, timeout: float | None = None
) -> Results[str, list[ScramIterations]]:
    """The SCRAM credentials of these users, or of all; a user without any is left out."""
    request = DescribeUserScramCredentialsRequest(users=[UserName(name=name) for name in users])
    response = await core.once(lambda timeout_ms: core.cluster.send_any(request, timeout_ms=timeout_ms), timeout)
    error = error_of(response.error_code, response.error_message, "the credentials are not described")
    if error is not None:
        raise error
    found: Results[str, list[ScramIterations]] = Results()
    for result in response.results:
        failed = error_of(result.error_code, result.error_message)
        if failed is None:
            found[result.user] = [
                ScramIterations(_MECHANISMS.get(info.mechanism, "UNKNOWN"), info.iterations)
                for info in result.credential_infos
            ]
        elif failed.code is not ErrorCode.RESOURCE_NOT_FOUND:
            found[result.user] = failed
    return found


async def alter_user_scram_credentials(
    core: AdminCore, changes: Mapping[str, Mapping[str, ScramPassword | None]], *, timeout: float | None = None
) -> Results[str, None]:
    """Sets credentials by user and mechanism, and deletes those that are None.

    Raises KafkaError(UNSUPPORTED_SASL_MECHANISM) for an unknown mechanism, UNACCEPTABLE_CREDENTIAL for an empty
    password.
    """
    upsertions: dict[str, list[ScramCredentialUpsertion]] = {}
    for user, credentials in changes.items():
        upsertions[user] = [
            await asyncio.to_thread(_salted, core, user, mechanism, given)
            for mechanism, given in credentials.items()
            if given is not None
        ]

    async def attempt(some: list[str], timeout_ms: int) -> dict[str, KafkaError | None]:
        request = AlterUserScramCredentialsRequest(
            deletions=[
                ScramCredentialDeletion(name=user, mechanism=_number(mechanism))
                for user in some
                for mechanism, given in changes[user].items()
                if given is None
            ],
            upsertions=[each for user in some for each in upsertions[user]],
        )
        response = await core.ask_controller(lambda _: request, AlterUserScramCredentialsRequest, timeout_ms)
        answers = {
            result.user: error_of(result.error_code, result.error_message, "the credentials are not changed")
            for result in response.results
        }
        await core.note_not_controller(answers)
        return answers

    return await core.per_item(changes, attempt, timeout)


def _salted(core: AdminCore, user: str, mechanism: str, given: ScramPassword) -> ScramCredentialUpsertion:
    """Takes milliseconds for thousands of iterations."""
    number = _number(mechanism)
    if not given.password:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, f"The password of user {user} is empty")
    salt = random_text(core.chance).encode() if given.salt is None else given.salt
    return ScramCredentialUpsertion(
        name=user,
        mechanism=number,
        iterations=given.iterations,
        salt=salt,
        salted_password=salted_password(mechanism, given.password, salt, max(1, given.iterations)),
    )


def _number(mechanism: str) -> int:
    number = MECHANISM_IDS.get(mechanism)
    if number is None:
        raise KafkaError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, f"{mechanism} has no credentials in the cluster")
    return number
