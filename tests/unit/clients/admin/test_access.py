"""Admin calls on who may do what and how much: the requests they make, and what they make of the answers."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.admin import acls, credentials, quotas
from kafka_py.clients.admin.credentials import ScramIterations, ScramPassword
from kafka_py.clients.admin.results import Results
from kafka_py.security.acls.bindings import ALL_ACLS, AclBinding, AclEntry, ResourcePattern
from kafka_py.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType
from kafka_py.wire.messages.alter_client_quotas import AlterClientQuotasResponse, EntityData, EntryResult
from kafka_py.wire.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsMatchingAcl, DeleteAclsResponse
from kafka_py.wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)


class Core:
    """Asks once, and notes what it asked."""

    def __init__(self, response: Any) -> None:
        self.chance = Chance(1)
        self.asked: list[Any] = []
        self.response = response
        self.cluster = SimpleNamespace(send_any=self.send_any)

    async def send_any(self, request: Any, timeout_ms: float | None = None) -> Any:
        self.asked.append(request)
        return self.response

    async def ask_controller(self, make: Any, _kind: type, _timeout_ms: int) -> Any:
        return await self.send_any(make(0))

    async def note_not_controller(self, _answers: Any) -> None:
        pass

    async def once(self, call: Any, _timeout: float | None) -> Any:
        return await call(1000)

    async def per_item(self, items: Any, attempt: Any, _timeout: float | None) -> Any:
        return Results(await attempt(list(items), 1000))


def run(call: Any, core: Core, *given: Any) -> Any:
    return asyncio.run(call(core, *given))


def test_a_quota_of_zero_is_set_and_only_none_removes_one() -> None:
    core = Core(AlterClientQuotasResponse(throttle_time_ms=0, entries=[]))
    entity = (("user", "alice"),)
    run(quotas.alter_client_quotas, core, {entity: {"producer_byte_rate": 0.0, "consumer_byte_rate": None}})
    [entry] = core.asked[0].entries
    assert [(op.key, op.value, op.remove) for op in entry.ops] == [
        ("producer_byte_rate", 0.0, False), ("consumer_byte_rate", 0.0, True)
    ]  # fmt: skip


def test_an_answer_about_quotas_belongs_to_its_entity_in_whatever_order() -> None:
    names = [EntityData(entity_type="client-id", entity_name="c"), EntityData(entity_type="user", entity_name="alice")]
    refused = EntryResult(error_code=int(ErrorCode.INVALID_REQUEST), error_message="no", entity=names)
    entity = (("user", "alice"), ("client-id", "c"))
    core = Core(AlterClientQuotasResponse(throttle_time_ms=0, entries=[refused]))
    found = run(quotas.alter_client_quotas, core, {entity: {}})
    with pytest.raises(KafkaError, match="no"):
        found.value(entity)


def test_an_acl_that_is_not_deleted_is_the_error_of_its_filter() -> None:
    def row(code: int) -> DeleteAclsMatchingAcl:
        return DeleteAclsMatchingAcl(
            error_code=code, error_message=None, resource_type=2, resource_name="t", pattern_type=3,
            principal="User:a", host="*", operation=3, permission_type=3,
        )  # fmt: skip

    def answer(*codes: int) -> Any:
        result = DeleteAclsFilterResult(error_code=0, error_message=None, matching_acls=[row(code) for code in codes])
        return run(acls.delete_acls, Core(DeleteAclsResponse(throttle_time_ms=0, filter_results=[result])), [ALL_ACLS])

    entry = AclEntry("User:a", "*", Operation.READ, Permission.ALLOW)
    pattern = ResourcePattern(ResourceType.TOPIC, "t", PatternType.LITERAL)
    assert answer(0).value(ALL_ACLS) == [AclBinding(pattern, entry)]
    with pytest.raises(KafkaError) as failed:
        answer(0, int(ErrorCode.SECURITY_DISABLED)).value(ALL_ACLS)
    assert failed.value.code is ErrorCode.SECURITY_DISABLED


def test_a_user_without_credentials_is_left_out_and_another_error_is_kept() -> None:
    def result(user: str, code: int, *infos: CredentialInfo) -> DescribeUserScramCredentialsResult:
        return DescribeUserScramCredentialsResult(
            user=user, error_code=code, error_message=None, credential_infos=list(infos)
        )

    rows = [
        result("alice", 0, CredentialInfo(mechanism=2, iterations=4096), CredentialInfo(mechanism=99, iterations=1)),
        result("nobody", int(ErrorCode.RESOURCE_NOT_FOUND)),
        result("twice", int(ErrorCode.DUPLICATE_RESOURCE)),
    ]
    response = DescribeUserScramCredentialsResponse(
        throttle_time_ms=0, error_code=0, error_message=None, results=rows
    )
    found = run(credentials.describe_user_scram_credentials, Core(response))
    assert found.value("alice") == [ScramIterations("SCRAM-SHA-512", 4096), ScramIterations("UNKNOWN", 1)]
    assert "nobody" not in found
    with pytest.raises(KafkaError):
        found.value("twice")


def test_a_password_is_salted_before_it_is_sent() -> None:
    core = Core(SimpleNamespace(results=[]))
    change = {"alice": {"SCRAM-SHA-256": ScramPassword("secret"), "SCRAM-SHA-512": None}}
    run(credentials.alter_user_scram_credentials, core, change)
    [request] = core.asked
    assert [(each.name, each.mechanism) for each in request.deletions] == [("alice", 2)]
    [upsertion] = request.upsertions
    assert (upsertion.mechanism, upsertion.iterations, len(upsertion.salted_password)) == (1, 4096, 32)
    assert b"secret" not in upsertion.salt + upsertion.salted_password
    with pytest.raises(KafkaError, match="PLAIN has no credentials"):
        run(credentials.alter_user_scram_credentials, core, {"alice": {"PLAIN": ScramPassword("x")}})
