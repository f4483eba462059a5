"""The groups of a cluster; and one group with its members, its lag in records and in time, and who holds it up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kafka_py.base.ids import TopicPartition
from kafka_py.manager.history.metrics import Belongs
from kafka_py.manager.history.series import TrendDirection
from kafka_py.manager.pages.group_looks import (
    GroupsLook,
    ages_of,
    health_of,
    lag_trend,
    look_at_groups,
    look_closely,
    partitions_of,
    samples_of,
)
from kafka_py.manager.pages.history import history_path
from kafka_py.manager.pages.looks import problems_of
from kafka_py.manager.web.answers import Page, PageList, ProblemRow
from kafka_py.manager.web.requests import NotFound, PageRequest
from kafka_py.manager.web.routes import CLUSTER, PAGING, RouteParameter, reads
from kafka_py.operations.cluster_view.snapshot import GroupSeen, ViewPart
from kafka_py.operations.groups.health import (
    GroupHealth,
    MemberHealth,
    PartitionHealth,
    group_health,
    member_health,
)

RESETTABLE = ("Empty", "Dead", "")


class GroupRow(NamedTuple):
    """A group of the list. lag: records not committed, of the partitions where it is known; null if of none."""

    group_id: str
    protocol_type: str
    state: str
    members: int | None
    topics: int
    lag: int | None
    health: GroupHealth


@dataclass(frozen=True, slots=True)
class GroupsPage:
    """A part of the groups."""

    groups: list[GroupRow]
    part: PageList
    search: str
    state: str
    states: list[str]
    problems: list[ProblemRow]


class GroupMemberRow(NamedTuple):
    """A member. assignment: its partitions as text. lag: of its partitions."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    host: str
    partitions: int
    assignment: str
    lag: int | None
    health: MemberHealth


class GroupPartitionRow(NamedTuple):
    """A partition with a commit or a member. lag_ms: how long ago the next record to consume was written."""

    topic: str
    partition: int
    committed: int | None
    end_offset: int | None
    lag: int | None
    lag_ms: int | None
    metadata: str
    member_id: str
    client_id: str
    health: PartitionHealth


@dataclass(frozen=True, slots=True)
class GroupPage:
    """One group. charts: the path of its charts over time. may_reset: no member is active."""

    group_id: str
    protocol_type: str
    state: str
    assignor: str
    coordinator: int
    lag: int | None
    lag_ms: int | None
    trend: TrendDirection
    health: GroupHealth
    members: list[GroupMemberRow]
    partitions: list[GroupPartitionRow]
    part: PageList
    charts: str
    may_reset: bool
    problems: list[ProblemRow]


def total_lag(look: GroupsLook, group: GroupSeen) -> int | None:
    """The sum over the partitions where it is known."""
    lags = [look.lag(group, partition) for partition in group.committed or {}]
    known = [lag for lag in lags if lag is not None]
    return sum(known) if known else None


def assignment_of(partitions: tuple[TopicPartition, ...]) -> str:
    """`orders 0-2,5; payments 1`."""
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        by_topic.setdefault(topic, []).append(number)
    return "; ".join(f"{topic} {_ranges(numbers)}" for topic, numbers in by_topic.items())


def _ranges(numbers: list[int]) -> str:
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


# ---- the list


async def groups(request: PageRequest) -> Page:
    """The list of groups."""
    search, state = request.text("search", ""), request.text("state", "")
    everything = await look_at_groups(request.cluster, None, ViewPart.GROUPS)
    found = [
        group for group in everything.groups.values()
        if search in group.group_id and state in ("", group.state)
    ]  # fmt: skip
    part = request.page_list(len(found))
    look = await look_closely(request.cluster, [group.group_id for group in found[part.start : part.end]])
    rows = [await _row(request, look, look.groups[each]) for each in sorted(look.groups)]
    problems = [row for snapshot in look.snapshots for row in problems_of(snapshot)]
    states = sorted({group.state for group in everything.groups.values()})
    return Page("groups/list.html", GroupsPage(rows, part, search, state, states, problems), "Groups")


