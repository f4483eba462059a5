"""Other people's clients log in at our broker with Kerberos tickets, and our client at Apache's broker."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import aiokafka
import kafka
import pytest
from sasl_brokers import property_text

from kafka_py.clients.admin.client import AdminClient
from kafka_py.clients.admin.topics import NewTopic
from kafka_py.clients.errors import AuthenticationError
from kafka_py.clients.producer.producer import Producer
from kafka_py.testing.broker import AnyBroker, BrokerProcess
from kafka_py.testing.certificate_files import CertificateFiles
from kafka_py.testing.peers import java_clients
from kafka_py.testing.peers.apache import ApacheBroker, Jars, Unavailable, old_clients
from kafka_py.testing.peers.java_clients import JavaFailed, ToSend
from kafka_py.testing.peers.kerberos import KerberosRealm, krb5_entry
from kafka_py.testing.processes import ZookeeperServer, free_port
from kafka_py.testing.topics import ask_metadata, create_topic

TIMEOUT_S = 30
BROKER = "kafka/localhost"
RECORD = ToSend("t", 0, None, b"v", (), 1_700_000_000_000)


@pytest.fixture(scope="module")
def realm(kerberos_realm: KerberosRealm) -> KerberosRealm:
    kerberos_realm.add(BROKER, "alice", "mallory")
    kerberos_realm.change_keys("mallory")  # now the keytab is of no use
    return kerberos_realm


class At(NamedTuple):
    """A listener of a broker. files: with TLS, what its clients trust."""

    servers: str
    files: CertificateFiles | None = None

    @property
    def protocol(self) -> str:
        return "SASL_PLAINTEXT" if self.files is None else "SASL_SSL"

    @property
    def java(self) -> dict[str, str]:
        """Of Java's clients and ours."""
        return {"security.protocol": self.protocol, **({} if self.files is None else self.files.trust())}

    @property
    def librdkafka(self) -> dict[str, str]:
        trusted = {} if self.files is None else {"ssl.ca.location": str(self.files.authority_pem)}
        return {"security.protocol": self.protocol, **trusted}

    @property
    def authority(self) -> str | None:
        return None if self.files is None else str(self.files.authority_pem)


def broker_settings(realm: KerberosRealm, port: int, sasl_port: int) -> dict[str, str]:
    return {
        "listeners": f"PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://localhost:{sasl_port}",
        "security.inter.broker.protocol": "SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "connections.max.reauth.ms": "4000",
        "log.retention.ms": "-1",
        "listener.name.sasl_plaintext.gssapi.sasl.jaas.config": krb5_entry(realm.by_keytab(BROKER)),
    }


def client_settings(realm: KerberosRealm, principal: str = "alice") -> dict[str, str]:
    """Of Java's clients and ours."""
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "sasl.jaas.config": krb5_entry(realm.by_keytab(principal)),
    }


def underscored(settings: dict[str, str]) -> dict[str, str]:
    return {name.replace(".", "_"): value for name, value in settings.items()}


@pytest.fixture(scope="module")
def listeners(
    realm: KerberosRealm, kafka_zookeeper: ZookeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, At]]:
    """Of a broker of ours that asks for logins, by their protocol."""
    port, sasl_port, tls_port = free_port(), free_port(), free_port()
    files = CertificateFiles(tmp_path_factory.mktemp("certificates"))
    folder, connect = tmp_path_factory.mktemp("broker"), f"{kafka_zookeeper.connect}/kerberos-clients"
    settings = {**broker_settings(realm, port, sasl_port), **files.broker()}
    settings["listeners"] += f",SASL_SSL://localhost:{tls_port}"
    settings["listener.name.sasl_ssl.gssapi.sasl.jaas.config"] = krb5_entry(realm.by_keytab(BROKER))
    with BrokerProcess(folder, connect, port=port, settings=settings) as broker:
        create_topic([broker.bootstrap], "t", 1)
        yield {each.protocol: each for each in (At(f"localhost:{sasl_port}"), At(f"localhost:{tls_port}", files))}


