"""docs/migration.md with three brokers: Apache's are replaced by ours and back by its commands, while clients write."""

from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from acknowledged import Load, Peek, check_replicas, until
from page_blocks import DOCS, Block, commands_of
from page_world import PageWorld

from kafka_py.testing.broker import AnyBroker
from kafka_py.testing.peers.apache import ApacheBroker, apache_kafka
from kafka_py.testing.processes import wait_until
from kafka_py.testing.topics import ask_metadata, create_topic

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

TOPIC, PARTITIONS = "orders", 3
SETTINGS = {
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "zookeeper.session.timeout.ms": "6000",
}
CHECK, IN_SYNC, STOP, START, WAIT, LEADERS = commands_of(DOCS / "migration.md")


class Migration:
    """A cluster on whose brokers the page is carried out."""

    def __init__(self, world: PageWorld, brokers: list[AnyBroker]) -> None:
        self._world = world
        self.brokers = brokers
        self.servers = ",".join(broker.bootstrap for broker in brokers)

    def run(self, block: Block, broker: AnyBroker) -> str:
        """A block of the page, on the machine of one broker."""
        self._world.replaced = {
            "/etc/kafka/server.properties": str(broker.folder / "server.properties"),
            "/run/kafka.pid": str(broker.folder / "kafka.pid"),
            "localhost:9092": self.servers,
        }
        return self._world.run(block)

    def stop(self, broker: AnyBroker, pid: int) -> None:
        (broker.folder / "kafka.pid").write_text(str(pid))
        self.run(STOP, broker)

    def to_ours(self, broker: AnyBroker) -> None:
        reaper = Thread(target=broker.wait, args=(100,))  # the page waits for its end, and this test is its parent
        reaper.start()
        self.stop(broker, broker.pid)
        reaper.join()
        self.run(START, broker)
        self.run(WAIT, broker)

    def to_apache(self, broker: AnyBroker) -> None:
        self.stop(broker, self.pid_of_ours(broker))
        broker.start()
        self.run(WAIT, broker)

    def pid_of_ours(self, broker: AnyBroker) -> int:
        """Of the process that the page has started."""
        file = str(broker.folder / "server.properties").encode()
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            if file in (words := entry.read_bytes().split(b"\0")) and b"kafka.Kafka" in words:
                return int(entry.parent.name)
        raise AssertionError(f"nothing runs with {file!r}")


@pytest.fixture
def migration(zk_chroot: str, tmp_path: Path) -> Iterator[Migration]:
    apache_kafka()
    world = PageWorld(tmp_path / "page")
    brokers: list[AnyBroker] = [
        ApacheBroker(tmp_path / f"broker-{number}", zk_chroot, broker_id=number, settings=SETTINGS)
        for number in range(3)
    ]
    try:
        for broker in brokers:
            broker.start(120)
        yield Migration(world, brokers)
    finally:
        world.end()
        for broker in brokers:
            broker.kill()


def test_the_page_there_and_back(migration: Migration, zk_chroot: str) -> None:
    brokers = migration.brokers
    wait_until(lambda: all(len(ask_metadata(each.bootstrap).brokers) == 3 for each in brokers), 60, "three brokers")
    create_topic([each.bootstrap for each in brokers], TOPIC, PARTITIONS, replication_factor=3,
                 configs={"min.insync.replicas": "2"})  # fmt: skip
    load = Load(migration.servers, TOPIC, PARTITIONS)
    assert " error" not in migration.run(CHECK, brokers[0])
    assert migration.run(IN_SYNC, brokers[0]) == ""
    for step in (migration.to_ours, migration.to_apache):
        for broker in brokers:
            load.wait_more()
            step(broker)
        migration.run(LEADERS, brokers[0])
    load.wait_more()
    load.end()
    peek = Peek(zk_chroot)
    until(lambda: all(peek.isr(TOPIC, number) == {0, 1, 2} for number in range(PARTITIONS)))
    peek.close()
    check_replicas(brokers, TOPIC, load)
