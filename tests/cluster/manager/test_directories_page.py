"""Moves between log directories in a real browser on real brokers: proposed, carried out, cancelled, resumed."""

import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from kafka_py.clients import Producer
from kafka_py.clients.admin.client import AdminClient
from kafka_py.clients.admin.log_dirs import TopicPartitionReplica
from kafka_py.clients.admin.resources import ConfigResource, ConfigResourceType, ConfigSource
from kafka_py.clients.admin.topics import NewTopic
from kafka_py.manager.settings import ClusterSettings, ManagerSettings
from kafka_py.operations.rebalancing.throttles import LOG_DIR_RATE
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.browsers import watched_page
from kafka_py.testing.processes import ZookeeperServer, wait_until
from kafka_py.testing.web_manager import ServedManager

PATH = "/clusters/ours/directories"
LONG_MS = 60_000
PARTITIONS = 4
FULL, EMPTY = "disk1", "disk2"


class TwoDisks:
    """Broker 0 with two log directories, the first of which holds four replicas of 5 MB; broker 1 has one."""

    def __init__(self, folder: Path, connect: str) -> None:
        self.disks = [folder / "0" / name for name in (FULL, EMPTY)]
        first = BrokerProcess(folder / "0", connect, broker_id=0, log_dirs=self.disks)
        self.brokers = [first, BrokerProcess(folder / "1", connect, broker_id=1)]

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(broker.bootstrap for broker in self.brokers)

    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap_servers})

    def fill(self) -> None:
        with self.admin() as admin:
            wait_until(lambda: len(admin.describe_cluster().nodes) == 2, 30, "both brokers")
            rows = {number: [0] for number in range(PARTITIONS)}
            admin.create_topics([NewTopic("large", replica_assignments=rows)]).all()
            admin.create_topics([NewTopic("both", replica_assignments={0: [0, 1]})]).all()
            wait_until(lambda: len(self.held(admin, FULL) + self.held(admin, EMPTY)) == PARTITIONS, 30, "the replicas")
            self.bring_back(admin)
        with Producer({"bootstrap.servers": self.bootstrap_servers, "acks": "all"}) as producer:
            for number in range(1000 * PARTITIONS):
                producer.send("large", value=b"x" * 5000, partition=number % PARTITIONS)

    def held(self, admin: AdminClient, disk: str) -> list[int]:
        """The partitions of the topic that are in a directory, without those on their way to it."""
        found = admin.describe_log_dirs([0]).all()[0]
        [directory] = [each for path, each in found.items() if path.endswith(disk)]
        return sorted(tp.partition for tp, info in directory.replicas.items()
                      if tp.topic == "large" and not info.is_future)  # fmt: skip

    def bring_back(self, admin: AdminClient) -> None:
        """All replicas are in the first directory, at full speed."""
        replicas = [TopicPartitionReplica("large", number, 0) for number in range(PARTITIONS)]
        admin.alter_replica_log_dirs(dict.fromkeys(replicas, str(self.disks[0]))).all()
        wait_until(lambda: len(self.held(admin, FULL)) == PARTITIONS, 60, "the replicas in the first directory")

    def rate(self, admin: AdminClient) -> str | None:
        """The throttle that broker 0 has of its own."""
        resource = ConfigResource(ConfigResourceType.BROKER, "0")
        entry = admin.describe_configs({resource: [LOG_DIR_RATE]}).all()[resource].get(LOG_DIR_RATE)
        return entry.value if entry is not None and entry.source is ConfigSource.DYNAMIC_BROKER_CONFIG else None


@pytest.fixture(scope="module")
def cluster(zookeeper: ZookeeperServer) -> Iterator[TwoDisks]:
    with tempfile.TemporaryDirectory(prefix="kafka-", ignore_cleanup_errors=True) as name:
        uneven = TwoDisks(Path(name), f"{zookeeper.connect}/{Path(name).name}")
        with uneven.brokers[0], uneven.brokers[1]:
            uneven.fill()
            yield uneven


@pytest.fixture
def admin(cluster: TwoDisks) -> Iterator[AdminClient]:
    """With all replicas in the first directory."""
    with cluster.admin() as opened:
        cluster.bring_back(opened)
        yield opened


def confirm(page: Page) -> None:
    expect(page.get_by_text("Nothing has been changed yet.")).to_be_visible()
    page.get_by_role("button", name="Do it").click()


def directory_row(page: Page, path: Path) -> Locator:
    return page.get_by_role("region", name="Log directories").get_by_role("row").filter(has_text=str(path))


def empty_slowly(page: Page, cluster: TwoDisks) -> None:
    """Begins to empty the first directory, one replica after the other."""
    page.goto(PATH)
    page.locator("select[name=directory]").select_option(f"0={cluster.disks[0]}")
    page.get_by_role("button", name="Propose to empty").click()
    page.get_by_label("Throttle").fill("1")
    page.get_by_label("Replicas at a time").fill("1")
    page.get_by_role("button", name="Carry it out").click()
    expect(page.locator(".command pre")).to_contain_text("--drain-log-dirs")
    confirm(page)


def test_the_pages_are_readable_for_everybody(admin: AdminClient, readable: Callable[..., None]) -> None:
    for path in (PATH, f"{PATH}?plan=true&tolerance=0", f"{PATH}/replicas?broker=0"):
        readable(path)


