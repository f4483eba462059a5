"""Reassignments in a real browser on a real cluster: proposed, shown as a diff, throttled, watched, cancelled, done."""

import json
import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from kafka_py.clients import AdminClient, NewTopic, Producer, TopicPartition
from kafka_py.clients.admin.resources import AlterConfig, ConfigResource, ConfigResourceType
from kafka_py.operations.rebalancing.throttles import LEADER_RATE, TOPIC_THROTTLES
from kafka_py.testing.cluster import KafkaCluster

BASE = "/clusters/ours/reassignments"


def begin(page: Page, plan: dict[str, list[int]], throttle: int) -> None:
    """Sends a plan of one's own, and makes it."""
    rows = [{"topic": name.rpartition("-")[0], "partition": int(name.rpartition("-")[2]), "replicas": replicas}
            for name, replicas in plan.items()]  # fmt: skip
    page.goto(f"{BASE}/new")
    page.get_by_label("The plan, as kafka-reassign-partitions.sh has it").fill(json.dumps({"partitions": rows}))
    page.get_by_label("Throttle, bytes per second; 0 for none").fill(str(throttle))
    page.get_by_role("button", name="Look at it").click()
    page.get_by_role("button", name="Do it").click()


def make_topic(cluster: KafkaCluster, name: str, assignment: list[list[int]], size_bytes: int = 0) -> None:
    """A topic on given brokers, with some bytes in each partition."""
    properties = {"bootstrap.servers": cluster.bootstrap_servers}
    with AdminClient(properties) as admin:
        admin.create_topics([NewTopic(name, replica_assignments=dict(enumerate(assignment)))]).all()
    if size_bytes:
        with Producer(properties) as producer:
            for partition in range(len(assignment)):
                for _ in range(size_bytes // 100_000):
                    producer.send(name, b"x" * 100_000, partition=partition)


def ids(cluster: KafkaCluster) -> list[int]:
    return sorted(broker.broker_id for broker in cluster.brokers)


def test_a_plan_is_proposed_shown_and_carried_out(
    cluster: KafkaCluster, page: Page, serious_findings: Callable[[Page], list[str]]
) -> None:
    one, two, three = ids(cluster)
    make_topic(cluster, "moved", [[one], [one], [one]], 200_000)
    page.goto("/clusters/ours/topics/moved")
    page.get_by_role("link", name="Move partitions").click()
    assert serious_findings(page) == []
    page.get_by_role("checkbox", name=str(one), exact=True).uncheck()
    page.get_by_role("button", name="Propose a plan").click()
    expect(page.get_by_text("3 partitions move;")).to_be_visible()
    assert serious_findings(page) == []
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.get_by_role("button", name="Look at what would be done").click()
    expect(page.locator(".command pre")).to_contain_text("kafka-reassign-partitions.sh")
    page.get_by_role("button", name="Do it").click()
    expect(page.get_by_text("3 reassignments were begun.")).to_be_visible()
    expect(page.get_by_text("Nothing is moving.")).to_be_visible(timeout=30_000)
    page.goto("/clusters/ours/topics/moved")
    for row in page.get_by_role("region", name="Partitions").locator("tbody tr").all():
        expect(row.locator("td").nth(1)).to_have_text(re.compile(f"^{two}$|^{three}$"))


def test_a_throttled_move_is_watched_and_cancelled_and_then_its_throttle_is_removed(
    cluster: KafkaCluster, page: Page, serious_findings: Callable[[Page], list[str]]
) -> None:
    one, two, three = ids(cluster)
    make_topic(cluster, "slow", [[one, two]], 3_000_000)
    begin(page, {"slow-0": [three, two]}, 1_000)
    row = page.get_by_role("row", name=re.compile("slow-0"))
    expect(row).to_contain_text("%")
    expect(page.get_by_text("The throttles that were set here are removed when the moves are over.")).to_be_visible()
    assert serious_findings(page) == []
    page.get_by_role("button", name="Cancel all").click()
    expect(page.locator("ins")).to_have_text(f"{two}, {one}")  # what was there is kept, in this order
    page.get_by_role("button", name="Do it").click()
    expect(page.get_by_text("1 reassignments were cancelled.")).to_be_visible()
    expect(page.get_by_text("Nothing is moving.")).to_be_visible(timeout=30_000)
    expect(page.get_by_text("No broker is throttled.")).to_be_visible(timeout=30_000)
    with AdminClient({"bootstrap.servers": cluster.bootstrap_servers}) as admin:
        topic = ConfigResource(ConfigResourceType.TOPIC, "slow")
        entries = admin.describe_configs([topic]).all()[topic]
    assert [entries[name].value for name in TOPIC_THROTTLES] == ["", ""]


def test_the_throttle_of_another_user_stays_until_a_user_removes_it(cluster: KafkaCluster, page: Page) -> None:
    broker = ConfigResource(ConfigResourceType.BROKER, str(ids(cluster)[0]))
    with AdminClient({"bootstrap.servers": cluster.bootstrap_servers}) as admin:
        admin.incremental_alter_configs({broker: [AlterConfig(LEADER_RATE, "4096")]}).all()
    page.goto(BASE)
    expect(page.get_by_text("No reassignment that was begun here needs that.")).to_be_visible()
    page.get_by_role("button", name="Remove the throttles").click()
    expect(page.locator(".command pre")).to_contain_text("--delete-config")
    page.get_by_role("button", name="Do it").click()
    expect(page.get_by_text("No broker is throttled.")).to_be_visible()


def test_a_plan_that_cannot_be_is_refused_with_the_reason(page: Page) -> None:
    page.goto(f"{BASE}/new")
    page.get_by_label("The plan, as kafka-reassign-partitions.sh has it").fill("{nope")
    page.get_by_role("button", name="Look at it").click()
    expect(page.get_by_role("alert")).to_contain_text("not a valid JSON")


def test_preferred_leaders_are_elected(cluster: KafkaCluster, page: Page) -> None:
    one, two, _ = ids(cluster)
    make_topic(cluster, "led", [[one, two]])
    with AdminClient({"bootstrap.servers": cluster.bootstrap_servers}) as admin:
        admin.alter_partition_reassignments({TopicPartition("led", 0): [two, one]}).all()
    page.goto("/clusters/ours/topics/led")
    expect(page.get_by_text("not preferred")).to_be_visible()
    page.get_by_role("button", name="Elect preferred leaders").click()
    expect(page.locator(".command pre")).to_contain_text("--election-type preferred --topic led --partition 0")
    page.get_by_role("button", name="Do it").click()
    expect(page.get_by_text("1 leaders were elected.")).to_be_visible()
