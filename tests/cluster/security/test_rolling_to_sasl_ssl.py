"""A running cluster goes from PLAINTEXT to SASL_SSL as docs/securing-a-cluster.md has it, and no client notices.

Three rounds of restarts, one broker at a time: two listeners; the new one between brokers; only the new one, with ACLs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import confluent_kafka
import pytest

from kafka_py.cli.acl_admin import acls
from kafka_py.cli.local_cluster.scram_accounts import create_accounts
from kafka_py.cli.local_cluster.secured_socket import SecuredConnections
from kafka_py.cli.local_cluster.security import ACLS, ADMIN, ClusterSecurity, make
from kafka_py.clients import Consumer, Producer
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.client_access import ClientAccess
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.processes import free_ports, wait_until
from kafka_py.testing.topics import ask_metadata

TOPIC, GROUP, USER = "orders", "readers", "alice"
PACE_S = 0.02
TIMEOUT_S = 90
INTER_BROKER = "security.inter.broker.protocol"


class Client:
    """Works in a thread until it is stopped; an error ends it, and is raised then."""

    def __init__(self, work: Callable[[threading.Event, list[bytes]], None]) -> None:
        self.done: list[bytes] = []
        self._work = work
        self._stopping = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._work(self._stopping, self.done)
        except BaseException as error:
            self._error = error

    def wait_progress(self) -> None:
        """Until it has done something more."""
        before = len(self.done)
        wait_until(lambda: len(self.done) > before or self._error is not None, TIMEOUT_S, "progress of a client")
        self.check()

    def check(self) -> None:
        if self._error is not None:
            raise self._error

    def stop(self) -> list[bytes]:
        self._stopping.set()
        self._thread.join(TIMEOUT_S)
        assert not self._thread.is_alive()
        self.check()
        return self.done


def our_writer(name: str, settings: Mapping[str, str]) -> Client:
    """done: what was acknowledged."""

    def work(stopping: threading.Event, done: list[bytes]) -> None:
        with Producer({**settings, "acks": "all", "enable.idempotence": True}) as producer:
            while not stopping.wait(PACE_S):
                value = f"{name} {len(done)}".encode()
                producer.send(TOPIC, value=value, key=value).result(TIMEOUT_S)
                done.append(value)

    return Client(work)


def librdkafka_writer(name: str, settings: Mapping[str, object]) -> Client:
    def work(stopping: threading.Event, done: list[bytes]) -> None:
        producer = confluent_kafka.Producer({**settings, "enable.idempotence": True})
        while not stopping.wait(PACE_S):
            value = f"{name} {len(done)}".encode()
            failed: list[object] = []
            producer.produce(TOPIC, value, value, on_delivery=lambda error, _, failed=failed: failed.append(error))
            assert producer.flush(TIMEOUT_S) == 0 and failed == [None], failed
            done.append(value)

    return Client(work)


def reader(settings: Mapping[str, str]) -> Client:
    """A member of the group. done: what it has read."""

    def work(stopping: threading.Event, done: list[bytes]) -> None:
        with Consumer({**settings, "group.id": GROUP, "auto.offset.reset": "earliest"}) as consumer:
            consumer.subscribe([TOPIC])
            while not stopping.is_set():
                done += [record.value or b"" for record in consumer.poll(timeout=0.2)]
            consumer.commit()

    return Client(work)


class Upgrade:
    """The cluster on its way. secured_ports: of the listeners that it gets."""

    def __init__(self, cluster: KafkaCluster, security: ClusterSecurity) -> None:
        self.cluster = cluster
        self.security = security
        self.secured_ports = free_ports(len(cluster.brokers))
        self._plain_ports = [broker.port for broker in cluster.brokers]

    def access(self) -> ClientAccess:
        servers = ",".join(f"127.0.0.1:{port}" for port in self.secured_ports)
        return ClientAccess(servers, self.security.folder, self.security, USER)

    def round(self, number: int, clients: list[Client]) -> None:
        """Restarts the brokers one by one, each when all replicas are in sync, while all of these clients work."""
        for broker in self.cluster.brokers:
            self.wait_in_sync()
            broker.stop()
            broker.properties |= self.settings(number, broker.broker_id)
            broker.start()
            for client in clients:
                client.wait_progress()
        self.wait_in_sync()

    def look_at_new_listeners(self) -> None:
        """A listener's clients learn of brokers that have this listener too, so the old one's see fewer in round 3."""
        for broker, port in zip(self.cluster.brokers, self.secured_ports, strict=True):
            broker.port = port
            broker.connect = SecuredConnections(self.security.client_settings(ADMIN))

    def settings(self, number: int, broker_id: int) -> dict[str, str]:
        """What a broker has in this round."""
        plain = f"PLAINTEXT://127.0.0.1:{self._plain_ports[broker_id]}"
        secured = f"SASL_SSL://127.0.0.1:{self.secured_ports[broker_id]}"
        own = self.security.broker_settings()
        if number == 1:
            return {**own, "listeners": f"{plain},{secured}", INTER_BROKER: "PLAINTEXT"}
        return own if number == 2 else {**own, **ACLS, "listeners": secured}

    def wait_in_sync(self) -> None:
        wait_until(lambda: all(self._sees_all(broker) for broker in self.cluster.brokers), TIMEOUT_S, "all in sync")

    def _sees_all(self, broker: BrokerProcess) -> bool:
        answer = ask_metadata(broker.bootstrap, [TOPIC, "__consumer_offsets"], broker.connect)
        partitions = [each for topic in answer.topics for each in topic.partitions]
        return len(answer.brokers) == 3 and all(len(each.isr_nodes) == 3 for each in partitions)


@pytest.mark.slow
@pytest.mark.core
@pytest.mark.timeout(600)
def test_three_rounds_with_clients_at_work(
    kafka_cluster_factory: Callable[..., KafkaCluster], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"min.insync.replicas": 2, "offsets.topic.replication.factor": 3}
    with kafka_cluster_factory(3, settings=settings, folder=tmp_path / "cluster") as cluster:
        cluster.create_topic(TOPIC, 3, replication_factor=3)
        plain = cluster.access()
        old = [our_writer("ours", plain.settings), librdkafka_writer("librdkafka", plain.librdkafka)]
        old_reader = reader(plain.settings)
        old_reader.wait_progress()

        upgrade = Upgrade(cluster, make(tmp_path / "security", "SASL_SSL", [USER]))
        create_accounts(cluster.zookeeper_connect, upgrade.security.passwords, TIMEOUT_S)
        upgrade.round(1, [*old, old_reader])

        secured = upgrade.access()
        new = [our_writer("ours, TLS", secured.settings), librdkafka_writer("librdkafka, TLS", secured.librdkafka)]
        upgrade.look_at_new_listeners()
        upgrade.round(2, [*old, *new, old_reader])

        read = [*old_reader.stop()]
        written = [value for client in old for value in client.stop()]
        new_reader = reader(secured.settings)
        new_reader.wait_progress()
        place = ["--authorizer-properties", f"zookeeper.connect={cluster.zookeeper_connect}", "--add"]
        who = ["--allow-principal", f"User:{USER}", "--topic", TOPIC]
        acls.main([*place, *who, "--producer"])
        acls.main([*place, *who, "--consumer", "--group", GROUP])
        upgrade.round(3, [*new, new_reader])

        written += [value for client in new for value in client.stop()]
        wait_until(lambda: {*written} <= {*read, *new_reader.done}, TIMEOUT_S, "the last records")
        new_reader.stop()
        assert len({*written}) == len(written) > 50
        with pytest.raises(OSError):
            ask_metadata(plain.servers.partition(",")[0])