async def _row(request: PageRequest, look: GroupsLook, group: GroupSeen) -> GroupRow:
    health = health_of(group, await samples_of(request, look, group), look.now_ms)
    return GroupRow(
        group.group_id,
        group.protocol_type,
        group.state,
        None if group.members is None else len(group.members),
        len({partition.topic for partition in partitions_of(group)}),
        total_lag(look, group),
        group_health(health.values()),
    )


# ---- one group


async def group_seen(request: PageRequest) -> tuple[GroupsLook, GroupSeen]:
    """The group that the parameter names. Raises NotFound."""
    request.text("group")  # raises where it is missing
    name = request.many("group")[-1]  # with the blanks that may be at its ends
    look = await look_closely(request.cluster, [name])
    group = look.groups.get(name)
    if group is None:
        raise NotFound(f"There is no group {name}")
    return look, group


async def group(request: PageRequest) -> Page:
    """One group."""
    look, found = await group_seen(request)
    health = health_of(found, await samples_of(request, look, found), look.now_ms)
    ages = await ages_of(request, look, found)
    rows = partition_rows(look, found, health, ages)
    part = request.page_list(len(rows), size=100)
    model = GroupPage(
        found.group_id,
        found.protocol_type,
        found.state,
        found.assignor,
        found.coordinator,
        total_lag(look, found),
        max(ages.values(), default=None),
        await lag_trend(request, found.group_id),
        group_health(health.values()),
        member_rows(look, found, health),
        rows[part.start : part.end],
        part,
        history_path(request.cluster.name, Belongs.GROUP, found.group_id),
        found.is_consumer_group and found.state in RESETTABLE,
        [row for snapshot in look.snapshots for row in problems_of(snapshot)],
    )
    return Page("groups/group.html", model, f"Group {found.group_id}")


def partition_rows(
    look: GroupsLook,
    found: GroupSeen,
    health: Mapping[TopicPartition, PartitionHealth],
    ages: Mapping[TopicPartition, int],
) -> list[GroupPartitionRow]:
    """All partitions of the group: those in trouble first, then those with the greatest lag."""
    owners = {partition: member for member in found.members or () for partition in member.assignment}
    rows = []
    for partition in partitions_of(found):
        committed, owner = (found.committed or {}).get(partition), owners.get(partition)
        rows.append(GroupPartitionRow(
            partition.topic,
            partition.partition,
            None if committed is None else committed.offset,
            look.ends.get(partition),
            look.lag(found, partition),
            ages.get(partition),
            "" if committed is None else committed.metadata,
            "" if owner is None else owner.member_id,
            "" if owner is None else owner.client_id,
            health.get(partition, PartitionHealth.UNKNOWN),
        ))  # fmt: skip
    return sorted(rows, key=lambda row: (
        not row.health.is_error, row.health is not PartitionHealth.WARN, -(row.lag or 0), row.topic, row.partition
    ))  # fmt: skip


def member_rows(
    look: GroupsLook, found: GroupSeen, health: Mapping[TopicPartition, PartitionHealth]
) -> list[GroupMemberRow]:
    """The members: stuck ones first, then slow ones."""
    order = [MemberHealth.STUCK, MemberHealth.SLOW]
    rows = []
    for member in found.members or ():
        lags = [lag for partition in member.assignment if (lag := look.lag(found, partition)) is not None]
        rows.append(GroupMemberRow(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.host.removeprefix("/"),
            len(member.assignment),
            assignment_of(member.assignment),
            sum(lags) if lags else None,
            member_health(member.assignment, health),
        ))  # fmt: skip
    return sorted(rows, key=lambda row: (
        order.index(row.health) if row.health in order else len(order), row.client_id, row.member_id
    ))  # fmt: skip


GROUP = RouteParameter("group", "The id of the group.", is_required=True)

ROUTES = (
    reads(
        f"{CLUSTER}/groups", groups, "The groups of a cluster.", GroupsPage,
        RouteParameter("search", "A part of the ids."),
        RouteParameter("state", "Only those in this state."),
        *PAGING, menu="Groups",
    ),
    reads(f"{CLUSTER}/groups/group", group, "One group with its members and its lag.", GroupPage, GROUP, *PAGING,
          under="Groups"),
)  # fmt: skip
