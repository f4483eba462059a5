"""One cluster of our broker and Apache's with everything closed: SASL_SSL for clients and between them, ACLs, and
znodes that only they may write. What is written by one of them, with either one's commands, holds at the other.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, pkcs12

from kafka_py.base.properties import format_properties
from kafka_py.cli.local_cluster.secured_socket import SecuredConnections
from kafka_py.cli.local_cluster.security import ADMIN, PLAIN, SCRAM_256, SCRAM_512, ClusterSecurity, make
from kafka_py.clients.admin.client import AdminClient
from kafka_py.clients.errors import AuthenticationError
from kafka_py.clients.producer.producer import Producer
from kafka_py.testing.broker import AnyBroker, BrokerProcess
from kafka_py.testing.peers.apache import QUICK_JVM, ApacheBroker, Jars
from kafka_py.testing.processes import ROOT, free_port
from kafka_py.testing.secured_zookeeper import SecuredZookeeper, login_file
from kafka_py.testing.topics import ask_metadata, create_topic
from kafka_py.testing.znodes import Znodes
from kafka_py.zk.secured.access_lists import CREATOR_ONLY, OPEN, access_list_of
from kafka_py.zk.secured.digest_md5 import DigestMd5
from kafka_py.zk.secured.protection import SessionProtection

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ZOOKEEPER_PASSWORD = "zookeeper-secret"
CREATOR, READERS, EVERYONE = "sasl:broker:cdrwa", "world:anyone:r", "world:anyone:cdrwa"
LOGGED_IN = SessionProtection(login=DigestMd5("broker", ZOOKEEPER_PASSWORD))
MECHANISMS = (SCRAM_512, SCRAM_256, PLAIN)
SETTINGS = {
    "zookeeper.set.acl": "true",
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "delegation.token.master.key": "token-secret",
    "password.encoder.secret": "encoder-secret",
    "inter.broker.protocol.version": "2.6",
    "auto.leader.rebalance.enable": "false",
}
CLASSES = {
    "kafka-configs.sh": "kafka.admin.ConfigCommand", "kafka-acls.sh": "kafka.admin.AclCommand",
    "kafka-delegation-tokens.sh": "kafka.admin.DelegationTokenCommand",
}  # fmt: skip
TOOLS = ("ours", "apache")


def until(condition: Callable[[], object], timeout_s: float = 90) -> None:
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.1)


class Closed:
    """Broker 0 is ours, broker 1 Apache's. security: certificates and users. options: KAFKA_OPTS of brokers."""

    def __init__(self, folder: Path, connect: str, options: str, jars: Jars) -> None:
        self.folder, self.connect, self.jars = folder, connect, jars
        users = {ADMIN: "admin-secret", "broker": "broker-secret"}
        self.security: ClusterSecurity = make(folder / "security", "SASL_SSL", users, MECHANISMS)
        self.options = options
        self.brokers: list[AnyBroker] = []
        connection = SecuredConnections(self.security.client_settings(ADMIN))
        for number in (0, 1):
            port = free_port()
            store = shutil.copy(self.security.folder / "broker.p12", folder / f"{number}.p12")
            settings = {
                **self.security.broker_settings(), **SETTINGS, "listeners": f"SASL_SSL://127.0.0.1:{port}",
                "listener.name.sasl_ssl.ssl.keystore.location": str(store),
            }  # fmt: skip
            where = folder / str(number)
            broker: AnyBroker
            if number == 0:
                broker = BrokerProcess(where, connect, broker_id=number, port=port, settings=settings)
                broker.environment["KAFKA_OPTS"] = options
            else:
                jvm = [*QUICK_JVM, *options.split()]
                broker = ApacheBroker(where, connect, broker_id=number, port=port, settings=settings, jvm=jvm)
            broker.connect = connection
            self.brokers.append(broker)

    def start(self) -> None:
        for broker in self.brokers:
            broker.launch()
        for broker in self.brokers:
            broker.wait_started(120)

    def at(self, number: int, settings: Mapping[str, str]) -> dict[str, str]:
        """Of a client that begins at one broker."""
        return {**settings, "bootstrap.servers": self.brokers[number].bootstrap}

    def run(self, tool: str, script: str, *words: str) -> str:
        """Runs either one's command; what it printed."""
        if tool == "ours":
            environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "KAFKA_OPTS": self.options}
            command = [str(ROOT / "bin" / script), *words]
        else:
            environment = {}
            command = self.jars.command(CLASSES[script], *words, jvm=[*QUICK_JVM, *self.options.split()])
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=120, check=False, env=environment or None
        )
        assert done.returncode == 0, (tool, words, done)
        return done.stdout

    def command(self, tool: str, number: int, script: str, *words: str, login: Mapping[str, str] | None = None) -> str:
        """A command that asks a broker, as the administrator unless a login is given."""
        settings = self.security.client_settings(ADMIN) if login is None else login
        text = format_properties(settings)
        file = self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:12]}.properties"
        file.write_text(text)
        server = ("--bootstrap-server", self.brokers[number].bootstrap, "--command-config", str(file))
        return self.run(tool, script, *server, *words)

    def scram(self, user: str, password: str, mechanism: str = SCRAM_512, more: str = "") -> dict[str, str]:
        module = "org.apache.kafka.common.security.scram.ScramLoginModule"
        entry = f'{module} required username="{user}" password="{password}"{more};'
        return {**self.security.client_settings(ADMIN), "sasl.mechanism": mechanism, "sasl.jaas.config": entry}

    def may_log_in(self, number: int, login: Mapping[str, str]) -> bool:
        try:
            with AdminClient(self.at(number, login)) as admin:
                admin.list_topics()
                return True
        except AuthenticationError:
            return False

    def may_write(self, login: Mapping[str, str]) -> list[bool]:
        """To the partition that each broker leads."""
        found = []
        with Producer({**self.at(0, login), "acks": "all", "max.block.ms": 30_000}) as producer:
            for partition in (0, 1):
                try:
                    producer.send("t", b"v", partition=partition).result(30)
                    found.append(True)
                except Exception as error:
                    assert "AUTHORIZATION_FAILED" in str(error), error
                    found.append(False)
        return found


