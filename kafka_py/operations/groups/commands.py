"""The arguments of kafka-consumer-groups.sh that do what a page does, without those of the connection.

Source: docs/reference/tools.md, section 4.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from kafka_py.base.ids import TopicPartition
from kafka_py.operations.groups.resetting import GroupReset, ResetScenario

SCRIPT = "kafka-consumer-groups.sh"


def topic_arguments(partitions: Iterable[TopicPartition]) -> list[str]:
    """`--topic t:0,1` for each topic."""
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        by_topic.setdefault(topic, []).append(number)
    found = []
    for topic, numbers in by_topic.items():
        found += ["--topic", f"{topic}:{','.join(map(str, numbers))}"]
    return found


def reset_arguments(
    group: str, reset: GroupReset, partitions: Iterable[TopicPartition], duration: str = ""
) -> list[str]:
    """A reset of these partitions. duration: of by-duration, as it was given."""
    scenario = [f"--{reset.scenario}"]
    match reset.scenario:
        case ResetScenario.TO_OFFSET | ResetScenario.SHIFT_BY:
            scenario.append(str(reset.offset))
        case ResetScenario.TO_DATETIME:
            scenario.append(datetime.fromtimestamp(reset.timestamp / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3])
        case ResetScenario.BY_DURATION:
            scenario.append(duration)
    return ["--reset-offsets", "--group", group, *topic_arguments(partitions), *scenario, "--execute"]


def delete_arguments(groups: Iterable[str]) -> list[str]:
    """Groups are deleted."""
    return ["--delete", *(part for group in groups for part in ("--group", group))]


def delete_offsets_arguments(group: str, partitions: Iterable[TopicPartition]) -> list[str]:
    """Committed offsets are deleted."""
    return ["--delete-offsets", "--group", group, *topic_arguments(partitions)]
