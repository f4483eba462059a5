"""Why a broker must not be stopped now, and what could not be written or read meanwhile. Pure, over what was seen."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from kafka_py.base.ids import TopicPartition
from kafka_py.operations.cluster_view import derived
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot

NEWEST_PROTOCOL = (2, 8)
"""What kafka_py speaks between brokers and writes to disk."""
PROTOCOL_SETTINGS = ("inter.broker.protocol.version", "log.message.format.version")
SETTINGS = (*PROTOCOL_SETTINGS, "process.roles")
MOST_SHOWN = 5
_VERSION = re.compile(r"(\d+)\.(\d+)")


def missing_for_a_step(
    snapshot: ClusterSnapshot, ids: Collection[int], moving: Collection[TopicPartition] = ()
) -> str:
    """What is not in order; "" if all is. ids: the brokers that must be there. moving: being reassigned."""
    if not snapshot.is_reached:
        return "no broker answers"
    down = sorted(set(ids) - set(snapshot.nodes))
    if down:
        return f"broker {', '.join(map(str, down))} is not there"
    if snapshot.controller is None:
        return "there is no controller"
    if snapshot.unseen:
        return str(snapshot.unseen[0])
    behind = [
        f"{each.topic}-{each.partition}" for each in derived.partitions(snapshot)
        if derived.is_offline(snapshot, each) or derived.is_under_replicated(each)
    ]  # fmt: skip
    if behind:
        return f"not in sync: {_shortened(behind)}"
    if moving:
        return f"being reassigned: {_shortened([f'{each.topic}-{each.partition}' for each in sorted(moving)])}"
    return ""


def stopped_by(snapshot: ClusterSnapshot, ids: Collection[int], least_in_sync: Mapping[str, int]) -> list[str]:
    """What does not work while one of the brokers is down, as sentences: partitions with too few replicas.

    least_in_sync: min.insync.replicas by topic.
    """
    alone, refused = [], []
    for each in derived.partitions(snapshot):
        if not set(each.replicas) & set(ids):
            continue
        name = f"{each.topic}-{each.partition}"
        if len(each.replicas) == 1:
            alone.append(name)
        elif len(each.replicas) - 1 < least_in_sync.get(each.topic, 1):
            refused.append(name)
    found = []
    if alone:
        found.append(f"{len(alone)} partitions have one replica and are away meanwhile: {_shortened(alone)}")
    if refused:
        found.append(
            f"{len(refused)} partitions take no writes with acks=all meanwhile, for min.insync.replicas is as large as "
            f"their number of replicas: {_shortened(refused)}"
        )
    return found


def refused_settings(settings: Mapping[int, Mapping[str, str | None]]) -> list[str]:
    """Settings of brokers, by id, with which the other make cannot serve, as sentences."""
    found = []
    for broker, values in sorted(settings.items()):
        if values.get("process.roles"):
            found.append(f"broker {broker} runs with KRaft (process.roles); kafka_py needs ZooKeeper")
        for name in PROTOCOL_SETTINGS:
            version = _VERSION.match(values.get(name) or "")
            if version is not None and (int(version[1]), int(version[2])) > NEWEST_PROTOCOL:
                newest = ".".join(map(str, NEWEST_PROTOCOL))
                found.append(
                    f"broker {broker} has {name}={values[name]}, and kafka_py knows versions up to {newest}: set it to "
                    f"{newest} and restart the broker first"
                )
    return found


def _shortened(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_SHOWN]) + (" ..." if len(names) > MOST_SHOWN else "")
