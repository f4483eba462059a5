"""The controller: there is one, and all brokers know the same."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_py.operations.doctor.examination import Examination
from kafka_py.operations.doctor.findings import DoctorFinding, Severity

KRAFT_API = 55
"""DescribeQuorum: only brokers of KRaft clusters have it, which name any broker as their controller."""


def has_controller(seen: Examination) -> Iterator[DoctorFinding]:
    """No broker has the controller role."""
    snapshot = seen.snapshot
    if snapshot is not None and snapshot.is_reached and snapshot.controller is None:
        yield DoctorFinding(
            "no-controller",
            Severity.ERROR,
            "The cluster has no controller.",
            "Without one no leader is elected, no topic is created, and a broker that fails is not replaced.",
            "Look for ZooKeeper errors in the brokers' logs; if a dead controller's znode remains, `zookeeper-shell.sh "
            "ZOOKEEPER delete /controller` lets the brokers elect another.",
            (f"brokers {', '.join(map(str, snapshot.nodes))} name {snapshot.controller_id}",),
        )


def one_controller(seen: Examination) -> Iterator[DoctorFinding]:
    """Brokers that name different controllers."""
    named: dict[int, list[int]] = {}
    for broker, reached in seen.advertised.items():
        if reached.failed is None and reached.versions is not None and KRAFT_API not in reached.versions:
            named.setdefault(reached.controller_id, []).append(broker)
    active = sum(
        page.values.get("kafka_controller_kafkacontroller_activecontrollercount", 0.0) for page in seen.metrics
    )
    if len(named) > 1 or active > 1:
        evidence = [
            f"brokers {', '.join(map(str, brokers))} name controller {controller}"
            for controller, brokers in sorted(named.items())
        ]
        if active > 1:
            evidence.append(f"ActiveControllerCount is {active:.0f} on all pages of metrics together")
        yield DoctorFinding(
            "controllers-differ",
            Severity.ERROR,
            "The brokers do not agree on the controller.",
            "A broker that names another controller does not get its orders: its leaders and in-sync sets are stale.",
            "Restart the brokers that name the old one; look for an expired ZooKeeper session in their logs.",
            tuple(evidence),
        )


def one_view(seen: Examination) -> Iterator[DoctorFinding]:
    """Brokers that do not know the same brokers."""
    if seen.snapshot is None:
        return
    everyone = set(seen.snapshot.nodes)
    evidence = []
    for broker, reached in sorted(seen.advertised.items()):
        known = {node.id for node in reached.nodes}
        if reached.failed is None and known != everyone:
            evidence.append(f"broker {broker} knows {sorted(known)}, the cluster is {sorted(everyone)}")
    if evidence:
        yield DoctorFinding(
            "views-differ",
            Severity.WARNING,
            "The brokers do not know the same brokers.",
            "Clients of a broker with stale metadata are sent to the wrong leaders. For a moment after a start it is "
            "normal.",
            "If it stays so, restart the broker whose view is stale, then look at the controller's log.",
            tuple(evidence),
        )
