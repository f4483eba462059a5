"""Replication throttles: which brokers and replicas a set of moves concerns, and the settings that say so.

Pure. Shared with kafka-reassign-partitions.sh. Source: KIP-73 (throttles); docs/reference/tools.md, section 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.replicas import PartitionReassignment

LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LOG_DIR_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
REPLICATION_RATES = (LEADER_RATE, FOLLOWER_RATE)
BROKER_THROTTLES = (*REPLICATION_RATES, LOG_DIR_RATE)
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"
TOPIC_THROTTLES = (LEADER_REPLICAS, FOLLOWER_REPLICAS)


class ReplicaMove(NamedTuple):
    """The brokers from which a partition's data is read, and those to which it is copied."""

    sources: list[int]
    destinations: list[int]


Moves = dict[TopicPartition, ReplicaMove]


def moves_under_way(reassignments: Mapping[TopicPartition, PartitionReassignment]) -> Moves:
    """The moves that run already."""
    return {
        partition: ReplicaMove([id_ for id_ in one.replicas if id_ not in one.adding], list(one.adding))
        for partition, one in reassignments.items()
    }


def moving_brokers(moves: Moves) -> list[int]:
    """Every broker that sends or receives."""
    return list(dict.fromkeys(broker for move in moves.values() for broker in (*move.sources, *move.destinations)))


def topic_throttles(moves: Moves) -> dict[str, dict[str, str]]:
    """Per topic the settings that say which of its replicas are throttled, as leaders and as followers."""
    leaders: dict[str, set[str]] = {}
    followers: dict[str, set[str]] = {}
    for partition, move in moves.items():
        leaders.setdefault(partition.topic, set()).update(f"{partition.partition}:{id_}" for id_ in move.sources)
        new = [f"{partition.partition}:{id_}" for id_ in move.destinations if id_ not in move.sources]
        if new:
            followers.setdefault(partition.topic, set()).update(new)
    settings: dict[str, dict[str, str]] = {}
    for name, throttled in ((LEADER_REPLICAS, leaders), (FOLLOWER_REPLICAS, followers)):
        for topic, entries in throttled.items():
            settings.setdefault(topic, {})[name] = ",".join(sorted(entries))
    return settings
