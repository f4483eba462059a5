"""kafka-configs.sh --zookeeper for users, clients and ips: as Apache's tool, on an in-memory ZooKeeper."""

import asyncio
import json
import math
import re

import pytest

from kafka_py.base.errors import KafkaError
from kafka_py.broker.quotas.quota_keys import double_of
from kafka_py.cli.common.command import CommandFailed, Refused
from kafka_py.cli.config_admin import scram_credentials
from kafka_py.cli.config_admin.configs_quotas import ConfigEntity, alter, describe, quota_entity_of
from kafka_py.cli.config_admin.entities import Changes, Entity
from kafka_py.cli.configs import parser, quota_parts_of
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.zk.store import ZkStore

ALICE = ConfigEntity(Entity("users", "alice"))


def entity(line):
    arguments = line.split()
    options = parser().parse(["--zookeeper", "z", *arguments])
    return quota_entity_of(quota_parts_of(options, arguments), alter=options.alter)


@pytest.mark.parametrize(
    ("line", "title", "path"),
    [
        ("--alter --user alice", "user-principal 'alice'", "users/alice"),
        ("--alter --user-defaults", "default user-principal", "users/<default>"),
        ("--alter --user alice --client c1", "user-principal 'alice', client-id 'c1'", "users/alice/clients/c1"),
        ("--alter --entity-type clients --entity-type users --entity-name c1 --entity-name u1",
         "user-principal 'u1', client-id 'c1'", "users/u1/clients/c1"),
        ("--alter --entity-type users --entity-name u/* --entity-type clients --entity-default",
         "user-principal 'u/*', default client-id", "users/u%2F%2A/clients/<default>"),
        ("--alter --entity-type users --entity-default --entity-type clients --entity-name=c1",
         "default user-principal, client-id 'c1'", "users/<default>/clients/c1"),
        ("--alter --ip 127.0.0.1", "ips '127.0.0.1'", "ips/127.0.0.1"),
        ("--alter --ip-defaults", "default ips", "ips/<default>"),
    ],
)  # fmt: skip
def test_who_is_meant(line, title, path):
    found = entity(line)
    assert (found.title, found.path) == (title, path)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--alter --entity-type users", "an entity-name or default entity must be specified with --alter of users"),
        ("--alter --entity-type users --entity-type clients --entity-name u1", "with each --entity-type for --alter"),
        ("--alter --ip a..b", "The entity name for ips must be a valid IP or resolvable host, but it is: a..b"),
        ("--alter --ip no.such.host.invalid", "The entity name for ips must be a valid IP or resolvable host"),
    ],
)
def test_who_cannot_be_meant(line, says):
    with pytest.raises(Refused, match=re.escape(says)):
        entity(line)


def run(*steps):
    server = FakeZookeeper()

    async def scenario():
        session = server.session()
        await session.connect()
        store = ZkStore(session)
        await store.brokers.ensure_top_level_paths()
        for step in steps:
            await step(store)
        await session.close()

    asyncio.run(scenario())
    return server.tree()


def change(who, added, *deleted):
    return lambda store: alter(store, who, Changes(added, list(deleted)))


def shown(who):
    return lambda store: describe(store, who)


def test_quotas_are_written_announced_and_shown(capsys):
    both = entity("--alter --user alice --client c1")
    tree = run(
        change(ALICE, {"producer_byte_rate": "1024", "request_percentage": "12.5"}),
        change(both, {"controller_mutation_rate": "5"}),
        change(entity("--alter --client-defaults"), {"consumer_byte_rate": "9"}),
        change(ALICE, {}, "producer_byte_rate"),
        shown(ConfigEntity(Entity("users", None))),
        shown(ConfigEntity(Entity("users", None), Entity("clients", None))),
        shown(ConfigEntity(Entity("users", "alice"), Entity("clients", None))),
        shown(ConfigEntity(Entity("clients", None))),
        shown(ConfigEntity(Entity("users", "nobody"))),
    )
    assert json.loads(tree["/config/users/alice"]) == {"version": 1, "config": {"request_percentage": "12.5"}}
    changes = [json.loads(data)["entity_path"] for path, data in sorted(tree.items()) if "/config_change_" in path]
    assert changes == ["users/alice", "users/alice/clients/c1", "clients/<default>", "users/alice"]
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["Completed updating config for entity: user-principal 'alice'.",
                         "Completed updating config for entity: user-principal 'alice', client-id 'c1'."]  # fmt: skip
    assert lines[4:] == [
        "Configs for user-principal 'alice' are request_percentage=12.5",
        "Configs for user-principal 'alice', client-id 'c1' are controller_mutation_rate=5",
        "Configs for user-principal 'alice', client-id 'c1' are controller_mutation_rate=5",
        "Configs for default client-id are consumer_byte_rate=9",
        "Configs for user-principal 'nobody' are ",
    ]


