"""kafka-py exporter with brokers of Apache Kafka 2.8.2: the same samples as with ours, one for each thing there is."""

import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kafka_py.clients import AdminClient, NewTopic, OffsetAndMetadata, Producer, TopicPartition
from kafka_py.testing.peers import apache, promtool
from kafka_py.testing.peers.apache import ApacheBroker
from kafka_py.testing.processes import Process, ZookeeperServer, free_ports, python_environment, wait_until

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-P", "-m", "kafka_py.cli.umbrella.main", "exporter", "--interval", "1", "--port", "0"]


@pytest.fixture(scope="module")
def brokers(
    apache_kafka: apache.Jars, tmp_path_factory: pytest.TempPathFactory, zookeeper: ZookeeperServer
) -> Iterator[list[ApacheBroker]]:
    """Two brokers with a topic of both, and a group that lags."""
    folder = tmp_path_factory.mktemp("apache")
    made = [
        ApacheBroker(folder / f"broker-{number}", f"{zookeeper.connect}/exporter-apache", port=port, broker_id=number)
        for number, port in enumerate(free_ports(2))
    ]
    with ExitStack() as stack:
        for each in made:
            stack.enter_context(each)
        configs = {"bootstrap.servers": made[0].bootstrap}
        with AdminClient(configs) as admin, Producer(configs) as producer:
            wait_until(lambda: len(admin.describe_cluster().nodes) == 2 or None, 60, "both brokers")
            admin.create_topics([NewTopic("t", 3, 2)]).all()
            for number in range(30):
                producer.send("t", b"%d" % number, partition=number % 3)
            producer.flush()
            admin.alter_consumer_group_offsets("g", {TopicPartition("t", 0): OffsetAndMetadata(4)}).all()
        yield made


def test_all_that_there_is_has_its_samples_and_a_broker_that_ends_shows(
    brokers: list[ApacheBroker], tmp_path: Path
) -> None:
    command = [*COMMAND, "--bootstrap-server", brokers[0].bootstrap]
    with Process(command, tmp_path / "exporter.log", environment=python_environment()) as exporter:
        url = exporter.wait_for(lambda: next((word for word in exporter.output().split() if "http" in word), None))

        def text(*lines: str) -> str:
            """The text, as soon as it has these lines."""

            def look() -> str | None:
                with urllib.request.urlopen(url, timeout=20) as answer:
                    found = str(answer.read().decode())
                return found if set(lines) <= set(found.splitlines()) else None

            return wait_until(look, 90, str(lines))

        labels = 'topic="t",partition="0"'
        found = text(
            "kafka_brokers 2",
            'kafka_topic_partitions{topic="t"} 3',
            f"kafka_topic_partition_current_offset{{{labels}}} 10",
            f"kafka_topic_partition_in_sync_replica{{{labels}}} 2",
            f"kafka_topic_partition_under_replicated_partition{{{labels}}} 0",
            f'kafka_consumergroup_lag{{consumergroup="g",{labels}}} 6',
            'kafka_consumergroup_lag_sum{consumergroup="g",topic="t"} 6',
            'kafka_consumergroup_members{consumergroup="g"} 0',
        )
        if promtool.program() is not None:
            assert promtool.complaints(found) == []
        brokers[1].kill()
        text(
            "kafka_brokers 1",
            f"kafka_topic_partition_leader{{{labels}}} 0",
            f"kafka_topic_partition_in_sync_replica{{{labels}}} 1",
            f"kafka_topic_partition_under_replicated_partition{{{labels}}} 1",
        )
