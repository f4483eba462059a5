"""Faults on the way to a broker, each planted in one real broker with a listener for each of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_py.operations.doctor.findings import Severity
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.certificate_files import CertificateFiles
from kafka_py.testing.processes import ZookeeperServer, free_ports

from .diagnosing import diagnosed, ids, the

TLS = ("SECURE", "EXPIRED", "RENAMED", "STRANGE", "ENDING", "MUTUAL")
PLAIN = ("OPEN", "MOVED", "NAMED")
PLAIN_LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{}" password="{}"{};'


class FaultyBroker:
    """ports: by listener. trust: the settings of a client with TLS."""

    def __init__(self, folder: Path, zookeeper: str) -> None:
        files, strangers = CertificateFiles(folder / "own"), CertificateFiles(folder / "strange")
        self.trust = files.client()
        names = (*PLAIN, *TLS, "LOGIN", "SCRAM")
        self.closed, *ports = free_ports(len(names) + 1)
        self.ports = dict(zip(names, ports, strict=True))
        stores = {
            "SECURE": files.broker("secure"),
            "EXPIRED": files.broker("expired", days=(-30, -1)),
            "RENAMED": files.keystore("renamed", files.issue("other", ["other.example.com"])),
            "STRANGE": strangers.broker("strange"),
            "ENDING": files.broker("ending", days=(-30, 5)),
            "MUTUAL": {**files.broker("mutual"), "ssl.client.auth": "required"},
        }
        settings = {
            f"listener.name.{name.lower()}.{key}": value
            for name, store in stores.items()
            for key, value in store.items()
        }
        login = PLAIN_LOGIN.format("broker", "secret", ' user_broker="secret" user_alice="alice-secret"')
        settings["listener.name.login.plain.sasl.jaas.config"] = login
        settings["listener.name.login.sasl.enabled.mechanisms"] = "PLAIN"
        settings["listener.name.scram.sasl.enabled.mechanisms"] = "SCRAM-SHA-256"
        settings["listener.name.scram.scram-sha-256.sasl.jaas.config"] = (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        )
        protocols = {**dict.fromkeys(PLAIN, "PLAINTEXT"), **dict.fromkeys(TLS, "SSL"),
                     **dict.fromkeys(("LOGIN", "SCRAM"), "SASL_PLAINTEXT")}  # fmt: skip
        advertised = {
            **{name: f"127.0.0.1:{port}" for name, port in self.ports.items()},
            "MOVED": f"127.0.0.1:{self.closed}",
            "NAMED": f"kafka.invalid:{self.ports['NAMED']}",
        }
        self.process = BrokerProcess(
            folder / "broker", zookeeper, port=self.ports["OPEN"],
            settings={
                "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in self.ports.items()),
                "advertised.listeners": ",".join(f"{name}://{place}" for name, place in advertised.items()),
                "listener.security.protocol.map": ",".join(f"{name}:{value}" for name, value in protocols.items()),
                "inter.broker.listener.name": "OPEN",
                "auto.create.topics.enable": "false",
                **settings,
            },
        )  # fmt: skip

    def at(self, listener: str) -> str:
        return f"127.0.0.1:{self.ports[listener]}"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, zookeeper: ZookeeperServer) -> Iterator[FaultyBroker]:
    made = FaultyBroker(tmp_path_factory.mktemp("faulty"), f"{zookeeper.connect}/doctor-connections")
    with made.process:
        yield made


def login(password: str, mechanism: str = "PLAIN") -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": PLAIN_LOGIN.format("alice", password, ""),
    }


def test_a_broker_in_order_has_no_findings_by_any_protocol(broker: FaultyBroker) -> None:
    assert ids(diagnosed(broker.at("OPEN"))) == []
    assert ids(diagnosed(broker.at("SECURE"), broker.trust)) == []
    assert ids(diagnosed(broker.at("LOGIN"), login("alice-secret"))) == []


def test_fault_a_name_that_nobody_knows() -> None:
    assert "DNS" in the(diagnosed("kafka.invalid:9092"), "name-unknown").repair


def test_fault_a_port_at_which_nothing_listens(broker: FaultyBroker) -> None:
    assert "`listeners`" in the(diagnosed(f"127.0.0.1:{broker.closed}"), "port-closed").repair


def test_fault_a_plain_client_at_a_listener_with_tls(broker: FaultyBroker) -> None:
    assert "security.protocol=SSL" in the(diagnosed(broker.at("SECURE")), "tls-expected").repair


def test_fault_a_client_with_tls_at_a_plain_listener(broker: FaultyBroker) -> None:
    finding = the(diagnosed(broker.at("OPEN"), broker.trust), "tls-not-offered")
    assert "security.protocol=PLAINTEXT" in finding.repair


def test_fault_an_expired_certificate(broker: FaultyBroker) -> None:
    finding = the(diagnosed(broker.at("EXPIRED"), broker.trust), "tls-expired")
    assert any("CN=expired" in line for line in finding.evidence)


def test_fault_a_certificate_for_another_name(broker: FaultyBroker) -> None:
    finding = the(diagnosed(broker.at("RENAMED"), broker.trust), "tls-wrong-name")
    assert "is for other.example.com, not for 127.0.0.1" in finding.what


def test_fault_a_certificate_of_an_unknown_authority(broker: FaultyBroker) -> None:
    finding = the(diagnosed(broker.at("STRANGE"), broker.trust), "tls-untrusted")
    assert "ssl.truststore.location" in finding.repair


def test_fault_a_certificate_that_expires_soon(broker: FaultyBroker) -> None:
    finding = the(diagnosed(broker.at("ENDING"), broker.trust), "tls-expires-soon", Severity.WARNING)
    assert "expires in 5 days" in finding.what


def test_fault_a_client_without_the_certificate_that_the_broker_requires(broker: FaultyBroker) -> None:
    finding = the(diagnosed(broker.at("MUTUAL"), broker.trust), "tls-client-certificate")
    assert "ssl.keystore.location" in finding.repair


def test_fault_a_wrong_password(broker: FaultyBroker) -> None:
    assert "sasl.jaas.config" in the(diagnosed(broker.at("LOGIN"), login("wrong")), "login-refused").repair


def test_fault_a_wrong_password_of_a_mechanism_whose_refusal_has_its_name(broker: FaultyBroker) -> None:
    """As that of SCRAM: `invalid credentials with SASL mechanism SCRAM-SHA-256`."""
    entry = login("wrong")["sasl.jaas.config"].replace("plain.Plain", "scram.Scram")
    settings = {**login("wrong", "SCRAM-SHA-256"), "sasl.jaas.config": entry}
    assert "sasl.jaas.config" in the(diagnosed(broker.at("SCRAM"), settings), "login-refused").repair


def test_fault_a_login_at_a_listener_without_logins(broker: FaultyBroker) -> None:
    assert "security.protocol" in the(diagnosed(broker.at("OPEN"), login("alice-secret")), "login-failed").repair


def test_fault_a_mechanism_that_the_broker_does_not_have(broker: FaultyBroker) -> None:
    settings = {**login("alice-secret", "SCRAM-SHA-256"), "sasl.jaas.config": login("alice-secret")["sasl.jaas.config"]
                .replace("plain.Plain", "scram.Scram")}  # fmt: skip
    assert "sasl.enabled.mechanisms" in the(diagnosed(broker.at("LOGIN"), settings), "login-mechanism").repair


def test_fault_a_client_without_login_where_one_is_expected(broker: FaultyBroker) -> None:
    assert "SASL_PLAINTEXT" in the(diagnosed(broker.at("LOGIN")), "login-expected").repair


def test_fault_the_port_of_another_service(zookeeper: ZookeeperServer) -> None:
    finding = the(diagnosed(zookeeper.connect, timeout_s=2.0), "no-kafka")
    assert "ZooKeeper's port" in finding.repair


def test_fault_an_advertised_address_that_cannot_be_reached(broker: FaultyBroker) -> None:
    finding = the(diagnosed(broker.at("MOVED")), "advertised-unreachable")
    assert f"Broker 0 advertises 127.0.0.1:{broker.closed}" in finding.what
    assert "advertised.listeners" in finding.repair
    assert "server.properties of broker 0" in finding.repair


def test_fault_an_advertised_name_that_is_unknown_here(broker: FaultyBroker) -> None:
    finding = the(diagnosed(broker.at("NAMED")), "advertised-unreachable")
    assert "the name is not known here" in finding.what
    assert f"advertised.listeners=LISTENER://127.0.0.1:{broker.ports['NAMED']}" in finding.repair