def test_a_picture_is_made_of_a_proposal(admin: AdminClient, pictured: Callable[[str, str], None]) -> None:
    pictured("directories", f"{PATH}?plan=true")


def test_bytes_are_evened_out(cluster: TwoDisks, admin: AdminClient, page: Page) -> None:
    page.goto(PATH)
    expect(directory_row(page, cluster.disks[0])).to_contain_text("online")
    page.get_by_role("button", name="Propose", exact=True).click()
    expect(page.get_by_role("region", name="Replicas that move").locator("tbody tr")).to_have_count(2)
    assert len(cluster.held(admin, FULL)) == PARTITIONS
    page.get_by_label("Throttle").fill("50")
    page.get_by_role("button", name="Carry it out").click()
    expect(page.locator(".command pre")).to_contain_text("kafka-py rebalance")
    confirm(page)
    expect(page.get_by_text("have begun")).to_be_visible()
    ended = "The plan for log directories ended: complete."
    expect(page.locator("#progress")).to_contain_text(ended, timeout=LONG_MS)
    assert (len(cluster.held(admin, FULL)), len(cluster.held(admin, EMPTY))) == (2, 2)
    assert cluster.rate(admin) is None
    page.goto(PATH)
    page.get_by_role("button", name="Propose", exact=True).click()
    expect(page.get_by_text("Nothing has to change.")).to_be_visible()


def test_replicas_that_were_chosen_move(cluster: TwoDisks, admin: AdminClient, page: Page) -> None:
    page.goto(PATH)
    page.get_by_role("link", name=str(cluster.disks[0])).click()
    page.get_by_label("Partition contains").fill("large")
    page.get_by_role("button", name="Show").click()
    for number in (1, 3):
        page.get_by_label(f"Move large-{number}").check()
    page.get_by_label("To directory").select_option(str(cluster.disks[1]))
    page.get_by_role("button", name="Move", exact=True).click()
    expect(page.locator(".command pre")).to_contain_text("kafka-reassign-partitions.sh")
    expect(page.get_by_role("row", name=re.compile("^large-3 on broker 0"))).to_be_visible()
    confirm(page)
    expect(page.locator("#progress")).to_contain_text("ended: complete.", timeout=LONG_MS)
    assert cluster.held(admin, EMPTY) == [1, 3]


def test_a_running_batch_is_watched_and_cancelled_and_the_rest_resumed(
    cluster: TwoDisks, admin: AdminClient, page: Page
) -> None:
    empty_slowly(page, cluster)
    expect(page.get_by_role("region", name="Replicas on their way")).to_contain_text("large-", timeout=LONG_MS)
    wait_until(lambda: cluster.rate(admin) == str(1 << 20), 30, "the throttle")
    page.get_by_role("button", name="Cancel this batch").click(timeout=LONG_MS)
    page.get_by_role("button", name="Do it").click()
    expect(page.locator("#progress")).to_contain_text("ended: cancelled.", timeout=LONG_MS)
    assert len(cluster.held(admin, FULL)) >= PARTITIONS - 1
    assert cluster.rate(admin) is None
    page.goto(PATH)
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("button", name="Do it").click()
    expect(page.locator("#progress")).to_contain_text("ended: complete.", timeout=LONG_MS)
    assert cluster.held(admin, FULL) == []


def test_an_execution_is_resumed_by_the_next_manager(
    cluster: TwoDisks, admin: AdminClient, chromium: Browser, tmp_path: Path
) -> None:
    clusters = (ClusterSettings("ours", cluster.bootstrap_servers),)
    settings = ManagerSettings(clusters, data=tmp_path, allow_changes=True)
    with ServedManager(settings) as manager, watched_page(chromium, manager.url) as page:
        empty_slowly(page, cluster)
        expect(page.get_by_role("region", name="Replicas on their way")).to_contain_text("large-", timeout=LONG_MS)
    assert cluster.rate(admin) is None
    moving = [info for each in admin.describe_log_dirs([0]).all()[0].values() for info in each.replicas.values()
              if info.is_future]  # fmt: skip
    assert moving == []
    with ServedManager(settings) as manager, watched_page(chromium, manager.url) as page:
        page.goto(PATH)
        expect(page.locator("#progress")).to_contain_text("An execution was interrupted")
        page.get_by_role("button", name="Cancel it").click()
        page.get_by_role("button", name="Do it").click()
        expect(page.locator("#notices")).to_contain_text("0 moves were cancelled")
        expect(page.locator("#progress")).not_to_contain_text("interrupted")


def test_a_broker_that_is_down_is_named_and_the_others_are_shown(cluster: TwoDisks, page: Page) -> None:
    cluster.brokers[1].kill()
    page.goto(PATH)
    expect(page.get_by_role("alert")).to_contain_text("log dirs of broker 1")
    expect(directory_row(page, cluster.disks[1])).to_be_visible()
    page.get_by_role("button", name="Propose", exact=True).click()
    expect(page.get_by_role("heading", name="Proposal")).to_be_visible()
    page.goto("/clusters/down/directories")
    expect(page.get_by_role("alert")).to_contain_text("The cluster down does not answer")
