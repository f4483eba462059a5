"""The broker that is sent changed frames: its listeners, its users and what they may do, its log.

The changed frames come from a user who may use two topics, one that it may create and delete, a few groups and one
transactional id, but nothing of the cluster: who may write others' metadata would keep them from being served anyway.
State of clients is kept for a short time only, so that memory that grows is memory that is not released.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.security.failed_logins import PASSWORD, USER
from benchmarks.security.fuzzing.good_client import GOOD_PASSWORD, GOOD_TOPIC, GOOD_USER
from benchmarks.servers import Server
from kafka_py.base.ids import TopicPartition
from kafka_py.clients import Consumer, Producer
from kafka_py.clients.admin.client import AdminClient
from kafka_py.clients.admin.credentials import ScramPassword
from kafka_py.net.principal import ANONYMOUS
from kafka_py.security.acls.bindings import AclBinding, AclEntry, ResourcePattern
from kafka_py.security.acls.vocabulary import Operation, Permission, ResourceType
from kafka_py.security.sasl.server_settings import MODULES
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.certificate_files import CertificateFiles
from kafka_py.testing.processes import free_port

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
TOPICS = {"fuzz-a": 2, "fuzz-b": 2, GOOD_TOPIC: 1}
SETTINGS = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": str(ANONYMOUS),
    "connection.failed.authentication.delay.ms": "0",
    "connections.max.reauth.ms": "604800000",
    "sasl.enabled.mechanisms": ",".join(MECHANISMS),
    "log.segment.bytes": "1000000",
    "log.retention.bytes": "1000000",
    "log.retention.check.interval.ms": "10000",
    "offsets.topic.segment.bytes": "4000000",
    "transaction.state.log.segment.bytes": "4000000",
    "offsets.retention.minutes": "1",
    "offsets.retention.check.interval.ms": "10000",
    "transactional.id.expiration.ms": "60000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "10000",
    "group.min.session.timeout.ms": "1",
    "group.max.session.timeout.ms": "2000",
}
LIMITS = {
    "connection.failed.authentication.delay.ms": "100",
    "max.connection.creation.rate": "20",
}
"""What an operator limits: failed logins are answered late, as by default, and new connections are few."""

REQUEST_PERCENTAGE = 5.0
"""What the user of the changed frames may then have of the broker's threads."""

_MAY_USE = (
    Operation.READ, Operation.WRITE, Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS,
)  # fmt: skip
_OWN = {
    ResourceType.GROUP: ("fuzz-group", "other"),
    ResourceType.TRANSACTIONAL_ID: ("fuzz-transactions",),
    ResourceType.TOPIC: ("new-topic",),
}


class Target(NamedTuple):
    """port: with logins. tls_port: with TLS and logins. log: what the broker logs."""

    server: Server
    port: int
    tls_port: int
    log: Path


@contextlib.contextmanager
def running_target(connect: str, directory: Path, *, is_limited: bool = False) -> Iterator[Target]:
    """A broker with its topics and users. connect: its ZooKeeper. is_limited: with LIMITS and REQUEST_PERCENTAGE."""
    ports = {"PLAINTEXT": free_port(), "SASL_PLAINTEXT": free_port(), "SASL_SSL": free_port()}
    settings = {
        **SETTINGS,
        **(LIMITS if is_limited else {}),
        **CertificateFiles(directory / "certificates").broker(),
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
    }
    users = f'user_{USER}="{PASSWORD}" user_{GOOD_USER}="{GOOD_PASSWORD}"'
    for listener in ("sasl_plaintext", "sasl_ssl"):
        for mechanism in MECHANISMS:
            name = f"listener.name.{listener}.{mechanism.lower()}.sasl.jaas.config"
            settings[name] = f"{MODULES[mechanism]} required{' ' + users if mechanism == 'PLAIN' else ''};"
    with BrokerProcess(directory, connect, port=ports["PLAINTEXT"], settings=settings) as broker:
        for topic, partitions in TOPICS.items():
            configs = {"retention.bytes": "-1"} if topic == GOOD_TOPIC else {}
            broker.create_topic(topic, partitions, configs)
        _introduce(broker.bootstrap)
        if is_limited:
            with AdminClient({"bootstrap.servers": broker.bootstrap}) as admin:
                admin.alter_client_quotas({(("user", USER),): {"request_percentage": REQUEST_PERCENTAGE}}).all()
        _make_internal_topics(broker.bootstrap)
        server = Server("ours", broker.popen, broker.port, directory)
        yield Target(server, ports["SASL_PLAINTEXT"], ports["SASL_SSL"], directory / "server.log")


def _introduce(bootstrap: str) -> None:
    """Makes the users' credentials and access control lists."""
    bindings = [_allow(USER, kind, name, Operation.ALL) for kind, names in _OWN.items() for name in names]
    shared = [name for name in TOPICS if name != GOOD_TOPIC]
    bindings += [_allow(USER, ResourceType.TOPIC, name, each) for name in shared for each in _MAY_USE]
    bindings.append(_allow(GOOD_USER, ResourceType.TOPIC, GOOD_TOPIC, Operation.ALL))
    with AdminClient({"bootstrap.servers": bootstrap}) as admin:
        admin.create_acls(bindings).all()
        passwords = {each: ScramPassword(PASSWORD) for each in MECHANISMS if each.startswith("SCRAM")}
        admin.alter_user_scram_credentials({USER: passwords}).all()


def _make_internal_topics(bootstrap: str) -> None:
    """Without them, requests for groups and transactions would not get past the question where their coordinator is."""
    settings = {"bootstrap.servers": bootstrap}
    with Producer({**settings, "transactional.id": "warm-up"}) as producer:
        producer.init_transactions()
    with Consumer({**settings, "group.id": "warm-up"}) as consumer:
        consumer.commit({TopicPartition(GOOD_TOPIC, 0): 0})


def _allow(user: str, kind: ResourceType, name: str, operation: Operation) -> AclBinding:
    return AclBinding(ResourcePattern(kind, name), AclEntry(f"User:{user}", "*", operation, Permission.ALLOW))


def faults_in(log: Path) -> list[str]:
    """The lines of a broker's log that say that something was not foreseen."""
    with log.open(errors="replace") as lines:
        return [line.rstrip() for line in lines if "ERROR" in line or "Traceback" in line or "FATAL" in line]
