"""Other people's transactional producers against a broker without transactions: they fail soon, and say why."""

import asyncio
import time

import aiokafka
import aiokafka.errors
import confluent_kafka
import kafka
import kafka.errors
import pytest

from kafka_py.testing.peers import apache, java_clients

SOON_S = 20
"""Well below every library's time limit for init_transactions, which a retried error would use up."""


def refused_soon(begun_s: float) -> bool:
    return time.monotonic() - begun_s < SOON_S


def test_librdkafka_fails_at_once(bootstrap: str) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "transactional.id": "a"})
    begun_s = time.monotonic()
    with pytest.raises(confluent_kafka.KafkaException) as failed:
        producer.init_transactions(60)
    assert refused_soon(begun_s)
    error = failed.value.args[0]
    assert error.fatal() or not error.retriable()
    assert "Transactional" in str(error)


def test_kafka_python_fails_at_once(bootstrap: str) -> None:
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, transactional_id="b")
    begun_s = time.monotonic()
    with pytest.raises(kafka.errors.KafkaError, match=r"(?i)transactional"):
        producer.init_transactions()
    assert refused_soon(begun_s)
    producer.close(timeout=1)


def test_aiokafka_fails_at_once(bootstrap: str) -> None:
    async def run() -> None:
        producer = aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id="c")
        begun_s = time.monotonic()
        try:
            with pytest.raises(aiokafka.errors.KafkaError, match=r"(?i)transactional"):
                await producer.start()
            assert refused_soon(begun_s)
        finally:
            await producer.stop()

    asyncio.run(asyncio.wait_for(run(), 2 * SOON_S))


def test_the_java_producer_fails_at_once(bootstrap: str, apache_kafka: apache.Jars) -> None:
    begun_s = time.monotonic()
    with pytest.raises(java_clients.JavaFailed, match="TransactionalIdAuthorization"):
        java_clients.produce(apache_kafka, bootstrap, ["begin", "commit"], transactional_id="d", max_block_ms=60_000)
    assert refused_soon(begun_s)
