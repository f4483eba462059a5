"""What happens in a cluster: brokers, topics and groups with their rates, from two looks at it. Pure functions.

A rate is in records per second, by how far log ends or committed offsets have moved between the looks; None without an
earlier look, and where a topic was deleted and created again, which its end offsets show by going back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kafka_py.base.ids import TopicPartition
from kafka_py.operations.cluster_view import derived
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, GroupSeen


class BrokerActivity(NamedTuple):
    """written_per_s: records appended to the partitions that it leads. lagging: partitions that it leads and that lack
    an in-sync replica. bytes: of its replicas, None where its log directories were not seen."""

    broker: int
    address: str
    rack: str
    is_controller: bool
    leaders: int
    replicas: int
    lagging: int
    bytes: int | None
    written_per_s: float | None


class TopicActivity(NamedTuple):
    """records: between the first offset and the end, None where the offsets were not seen. bytes: of all replicas."""

    topic: str
    partitions: int
    replication_factor: int
    offline: int
    lagging: int
    records: int | None
    bytes: int | None
    written_per_s: float | None


class GroupActivity(NamedTuple):
    """lag: records not committed yet. change: of the lag since the earlier look. read_per_s: by committed offsets."""

    group: str
    state: str
    members: int | None
    topics: int
    lag: int | None
    change: int | None
    read_per_s: float | None


def brokers_of(now: ClusterSnapshot, before: ClusterSnapshot | None) -> list[BrokerActivity]:
    """The live brokers, by id."""
    leaders, replicas = derived.leaders_per_broker(now), derived.replicas_per_broker(now)
    sizes = derived.bytes_per_broker(now)
    led: dict[int, list[TopicPartition]] = {}
    lagging = dict.fromkeys(now.nodes, 0)
    for topic, info in now.topics.items():
        for partition in info.partitions:
            led.setdefault(partition.leader, []).append(TopicPartition(topic, partition.partition))
            if partition.leader in lagging and derived.is_under_replicated(partition):
                lagging[partition.leader] += 1
    return [
        BrokerActivity(
            number, f"{node.host}:{node.port}", node.rack or "", number == now.controller_id, leaders[number],
            replicas.get(number, 0), lagging[number], sizes.get(number), _written(now, before, led.get(number, ())),
        )
        for number, node in sorted(now.nodes.items())
    ]  # fmt: skip


def topics_of(now: ClusterSnapshot, before: ClusterSnapshot | None) -> list[TopicActivity]:
    """All topics, by name."""
    sizes: dict[str, int] = {}
    for topic_partition, replicas in derived.replica_bytes(now).items():
        sizes[topic_partition.topic] = sizes.get(topic_partition.topic, 0) + sum(replicas.values())
    rows = []
    for name, info in sorted(now.topics.items()):
        wanted = [TopicPartition(name, each.partition) for each in info.partitions]
        bounds = [now.offsets[each] for each in wanted if each in now.offsets]
        rows.append(
            TopicActivity(
                name, len(info.partitions), max((len(each.replicas) for each in info.partitions), default=0),
                sum(derived.is_offline(now, each) for each in info.partitions),
                sum(map(derived.is_under_replicated, info.partitions)),
                sum(each.end_offset - each.start_offset for each in bounds) if bounds else None,
                sizes.get(name), _written(now, before, wanted),
            )
        )  # fmt: skip
    return rows


def groups_of(now: ClusterSnapshot, before: ClusterSnapshot | None) -> list[GroupActivity]:
    """All groups, by name."""
    rows = []
    for name, group in sorted(now.groups.items()):
        earlier = before.groups.get(name) if before is not None else None
        lag = total_lag(now, group)
        former = total_lag(before, earlier) if before is not None and earlier is not None else None
        rows.append(
            GroupActivity(
                name, group.state, None if group.members is None else len(group.members),
                len({each.topic for each in group.committed or ()}), lag,
                None if lag is None or former is None else lag - former, _read(now, group, before, earlier),
            )
        )  # fmt: skip
    return rows


def total_lag(snapshot: ClusterSnapshot, group: GroupSeen) -> int | None:
    """The lag over all partitions whose ends are known; None if there are none."""
    known = [each for each in derived.lag(snapshot, group).values() if each is not None]
    return sum(known) if known else None


def _elapsed_s(now: ClusterSnapshot, before: ClusterSnapshot) -> float:
    return (now.taken_ms - before.taken_ms) / 1000


def _written(
    now: ClusterSnapshot, before: ClusterSnapshot | None, partitions: Iterable[TopicPartition]
) -> float | None:
    if before is None or _elapsed_s(now, before) <= 0:
        return None
    moved, known = 0, False
    for each in partitions:
        bounds, former = now.offsets.get(each), before.offsets.get(each)
        if bounds is not None and former is not None and bounds.end_offset >= former.end_offset:
            moved, known = moved + bounds.end_offset - former.end_offset, True
    return moved / _elapsed_s(now, before) if known else None


def _read(
    now: ClusterSnapshot, group: GroupSeen, before: ClusterSnapshot | None, earlier: GroupSeen | None
) -> float | None:
    if before is None or earlier is None or _elapsed_s(now, before) <= 0:
        return None
    former = earlier.committed or {}
    moved = [
        committed.offset - former[each].offset for each, committed in (group.committed or {}).items() if each in former
    ]
    return sum(moved) / _elapsed_s(now, before) if moved else None
