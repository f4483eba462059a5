"""KafkaContainer, as the tests of other projects use it."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_py.clients import Consumer, Producer, TopicPartition
from kafka_py.testing.containers.kafka_container import KafkaContainer
from kafka_py.testing.processes import NotReady

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_a_broker_in_a_container_takes_messages_and_leaves_nothing(engine: Any, images: dict[str, str]) -> None:
    with KafkaContainer(settings={"num.partitions": 3, "message.max.bytes": 5000}) as kafka:
        print(f"started in {kafka.started_in_s:.2f} s")
        topic = kafka.create_topic(retention_ms="60000")
        with Producer({"bootstrap.servers": kafka.bootstrap_servers}) as producer:
            sent = producer.send(topic, b"hello").result(30)
        with Consumer({"bootstrap.servers": kafka.bootstrap_servers, "auto.offset.reset": "earliest"}) as consumer:
            consumer.assign([TopicPartition(topic, sent.partition)])
            [record] = list(consumer.poll(timeout=30.0))
        assert record.value == b"hello"
        inside = ["kafka-topics.sh", "--bootstrap-server", kafka.inside_servers, "--list"]
        assert kafka.broker.exec_run(inside).output.decode() == f"{topic}\n"
        assert "message.max.bytes" not in kafka.logs() or "Unknown" not in kafka.logs()
        names = {kafka.broker.name, kafka.zookeeper.name}
    assert not names & {container.name for container in engine.containers.list(all=True)}
    assert engine.networks.list(names=[kafka.network]) == []


def test_a_broker_needs_no_rights_and_writes_to_its_volume_only(engine: Any, images: dict[str, str]) -> None:
    """As docker/kubernetes/kafka.yaml has it."""
    options = {"read_only": True, "tmpfs": {"/tmp": ""}, "cap_drop": ["ALL"], "security_opt": ["no-new-privileges"]}
    with KafkaContainer(options=options) as kafka:
        kafka.create_topic()
        assert kafka.broker.exec_run(["python3", "-m", "kafka_py.cli.container.health", "in-sync"]).exit_code == 0


def test_what_cannot_start_is_one_line(engine: Any, images: dict[str, str]) -> None:
    with pytest.raises(NotReady, match=r"no-such-image.*docker/build\.sh makes the images"):
        KafkaContainer("kafka_py/no-such-image:1").start()
    with pytest.raises(NotReady, match="the broker's container ended"):
        KafkaContainer(settings={"num.partitions": "many"}).start()
    assert [network for network in engine.networks.list() if network.name.startswith("kafka_py-")] == []
