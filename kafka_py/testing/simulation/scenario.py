"""What kind of schedule a seed stands for: troubles alone, an administrator at work, or a consumer group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_py.base.ids import TopicPartition
from kafka_py.testing.simulation import group, operations

TOPIC = "t"
ONE_OF_EACH = (0, 3, 4)
"""Seeds of every kind."""


@dataclass(frozen=True)
class Scenario:
    """A cluster and who is at work on it.

    topics: by name the replicas of each partition. operations: how many. members: of the group; 0 for no group.
    """

    name: str
    brokers: int
    topics: Mapping[str, Mapping[int, list[int]]]
    settings: Mapping[str, str] = field(default_factory=dict)
    operations: int = 0
    members: int = 0

    @property
    def partitions(self) -> list[TopicPartition]:
        """Those that are written and read: not the ones of topics that come and go."""
        lasting = {topic: rows for topic, rows in self.topics.items() if topic not in operations.PASSING}
        return [TopicPartition(topic, number) for topic, rows in lasting.items() for number in rows]


def scenario_of(seed: int, brokers: int, partitions: int) -> Scenario:
    """Of five seeds one has an administrator, with a broker more, and one a group."""
    usual = {TOPIC: _in_turn(brokers, partitions, brokers)}
    match seed % 5:
        case 3:
            passing = {operations.PASSING[0]: _in_turn(brokers + 1, 2, 2)}
            topics = {**usual, operations.GROWING: _in_turn(brokers + 1, 1, 2), **passing}
            return Scenario("operations", brokers + 1, topics, operations.SETTINGS, operations=10)
        case 4:
            return Scenario("group", brokers, usual, group.SETTINGS, members=2)
    return Scenario("troubles", brokers, usual)


def _in_turn(brokers: int, partitions: int, replicas: int) -> dict[int, list[int]]:
    return {number: [(number + place) % brokers + 1 for place in range(replicas)] for number in range(partitions)}
