"""Messages and groups in a real browser: hostile content is text, huge and binary messages are shown in part, a tail
follows, forms send, exports are files, a reset is shown before it is made.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from kafka_py.clients import AdminClient, Consumer, Producer, TopicPartition
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.web_manager import ServedManager

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>"
HOSTILE_GROUP = f"g'\"&{SCRIPT}"
HOSTILE_CLIENT = f"c {SCRIPT}"
HUGE = b"x" * 900_000
BINARY = bytes(range(256))
T0 = TopicPartition("messages", 0)
BASE = "/clusters/ours/topics/messages/messages"
GROUPS = "/clusters/ours/groups"


@pytest.fixture(scope="module")
def producer(cluster: KafkaCluster) -> Iterator[Producer]:
    """Of a topic that has hostile, huge and binary messages, of which two groups consume, one with a hostile id."""
    cluster.create_topic("messages", partitions=2)
    with Producer({"bootstrap.servers": cluster.bootstrap_servers}) as producer:
        producer.send("messages", SCRIPT.encode(), SCRIPT.encode(), 0, headers=[(SCRIPT, SCRIPT.encode())])
        producer.send("messages", HUGE, b"huge", 0)
        producer.send("messages", BINARY, None, 0)
        for number in range(20):
            producer.send("messages", json.dumps({"n": number, "text": SCRIPT}).encode(), b"json", 1)
        producer.flush()
        for group in (HOSTILE_GROUP, "live"):
            configs = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": group,
                       "client.id": HOSTILE_CLIENT, "auto.offset.reset": "earliest"}  # fmt: skip
            with Consumer(configs) as consumer:
                consumer.assign([T0])
                consumer.commit({T0: 1})
        yield producer


@pytest.mark.usefixtures("producer")
def test_hostile_huge_and_binary_messages_are_shown_as_text(page: Page) -> None:
    page.goto(f"{BASE}?partitions=0&start=earliest&limit=3")
    rows = page.locator("#messages tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(0).locator("td").nth(2)).to_contain_text(SCRIPT)
    expect(rows.nth(0).locator("td").nth(3)).to_contain_text(SCRIPT)
    expect(rows.nth(0).locator("td").nth(4)).to_contain_text(SCRIPT)
    expect(rows.nth(1)).to_contain_text("878.9 KiB, shown in part")
    expect(rows.nth(2)).to_contain_text("000102030405")
    expect(rows.nth(2)).to_contain_text("256 B")
    assert page.locator("main script, main img").count() == 0
    with page.expect_download() as started:
        rows.nth(1).get_by_role("link", name="whole message").click()
    whole = json.loads(Path(started.value.path()).read_text())
    assert (len(whole["value"]), whole["offset"]) == (900_000, 1)


@pytest.mark.usefixtures("producer")
def test_the_form_filters_and_pages_continue(page: Page) -> None:
    page.goto(BASE)
    page.get_by_label("Partitions").fill("1")
    page.get_by_role("spinbutton", name="Messages").fill("3")
    page.get_by_text("Filter", exact=True).click()
    page.get_by_role("textbox", name="Expression").fill("value.n >= 4")
    page.get_by_role("button", name="Show").click()
    offsets = page.locator("#messages tbody th")
    expect(offsets).to_have_text(["19", "18", "17"])
    page.get_by_role("link", name="Older →").click()
    expect(offsets).to_have_text(["16", "15", "14"])
    page.get_by_role("textbox", name="Expression").fill("value.n >")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("alert")).to_contain_text("at character 10 of the expression")


def test_a_tail_follows_and_ends_when_it_is_left(page: Page, producer: Producer, manager: ServedManager) -> None:
    page.goto(f"{BASE}?partitions=0")
    page.get_by_role("button", name="Follow live").click()
    expect(page.get_by_text("Following new messages.")).to_be_visible()
    producer.send("messages", SCRIPT.encode(), SCRIPT.encode(), 0, headers=[(SCRIPT, SCRIPT.encode())])
    producer.send("messages", b"second", None, 0)
    producer.flush()
    rows = page.locator("#messages tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("second")
    for column in (2, 3, 4):
        expect(rows.nth(1).locator("td").nth(column)).to_contain_text(SCRIPT)
    assert page.locator("main script, main img").count() == 0
    streams = manager.services.parts["messages"].streams
    assert streams.count == 1
    page.get_by_role("button", name="Stop following").click()
    page.goto("/")
    for _ in range(200):
        if streams.count == 0:
            break
        page.wait_for_timeout(50)
    assert streams.count == 0


@pytest.mark.usefixtures("producer")
def test_a_message_is_sent_from_the_form(page: Page) -> None:
    page.goto(f"{BASE}/new")
    page.get_by_label("Partition").fill("1")
    page.get_by_label("Key", exact=True).fill(SCRIPT)
    page.get_by_label("Value as").select_option("json")
    page.get_by_label("Value", exact=True).fill('{\n  "sent": true\n}')
    page.get_by_label("Headers, one a line").fill(f"h: {SCRIPT}")
    page.get_by_role("button", name="Send…").click()
    expect(page.get_by_text("kafka-console-producer.sh")).to_be_visible()
    page.get_by_role("button", name="Do it").click()
    expect(page.locator(".notice")).to_contain_text("The message was sent: partition 1, offset")
    first = page.locator("#messages tbody tr").first
    expect(first).to_contain_text('"sent": true')
    expect(first).to_contain_text(SCRIPT)


@pytest.mark.usefixtures("producer")
def test_exports_are_files(page: Page) -> None:
    page.goto(f"{BASE}?partitions=1&start=earliest&expression=value.n+%3C+3")
    for name, lines in (("Export JSON lines", 3), ("Export CSV", 4)):
        with page.expect_download() as started:
            page.get_by_role("link", name=name).click()
        assert started.value.suggested_filename in ("messages.jsonl", "messages.csv")
        assert len(Path(started.value.path()).read_text().splitlines()) == lines


def test_a_reset_is_shown_and_then_made(page: Page, producer: Producer, cluster: KafkaCluster) -> None:
    page.goto(GROUPS)
    page.get_by_role("link", name=HOSTILE_GROUP).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(HOSTILE_GROUP)
    page.get_by_role("link", name="Reset offsets").click()
    page.get_by_label("the first records").check()
    page.get_by_role("button", name="Show what would change…").click()
    expect(page.get_by_role("row", name="messages-0")).to_contain_text("1")
    expect(page.get_by_text("1 records are consumed once more")).to_be_visible()
    page.get_by_role("button", name="Do it").click()
    expect(page.locator(".notice")).to_contain_text("were reset")
    with AdminClient({"bootstrap.servers": cluster.bootstrap_servers}) as admin:
        found = admin.list_consumer_group_offsets(HOSTILE_GROUP).all()[T0]
    assert found is not None and found.offset == 0


def test_a_live_group_has_its_members(page: Page, producer: Producer, cluster: KafkaCluster) -> None:
    configs = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "live", "client.id": HOSTILE_CLIENT,
               "auto.offset.reset": "earliest"}  # fmt: skip
    with Consumer(configs) as consumer:
        consumer.subscribe(["messages"])
        while not consumer.assignment():
            consumer.poll(0.5)
        page.goto(f"{GROUPS}/group?group=live")
        members = page.get_by_role("region", name="Members")
        expect(members).to_contain_text(HOSTILE_CLIENT)
        expect(members).to_contain_text("messages 0-1")
        page.goto(f"{GROUPS}/reset?group=live")
        expect(page.get_by_text("only while no member is active")).to_be_visible()


@pytest.mark.usefixtures("producer")
@pytest.mark.parametrize(
    "path",
    [f"{BASE}?start=earliest&value=a", f"{BASE}/new", GROUPS, f"{GROUPS}/group?group=live",
     f"{GROUPS}/reset?group=live", "/clusters/down/groups", "/clusters/down/topics/t/messages"],
)  # fmt: skip
def test_a_page_is_readable_for_everybody(path: str, readable: Callable[..., None]) -> None:
    readable(path, 503 if "/down/" in path else 200)
