"""kafka-transactions.sh of Apache Kafka 3.9.1 and of ours on our broker: the same tables, and hanging transactions end.

And ours on a broker of 2.8.2, as far as that has the APIs.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import confluent_kafka
import pytest

from kafka_py.records.builder import BatchBuilder
from kafka_py.testing.broker import AnyBroker
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.peers import apache
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.testing.processes import ROOT
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

TOOL = "org.apache.kafka.tools.TransactionsCommand"
TIMEOUT_S = 90.0
HOUR_MS = 3_600_000
Run = Callable[..., apache.Result]


@pytest.fixture(scope="module")
def cluster(kafka_cluster_factory: Callable[..., KafkaCluster]) -> Iterator[KafkaCluster]:
    with kafka_cluster_factory(settings={"transaction.state.log.num.partitions": 3}) as made:
        yield made


@pytest.fixture(scope="module")
def theirs() -> Run:
    """Apache's command."""
    try:
        jars = apache.later_tools()
    except apache.Unavailable as why:
        pytest.skip(str(why))
    return lambda *arguments: jars.run(TOOL, *arguments, timeout_s=TIMEOUT_S)


def ours(*arguments: str) -> apache.Result:
    done = subprocess.run([ROOT / "bin" / "kafka-transactions.sh", *arguments],
                          capture_output=True, text=True, check=False, timeout=TIMEOUT_S)  # fmt: skip
    return apache.Result(done.returncode, done.stdout, done.stderr)


def rows(result: apache.Result) -> list[list[str]]:
    """The values of a table, without the line of names."""
    assert result.exit_code == 0, result.stderr
    return [line.split("\t")[:-1] for line in result.lines[1:]]


def hang(broker: AnyBroker, topic: str, producer_id: int) -> None:
    """A transactional record of an hour ago whose partition no coordinator knows."""
    made = BatchBuilder(producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True)
    made.append(time.time_ns() // 1_000_000 - HOUR_MS, None, b"never ended")
    data = PartitionProduceData(index=0, records=memoryview(made.build()))
    request = ProduceRequest(transactional_id="lost", acks=-1, timeout_ms=10_000,
                             topic_data=[TopicProduceData(name=topic, partition_data=[data])])  # fmt: skip
    with WireClient(broker.bootstrap) as client:
        answer = client.ask(request, 8)
    assert answer.responses[0].partition_responses[0].error_code == 0


def committed(bootstrap: str, topic: str) -> list[bytes]:
    """What a reader with isolation.level=read_committed sees of partition 0."""
    consumer = confluent_kafka.Consumer({
        "bootstrap.servers": bootstrap, "group.id": "unused", "isolation.level": "read_committed",
        "enable.auto.commit": False, "enable.partition.eof": True,
    })  # fmt: skip
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    values: list[bytes] = []
    try:
        while True:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None
            if message.error():
                assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF, message.error()
                return values
            values.append(message.value())
    finally:
        consumer.close()


def begin(bootstrap: str, topic: str, transactional_id: str) -> confluent_kafka.Producer:
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "transactional.id": transactional_id})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(topic, b"in a transaction", partition=0)
    producer.flush(TIMEOUT_S)
    return producer


def test_both_commands_show_the_same(cluster: KafkaCluster, theirs: Run) -> None:
    topic = cluster.create_topic()
    server = ("--bootstrap-server", cluster.bootstrap_servers)
    partition = ("--topic", topic, "--partition", "0")
    producer = begin(cluster.bootstrap_servers, topic, "shown")
    listed = theirs(*server, "list")
    [[name, coordinator, producer_id, state]] = [[cell.strip() for cell in row] for row in rows(listed)]
    assert (name, coordinator, state) == ("shown", "0", "Ongoing")
    assert ours(*server, "list").stdout == listed.stdout
    described, mine = theirs(*server, "describe", "--transactional-id", "shown"), ours(
        *server, "describe", "--transactional-id", "shown"
    )
    [values], [my_values] = rows(described), rows(mine)
    assert described.lines[0].split() == mine.lines[0].split()
    assert values[:7] + values[8:] == my_values[:7] + my_values[8:]  # between them is how long it has lasted
    assert [values[index].strip() for index in (0, 1, 2, 4, 8)] == ["0", "shown", producer_id, "Ongoing", f"{topic}-0"]
    producers = theirs(*server, "describe-producers", *partition)
    [[known_id, *_, start]] = rows(producers)
    assert (known_id.strip(), start.strip()) == (producer_id, "0")
    for arguments in ((), ("--broker-id", "0")):
        assert ours(*server, "describe-producers", *partition, *arguments).stdout == producers.stdout
    for arguments in (("--duration-filter", "3600000"), ()):
        assert len(rows(theirs(*server, "list", *arguments))) == len(rows(ours(*server, "list", *arguments)))
    producer.commit_transaction(TIMEOUT_S)


