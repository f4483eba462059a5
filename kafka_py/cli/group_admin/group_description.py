"""What kafka-consumer-groups.sh --describe shows: offsets and lag, members, or the state of groups.

`collect_*` ask the cluster, `*_lines` make tables of the answers. A partition without leader has no end and no lag, and
does not keep the others from being shown. Rows of a group are in the order of topics and partitions, members with the
most partitions first. Source: docs/reference/tools.md, section 4.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import LATEST_TIMESTAMP, TopicPartition

if TYPE_CHECKING:
    from kafka_py.clients.admin.client import AsyncAdminClient
    from kafka_py.clients.admin.group_descriptions import ConsumerGroupDescription, MemberDescription

MISSING = "-"

OFFSET_COLUMNS = ("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST",
                  "CLIENT-ID")  # fmt: skip


class PartitionRow(NamedTuple):
    """One partition of a group. offset, end_offset: None where there is none. owner: consumer id, host, client id."""

    partition: TopicPartition
    offset: int | None
    end_offset: int | None
    owner: tuple[str, str, str]

    @property
    def lag(self) -> int | None:
        """How many records are still to be read, as far as both ends are known."""
        return None if self.offset is None or self.end_offset is None else self.end_offset - self.offset


class ShownGroup(NamedTuple):
    """A group with a row for each partition that a member has or an offset is committed for."""

    description: ConsumerGroupDescription
    rows: list[PartitionRow]


def says_more(group: str, state: str, count: int) -> bool:
    """Says what a state means for the reader; whether there is more to show. count: of things to show.

    Raises ValueError for a state that we do not know.
    """
    match state:
        case "Dead":
            print(f"\nError: Consumer group '{group}' does not exist.")
        case "Empty":
            print(f"\nConsumer group '{group}' has no active members.", file=sys.stderr)
        case "PreparingRebalance" | "CompletingRebalance":
            print(f"\nWarning: Consumer group '{group}' is rebalancing.", file=sys.stderr)
        case "Stable":
            pass
        case _:
            raise ValueError(f"Expected a valid consumer group state, but found '{state}'.")
    return state != "Dead" and count > 0


# ---- offsets and lag


async def collect_offsets(admin: AsyncAdminClient, groups: Collection[str], timeout: float) -> list[ShownGroup]:
    """The groups by id, with committed offsets and the ends of partitions. Raises KafkaError."""
    described = (await admin.describe_consumer_groups(groups, timeout=timeout)).all()
    answers = await asyncio.gather(*(admin.list_consumer_group_offsets(group, timeout=timeout) for group in described))
    committed = {
        group: {tp: found.offset for tp, found in answer.all().items() if found is not None}
        for group, answer in zip(described, answers, strict=True)
    }
    wanted = {tp for group in described for tp in committed[group]}
    wanted |= {tp for description in described.values() for member in description.members for tp in member.assignment}
    ends = await end_offsets(admin, wanted, timeout)
    return [
        ShownGroup(described[group], rows_of(described[group].members, committed[group], ends))
        for group in sorted(described)
    ]


async def end_offsets(
    admin: AsyncAdminClient, partitions: Collection[TopicPartition], timeout: float
) -> dict[TopicPartition, int]:
    """Where partitions end; one without leader is left out, which is said on standard error. Raises KafkaError."""
    found = await admin.list_offsets(dict.fromkeys(sorted(partitions), LATEST_TIMESTAMP), timeout=timeout)
    ends = {}
    for partition, answer in found.items():
        if isinstance(answer, KafkaError):
            print(f"Warning: The end of {partition} is not known: {answer}", file=sys.stderr)
        else:
            ends[partition] = answer.offset
    return ends


def rows_of(
    members: Sequence[MemberDescription],
    committed: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> list[PartitionRow]:
    """The rows of one group: what members have, then what is committed for partitions without a member."""
    shares: list[tuple[Iterable[TopicPartition], tuple[str, str, str]]] = [
        (member.assignment, (member.member_id, member.host, member.client_id))
        for member in sorted(members, key=lambda member: -len(member.assignment))
    ]
    owned = {partition for member in members for partition in member.assignment}
    shares.append((committed.keys() - owned, (MISSING, MISSING, MISSING)))
    return [
        PartitionRow(partition, committed.get(partition), ends.get(partition), owner)
        for partitions, owner in shares
        for partition in sorted(partitions)
    ]


def offset_lines(group: str, rows: Sequence[PartitionRow]) -> Iterator[str]:
    """The table of one group, an empty line first."""
    texts = [
        (group, row.partition.topic, str(row.partition.partition), _text(row.offset), _text(row.end_offset),
         _text(row.lag), *row.owner)
        for row in rows
    ]  # fmt: skip
    widths = _widths(OFFSET_COLUMNS[:-1], texts, fixed={2: 10, 3: 15, 4: 15, 5: 15})
    yield ""
    for row in (OFFSET_COLUMNS, *texts):
        yield _padded(row, widths)


# ---- members


def member_lines(group: str, members: Sequence[MemberDescription], *, verbose: bool) -> Iterator[str]:
    """The table of one group's members, an empty line first. verbose: with what they are assigned."""
    static = any(member.group_instance_id for member in members)
    header = ["GROUP", "CONSUMER-ID", *(["GROUP-INSTANCE-ID"] if static else []), "HOST", "CLIENT-ID", "#PARTITIONS"]
    texts = [
        [group, member.member_id, *([member.group_instance_id or ""] if static else []), member.host, member.client_id,
         str(len(member.assignment))]
        for member in members
    ]  # fmt: skip
    widths = _widths(header, texts, least={2: 17} if static else {}, fixed={len(header) - 1: 15})
    endings = ["ASSIGNMENT", *(assignment_text(member.assignment) for member in members)] if verbose else []
    yield ""
    for number, row in enumerate((header, *texts)):
        yield f"{_padded(row, widths)} {endings[number] if verbose else ''}"