@pytest.fixture(params=["SASL_PLAINTEXT", pytest.param("SASL_SSL", marks=pytest.mark.slow)])
def sasl(listeners: dict[str, At], request: pytest.FixtureRequest) -> At:
    return listeners[request.param]


def produced_by_us(at: At, settings: dict[str, str]) -> int:
    with Producer({"bootstrap.servers": at.servers, **settings, **at.java}) as producer:
        return producer.send("t", b"v").result(TIMEOUT_S).offset


def test_our_clients(realm: KerberosRealm, sasl: At, tmp_path: Path) -> None:
    assert produced_by_us(sasl, client_settings(realm)) >= 0
    with pytest.raises(AuthenticationError):
        produced_by_us(sasl, client_settings(realm, "mallory"))
    realm.kinit("alice", tmp_path / "tickets")
    cached = {"sasl.jaas.config": krb5_entry({"useTicketCache": "true", "ticketCache": tmp_path / "tickets"})}
    settings = {"bootstrap.servers": sasl.servers, **client_settings(realm), **sasl.java, **cached}
    with AdminClient(settings) as admin:
        assert "t" in admin.list_topics()


def test_kcat(realm: KerberosRealm, sasl: At, tmp_path: Path) -> None:
    """librdkafka with Cyrus SASL, which runs kinit itself."""
    program = shutil.which("kcat")
    if program is None:
        pytest.skip("no kcat")

    def listed(principal: str) -> subprocess.CompletedProcess[str]:
        cache = tmp_path / f"tickets-{principal}"
        given = {
            **sasl.librdkafka, "sasl.mechanisms": "GSSAPI", "sasl.kerberos.service.name": "kafka",
            "sasl.kerberos.principal": principal, "sasl.kerberos.keytab": str(realm.keytab(principal)),
            "sasl.kerberos.kinit.cmd": f"kinit -c {cache} -t {realm.keytab(principal)} -k {principal}",
        }  # fmt: skip
        options = [f"-X{name}={value}" for name, value in given.items()]
        return subprocess.run(
            [program, "-b", sasl.servers, "-L", "-m", "5", *options],
            env={**realm.environment, "KRB5CCNAME": f"FILE:{cache}"}, capture_output=True, text=True, timeout=TIMEOUT_S,
        )  # fmt: skip

    right = listed("alice")
    if "No provider for SASL mechanism GSSAPI" in right.stderr:
        pytest.skip("kcat without GSSAPI")
    assert right.returncode == 0, right.stderr
    assert '"t" with 1 partitions' in right.stdout
    assert listed("mallory").returncode != 0


@pytest.fixture
def no_ticket(realm: KerberosRealm) -> Iterator[None]:
    yield
    realm.tickets.unlink(missing_ok=True)


def python_settings(sasl: At) -> dict[str, Any]:
    """Of the libraries that take the ticket in the user's own cache."""
    return {"bootstrap_servers": sasl.servers, "security_protocol": sasl.protocol, "sasl_mechanism": "GSSAPI"}


def test_kafka_python(realm: KerberosRealm, sasl: At, no_ticket: None) -> None:
    def sent() -> int:
        producer = kafka.KafkaProducer(
            **python_settings(sasl), ssl_cafile=sasl.authority, bootstrap_timeout_ms=4_000, max_block_ms=4_000
        )
        try:
            return int(producer.send("t", b"v").get(TIMEOUT_S).offset)
        finally:
            producer.close(1)

    realm.kinit("alice", realm.tickets)
    assert sent() >= 0
    realm.tickets.unlink()
    with pytest.raises(Exception):  # noqa: B017  # of gssapi, or a time-out
        sent()


def test_aiokafka(realm: KerberosRealm, sasl: At, no_ticket: None) -> None:
    async def sent() -> int:
        context = None if sasl.authority is None else ssl.create_default_context(cafile=sasl.authority)
        async with aiokafka.AIOKafkaProducer(
            **python_settings(sasl), ssl_context=context, request_timeout_ms=4_000
        ) as producer:
            return int((await producer.send_and_wait("t", b"v")).offset)

    realm.kinit("alice", realm.tickets)
    assert asyncio.run(sent()) >= 0
    realm.tickets.unlink()
    with pytest.raises(Exception):  # noqa: B017  # of gssapi, or a time-out
        asyncio.run(sent())


