"""Every function of Kafka Manager (S1-192 to S1-194) in a real browser, on two brokers of ours and on two of Apache's.

The steps are the same for both makes. A test begins on its own cluster of the manager and makes topics of its own.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from managed_brokers import BROKERS, DISKS, MAKE_IDS, MAKES, two_brokers
from playwright.sync_api import Browser, Page, expect

from kafka_py.clients import AdminClient, Consumer, NewTopic, Producer, TopicPartition
from kafka_py.clients.admin.log_dirs import TopicPartitionReplica
from kafka_py.manager.settings import ManagerSettings
from kafka_py.testing.browsers import watched_page
from kafka_py.testing.peers.apache import ApacheBroker
from kafka_py.testing.processes import ZookeeperServer, wait_until
from kafka_py.testing.web_manager import ServedManager

CLUSTER = "/clusters/seen"
QUICK_HISTORY = {"history": {"interval_seconds": 0.5}}
LONG_MS = 60_000
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(
    scope="module",
    params=[pytest.param(make, id=id_, marks=[pytest.mark.slow] if make is ApacheBroker else [])
            for make, id_ in zip(MAKES, MAKE_IDS, strict=True)],
)  # fmt: skip
def servers(
    request: pytest.FixtureRequest, zookeeper: ZookeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Where clients find the two brokers of one make."""
    if request.param is ApacheBroker:
        assert request.getfixturevalue("apache_kafka")
    folder = tmp_path_factory.mktemp("browsed-cluster")
    with two_brokers(request.param, folder, f"{zookeeper.connect}/{folder.name}") as bootstrap_servers:
        yield bootstrap_servers


@pytest.fixture
def page(chromium: Browser, tmp_path: Path) -> Iterator[Page]:
    """Of a manager that knows no cluster yet."""
    settings = ManagerSettings(data=tmp_path, allow_changes=True, extra=QUICK_HISTORY)
    with ServedManager(settings) as manager, watched_page(chromium, manager.url) as opened:
        yield opened


@pytest.fixture
def admin(servers: str) -> Iterator[AdminClient]:
    with AdminClient({"bootstrap.servers": servers}) as opened:
        yield opened


@pytest.fixture
def added(page: Page, servers: str) -> Page:
    """The cluster was added on the manager's page."""
    add_cluster(page, "seen", servers)
    return page


def add_cluster(page: Page, name: str, bootstrap_servers: str, version: str = "2.8.2") -> None:
    page.goto("/")
    page.get_by_role("link", name="Add a cluster").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Bootstrap servers").fill(bootstrap_servers)
    page.get_by_label("Kafka version").fill(version)
    page.get_by_role("button", name="Add").click()
    expect(page.locator("#notices")).to_contain_text(name)


def confirm(page: Page) -> None:
    """Makes the change that is shown with its command."""
    expect(page.get_by_text("Nothing has been changed yet.")).to_be_visible()
    expect(page.locator(".command pre").first).to_contain_text("--bootstrap-server")
    page.get_by_role("button", name="Do it").click()


def wait_for_replicas(admin: AdminClient, name: str, wanted: dict[int, list[int]]) -> None:
    def are_there() -> bool:
        topic = admin.describe_topics([name]).all()[name]
        return {one.partition: [node.id for node in one.replicas] for one in topic.partitions} == wanted

    wait_until(are_there, 30, f"replicas {wanted} of {name}")


