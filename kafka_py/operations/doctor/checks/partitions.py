"""Partitions that cannot be used, or will not after the next fault: leaders, replicas, in-sync sets."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_py.clients.metadata import PartitionInfo
from kafka_py.operations.cluster_view import derived
from kafka_py.operations.doctor.examination import Examination, whole_number
from kafka_py.operations.doctor.findings import DoctorFinding, Severity, shortened


def _described(partition: PartitionInfo) -> str:
    return (
        f"{partition.topic_partition}: leader {partition.leader if partition.leader >= 0 else 'none'}, replicas "
        f"{list(partition.replicas)}, in sync {list(partition.isr)}"
    )


def min_isr(seen: Examination, topic: str) -> int | None:
    """min.insync.replicas of a topic; None if it is not known."""
    return whole_number(seen.topic_settings.get(topic, {}).get("min.insync.replicas"))


def offline_partitions(seen: Examination) -> Iterator[DoctorFinding]:
    """Partitions without leader."""
    snapshot = seen.snapshot
    if snapshot is None:
        return
    offline = [each for each in derived.partitions(snapshot) if derived.is_offline(snapshot, each)]
    if offline:
        down = sorted({broker for each in offline for broker in derived.missing_replicas(snapshot, each)})
        yield DoctorFinding(
            "partitions-offline",
            Severity.ERROR,
            f"{len(offline)} partition{'s have' if len(offline) > 1 else ' has'} no leader.",
            "Nothing can be written to or read from a partition without leader.",
            f"Start the brokers {', '.join(map(str, down))} again. If their data is lost: `kafka-leader-election.sh "
            f"--bootstrap-server {seen.servers} --election-type unclean --topic TOPIC --partition N`, which loses "
            "records." if down else "Look at the controller's log (state-change.log) for why no leader is elected.",
            shortened([_described(each) for each in offline]),
        )  # fmt: skip


def under_replicated(seen: Examination) -> Iterator[DoctorFinding]:
    """Partitions with a leader whose in-sync set lacks replicas, but is not below its minimum."""
    snapshot = seen.snapshot
    if snapshot is None:
        return
    found = [
        each for each in derived.partitions(snapshot)
        if derived.is_under_replicated(each) and not derived.is_offline(snapshot, each)
    ]  # fmt: skip
    if not found:
        return
    lagging = sorted({broker for each in found for broker in each.replicas if broker not in each.isr})
    down = [broker for broker in lagging if broker not in snapshot.nodes]
    if down:
        repair = f"Start broker {', '.join(map(str, down))} again; it catches up by itself."
    else:
        repair = (
            f"The brokers {', '.join(map(str, lagging))} run but do not keep up: look at their disks, network and "
            "num.replica.fetchers, and for stopped replicas at their logs (`kafka-log-dirs.sh --describe`)."
        )
    yield DoctorFinding(
        "partitions-under-replicated",
        Severity.WARNING,
        f"{len(found)} partition{'s lack' if len(found) > 1 else ' lacks'} replicas in the in-sync set.",
        "What only the remaining replicas hold is lost with them.",
        repair,
        shortened([_described(each) for each in found]),
    )


def below_min_isr(seen: Examination) -> Iterator[DoctorFinding]:
    """Partitions that refuse acks=all now."""
    snapshot = seen.snapshot
    if snapshot is None:
        return
    found = []
    for each in derived.partitions(snapshot):
        least = min_isr(seen, each.topic)
        if least is not None and len(each.isr) < least and not derived.is_offline(snapshot, each):
            found.append(f"{_described(each)}, min.insync.replicas {least}")
    if found:
        yield DoctorFinding(
            "partitions-below-min-isr",
            Severity.ERROR,
            f"{len(found)} partition{'s have' if len(found) > 1 else ' has'} fewer replicas in sync than "
            "min.insync.replicas.",
            "Producers with acks=all get NOT_ENOUGH_REPLICAS, and transactions and commits of groups may stop.",
            "Bring the missing brokers back. Lowering min.insync.replicas of the topic gives writes back, but risks "
            f"loss: `kafka-configs.sh --bootstrap-server {seen.servers} --alter --entity-type topics --entity-name "
            "TOPIC --add-config min.insync.replicas=1`.",
            shortened(found),
        )


def min_isr_and_factor(seen: Examination) -> Iterator[DoctorFinding]:
    """Topics whose minimum leaves no room for a fault, or can never be met."""
    if seen.snapshot is None:
        return
    tight, impossible = [], []
    for name, topic in seen.snapshot.topics.items():
        least = min_isr(seen, name)
        factor = min((len(each.replicas) for each in topic.partitions), default=0)
        if least is None or not factor:
            continue
        if least > factor:
            impossible.append(f"{name}: min.insync.replicas {least}, {factor} replicas")
        elif least == factor > 1:
            tight.append(f"{name}: min.insync.replicas {least}, {factor} replicas")
    repair = (
        f"`kafka-configs.sh --bootstrap-server {seen.servers} --alter --entity-type topics --entity-name TOPIC "
        "--add-config min.insync.replicas=N` with N one below the replication factor, or add replicas "
        "(`kafka-reassign-partitions.sh`)."
    )
    if impossible:
        yield DoctorFinding(
            "min-isr-above-factor",
            Severity.ERROR,
            f"{len(impossible)} topic{'s need' if len(impossible) > 1 else ' needs'} more replicas in sync than there "
            "are.",
            "Every producer with acks=all gets NOT_ENOUGH_REPLICAS.",
            repair,
            shortened(impossible),
        )
    if tight:
        yield DoctorFinding(
            "min-isr-equals-factor",
            Severity.WARNING,
            f"{len(tight)} topic{'s need' if len(tight) > 1 else ' needs'} all replicas in sync.",
            "One broker that is restarted stops every producer with acks=all.",
            repair,
            shortened(tight),
        )
