"""Other people's clients log in at our broker: each mechanism that they know, with right and wrong credentials."""

import asyncio
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiokafka
import confluent_kafka
import kafka
import pytest
from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import AuthenticationFailedError, KafkaError
from sasl_brokers import (
    MECHANISMS,
    PASSWORD,
    USER,
    Secured,
    java_settings,
    librdkafka_settings,
    property_text,
)

from kafka_py.security.sasl.oauth_tokens import unsecured_login
from kafka_py.testing.client_access import provider_class
from kafka_py.testing.peers import java_clients
from kafka_py.testing.peers.apache import Jars
from kafka_py.testing.peers.java_clients import JavaFailed, ToSend
from kafka_py.testing.processes import ZookeeperServer
from kafka_py.testing.topics import create_topic

TIMEOUT_S = 30
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")


@pytest.fixture(scope="module")
def broker(
    kafka_zookeeper: ZookeeperServer, apache_kafka: Jars, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Secured]:
    """Its SCRAM user is made by Apache's kafka-configs.sh, one credential in each of its ways."""
    connect = f"{kafka_zookeeper.connect}/login-clients"
    with Secured(tmp_path_factory.mktemp("secured"), connect, **{"log.retention.ms": "-1"}) as one:
        places = ("--zookeeper", connect), ("--bootstrap-server", one.bootstrap)
        for place, mechanism in zip(places, SCRAM, strict=True):
            given = f"{mechanism}=[iterations=8192,password={PASSWORD}]"
            add = ["--alter", "--entity-type", "users", "--entity-name", USER, "--add-config", given]
            done = apache_kafka.run("kafka.admin.ConfigCommand", *place, *add)
            assert done.exit_code == 0, done
        create_topic([one.bootstrap], "t", 1)
        yield one


# ---- librdkafka


def librdkafka_produces(broker: Secured, mechanism: str, password: str = PASSWORD) -> list[str]:
    """The errors that the client tells."""
    errors: list[str] = []
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": broker.sasl,
            "error_cb": lambda error: errors.append(str(error)),
            "message.timeout.ms": 60_000 if password == PASSWORD else 1_000,
            **librdkafka_settings(mechanism, password),
        }
    )
    producer.produce("t", b"v", on_delivery=lambda error, _: errors.append(str(error)) if error else None)
    producer.flush(TIMEOUT_S)
    return errors


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_confluent_kafka(broker: Secured, mechanism: str) -> None:
    assert librdkafka_produces(broker, mechanism) == []
    told = " ".join(librdkafka_produces(broker, mechanism, "wrong"))
    assert "uthentication fail" in told or "invalid_token" in told, told


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kcat(broker: Secured, mechanism: str) -> None:
    program = shutil.which("kcat")
    if program is None:
        pytest.skip("no kcat")

    def listed(password: str) -> subprocess.CompletedProcess[str]:
        options = [f"-X{name}={value}" for name, value in librdkafka_settings(mechanism, password).items()]
        return subprocess.run(
            [program, "-b", broker.sasl, "-L", "-m", "5", *options], capture_output=True, text=True, timeout=TIMEOUT_S
        )

    right = listed(PASSWORD)
    assert right.returncode == 0, right.stderr
    assert '"t" with 1 partitions' in right.stdout
    assert listed("wrong").returncode != 0


# ---- kafka-python, aiokafka


def token() -> str:
    made = unsecured_login({"unsecuredLoginStringClaim_sub": USER}, time.time() * 1000)
    assert made is not None
    return made.value


class Tokens(AbstractTokenProvider):
    """Of aiokafka."""

    def __init__(self, made: str) -> None:
        self._made = made

    async def token(self) -> str:
        return self._made


def of_python(mechanism: str, password: str) -> dict[str, Any]:
    settings: dict[str, Any] = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": mechanism}
    return settings | {"sasl_plain_username": USER, "sasl_plain_password": password}


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python(broker: Secured, mechanism: str) -> None:
    def produces(password: str) -> int:
        settings = of_python(mechanism, password)
        if mechanism == "OAUTHBEARER":
            base, text = provider_class("kafka.net.sasl.oauth", "kafka.sasl.oauth"), token()
            given = type("Given", (base,), {"token": lambda _: text if password == PASSWORD else "a.b.c"})
            settings = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": mechanism,
                        "sasl_oauth_token_provider": given()}  # fmt: skip
        producer = kafka.KafkaProducer(bootstrap_servers=broker.sasl, bootstrap_timeout_ms=4_000, **settings)
        try:
            return int(producer.send("t", b"v").get(TIMEOUT_S).offset)
        finally:
            producer.close(1)

    assert produces(PASSWORD) >= 0
    with pytest.raises(Exception):  # noqa: B017  # which one depends on when it notices
        produces("wrong")


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_aiokafka(broker: Secured, mechanism: str) -> None:
    async def produces(password: str) -> int:
        settings = of_python(mechanism, password)
        if mechanism == "OAUTHBEARER":
            settings = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": mechanism}
            settings["sasl_oauth_token_provider"] = Tokens(token() if password == PASSWORD else "a.b.c")
        settings |= {"bootstrap_servers": broker.sasl, "request_timeout_ms": 5_000}
        async with aiokafka.AIOKafkaProducer(**settings) as producer:
            return int((await producer.send_and_wait("t", b"v")).offset)

    assert asyncio.run(produces(PASSWORD)) >= 0
    with pytest.raises((AuthenticationFailedError, KafkaError)):
        asyncio.run(produces("wrong"))


# ---- Java


JAVA = [(release, mechanism) for release in ("apache_kafka", "newest_clients") for mechanism in MECHANISMS]


def underscored(settings: dict[str, str]) -> dict[str, str]:
    return {name.replace(".", "_"): value for name, value in settings.items()}


@pytest.mark.slow
@pytest.mark.parametrize(("release", "mechanism"), JAVA)
def test_java(broker: Secured, request: pytest.FixtureRequest, release: str, mechanism: str) -> None:
    jars: Jars = request.getfixturevalue(release)
    topic = f"java-{jars.directory.name[:6]}-{mechanism}"
    create_topic([broker.bootstrap], topic, 1)
    right, wrong = (underscored(java_settings(mechanism, each)) for each in (PASSWORD, "wrong"))
    [sent] = java_clients.produce(jars, broker.sasl, [ToSend(topic, 0, None, b"v", (), 1_700_000_000_000)], **right)
    assert sent.offset == 0
    assert len(java_clients.consume(jars, broker.sasl, [f"{topic}:0"], **right)) == 1
    with pytest.raises(JavaFailed) as failed:
        java_clients.produce(jars, broker.sasl, [ToSend(topic, 0, None, b"v", (), 1_700_000_000_000)], **wrong)
    reason = {"PLAIN": "Invalid username or password", "OAUTHBEARER": ""}.get(mechanism, "due to invalid credentials")
    assert reason in str(failed.value)


@pytest.mark.slow
@pytest.mark.core
def test_apaches_tools_by_their_command_config(broker: Secured, apache_kafka: Jars, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(property_text(java_settings("SCRAM-SHA-512")))
    place = ["--bootstrap-server", broker.sasl, "--command-config", str(file)]
    done = apache_kafka.run("kafka.admin.TopicCommand", *place, "--list")
    assert done.exit_code == 0 and "t" in done.stdout.split(), done
    described = apache_kafka.run(
        "kafka.admin.ConfigCommand", *place, "--describe", "--entity-type", "users", "--entity-name", USER
    )
    assert "SCRAM-SHA-256=iterations=8192, SCRAM-SHA-512=iterations=8192" in described.stdout, described
