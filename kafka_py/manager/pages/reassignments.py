"""Moves of replicas: those that run, and plans that are generated, looked at as a diff, carried out and cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.placement import BrokerRack, without_racks
from kafka_py.manager.clusters import ManagedCluster
from kafka_py.manager.pages.commands import command
from kafka_py.manager.pages.looks import problems_of, seen
from kafka_py.manager.throttle_keeper import PART, ThrottleKeeper
from kafka_py.manager.web.answers import Effect, Page, PageList, PlannedChange, ProblemRow
from kafka_py.manager.web.formats import part, size
from kafka_py.manager.web.requests import BadParameter, NotFound, PageRequest
from kafka_py.manager.web.routes import CLUSTER, PAGING, RouteParameter, changes, reads
from kafka_py.operations.cluster_view import derived
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, ViewPart
from kafka_py.operations.reassignments import carrying
from kafka_py.operations.reassignments.generating import proposed, settled
from kafka_py.operations.reassignments.plans import Plan, PlanError, Replicas, parse_plan, plan_text
from kafka_py.operations.rebalancing import throttles
from kafka_py.operations.rebalancing.carriers import running_targets

MOST_EFFECTS = 500
MOST_PINNED = 10_000
"""Moves named in a form."""
MOST_LISTED = 300
"""Topics to choose from, shown at once."""


class MoveRow(NamedTuple):
    """A partition that is being moved. percent: how much is copied, null if not known."""

    partition: str
    replicas: list[int]
    adding: list[int]
    removing: list[int]
    percent: int | None


@dataclass(frozen=True, slots=True)
class ReassignmentsPage:
    """What moves, and what throttles it. is_kept: throttles were set here, and are removed when the moves are over."""

    moves: list[MoveRow]
    part: PageList
    rates: Mapping[int, int]
    throttled_topics: list[str]
    is_kept: bool
    problems: list[ProblemRow]


def _keeper(request: PageRequest) -> ThrottleKeeper:
    keeper: ThrottleKeeper = request.services.parts[PART]
    return keeper


async def running(request: PageRequest) -> Page:
    """The moves that run."""
    admin = request.cluster.admin
    moves = await admin.list_partition_reassignments()
    topics = sorted({each.topic for each in moves})
    parts = [ViewPart.TOPICS, ViewPart.LOG_DIRS] if moves else []
    snapshot = await seen(request.cluster, *parts, topics=topics)
    throttled = await _throttles(request.cluster, snapshot, topics)
    sizes = derived.replica_bytes(snapshot)
    leaders = {info.topic_partition: info.leader for info in derived.partitions(snapshot)}
    rows = [
        MoveRow(
            str(each), list(move.replicas), list(move.adding), list(move.removing),
            carrying.progress_percent(move, leaders.get(each, -1), sizes.get(each, {})),
        )
        for each, move in sorted(moves.items())
    ]  # fmt: skip
    section = request.page_list(len(rows), size=100)
    model = ReassignmentsPage(
        rows[section.start : section.end], section, throttled.rates, throttled.topics,
        _keeper(request).kept(request.cluster.name).is_set, problems_of(snapshot),
    )  # fmt: skip
    return Page("reassignments/running.html", model, "Reassignments")


async def _throttles(
    cluster: ManagedCluster, snapshot: ClusterSnapshot, topics: Collection[str] | None
) -> carrying.ThrottleSeen:
    return await carrying.seen_throttles(cluster.admin, list(snapshot.nodes), topics or ())


@dataclass(frozen=True, slots=True)
class NewPlanPage:
    """What a plan is made from. topics: those to choose from, `total` of them in all."""

    topics: list[str]
    chosen: list[str]
    total: int
    search: str
    brokers: list[BrokerRack]
    problem: str = ""


async def new_plan(request: PageRequest) -> Page:
    """The form for a plan."""
    return Page("reassignments/new.html", await _form(request), "Move partitions")


async def _form(request: PageRequest, problem: str = "") -> NewPlanPage:
    snapshot = await seen(request.cluster, ViewPart.TOPICS)
    search, chosen = request.text("search", ""), request.many("topic")
    found = [name for name in snapshot.topics if search in name and name not in chosen]
    brokers = [BrokerRack(node.id, node.rack) for node in snapshot.nodes.values()]
    return NewPlanPage(found[:MOST_LISTED], chosen, len(found), search, brokers, problem)


class PlanRow(NamedTuple):
    """One partition of a plan."""

    partition: str
    now: list[int]
    then: list[int]
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class PlanPage:
    """A plan that was generated: what changes, and its file."""

    rows: list[PlanRow]
    partitions: int
    copied_bytes: int
    plan: str
    rollback: str


async def generated(request: PageRequest) -> Page:
    """New places for the replicas of some topics; nothing moves yet."""
    names = request.many("topic")
    if not names and not request.flag("all"):
        raise BadParameter("Choose at least one topic")
    snapshot = await seen(request.cluster, ViewPart.TOPICS, ViewPart.LOG_DIRS)
    search = request.text("search", "")
    wanted = [name for name in snapshot.topics if search in name] if request.flag("all") else names
    missing = [name for name in wanted if name not in snapshot.topics]
    if missing:
        raise NotFound(f"There is no topic {missing[0]}")
    asked = {int(each) for each in request.many("broker") if each.isascii() and each.isdecimal()}
    chosen = asked or set(snapshot.nodes)
    brokers = [BrokerRack(node.id, node.rack) for node in snapshot.nodes.values() if node.id in chosen]
    if request.flag("ignore_racks") or any(each.rack is None for each in brokers):
        brokers = without_racks(brokers)
    named = {info.topic_partition: info.replicas for name in wanted for info in snapshot.topics[name].partitions}
    current = settled(named, await running_targets(request.cluster.admin))
    try:
        chance = request.services.environment.chance.generator()
        targets = await asyncio.to_thread(proposed, current, brokers, chance)  # other pages are served meanwhile
    except KafkaError as error:
        return Page("reassignments/new.html", await _form(request, error.message), "Move partitions", 422)
    sizes = derived.replica_bytes(snapshot)
    changed = {each: ids for each, ids in targets.items() if ids != current[each]}
    rows = [
        PlanRow(str(each), current[each], ids, max(sizes.get(each, {}).values(), default=None))
        for each, ids in changed.items()
    ]
    model = PlanPage(
        rows[:MOST_EFFECTS], len(changed), copied_bytes(current, changed, sizes), plan_text(changed),
        plan_text({each: current[each] for each in changed}),
    )  # fmt: skip
    return Page("reassignments/plan.html", model, "Proposed plan")


def copied_bytes(
    current: Replicas, targets: Replicas, sizes: Mapping[TopicPartition, Mapping[int, int]]
) -> int:
    """How much the plan copies between brokers, by the largest replica of each partition."""
    return sum(
        len(set(ids) - set(current.get(each, ()))) * max(sizes.get(each, {}).values(), default=0)
        for each, ids in targets.items()
    )


def _plan_of(request: PageRequest) -> Plan:
    try:
        plan = parse_plan(request.text("plan"))
        plan.check()
    except PlanError as error:
        raise BadParameter(str(error)) from None
    if plan.log_dirs:
        raise BadParameter("Moves between log directories are made on the page Log directories")
    return plan


async def execute(request: PageRequest) -> PlannedChange:
    """Begins the moves of a plan."""
    plan, targets = _plan_of(request), {}
    rate = request.number("throttle", 0) or None
    snapshot = await seen(request.cluster, ViewPart.TOPICS, ViewPart.LOG_DIRS)
    current = {info.topic_partition: list(info.replicas) for info in derived.partitions(snapshot)}
    for each, ids in plan.targets.items():
        if each not in current:
            raise NotFound(f"There is no partition {each}")
        unknown = [broker for broker in ids if broker not in snapshot.nodes]
        if unknown:
            raise BadParameter(f"{each} would be on broker {unknown[0]}, which is not alive")
        if ids != current[each]:
            targets[each] = ids
    if not targets:
        raise BadParameter("Every partition is where the plan wants it already")
    cluster, keeper = request.cluster, _keeper(request)
    set_throttle = None if rate is None else partial(keeper.throttle, cluster, rate)

    async def apply() -> str:
        async with keeper.holding(cluster.name):
            begun = await carrying.begin(cluster.admin, targets, current, set_throttle)
        sentence = f"{len(begun.begun)} reassignments were begun."
        if begun.refused:
            each, error = next(iter(sorted(begun.refused.items())))
            sentence += f" {len(begun.refused)} were refused, {each} for example: {error.message}"
        return sentence

    words = ["--execute", "--additional", "--reassignment-json-file", "plan.json"]
    words += ["--throttle", str(rate)] if rate else []
    copied = copied_bytes(current, targets, derived.replica_bytes(snapshot))
    effects = [
        Effect(str(each), ", ".join(map(str, current[each])), ", ".join(map(str, ids)))
        for each, ids in list(targets.items())[:MOST_EFFECTS]
    ]
    if len(targets) > MOST_EFFECTS:
        effects.append(Effect(f"and {len(targets) - MOST_EFFECTS} others"))
    warnings = [f"{size(copied)} are copied between brokers."]
    if rate is None:
        warnings.append("Nothing throttles this: producers and consumers may become slower meanwhile.")
    else:
        warnings.append("The throttle is removed when these moves are over.")
    line = f"cat > plan.json <<'END'\n{plan_text(targets)}\nEND\n" if len(targets) <= 50 else ""
    line += command(request.cluster, "kafka-reassign-partitions.sh", *words)
    return PlannedChange(f"Move {len(targets)} partitions", line, apply, _back(request), effects, warnings)


def _back(request: PageRequest) -> str:
    return f"/clusters/{part(request.cluster.name)}/reassignments"


async def cancel(request: PageRequest) -> PlannedChange:
    """Cancels moves that run; replicas that were being added are dropped."""
    admin = request.cluster.admin
    only = set(request.many("partition"))
    moves = {
        each: move for each, move in (await admin.list_partition_reassignments()).items()
        if not only or str(each) in only
    }  # fmt: skip
    if not moves:
        raise NotFound("No reassignment is running")

    async def apply() -> str:
        refused = await carrying.cancel(admin, moves)
        return f"{len(moves) - len(refused)} reassignments were cancelled."

    before = {each: [id_ for id_ in move.replicas if id_ not in move.adding] for each, move in moves.items()}
    effects = [
        Effect(str(each), ", ".join(map(str, move.replicas)), ", ".join(map(str, before[each])))
        for each, move in sorted(moves.items())[:MOST_EFFECTS]
    ]
    line = f"cat > plan.json <<'END'\n{plan_text(before)}\nEND\n" if len(moves) <= 50 else ""
    line += command(request.cluster, "kafka-reassign-partitions.sh", "--cancel", "--preserve-throttles",
                    "--reassignment-json-file", "plan.json")  # fmt: skip
    # Moves that begin after this was shown go on.
    pins = {"partition": [str(each) for each in sorted(moves)]} if len(moves) <= MOST_PINNED else {}
    return PlannedChange(
        f"Cancel {len(moves)} reassignments", line, apply, _back(request), effects, basis=(), pins=pins
    )


async def throttle(request: PageRequest) -> PlannedChange:
    """Throttles the moves that run; 0 removes every throttle of brokers and topics."""
    admin, rate = request.cluster.admin, request.number("rate")
    moves = await admin.list_partition_reassignments()
    snapshot = await seen(request.cluster, ViewPart.TOPICS)
    found = await _throttles(request.cluster, snapshot, list(snapshot.topics))
    effects = [Effect(f"rate of broker {broker}", f"{size(before)}/s", f"{size(rate)}/s" if rate else "none")
               for broker, before in found.rates.items()]  # fmt: skip
    if not rate:
        if not found.is_set:
            raise NotFound("Nothing is throttled")

        async def apply() -> str:
            keeper, name = _keeper(request), request.cluster.name
            async with keeper.holding(name):
                await carrying.clear_throttles(admin, list(found.rates), found.topics)
                await keeper.forget(name, found.topics, [str(broker) for broker in found.rates])
            return "All throttles were removed."

        lines = [_clear_line(request.cluster, "brokers", str(broker), carrying.RATES) for broker in found.rates]
        lines += [_clear_line(request.cluster, "topics", each, throttles.TOPIC_THROTTLES) for each in found.topics]
        effects += [Effect(f"throttled replicas of {each}", "some", "none") for each in found.topics]
        return PlannedChange("Remove all throttles", "\n".join(lines), apply, _back(request), effects)
    if not moves:
        raise NotFound("No reassignment is running")

    async def set_rate() -> str:
        keeper = _keeper(request)
        async with keeper.holding(request.cluster.name):
            await keeper.throttle(request.cluster, rate, throttles.moves_under_way(moves))
        return f"The moves are throttled to {size(rate)}/s per broker, until they are over."

    if not effects:
        effects = [Effect("rate", "none", f"{size(rate)}/s")]
    line = command(request.cluster, "kafka-reassign-partitions.sh", "--execute", "--additional", "--throttle", rate,
                   "--reassignment-json-file", "plan.json")  # fmt: skip
    return PlannedChange("Throttle the moves", line, set_rate, _back(request), effects)


def _clear_line(cluster: ManagedCluster, kind: str, name: str, settings: Collection[str]) -> str:
    return command(cluster, "kafka-configs.sh", "--alter", "--entity-type", kind, "--entity-name", name,
                   "--delete-config", ",".join(settings))  # fmt: skip


_CHOICE = (
    RouteParameter("topic", "The topics to move.", is_list=True),
    RouteParameter("search", "A part of the names of topics."),
)
ROUTES = (
    reads(f"{CLUSTER}/reassignments", running, "The moves that run, and their throttles.", ReassignmentsPage, *PAGING,
          menu="Reassignments"),
    reads(f"{CLUSTER}/reassignments/new", new_plan, "What a plan can be made from.", NewPlanPage, *_CHOICE,
          under="Reassignments"),
    reads(
        f"{CLUSTER}/reassignments/plan", generated, "New places for the replicas of topics; nothing moves.", PlanPage,
        *_CHOICE, RouteParameter("all", "All topics whose names have that part.", "boolean"),
        RouteParameter("broker", "The brokers to move to; all unless given.", "integer", is_list=True),
        RouteParameter("ignore_racks", "Places replicas without regard to racks.", "boolean"), under="Reassignments",
    ),
    changes(
        f"{CLUSTER}/reassignments", execute, "Begins the moves of a plan.",
        RouteParameter("plan", "The plan, as kafka-reassign-partitions.sh has it.", is_required=True),
        RouteParameter("throttle", "The most bytes per second between brokers; 0 for no bound.", "integer"),
        under="Reassignments",
    ),
    changes(f"{CLUSTER}/reassignments/cancel", cancel, "Cancels moves that run.",
            RouteParameter("partition", "These only, as topic-number; all unless given.", is_list=True),
            under="Reassignments"),
    changes(f"{CLUSTER}/reassignments/throttle", throttle, "Throttles the moves that run, or removes all throttles.",
            RouteParameter("rate", "Bytes per second; 0 removes the throttles.", "integer", is_required=True),
            under="Reassignments"),
)  # fmt: skip
