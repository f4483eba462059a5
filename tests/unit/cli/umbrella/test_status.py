"""What `kafka-py status` prints."""

from kafka_py.cli.local_cluster.broker_view import BrokerView
from kafka_py.cli.local_cluster.layout import LocalCluster
from kafka_py.cli.umbrella.status import ProcessStatus, document, lines

CLUSTER = LocalCluster((9092,), 2181)
FOUND = [
    ProcessStatus("zookeeper", 2181, "serving", 7, 61, 66.4),
    ProcessStatus("broker-0", 9092, "stopped", None, 0, 0),
]


def test_without_a_broker_there_are_only_the_processes() -> None:
    assert lines(CLUSTER, FOUND, None) == [
        "NAME        PORT    STATE     PID       UPTIME      MEMORY",
        "zookeeper   2181    serving   7         1:01 min    66 MB",
        "broker-0    9092    stopped   -         -           -",
    ]


def test_what_is_not_in_sync_is_named_up_to_ten() -> None:
    well = lines(CLUSTER, [], BrokerView((0,), 0, 3, ()))
    assert well[2:] == ["bootstrap.servers=127.0.0.1:9092", "controller: broker 0", "partitions: 3, all in sync"]
    [*_, few] = lines(CLUSTER, [], BrokerView((0,), 0, 3, ("a-0", "b-1")))
    assert few == "partitions: 3, 2 of them not in sync: a-0, b-1"
    [*_, many] = lines(CLUSTER, [], BrokerView((0,), 0, 99, tuple(f"a-{number}" for number in range(20))))
    assert many.endswith("a-9 ...")


def test_the_document_says_the_same() -> None:
    found = document(CLUSTER, FOUND, BrokerView((0,), 0, 3, ("a-0",)))
    assert [row["state"] for row in found["processes"]] == ["serving", "stopped"]
    assert (found["controller"], found["partitions"], found["not_in_sync"]) == (0, 3, ["a-0"])
    assert document(CLUSTER, FOUND, None)["controller"] is None
