"""How partitions are spread: leaders and replicas over brokers, replicas over racks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kafka_py.operations.cluster_view import derived
from kafka_py.operations.doctor.examination import Examination
from kafka_py.operations.doctor.findings import DoctorFinding, Severity, shortened

TOLERATED = 0.3
"""A broker may have this part more or less than the average."""
LEAST = 3
"""And as many partitions: in small clusters a few do not matter."""
CHANCE = 3.0
"""And this many times the square root of the average: the first broker of each new topic is drawn at random."""
NOT_PREFERRED = 0.1
"""As leader.imbalance.per.broker.percentage."""


def is_skewed(counts: Mapping[int, int]) -> bool:
    """Whether one broker has far more or fewer than the average, and more than chance explains."""
    if len(counts) < 2:
        return False
    average = sum(counts.values()) / len(counts)
    tolerated = max(LEAST, TOLERATED * average, CHANCE * average**0.5)
    return any(abs(count - average) > tolerated for count in counts.values())


def _counted(counts: Mapping[int, int], what: str) -> tuple[str, ...]:
    return shortened([f"broker {broker}: {count} {what}" for broker, count in counts.items()])


def preferred_leaders(seen: Examination) -> Iterator[DoctorFinding]:
    """Partitions that are led by another replica than the first, with that one in sync."""
    snapshot = seen.snapshot
    if snapshot is None:
        return
    every = list(derived.partitions(snapshot))
    away = [
        each for each in every
        if not derived.is_preferred_leader(each) and each.replicas[0] in each.isr and each.replicas[0] in snapshot.nodes
    ]  # fmt: skip
    if len(away) > max(LEAST, NOT_PREFERRED * len(every)):
        yield DoctorFinding(
            "leaders-not-preferred",
            Severity.WARNING,
            f"{len(away)} of {len(every)} partitions are not led by their preferred replica.",
            "After a restart the load stays on the other brokers until leaders move back.",
            f"`kafka-leader-election.sh --bootstrap-server {seen.servers} --election-type preferred "
            "--all-topic-partitions`; auto.leader.rebalance.enable=true does it by itself.",
            _counted(derived.leaders_per_broker(snapshot), "leaders"),
        )


def skew(seen: Examination) -> Iterator[DoctorFinding]:
    """Brokers with far more leaders or replicas than others."""
    snapshot = seen.snapshot
    if snapshot is None:
        return
    preferred = dict.fromkeys(snapshot.nodes, 0)
    for each in derived.partitions(snapshot):
        if each.replicas and each.replicas[0] in preferred:
            preferred[each.replicas[0]] += 1
    replicas = {broker: count for broker, count in derived.replicas_per_broker(snapshot).items()
                if broker in snapshot.nodes}  # fmt: skip
    repair = (
        f"`kafka-py rebalance --bootstrap-server {seen.servers}` proposes moves, or write a plan with "
        f"`kafka-reassign-partitions.sh --bootstrap-server {seen.servers} --generate`."
    )
    if is_skewed(replicas):
        yield DoctorFinding(
            "replica-skew",
            Severity.WARNING,
            "The replicas are spread unevenly over the brokers.",
            "The fullest broker decides how much the cluster can hold; a broker that was added gets nothing by itself.",
            repair,
            _counted(replicas, "replicas"),
        )
    elif is_skewed(preferred):
        yield DoctorFinding(
            "leader-skew",
            Severity.WARNING,
            "The preferred leaders are spread unevenly over the brokers.",
            "Clients read and write through leaders: the busiest broker decides how fast the cluster is.",
            repair,
            _counted(preferred, "preferred leaders"),
        )


def racks(seen: Examination) -> Iterator[DoctorFinding]:
    """Brokers without a rack beside such with one, and partitions that are in one rack only."""
    snapshot = seen.snapshot
    if snapshot is None:
        return
    racks_of = {broker: node.rack for broker, node in snapshot.nodes.items()}
    without = sorted(broker for broker, rack in racks_of.items() if not rack)
    if 0 < len(without) < len(racks_of):
        yield DoctorFinding(
            "racks-missing",
            Severity.WARNING,
            f"Broker {', '.join(map(str, without))} has no broker.rack, others have one.",
            "Topics can then not be created with replicas in different racks: the broker refuses to, or ignores racks.",
            "Set broker.rack in server.properties of every broker and restart them.",
            tuple(f"broker {broker}: {rack or 'no rack'}" for broker, rack in sorted(racks_of.items())),
        )
        return
    if without or len(set(racks_of.values())) < 2:
        return
    in_one = [
        f"{each.topic_partition}: replicas {list(each.replicas)}, all in {racks_of[each.replicas[0]]}"
        for each in derived.partitions(snapshot)
        if len(each.replicas) > 1
        and all(broker in racks_of for broker in each.replicas)
        and len({racks_of[broker] for broker in each.replicas}) == 1
    ]
    if in_one:
        yield DoctorFinding(
            "racks-not-used",
            Severity.WARNING,
            f"{len(in_one)} partition{'s have' if len(in_one) > 1 else ' has'} all replicas in one rack.",
            "A fault of the rack takes all replicas at once.",
            f"`kafka-py rebalance --bootstrap-server {seen.servers}` spreads replicas over racks.",
            shortened(in_one),
        )
