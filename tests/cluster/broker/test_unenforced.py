"""Quotas, credentials, ACLs, features: described from ZooKeeper, refused where they could not be kept."""

import asyncio
from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.base.steps import SLICE
from kafka_py.testing.local_broker import LocalBroker, on_broker
from kafka_py.wire.messages import alter_user_scram_credentials as alter_scram
from kafka_py.wire.messages.describe_acls import DescribeAclsRequest
from kafka_py.wire.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from kafka_py.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from kafka_py.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from kafka_py.zk.config_znodes import DEFAULT_ENTITY

EXACT, DEFAULT, ANY = range(3)
MANY = 20_000
CREDENTIAL = "salt=c2FsdA==,stored_key=c3RvcmVk,server_key=c2VydmVy,iterations=8192"


async def quotas(broker: LocalBroker, *parts: tuple[str, int, str | None], strict: bool = False) -> Any:
    components = [ComponentData(entity_type=kind, match_type=how, match=match) for kind, how, match in parts]
    return await broker.ask(DescribeClientQuotasRequest(components=components, strict=strict), 1)


def rows(answer: Any) -> list[tuple[dict[str, str | None], dict[str, float]]]:
    assert (answer.error_code, answer.error_message) == (0, "")
    return [
        ({part.entity_type: part.entity_name for part in entry.entity}, {each.key: each.value for each in entry.values})
        for entry in answer.entries
    ]


@on_broker()
async def test_quotas_are_described_as_zookeeper_has_them(broker: LocalBroker) -> None:
    assert rows(await quotas(broker)) == []
    store = broker.store
    await store.configs.change("users/alice", {"producer_byte_rate": "1024", "SCRAM-SHA-256": CREDENTIAL})
    await store.configs.change("users/bob", {"SCRAM-SHA-256": CREDENTIAL})
    await store.configs.change("users/alice/clients/c1", {"consumer_byte_rate": "7"})
    await store.configs.change("clients/<default>", {"request_percentage": "50.5"})
    await store.configs.change("ips/10.0.0.1", {"connection_creation_rate": "3"})
    alice = ({"user": "alice"}, {"producer_byte_rate": 1024.0})
    client_of_alice = ({"user": "alice", "client-id": "c1"}, {"consumer_byte_rate": 7.0})
    clients = ({"client-id": None}, {"request_percentage": 50.5})
    address = ({"ip": "10.0.0.1"}, {"connection_creation_rate": 3.0})
    assert rows(await quotas(broker)) == [alice, client_of_alice, clients, address]
    assert rows(await quotas(broker, strict=True)) == []
    assert rows(await quotas(broker, ("user", ANY, None))) == [alice, client_of_alice]
    assert rows(await quotas(broker, ("user", EXACT, "alice"), strict=True)) == [alice]
    assert rows(await quotas(broker, ("client-id", DEFAULT, None))) == [clients]
    assert rows(await quotas(broker, ("ip", ANY, None))) == [address]
    for parts, code in (
        ((("team", ANY, None),), ErrorCode.UNSUPPORTED_VERSION),
        ((("user", ANY, None), ("user", DEFAULT, None)), ErrorCode.INVALID_REQUEST),
        ((("user", ANY, None), ("ip", ANY, None)), ErrorCode.INVALID_REQUEST),
    ):
        refused = await quotas(broker, *parts)
        assert (refused.error_code, refused.entries) == (code, None)
        assert refused.error_message


@on_broker()
async def test_credentials_are_described_without_their_secrets(broker: LocalBroker) -> None:
    async def ask(*users: str) -> Any:
        named = [UserName(name=user) for user in users] if users else None
        answer = await broker.ask(DescribeUserScramCredentialsRequest(users=named), 0)
        assert (answer.error_code, answer.error_message) == (0, "")
        return answer

    assert (await ask()).results == []
    await broker.store.configs.change("users/alice", {"SCRAM-SHA-512": CREDENTIAL})
    await broker.store.configs.change("users/bob", {"producer_byte_rate": "1"})
    await broker.store.configs.change(f"users/{DEFAULT_ENTITY}", {"SCRAM-SHA-512": CREDENTIAL})
    (row,) = (await ask()).results
    assert (row.user, row.error_code) == ("alice", 0)
    assert [(each.mechanism, each.iterations) for each in row.credential_infos] == [(2, 8192)]
    named = await ask("alice", "bob", "", "twice", "twice")
    missing, twice = ErrorCode.RESOURCE_NOT_FOUND, ErrorCode.DUPLICATE_RESOURCE
    assert [(each.user, each.error_code) for each in named.results] == [
        ("alice", 0), ("bob", missing), ("", missing), ("twice", twice),
    ]  # fmt: skip
    assert "c3RvcmVk" not in repr(named)
    for number, iterations in enumerate(("99999999999", "x", "", "9" * 5000)):
        broken = CREDENTIAL.replace("8192", iterations)
        await broker.store.configs.change(f"users/broken{number}", {"SCRAM-SHA-256": broken})
    users = [f"broken{number}" for number in range(4)]
    for answer in (await ask(), await ask("alice", *users)):
        assert [(each.user, each.error_code) for each in answer.results] == [
            ("alice", 0), *((user, ErrorCode.UNKNOWN_SERVER_ERROR) for user in users),
        ]  # fmt: skip
        assert all(not each.credential_infos for each in answer.results[1:])


