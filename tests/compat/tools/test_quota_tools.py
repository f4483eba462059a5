"""Quotas beside Apache Kafka 2.8.2: either kafka-configs.sh on either broker, and the throttle times of equal loads."""

from pathlib import Path
from typing import Any

import pytest

from kafka_py.cli import configs
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.local_broker import batch
from kafka_py.testing.peers.apache import ApacheBroker, Jars
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.wire.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from kafka_py.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafka_py.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

SETTINGS = {"num.partitions": "1", "offsets.topic.replication.factor": "1"}
CHANGES = (
    "--alter --user al+ice --client c/1 --add-config producer_byte_rate=1024,consumer_byte_rate=2048",
    "--alter --entity-type clients --entity-default --add-config request_percentage=12345678.5",
    "--alter --user-defaults --add-config controller_mutation_rate=0.5",
    "--alter --ip 10.0.0.1 --add-config connection_creation_rate=7",
)
REFUSED = (
    "--alter --client c --add-config producer_byte_rate=many",
    "--alter --client c --delete-config producer_byte_rate",
    "--alter --ip 10.0.0.1 --add-config producer_byte_rate=1",
)
DESCRIPTIONS = (
    "--describe --entity-type users --entity-type clients",
    "--describe --client-defaults",
    "--describe --entity-type users",
    "--describe --entity-type ips",
)
LIMIT = 5_000
RECORDS = batch(b"x" * 60_000)


class Side:
    """One broker, and one kafka-configs.sh that changes its quotas."""

    def __init__(self, broker: Any, capsys: pytest.CaptureFixture[str], jars: Jars | None) -> None:
        self.broker = broker
        self._capsys = capsys
        self._jars = jars

    def run(self, line: str, *, by_apache: bool) -> tuple[int, list[str]]:
        """Exit code, and the lines of the output in order."""
        arguments = ["--bootstrap-server", self.broker.bootstrap, *line.split()]
        if by_apache:
            assert self._jars is not None
            done = self._jars.run("kafka.admin.ConfigCommand", *arguments)
            return done.exit_code, sorted(done.stdout.splitlines())
        self._capsys.readouterr()
        code = configs.main(arguments)
        return code, sorted(self._capsys.readouterr().out.splitlines())


def test_either_command_on_either_broker_gives_equal_descriptions(
    apache_kafka: Jars, zk_chroot: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        ApacheBroker(tmp_path / "apache", f"{zk_chroot}/apache", settings=SETTINGS) as apache,
        BrokerProcess(tmp_path / "ours", f"{zk_chroot}/ours", settings=SETTINGS) as ours,
    ):
        theirs, mine = Side(apache, capsys, apache_kafka), Side(ours, capsys, apache_kafka)
        for line in CHANGES:
            told = mine.run(line, by_apache=True)
            assert told[0] == 0, told
            assert theirs.run(line, by_apache=False) == told, line
        for line in REFUSED:
            assert theirs.run(line, by_apache=False)[0] == mine.run(line, by_apache=False)[0] == 1, line
        described = {line: theirs.run(line, by_apache=True) for line in DESCRIPTIONS}
        assert described[DESCRIPTIONS[0]] == (
            0,
            ["Quota configs for user-principal 'al+ice', client-id 'c/1' are "
             "consumer_byte_rate=2048.0, producer_byte_rate=1024.0"],
        )  # fmt: skip
        for line, expected in described.items():
            assert mine.run(line, by_apache=False) == expected, line
            assert theirs.run(line, by_apache=False) == expected, line
            assert mine.run(line, by_apache=True) == expected, line


def limit(client: WireClient, client_id: str, **limits: float) -> None:
    entry = EntryData(
        entity=[EntityData(entity_type="client-id", entity_name=client_id)],
        ops=[OpData(key=key, value=value, remove=False) for key, value in limits.items()],
    )
    [answer] = client.ask(AlterClientQuotasRequest(entries=[entry], validate_only=False), 1).entries
    assert answer.error_code == 0


def produce() -> ProduceRequest:
    data = [TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=RECORDS)])]
    return ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=data)


def fetch() -> FetchRequest:
    wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1_000_000)
    topics = [FetchTopic(topic="t", partitions=[wanted])]
    return FetchRequest(
        replica_id=-1, max_wait_ms=0, min_bytes=1, max_bytes=1_000_000, topics=topics, forgotten_topics_data=[]
    )


def create(name: str) -> CreateTopicsRequest:
    topic = CreatableTopic(name=name, num_partitions=20, replication_factor=1, assignments=[], configs=[])
    return CreateTopicsRequest(topics=[topic], timeout_ms=30_000)


def throttle_times(broker: Any) -> dict[str, int]:
    """Of the same load; each request has a connection of its own, as the others are muted.

    The limits are so low that what a busy machine needs between two requests is little beside the throttle times.
    """
    broker.create_topic("t", 1)
    with WireClient(broker.bootstrap) as admin:
        limit(admin, "p", producer_byte_rate=LIMIT)
        limit(admin, "f", consumer_byte_rate=LIMIT)
        limit(admin, "m", controller_mutation_rate=0.1)

    def ask(request: object, version: int, client_id: str) -> Any:
        with WireClient(broker.bootstrap) as client:
            return client.ask(request, version, client_id=client_id)

    found = {}
    for number in range(3):
        found[f"produce {number}"] = ask(produce(), 8, "p").throttle_time_ms
    found["produce, version 3"] = ask(produce(), 3, "p").throttle_time_ms
    answer = ask(fetch(), 11, "f")
    assert answer.responses == []
    found["fetch"] = answer.throttle_time_ms
    accepted = ask(create("a"), 6, "m")
    assert [topic.error_code for topic in accepted.topics] == [0]
    found["accepted"] = accepted.throttle_time_ms
    refused = ask(create("b"), 6, "m")
    assert [topic.error_code for topic in refused.topics] == [89]
    found["refused"] = refused.throttle_time_ms
    permitted = ask(create("c"), 5, "m")
    assert [topic.error_code for topic in permitted.topics] == [0]
    found["permitted"] = permitted.throttle_time_ms
    return found


def test_throttle_times_of_equal_loads_are_equal(apache_kafka: Jars, zk_chroot: str, tmp_path: Path) -> None:
    with ApacheBroker(tmp_path / "apache", f"{zk_chroot}/apache", settings=SETTINGS) as broker:
        theirs = throttle_times(broker)
    with BrokerProcess(tmp_path / "ours", f"{zk_chroot}/ours", settings=SETTINGS) as broker:
        mine = throttle_times(broker)
    assert mine.keys() == theirs.keys()
    different = [name for name in theirs if mine[name] != pytest.approx(theirs[name], rel=0.1, abs=200)]
    assert different == [], (theirs, mine)
    assert theirs["accepted"] == mine["accepted"] == 0
    assert min(value for name, value in mine.items() if name != "accepted") > 1_000
