"""Examinations to begin with: a cluster of three brokers in order, of which a test changes what it is about."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from kafka_py.clients.admin.brokers import VersionRange
from kafka_py.clients.metadata import Node, PartitionInfo, TopicInfo
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot
from kafka_py.operations.doctor.examination import CertificateSeen, Examination, Reached, SettingValues
from kafka_py.operations.doctor.findings import DoctorFinding, Severity
from kafka_py.wire.apis import ApiKey

NOW_MS = 1_700_000_000_000
NODES = {number: Node(number, f"kafka{number}", 9092) for number in (1, 2, 3)}
VERSIONS = {int(ApiKey.METADATA): VersionRange(0, 11), int(ApiKey.FETCH): VersionRange(0, 12)}


def partition(number: int, leader: int, replicas: tuple[int, ...], isr: tuple[int, ...] | None = None,
              topic: str = "t") -> PartitionInfo:  # fmt: skip
    return PartitionInfo(topic, number, leader, 1, replicas, replicas if isr is None else isr, ())


def topic(name: str, *partitions: PartitionInfo) -> TopicInfo:
    return TopicInfo(name, uuid.UUID(int=1), name.startswith("__"), tuple(partitions))


def reached(broker: int = 1, **changed: Any) -> Reached:
    healthy = Reached(
        f"kafka{broker}", 9092, addresses=(f"10.0.0.{broker}",), versions=VERSIONS, nodes=tuple(NODES.values()),
        controller_id=1, cluster_id="c",
    )  # fmt: skip
    return healthy._replace(**changed)


IN_ORDER = topic("t", partition(0, 1, (1, 2, 3)), partition(1, 2, (2, 3, 1)), partition(2, 3, (3, 1, 2)))


def snapshot(*topics: TopicInfo, **changed: Any) -> ClusterSnapshot:
    named = {each.name: each for each in (topics or (IN_ORDER,))}
    healthy = ClusterSnapshot(
        taken_ms=NOW_MS, cluster_id="c", controller_id=1, nodes=NODES, topics=named,
        versions=dict.fromkeys(NODES, VERSIONS),
    )  # fmt: skip
    return replace(healthy, **changed)


def seen(*topics: TopicInfo, settings: SettingValues | None = None, **changed: Any) -> Examination:
    """settings: of every broker."""
    healthy = Examination(
        now_ms=NOW_MS,
        servers="kafka1:9092",
        bootstrap=(reached(1),),
        advertised={broker: reached(broker) for broker in NODES},
        snapshot=snapshot(*topics),
        broker_settings=dict.fromkeys(NODES, settings or {}),
    )
    return replace(healthy, **changed)


def certificate(days: float, *names: str) -> CertificateSeen:
    return CertificateSeen("CN=kafka1", "CN=authority", NOW_MS, NOW_MS + int(days * 86_400_000), names, False)


def only(check: Callable[[Examination], Iterator[DoctorFinding]], what: Examination) -> DoctorFinding:
    """The one finding of a check; it names what to do and why."""
    [finding] = check(what)
    assert finding.what.endswith(".")
    assert finding.why
    assert finding.repair
    return finding


def ids(check: Callable[[Examination], Iterator[DoctorFinding]], what: Examination) -> list[tuple[str, Severity]]:
    return [(finding.id, finding.severity) for finding in check(what)]