@on_broker()
async def test_very_many_quotas_and_credentials_hold_nobody_up(broker: LocalBroker) -> None:
    broker.store.configs.of_all = many  # type: ignore[assignment,method-assign]
    broker.server.node.store.configs.of_all = many  # type: ignore[assignment,method-assign]
    loop, turns = asyncio.get_running_loop(), 0

    def count() -> None:
        nonlocal turns
        turns += 1
        loop.call_soon(count)

    request = DescribeUserScramCredentialsRequest(users=None)
    waiting = asyncio.ensure_future(broker.ask(request, 0))
    count()
    assert len((await waiting).results) == MANY
    assert turns > MANY / SLICE
    turns = 0
    assert len(rows(await quotas(broker))) == MANY
    assert turns > 2 * MANY / SLICE


async def many(kind: str) -> dict[str, dict[str, str]]:
    """In place of what the store reads."""
    if kind != "users":
        return {}
    return {f"user{number}": {"SCRAM-SHA-256": CREDENTIAL, "producer_byte_rate": "1"} for number in range(MANY)}


@on_broker()
async def test_a_change_of_credentials_is_made_whole_or_not_at_all(broker: LocalBroker) -> None:
    def upsertion(name: str, iterations: int = 4096, mechanism: int = 1) -> alter_scram.ScramCredentialUpsertion:
        return alter_scram.ScramCredentialUpsertion(
            name=name, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=b"salted"
        )

    deletions = [alter_scram.ScramCredentialDeletion(name=name, mechanism=1) for name in ("alice", "absent")]
    upsertions = [
        upsertion("alice"), upsertion("bob"), upsertion("few", 4095), upsertion("many", 16_385), upsertion(""),
        upsertion("other", mechanism=3), upsertion("half"), upsertion("half", 1, mechanism=2),
    ]  # fmt: skip
    upsertions += [upsertion("twice"), upsertion("twice"), upsertion("twice", 1, mechanism=2), upsertion("empty")]
    upsertions[-1].salted_password = b""
    request = alter_scram.AlterUserScramCredentialsRequest(deletions=deletions, upsertions=upsertions)
    answer = await broker.ask(request, 0)
    unacceptable = ErrorCode.UNACCEPTABLE_CREDENTIAL
    assert [(row.user, row.error_code) for row in answer.results] == [
        ("alice", ErrorCode.DUPLICATE_RESOURCE), ("absent", ErrorCode.RESOURCE_NOT_FOUND), ("bob", 0),
        ("few", unacceptable), ("many", unacceptable), ("", unacceptable),
        ("other", ErrorCode.UNSUPPORTED_SASL_MECHANISM), ("half", unacceptable),
        ("twice", unacceptable), ("empty", unacceptable),
    ]  # fmt: skip
    assert list(await broker.store.configs.of_all("users")) == ["bob"]


@on_broker()
async def test_there_are_no_acls_and_no_features(broker: LocalBroker) -> None:
    acls = DescribeAclsRequest(
        resource_type_filter=2, resource_name_filter=None, pattern_type_filter=1, principal_filter=None,
        host_filter=None, operation=1, permission_type=1,
    )  # fmt: skip
    answer = await broker.ask(acls, 2)
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.SECURITY_DISABLED, "No Authorizer is configured on the broker",
    )  # fmt: skip
    updates = {("x", 1, False): "not supported", ("y", 0, True): "non-existing", ("z", 0, False): "less than 1",
               ("", 1, False): "can not be empty"}  # fmt: skip
    asked = [FeatureUpdateKey(feature=name, max_version_level=top, allow_downgrade=down) for name, top, down in updates]
    answer = await broker.ask(UpdateFeaturesRequest(feature_updates=asked), 0)
    assert answer.error_code == 0
    assert [(row.feature, row.error_code) for row in answer.results] == [
        (name, ErrorCode.INVALID_REQUEST) for name, _, _ in updates
    ]
    for row, reason in zip(answer.results, updates.values(), strict=True):
        assert reason in row.error_message


@on_broker(inter_broker_protocol_version="2.6")
async def test_features_are_off_before_their_protocol_version(broker: LocalBroker) -> None:
    answer = await broker.ask(UpdateFeaturesRequest(feature_updates=[]), 0)
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.INVALID_REQUEST, "Feature versioning system is disabled.",
    )  # fmt: skip