def test_clusters_are_added_and_their_state_is_shown_s1_192_s1_194(page: Page, servers: str) -> None:
    page.goto("/")
    expect(page.get_by_text("No cluster is known yet.")).to_be_visible()
    add_cluster(page, "seen", servers)
    add_cluster(page, "nowhere", "127.0.0.1:1", version="")  # nothing waits for this one
    page.goto("/")
    row = page.get_by_role("row", name=re.compile("^seen"))
    expect(row).to_contain_text("answers")
    expect(row.locator("small")).to_have_text("2.8.2")
    expect(row.locator("td").nth(1)).to_have_text(str(BROKERS))
    expect(page.get_by_role("row", name=re.compile("^nowhere"))).to_contain_text("not reachable")
    page.get_by_role("link", name="seen").click()
    brokers = page.get_by_role("region", name="Brokers")
    expect(brokers.locator("tbody tr")).to_have_count(BROKERS)
    expect(brokers.get_by_text("controller")).to_have_count(1)
    expect(page.get_by_role("alert")).to_have_count(0)
    brokers.get_by_role("link", name="1", exact=True).click()
    expect(page.get_by_role("region", name="Settings").get_by_text("log.dirs", exact=True)).to_be_visible()
    page.locator("details.picker summary").click()
    page.get_by_role("link", name="nowhere").click()
    expect(page).to_have_url(re.compile("/clusters/nowhere/brokers$"))


def test_a_topic_is_created_changed_extended_and_deleted_s1_192_s1_193(added: Page, admin: AdminClient) -> None:
    page = added
    page.goto(f"{CLUSTER}/topics")
    page.get_by_role("link", name="New topic").click()
    page.get_by_label("Name", exact=True).fill("made")
    page.get_by_label("Partitions").fill("2")
    page.get_by_label("Replicas").fill("9")
    expect(page.locator("#check .warning")).to_be_visible()
    page.get_by_label("Replicas").fill("2")
    page.get_by_label("Settings").fill("retention.ms=3600000")
    expect(page.locator("#check .good")).to_be_visible()
    page.get_by_role("button", name="Create").click()
    confirm(page)
    expect(page.get_by_text("The topic made was created.")).to_be_visible()
    page.get_by_role("spinbutton", name="Partitions").fill("3")
    page.get_by_role("button", name="Add partitions").click()
    confirm(page)
    expect(page.get_by_text("has 3 partitions now")).to_be_visible()
    page.get_by_role("link", name="Edit retention.ms").click()
    page.get_by_label("Value").fill("soon")
    page.get_by_role("button", name="Set").click()
    expect(page.get_by_role("alert")).to_contain_text("retention.ms")
    page.get_by_label("Value").fill("7200000")
    page.get_by_role("button", name="Set").click()
    confirm(page)
    expect(page.get_by_role("row", name=re.compile("retention.ms")).first).to_contain_text("7200000")
    assert len(admin.describe_topics(["made"]).all()["made"].partitions) == 3
    page.get_by_role("button", name="Delete the topic").click()
    confirm(page)
    expect(page.get_by_text("The topic made was deleted.")).to_be_visible()
    page.goto(f"{CLUSTER}/topics?search=made")
    expect(page.get_by_text("There is no topic with that in its name.")).to_be_visible()


def test_an_assignment_of_many_topics_is_generated_and_run_s1_192(added: Page, admin: AdminClient) -> None:
    page, names = added, ("first", "second", "third")
    admin.create_topics([NewTopic(name, replica_assignments={0: [0], 1: [0]}) for name in names]).all()
    page.goto(f"{CLUSTER}/reassignments")
    page.get_by_role("link", name="Move partitions").click()
    for name in names:
        page.get_by_role("checkbox", name=name).check()
    page.get_by_role("checkbox", name="0", exact=True).uncheck()
    page.get_by_role("button", name="Propose a plan").click()
    expect(page.get_by_text("6 partitions move;")).to_be_visible()
    page.get_by_role("button", name="Look at what would be done").click()
    confirm(page)
    expect(page.get_by_text("6 reassignments were begun.")).to_be_visible()
    expect(page.get_by_text("Nothing is moving.")).to_be_visible(timeout=LONG_MS)
    for name in names:
        wait_for_replicas(admin, name, {0: [1], 1: [1]})


