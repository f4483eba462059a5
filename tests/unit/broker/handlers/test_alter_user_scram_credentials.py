"""AlterUserScramCredentials with very many changes of one user: keys are not derived for nothing."""

from __future__ import annotations

import asyncio
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.broker.handlers.admin import alter_user_scram_credentials as handler
from kafka_py.testing.virtual_time import run_virtual
from kafka_py.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)

COUNT = 5_000


def upsertion(iterations: int = 4096, mechanism: int = 1) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name="alice", mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=b"password"
    )


@pytest.mark.parametrize(
    ("last", "code"),
    [
        (upsertion(), ErrorCode.DUPLICATE_RESOURCE),
        (upsertion(mechanism=2), ErrorCode.DUPLICATE_RESOURCE),
        (upsertion(iterations=1), ErrorCode.UNACCEPTABLE_CREDENTIAL),
    ],
)
def test_very_many_changes_of_one_user_are_refused_in_turns(
    monkeypatch: pytest.MonkeyPatch, last: ScramCredentialUpsertion, code: ErrorCode
) -> None:
    derived: list[object] = []
    monkeypatch.setattr(handler, "credential_of", lambda *given: derived.append(given))
    readings = count(step=10)
    node: Any = SimpleNamespace(
        clock=SimpleNamespace(monotonic_ms=lambda: next(readings)),
        controller=SimpleNamespace(is_active=True),
        authorizer=SimpleNamespace(allows=lambda *_: True),
    )
    context: Any = SimpleNamespace(metrics=SimpleNamespace(count_error=lambda _name: None), principal="User:admin")
    changes = [*(upsertion() for _ in range(COUNT)), last]
    request = AlterUserScramCredentialsRequest(deletions=[], upsertions=changes)

    async def run() -> None:
        task, turns = asyncio.ensure_future(handler.handle(node, context, request)), 0
        while not task.done():
            turns += 1
            await asyncio.sleep(0)
        [result] = task.result().results
        assert result.error_code == code
        assert turns > 2 * COUNT and not derived

    run_virtual(run())
