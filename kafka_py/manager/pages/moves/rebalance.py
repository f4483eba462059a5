"""A rebalance is proposed, shown, carried out, watched and cancelled."""

from __future__ import annotations

import asyncio
import shlex
from dataclasses import dataclass
from typing import NamedTuple

from kafka_py.manager.messages.matching.pattern_syntax import InvalidPattern
from kafka_py.manager.messages.matching.patterns import PatternTooCostly, SafePattern
from kafka_py.manager.pages.commands import CONFIG_FILE
from kafka_py.manager.pages.looks import problems_of, seen
from kafka_py.manager.pages.moves.executions import MEGABYTE, ExecutionProgressPage, Executions
from kafka_py.manager.rebalance_jobs import PART
from kafka_py.manager.web.answers import Effect, Page, PlannedChange, ProblemRow
from kafka_py.manager.web.requests import BadParameter, NotFound, PageRequest
from kafka_py.manager.web.routes import CLUSTER, RouteParameter, changes, reads
from kafka_py.operations.rebalancing.batches import DEFAULT_BATCH_BYTES, DEFAULT_BATCH_PARTITIONS, BatchLimits
from kafka_py.operations.rebalancing.carriers import running_targets
from kafka_py.operations.rebalancing.cluster_input import PLANNED_PARTS, look_notes, plan_cluster_of
from kafka_py.operations.rebalancing.model import (
    DEFAULT_TOLERANCE_PERCENT,
    BrokerLoad,
    PlanRequest,
    Proposal,
    RebalanceAction,
    RebalanceRefused,
)
from kafka_py.operations.rebalancing.plan_file import new_state
from kafka_py.operations.rebalancing.planner import NEEDS_BROKERS, propose
from kafka_py.operations.rebalancing.summary import size_text

MOST_MOVES, MOST_VIOLATIONS = 200, 50
REBALANCE = Executions(PART, "rebalance", "rebalance", "partitions")


class RebalanceMoveRow(NamedTuple):
    """One partition of a plan: its replicas now and then."""

    partition: str
    before: str
    after: str
    moved_bytes: int


class RebalanceBrokerRow(NamedTuple):
    """One broker, as it is and as it would be."""

    broker: int
    rack: str
    is_live: bool
    before: BrokerLoad
    after: BrokerLoad


@dataclass(frozen=True, slots=True)
class RebalancePlanRow:
    """A plan; moves and violations as far as they are shown."""

    brokers: list[RebalanceBrokerRow]
    partitions: int
    moved_replicas: int
    moved_bytes: int
    elections: int
    moves: list[RebalanceMoveRow]
    violations_before: list[str]
    violations_after: list[str]
    notes: list[str]


@dataclass(frozen=True, slots=True)
class RebalancePage:
    """The form as it was filled in, the plan that it leads to, and the progress of the running execution."""

    action: str
    actions: list[str]
    brokers: str
    factor: str
    topics: str
    excluded: str
    tolerance: int
    plan: RebalancePlanRow | None
    progress: ExecutionProgressPage
    problem: str
    problems: list[ProblemRow]


@dataclass(frozen=True, slots=True)
class SearchedRequest(PlanRequest):
    """A request whose patterns are searched for in linear time: one of `re` may hold up the manager for hours."""

    only: SafePattern | None = None
    without: SafePattern | None = None

    def selects(self, topic: str) -> bool:
        """Whether partitions of this topic may change. Raises PatternTooCostly."""
        if self.without is not None and self.without.found_in(topic):
            return False
        return self.only is None or self.only.found_in(topic)


def asked(request: PageRequest) -> PlanRequest:
    """What the form asks for. Raises BadParameter."""
    action = RebalanceAction(request.choice("action", list(RebalanceAction), RebalanceAction.REBALANCE))
    try:
        brokers = frozenset(int(each) for each in request.text("brokers", "").replace(",", " ").split())
    except ValueError:
        raise BadParameter("brokers are ids such as 3,4") from None
    has_factor = action is RebalanceAction.REPLICATION_FACTOR
    topics, excluded = request.text("topics", "") or None, request.text("excluded", "") or None
    return SearchedRequest(
        action, brokers if action in NEEDS_BROKERS else frozenset(),
        request.number("factor", least=1, greatest=32_767) if has_factor else None, topics, excluded,
        request.number("tolerance", DEFAULT_TOLERANCE_PERCENT, greatest=100),
        only=_whole("topics", topics), without=_whole("excluded", excluded),
    )  # fmt: skip


