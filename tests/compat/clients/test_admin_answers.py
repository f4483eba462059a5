"""What admin tools and user interfaces ask of a broker: our answers and Apache's are the same, field by field."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers.apache import LEAST_CLEANER_BYTES, ApacheBroker, Jars
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.testing.znodes import Znodes
from kafka_py.wire.messages.create_acls import AclCreation, CreateAclsRequest
from kafka_py.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafka_py.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kafka_py.wire.messages.describe_acls import DescribeAclsRequest
from kafka_py.wire.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from kafka_py.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafka_py.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from kafka_py.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafka_py.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from kafka_py.wire.schema import Message, schema_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

TOPIC, BROKER, SET = 2, 4, 0
SETTINGS = {"log.cleaner.dedupe.buffer.size": LEAST_CLEANER_BYTES, "log.retention.minutes": "7000"}
OF_THE_PLACE = ("listeners", "log.dirs", "zookeeper.connect", "zookeeper.connection.timeout.ms",
                "zookeeper.session.timeout.ms", "documentation")  # fmt: skip
"""Settings that differ because the two brokers run at different places."""

CHANGES = (
    ("", "log.cleaner.backoff.ms", "20000"),
    ("", "my.unknown", "hello"),
    ("0", "my.own.unknown", "hello"),
    ("0", "listener.name.plaintext.ssl.keystore.location", "/x"),
    ("0", "listener.name.plaintext.ssl.keystore.password", "secret"),
    ("0", "listener.name.plaintext.plain.sasl.jaas.config", "secret"),
    ("0", "sasl.jaas.config", "secret"),
    ("", "sasl.jaas.config", "secret"),
    ("0", "log.retention.ms", "88888888"),
    ("0", "log.roll.jitter.ms", "77"),
)
CREDENTIAL = "salt=c2FsdA==,stored_key=c3RvcmVk,server_key=c2VydmVy,iterations=8192"
ENTITIES = {
    "/config/users/alice": f'{{"producer_byte_rate":"1024","SCRAM-SHA-256":"{CREDENTIAL}"}}',
    "/config/users/bob": f'{{"SCRAM-SHA-512":"{CREDENTIAL}"}}',
    "/config/users/<default>": '{"request_percentage":"50.5"}',
    "/config/users/alice/clients/c%201": '{"consumer_byte_rate":"7","controller_mutation_rate":"2.5"}',
    "/config/clients/c2": '{"consumer_byte_rate":"8"}',
    "/config/clients/<default>": '{"consumer_byte_rate":"9"}',
    "/config/ips/127.0.0.1": '{"connection_creation_rate":"100"}',
}
FILTERS: dict[str, tuple[list[tuple[str, int, str | None]], bool]] = {
    "everything": ([], False),
    "nothing": ([], True),
    "users": ([("user", 2, None)], False),
    "users alone": ([("user", 2, None)], True),
    "alice": ([("user", 0, "alice")], False),
    "the default user": ([("user", 1, None)], True),
    "alice and any client": ([("user", 0, "alice"), ("client-id", 2, None)], True),
    "clients": ([("client-id", 2, None)], True),
    "addresses": ([("ip", 2, None)], False),
}
REFUSED_FILTERS: dict[str, tuple[list[tuple[str, int, str | None]], bool]] = {
    "a type twice": ([("user", 2, None), ("user", 0, "a")], False),
    "no type": ([("", 2, None)], False),
    "an own type": ([("team", 2, None)], False),
    "an address and a user": ([("ip", 2, None), ("user", 2, None)], False),
}


def plain(value: Any) -> Any:
    """A message as dictionaries and lists, without what differs for good reasons."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if not isinstance(value, Message):
        return value
    fields = {field.name: plain(getattr(value, field.name)) for field in schema_of(type(value)).fields}
    if fields.get("name") in OF_THE_PLACE:
        return {"name": fields["name"]}
    return {name: field for name, field in fields.items() if name != "documentation"}


def settings_of(client: WireClient, kind: int, name: str, keys: list[str] | None = None) -> Any:
    wanted = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
    return plain(client.ask(DescribeConfigsRequest(resources=[wanted], include_synonyms=True), 3))


def change(client: WireClient, resource: str, name: str, value: str) -> Any:
    config = AlterableConfig(name=name, config_operation=SET, value=value)
    one = AlterConfigsResource(resource_type=BROKER, resource_name=resource, configs=[config])
    return plain(client.ask(IncrementalAlterConfigsRequest(resources=[one], validate_only=False), 1))


