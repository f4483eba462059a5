"""The doctor with brokers of Apache Kafka 2.8.2: nothing where all is in order, and the same faults as with ours."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from old_broker import OldBroker

from kafka_py.clients import AdminClient, NewTopic
from kafka_py.operations.doctor.diagnosis import diagnose
from kafka_py.operations.doctor.examine import DoctorRequest
from kafka_py.testing.certificate_files import CertificateFiles
from kafka_py.testing.peers import apache
from kafka_py.testing.peers.apache import LEAST_CLEANER_BYTES, ApacheBroker
from kafka_py.testing.processes import ZookeeperServer, free_ports

PLAIN_LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{}" password="{}"{};'


class ApacheListeners:
    """One broker with a listener for each fault. ports: by listener. trust: the settings of a client with TLS."""

    def __init__(self, folder: Path, zookeeper: str) -> None:
        files = CertificateFiles(folder / "certificates")
        self.trust = files.client()
        names = ("OPEN", "SECURE", "EXPIRED", "LOGIN", "MOVED")
        self.closed, *ports = free_ports(len(names) + 1)
        self.ports = dict(zip(names, ports, strict=True))
        stores = {"secure": files.broker("secure"), "expired": files.broker("expired", days=(-30, -1))}
        places = {name: f"{name}://127.0.0.1:{port}" for name, port in self.ports.items()}
        login = PLAIN_LOGIN.format("broker", "secret", ' user_broker="secret" user_alice="alice-secret"')
        self.process = ApacheBroker(
            folder / "broker", zookeeper, port=self.ports["OPEN"],
            settings={
                "listeners": ",".join(places.values()),
                "advertised.listeners": ",".join({**places, "MOVED": f"MOVED://127.0.0.1:{self.closed}"}.values()),
                "listener.security.protocol.map":
                    "OPEN:PLAINTEXT,SECURE:SSL,EXPIRED:SSL,LOGIN:SASL_PLAINTEXT,MOVED:PLAINTEXT",
                "inter.broker.listener.name": "OPEN",
                "auto.create.topics.enable": "false",
                "sasl.enabled.mechanisms": "PLAIN",
                "listener.name.login.plain.sasl.jaas.config": login,
                **{f"listener.name.{name}.{key}": value for name, store in stores.items()
                   for key, value in store.items()},
            },
        )  # fmt: skip

    def found(self, listener: str, configs: Mapping[str, str] | None = None) -> list[str]:
        """The ids of what the doctor finds by way of a listener."""
        given = {"bootstrap.servers": f"127.0.0.1:{self.ports[listener]}", **(configs or {})}
        report = asyncio.run(diagnose(DoctorRequest(given, timeout_s=10.0)))
        return [finding.id for finding in report.findings]


@pytest.fixture(scope="module")
def broker(
    apache_kafka: apache.Jars, tmp_path_factory: pytest.TempPathFactory, zookeeper: ZookeeperServer
) -> Iterator[ApacheListeners]:
    made = ApacheListeners(tmp_path_factory.mktemp("apache"), f"{zookeeper.connect}/doctor-apache")
    with made.process:
        with AdminClient({"bootstrap.servers": made.process.bootstrap}) as admin:
            admin.create_topics([NewTopic("t", 3, 1)]).all()
        yield made


def login(password: str) -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": PLAIN_LOGIN.format("alice", password, ""),
    }


def test_a_broker_of_apache_in_order_has_no_findings(broker: ApacheListeners) -> None:
    assert broker.found("OPEN") == []
    assert broker.found("SECURE", broker.trust) == []
    assert broker.found("LOGIN", login("alice-secret")) == []


def test_fault_a_broker_that_is_older_than_present_clients(tmp_path: Path, zookeeper: ZookeeperServer) -> None:
    try:
        settings = {"log.cleaner.dedupe.buffer.size": LEAST_CLEANER_BYTES}
        broker = OldBroker(tmp_path, f"{zookeeper.connect}/doctor-old", settings=settings)
    except apache.Unavailable as why:
        pytest.skip(str(why))
    with broker:
        report = asyncio.run(diagnose(DoctorRequest({"bootstrap.servers": broker.bootstrap})))
    assert [finding.id for finding in report.findings] == ["release-too-old"]


def test_faults_on_the_way_are_found_with_apache_as_well(broker: ApacheListeners) -> None:
    assert broker.found("SECURE") == ["tls-expected"]
    assert broker.found("OPEN", broker.trust) == ["tls-not-offered"]
    assert broker.found("EXPIRED", broker.trust) == ["tls-expired"]
    assert broker.found("LOGIN") == ["login-expected"]
    assert broker.found("LOGIN", login("wrong")) == ["login-refused"]
    assert broker.found("MOVED") == ["advertised-unreachable"]