@pytest.fixture
def closed(apache_kafka: Jars, tmp_path: Path) -> Iterator[Closed]:
    with SecuredZookeeper(tmp_path / "zookeeper", {"broker": ZOOKEEPER_PASSWORD}) as zookeeper:
        options = login_file(tmp_path / "jaas.conf", "broker", ZOOKEEPER_PASSWORD)
        with Znodes(zookeeper.connect, LOGGED_IN) as znodes:
            znodes.set("/closed", b"")
        cluster = Closed(tmp_path, f"{zookeeper.connect}/closed", options, apache_kafka)
        add = ("--alter", "--entity-type", "users", "--entity-name")
        for tool, user in zip(TOOLS, ("broker", ADMIN), strict=True):
            given = f"SCRAM-SHA-512=[iterations=4096,password={user}-secret]"
            cluster.run(tool, "kafka-configs.sh", "--zookeeper", cluster.connect, *add, user, "--add-config", given)
        try:
            cluster.start()
            servers = [broker.bootstrap for broker in cluster.brokers]
            create_topic(servers, "t", 2, replication_factor=2, timeout_s=60, connect=cluster.brokers[0].connect)
            yield cluster
        finally:
            for broker in cluster.brokers:
                broker.kill()


def in_sync(cluster: Closed) -> bool:
    [topic] = ask_metadata(cluster.brokers[0].bootstrap, ["t"], connect=cluster.brokers[0].connect).topics
    leaders = {each.leader_id for each in topic.partitions}
    return leaders == {0, 1} and all(len(each.isr_nodes) == 2 for each in topic.partitions)


def test_what_one_writes_holds_at_the_other(closed: Closed) -> None:
    until(lambda: in_sync(closed))
    logins = users_by_either(closed)
    acls_by_either(closed, logins)
    tokens_by_either(closed, logins)
    stores_by_either(closed)
    with Znodes(closed.connect, LOGGED_IN) as znodes:
        lists = {path: znodes.access(path) for path in znodes.tree() if path != "/"}
    assert {path: found for path, found in lists.items() if found != listed(path)} == {}
    assert {"/delegation_token/tokens", "/config/users/bob", "/kafka-acl/Topic/t", "/brokers/ids/1"} <= set(lists)
    for broker in closed.brokers:
        broker.stop()
    closed.start()
    until(lambda: closed.may_write(logins["bob"]) == [True, True])
    for secret in ("admin-secret", "encoder-secret", "token-secret", "bob-secret", closed.security.store_password):
        assert secret not in closed.brokers[0].output()


def listed(path: str) -> list[str]:
    entries = access_list_of(path, protected=True)
    return [EVERYONE] if entries == OPEN else [CREATOR] if entries == CREATOR_ONLY else sorted([CREATOR, READERS])


def users_by_either(cluster: Closed) -> dict[str, dict[str, str]]:
    """bob by our command at Apache's broker, carol by Apache's at ours; a change and a deletion by the other one."""
    change = ("--alter", "--entity-type", "users", "--entity-name")
    logins = {}
    for user, tool, number in (("bob", "ours", 1), ("carol", "apache", 0)):
        logins[user] = cluster.scram(user, f"{user}-secret")
        given = ("--add-config", f"SCRAM-SHA-512=[iterations=8192,password={user}-secret]")
        cluster.command(tool, number, "kafka-configs.sh", *change, user, *given)
        other = TOOLS[1 - TOOLS.index(tool)]
        for mechanism, password in ((SCRAM_256, "later"), (SCRAM_256, "")):
            added = "--add-config", f"{mechanism}=[password={password}]"
            changed = added if password else ("--delete-config", mechanism)
            cluster.command(other, 1 - number, "kafka-configs.sh", *change, user, *changed)
            login = cluster.scram(user, "later", mechanism)
            for at in (0, 1):
                until(lambda at=at, login=login, good=bool(password): cluster.may_log_in(at, login) == good)
                until(lambda at=at, user=user: cluster.may_log_in(at, logins[user]))
                assert not cluster.may_log_in(at, cluster.scram(user, "wrong"))
    return logins


