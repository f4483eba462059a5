"""Pictures of the pages, for docs/manager.md: KAFKA_PY_PICTURES=docs/pictures makes them again."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page

from kafka_py.clients import AdminClient, Consumer, NewTopic, Producer
from kafka_py.manager.settings import ClusterSettings, ManagerSettings
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.processes import wait_until
from kafka_py.testing.web_manager import ServedManager

PAGES = {
    "clusters": "/",
    "brokers": "/clusters/ours/brokers",
    "broker": "/clusters/ours/brokers/0?search=log.&changed=true",
    "topics": "/clusters/ours/topics",
    "topic": "/clusters/ours/topics/orders",
    "messages": "/clusters/ours/topics/orders/messages",
    "groups": "/clusters/ours/groups",
    "reassignment": "/clusters/ours/reassignments/plan?topic=orders&topic=payments",
    "doctor": "/clusters/ours/doctor",
    "history": "/clusters/ours/history",
}
LEAST_POINTS = 20


@pytest.fixture(scope="module")
def cluster(kafka_cluster_factory: Callable[..., KafkaCluster]) -> Iterator[KafkaCluster]:
    """Three brokers with a few topics, records and a group."""
    with kafka_cluster_factory(brokers=3) as cluster:
        properties = {"bootstrap.servers": cluster.bootstrap_servers}
        with AdminClient(properties) as admin:
            admin.create_topics([NewTopic(name, 4, 2) for name in ("orders", "payments", "shipments", "returns")]).all()
        with Producer(properties) as producer:
            for number in range(2_000):
                name = ("orders", "payments", "shipments")[number % 3]
                value = f'{{"id": {number}, "customer": "c{number % 7}", "total": {number % 90}.50}}'
                producer.send(name, value.encode(), key=f"c{number % 7}".encode())
        reading = {**properties, "group.id": "billing", "auto.offset.reset": "earliest", "max.poll.records": 200}
        with Consumer(reading) as consumer:
            consumer.subscribe(["orders"])
            while not consumer.poll(1.0):
                pass
            consumer.commit()
        yield cluster


@pytest.fixture(scope="module")
def manager(cluster: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedManager]:
    """Looks at the cluster often, so that its charts have lines soon."""
    clusters = (ClusterSettings("ours", cluster.bootstrap_servers), ClusterSettings("down", "127.0.0.1:1"))
    data, often = tmp_path_factory.mktemp("manager"), {"history": {"interval_seconds": 0.5}}
    with ServedManager(ManagerSettings(clusters, data=data, allow_changes=True, extra=often)) as served:
        yield served


def wait_for_lines(page: Page, cluster: KafkaCluster) -> None:
    """Until the first chart has a line, for which records are sent."""
    path = "/api/clusters/ours/history/series?metric=records_per_second&range=1h"
    with Producer({"bootstrap.servers": cluster.bootstrap_servers}) as producer:

        def has_line() -> bool:
            for number in range(500):
                producer.send("payments", b"x" * (number % 200), key=f"c{number}".encode())
            producer.flush()
            return len(page.request.get(path).json()["times"]) >= LEAST_POINTS

        wait_until(has_line, 60, "a line of the first chart")


@pytest.mark.parametrize("name", PAGES)
def test_a_picture_is_made_of_the_page(
    name: str, page: Page, cluster: KafkaCluster, pictured: Callable[[str, str], None]
) -> None:
    if name == "history":
        wait_for_lines(page, cluster)
    pictured(name, PAGES[name])
