"""The samples of an observation: what is written to the history. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kafka_py.clients.metadata import PartitionInfo
from kafka_py.manager.history import metrics
from kafka_py.manager.history.metrics import CLUSTER_ENTITY, MISSING, PastSample
from kafka_py.manager.history.observation import GroupObservation, Observed
from kafka_py.manager.history.series import greatest, total
from kafka_py.operations.cluster_view.derived import is_under_replicated
from kafka_py.operations.groups.lag import EndOffsets, lags, lags_ms


def samples_of(
    observation: Observed, before: Observed | None, known: Mapping[str, EndOffsets]
) -> list[PastSample]:
    """All samples of an observation. before: the one before it, for rates; known: as `note_ends` left it."""
    return [
        *_cluster(observation),
        *_rates(observation, before),
        *_brokers(observation),
        *_topics(observation),
        *_groups(observation, known),
    ]


def partitions_of(observation: Observed) -> Iterator[PartitionInfo]:
    """All partitions of the cluster."""
    for topic in observation.topics.values():
        yield from topic.partitions


def _cluster(observation: Observed) -> Iterator[PastSample]:
    partitions = list(partitions_of(observation))
    yield PastSample(metrics.COLLECTED, CLUSTER_ENTITY, observation.took_ms)
    yield PastSample(metrics.BROKERS, CLUSTER_ENTITY, len(observation.nodes))
    yield PastSample(metrics.TOPICS, CLUSTER_ENTITY, len(observation.topics))
    yield PastSample(metrics.PARTITIONS, CLUSTER_ENTITY, len(partitions))
    yield PastSample(metrics.UNDER_REPLICATED, CLUSTER_ENTITY, sum(map(is_under_replicated, partitions)))
    yield PastSample(metrics.OFFLINE, CLUSTER_ENTITY, sum(each.leader not in observation.nodes for each in partitions))
    if observation.sizes is not None:
        size = sum(total(values) or 0 for topics in observation.sizes.values() for values in topics.values())
        yield PastSample(metrics.CLUSTER_SIZE, CLUSTER_ENTITY, size)


def appended(observation: Observed, before: Observed) -> dict[str, tuple[int, ...]]:
    """Records appended to each partition between two observations; none where an end decreased or is not known."""
    found = {}
    for topic, ends in observation.ends.items():
        earlier = before.ends.get(topic)
        if earlier is None:
            continue
        if ends == earlier:
            found[topic] = (0,) * len(ends)
            continue
        pairs = zip(earlier, ends, strict=False)
        found[topic] = tuple(new - old if MISSING not in (old, new) and new > old else 0 for old, new in pairs)
    return found


def _rates(observation: Observed, before: Observed | None) -> Iterator[PastSample]:
    seconds = (observation.time_ms - before.time_ms) / 1000 if before is not None else 0.0
    if before is None or seconds <= 0:
        return
    by_leader = dict.fromkeys(observation.nodes, 0)
    everything = 0
    for topic, counts in appended(observation, before).items():
        everything += (in_topic := sum(counts))
        info = observation.topics.get(topic)
        if in_topic and info is not None:
            for partition in info.partitions:
                if partition.leader in by_leader and partition.partition < len(counts):
                    by_leader[partition.leader] += counts[partition.partition]
    yield PastSample(metrics.RECORDS_RATE, CLUSTER_ENTITY, everything / seconds)
    for broker, count in by_leader.items():
        yield PastSample(metrics.BROKER_RECORDS_RATE, str(broker), count / seconds)


def _brokers(observation: Observed) -> Iterator[PastSample]:
    leaders = dict.fromkeys(observation.nodes, 0)
    replicas = dict.fromkeys(observation.nodes, 0)
    for partition in partitions_of(observation):
        if partition.leader in leaders:
            leaders[partition.leader] += 1
        for broker in partition.replicas:
            if broker in replicas:
                replicas[broker] += 1
    for broker in observation.nodes:
        yield PastSample(metrics.BROKER_LEADERS, str(broker), leaders[broker])
        yield PastSample(metrics.BROKER_REPLICAS, str(broker), replicas[broker])
    for broker, topics in (observation.sizes or {}).items():
        yield PastSample(metrics.BROKER_SIZE, str(broker), sum(total(values) or 0 for values in topics.values()))


def topic_sizes(observation: Observed) -> dict[str, tuple[int, ...]]:
    """The size of each partition: that of its leader's replica, or of the largest one if the leader's is not known."""
    found: dict[str, tuple[int, ...]] = {}
    sizes = observation.sizes or {}
    for name, topic in observation.topics.items():
        vector = []
        for partition in topic.partitions:
            known = {
                broker: values[partition.partition]
                for broker in partition.replicas
                if (values := sizes.get(broker, {}).get(name, ())) and partition.partition < len(values)
            }
            vector.append(known.get(partition.leader, max(known.values(), default=MISSING)))
        if vector:
            found[name] = tuple(vector)
    return found


def _topics(observation: Observed) -> Iterator[PastSample]:
    for topic, ends in observation.ends.items():
        yield PastSample(metrics.TOPIC_END, topic, ends)
    for topic, starts in observation.starts.items():
        yield PastSample(metrics.TOPIC_START, topic, starts)
    if observation.sizes is not None:
        for topic, sizes in topic_sizes(observation).items():
            yield PastSample(metrics.TOPIC_SIZE, topic, sizes)


def _groups(observation: Observed, known: Mapping[str, EndOffsets]) -> Iterator[PastSample]:
    for group_id, group in observation.groups.items():
        if group.members is not None:
            yield PastSample(metrics.GROUP_MEMBERS, group_id, len(group.members))
        yield from _lag_of_group(group_id, group, observation, known)


def _lag_of_group(
    group_id: str, group: GroupObservation, observation: Observed, known: Mapping[str, EndOffsets]
) -> Iterator[PastSample]:
    if group.committed is None:
        return
    records, longest_ms = 0.0, 0.0
    for topic, committed in group.committed.items():
        ends = observation.ends.get(topic)
        if ends is None:
            continue
        entity = metrics.group_topic(group_id, topic)
        behind = lags(committed, ends)
        behind_ms = lags_ms(committed, ends, observation.time_ms, known.get(topic) or EndOffsets())
        records += total(behind) or 0
        longest_ms = max(longest_ms, greatest(behind_ms) or 0)
        yield PastSample(metrics.COMMITTED, entity, committed)
        yield PastSample(metrics.LAG, entity, behind)
        yield PastSample(metrics.LAG_MS, entity, behind_ms)
    yield PastSample(metrics.GROUP_LAG, group_id, records)
    yield PastSample(metrics.GROUP_LAG_MS, group_id, longest_ms)
