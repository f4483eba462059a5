"""What the options of kafka-consumer-groups.sh --reset-offsets ask for; kafka_py/operations/groups finds the offsets.

Offsets that are named (--to-offset, --shift-by, --from-file) are kept within the log, with a warning.
Source: docs/reference/tools.md, section 4; KIP-122.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_py.base.ids import LATEST_TIMESTAMP, TopicPartition
from kafka_py.cli.common.command import Refused, UsageError
from kafka_py.cli.group_admin.consumer_groups_options import scenario_of
from kafka_py.cli.group_admin.group_offsets_csv import Plan, parse_plan
from kafka_py.cli.java_compat.java_times import duration_ms, moment_ms
from kafka_py.operations.groups.resetting import (
    GroupReset,
    NothingCommitted,
    OffsetLookup,
    Offsets,
    ResetScenario,
    new_offsets,
)

if TYPE_CHECKING:
    from kafka_py.clients.admin.client import AsyncAdminClient

_log = logging.getLogger("kafka.admin.ConsumerGroupCommand$")


def parse_topics(given: Sequence[str]) -> tuple[list[TopicPartition], list[str]]:
    """The arguments of --topic: partitions of those like `topic:0,1`, and topics that are meant whole.

    Raises UsageError.
    """
    partitions, whole = [], []
    for argument in given:
        topic, colon, numbers = argument.partition(":")
        if not colon:
            whole.append(topic)
            continue
        for number in numbers.split(","):
            if not number.isdecimal():
                raise UsageError(f"Invalid partition '{number}' specified in topic arg '{argument}'")
            partitions.append(TopicPartition(topic, int(number)))
    return partitions, whole


def read_plan(path: str, groups: Sequence[str]) -> Plan:
    """The plan in a file. groups: those that --group names. Raises Refused."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return parse_plan(file, groups[0] if len(groups) == 1 else None)
    except (OSError, UnicodeDecodeError):
        raise Refused(f"Unable to read file {path}") from None
    except Refused as error:
        raise Refused(f"{path} cannot be used: {error}") from None


class Resetting:
    """The scenario that the options name. Raises Refused for a time or a file that cannot be read."""

    def __init__(self, options: argparse.Namespace, admin: AsyncAdminClient) -> None:
        self._options = options
        self._look = OffsetLookup(admin, options.timeout / 1000)
        self._plan: Plan = {}
        self._scenario = ResetScenario(scenario_of(options) or "")
        self._timestamp = LATEST_TIMESTAMP
        try:
            if self._scenario is ResetScenario.FROM_FILE:
                self._plan = read_plan(options.from_file, options.group or ())
            elif self._scenario is ResetScenario.TO_DATETIME:
                self._timestamp = moment_ms(options.to_datetime)
            elif self._scenario is ResetScenario.BY_DURATION:
                self._timestamp = time.time_ns() // 1_000_000 - duration_ms(options.by_duration)
        except ValueError as error:
            raise Refused(str(error)) from None

    async def new_offsets(self, group: str) -> Offsets:
        """The offsets that the group shall have, in the order of partitions. Raises KafkaError, UsageError."""
        options = self._options
        if self._scenario is ResetScenario.FROM_FILE and group not in self._plan:
            print(f"\nError: No reset plan for group {group} found")
            return {}
        offset = options.shift_by if self._scenario is ResetScenario.SHIFT_BY else options.to_offset
        reset = GroupReset(self._scenario, offset or 0, self._timestamp, self._plan.get(group, {}))
        try:
            return await new_offsets(self._look, group, reset, await self._scope(group), within)
        except NothingCommitted as error:
            raise UsageError(str(error)) from None

    async def _scope(self, group: str) -> list[TopicPartition]:
        if self._plan:
            return []
        if self._options.all_topics:
            return sorted(await self._look.committed(group))
        partitions, whole = parse_topics(self._options.topic)
        return sorted({*partitions, *await self._look.partitions(whole)})


def within(partition: TopicPartition, offset: int, start: int, end: int) -> int:
    """The offset, or the end of the log that it is past, which is said."""
    for is_past, where, limit in (
        (offset > end, "higher than latest", end),
        (offset < start, "lower than earliest", start),
    ):
        if is_past:
            _log.warning("New offset (%d) is %s offset for topic partition %s. Value will be set to %d",
                        offset, where, partition, limit)  # fmt: skip
            return limit
    return offset
