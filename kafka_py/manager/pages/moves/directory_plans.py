"""Plans for log directories: what a form asks for, the plan for the cluster as it is, and the plan as it is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from kafka_py.base.ids import TopicPartition
from kafka_py.manager.pages.looks import seen
from kafka_py.manager.web.requests import BadParameter, PageRequest
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, ViewPart
from kafka_py.operations.directories.chosen_moves import propose_chosen
from kafka_py.operations.directories.look_input import plan_directories_of
from kafka_py.operations.directories.model import DirectoriesProposal, DirectoriesRequest, DirectoryId, ReplicaId
from kafka_py.operations.directories.planner import propose
from kafka_py.operations.rebalancing.cluster_input import unseen_notes
from kafka_py.operations.rebalancing.model import DEFAULT_TOLERANCE_PERCENT

MOST_MOVES = 200


class DirectoryAction(StrEnum):
    """BALANCE: bytes are evened out. DRAIN: directories are emptied. MOVE: chosen replicas go to one directory."""

    BALANCE = "balance"
    DRAIN = "drain"
    MOVE = "move"


class DirectoryMoveRow(NamedTuple):
    """One replica of a plan: its directory now and then."""

    replica: str
    before: str
    after: str
    size_bytes: int


class DirectoryLoadRow(NamedTuple):
    """One directory now and then. lowest, highest: the bytes that are wanted, null where nothing is wanted of it."""

    broker: int
    path: str
    is_online: bool
    replicas_before: int
    replicas_after: int
    bytes_before: int
    bytes_after: int
    lowest: int | None
    highest: int | None
    is_balanced: bool


@dataclass(frozen=True, slots=True)
class DirectoryPlanRow:
    """A plan; moves as far as they are shown."""

    directories: list[DirectoryLoadRow]
    replicas: int
    moved_bytes: int
    moves: list[DirectoryMoveRow]
    notes: list[str]


@dataclass(frozen=True, slots=True)
class DirectoryWish:
    """What a form asks for. targets: chosen moves, with no request."""

    action: DirectoryAction
    request: DirectoriesRequest
    targets: Mapping[ReplicaId, str]


class LookedPlan(NamedTuple):
    """A proposal, the look that it was made from, what it leaves out, and what moves already on its brokers."""

    proposal: DirectoriesProposal
    snapshot: ClusterSnapshot
    notes: tuple[str, ...]
    moving: tuple[ReplicaId, ...]


def asked(request: PageRequest) -> DirectoryWish:
    """What the form asks for. Raises BadParameter."""
    action = DirectoryAction(request.choice("action", list(DirectoryAction), DirectoryAction.BALANCE))
    tolerance = request.number("tolerance", DEFAULT_TOLERANCE_PERCENT, greatest=100)
    if action is DirectoryAction.MOVE:
        return DirectoryWish(action, DirectoriesRequest(), _targets(request))
    if action is DirectoryAction.DRAIN:
        drained = frozenset(directory_id(text) for text in request.many("directory"))
        if not drained:
            raise BadParameter("Choose at least one directory that is to be emptied")
        return DirectoryWish(action, DirectoriesRequest(drained=drained, tolerance_percent=tolerance), {})
    try:
        brokers = frozenset(int(each) for each in request.text("brokers", "").replace(",", " ").split())
    except ValueError:
        raise BadParameter("brokers are ids such as 0,1") from None
    return DirectoryWish(action, DirectoriesRequest(brokers, tolerance_percent=tolerance), {})


def _targets(request: PageRequest) -> dict[ReplicaId, str]:
    broker, target = request.number("broker", greatest=(1 << 31) - 1), request.exact("target")
    targets = {ReplicaId(partition_of(text), broker): target for text in request.many("replica")}
    if not targets:
        raise BadParameter("Choose at least one replica")
    return targets


def directory_id(text: str) -> DirectoryId:
    """`0=/disk1`. Raises BadParameter."""
    broker, equals, path = text.partition("=")
    if not (equals and path and broker.isascii() and broker.isdecimal()):
        raise BadParameter(f"directory is a broker and a path such as 0=/disk1, not {text[:100]!r}")
    return DirectoryId(int(broker), path)


def partition_of(text: str) -> TopicPartition:
    """`orders-0`. Raises BadParameter."""
    topic, dash, number = text.rpartition("-")
    if not (dash and topic and number.isascii() and number.isdecimal()):
        raise BadParameter(f"replica is a partition such as orders-0, not {text[:100]!r}")
    return TopicPartition(topic, int(number))


async def proposed(request: PageRequest, wish: DirectoryWish) -> LookedPlan:
    """The plan for the cluster as it is now. Raises RebalanceRefused, KafkaError."""
    parts = [ViewPart.LOG_DIRS, ViewPart.TOPICS] if wish.targets else [ViewPart.LOG_DIRS]
    return await planned(await seen(request.cluster, *parts), wish)


async def planned(snapshot: ClusterSnapshot, wish: DirectoryWish) -> LookedPlan:
    """The plan for a look. Raises RebalanceRefused."""
    found = plan_directories_of(snapshot)
    # A plan for very many replicas takes a while, in which other pages are served.
    if wish.action is DirectoryAction.MOVE:
        proposal = await asyncio.to_thread(propose_chosen, found, wish.targets)
    else:
        proposal = await asyncio.to_thread(propose, found, wish.request)
    brokers = {move.replica.broker for move in proposal.moves}
    moving = tuple(sorted(each.id for each in found.replicas if each.is_moving and each.id.broker in brokers))
    return LookedPlan(proposal, snapshot, tuple(unseen_notes(snapshot)), moving)


def plan_row(looked: LookedPlan) -> DirectoryPlanRow:
    """The plan as it is shown."""
    proposal = looked.proposal
    rows = [
        DirectoryLoadRow(
            before.id.broker, before.id.path, before.is_online, before.replicas, after.replicas, before.size_bytes,
            after.size_bytes, after.lowest, after.highest, after.is_balanced,
        )
        for before, after in zip(proposal.before, proposal.after, strict=True)
    ]  # fmt: skip
    moves = [
        DirectoryMoveRow(str(move.replica), move.source, move.target, move.size_bytes)
        for move in proposal.moves[:MOST_MOVES]
    ]
    return DirectoryPlanRow(
        rows, len(proposal.moves), proposal.moved_bytes, moves, [*proposal.notes, *looked.notes]
    )