def settings_answers(client: WireClient) -> dict[str, Any]:
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1, assignments=[], configs=[])
    client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 5)
    said = {"topic": settings_of(client, TOPIC, "t"), "broker": settings_of(client, BROKER, "0")}
    said["no topic"] = settings_of(client, TOPIC, "nope")
    said["another broker"] = settings_of(client, BROKER, "7")
    said["no number"] = settings_of(client, BROKER, "²")
    for resource, name, value in CHANGES:
        said[f"{name} of {resource!r}"] = change(client, resource, name, value)
    eventually(lambda: len(settings_of(client, BROKER, "")["results"][0]["configs"]) == 2)
    eventually(lambda: settings_of(client, BROKER, "0", ["log.roll.jitter.ms"])["results"][0]["configs"][0]["value"])
    said["all brokers, changed"] = settings_of(client, BROKER, "")
    said["broker, changed"] = settings_of(client, BROKER, "0")
    said["some of broker"] = settings_of(client, BROKER, "0", ["my.unknown", "log.roll.ms", "log.retention.hours"])
    said["topic, changed"] = settings_of(client, TOPIC, "t")
    return said


def eventually(condition: Callable[[], object], timeout_s: float = 20) -> None:
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


def acl_answers(client: WireClient) -> dict[str, Any]:
    what: dict[str, Any] = {"operation": 3, "permission_type": 3}
    some: dict[str, Any] = {"resource_type_filter": 2}
    some |= {"resource_name_filter": None, "principal_filter": None, "host_filter": None}
    creation = AclCreation(resource_type=2, resource_name="t", principal="User:a", host="*", **what)
    return {
        "describe": plain(client.ask(DescribeAclsRequest(**some, pattern_type_filter=1, **what), 2)),
        "create": plain(client.ask(CreateAclsRequest(creations=[creation]), 2)),
        "delete": plain(client.ask(DeleteAclsRequest(filters=[DeleteAclsFilter(**some, **what)]), 2)),
    }


def feature_answers(client: WireClient) -> dict[str, Any]:
    updates = [("x", 1, False), ("y", 0, True), ("z", 0, False), ("", 1, False)]
    rows = [FeatureUpdateKey(feature=name, max_version_level=top, allow_downgrade=down) for name, top, down in updates]
    answers = {str(row): plain(client.ask(UpdateFeaturesRequest(feature_updates=[row]), 0)) for row in rows}
    return {**answers, "none": plain(client.ask(UpdateFeaturesRequest(feature_updates=[]), 0))}


def quotas(client: WireClient, parts: list[tuple[str, int, str | None]], strict: bool) -> Any:
    components = [ComponentData(entity_type=kind, match_type=how, match=match) for kind, how, match in parts]
    answer = plain(client.ask(DescribeClientQuotasRequest(components=components, strict=strict), 1))
    if answer["entries"] is not None:
        answer["entries"] = sorted((sorted_entry(each) for each in answer["entries"]), key=str)
    return answer


def sorted_entry(entry: Any) -> Any:
    return {name: sorted(rows, key=str) for name, rows in entry.items()}


def credentials(client: WireClient, *users: str) -> Any:
    named = [UserName(name=user) for user in users] if users else None
    answer = plain(client.ask(DescribeUserScramCredentialsRequest(users=named), 0))
    answer["results"].sort(key=str)
    return answer


def test_answers_are_the_same_on_both_brokers(apache_kafka: Jars, zk_chroot: str, tmp_path: Path) -> None:
    said: list[dict[str, Any]] = []
    for make in (ApacheBroker, BrokerProcess):
        chroot = f"{zk_chroot}/{make.__name__}"
        with (
            make(tmp_path / make.__name__, chroot, settings=SETTINGS) as broker,
            WireClient(broker.bootstrap) as client,
        ):
            answers = {**settings_answers(client), **acl_answers(client), **feature_answers(client)}
            answers["no quotas"] = quotas(client, [], False)
            answers["no credentials"] = credentials(client)
            with Znodes(chroot) as znodes:
                for path, config in ENTITIES.items():
                    znodes.set(path, f'{{"version":1,"config":{config}}}')
            answers |= {f"quotas: {name}": quotas(client, *asked) for name, asked in FILTERS.items()}
            codes = {name: quotas(client, *asked)["error_code"] for name, asked in REFUSED_FILTERS.items()}
            answers["credentials"] = credentials(client)
            answers["credentials of some"] = credentials(client, "alice", "nobody", "")
            said.append({**answers, "refused filters": codes})
    apache, ours = said
    assert ours.keys() == apache.keys()
    for name, answer in apache.items():
        if name != "broker, changed":
            assert ours[name] == answer, name
            continue
        # Once a setting has changed at run time, 2.8.2 lists settings of its unfinished KRaft mode as well.
        theirs, mine = ({row["name"]: row for row in one["results"][0]["configs"]} for one in (answer, ours[name]))
        kraft = ("broker.heartbeat", "broker.session", "controller.", "process.roles", "node.id", "initial.broker",
                 "metadata.log", "sasl.mechanism.controller")  # fmt: skip
        assert [row for row in theirs if row not in mine and not row.startswith(kraft)] == []
        # And it forgets the value, not the source, of a weaker name that the file gave (log.retention.minutes here).
        assert theirs["log.retention.minutes"].pop("value") is None
        assert mine["log.retention.minutes"].pop("value") == "7000"
        assert mine == {row: theirs[row] for row in mine}
