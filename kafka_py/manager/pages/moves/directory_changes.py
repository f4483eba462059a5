"""A plan for log directories is carried out, stopped, resumed and cancelled."""

from __future__ import annotations

import shlex

from kafka_py.manager.pages.commands import CONFIG_FILE, command
from kafka_py.manager.pages.moves.directories import ASKED, DIRECTORIES, MENU
from kafka_py.manager.pages.moves.directory_plans import (
    MOST_MOVES,
    DirectoryAction,
    DirectoryWish,
    LookedPlan,
    asked,
    proposed,
)
from kafka_py.manager.pages.moves.executions import MEGABYTE
from kafka_py.manager.web.answers import Effect, PlannedChange
from kafka_py.manager.web.formats import size
from kafka_py.manager.web.requests import BadParameter, NotFound, PageRequest
from kafka_py.manager.web.routes import CLUSTER, RouteParameter, changes
from kafka_py.operations.cluster_view import derived
from kafka_py.operations.directories.model import DirectoriesProposal, DirectoryLoad
from kafka_py.operations.directories.plan_file import new_directories_state
from kafka_py.operations.reassignments.plans import plan_text
from kafka_py.operations.rebalancing.batches import DEFAULT_BATCH_BYTES, DEFAULT_BATCH_PARTITIONS, BatchLimits
from kafka_py.operations.rebalancing.model import RebalanceRefused

MOST_WRITTEN = 50
"""Moves of a plan file that is part of the command."""
MOST_MEGABYTES = 1 << 40


async def execute(request: PageRequest) -> PlannedChange:
    """Carries a plan out, for the sizes of the moment when it begins.

    The directories, and moves that were chosen, must be those shown.
    """
    wish = asked(request)
    throttle = request.number("throttle", 0, greatest=MOST_MEGABYTES) * MEGABYTE or None
    limits = BatchLimits(request.number("batch", DEFAULT_BATCH_PARTITIONS, least=1), DEFAULT_BATCH_BYTES)
    DIRECTORIES.require_no_throttles(request)
    try:
        looked = await proposed(request, wish)
    except RebalanceRefused as error:
        raise BadParameter(str(error)) from None
    plan = looked.proposal
    if not plan.moves:
        raise NotFound("Nothing has to change")
    if looked.moving:
        raise BadParameter(
            f"{len(looked.moving)} replicas are being moved already, such as {looked.moving[0]}: wait until that has "
            "ended"
        )

    async def apply() -> str:
        state = new_directories_state(plan, looked.snapshot.cluster_id, throttle, limits)
        DIRECTORIES.start(request, state)
        return f"The moves of {len(plan.moves)} replicas have begun."

    basis: list[object] = [(one.id, one.is_online) for one in plan.before]
    if wish.action is DirectoryAction.MOVE:
        basis += [(move.replica, move.source, move.target) for move in plan.moves]
    return PlannedChange(
        f"Move {len(plan.moves)} replicas between log directories", command_of(request, wish, looked, throttle, limits),
        apply, DIRECTORIES.back(request), effects_of(plan), _warnings(looked, throttle), basis=basis,
    )  # fmt: skip


def effects_of(plan: DirectoriesProposal) -> list[Effect]:
    """The directories that change, then the replicas."""
    effects = [
        Effect(str(before.id), _load_text(before), _load_text(after))
        for before, after in zip(plan.before, plan.after, strict=True)
        if (before.replicas, before.size_bytes) != (after.replicas, after.size_bytes)
    ]
    effects += [
        Effect(f"{move.replica}, {size(move.size_bytes)}", move.source, move.target) for move in plan.moves[:MOST_MOVES]
    ]
    if len(plan.moves) > MOST_MOVES:
        effects.append(Effect(f"and {len(plan.moves) - MOST_MOVES} others"))
    return effects


def _load_text(load: DirectoryLoad) -> str:
    return f"{load.replicas} replicas, {size(load.size_bytes)}"


def _warnings(looked: LookedPlan, throttle: int | None) -> list[str]:
    warnings = [f"{size(looked.proposal.moved_bytes)} are copied between directories of the same broker."]
    if throttle is None:
        warnings.append("Without a throttle copying may slow clients down.")
    left = [load for load in looked.proposal.after if not load.is_balanced]
    warnings += [f"Not reached: {load.id} would hold {size(load.size_bytes)}." for load in left[:10]]
    return [*warnings, *looked.proposal.notes, *looked.notes]


def command_of(
    request: PageRequest, wish: DirectoryWish, looked: LookedPlan, throttle: int | None, limits: BatchLimits
) -> str:
    """The same on the command line."""
    if wish.action is DirectoryAction.MOVE:
        return _chosen_command(request, looked, throttle)
    words = ["kafka-py", "rebalance", "--bootstrap-server", request.cluster.settings.bootstrap_servers]
    if request.cluster.settings.properties:
        words += ["--command-config", CONFIG_FILE]
    if wish.action is DirectoryAction.DRAIN:
        words += ["--drain-log-dirs", ",".join(map(str, sorted(wish.request.drained)))]
    else:
        words += ["--log-dirs", ",".join(map(str, sorted(wish.request.brokers))) or "all"]
    words += ["--tolerance", str(wish.request.tolerance_percent), "--batch-partitions", str(limits.partitions)]
    return shlex.join([*words, "--execute", *(["--throttle", str(throttle)] if throttle is not None else [])])


def _chosen_command(request: PageRequest, looked: LookedPlan, throttle: int | None) -> str:
    """A plan file with the directories, for the moves that were chosen."""
    moves = looked.proposal.moves
    replicas = {info.topic_partition: info.replicas for info in derived.partitions(looked.snapshot)}
    named = {move.replica.partition: replicas.get(move.replica.partition, [move.replica.broker]) for move in moves}
    log_dirs = {move.replica.partition: {move.replica.broker: move.target} for move in moves}
    line = f"cat > plan.json <<'END'\n{plan_text(named, log_dirs)}\nEND\n" if len(moves) <= MOST_WRITTEN else ""
    words = ["--execute", "--additional", "--reassignment-json-file", "plan.json"]
    words += ["--replica-alter-log-dirs-throttle", str(throttle)] if throttle is not None else []
    return line + command(request.cluster, "kafka-reassign-partitions.sh", *words)


ROUTES = (
    changes(f"{CLUSTER}/directories/execute", execute, "Carries a plan for log directories out.", *ASKED,
            RouteParameter("throttle", "The most megabytes per second that a broker copies.", "integer"),
            RouteParameter("batch", "How many replicas move at a time.", "integer"), under=MENU),
    changes(f"{CLUSTER}/directories/stop", DIRECTORIES.stop, "Ends the running plan for log directories.",
            RouteParameter("how", "finish or cancel the running batch."), under=MENU),
    changes(f"{CLUSTER}/directories/resume", DIRECTORIES.resume, "Continues an interrupted plan for log directories.",
            under=MENU),
    changes(f"{CLUSTER}/directories/abandon", DIRECTORIES.abandon, "Cancels an interrupted plan for log directories.",
            under=MENU),
)  # fmt: skip
