"""The web manager on a broker of Apache Kafka 2.8.2 with logins: history, users, ACLs, quotas, tokens, transactions."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from sasl_brokers import BROKER_PASSWORD, BROKER_USER, broker_settings, java_settings, ports

from kafka_py.clients import AsyncProducer
from kafka_py.manager.settings import ClusterSettings, ManagerSettings
from kafka_py.testing.peers.apache import ApacheBroker, Jars
from kafka_py.testing.processes import ZookeeperServer
from kafka_py.testing.web_manager import CalledManager

MORE = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": f"User:ANONYMOUS;User:{BROKER_USER}",
    "delegation.token.master.key": "token-secret",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}
BASE = "/clusters/apache"


@pytest.fixture(scope="module")
def settings(
    apache_kafka: Jars, zookeeper: ZookeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ManagerSettings]:
    """Of a manager that is logged in as a super user."""
    at, folder = ports(), tmp_path_factory.mktemp("apache")
    connect = f"{zookeeper.connect}/{folder.name}"
    with ApacheBroker(folder, connect, port=at.plain, settings=broker_settings(at, **MORE)):
        properties = java_settings("PLAIN", BROKER_PASSWORD, BROKER_USER)
        cluster = ClusterSettings("apache", f"127.0.0.1:{at.sasl}", properties)
        history = {"history": {"interval_seconds": 0.5}}
        yield ManagerSettings((cluster,), data=folder / "manager", allow_changes=True, extra=history)


async def done(manager: CalledManager, path: str, **members: Any) -> str:
    answer = await manager.call(f"{BASE}{path}", **members)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["message"])


async def found(manager: CalledManager, path: str) -> Any:
    answer = await manager.get(f"/api{BASE}{path}")
    assert answer.status_code == 200, answer.text
    model = answer.json()
    assert not model.get("problems"), model["problems"]
    return model


async def users(manager: CalledManager) -> None:
    await done(manager, "/users/put", name="carol", mechanism="SCRAM-SHA-512", password="carol-secret")
    [row] = (await found(manager, "/users"))["users"]
    assert (row["name"], row["credentials"][0]["mechanism"]) == ("carol", "SCRAM-SHA-512")
    await done(manager, "/users/delete", name="carol", mechanism="SCRAM-SHA-512")
    assert (await found(manager, "/users"))["users"] == []


async def acls(manager: CalledManager) -> None:
    rule = {"type": "Topic", "name": "orders", "pattern": "Prefixed", "principal": "User:carol", "permission": "Allow"}
    await done(manager, "/acls/create", operation=["Read", "Describe"], **rule)
    [row] = (await found(manager, "/acls"))["matrix"]
    assert (row["name"], row["cells"]) == ("orders", [{"allowed": ["Describe", "Read"], "denied": []}])
    for operation in ("Read", "Describe"):
        await done(manager, "/acls/delete", operation=operation, host="*", **rule)
    assert (await found(manager, "/acls"))["rules"] == []


async def quotas(manager: CalledManager) -> None:
    for entity in ({"user": "carol", "client_id_default": True, "key": "producer_byte_rate"},
                   {"ip": "10.0.0.1", "key": "connection_creation_rate"}):  # fmt: skip
        await done(manager, "/quotas/put", value="100", **entity)
        [row] = (await found(manager, "/quotas"))["quotas"]
        assert (row["key"], row["value"]) == (entity["key"], 100.0)
        await done(manager, "/quotas/delete", **entity)
        assert (await found(manager, "/quotas"))["quotas"] == []


async def tokens(manager: CalledManager) -> None:
    message = await done(manager, "/tokens/create", renewers="User:carol", hours=1)
    [row] = (await found(manager, "/tokens"))["tokens"]
    assert row["renewers"] == ["User:carol"]
    path = message.partition(BASE)[2].split()[0]
    assert (await found(manager, path))["hmac"]
    await done(manager, "/tokens/renew", id=row["id"])
    await done(manager, "/tokens/expire", id=row["id"])
    assert (await found(manager, "/tokens"))["tokens"] == []


async def transactions(manager: CalledManager) -> None:
    """Such a broker does not list transactional ids, which the page says; open transactions it tells."""
    listed = (await manager.get(f"/api{BASE}/transactions")).json()
    assert listed["transactions"] == [] and listed["problems"]
    cluster = manager.services.clusters.get("apache")
    assert cluster is not None
    properties = {**cluster.settings.client_properties(), "transactional.id": "an-id"}
    async with AsyncProducer(properties) as producer:
        await producer.init_transactions()
        await producer.begin_transaction()
        await (await producer.send("orders", value=b"v", partition=0))
        seen = (await manager.get(f"/api{BASE}/transactions/open?topic=orders")).json()
        [row] = seen["found"]
        assert (row["topic"], row["start_offset"], row["why"]) == ("orders", 0, "")
        await done(manager, "/transactions/abort", topic="orders", partition=0, start_offset=0)
        assert (await found(manager, "/transactions/open?topic=orders"))["found"] == []
        await producer.abort_transaction()


async def history(manager: CalledManager) -> None:
    """The topic of the transaction is in the timeline, its records in the charts."""

    async def has_created() -> bool:
        events = (await manager.get(f"/api{BASE}/timeline?kind=topic-created")).json()["events"]
        return "orders" in [event["subject"] for event in events]

    async def has_records() -> bool:
        series = await found(manager, "/history/series?metric=log_end_offset&entity=orders")
        return bool(series["lines"]) and (series["lines"][0]["values"][-1] or 0) >= 1

    for is_there in (has_created, has_records):
        while not await is_there():  # noqa: ASYNC110  # the collector is in another thread
            await asyncio.sleep(0.1)
    assert (await manager.get(f"{BASE}/history")).status_code == 200


def test_every_page_works_on_a_broker_of_apache(settings: ManagerSettings) -> None:
    async def scene() -> None:
        async with CalledManager(settings) as manager:
            service = manager.services.parts["history"]
            while not ((own := service.collector("apache")) and own.last):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
            for part in (users, acls, quotas, tokens, transactions, history):
                await part(manager)

    asyncio.run(scene())
