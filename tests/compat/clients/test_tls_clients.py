"""Other people's clients over TLS, with and without certificates of their own, and with wrong ones."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import aiokafka
import aiokafka.helpers
import confluent_kafka
import kafka
import kafka.errors
import pytest

pytest.importorskip("cryptography")

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.certificate_files import PASSWORD, CertificateFiles
from kafka_py.testing.peers import java_clients
from kafka_py.testing.peers.java_clients import JavaFailed, ToSend
from kafka_py.testing.processes import ROOT, ZookeeperServer, free_port

VALUES = [b"first", b"second" * 1000, b"third" * 100_000]
TIMEOUT_S = 30


class Secured(NamedTuple):
    """A broker with listeners of three kinds. servers: by the kind."""

    broker: BrokerProcess
    files: CertificateFiles
    strangers: CertificateFiles
    servers: dict[str, str]


class Store(NamedTuple):
    """What one client trusts, and has. authority, certificate, key: PEM files; the last two None without any."""

    authority: Path
    certificate: Path | None
    key: Path | None
    java: dict[str, str]


@pytest.fixture(scope="module")
def secured(zookeeper: ZookeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    files = CertificateFiles(tmp_path_factory.mktemp("certificates"))
    strangers = CertificateFiles(tmp_path_factory.mktemp("strangers"))
    plain, tls, mutual = free_port(), free_port(), free_port()
    names = {"PLAINTEXT": plain, "SSL": tls, "MUTUAL": mutual}
    settings = {
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in names.items()),
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL,MUTUAL:SSL",
        "listener.name.mutual.ssl.client.auth": "required",
        **files.broker(),
    }
    folder = tmp_path_factory.mktemp("broker")
    with BrokerProcess(folder, f"{zookeeper.connect}/tls-clients", port=plain, settings=settings) as broker:
        yield Secured(broker, files, strangers, {name: f"127.0.0.1:{port}" for name, port in names.items()})


def store(trusted: CertificateFiles, own: CertificateFiles | None, name: str = "client") -> Store:
    if own is None:
        return Store(trusted.authority_pem, None, None, {"security.protocol": "SSL", **trusted.trust()})
    certified = own.issue(name)
    certificate, key = own.separate(name, certified)
    java = {"security.protocol": "SSL", **trusted.trust(), **own.keystore(name, certified)}
    return Store(trusted.authority_pem, certificate, key, java)


# ---- clients: each writes VALUES to a topic, and reads all of it


def with_confluent(servers: str, topic: str, at: Store) -> list[bytes]:
    settings: dict[str, Any] = {
        "bootstrap.servers": servers, "security.protocol": "ssl", "ssl.ca.location": str(at.authority),
    }  # fmt: skip
    if at.certificate is not None:
        settings |= {"ssl.certificate.location": str(at.certificate), "ssl.key.location": str(at.key)}
    failures: list[Any] = []
    producer = confluent_kafka.Producer({**settings, "error_cb": failures.append, "message.timeout.ms": 5000})
    for value in VALUES:
        producer.produce(topic, value, partition=0)
    if producer.flush(TIMEOUT_S) or any("SSL" in str(each) for each in failures):
        raise ConnectionError(str(failures))
    consumer = confluent_kafka.Consumer({**settings, "group.id": "unused"})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    found: list[bytes] = []
    while len(found) < len(VALUES):
        message = consumer.poll(TIMEOUT_S)
        assert message is not None and message.error() is None
        found.append(message.value())
    consumer.close()
    return found


def with_kafka_python(servers: str, topic: str, at: Store) -> list[bytes]:
    settings: dict[str, Any] = {
        "bootstrap_servers": servers, "security_protocol": "SSL", "ssl_cafile": str(at.authority),
        "ssl_certfile": at.certificate and str(at.certificate), "ssl_keyfile": at.key and str(at.key),
    }  # fmt: skip
    producer = kafka.KafkaProducer(**settings, bootstrap_timeout_ms=5000, max_block_ms=5000)
    for value in VALUES:
        producer.send(topic, value, partition=0).get(TIMEOUT_S)
    producer.close()
    consumer = kafka.KafkaConsumer(**settings, auto_offset_reset="earliest", consumer_timeout_ms=TIMEOUT_S * 1000)
    consumer.assign([kafka.TopicPartition(topic, 0)])
    found = [next(consumer).value for _ in VALUES]
    consumer.close()
    return found


def with_aiokafka(servers: str, topic: str, at: Store) -> list[bytes]:
    context = aiokafka.helpers.create_ssl_context(
        cafile=str(at.authority), certfile=at.certificate and str(at.certificate), keyfile=at.key and str(at.key)
    )
    settings: dict[str, Any] = {"bootstrap_servers": servers, "security_protocol": "SSL", "ssl_context": context}

    async def run() -> list[bytes]:
        producer = aiokafka.AIOKafkaProducer(**settings)
        await producer.start()
        try:
            for value in VALUES:
                await producer.send_and_wait(topic, value, partition=0)
        finally:
            await producer.stop()
        consumer = aiokafka.AIOKafkaConsumer(**settings, auto_offset_reset="earliest")
        await consumer.start()
        try:
            consumer.assign([aiokafka.TopicPartition(topic, 0)])
            return [(await consumer.getone()).value for _ in VALUES]
        finally:
            await consumer.stop()

    return asyncio.run(asyncio.wait_for(run(), TIMEOUT_S))


def with_kcat(servers: str, topic: str, at: Store) -> list[bytes]:
    command = ["kcat", "-b", servers, "-X", "security.protocol=ssl", "-X", f"ssl.ca.location={at.authority}"]
    if at.certificate is not None:
        command += ["-X", f"ssl.certificate.location={at.certificate}", "-X", f"ssl.key.location={at.key}"]
    for more, given in ((["-P", "-t", topic, "-p", "0", "-X", "message.timeout.ms=5000"], b"\n".join(VALUES)),):
        done = subprocess.run(command + more, input=given, capture_output=True, timeout=TIMEOUT_S, check=False)
        if done.returncode or b"failed" in done.stderr:
            raise ConnectionError(done.stderr.decode())
    read = [*command, "-C", "-t", topic, "-p", "0", "-o", "beginning", "-e", "-q"]
    done = subprocess.run(read, capture_output=True, timeout=TIMEOUT_S, check=True)
    return done.stdout.rstrip(b"\n").split(b"\n")


def with_java(jars: Any) -> Callable[[str, str, Store], list[bytes]]:
    def run(servers: str, topic: str, at: Store) -> list[bytes]:
        settings = {name.replace(".", "_"): value for name, value in at.java.items()}
        records = [ToSend(topic, 0, None, value) for value in VALUES]
        java_clients.produce(jars, servers, records, acks="all", max_block_ms=20_000, **settings)
        return [one.value for one in java_clients.consume(jars, servers, [f"{topic}:0"], **settings)]

    return run


def with_our_tools(servers: str, topic: str, at: Store) -> list[bytes]:
    path = at.authority.parent / f"{topic}.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in at.java.items()))

    def tool(name: str, *words: str, given: bytes = b"") -> bytes:
        done = subprocess.run(
            [ROOT / "bin" / name, "--bootstrap-server", servers, *words],
            input=given, capture_output=True, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
        if done.returncode or b"failed" in done.stderr:
            raise ConnectionError((done.stdout + done.stderr).decode())
        return done.stdout

    tool("kafka-topics.sh", "--command-config", str(path), "--describe", "--topic", topic)
    tool("kafka-console-producer.sh", "--producer.config", str(path), "--topic", topic, given=b"\n".join(VALUES))
    read = tool(
        "kafka-console-consumer.sh", "--consumer.config", str(path), "--topic", topic, "--from-beginning",
        "--max-messages", str(len(VALUES)),
    )  # fmt: skip
    return read.rstrip(b"\n").split(b"\n")


EVERY_DAY = ("confluent", "java-newest")
NAMES = [
    name if name in EVERY_DAY else pytest.param(name, marks=pytest.mark.slow)
    for name in ("confluent", "kafka-python", "aiokafka", "kcat", "java-2.8.2", "java-newest", "ours")
]


@pytest.fixture(params=NAMES)
def client(request: pytest.FixtureRequest) -> Callable[[str, str, Store], list[bytes]]:
    name = request.param
    if name == "kcat" and shutil.which("kcat") is None:
        pytest.skip("kcat is not installed")
    if name.startswith("java"):
        return with_java(request.getfixturevalue("apache_kafka" if name == "java-2.8.2" else "newest_clients"))
    return {
        "confluent": with_confluent, "kafka-python": with_kafka_python, "aiokafka": with_aiokafka, "kcat": with_kcat,
        "ours": with_our_tools,
    }[name]  # fmt: skip


@pytest.fixture
def topic(secured: Secured, request: pytest.FixtureRequest) -> str:
    name = "".join(each if each.isalnum() else "-" for each in request.node.name)
    secured.broker.create_topic(name)
    return name


def test_clients_without_certificates(secured: Secured, client: Any, topic: str) -> None:
    assert client(secured.servers["SSL"], topic, store(secured.files, None)) == VALUES


def test_clients_with_certificates(secured: Secured, client: Any, topic: str) -> None:
    assert client(secured.servers["MUTUAL"], topic, store(secured.files, secured.files)) == VALUES


FAILURES = (
    ConnectionError, JavaFailed, subprocess.SubprocessError, confluent_kafka.KafkaException, kafka.errors.KafkaError,
    aiokafka.errors.KafkaError, TimeoutError,
)  # fmt: skip


@pytest.mark.parametrize("fault", ["untrusted broker", "no certificate", "certificate of a stranger"])
@pytest.mark.slow
def test_clients_that_do_not_fit_write_nothing(secured: Secured, client: Any, topic: str, fault: str) -> None:
    wrong = {
        "untrusted broker": store(secured.strangers, secured.files),
        "no certificate": store(secured.files, None),
        "certificate of a stranger": store(secured.files, secured.strangers),
    }[fault]
    with pytest.raises(FAILURES):
        client(secured.servers["MUTUAL"], topic, wrong)
    assert PASSWORD not in secured.broker.log.read_text()
    reader = confluent_kafka.Consumer({"bootstrap.servers": secured.servers["PLAINTEXT"], "group.id": "unused"})
    assert reader.get_watermark_offsets(confluent_kafka.TopicPartition(topic, 0), timeout=TIMEOUT_S)[1] == 0
    reader.close()
