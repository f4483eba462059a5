"""Our clients' metrics beside those of the Java clients of 2.8.2, and a real quota of an Apache broker."""

import re
import time

import pytest

from kafka_py.clients import Producer
from kafka_py.clients.consumer import metrics as consumer_metrics
from kafka_py.clients.metrics import NODE, ClientTable, ConsumerConnectionMetrics, ConsumerNodeMetrics
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers.apache import ApacheBroker, Jars

Name = tuple[str, str, tuple[str, ...]]
"""Group, name, and the names of the tags."""

LINE = re.compile(r"([\w-]+):([\w-]+):\{([^}]*)\} *: ")

NOT_KEPT = (
    "app-info", "kafka-metrics-count", "io-", "iotime-", "network-io-", "select-",
    "successful-", "failed-auth", "failed-reauth", "reauthentication-",
)  # fmt: skip
"""What the Java clients show besides: their build, their selector, and logins that there are none of."""


def names_in(output: str) -> set[Name]:
    """The metrics of a table that --print-metrics printed, without those we do not have."""
    found = set()
    for group, name, tags in LINE.findall(output):
        if not group.startswith(NOT_KEPT) and not name.startswith(NOT_KEPT):
            found.add((group, name, tuple(sorted(tag.partition("=")[0].strip() for tag in tags.split(",")))))
    return found


def names_of(*tables: type[ClientTable]) -> set[Name]:
    """All that these tables can show."""
    found = set()
    for table in tables:
        for row in table.ROWS.values():
            names = [getattr(row, attribute, "") for attribute in ("name", "rate", "avg", "max", "min", "total")]
            found |= {(table.GROUP, name, tuple(sorted(table.TAG_NAMES))) for name in names if name}
    return found


def test_the_producer_counts_exactly_what_the_java_producer_counts(
    apache_kafka: Jars, module_broker: BrokerProcess
) -> None:
    module_broker.create_topic("counted", 1)
    settings = [f"bootstrap.servers={module_broker.bootstrap}"]
    arguments = ["--topic", "counted", "--num-records", "1000", "--record-size", "100", "--throughput", "-1",
                 "--producer-props", *settings, "--print-metrics"]  # fmt: skip
    theirs = apache_kafka.run("org.apache.kafka.tools.ProducerPerformance", *arguments)
    assert theirs.exit_code == 0, theirs.stderr
    with Producer({"bootstrap.servers": module_broker.bootstrap}) as producer:
        producer.send("counted", b"v").result(30)
        ours = {(name.group, name.name, tuple(sorted(tag for tag, _ in name.tags))) for name in producer.metrics()}
    assert ours == names_in(theirs.stdout)


def test_the_consumers_metrics_have_the_names_of_the_java_consumers(
    apache_kafka: Jars, module_broker: BrokerProcess
) -> None:
    module_broker.create_topic("read", 1)
    with Producer({"bootstrap.servers": module_broker.bootstrap}) as producer:
        for _ in range(100):
            producer.send("read", b"x" * 100)
    arguments = ["--topic", "read", "--messages", "100", "--bootstrap-server", module_broker.bootstrap]
    theirs = apache_kafka.run("kafka.tools.ConsumerPerformance", *arguments, "--print-metrics")
    assert theirs.exit_code == 0, theirs.stderr
    printed = {name for name in names_in(theirs.stdout) if name[0].startswith("consumer")}
    tables = [
        table
        for table in vars(consumer_metrics).values()
        if isinstance(table, type) and issubclass(table, ClientTable) and table is not ClientTable
    ]
    shown = names_of(*tables)
    # The Java tool leaves out what stands in these two: its consumer's own polls and connections.
    elsewhere = names_of(consumer_metrics.PollMetrics, ConsumerConnectionMetrics, ConsumerNodeMetrics)
    assert printed - elsewhere == shown - elsewhere
    assert {tags for group, _, tags in elsewhere if group == "consumer-node-metrics"} == {NODE}


@pytest.fixture(scope="module")
def frugal_broker(apache_kafka, zookeeper, tmp_path_factory):
    """An Apache broker on which everybody may produce 50 KB a second."""
    folder = tmp_path_factory.mktemp("quota")
    settings = {"quota.producer.default": "50000", "quota.window.num": "3", "num.partitions": "1"}
    with ApacheBroker(folder / "broker", f"{zookeeper.connect}/quota", settings=settings) as broker:
        yield broker


def test_a_producer_over_its_quota_leaves_the_broker_alone_for_as_long_as_it_asks(frugal_broker) -> None:
    frugal_broker.create_topic("much", 1)
    with Producer({"bootstrap.servers": frugal_broker.bootstrap, "client.id": "eager"}) as producer:
        producer.partitions_for("much")
        began = time.monotonic()
        futures = [producer.send("much", b"x" * 1000) for _ in range(400)]
        for future in futures:
            future.result(60)
        metrics = producer.metrics()
        asked_ms = metrics.find("produce-throttle-time-max")
        assert asked_ms > 100
        producer.send("much", b"after the pause").result(60)
        assert time.monotonic() - began >= asked_ms / 1000 * 0.9
        assert producer.metrics().find("record-retry-total") == 0
        assert producer.metrics().find("record-error-total") == 0