@pytest.mark.slow
@pytest.mark.core
@pytest.mark.parametrize("release", ["apache_kafka", "newest_clients"])
def test_java(realm: KerberosRealm, sasl: At, request: pytest.FixtureRequest, release: str) -> None:
    jars: Jars = request.getfixturevalue(release)
    right, wrong = (underscored({**client_settings(realm, each), **sasl.java}) for each in ("alice", "mallory"))
    [sent] = java_clients.produce(jars, sasl.servers, [RECORD], **right)
    assert sent.offset in [each.offset for each in java_clients.consume(jars, sasl.servers, ["t:0"], **right)]
    with pytest.raises(JavaFailed):
        java_clients.produce(jars, sasl.servers, [RECORD], **wrong)


@pytest.mark.slow
def test_apaches_tools_by_their_command_config(
    realm: KerberosRealm, sasl: At, apache_kafka: Jars, tmp_path: Path
) -> None:
    file = tmp_path / "client.properties"
    file.write_text(property_text({**client_settings(realm), **sasl.java}))
    done = apache_kafka.run(
        "kafka.admin.TopicCommand", "--bootstrap-server", sasl.servers, "--command-config", str(file), "--list"
    )
    assert done.exit_code == 0 and "t" in done.stdout.split(), done


@pytest.mark.slow
def test_a_cluster_of_both_kinds_of_brokers(
    realm: KerberosRealm, kafka_zookeeper: ZookeeperServer, apache_kafka: Jars, tmp_path: Path
) -> None:
    """Each follows the other over GSSAPI; our client logs in at Apache's broker."""
    connect = f"{kafka_zookeeper.connect}/kerberos-mixed"
    ports = [(free_port(), free_port()) for _ in range(2)]
    given = [broker_settings(realm, *each) for each in ports]
    ours: AnyBroker = BrokerProcess(tmp_path / "0", connect, broker_id=0, port=ports[0][0], settings=given[0])
    apaches: AnyBroker = ApacheBroker(tmp_path / "1", connect, broker_id=1, port=ports[1][0], settings=given[1])
    with ours, apaches:
        with AdminClient({"bootstrap.servers": f"localhost:{ports[1][1]}", **client_settings(realm)}) as admin:
            admin.create_topics([NewTopic("t", replica_assignments={0: [0, 1], 1: [1, 0]})]).all()
        replicated = {**client_settings(realm), "acks": "all"}
        for partition in (0, 1):
            with Producer({"bootstrap.servers": f"localhost:{ports[1][1]}", **replicated}) as producer:
                assert producer.send("t", b"v", partition=partition).result(TIMEOUT_S).offset == 0
        ours.wait_for(lambda: in_sync(ours) == [2, 2], TIMEOUT_S, "both replicas of both partitions in sync")


def in_sync(broker: AnyBroker) -> list[int]:
    [topic] = ask_metadata(broker.bootstrap, ["t"]).topics
    return [len(each.isr_nodes) for each in topic.partitions]


@pytest.mark.slow
def test_a_java_client_of_0_9(
    realm: KerberosRealm, listeners: dict[str, At], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It knows GSSAPI alone, and sends its tokens without a handshake; its login entry is in a file."""
    try:
        jars = old_clients("0.9.0.1")
    except Unavailable as why:
        pytest.skip(str(why))
    file = tmp_path / "login.conf"
    file.write_text(f"KafkaClient {{ {krb5_entry(realm.by_keytab('alice'))} }};\n")
    java = (realm.java_option, f"-Djava.security.auth.login.config={file}",
            "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED")  # fmt: skip
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", " ".join(java))
    settings = ("security.protocol=SASL_PLAINTEXT", "sasl.kerberos.service.name=kafka")
    address = listeners["SASL_PLAINTEXT"].servers
    done = jars.run_source("OldProduce", address, *settings, stdin="none\tt\t1700000000000\t-\t76\n")
    assert done.exit_code == 0 and int(done.lines[0]) >= 0, done
