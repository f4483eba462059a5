"""The commands of kafka-consumer-groups.sh that do what a page does. Every name is quoted for a shell.

Source: docs/reference/tools.md, section 4.
"""

from __future__ import annotations

import shlex
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


def reset_command(
    servers: str, group: str, reset: GroupReset, partitions: Iterable[TopicPartition], duration: str = ""
) -> str:
    """The command for a reset of these partitions. duration: of by-duration, as it was given."""
    scenario = [f"--{reset.scenario}"]
    match reset.scenario:
        case ResetScenario.TO_OFFSET | ResetScenario.SHIFT_BY:
            scenario.append(str(reset.offset))
        case ResetScenario.TO_DATETIME:
            scenario.append(datetime.fromtimestamp(reset.timestamp / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3])
        case ResetScenario.BY_DURATION:
            scenario.append(duration)
    return _line(servers, "--reset-offsets", "--group", group, *topic_arguments(partitions), *scenario, "--execute")


def delete_command(servers: str, groups: Iterable[str]) -> str:
    """The command that deletes groups."""
    return _line(servers, "--delete", *(part for group in groups for part in ("--group", group)))


def delete_offsets_command(servers: str, group: str, partitions: Iterable[TopicPartition]) -> str:
    """The command that deletes committed offsets."""
    return _line(servers, "--delete-offsets", "--group", group, *topic_arguments(partitions))


def _line(servers: str, *arguments: str) -> str:
    return shlex.join([SCRIPT, "--bootstrap-server", servers, *arguments])
