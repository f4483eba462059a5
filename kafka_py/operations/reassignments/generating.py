"""New places for all replicas of topics, as Apache Kafka places those of a new topic (KIP-36)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_py.base.chance import Random
from kafka_py.base.ids import TopicPartition
from kafka_py.base.placement import BrokerRack, place
from kafka_py.operations.reassignments.plans import Assignment


def settled(
    current: Mapping[TopicPartition, Sequence[int]], running: Mapping[TopicPartition, Sequence[int]]
) -> Assignment:
    """The replicas, without those that are there only until a reassignment has ended.

    running: what is being reassigned, with the replicas that it is to have.
    """
    return {partition: list(running.get(partition, replicas)) for partition, replicas in current.items()}


def proposed(
    current: Mapping[TopicPartition, Sequence[int]], brokers: Sequence[BrokerRack], chance: Random
) -> Assignment:
    """New places, topic by topic, with as many replicas as now. Raises KafkaError for what cannot be placed.

    brokers: those to use; either all or none of them have a rack, see `require_racks_of_all_or_none`.
    """
    by_topic: dict[str, list[Sequence[int]]] = {}
    for partition, replicas in current.items():
        by_topic.setdefault(partition.topic, []).append(replicas)
    placed: Assignment = {}
    for topic, rows in by_topic.items():
        places = place(brokers, len(rows), len(rows[0]), chance=chance)
        placed.update({TopicPartition(topic, number): replicas for number, replicas in places.items()})
    return placed