def _whole(name: str, text: str | None) -> SafePattern | None:
    """A pattern for whole names. Raises BadParameter."""
    try:
        if text is None:
            return None
        flag = "(?i)" if text.startswith("(?i)") else ""
        return SafePattern(f"{flag}^(?:{SafePattern(text).text.removeprefix(flag)})$")
    except InvalidPattern as error:
        raise BadParameter(f"{name}: {error}") from None


class LookedProposal(NamedTuple):
    """A proposal, the id of the cluster, what could not be seen of it, and what the plan leaves out because of that."""

    proposal: Proposal
    cluster_id: str | None
    problems: list[ProblemRow]
    notes: tuple[str, ...]


async def proposed(request: PageRequest, wanted: PlanRequest) -> LookedProposal:
    """The plan for the cluster as it is now. Raises RebalanceRefused, KafkaError."""
    snapshot = await seen(request.cluster, *PLANNED_PARTS)
    # A plan for very many partitions takes a second or more, in which other pages are served.
    cluster = plan_cluster_of(snapshot, running=await running_targets(request.cluster.admin))
    try:
        proposal = await asyncio.to_thread(propose, cluster, wanted)
    except PatternTooCostly as error:
        raise RebalanceRefused(str(error)) from None
    return LookedProposal(proposal, snapshot.cluster_id, problems_of(snapshot), look_notes(snapshot))


def plan_row(proposal: Proposal, notes: tuple[str, ...] = ()) -> RebalancePlanRow:
    """The plan as it is shown."""
    rows = [
        RebalanceBrokerRow(before.broker, before.rack or "", before.is_live, before, after)
        for before, after in zip(proposal.before, proposal.after, strict=True)
    ]
    moves = [
        RebalanceMoveRow(str(one.partition), _ids(one.before), _ids(one.after), one.moved_bytes)
        for one in proposal.changes[:MOST_MOVES]
    ]
    return RebalancePlanRow(
        rows, len(proposal.changes), proposal.moved_replicas, proposal.moved_bytes, len(proposal.elections), moves,
        [f"{one.goal}: {one.text}" for one in proposal.violations[:MOST_VIOLATIONS]],
        [f"{one.goal}: {one.text}" for one in proposal.remaining[:MOST_VIOLATIONS]], [*proposal.notes, *notes],
    )  # fmt: skip


def _ids(replicas: tuple[int, ...]) -> str:
    return ", ".join(map(str, replicas))


async def rebalance(request: PageRequest) -> Page:
    """The form, with the plan once `plan` is asked for."""
    plan, problem, problems = None, "", []
    if request.flag("plan"):
        try:
            looked = await proposed(request, asked(request))
            plan, problems = plan_row(looked.proposal, looked.notes), looked.problems
        except (RebalanceRefused, BadParameter) as error:
            problem = str(error)
    model = RebalancePage(
        request.text("action", RebalanceAction.REBALANCE), list(RebalanceAction), request.text("brokers", ""),
        request.text("factor", ""), request.text("topics", ""), request.text("excluded", ""),
        request.number("tolerance", DEFAULT_TOLERANCE_PERCENT), plan, REBALANCE.progress(request), problem, problems,
    )  # fmt: skip
    return Page("rebalance/form.html", model, "Rebalance", 422 if problem else 200)


async def progress(request: PageRequest) -> Page:
    """How far the execution is."""
    return Page("rebalance/progress.html", REBALANCE.progress(request))


