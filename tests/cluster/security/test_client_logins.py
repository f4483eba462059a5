"""Our clients and tools at a broker with logins: every mechanism, right and wrong credentials, sessions that end."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sasl_brokers import MECHANISMS, PASSWORD, USER, Secured, java_settings, property_text

from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.cli import configs, topics
from kafka_py.clients.admin.client import AdminClient
from kafka_py.clients.admin.credentials import ScramPassword
from kafka_py.clients.consumer.consumer import Consumer
from kafka_py.clients.producer.producer import Producer
from kafka_py.testing.processes import ZookeeperServer
from kafka_py.testing.topics import create_topic


@pytest.fixture(scope="module")
def broker(kafka_zookeeper: ZookeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    settings = {"connections.max.reauth.ms": "3000"}
    with Secured(folder, f"{kafka_zookeeper.connect}/client-logins", **settings) as one:
        with AdminClient({"bootstrap.servers": one.bootstrap}) as admin:
            mechanisms = ("SCRAM-SHA-256", "SCRAM-SHA-512")
            admin.alter_user_scram_credentials({USER: {each: ScramPassword(PASSWORD) for each in mechanisms}}).all()
        create_topic([one.bootstrap], "t", 1)
        yield one


def settings(broker: Secured, mechanism: str, password: str = PASSWORD) -> dict[str, str]:
    return {"bootstrap.servers": broker.sasl, **java_settings(mechanism, password)}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_what_is_produced_after_a_login_is_consumed(broker: Secured, mechanism: str) -> None:
    topic = create_topic([broker.bootstrap], f"t-{mechanism}", 1) or f"t-{mechanism}"
    with Producer(settings(broker, mechanism)) as producer:
        for number in range(10):
            producer.send(topic, str(number).encode()).result(20)
    own = {"auto.offset.reset": "earliest", "group.id": f"g-{mechanism}"}
    with Consumer({**settings(broker, mechanism), **own}) as consumer:
        consumer.subscribe([topic])
        found: list[bytes | None] = []
        deadline_s = time.monotonic() + 30
        while len(found) < 10 and time.monotonic() < deadline_s:
            found += [record.value for record in consumer.poll(1.0)]
    assert found == [str(number).encode() for number in range(10)]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_wrong_credentials_end_every_call_with_the_brokers_reason(broker: Secured, mechanism: str) -> None:
    wrong = settings(broker, mechanism, "wrong")
    says = {"PLAIN": "Authentication failed: Invalid username or password", "OAUTHBEARER": "invalid_token"}
    reason = says.get(mechanism, f"due to invalid credentials with SASL mechanism {mechanism}")
    with AdminClient(wrong) as admin, pytest.raises(KafkaError) as failed:
        admin.list_topics()
    assert failed.value.code is ErrorCode.SASL_AUTHENTICATION_FAILED
    assert not failed.value.retriable
    assert reason in str(failed.value)
    with Producer(wrong) as producer, pytest.raises(KafkaError) as failed:
        producer.send("t", b"v").result(20)
    assert reason in str(failed.value)
    with Consumer({**wrong, "group.id": "g"}) as consumer, pytest.raises(KafkaError) as failed:
        consumer.subscribe(["t"])
        for _ in range(20):
            consumer.poll(1.0)
    assert reason in str(failed.value)


def test_clients_log_in_again_before_the_session_ends(broker: Secured) -> None:
    with Producer({**settings(broker, "PLAIN"), "linger.ms": 5}) as producer:
        sent = []
        deadline_s = time.monotonic() + 7
        while time.monotonic() < deadline_s:  # longer than two sessions last
            sent.append(producer.send("t", b"v").result(20))
    assert len({record.offset for record in sent}) == len(sent)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"sasl.mechanism": "GSSAPI"}, "GSSAPI needs the login module com.sun.security.auth.module.Krb5LoginModule"),
        ({"sasl.jaas.config": "x"}, "sasl.jaas.config"),
        ({"sasl.jaas.config": "M required;"}, "needs the login module"),
        ({"sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required;"}, "no username"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_at_once(changes: dict[str, str], says: str) -> None:
    given = {"bootstrap.servers": "127.0.0.1:1", **java_settings("PLAIN"), **changes}
    with pytest.raises(ConfigError) as failed, Producer(given):
        pass
    assert says in failed.value.message


def test_tools_log_in_by_their_command_config(
    broker: Secured, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "client.properties"
    file.write_text(property_text(java_settings("SCRAM-SHA-512")))
    place = ["--bootstrap-server", broker.sasl, "--command-config", str(file)]
    assert topics.main([*place, "--list"]) == 0
    assert "t" in capsys.readouterr().out.split()
    given = "SCRAM-SHA-256=[iterations=8192,password=x],SCRAM-SHA-512=[password=y]"
    assert configs.main([*place, "--alter", "--user", "bob", "--add-config", given]) == 0
    assert "Completed updating config for user bob." in capsys.readouterr().out
    assert configs.main([*place, "--describe", "--user", "bob"]) == 0
    described = capsys.readouterr().out
    assert "SCRAM-SHA-256=iterations=8192" in described
    assert "SCRAM-SHA-512=iterations=4096" in described
    assert configs.main([*place, "--alter", "--user", "bob", "--delete-config", "SCRAM-SHA-256,SCRAM-SHA-512"]) == 0
    file.write_text(property_text(java_settings("SCRAM-SHA-512", "wrong")))
    assert topics.main([*place, "--list"]) == 1
    assert "due to invalid credentials with SASL mechanism SCRAM-SHA-512" in "".join(capsys.readouterr())


def test_no_secret_is_in_the_files_of_the_broker(broker: Secured) -> None:
    """Whatever the tests before this one have made it log."""
    for path in broker.folder.rglob("*"):
        if path.is_file() and path.name != "server.properties":
            assert PASSWORD.encode() not in path.read_bytes(), path


def test_secrets_of_clients_may_be_in_other_files(broker: Secured, tmp_path: Path) -> None:
    secrets = tmp_path / "secrets.properties"
    secrets.write_text(f"password={PASSWORD}\n")
    given = settings(broker, "PLAIN", f"${{file:{secrets}:password}}")
    provider = "org.apache.kafka.common.config.provider.FileConfigProvider"
    with AdminClient({**given, "config.providers": "file", "config.providers.file.class": provider}) as admin:
        assert "t" in admin.list_topics()
