"""The web manager's messages and groups on a broker of Apache Kafka 2.8.2."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_py.clients import AsyncAdminClient, AsyncConsumer, AsyncProducer, NewTopic, TopicPartition
from kafka_py.manager.settings import ClusterSettings, ManagerSettings
from kafka_py.testing.peers.apache import ApacheBroker, Jars
from kafka_py.testing.processes import ZookeeperServer
from kafka_py.testing.web_manager import CalledManager

ONE_BROKER = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
}
BASE = "/clusters/apache"
MESSAGES = f"{BASE}/topics/orders/messages"


@pytest.fixture(scope="module")
def settings(
    apache_kafka: Jars, zookeeper: ZookeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ManagerSettings]:
    folder = tmp_path_factory.mktemp("apache")
    with ApacheBroker(folder, f"{zookeeper.connect}/{folder.name}", settings=ONE_BROKER) as broker:
        cluster = ClusterSettings("apache", broker.bootstrap)
        extra = {"history": {"is_enabled": False}}
        yield ManagerSettings((cluster,), allow_changes=True, extra=extra)


async def called(manager: CalledManager, path: str, **members: Any) -> Any:
    answer = await manager.call(f"{BASE}{path}", **members)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def found(manager: CalledManager, path: str) -> Any:
    answer = await manager.get(f"/api{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def write(configs: dict[str, str]) -> None:
    async with AsyncAdminClient(configs) as admin:
        (await admin.create_topics([NewTopic("orders", 2, 1)])).all()
    async with AsyncProducer({**configs, "transactional.id": "tx"}) as producer:
        await producer.init_transactions()
        for number in range(10):
            await producer.begin_transaction()
            await producer.send("orders", json.dumps({"n": number}).encode(), b"k", number % 2)
            await (producer.commit_transaction() if number % 5 else producer.abort_transaction())
    async with AsyncConsumer({**configs, "group.id": "readers"}) as consumer:
        await consumer.commit({TopicPartition("orders", 0): 3})


async def messages(manager: CalledManager) -> None:
    page = await found(manager, f"{MESSAGES}?start=earliest&committed=true&expression=value.n+%3E+6")
    assert [json.loads(row["value"]["text"])["n"] for row in page["messages"]] == [7, 8, 9]
    assert page["next_query"] is None
    sent = await called(manager, "/topics/orders/messages", value="hello", partition=1)
    assert "partition 1, offset" in sent["message"]
    assert (await found(manager, f"{MESSAGES}?limit=1"))["messages"][0]["value"]["text"] == "hello"
    exported = (await manager.get(f"{MESSAGES}/export?start=earliest&committed=true")).text.splitlines()
    assert len(exported) == 9
    states = await found(manager, f"{BASE}/topics/__transaction_state/messages?key=tx")
    assert "CompleteCommit" in states["messages"][0]["value"]["text"]
    commits = await found(manager, f"{BASE}/topics/__consumer_offsets/messages?key=readers")
    assert commits["messages"][0]["key"]["kind"] == "offsets"


async def groups(manager: CalledManager) -> None:
    [row] = (await found(manager, f"{BASE}/groups"))["groups"]
    assert (row["group_id"], row["state"]) == ("readers", "Empty")
    group = await found(manager, f"{BASE}/groups/group?group=readers")
    assert group["partitions"][0]["committed"] == 3 and group["lag_ms"] >= 0
    plan = await called(manager, "/groups/reset", group="readers", scenario="to-earliest", topic="orders", dry_run=True)
    assert plan["effects"][0] == {"what": "orders-0", "before": "3", "after": "0"}
    await called(manager, "/groups/reset", group="readers", scenario="to-earliest", topic="orders")
    group = await found(manager, f"{BASE}/groups/group?group=readers")
    assert [row["committed"] for row in group["partitions"]] == [0, 0]
    await called(manager, "/groups/offsets/delete", group="readers", topic="orders:1")
    await called(manager, "/groups/delete", group="readers")
    assert (await found(manager, f"{BASE}/groups"))["groups"] == []


def test_messages_and_groups_of_apaches_broker(settings: ManagerSettings) -> None:
    async def run() -> None:
        await write({"bootstrap.servers": settings.clusters[0].bootstrap_servers})
        async with CalledManager(settings) as manager:
            await messages(manager)
            await groups(manager)

    asyncio.run(run())
