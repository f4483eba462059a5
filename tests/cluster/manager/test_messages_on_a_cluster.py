"""Messages of real brokers through the JSON interface: transactions, the brokers' own topics, many partitions."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from kafka_py.clients import Consumer, Producer, TopicPartition
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.web_manager import ServedManager


@pytest.fixture(scope="module")
def written(cluster: KafkaCluster) -> None:
    """A committed, an aborted and a plain record; a group's commit; a topic of many partitions."""
    cluster.create_topic("paid", partitions=1)
    cluster.create_topic("wide", partitions=60, configs={"retention.ms": -1})  # its timestamps are of 1970
    servers = {"bootstrap.servers": cluster.bootstrap_servers}
    with Producer({**servers, "transactional.id": "tx-<b>"}) as producer:
        producer.init_transactions()
        for value in (b"committed", b"aborted"):
            producer.begin_transaction()
            producer.send("paid", value)
            if value == b"aborted":
                producer.flush()
                producer.abort_transaction()
            else:
                producer.commit_transaction()
    with Producer(servers) as producer:
        for number in range(600):
            producer.send("wide", b"%d" % number, None, number % 60, timestamp=1_000_000 + number)
    with Consumer({**servers, "group.id": "g-<b>"}) as consumer:
        consumer.commit({TopicPartition("paid", 0): 1})


@pytest.fixture
def client(manager: ServedManager, written: None) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{manager.url}/api/clusters/ours", timeout=30) as client:
        yield client


def found(client: httpx.Client, topic: str, query: str = "") -> dict[str, Any]:
    answer = client.get(f"/topics/{topic}/messages?{query}")
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


@pytest.mark.parametrize("start", ["earliest", "latest"])
def test_aborted_records_are_left_out_where_that_is_asked_for(client: httpx.Client, start: str) -> None:
    for query, values in (("", {"committed", "aborted"}), ("&committed=true", {"committed"})):
        page = found(client, "paid", f"start={start}{query}")
        assert {row["value"]["text"] for row in page["messages"]} == values
        assert (page["next_query"], page["stopped_by"]) == (None, None)  # the markers behind them were passed
        assert page["progress"][0]["read_to"] == page["progress"][0]["end"] == 4


def test_the_topics_of_brokers_are_decoded(client: httpx.Client) -> None:
    offsets = found(client, "__consumer_offsets", "start=earliest&expression=key.group+==+%22g-%3Cb%3E%22")["messages"]
    assert ("offsets", '{"group": "g-<b>", "topic": "paid", "partition": 0}') in {
        (row["key"]["kind"], row["key"]["text"]) for row in offsets
    }
    states = found(client, "__transaction_state", "start=earliest&key=tx-%3Cb%3E&limit=500")["messages"]
    assert {row["value"]["kind"] for row in states} == {"transaction"}
    assert any('"state": "CompleteAbort"' in row["value"]["text"] for row in states)


def test_the_partitions_of_a_wide_topic_are_merged_by_time(client: httpx.Client) -> None:
    newest = [row["value"]["text"] for row in found(client, "wide", "limit=100")["messages"]]
    assert newest == [str(number) for number in range(599, 499, -1)]
    oldest = [row["value"]["text"] for row in found(client, "wide", "start=earliest&limit=100")["messages"]]
    assert oldest == [str(number) for number in range(100)]
    since = found(client, "wide", "start=time&at=1970-01-01T00:16:40.500&limit=3")["messages"]
    assert [row["value"]["text"] for row in since] == ["500", "501", "502"]


def test_an_export_has_all_partitions(client: httpx.Client) -> None:
    lines = client.get("/topics/wide/messages/export?start=earliest").text.splitlines()
    assert len(lines) == 600
