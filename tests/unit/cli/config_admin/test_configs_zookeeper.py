"""kafka-configs.sh --zookeeper on an in-memory ZooKeeper: what it prints and what it leaves in the znodes."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable

import pytest

from kafka_py.base.errors import ConfigError, KafkaError
from kafka_py.cli.common.command import Refused
from kafka_py.cli.config_admin.configs_zookeeper import alter, describe, with_encoded_passwords
from kafka_py.cli.config_admin.entities import Changes, Entity
from kafka_py.security.password_encoder import PasswordEncoder
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.zk.store import ZkStore
from kafka_py.zk.topics import ReplicaAssignment, TopicAssignment
from kafka_py.zk.znodes import BrokerEndpoint, BrokerIdZNode

TOPIC = Entity("topics", "t")
RATE = "leader.replication.throttled.rate"
BACKOFF = "log.cleaner.backoff.ms"
PASSWORD = "listener.name.a.ssl.keystore.password"


def run(*steps: Callable[[ZkStore], Awaitable[object]]) -> FakeZookeeper:
    """On a cluster with topic t and broker 1 running."""
    server = FakeZookeeper()

    async def scenario() -> None:
        session = server.session()
        await session.connect()
        try:
            store = ZkStore(session)
            await store.brokers.ensure_top_level_paths()
            await store.topics.create("t", TopicAssignment({0: ReplicaAssignment((1,))}))
            endpoint = BrokerEndpoint("PLAINTEXT", "PLAINTEXT", "h", 9092)
            await store.brokers.register(1, BrokerIdZNode.of([endpoint], jmx_port=-1, timestamp_ms=0))
            for step in steps:
                await step(store)
        finally:
            await session.close()

    asyncio.run(scenario())
    return server


def change(entity: Entity, added: dict[str, str], *deleted: str) -> Callable[[ZkStore], Awaitable[None]]:
    return lambda store: alter(store, entity, Changes(added, list(deleted)))


def shown(entity: Entity) -> Callable[[ZkStore], Awaitable[None]]:
    return lambda store: describe(store, entity)


def test_a_topic_s_overrides_are_written_and_announced(capsys: pytest.CaptureFixture[str]) -> None:
    server = run(
        change(TOPIC, {"segment.bytes": "1048576", "cleanup.policy": "compact,delete"}),
        change(TOPIC, {}, "cleanup.policy"),
        shown(TOPIC),
        shown(Entity("topics", None)),
    )
    assert capsys.readouterr().out.splitlines() == [
        "Completed updating config for entity: topic 't'.",
        "Completed updating config for entity: topic 't'.",
        "Configs for topic 't' are segment.bytes=1048576",
        "Configs for topic 't' are segment.bytes=1048576",
    ]
    tree = server.tree()
    assert json.loads(tree["/config/topics/t"] or "")["config"] == {"segment.bytes": "1048576"}
    changes = [json.loads(data or "") for path, data in tree.items() if path.startswith("/config/changes/")]
    assert changes == [{"version": 2, "entity_path": "topics/t"}] * 2


def test_what_a_topic_cannot_have_is_refused() -> None:
    for step, error, says in (
        (change(TOPIC, {"no.such": "1"}), ConfigError, "Unknown topic config name"),
        (change(TOPIC, {"segment.bytes": "x"}), ConfigError, "segment.bytes"),
        (change(TOPIC, {}, "segment.bytes"), Refused, r"Invalid config\(s\): segment.bytes"),
        (change(Entity("topics", "nope"), {"segment.bytes": "5000"}), KafkaError, "'nope' does not exist"),
    ):
        with pytest.raises(error, match=says):
            run(step)


def test_a_broker_s_settings_change_only_while_it_is_down(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Refused, match="when broker 1 is running"):
        run(change(Entity("brokers", "1"), {BACKOFF: "20000"}))
    with pytest.raises(Refused, match="if any broker is running"):
        run(change(Entity("brokers", ""), {BACKOFF: "20000"}))
    capsys.readouterr()
    run(
        change(Entity("brokers", "7"), {BACKOFF: "20000"}),
        change(Entity("brokers", "1"), {RATE: "1000"}),
        change(Entity("brokers", ""), {RATE: "2000"}),
        shown(Entity("brokers", None)),
        shown(Entity("brokers", "")),
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "Completed updating config for entity: brokers '7'.",
        "Completed updating config for entity: brokers '1'.",
        "Completed updating config for entity: default brokers.",
    ]
    assert sorted(lines[3:]) == [
        "Configs for brokers '1' are leader.replication.throttled.rate=1000",
        "Configs for brokers '7' are log.cleaner.backoff.ms=20000",
        "Configs for default brokers are leader.replication.throttled.rate=2000",
        "Configs for default brokers are leader.replication.throttled.rate=2000",
    ]


def test_what_a_broker_cannot_change_is_refused() -> None:
    for added, error, says in (
        ({"log.dirs": "/x"}, ConfigError, "Cannot update these configs dynamically"),
        ({BACKOFF: "x"}, ConfigError, BACKOFF),
        ({"password.encoder.secret": "hunter2", "password.encoder.iterations": "x", PASSWORD: "hunter2"}, ConfigError,
         "password.encoder.iterations"),
        ({"password.encoder.secret": "hunter2", "delegation.token.secret.key": "hunter2"}, ConfigError,
         "Cannot update these configs dynamically"),
        ({"listener.name.a.ssl.keystore.password": "hunter2"}, Refused, "password.encoder.secret must be"),
        ({"listener.name.a.plain.sasl.jaas.config": "hunter2"}, Refused, "password.encoder.secret must be"),
        ({"sasl.jaas.config": "hunter2"}, Refused, "password.encoder.secret must be"),
    ):
        with pytest.raises(error, match=says) as refused:
            run(change(Entity("brokers", "7"), added))
        assert "hunter2" not in str(refused.value)


def test_what_is_stored_already_is_not_looked_at() -> None:
    """As another tool left it, or another release: a broker leaves aside what it cannot use."""
    stored = {"log.dirs": "/x", "listener.name.a.ssl.keystore.password": "encrypted", BACKOFF: "x"}
    server = run(
        lambda store: store.configs.change("brokers/1", stored),
        change(Entity("brokers", "1"), {RATE: "1000"}),
    )
    assert json.loads(server.tree()["/config/brokers/1"] or b"")["config"] == {**stored, RATE: "1000"}


def test_passwords_are_encrypted_as_the_command_line_says_which_is_not_stored() -> None:
    """So that a broker whose key store is dynamic can start at all."""
    added = {
        PASSWORD: "hunter2", "listener.name.a.ssl.keystore.type": "PKCS12", "password.encoder.secret": "encoder-secret",
        "password.encoder.iterations": "2000", "password.encoder.key.length": "256",
    }  # fmt: skip
    server = run(change(Entity("brokers", "7"), added))
    stored = json.loads(server.tree()["/config/brokers/7"] or b"")["config"]
    assert stored.keys() == {PASSWORD, "listener.name.a.ssl.keystore.type"}
    assert stored["listener.name.a.ssl.keystore.type"] == "PKCS12"
    assert "iterations:2000" in stored[PASSWORD] and "keyLength:256" in stored[PASSWORD]
    assert PasswordEncoder("encoder-secret", os.urandom).decode(stored[PASSWORD]) == "hunter2"
    assert not any(secret in repr(server.tree()) for secret in ("hunter2", "encoder-secret"))


def test_settings_of_the_encoder_alone_change_nothing_and_are_not_stored() -> None:
    server = run(change(Entity("brokers", "7"), {"password.encoder.secret": "encoder-secret", BACKOFF: "1"}))
    assert json.loads(server.tree()["/config/brokers/7"] or b"")["config"] == {BACKOFF: "1"}


def test_passwords_of_all_brokers_are_refused() -> None:
    wanted = Changes({PASSWORD: "hunter2", "password.encoder.secret": "encoder-secret"}, [])
    with pytest.raises(ConfigError, match="at default cluster level"):
        with_encoded_passwords(wanted, Entity("brokers", ""))


def test_a_broker_s_id_with_leading_zeros_is_that_broker() -> None:
    assert "/config/brokers/7" in run(change(Entity("brokers", "007"), {BACKOFF: "1"})).tree()
