"""Where a reset takes a group: one function per scenario of kafka-consumer-groups.sh --reset-offsets.

Each gets the partitions in its scope and gives their new offsets; nothing is written here. Offsets that are named
(to-offset, shift-by, from-file) are kept within the log. `OffsetLookup` is what they look with.
Source: docs/reference/tools.md, section 4; KIP-122.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.base.ids import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, TopicPartition

if TYPE_CHECKING:
    from kafka_py.clients.admin.client import AsyncAdminClient

Offsets = dict[TopicPartition, int]
Within = Callable[[TopicPartition, int, int, int], int]
"""From (partition, offset, start, end) of the log to the offset, or the end of the log that it is past."""


class ResetScenario(StrEnum):
    """The scenarios, by the options that name them."""

    TO_OFFSET = "to-offset"
    TO_DATETIME = "to-datetime"
    BY_DURATION = "by-duration"
    TO_EARLIEST = "to-earliest"
    TO_LATEST = "to-latest"
    TO_CURRENT = "to-current"
    SHIFT_BY = "shift-by"
    FROM_FILE = "from-file"


class GroupReset(NamedTuple):
    """One scenario with what it needs.

    offset: of to-offset, or the number of records of shift-by. timestamp: of to-datetime and by-duration, ms UTC.
    plan: of from-file.
    """

    scenario: ResetScenario
    offset: int = 0
    timestamp: int = LATEST_TIMESTAMP
    plan: Mapping[TopicPartition, int] = {}


class NothingCommitted(ValueError):
    """A partition without a committed offset, from which one was to be counted."""

    def __init__(self, partition: TopicPartition) -> None:
        super().__init__(f"Cannot shift offset for partition {partition} since there is no current committed offset")


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


def kept_within(_partition: TopicPartition, offset: int, start: int, end: int) -> int:
    """The offset, or the end of the log that it is past."""
    return max(start, min(offset, end))


async def new_offsets(
    look: OffsetLookup,
    group: str,
    reset: GroupReset,
    partitions: Sequence[TopicPartition],
    within: Within = kept_within,
) -> Offsets:
    """The offsets that the group shall have, in the order of partitions; of from-file those of its plan.

    Raises KafkaError, and NothingCommitted of shift-by.
    """
    return await _SCENARIOS[reset.scenario](look, group, reset, partitions, within)


async def _to_offset(
    look: OffsetLookup, _group: str, reset: GroupReset, partitions: Sequence[TopicPartition], within: Within
) -> Offsets:
    return await look.within_log(dict.fromkeys(partitions, reset.offset), within)


async def _to_earliest(
    look: OffsetLookup, _group: str, _reset: GroupReset, partitions: Sequence[TopicPartition], _within: Within
) -> Offsets:
    return await look.at(partitions, EARLIEST_TIMESTAMP)


async def _to_latest(
    look: OffsetLookup, _group: str, _reset: GroupReset, partitions: Sequence[TopicPartition], _within: Within
) -> Offsets:
    return await look.at(partitions, LATEST_TIMESTAMP)


async def _to_time(
    look: OffsetLookup, _group: str, reset: GroupReset, partitions: Sequence[TopicPartition], _within: Within
) -> Offsets:
    return await look.at_time(partitions, reset.timestamp)


async def _to_current(
    look: OffsetLookup, group: str, _reset: GroupReset, partitions: Sequence[TopicPartition], _within: Within
) -> Offsets:
    return await look.current(group, partitions)


async def _shift_by(
    look: OffsetLookup, group: str, reset: GroupReset, partitions: Sequence[TopicPartition], within: Within
) -> Offsets:
    committed = await look.committed(group)
    for partition in partitions:
        if partition not in committed:
            raise NothingCommitted(partition)
    return await look.within_log({each: committed[each] + reset.offset for each in partitions}, within)


async def _from_file(
    look: OffsetLookup, _group: str, reset: GroupReset, _partitions: Sequence[TopicPartition], within: Within
) -> Offsets:
    return await look.within_log(reset.plan, within)


_SCENARIOS: dict[
    ResetScenario, Callable[[OffsetLookup, str, GroupReset, Sequence[TopicPartition], Within], Awaitable[Offsets]]
] = {
    ResetScenario.TO_OFFSET: _to_offset,
    ResetScenario.TO_DATETIME: _to_time,
    ResetScenario.BY_DURATION: _to_time,
    ResetScenario.TO_EARLIEST: _to_earliest,
    ResetScenario.TO_LATEST: _to_latest,
    ResetScenario.TO_CURRENT: _to_current,
    ResetScenario.SHIFT_BY: _shift_by,
    ResetScenario.FROM_FILE: _from_file,
}