def test_a_throttled_assignment_is_watched_and_cancelled_s1_192(added: Page, admin: AdminClient, servers: str) -> None:
    page = added
    admin.create_topics([NewTopic("large", replica_assignments={0: [0]})]).all()
    with Producer({"bootstrap.servers": servers}) as producer:
        for _ in range(30):
            producer.send("large", b"x" * 100_000, partition=0)
    page.goto(f"{CLUSTER}/reassignments/new")
    rows = {"partitions": [{"topic": "large", "partition": 0, "replicas": [1]}]}
    page.get_by_label("The plan, as kafka-reassign-partitions.sh has it").fill(json.dumps(rows))
    page.get_by_label("Throttle, bytes per second; 0 for none").fill("1000")
    page.get_by_role("button", name="Look at it").click()
    confirm(page)
    expect(page.get_by_role("row", name=re.compile("^large-0"))).to_contain_text("%")
    expect(page.get_by_text("Throttled: broker 0")).to_be_visible()
    page.get_by_role("button", name="Cancel all").click()
    confirm(page)
    expect(page.get_by_text("1 reassignments were cancelled.")).to_be_visible()
    expect(page.get_by_text("Nothing is moving.")).to_be_visible(timeout=LONG_MS)
    expect(page.get_by_text("No broker is throttled.")).to_be_visible(timeout=LONG_MS)  # without anybody's doing
    wait_for_replicas(admin, "large", {0: [0]})


def partitions_in(admin: AdminClient, disk: str) -> set[str]:
    """What is in a log directory of broker 0, without copies on their way to it."""
    found = admin.describe_log_dirs([0]).all()[0]
    return {str(tp) for path, each in found.items() if path.endswith(disk)
            for tp, info in each.replicas.items() if not info.is_future}  # fmt: skip


def empty_directory(page: Page, path: str, megabytes_per_second: int) -> None:
    """Begins to empty a log directory of broker 0."""
    page.goto(f"{CLUSTER}/directories")
    page.locator("select[name=directory]").select_option(f"0={path}")
    page.get_by_role("button", name="Propose to empty").click()
    page.get_by_label("Throttle").fill(str(megabytes_per_second))
    page.get_by_role("button", name="Carry it out").click()
    confirm(page)


def test_replicas_move_between_log_directories_and_back(added: Page, admin: AdminClient, servers: str) -> None:
    page, stored = added, {"stored-0", "stored-1"}
    ended = page.locator("#progress")
    admin.create_topics([NewTopic("stored", replica_assignments={0: [0], 1: [0]})]).all()
    wait_until(lambda: stored <= partitions_in(admin, "1") | partitions_in(admin, "2"), 30, "the replicas")
    full = next(path for path in admin.describe_log_dirs([0]).all()[0] if path.endswith(DISKS[0]))
    admin.alter_replica_log_dirs({TopicPartitionReplica("stored", number, 0): full for number in range(2)}).all()
    wait_until(lambda: stored <= partitions_in(admin, DISKS[0]), 30, "the replicas in the first directory")
    with Producer({"bootstrap.servers": servers, "acks": "all"}) as producer:
        for number in range(400):  # far more than the throttle lets through at once
            producer.send("stored", b"x" * 100_000, partition=number % 2)
    empty_directory(page, full, megabytes_per_second=1)
    expect(page.get_by_role("region", name="Replicas on their way")).to_be_visible(timeout=LONG_MS)
    page.get_by_role("button", name="Cancel this batch").click()
    page.get_by_role("button", name="Do it").click()
    expect(ended).to_contain_text("ended: cancelled.", timeout=LONG_MS)
    assert stored & partitions_in(admin, DISKS[0])
    page.get_by_role("button", name="Cancel it").click()
    page.get_by_role("button", name="Do it").click()
    expect(page.get_by_text("0 moves were cancelled, and the throttles removed.")).to_be_visible()
    empty_directory(page, full, megabytes_per_second=500)
    expect(ended).to_contain_text("ended: complete.", timeout=LONG_MS)
    assert partitions_in(admin, DISKS[0]) == set()
    assert stored <= partitions_in(admin, DISKS[1])
    page.goto(f"{CLUSTER}/directories/replicas?broker=0&search=stored")
    page.get_by_label("Move stored-1").check()
    page.get_by_label("To directory").select_option(full)
    page.get_by_role("button", name="Move", exact=True).click()
    confirm(page)
    expect(ended).to_contain_text("ended: complete.", timeout=LONG_MS)
    assert partitions_in(admin, DISKS[0]) == {"stored-1"}


