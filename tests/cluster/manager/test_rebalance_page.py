"""A rebalance in a real browser on a real cluster: proposed, carried out, watched, cancelled and resumed."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from kafka_py.clients import Producer
from kafka_py.clients.admin.client import AdminClient
from kafka_py.clients.admin.topics import NewTopic
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.processes import wait_until

PATH = "/clusters/ours/rebalance"
LONG_MS = 60_000


@pytest.fixture(scope="module")
def skewed(cluster: KafkaCluster) -> KafkaCluster:
    """All of two topics is on brokers 0 and 1; one of them holds records."""
    with AdminClient({"bootstrap.servers": cluster.bootstrap_servers}) as admin:
        rows = {number: [number % 2, 1 - number % 2] for number in range(12)}
        admin.create_topics([NewTopic("skewed", replica_assignments=rows)]).all()
        admin.create_topics([NewTopic("large", replica_assignments={key: [0] for key in range(4)})]).all()
        wait_until(lambda: {"skewed", "large"} <= set(admin.list_topics()), 30, "the topics")
    with Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"}) as producer:
        for number in range(3000):
            producer.send("large", value=b"x" * 5000, partition=number % 4)
    return cluster


def propose(page: Page, **fields: str) -> None:
    page.goto(PATH)
    page.get_by_label("What").select_option(fields.pop("action", "rebalance"))
    for label, value in fields.items():
        page.get_by_label(label.replace("_", " ")).fill(value)
    page.get_by_role("button", name="Propose").click()
    expect(page.get_by_role("heading", name="Proposal")).to_be_visible()


def test_the_page_is_readable_for_everybody(skewed: KafkaCluster, readable: Callable[..., None]) -> None:
    for path in (PATH, f"{PATH}?plan=true&topics=skewed"):
        readable(path)


def test_a_rebalance_is_proposed_shown_and_carried_out(skewed: KafkaCluster, page: Page) -> None:
    propose(page, Only_topics="skewed")
    expect(page.get_by_role("row", name=re.compile("^skewed-0"))).to_be_visible()
    page.get_by_label("Throttle").fill("50")
    page.get_by_label("Partitions at a time").fill("3")
    page.get_by_role("button", name="Carry it out").click()
    expect(page.locator(".command pre")).to_contain_text("kafka-py rebalance")
    page.get_by_role("button", name="Do it").click()
    expect(page.get_by_text("has begun")).to_be_visible()
    expect(page.locator("#progress")).to_contain_text("The rebalance ended: complete.", timeout=LONG_MS)
    propose(page, Only_topics="skewed")
    expect(page.get_by_text("Nothing has to change.")).to_be_visible()


def test_a_running_batch_is_cancelled_and_the_rest_resumed(skewed: KafkaCluster, page: Page) -> None:
    propose(page, action="remove-brokers", Brokers_to_add="0", Only_topics="large")
    page.get_by_label("Throttle").fill("1")
    page.get_by_role("button", name="Carry it out").click()
    page.get_by_role("button", name="Do it").click()
    page.get_by_role("button", name="Cancel this batch").click(timeout=LONG_MS)
    page.get_by_role("button", name="Do it").click()
    expect(page.locator("#progress")).to_contain_text("The rebalance ended: cancelled.", timeout=LONG_MS)
    with AdminClient({"bootstrap.servers": skewed.bootstrap_servers}) as admin:
        assert admin.list_partition_reassignments() == {}
    page.goto(PATH)
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("button", name="Do it").click()
    expect(page.locator("#progress")).to_contain_text("The rebalance ended: complete.", timeout=LONG_MS)
