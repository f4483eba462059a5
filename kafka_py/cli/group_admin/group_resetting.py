"""Where kafka-consumer-groups.sh --reset-offsets takes a group: one function per scenario.

Each gets a group and the partitions in its scope and gives their new offsets; nothing is written here. Offsets that
are named (--to-offset, --shift-by, --from-file) are kept within the log, with a warning. `OffsetLookup` is also what
kafka-streams-application-reset.sh looks with.
Source: docs/reference/tools.md, section 4; KIP-122.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_py.base.ids import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, TopicPartition
from kafka_py.cli.common.command import Refused, UsageError
from kafka_py.cli.group_admin.consumer_groups_options import scenario_of
from kafka_py.cli.group_admin.group_offsets_csv import Plan, parse_plan
from kafka_py.cli.java_compat.java_times import duration_ms, moment_ms

if TYPE_CHECKING:
    from kafka_py.clients.admin.client import AsyncAdminClient

_log = logging.getLogger("kafka.admin.ConsumerGroupCommand$")

Offsets = dict[TopicPartition, int]
Within = Callable[[TopicPartition, int, int, int], int]
"""From (partition, offset, start, end) of the log to the offset, or the end of the log that it is past."""


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


class OffsetLookup:
    """Offsets of partitions and groups. timeout: of each question, in seconds; None: default.api.timeout.ms.

    All methods raise the first KafkaError of a partition.
    """

    def __init__(self, admin: AsyncAdminClient, timeout: float | None = None) -> None:
        self.admin = admin
        self.timeout = timeout

    async def partitions(self, topics: Collection[str]) -> list[TopicPartition]:
        """All partitions of the topics."""
        described = (await self.admin.describe_topics(topics, timeout=self.timeout)).all()
        return [
            TopicPartition(topic, info.partition) for topic, found in described.items() for info in found.partitions
        ]

    async def committed(self, group: str) -> Offsets:
        """What the group has committed."""
        found = (await self.admin.list_consumer_group_offsets(group, timeout=self.timeout)).all()
        return {partition: committed.offset for partition, committed in found.items() if committed is not None}

    async def at(self, partitions: Collection[TopicPartition], timestamp: int) -> Offsets:
        """The offsets at one end; at a time, -1 where no record is at or after it."""
        found = await self.admin.list_offsets(dict.fromkeys(partitions, timestamp), timeout=self.timeout)
        return {partition: answer.offset for partition, answer in found.all().items()}

    async def at_time(self, partitions: Collection[TopicPartition], timestamp: int) -> Offsets:
        """The offsets at a time, and the end where no record is at or after it."""
        found = await self.at(partitions, timestamp)
        without_record = [partition for partition, offset in found.items() if offset < 0]
        return {**found, **await self.at(without_record, LATEST_TIMESTAMP)}

    async def current(self, group: str, partitions: Collection[TopicPartition]) -> Offsets:
        """What the group has committed, and the end where it has nothing."""
        committed = await self.committed(group)
        without = [partition for partition in partitions if partition not in committed]
        current = {**committed, **await self.at(without, LATEST_TIMESTAMP)}
        return {partition: current[partition] for partition in partitions}

    async def within_log(self, wanted: Mapping[TopicPartition, int], within: Within) -> Offsets:
        """The offsets, kept within their logs."""
        starts, ends = await self.at(wanted, EARLIEST_TIMESTAMP), await self.at(wanted, LATEST_TIMESTAMP)
        return {
            partition: within(partition, offset, starts[partition], ends[partition])
            for partition, offset in wanted.items()
        }


class Resetting:
    """The scenario that the options name. Raises Refused for a time or a file that cannot be read."""

    def __init__(self, options: argparse.Namespace, admin: AsyncAdminClient) -> None:
        self._options = options
        self._look = OffsetLookup(admin, options.timeout / 1000)
        self._plan: Plan | None = None
        self._timestamp = LATEST_TIMESTAMP
        try:
            if options.from_file is not None:
                self._plan = read_plan(options.from_file, options.group or ())
            elif options.to_datetime is not None:
                self._timestamp = moment_ms(options.to_datetime)
            elif options.by_duration is not None:
                self._timestamp = time.time_ns() // 1_000_000 - duration_ms(options.by_duration)
        except ValueError as error:
            raise Refused(str(error)) from None
        scenarios: dict[str, Callable[[str, list[TopicPartition]], Awaitable[Offsets]]] = {
            "to-offset": self._to_offset,
            "shift-by": self._shift_by,
            "to-datetime": self._to_time,
            "by-duration": self._to_time,
            "to-earliest": self._to_earliest,
            "to-latest": self._to_latest,
            "to-current": self._to_current,
            "from-file": self._from_file,
        }
        self._scenario = scenarios[scenario_of(options) or ""]

    async def new_offsets(self, group: str) -> Offsets:
        """The offsets that the group shall have, in the order of partitions. Raises KafkaError, UsageError."""
        return await self._scenario(group, await self._scope(group))

    async def _scope(self, group: str) -> list[TopicPartition]:
        if self._plan is not None:
            return []
        if self._options.all_topics:
            return sorted(await self._look.committed(group))
        partitions, whole = parse_topics(self._options.topic)
        return sorted({*partitions, *await self._look.partitions(whole)})

    async def _to_offset(self, _group: str, partitions: list[TopicPartition]) -> Offsets:
        return await self._look.within_log(dict.fromkeys(partitions, self._options.to_offset), within)

    async def _to_earliest(self, _group: str, partitions: list[TopicPartition]) -> Offsets:
        return await self._look.at(partitions, EARLIEST_TIMESTAMP)

    async def _to_latest(self, _group: str, partitions: list[TopicPartition]) -> Offsets:
        return await self._look.at(partitions, LATEST_TIMESTAMP)

    async def _to_time(self, _group: str, partitions: list[TopicPartition]) -> Offsets:
        return await self._look.at_time(partitions, self._timestamp)

    async def _to_current(self, group: str, partitions: list[TopicPartition]) -> Offsets:
        return await self._look.current(group, partitions)

    async def _shift_by(self, group: str, partitions: list[TopicPartition]) -> Offsets:
        committed = await self._look.committed(group)
        for partition in partitions:
            if partition not in committed:
                raise UsageError(
                    f"Cannot shift offset for partition {partition} since there is no current committed offset"
                )
        shift = self._options.shift_by
        shifted = {partition: committed[partition] + shift for partition in partitions}
        return await self._look.within_log(shifted, within)

    async def _from_file(self, group: str, _partitions: list[TopicPartition]) -> Offsets:
        wanted = (self._plan or {}).get(group)
        if wanted is None:
            print(f"\nError: No reset plan for group {group} found")
            return {}
        return await self._look.within_log(wanted, within)


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