def test_preferred_replicas_are_elected_s1_192(added: Page, admin: AdminClient) -> None:
    page = added
    admin.create_topics([NewTopic("led", replica_assignments={0: [0, 1]})]).all()
    admin.alter_partition_reassignments({TopicPartition("led", 0): [1, 0]}).all()
    wait_for_replicas(admin, "led", {0: [1, 0]})
    page.goto(f"{CLUSTER}/topics/led")
    expect(page.get_by_text("not preferred")).to_be_visible()
    page.goto(f"{CLUSTER}/brokers")
    page.get_by_role("button", name="Elect preferred leaders").click()
    confirm(page)
    expect(page.get_by_text("leaders were elected.")).to_be_visible()
    page.goto(f"{CLUSTER}/topics/led")
    expect(page.get_by_text("not preferred")).to_have_count(0)


def test_a_group_and_its_progress_are_watched_s1_193(added: Page, admin: AdminClient, servers: str) -> None:
    page, group = added, f"{CLUSTER}/groups/group?group=billing"
    admin.create_topics([NewTopic("orders", 1, 2)]).all()
    with Producer({"bootstrap.servers": servers}) as producer:
        for number in range(10):
            producer.send("orders", f"{number}".encode(), partition=0)
    reading = {"bootstrap.servers": servers, "group.id": "billing", "auto.offset.reset": "earliest",
               "max.poll.records": 4, "enable.auto.commit": False, "client.id": "the-reader"}  # fmt: skip
    with Consumer(reading) as consumer:
        consumer.subscribe(["orders"])
        consumed = 0
        while not consumed:
            consumed += len(consumer.poll(1.0))
        consumer.commit()
        page.goto(group)
        members = page.get_by_role("region", name="Members")
        expect(members.get_by_role("row", name=re.compile("the-reader"))).to_be_visible()
        row = page.get_by_role("row", name=re.compile("^orders-0"))
        expect(row.locator("td").nth(0)).to_have_text(str(consumed))
        expect(row.locator("td").nth(2)).to_have_text(str(10 - consumed))
        while consumed < 10:
            consumed += len(consumer.poll(1.0))
        consumer.commit()
        page.reload()
        expect(row.locator("td").nth(2)).to_have_text("0")
    page.goto(f"{CLUSTER}/groups")
    expect(page.get_by_role("row", name=re.compile("^billing"))).to_contain_text("Empty")


def test_rates_of_brokers_and_topics_are_charted_s1_193(added: Page, admin: AdminClient, servers: str) -> None:
    page = added
    admin.create_topics([NewTopic("fed", replica_assignments={0: [1]})]).all()
    subjects = ((f"{CLUSTER}/history?kind=topic&name=fed", "Records per second"),
                (f"{CLUSTER}/history?kind=broker&name=1", "Records per second, of partitions it leads"))  # fmt: skip
    with Producer({"bootstrap.servers": servers}) as producer:
        for path, title in subjects:
            for _ in range(200):  # records are sent until an observation has seen their rate
                for _ in range(100):
                    producer.send("fed", b"x" * 100, partition=0)
                producer.flush()
                page.goto(path)
                chart = page.get_by_role("img", name=f"{title} over time", exact=True)
                expect(chart).to_have_attribute("data-drawn", re.compile(r"\d"))
                values = chart.evaluate("chart => chart.series.lines.flatMap(line => line.values)")
                if any(value and value > 0 for value in values):
                    break
            else:
                pytest.fail(f"{path} shows no rate")
            expect(chart.locator("canvas")).to_be_visible()