def acls_by_either(cluster: Closed, logins: Mapping[str, Mapping[str, str]]) -> None:
    """Added by one command at one broker, removed by the other at the other, literal and prefixed, and added again."""
    for user, tool, number in (("bob", "apache", 0), ("carol", "ours", 1)):
        assert cluster.may_write(logins[user]) == [False, False]
        for kind in ("prefixed", "literal"):
            words = ("--topic", "t", "--resource-pattern-type", kind, "--allow-principal", f"User:{user}",
                     "--operation", "Write")  # fmt: skip
            cluster.command(tool, number, "kafka-acls.sh", "--add", *words)
            until(lambda user=user: cluster.may_write(logins[user]) == [True, True])
            which = ("--list", "--topic", "t", "--resource-pattern-type", "any")
            for at, each in ((0, "ours"), (0, "apache"), (1, "ours"), (1, "apache")):
                assert f"principal=User:{user}" in cluster.command(each, at, "kafka-acls.sh", *which)
            if kind == "prefixed":
                other = TOOLS[1 - TOOLS.index(tool)]
                cluster.command(other, 1 - number, "kafka-acls.sh", "--remove", "--force", *words)
                until(lambda user=user: cluster.may_write(logins[user]) == [False, False])


def tokens_by_either(cluster: Closed, logins: Mapping[str, Mapping[str, str]]) -> None:
    """Made by one command at one broker; used at both, renewed and ended by the other at the other."""
    script = "kafka-delegation-tokens.sh"
    for user, tool, number in (("bob", "ours", 1), ("carol", "apache", 0)):
        made = cluster.command(
            tool, number, script, "--create", "--max-life-time-period", "-1", "--renewer-principal", "User:bob",
            login=logins[user],
        )  # fmt: skip
        (row,) = [line for line in made.splitlines() if re.search(r"==\s+User:", line)]
        token_id, hmac = row.split()[:2]
        login = cluster.scram(token_id, hmac, SCRAM_256, ' tokenauth="true"')
        for at in (0, 1):
            until(lambda at=at, login=login: cluster.may_log_in(at, login))
        assert cluster.may_write(login) == [True, True]
        other = TOOLS[1 - TOOLS.index(tool)]
        shown = cluster.command(other, 1 - number, script, "--describe", login=logins[user])
        assert token_id in shown and hmac in shown
        ends = ("--renew", "--renew-time-period", "-1"), ("--expire", "--expiry-time-period", "-1")
        for words in ends:
            cluster.command(other, 1 - number, script, *words, "--hmac", hmac, login=logins["bob"])
        for at in (0, 1):
            until(lambda at=at, login=login: not cluster.may_log_in(at, login))


def certificate(broker: AnyBroker) -> str:
    return ssl.get_server_certificate(("127.0.0.1", broker.port))


def certificate_in(store: str | Path, password: str) -> str:
    _, found, _ = pkcs12.load_key_and_certificates(Path(store).read_bytes(), password.encode())
    assert found is not None
    return found.public_bytes(Encoding.PEM).decode()


def stores_by_either(cluster: Closed) -> None:
    """Each gets a new key store while it runs, and encrypts its password; then the one that the other has encrypted."""
    folder = cluster.security.folder
    shown: dict[int, str] = {}
    prefix = "listener.name.sasl_ssl.ssl"
    for number, tool in ((0, "apache"), (1, "ours")):
        again = make(folder, "SASL_SSL", (), MECHANISMS)
        store = shutil.copy(folder / "broker.p12", cluster.folder / f"new-{number}.p12")
        settings = {f"{prefix}.keystore.type": "PKCS12", f"{prefix}.keystore.location": str(store),
                    f"{prefix}.keystore.password": again.store_password,
                    f"{prefix}.key.password": again.store_password}  # fmt: skip
        given = ",".join(f"{name}={value}" for name, value in settings.items())
        cluster.command(tool, number, "kafka-configs.sh", "--alter", "--entity-type", "brokers", "--entity-name",
                        str(number), "--add-config", given)  # fmt: skip
        shown[number] = certificate_in(store, again.store_password)
        until(lambda at=number: certificate(cluster.brokers[at]) == shown[at])
        for each in TOOLS:
            described = cluster.command(each, 1 - number, "kafka-configs.sh", "--describe", "--entity-type", "brokers",
                                        "--entity-name", str(number))  # fmt: skip
            assert "new-" in described and again.store_password not in described
    assert shown[0] != shown[1]
    with Znodes(cluster.connect, LOGGED_IN) as znodes:
        paths = [f"/config/brokers/{number}" for number in (0, 1)]
        stored = [znodes.get(path) for path in paths]
        assert all(b"encryptedPassword" in each and again.store_password.encode() not in each for each in stored)
        for path, value in zip(paths, reversed(stored), strict=True):
            znodes.set(path, value)
    for broker in cluster.brokers:
        broker.stop()
    cluster.start()
    until(lambda: [certificate(broker) for broker in cluster.brokers] == [shown[1], shown[0]])
