"""Every client over SASL_SSL, by each mechanism that it knows: right credentials are accepted, wrong ones refused."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator

import aiokafka
import confluent_kafka
import kafka
import pytest

from kafka_py.clients import Consumer, Producer, TopicPartition
from kafka_py.testing.client_access import ClientAccess
from kafka_py.testing.cluster import MECHANISMS, KafkaCluster
from kafka_py.testing.peers import java_clients
from kafka_py.testing.peers.apache import Jars
from kafka_py.testing.peers.java_clients import ToSend

VALUES = [b"one", b"two"]
TIMEOUT_S = 60
TELLS_WHY = ("ours", "confluent")
"""The others report a time-out at times, for they try again."""

RoundTrip = Callable[[ClientAccess, str], list[bytes]]
"""Writes VALUES to a topic and returns what is in it. Raises what the client raises."""


@pytest.fixture(scope="module")
def secured(kafka_cluster_factory: Callable[..., KafkaCluster]) -> Iterator[KafkaCluster]:
    with kafka_cluster_factory(security="SASL_SSL") as cluster:
        yield cluster


def patience_ms(access: ClientAccess) -> int:
    """How long a client keeps trying: some do not end at a login that is refused."""
    return 30_000 if access.password is None else 3_000


def with_ours(access: ClientAccess, topic: str) -> list[bytes]:
    with Producer(access.settings) as producer:
        for value in VALUES:
            producer.send(topic, value=value).result(TIMEOUT_S)
    with Consumer(access.settings) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek_to_beginning([TopicPartition(topic, 0)])
        found: list[bytes] = []
        while len(found) < len(VALUES):
            found += [record.value or b"" for record in consumer.poll(timeout=TIMEOUT_S)]
        return found


def with_confluent(access: ClientAccess, topic: str) -> list[bytes]:
    failures: list[object] = []
    settings = {**access.librdkafka, "error_cb": failures.append, "message.timeout.ms": patience_ms(access)}
    producer = confluent_kafka.Producer(settings)
    for value in VALUES:
        producer.produce(topic, value, on_delivery=lambda error, _: failures.append(error) if error else None)
    if producer.flush(TIMEOUT_S) or failures:
        raise ConnectionError(str(failures))
    consumer = confluent_kafka.Consumer({**access.librdkafka, "group.id": "unused"})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    found = [consumer.poll(TIMEOUT_S) for _ in VALUES]
    consumer.close()
    return [each.value() for each in found]


def with_kcat(access: ClientAccess, topic: str) -> list[bytes]:
    program = shutil.which("kcat")
    if program is None:
        pytest.skip("no kcat")
    given = {**access.librdkafka, "message.timeout.ms": patience_ms(access)}
    settings = [word for name, value in given.items() for word in ("-X", f"{name}={value}")]

    def run(*words: str, text: bytes = b"") -> bytes:
        done = subprocess.run(
            [program, *settings, "-t", topic, "-p", "0", *words], input=text, capture_output=True, timeout=TIMEOUT_S,
            check=False,
        )  # fmt: skip
        if done.returncode or b"failed" in done.stderr:
            raise ConnectionError(done.stderr.decode())
        return done.stdout

    run("-P", text=b"\n".join(VALUES))
    return run("-C", "-o", "beginning", "-e", "-q").rstrip(b"\n").split(b"\n")


def with_kafka_python(access: ClientAccess, topic: str) -> list[bytes]:
    patience = {name: patience_ms(access) for name in ("bootstrap_timeout_ms", "max_block_ms")}
    producer = kafka.KafkaProducer(**access.kafka_python, **patience)
    try:
        for value in VALUES:
            producer.send(topic, value).get(TIMEOUT_S)
    finally:
        producer.close(1)
    consumer = kafka.KafkaConsumer(**access.kafka_python, auto_offset_reset="earliest", consumer_timeout_ms=60_000)
    consumer.assign([kafka.TopicPartition(topic, 0)])
    found = [next(consumer).value for _ in VALUES]
    consumer.close()
    return found


def with_aiokafka(access: ClientAccess, topic: str) -> list[bytes]:
    async def run() -> list[bytes]:
        settings = {**access.aiokafka, "request_timeout_ms": patience_ms(access)}
        async with aiokafka.AIOKafkaProducer(**settings) as producer:
            for value in VALUES:
                await producer.send_and_wait(topic, value)
        async with aiokafka.AIOKafkaConsumer(topic, **settings, auto_offset_reset="earliest") as consumer:
            return [(await consumer.getone()).value for _ in VALUES]

    return asyncio.run(asyncio.wait_for(run(), TIMEOUT_S))


def with_java(jars: Jars) -> RoundTrip:
    def run(access: ClientAccess, topic: str) -> list[bytes]:
        settings = {name.replace(".", "_"): value for name, value in access.settings.items()}
        servers = settings.pop("bootstrap_servers")
        records = [ToSend(topic, 0, None, value) for value in VALUES]
        java_clients.produce(jars, servers, records, acks="all", max_block_ms=patience_ms(access), **settings)
        return [one.value for one in java_clients.consume(jars, servers, [f"{topic}:0"], **settings)]

    return run


OF_PYTHON: dict[str, RoundTrip] = {
    "ours": with_ours, "confluent": with_confluent, "kcat": with_kcat, "kafka-python": with_kafka_python,
    "aiokafka": with_aiokafka,
}  # fmt: skip
JAVA = {"java-2.8.2": "apache_kafka", "java-newest": "newest_clients"}
EVERY_DAY = {("ours", "SCRAM-SHA-256"), ("confluent", "SCRAM-SHA-512"), ("kafka-python", "PLAIN"),
             ("aiokafka", "OAUTHBEARER")}  # fmt: skip
CASES = [
    pytest.param(client, mechanism, marks=() if (client, mechanism) in EVERY_DAY else pytest.mark.slow)
    for client in (*OF_PYTHON, *JAVA)
    for mechanism in MECHANISMS
]


@pytest.mark.parametrize(("client", "mechanism"), CASES)
def test_right_and_wrong_credentials(
    secured: KafkaCluster, request: pytest.FixtureRequest, client: str, mechanism: str
) -> None:
    if client in JAVA:
        round_trip = with_java(request.getfixturevalue(JAVA[client]))
    else:
        round_trip = OF_PYTHON[client]
    topic = secured.create_topic(configs={"retention.ms": -1})
    assert round_trip(secured.access("alice", mechanism=mechanism), topic) == VALUES
    with pytest.raises(Exception) as failed:
        round_trip(secured.access("alice", mechanism=mechanism, password="wrong"), topic)
    assert not isinstance(failed.value, AssertionError), failed.value
    if client in TELLS_WHY:
        assert re.search("uthentication fail|invalid_token", str(failed.value)), failed.value
