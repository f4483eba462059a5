"""Commands that write in transactions, and those that show them, of both makes on a broker of Apache Kafka 2.8.2."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.consumer import Consumer
from kafka_py.clients.producer.producer import Producer
from kafka_py.testing.peers.apache import ApacheBroker, Jars
from kafka_py.testing.processes import ROOT, ZookeeperServer

COPIER = "org.apache.kafka.tools.TransactionalMessageCopier"
PERF = "org.apache.kafka.tools.ProducerPerformance"
STATE_FORMATTER = "kafka.coordinator.transaction.TransactionLog$TransactionLogMessageFormatter"
COUNT = 50
TIMEOUT_S = 90

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def apache(
    apache_kafka: Jars, zookeeper: ZookeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ApacheBroker]:
    settings = {
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "1",
    }
    folder, connect = tmp_path_factory.mktemp("apache"), f"{zookeeper.connect}/transactional-tools"
    with ApacheBroker(folder, connect, settings=settings) as broker:
        yield broker


def ours(class_name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "bin" / "kafka-run-class.sh", class_name, *arguments],
        capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
    )  # fmt: skip


def committed_values(bootstrap: str, topic: str) -> list[bytes]:
    """What a read-committed consumer gets of partition 0."""
    settings = {"bootstrap.servers": bootstrap, "isolation.level": "read_committed", "auto.offset.reset": "earliest"}
    partition = TopicPartition(topic, 0)
    found: list[bytes] = []
    with Consumer(settings) as consumer:
        consumer.assign([partition])
        end = consumer.end_offsets([partition])[partition]
        while consumer.position(partition) < end:
            found += [record.value for record in consumer.poll(0.5)]
    return found


@pytest.fixture(scope="module")
def numbers(apache: ApacheBroker) -> list[bytes]:
    """In the topic `numbers`."""
    values = [b"%d" % number for number in range(COUNT)]
    apache.create_topic("numbers", 1)
    with Producer({"bootstrap.servers": apache.bootstrap}) as producer:
        for value in values:
            producer.send("numbers", value, key=b"k", partition=0)
    return values


def copier_arguments(apache: ApacheBroker, output: str, *more: str) -> list[str]:
    return ["--input-topic", "numbers", "--input-partition", "0", "--output-topic", output, "--broker-list",
            apache.bootstrap, "--transactional-id", f"copier-{output}", "--consumer-group", f"group-{output}",
            "--transaction-size", "7", *more]  # fmt: skip


def shapes(output: str) -> list[list[object]]:
    """Of each JSON line its fields in their order, with stage and counts."""
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    for line in lines:
        assert re.fullmatch(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d:\d{3}", line["time"])
    progress = [line for line in lines if line.get("consumed") or "shutdown_complete" in line]
    return [[*line, line.get("stage"), line["totalProcessed"], line["remaining"]] for line in progress]


def test_both_copiers_copy_the_same_and_say_the_same(
    apache_kafka: Jars, apache: ApacheBroker, numbers: list[bytes]
) -> None:
    said = []
    for output, run in (("theirs", apache_kafka.run), ("ours", ours)):
        apache.create_topic(output, 1)
        result = run(COPIER, *copier_arguments(apache, output))
        assert committed_values(apache.bootstrap, output) == numbers, result
        said.append(shapes(result.stdout))
    assert said[0] == said[1]


@pytest.mark.parametrize("mode", [[], ["--group-mode", "--use-group-metadata"]], ids=["assigned", "in a group"])
def test_what_is_aborted_is_copied_again(apache: ApacheBroker, numbers: list[bytes], mode: list[str]) -> None:
    output = f"aborts-{len(mode)}"
    apache.create_topic(output, 1)
    result = ours(COPIER, *copier_arguments(apache, output, "--enable-random-aborts", *mode))
    assert result.returncode == 0, result.stderr
    assert committed_values(apache.bootstrap, output) == numbers
    with Consumer({"bootstrap.servers": apache.bootstrap, "group.id": f"group-{output}"}) as consumer:
        partition = TopicPartition("numbers", 0)
        committed = consumer.committed([partition])[partition]
    assert committed is not None
    assert committed.offset == COUNT


def test_the_producer_is_measured_in_transactions(apache: ApacheBroker) -> None:
    apache.create_topic("measured", 1)
    result = ours(
        PERF, "--topic", "measured", "--num-records", "300", "--record-size", "10", "--throughput", "1000",
        "--producer-props", f"bootstrap.servers={apache.bootstrap}", "--transactional-id", "measuring",
        "--transaction-duration-ms", "50",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("300 records sent")
    assert len(committed_values(apache.bootstrap, "measured")) == 300


def test_the_state_of_transactions_is_shown_alike(
    apache_kafka: Jars, apache: ApacheBroker, numbers: list[bytes], tmp_path: Path
) -> None:
    with Producer({"bootstrap.servers": apache.bootstrap, "transactional.id": "shown"}) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        for _ in range(2):
            producer.send("numbers-of-states", b"v", partition=0)
        producer.commit_transaction()
    config = tmp_path / "consumer.properties"
    config.write_text("exclude.internal.topics=false\n")
    arguments = ["--bootstrap-server", apache.bootstrap, "--topic", "__transaction_state", "--from-beginning",
                 "--formatter", STATE_FORMATTER, "--consumer.config", str(config), "--timeout-ms", "5000"]  # fmt: skip
    theirs = apache_kafka.run("kafka.tools.ConsoleConsumer", *arguments).stdout.splitlines()
    shown = ours("kafka.tools.ConsoleConsumer", *arguments).stdout.splitlines()
    assert shown == theirs
    assert any(line.startswith("shown::TransactionMetadata(transactionalId=shown") for line in shown)
    segment = str(apache.log_dirs[0] / "__transaction_state-0" / f"{0:020}.log")
    dump = ["--files", segment, "--transaction-log-decoder"]
    theirs = apache_kafka.run("kafka.tools.DumpLogSegments", *dump).stdout.splitlines()
    assert ours("kafka.tools.DumpLogSegments", *dump).stdout.splitlines() == theirs
    assert any("transaction_metadata::transactionalId=shown payload: producerId:" in line for line in theirs)
