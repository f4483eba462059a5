"""A cluster one of whose brokers is down: pages show what is missing, and the rest of them works."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from kafka_py.clients import AdminClient, NewTopic
from kafka_py.testing.cluster import KafkaCluster

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def cluster(kafka_cluster_factory: Callable[..., KafkaCluster]) -> Iterator[KafkaCluster]:
    """Two brokers, the second of which was killed; racks that are script."""
    settings = {"broker.rack": SCRIPT, "zookeeper.session.timeout.ms": 3000}
    with kafka_cluster_factory(brokers=2, settings=settings) as cluster:
        with AdminClient({"bootstrap.servers": cluster.bootstrap_servers}) as admin:
            alone = {0: [cluster.brokers[0].broker_id]}
            admin.create_topics([NewTopic("a-healthy-one", replica_assignments=alone)]).all()
        cluster.create_topic("both", partitions=2, replication_factor=2)
        cluster.brokers[1].kill()
        yield cluster


def test_the_broker_is_shown_as_down_and_the_partitions_without_it_first(cluster: KafkaCluster, page: Page) -> None:
    down = cluster.brokers[1].broker_id
    for _ in range(1_000):  # until ZooKeeper has ended the session of the broker
        page.goto("/clusters/ours/brokers")
        if page.get_by_text("down", exact=True).count() > 1:
            break
    row = page.get_by_role("row", name=re.compile(f"^{down} "))
    expect(row.locator(".bad")).to_have_text("down")
    page.goto("/clusters/ours/topics")
    expect(page.locator("tbody tr").first).to_contain_text("both")
    expect(page.locator("tbody tr").first).to_contain_text("2 under-replicated")
    page.goto("/clusters/ours/topics/both")
    expect(page.get_by_text(f"{down} (down)").first).to_be_visible()
    page.goto(f"/clusters/ours/brokers/{down}")
    expect(page.get_by_role("heading", name=f"Broker {down}")).to_contain_text("down")


def test_script_in_a_rack_is_shown_and_not_run(page: Page) -> None:
    page.goto("/clusters/ours/brokers")
    expect(page.get_by_role("cell", name=SCRIPT).first).to_be_visible()
    page.goto("/clusters/ours/reassignments/new")
    expect(page.get_by_text(SCRIPT).first).to_be_visible()


def test_a_topic_that_needs_both_brokers_is_refused_with_the_reason(page: Page) -> None:
    page.goto("/clusters/ours/topics/new")
    page.get_by_label("Name", exact=True).fill("needs-two")
    page.get_by_label("Replicas").fill("2")
    page.get_by_role("button", name="Create").click()
    expect(page.locator("#check .warning")).to_contain_text(re.compile("replication factor", re.IGNORECASE))


def test_a_cluster_that_is_down_says_so_and_leads_to_the_other(page: Page) -> None:
    page.goto("/clusters/down/topics")
    expect(page.get_by_role("alert")).to_contain_text("The cluster down does not answer")
    page.locator("summary").click()
    page.get_by_role("link", name="ours").click()
    expect(page.get_by_role("heading", name="Brokers")).to_be_visible()