@pytest.mark.parametrize("finder", ["theirs", "ours"])
def test_a_hanging_transaction_is_found_and_aborted(cluster: KafkaCluster, theirs: Run, finder: str) -> None:
    run, other = (theirs, ours) if finder == "theirs" else (ours, theirs)
    topic = cluster.create_topic()
    server = ("--bootstrap-server", cluster.bootstrap_servers)
    open_one = begin(cluster.bootstrap_servers, topic, f"not hanging {finder}")
    hang(cluster.brokers[0], topic, 900_000)
    assert committed(cluster.bootstrap_servers, topic) == []
    found = run(*server, "find-hanging", "--broker-id", "0")
    [[where, number, producer_id, epoch, coordinator_epoch, start, _, minutes]] = rows(found)
    assert [where.strip(), number.strip(), producer_id.strip(), start.strip()] == [topic, "0", "900000", "1"]
    assert (epoch.strip(), coordinator_epoch.strip(), minutes.strip()) == ("0", "-1", "60")
    assert other(*server, "find-hanging", "--topic", topic).stdout == found.stdout
    wrong = run(*server, "abort", "--topic", topic, "--partition", "0", "--start-offset", "7")
    assert (wrong.exit_code, wrong.stdout) == (1, "")
    assert "offset 7" in wrong.stderr
    aborted = run(*server, "abort", "--topic", topic, "--partition", "0", "--start-offset", "1")
    assert (aborted.exit_code, aborted.stdout, aborted.stderr) == (0, "", "")
    assert rows(run(*server, "find-hanging", "--topic", topic)) == []
    open_one.commit_transaction(TIMEOUT_S)
    assert committed(cluster.bootstrap_servers, topic) == [b"in a transaction"]


def test_an_unknown_id_is_an_error_of_both(cluster: KafkaCluster, theirs: Run) -> None:
    for run in (theirs, ours):
        result = run("--bootstrap-server", cluster.bootstrap_servers, "describe", "--transactional-id", "nobody")
        assert (result.exit_code, result.stdout) == (1, "")
        assert "nobody" in result.stderr


@pytest.mark.slow
def test_a_broker_of_2_8_2_says_what_it_can(apache_kafka: apache.Jars, zk_chroot: str, tmp_path: Path) -> None:
    with apache.ApacheBroker(tmp_path / "broker", zk_chroot) as broker:
        broker.create_topic("t")
        hang(broker, "t", 900_000)
        server = ("--bootstrap-server", broker.bootstrap)
        [[producer_id, *_, start]] = rows(ours(*server, "describe-producers", "--topic", "t", "--partition", "0"))
        assert (producer_id.strip(), start.strip()) == ("900000", "0")
        refused = ours(*server, "list")
        assert refused.exit_code == 1
        assert "UNSUPPORTED_VERSION" in refused.stderr
        aborted = ours(*server, "abort", "--topic", "t", "--partition", "0", "--start-offset", "0")
        assert (aborted.exit_code, aborted.stderr) == (0, "")
        assert committed(broker.bootstrap, "t") == []
        [[*_, start]] = rows(ours(*server, "describe-producers", "--topic", "t", "--partition", "0"))
        assert start.strip() == "None"
