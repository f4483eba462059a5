"""Offsets of a group are reset or deleted, groups are deleted; each is shown with the command that does the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.manager.messages.positions import InvalidPosition, parse_moment
from kafka_py.manager.pages.commands import command
from kafka_py.manager.pages.group_looks import look_closely
from kafka_py.manager.pages.groups import GROUP, RESETTABLE, group_seen
from kafka_py.manager.web.answers import Effect, Page, PlannedChange
from kafka_py.manager.web.formats import part
from kafka_py.manager.web.requests import BadParameter, PageRequest
from kafka_py.manager.web.routes import CLUSTER, RouteParameter, changes, reads
from kafka_py.operations.cluster_view.snapshot import GroupSeen
from kafka_py.operations.groups.commands import (
    SCRIPT,
    delete_arguments,
    delete_offsets_arguments,
    reset_arguments,
)
from kafka_py.operations.groups.resetting import (
    GroupReset,
    NothingCommitted,
    OffsetLookup,
    ResetScenario,
    new_offsets,
)

TIMEOUT_S = 8.0
MOST_EFFECTS = 500
"""Shown of a change of very many partitions."""
SCENARIOS = {
    ResetScenario.TO_EARLIEST: "the first records",
    ResetScenario.TO_LATEST: "the end",
    ResetScenario.TO_DATETIME: "a time (UTC)",
    ResetScenario.TO_OFFSET: "an offset",
    ResetScenario.SHIFT_BY: "so many records further (or back)",
    ResetScenario.TO_CURRENT: "what is committed",
}
WITH_NUMBER = (ResetScenario.TO_OFFSET, ResetScenario.SHIFT_BY)


@dataclass(frozen=True, slots=True)
class GroupResetPage:
    """The form of a reset. topics: those that the group has commits for. problem: why it cannot be done."""

    group_id: str
    state: str
    topics: list[str]
    may_reset: bool
    scenario: str = ResetScenario.TO_EARLIEST.value
    to: str = ""
    chosen: str = ""
    problem: str = ""
    scenarios: Mapping[str, str] = field(default_factory=lambda: {key.value: text for key, text in SCENARIOS.items()})


def group_path(request: PageRequest, group: str) -> str:
    """The path of the page of a group."""
    return f"/clusters/{part(request.cluster.name)}/groups/group?{urlencode({'group': group})}"


def require_inactive(group: GroupSeen) -> None:
    """Raises KafkaError for a group with members, of which a broker would refuse the change."""
    if group.state not in RESETTABLE:
        count = len(group.members or ())
        raise KafkaError(
            ErrorCode.NON_EMPTY_GROUP,
            f"The group {group.group_id} is {group.state} with {count} members: stop them first",
        )


async def reset_form(request: PageRequest) -> Page:
    """The form."""
    _, group = await group_seen(request)
    return Page("groups/reset.html", form_page(group), f"Reset {group.group_id}")


def form_page(group: GroupSeen, scenario: str = ResetScenario.TO_EARLIEST, to: str = "", chosen: str = "",
              problem: str = "") -> GroupResetPage:  # fmt: skip
    """The form with what was typed."""
    topics = sorted({partition.topic for partition in group.committed or {}})
    may_reset = group.is_consumer_group and group.state in RESETTABLE
    return GroupResetPage(group.group_id, group.state, topics, may_reset, scenario, to, chosen, problem)


def reset_of(scenario: ResetScenario, to: str) -> GroupReset:
    """The reset that the form asks for. Raises BadParameter."""
    if scenario in WITH_NUMBER:
        digits = to.removeprefix("-") if scenario is ResetScenario.SHIFT_BY else to
        if not (digits.isascii() and digits.isdecimal()) or len(digits) > 18:
            raise BadParameter(f"{scenario} needs a number, not {to[:40]!r}")
        return GroupReset(scenario, offset=int(to))
    if scenario is ResetScenario.TO_DATETIME:
        try:
            return GroupReset(scenario, timestamp=parse_moment(to))
        except InvalidPosition as error:
            raise BadParameter(str(error)) from None
    return GroupReset(scenario)


def parse_scope(texts: Iterable[str]) -> tuple[list[TopicPartition], list[str]]:
    """Partitions of `topic:0,1`, and topics that are meant whole. Raises BadParameter."""
    partitions, whole = [], []
    for text in (piece for each in texts for piece in each.split()):
        topic, colon, numbers = text.partition(":")
        if not colon:
            whole.append(topic)
            continue
        for number in numbers.split(","):
            if not (number.isascii() and number.isdecimal()) or len(number) > 9:
                raise BadParameter(f"Partitions are written as topic:0,1, not {text[:100]!r}")
            partitions.append(TopicPartition(topic, int(number)))
    return partitions, whole


async def scope_of(request: PageRequest, group: GroupSeen, look: OffsetLookup) -> list[TopicPartition]:
    """The partitions that the form names; without any those that the group has commits for. Raises BadParameter."""
    partitions, whole = parse_scope(request.many("topic"))
    if not partitions and not whole:
        return sorted(group.committed or {})
    return sorted({*partitions, *(await look.partitions(whole) if whole else ())})


async def reset(request: PageRequest) -> Page | PlannedChange:
    """Shows the old and the new offsets, and commits the new ones."""
    _, group = await group_seen(request)
    scenario = ResetScenario(request.choice("scenario", [each.value for each in SCENARIOS]))
    to, chosen = request.text("to", ""), " ".join(request.many("topic"))
    look = OffsetLookup(request.cluster.admin, TIMEOUT_S)
    try:
        require_inactive(group)
        asked = reset_of(scenario, to)
        partitions = await scope_of(request, group, look)
        if not partitions:
            raise BadParameter("The group has no committed offsets: name the topics")
        new = await new_offsets(look, group.group_id, asked, partitions)
    except (BadParameter, NothingCommitted) as error:
        if request.is_api:
            raise BadParameter(str(error)) from None
        page = form_page(group, scenario, to, chosen, str(error))
        return Page("groups/reset.html", page, f"Reset {group.group_id}", 422)
    return _planned_reset(request, group, asked, new)


def _planned_reset(
    request: PageRequest, group: GroupSeen, asked: GroupReset, new: Mapping[TopicPartition, int]
) -> PlannedChange:
    old = group.committed or {}

    async def apply() -> str:
        answers = await request.cluster.admin.alter_consumer_group_offsets(group.group_id, dict(new), timeout=TIMEOUT_S)
        answers.all()
        return f"The offsets of {len(new)} partitions of the group {group.group_id} were reset"

    effects = [
        Effect(str(partition), str(old[partition].offset) if partition in old else "", str(offset))
        for partition, offset in list(new.items())[:MOST_EFFECTS]
    ]
    skipped = sum(max(0, offset - old[partition].offset) for partition, offset in new.items() if partition in old)
    repeated = sum(max(0, old[partition].offset - offset) for partition, offset in new.items() if partition in old)
    warnings = []
    if skipped:
        warnings.append(f"{skipped} records are skipped")
    if repeated:
        warnings.append(f"{repeated} records are consumed once more")
    if len(new) > MOST_EFFECTS:
        warnings.append(f"The first {MOST_EFFECTS} of {len(new)} partitions are shown")
    line = command(request.cluster, SCRIPT, *reset_arguments(group.group_id, asked, new))
    return PlannedChange(
        f"Reset the offsets of the group {group.group_id}",
        line,
        apply,
        group_path(request, group.group_id),
        effects,
        warnings,
        is_dangerous=bool(skipped or repeated),
        basis=[line, *((each, old[each].offset if each in old else None) for each in new)],  # a log may go on meanwhile
    )


async def delete_groups(request: PageRequest) -> PlannedChange:
    """Deletes groups without members, with their offsets."""
    names = request.many("group")
    if not names:
        raise BadParameter("The parameter group is missing")
    look = await look_closely(request.cluster, names)
    missing = [name for name in names if name not in look.groups]
    if missing:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"There is no group {missing[0]}")
    for name in names:
        require_inactive(look.groups[name])

    async def apply() -> str:
        (await request.cluster.admin.delete_consumer_groups(names, timeout=TIMEOUT_S)).all()
        return f"Deleted: {', '.join(names)}"

    return PlannedChange(
        f"Delete the group {names[0]}" if len(names) == 1 else f"Delete {len(names)} groups",
        command(request.cluster, SCRIPT, *delete_arguments(names)),
        apply,
        f"/clusters/{part(request.cluster.name)}/groups",
        [Effect(name, f"offsets of {len(look.groups[name].committed or {})} partitions", "deleted") for name in names],
        is_dangerous=True,
    )


async def delete_offsets(request: PageRequest) -> PlannedChange:
    """Deletes committed offsets of topics that no member of the group subscribes to."""
    _, group = await group_seen(request)
    partitions, whole = parse_scope(request.many("topic"))
    committed = group.committed or {}
    chosen = [each for each in sorted(committed) if each in partitions or each.topic in whole]
    if not chosen:
        raise BadParameter("The group has no committed offsets of what is named in the parameter topic")

    async def apply() -> str:
        answers = await request.cluster.admin.delete_consumer_group_offsets(group.group_id, chosen, timeout=TIMEOUT_S)
        answers.all()
        return f"The offsets of {len(chosen)} partitions were deleted from the group {group.group_id}"

    return PlannedChange(
        f"Delete offsets of the group {group.group_id}",
        command(request.cluster, SCRIPT, *delete_offsets_arguments(group.group_id, chosen)),
        apply,
        group_path(request, group.group_id),
        [Effect(str(each), str(committed[each].offset), "deleted") for each in chosen[:MOST_EFFECTS]],
        is_dangerous=True,
    )


TOPIC = RouteParameter("topic", "Topics, or partitions as topic:0,1; none: all that have commits.", is_list=True)

ROUTES = (
    reads(f"{CLUSTER}/groups/reset", reset_form, "The form of a reset.", GroupResetPage, GROUP, under="Groups",
          in_api=False),
    changes(
        f"{CLUSTER}/groups/reset", reset, "Resets the offsets of a group.", GROUP,
        RouteParameter("scenario", f"One of {', '.join(SCENARIOS)}.", is_required=True),
        RouteParameter("to", "The offset, the number of records or the time that the scenario needs."),
        TOPIC, under="Groups",
    ),
    changes(
        f"{CLUSTER}/groups/delete", delete_groups, "Deletes groups.",
        RouteParameter("group", "Their ids.", is_required=True, is_list=True), under="Groups",
    ),
    changes(f"{CLUSTER}/groups/offsets/delete", delete_offsets, "Deletes committed offsets of a group.", GROUP,
            TOPIC, under="Groups"),
)  # fmt: skip
