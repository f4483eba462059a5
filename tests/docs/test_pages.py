"""Every command of the documentation pages is run, page by page, in the order of the page.

A page shares one cluster among its blocks. Pages with needs of their own have a test here, or one that
page_blocks.RUN_ELSEWHERE names; all others find a cluster of `kafka-py up` that runs, or make one in their first block.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from page_blocks import DOCS, RUN_ELSEWHERE, blocks_of, commands_of, pages
from page_world import PageWorld

from kafka_py.base.properties import parse_properties, read_properties
from kafka_py.cli.local_cluster import state
from kafka_py.cli.local_cluster.ports import is_free
from kafka_py.cli.local_cluster.processes import kill
from kafka_py.clients import Consumer, Producer
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.processes import free_port, free_ports, wait_until

pytestmark = pytest.mark.timeout(400)

OWN_TESTS = {
    "index.md", "kafka-py.md", "operations.md", "patterns.md", "quotas.md", "security.md", "securing-a-cluster.md"
}  # fmt: skip
"""Pages with a test below."""

SECURITY = DOCS / "security.md"
MakeCluster = Callable[..., KafkaCluster]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[PageWorld]:
    """Clusters that `kafka-py up` has started there end with the test, and whatever else was started."""
    made = PageWorld(tmp_path)
    yield made
    for process in state.read(tmp_path / "cluster"):
        kill(process)
    made.end()


def consecutive_ports(count: int) -> int:
    """The first of some ports in a row that were free just now."""
    while True:
        [first] = free_ports(1)
        if all(is_free(port) for port in range(first, first + count)):
            return first


def local_cluster(world: PageWorld) -> None:
    """`kafka-py up` takes free ports in place of the usual ones."""
    port = consecutive_ports(3)
    up = f"kafka-py up --port {port} --zookeeper-port 0"
    world.replaced = {"kafka-py up": up, "localhost:9092": f"localhost:{port}"}


def test_the_first_page(world: PageWorld, capsys: pytest.CaptureFixture[str]) -> None:
    local_cluster(world)
    shown = [world.run(block) for block in commands_of(DOCS / "index.md")]
    assert "Created topic greetings." in shown[0] and "hello" in shown[0].splitlines()
    assert "b'hello from Python'" in capsys.readouterr().out
    assert "Stopped zookeeper, broker-0, broker-1, broker-2" in shown[-1]


def test_the_page_of_kafka_py(world: PageWorld) -> None:
    local_cluster(world)
    (world.folder / "client.properties").write_text("bootstrap.servers=localhost:9092\n")
    shown = world.run_all(commands_of(DOCS / "kafka-py.md"))
    assert "Created topic orders." in shown


def other_pages() -> list[str]:
    """Pages with commands that have no test of their own."""
    named = {*RUN_ELSEWHERE, *OWN_TESTS}
    return [page.name for page in pages() if page.name not in named and commands_of(page)]


@pytest.mark.parametrize("name", other_pages())
def test_any_other_page(name: str, world: PageWorld) -> None:
    local_cluster(world)
    blocks = commands_of(DOCS / name)
    if "kafka-py up" not in blocks[0].code:
        world.shell(world.own("kafka-py up --detach; kafka-py topics --create --topic orders --partitions 3"))
    world.run_all(blocks)


def feed(bootstrap: str) -> None:
    """A topic `orders` that the group `billing` has read."""
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        for number in range(30):
            producer.send("orders", value=b"%d" % number, partition=number % 3)
    settings = {"bootstrap.servers": bootstrap, "group.id": "billing", "auto.offset.reset": "earliest"}
    with Consumer(settings) as consumer:
        consumer.subscribe(["orders"])
        count = 0
        while count < 30:
            count += len(consumer.poll(10.0))
        consumer.commit()


def test_the_page_of_operations(world: PageWorld, kafka_cluster_factory: MakeCluster) -> None:
    with kafka_cluster_factory(brokers=3) as cluster:
        cluster.create_topic("orders", partitions=3, replication_factor=2)
        feed(cluster.bootstrap_servers)
        properties = read_properties(world.folder / "config" / "server.properties")
        properties |= {
            "broker.id": "3",
            "listeners": f"PLAINTEXT://127.0.0.1:{free_port()}",
            "zookeeper.connect": cluster.zookeeper_connect,
            "log.dirs": str(world.folder / "data"),
        }
        text = "".join(f"{name}={value}\n" for name, value in properties.items())
        (world.folder / "config" / "server.properties").write_text(text)
        world.replaced = {"localhost:9092": cluster.bootstrap_servers, "/etc/kafka": str(world.folder / "config")}
        shown = world.run_all(commands_of(DOCS / "operations.md"))
        log = world.folder / "logs" / "server.log"
        wait_until(lambda: "[KafkaServer id=3] started" in log.read_text(), 60, "the broker that the page starts")
    assert "[billing,orders,0]::OffsetAndMetadata(offset=10" in shown


@pytest.mark.parametrize("name", ["patterns.md", "quotas.md", "securing-a-cluster.md"])
def test_a_page_that_needs_a_broker(name: str, world: PageWorld, kafka_cluster_factory: MakeCluster) -> None:
    with kafka_cluster_factory() as cluster:
        world.replaced = {"localhost:9092": cluster.bootstrap_servers, "zk1:2181": cluster.zookeeper_connect}
        world.run_all(commands_of(DOCS / name))


def settings_with(name: str) -> dict[str, str]:
    """The settings of the block on the page of security that has this one."""
    [block] = [each for each in blocks_of(SECURITY) if each.language == "properties" and f"{name}=" in each.code]
    return parse_properties(block.code)


def secured_broker(folder: Path, certificates: Path, zookeeper_connect: str) -> BrokerProcess:
    """A broker as the page has it: three listeners, SCRAM, delegation tokens, access control lists."""
    listeners = zip(("PLAINTEXT", "SSL", "SASL_SSL"), free_ports(3), strict=True)
    parts = ("delegation.token.secret.key", "listener.name.sasl_ssl.plain.sasl.jaas.config", "authorizer.class.name")
    settings = read_properties(certificates / "broker.properties")
    for part in parts:
        settings |= settings_with(part)
    settings["listeners"] = ",".join(f"{protocol}://localhost:{port}" for protocol, port in listeners)
    settings["super.users"] += ";User:ANONYMOUS"
    return BrokerProcess(folder, zookeeper_connect, settings=settings)


def test_the_page_of_security(world: PageWorld, zk_chroot: str, capsys: pytest.CaptureFixture[str]) -> None:
    local, certificates, *others = commands_of(SECURITY)
    local_cluster(world)
    world.run(local)
    world.shell("kafka-py down")
    world.run(certificates)
    folder = world.folder / "certificates"
    (world.folder / "broker-2027.p12").write_bytes((folder / "broker.p12").read_bytes())
    trust = read_properties(folder / "alice.properties").items()
    alice = settings_with('username="alice" password') | {name: value for name, value in trust if "truststore" in name}
    (world.folder / "alice.properties").write_text("".join(f"{name}={value}\n" for name, value in alice.items()))
    with secured_broker(world.folder / "broker", folder, zk_chroot) as broker:
        plain, tls, sasl = (each.rpartition("/")[2] for each in broker.properties["listeners"].split(","))
        world.replaced = {"localhost:9092": plain, "localhost:9093": tls, "localhost:9094": sasl, "zk1:2181": zk_chroot,
                          "/etc/kafka": str(world.folder)}  # fmt: skip
        shown = world.run_all(others)
    assert "User:scheduler" in shown
