"""What is found in property files: each kind of mistake, at its line."""

import pytest

from kafka_py.base.properties import numbered_pairs
from kafka_py.cli.config_check.contradictions import CONTRADICTIONS
from kafka_py.cli.config_check.file_kinds import KINDS, kind_of
from kafka_py.cli.config_check.findings import ConfigFinding, Gravity
from kafka_py.cli.config_check.properties import check

E, W, N = Gravity.ERROR, Gravity.WARNING, Gravity.NOTE
SERVER = "zookeeper.connect=localhost:2181\n"
CLIENT = "bootstrap.servers=localhost:9092\n"


def findings(text: str, kind: str = "server") -> list[ConfigFinding]:
    return check(list(numbered_pairs(text)), kind)


@pytest.mark.parametrize(
    ("line", "kind", "gravity", "text"),
    [
        ("num.partition=3", "server", W, "there is no setting num.partition: did you mean num.partitions?"),
        ("log_dirs=/x", "server", W, "there is no setting log_dirs: it is called log.dirs"),
        ("retention.ms=5", "server", W, "that is a topic's name for what brokers call log.retention.ms"),
        ("group.id=g", "server", W, "it is a setting of the consumer, this file is one of the server"),
        ("linger.ms=1", "consumer", W, "it is a setting of the producer, this file is one of the consumer"),
        ("foo.bar=1", "server", W, "there is no setting foo.bar"),
        ("num.partitions=three", "server", E, "Invalid value three for configuration num.partitions"),
        ("num.partitions=0", "server", E, "must be [1,...]"),
        ("acks=2", "producer", E, "Invalid value 2 for configuration acks"),
        ("background.threads=4", "server", N, "background.threads has no effect here: num.io.threads serves"),
        ("quota.producer.default=5", "server", N, "quota.producer.default is deprecated"),
        ("broker.id=-7", "server", E, "broker.id must be -1"),
        ("metric.reporters=x.Y", "server", W, "metric.reporters=x.Y: a Java class"),
    ],
)
def test_a_mistake_is_named_at_its_line(line: str, kind: str, gravity: Gravity, text: str) -> None:
    [found] = findings((SERVER if kind == "server" else CLIENT) + line, kind)
    assert (found.gravity, found.line) == (gravity, 2)
    assert text in found.text


def test_all_mistakes_are_named_not_only_the_first() -> None:
    text = SERVER + "num.partitions=x\nnum.io.threads=y\nnum.partition=1\n"
    assert [(found.gravity, found.line) for found in findings(text)] == [(E, 2), (E, 3), (W, 4)]


def test_of_a_repeated_name_the_last_counts() -> None:
    [found] = findings(SERVER + "num.partitions=x\nnum.partitions=3\n")
    assert (found.gravity, found.line, found.text) == (
        W, 3, "num.partitions is set in line 2 as well: only this one counts",
    )  # fmt: skip


def test_what_a_broker_reads_beside_its_table_is_no_mistake() -> None:
    assert findings(SERVER + "listener.name.inside.ssl.keystore.location=/x\n") == []


def test_without_zookeeper_a_broker_does_not_start() -> None:
    [found] = findings("broker.id=1\n")
    assert (found.gravity, found.line) == (E, 0)
    assert "zookeeper.connect" in found.text


def test_a_client_s_servers_may_be_given_to_the_tool() -> None:
    assert findings("linger.ms=5\n", "producer") == []
    [found] = findings("bootstrap.servers=nowhere\n", "consumer")
    assert found.gravity is E


def test_a_file_without_any_setting_is_one_error() -> None:
    [found] = findings("log4j.rootLogger=INFO\nlog4j.appender=x\n")
    assert found == ConfigFinding(E, 0, "none of its names is a setting of the server")


MET = {
    "min.insync.replicas": "min.insync.replicas=2",
    "transaction.state.log.min.isr": "transaction.state.log.replication.factor=1",
    "log.dirs": "log.dirs=/a\nlog.dir=/b",
    "message.max.bytes": "socket.request.max.bytes=1000",
    "delegation.token.master.key": "delegation.token.master.key=a\ndelegation.token.secret.key=b",
    "zookeeper.ssl.client.enable": "zookeeper.ssl.truststore.location=/t.p12",
    "replica.lag.time.max.ms": "replica.lag.time.max.ms=500",
    "group.min.session.timeout.ms": "group.max.session.timeout.ms=5",
    "log.retention.bytes": "log.retention.bytes=1000",
    "fetch.min.bytes": "fetch.max.bytes=0",
    "session.timeout.ms": "max.poll.interval.ms=9000",
    "batch.size": "batch.size=2000000\nbuffer.memory=1500000",
    "max.request.size": "max.request.size=40000000",
}


@pytest.mark.parametrize("contradiction", CONTRADICTIONS, ids=lambda row: row.text.split()[0])
def test_values_that_contradict_one_another(contradiction: object) -> None:
    row = next(each for each in CONTRADICTIONS if each is contradiction)
    text = next(text for name, text in MET.items() if name in row.names)
    base = SERVER if row.kind == "server" else CLIENT
    assert row.text in [found.text for found in findings(base + text, row.kind)]
    assert row.text not in [found.text for found in findings(base, row.kind)], "defaults are nobody's mistake"


@pytest.mark.parametrize("row", CONTRADICTIONS, ids=lambda row: row.text.split()[0])
def test_contradictions_are_about_settings_that_exist(row: object) -> None:
    found = next(each for each in CONTRADICTIONS if each is row)
    assert found.names <= KINDS[found.kind].ROWS.keys()


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ({"broker.id", "log.dirs"}, "server"),
        ({"acks", "bootstrap.servers"}, "producer"),
        ({"group.id", "bootstrap.servers"}, "consumer"),
        (set(), "server"),
    ],
)
def test_the_kind_is_that_which_knows_most_names(names: set[str], kind: str) -> None:
    assert kind_of(names) == kind