@pytest.mark.parametrize(
    ("who", "added", "error", "says"),
    [
        ("--user bob", {"nope": "1"}, Refused, "Unknown Dynamic Configuration: HashSet(nope)."),
        ("--user bob", {"SCRAM-SHA-1": "[password=x]"}, Refused, "HashSet(SCRAM-SHA-1)."),
        ("--user-defaults", {"SCRAM-SHA-512": "password=x"}, Refused, "HashSet(SCRAM-SHA-512)."),
        ("--user bob --client c", {"SCRAM-SHA-512": "password=x"}, Refused, "HashSet(SCRAM-SHA-512)."),
        ("--client c1", {"connection_creation_rate": "1"}, Refused, "HashSet(connection_creation_rate)."),
        ("--ip-defaults", {"producer_byte_rate": "1"}, Refused, "HashSet(producer_byte_rate)."),
        ("--user bob", {"producer_byte_rate": "1.5"}, KafkaError,
         "Invalid value 1.5 for configuration producer_byte_rate: Not a number of type LONG"),
        ("--user bob", {"consumer_byte_rate": "1_000"}, KafkaError, "Not a number of type LONG"),
        ("--user bob", {"consumer_byte_rate": "9223372036854775808"}, KafkaError, "Not a number of type LONG"),
        ("--user bob", {"request_percentage": "1_0"}, KafkaError, "Not a number of type DOUBLE"),
        ("--user bob", {"request_percentage": "\u0661"}, KafkaError, "Not a number of type DOUBLE"),
        ("--ip-defaults", {"connection_creation_rate": "2147483648"}, KafkaError, "Not a number of type INT"),
        ("--ip-defaults", {"connection_creation_rate": "-1"}, KafkaError, "must be at least 0"),
        ("--user bob", {"SCRAM-SHA-512": "iterations=10,password=x"}, Refused,
         "Iterations 10 is less than the minimum 4096 required for SCRAM_SHA_512"),
    ],
)  # fmt: skip
def test_what_nobody_can_have_is_refused(who, added, error, says):
    with pytest.raises(error, match=re.escape(says)):
        run(change(entity(f"--alter {who}"), added))


def test_numbers_are_those_that_brokers_of_apache_kafka_read():
    rates = {"producer_byte_rate": "-1", "consumer_byte_rate": "9223372036854775807", "request_percentage": "1.5E2d",
             "controller_mutation_rate": ".5"}  # fmt: skip
    tree = run(change(ALICE, rates), change(entity("--alter --ip-defaults"), {"connection_creation_rate": "0"}))
    assert json.loads(tree["/config/users/alice"])["config"] == rates
    assert [double_of(text) for text in (" 1.5E2d", ".5", "-3.", "Infinity")] == [150.0, 0.5, -3.0, math.inf]
    for text in ("1_000", "inf", "nan", "", "1.5.2", "\u0661", "0x10"):
        with pytest.raises(ValueError, match="is not a number"):
            double_of(text)


def test_what_is_not_set_cannot_be_deleted():
    with pytest.raises(Refused, match=re.escape("Invalid config(s): a,b")):
        run(change(ALICE, {}, "a", "b"))


def test_a_password_becomes_a_credential():
    tree = run(change(ALICE, {"SCRAM-SHA-256": "iterations=8192,password=secret", "producer_byte_rate": "1"}))
    stored = json.loads(tree["/config/users/alice"])["config"]["SCRAM-SHA-256"]
    assert re.fullmatch(r"salt=[\w+/=]+,stored_key=[\w+/=]{44},server_key=[\w+/=]{44},iterations=8192", stored)
    assert "secret" not in stored


@pytest.mark.parametrize("given", ["", "pass=x", "iterations=x,password=x"])
def test_a_credential_needs_a_password(given):
    with pytest.raises(CommandFailed, match=r"Invalid credential property SCRAM_SHA_256=\[hidden\]"):
        scram_credentials.given_password("SCRAM-SHA-256", given)


@pytest.mark.parametrize("given", ["password=", "iterations=8192,password="])
def test_a_password_is_not_empty(given):
    """As with a variable of a script that is not set: anyone could log in as the user."""
    with pytest.raises(CommandFailed, match="The password of SCRAM_SHA_256 is empty"):
        scram_credentials.given_password("SCRAM-SHA-256", given)


def test_a_password_is_not_shown():
    assert "secret" not in repr(scram_credentials.given_password("SCRAM-SHA-256", "password=secret"))
