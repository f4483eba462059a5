"""Settings of brokers that contradict one another, or are dangerous."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_py.operations.doctor.examination import Examination
from kafka_py.operations.doctor.findings import DoctorFinding, Severity, shortened

SHOULD_AGREE = (
    "auto.create.topics.enable", "auto.leader.rebalance.enable", "default.replication.factor", "delete.topic.enable",
    "group.max.session.timeout.ms", "group.min.session.timeout.ms", "inter.broker.protocol.version",
    "log.cleanup.policy", "log.message.format.version", "log.message.timestamp.type", "log.retention.bytes",
    "log.retention.hours", "log.retention.minutes", "log.retention.ms", "log.segment.bytes", "message.max.bytes",
    "min.insync.replicas", "num.partitions", "offsets.retention.minutes", "offsets.topic.num.partitions",
    "offsets.topic.replication.factor", "replica.lag.time.max.ms", "sasl.mechanism.inter.broker.protocol",
    "security.inter.broker.protocol", "transaction.max.timeout.ms", "transaction.state.log.min.isr",
    "transaction.state.log.num.partitions", "transaction.state.log.replication.factor",
    "transactional.id.expiration.ms", "unclean.leader.election.enable", "zookeeper.connect",
)  # fmt: skip
"""Any broker may become controller, leader or coordinator: with other values the cluster then behaves otherwise."""


def _servers_of(connect: str | None) -> str | None:
    """A connect string as a set: the order of its servers has no meaning."""
    if connect is None:
        return None
    servers, slash, chroot = connect.partition("/")
    return ",".join(sorted(each.strip() for each in servers.split(","))) + slash + chroot.rstrip("/")


def settings_that_differ(seen: Examination) -> Iterator[DoctorFinding]:
    """Values that should be the same on every broker."""
    lines = []
    for name in SHOULD_AGREE:
        values: dict[str, list[int]] = {}
        for broker, settings in sorted(seen.broker_settings.items()):
            value = settings.get(name)
            if name == "zookeeper.connect":
                value = _servers_of(value)
            if value is not None:
                values.setdefault(value, []).append(broker)
        if len(values) > 1:
            shown = "; ".join(f"{value!r} on broker {', '.join(map(str, who))}" for value, who in values.items())
            lines.append(f"{name}: {shown}")
    if lines:
        yield DoctorFinding(
            "settings-differ",
            Severity.WARNING,
            f"{len(lines)} setting{'s have' if len(lines) > 1 else ' has'} different values on different brokers.",
            "Any broker may become controller, leader or coordinator; what then happens depends on which one it is.",
            "Use the same value in every server.properties, or set it for all of them: `kafka-configs.sh "
            f"--bootstrap-server {seen.servers} --alter --entity-type brokers --entity-default --add-config NAME=VALUE`"
            " where the setting can be changed at run time.",
            shortened(lines),
        )


def unclean_election(seen: Examination) -> Iterator[DoctorFinding]:
    """Brokers or topics that let a replica lead that is not in sync."""
    name = "unclean.leader.election.enable"
    brokers = [broker for broker in sorted(seen.broker_settings) if seen.setting(broker, name) == "true"]
    topics = []
    if not brokers:  # else topics have it by default, according to whichever broker described them
        topics = [topic for topic, settings in sorted(seen.topic_settings.items()) if settings.get(name) == "true"]
    if brokers or topics:
        where = "--entity-type topics --entity-name TOPIC" if not brokers else "--entity-type brokers --entity-default"
        yield DoctorFinding(
            "unclean-election",
            Severity.WARNING,
            f"{name} is true{f' for {len(topics)} topics' if topics else ''}.",
            "A replica that has not copied everything may become leader: acknowledged records are lost without an "
            "error.",
            f"`kafka-configs.sh --bootstrap-server {seen.servers} --alter {where} --add-config {name}=false`",
            shortened([*(f"broker {broker}" for broker in brokers), *(f"topic {topic}" for topic in topics)]),
        )


def auto_creation(seen: Examination) -> Iterator[DoctorFinding]:
    """Topics that come into being by a misspelt name."""
    name = "auto.create.topics.enable"
    brokers = [broker for broker in sorted(seen.broker_settings) if seen.setting(broker, name) == "true"]
    if brokers:
        yield DoctorFinding(
            "auto-creation",
            Severity.NOTE,
            f"{name} is true.",
            "A client with a misspelt name creates a topic, with the brokers' default partitions and replicas.",
            f"Set {name}=false in every server.properties and restart the brokers.",
            (f"broker {', '.join(map(str, brokers))}",),
        )
