"""One cluster of kafka_py's and Apache Kafka 2.8.2's brokers that log in at each other, and what they keep in common:
users made by either command, passwords encrypted by either broker.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from sasl_brokers import BROKER_PASSWORD, BROKER_USER, MECHANISMS, PASSWORD, USER, broker_settings, java_settings, ports

from kafka_py.cli import configs
from kafka_py.clients.admin.client import AdminClient
from kafka_py.clients.errors import AuthenticationError
from kafka_py.clients.producer.producer import Producer
from kafka_py.testing.broker import AnyBroker, BrokerProcess
from kafka_py.testing.peers.apache import ApacheBroker, Jars
from kafka_py.testing.processes import ZookeeperServer
from kafka_py.testing.topics import ask_metadata, create_topic

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SECRET = {"password.encoder.secret": "encoder-secret"}
USERS = "kafka.admin.ConfigCommand"


def until(condition: Callable[[], object], timeout_s: float = 60) -> None:
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.1)


def may_log_in(address: str, settings: dict[str, str]) -> bool:
    try:
        with AdminClient({"bootstrap.servers": address, **settings}) as admin:
            return "t" in admin.list_topics()
    except AuthenticationError:
        return False


def make_user(jars: Jars | None, place: tuple[str, str], name: str, password: str, mechanism: str) -> None:
    """By Apache's command, or ours."""
    given = f"{mechanism}=[iterations=4096,password={password}]"
    arguments = [*place, "--alter", "--entity-type", "users", "--entity-name", name, "--add-config", given]
    code = configs.main(arguments) if jars is None else jars.run(USERS, *arguments).exit_code
    assert code == 0


class Mixed:
    """Broker 0 is ours, broker 1 Apache's. sasl: their addresses that ask for logins."""

    def __init__(self, folder: Path, connect: str, mechanism: str) -> None:
        self.connect = connect
        self.brokers: list[AnyBroker] = []
        self.sasl: list[str] = []
        for number, kind in enumerate((BrokerProcess, ApacheBroker)):
            at = ports()
            more = {**SECRET, "inter.broker.protocol.version": "2.6", "connections.max.reauth.ms": "5000"}
            settings = broker_settings(at, between=mechanism, **more)
            self.sasl.append(f"127.0.0.1:{at.sasl}")
            self.brokers.append(
                kind(folder / str(number), connect, broker_id=number, port=at.plain, settings=settings)
            )

    def __enter__(self) -> "Mixed":
        for broker in self.brokers:
            broker.launch()
        for broker in self.brokers:
            broker.wait_started()
        return self

    def __exit__(self, *_: object) -> None:
        for broker in self.brokers:
            broker.kill()


@pytest.fixture(params=["PLAIN", pytest.param("SCRAM-SHA-512", marks=pytest.mark.core)])
def mixed(
    request: pytest.FixtureRequest, kafka_zookeeper: ZookeeperServer, apache_kafka: Jars, tmp_path: Path
) -> Iterator[Mixed]:
    connect = f"{kafka_zookeeper.connect}/logins-{request.param}"
    place = ("--zookeeper", connect)
    if request.param != "PLAIN":
        with contextlib.closing(KazooClient(kafka_zookeeper.connect)) as client:
            client.start()
            client.create(f"/logins-{request.param}")
            client.stop()
        make_user(None, place, BROKER_USER, BROKER_PASSWORD, request.param)
    with Mixed(tmp_path, connect, request.param) as cluster:
        yield cluster


def replicated(cluster: Mixed) -> None:
    """A topic led by each of them is copied by the other, for longer than a session lasts."""
    create_topic([each.bootstrap for each in cluster.brokers], "t", 2, replication_factor=2)

    def in_sync() -> bool:
        [topic] = ask_metadata(cluster.brokers[0].bootstrap, ["t"]).topics
        return all(len(each.isr_nodes) == 2 for each in topic.partitions)

    until(in_sync)
    own = {"bootstrap.servers": ",".join(cluster.sasl), "acks": "all", **java_settings("PLAIN")}
    with Producer(own) as producer:
        ends_s = time.monotonic() + 12
        while time.monotonic() < ends_s:
            for partition in (0, 1):
                producer.send("t", b"v", partition=partition).result(30)
    assert in_sync()


def test_brokers_log_in_at_each_other_and_share_users_and_passwords(mixed: Mixed, apache_kafka: Jars) -> None:
    replicated(mixed)
    ours, apaches = mixed.brokers
    make_user(apache_kafka, ("--bootstrap-server", ours.bootstrap), USER, PASSWORD, "SCRAM-SHA-256")
    make_user(None, ("--bootstrap-server", apaches.bootstrap), USER, PASSWORD, "SCRAM-SHA-512")
    for address in mixed.sasl:
        for mechanism in MECHANISMS:
            until(partial(may_log_in, address, java_settings(mechanism)))
    exchange_passwords(mixed, apache_kafka)
    for broker in mixed.brokers:
        broker.stop()
    for broker in mixed.brokers:
        broker.launch()
    for broker in mixed.brokers:
        broker.wait_started()
    for address in mixed.sasl:
        until(partial(may_log_in, address, java_settings("PLAIN", "changed", "new")))


def exchange_passwords(cluster: Mixed, jars: Jars) -> None:
    """Each broker encrypts a login entry for itself, and gets the one that the other has encrypted."""
    name = "listener.name.sasl_plaintext.plain.sasl.jaas.config"
    entry = cluster.brokers[0].properties[name].replace(f'user_{USER}="{PASSWORD}"', 'user_new="changed"')
    for number, tool in enumerate((jars, None)):
        change = ["--bootstrap-server", cluster.brokers[number].bootstrap, "--alter", "--entity-type", "brokers"]
        change += ["--entity-name", str(number), "--add-config", f"{name}=[{entry}]"]
        assert (configs.main(change) if tool is None else tool.run(USERS, *change).exit_code) == 0
    with contextlib.closing(KazooClient(cluster.connect.partition("/")[0])) as client:
        client.start()
        paths = [f"/{cluster.connect.partition('/')[2]}/config/brokers/{number}" for number in (0, 1)]
        stored = [client.get(path)[0] for path in paths]
        assert all(b"encryptedPassword" in each and b"changed" not in each for each in stored)
        client.set(paths[0], stored[1])
        client.set(paths[1], stored[0])
        client.stop()
