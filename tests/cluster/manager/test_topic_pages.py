"""Topics and brokers in a real browser on a real cluster: everything a reader sees and an administrator does."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from kafka_py.testing.cluster import KafkaCluster


@pytest.fixture(scope="module")
def topic(cluster: KafkaCluster) -> str:
    cluster.create_topic("orders", partitions=3, replication_factor=3)
    return "orders"


def confirm(page: Page) -> None:
    """Makes the change that is shown."""
    expect(page.get_by_text("Nothing has been changed yet.")).to_be_visible()
    page.get_by_role("button", name="Do it").click()


def test_every_page_is_readable_for_everybody(topic: str, readable: Callable[..., None]) -> None:
    paths = ["topics", "topics/new", f"topics/{topic}", f"topics/{topic}/settings?name=retention.ms", "brokers/1"]
    for path in paths:
        readable(f"/clusters/ours/{path}")


def test_a_topic_is_created_with_what_is_wrong_said_while_typing(page: Page) -> None:
    page.goto("/clusters/ours/topics")
    page.get_by_role("link", name="New topic").click()
    page.get_by_label("Name", exact=True).press_sequentially("bad name")
    expect(page.locator("#check .warning")).to_contain_text("bad name")
    page.get_by_label("Name", exact=True).fill("made.here")
    page.get_by_label("Partitions").fill("2")
    page.get_by_label("Replicas").fill("5")
    expect(page.locator("#check .warning")).to_be_visible()
    page.get_by_label("Replicas").fill("1")
    page.get_by_label("Settings").fill("retention.ms=1000\ncleanup.policy=compact,delete")
    expect(page.locator("#check .good")).to_be_visible()
    page.get_by_role("button", name="Create").click()
    expect(page.locator(".command pre")).to_contain_text("--config 'cleanup.policy=[compact,delete]'")
    confirm(page)
    expect(page.get_by_text("The topic made.here was created.")).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("retention.ms")).first).to_contain_text("1000")


def test_a_topic_gets_more_partitions_and_is_deleted(cluster: KafkaCluster, page: Page) -> None:
    cluster.create_topic("short-lived")
    page.goto("/clusters/ours/topics/short-lived")
    page.get_by_role("spinbutton", name="Partitions").fill("4")
    page.get_by_role("button", name="Add partitions").click()
    expect(page.locator("ins")).to_have_text("4")
    confirm(page)
    expect(page.get_by_text("has 4 partitions now")).to_be_visible()
    page.get_by_role("button", name="Delete the topic").click()
    expect(page.get_by_text("this cannot be undone")).to_be_visible()
    confirm(page)
    expect(page.get_by_text("The topic short-lived was deleted.")).to_be_visible()
    page.goto("/clusters/ours/topics?search=short-lived")
    expect(page.get_by_text("There is no topic with that in its name.")).to_be_visible()


def test_a_setting_is_refused_changed_and_removed(topic: str, page: Page) -> None:
    page.goto(f"/clusters/ours/topics/{topic}")
    page.get_by_role("link", name="Edit retention.ms").click()
    page.get_by_label("Value").fill("soon")
    page.get_by_role("button", name="Set").click()
    expect(page.get_by_role("alert")).to_contain_text("retention.ms")
    page.get_by_label("Value").fill("3600000")
    page.get_by_role("button", name="Set").click()
    expect(page.locator(".command pre")).to_contain_text("--add-config retention.ms=3600000")
    confirm(page)
    expect(page.get_by_role("row", name=re.compile("^retention.ms|retention.ms")).first).to_contain_text("this topic")
    page.get_by_role("link", name="Edit retention.ms").click()
    page.get_by_role("button", name="Remove").click()
    confirm(page)
    expect(page.get_by_text("retention.ms was removed.")).to_be_visible()


def test_a_setting_of_one_broker_and_of_all(page: Page) -> None:
    page.goto("/clusters/ours/brokers/1?search=log.cleaner.threads")
    page.get_by_role("link", name="Edit log.cleaner.threads").click()
    page.get_by_role("link", name="Set it for all brokers").click()
    page.get_by_label("Value").fill("2")
    page.get_by_role("button", name="Set").click()
    expect(page.locator(".command pre")).to_contain_text("--entity-default")
    confirm(page)
    page.goto("/clusters/ours/brokers/2?search=log.cleaner.threads")
    expect(page.get_by_role("cell", name="all brokers, dynamic")).to_be_visible()


def test_a_form_that_is_sent_twice_creates_one_topic(cluster: KafkaCluster, page: Page) -> None:
    page.goto("/clusters/ours/topics/new?name=twice")
    page.get_by_role("button", name="Create").click()
    form = page.locator("main form")
    fields = form.evaluate("form => [...new FormData(form)]")
    body = page.evaluate("fields => new URLSearchParams(fields).toString()", fields)
    headers = {"content-type": "application/x-www-form-urlencoded"}
    for _ in range(2):
        answer = page.request.post("/clusters/ours/topics", data=body, headers=headers, max_redirects=0)
        assert (answer.status, answer.headers.get("location")) == (303, "/clusters/ours/topics/twice"), answer.text()
    page.goto("/clusters/ours/topics/twice")
    expect(page.get_by_text("The topic twice was created.")).to_have_count(1)