async def execute(request: PageRequest) -> PlannedChange:
    """Carries a plan out, for the sizes and leaders of the moment when it begins; the brokers must be those shown."""
    wanted = asked(request)
    throttle = request.number("throttle", 0) * MEGABYTE or None
    limits = BatchLimits(request.number("batch", DEFAULT_BATCH_PARTITIONS, least=1), DEFAULT_BATCH_BYTES)
    REBALANCE.require_no_throttles(request)
    try:
        looked = await proposed(request, wanted)
    except RebalanceRefused as error:
        raise BadParameter(str(error)) from None
    plan = looked.proposal
    if plan.is_empty:
        raise NotFound("Nothing has to change")

    async def apply() -> str:
        REBALANCE.start(request, new_state(plan, looked.cluster_id, throttle, limits))
        return f"The rebalance of {len(plan.changes)} partitions has begun."

    effects = [
        Effect(f"broker {before.broker}", _load_text(before), _load_text(after))
        for before, after in zip(plan.before, plan.after, strict=True)
    ]
    effects += [Effect(str(one.partition), _ids(one.before), _ids(one.after)) for one in plan.changes[:MOST_MOVES]]
    if len(plan.changes) > MOST_MOVES:
        effects.append(Effect(f"and {len(plan.changes) - MOST_MOVES} others"))
    warnings = [f"{size_text(plan.moved_bytes)} are copied between brokers."] if plan.moved_bytes else []
    if plan.moved_bytes and throttle is None:
        warnings.append("Without a throttle copying may slow clients down.")
    warnings += [f"Not reached: {one.text}" for one in plan.remaining[:10]]
    return PlannedChange(
        f"Rebalance {len(plan.changes)} partitions", command_of(request, wanted, throttle, limits), apply,
        REBALANCE.back(request), effects, warnings, basis=[(one.broker, one.is_live) for one in plan.before],
    )  # fmt: skip


def _load_text(load: BrokerLoad) -> str:
    return f"{load.replicas} replicas, {load.preferred} leaders, {size_text(load.size_bytes)}"


def command_of(request: PageRequest, wanted: PlanRequest, throttle: int | None, limits: BatchLimits) -> str:
    """The same on the command line."""
    words = ["kafka-py", "rebalance", "--bootstrap-server", request.cluster.settings.bootstrap_servers]
    if request.cluster.settings.properties:
        words += ["--command-config", CONFIG_FILE]
    if wanted.action in NEEDS_BROKERS:
        words += [f"--{wanted.action}", ",".join(map(str, sorted(wanted.brokers)))]
    elif wanted.action is RebalanceAction.FIX_RACKS:
        words.append("--fix-racks")
    elif wanted.factor is not None:
        words += ["--replication-factor", str(wanted.factor)]
    for option, value in (("--topics", wanted.topics), ("--exclude-topics", wanted.excluded)):
        words += [option, value] if value else []
    words += ["--tolerance", str(wanted.tolerance_percent), "--batch-partitions", str(limits.partitions), "--execute"]
    return shlex.join([*words, *(["--throttle", str(throttle)] if throttle is not None else [])])


_ASKED = (
    RouteParameter("action", f"One of {', '.join(RebalanceAction)}."),
    RouteParameter("brokers", "Ids of brokers that are added, removed or demoted."),
    RouteParameter("factor", "Replicas of each partition, for replication-factor.", "integer"),
    RouteParameter("topics", "A regular expression for the names of topics."),
    RouteParameter("excluded", "A regular expression for topics that are left as they are."),
    RouteParameter("tolerance", "How many percent a broker may be from the average.", "integer"),
)
ROUTES = (
    reads(f"{CLUSTER}/rebalance", rebalance, "Proposes a rebalance.", RebalancePage, *_ASKED,
          RouteParameter("plan", "Whether to make a plan.", "boolean"), menu="Rebalance"),
    reads(f"{CLUSTER}/rebalance/progress", progress, "How far a rebalance is.", ExecutionProgressPage,
          under="Rebalance"),
    changes(f"{CLUSTER}/rebalance/execute", execute, "Carries a rebalance out.", *_ASKED,
            RouteParameter("throttle", "The most megabytes per second that a broker copies.", "integer"),
            RouteParameter("batch", "How many partitions move at a time.", "integer"), under="Rebalance"),
    changes(f"{CLUSTER}/rebalance/stop", REBALANCE.stop, "Ends the running rebalance.",
            RouteParameter("how", "finish or cancel the running batch."), under="Rebalance"),
    changes(f"{CLUSTER}/rebalance/resume", REBALANCE.resume, "Continues an interrupted rebalance.", under="Rebalance"),
    changes(f"{CLUSTER}/rebalance/abandon", REBALANCE.abandon, "Cancels an interrupted rebalance.", under="Rebalance"),
)  # fmt: skip