def assignment_text(assignment: Iterable[TopicPartition]) -> str:
    """`t1(0,1), t2(3)`, or `-` for nothing."""
    topics: dict[str, list[int]] = {}
    for topic, number in assignment:
        topics.setdefault(topic, []).append(number)
    texts = [f"{topic}({','.join(map(str, sorted(numbers)))})" for topic, numbers in topics.items()]
    return ", ".join(sorted(texts)) or MISSING


# ---- state


def state_lines(description: ConsumerGroupDescription) -> Iterator[str]:
    """The table of one group's state, an empty line first."""
    node = description.coordinator
    coordinator = f"{node.host}:{node.port} ({node.id})"
    widths = [max(25, len(coordinator)), 25, 20, 15]
    rows = (
        ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"),
        (description.group_id, coordinator, description.partition_assignor, str(description.state),
         str(len(description.members))),
    )  # fmt: skip
    yield ""
    for row in rows:
        yield _padded(row, widths)


# ---- documents


async def group_documents(admin: AsyncAdminClient, groups: Collection[str], timeout: float) -> list[dict[str, Any]]:
    """State, members and offsets of each group, for --output, which needs no choice between them. Raises KafkaError."""
    return [_document(group) for group in await collect_offsets(admin, groups, timeout)]


def _document(group: ShownGroup) -> dict[str, Any]:
    described = group.description
    return {
        "group": described.group_id,
        "state": str(described.state),
        "coordinator": {"id": described.coordinator.id, "host": described.coordinator.host,
                        "port": described.coordinator.port},
        "assignment_strategy": described.partition_assignor,
        "members": [
            {"consumer_id": member.member_id, "group_instance_id": member.group_instance_id, "host": member.host,
             "client_id": member.client_id, "partitions": [[topic, number] for topic, number in member.assignment]}
            for member in described.members
        ],
        "offsets": [
            {"topic": row.partition.topic, "partition": row.partition.partition, "current_offset": row.offset,
             "log_end_offset": row.end_offset, "lag": row.lag,
             "consumer_id": None if row.owner[0] == MISSING else row.owner[0]}
            for row in group.rows
        ],
    }  # fmt: skip


# ---- columns


def _text(number: int | None) -> str:
    return MISSING if number is None else str(number)


def _widths(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    least: Mapping[int, int] | None = None,
    fixed: Mapping[int, int],
) -> list[int]:
    """Column widths, by number of the column: `fixed`, or at least 15 (or `least`) and more where a text is longer."""
    least = least or {}
    return [
        fixed[number] if number in fixed else max([least.get(number, 15), *(len(row[number]) for row in rows)])
        for number in range(len(header))
    ]


def _padded(row: Sequence[str], widths: Sequence[int]) -> str:
    """Columns padded to their widths and parted by blanks; what is past the widths stays as it is."""
    padded = [text.ljust(width) for text, width in zip(row, widths, strict=False)]
    return " ".join([*padded, *row[len(widths) :]])
