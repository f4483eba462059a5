"""Looks at log directories, plans, and carries such a plan out: --log-dirs and --drain-log-dirs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kafka_py.cli.common.command import UsageError
from kafka_py.cli.rebalancing.rebalance_options import ids_of
from kafka_py.cli.rebalancing.rebalance_runs import RunDisplay, carrier_of, end_of, until_interrupted
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.operations.cluster_view.look import look_at
from kafka_py.operations.cluster_view.snapshot import ViewPart
from kafka_py.operations.directories.dir_tools import directory_tools
from kafka_py.operations.directories.execution import DirectoriesRun, DirectoryTools, cancel_directories
from kafka_py.operations.directories.look_input import plan_directories_of
from kafka_py.operations.directories.model import DirectoriesProposal, DirectoriesRequest, DirectoryId, ReplicaId
from kafka_py.operations.directories.plan_file import DirectoriesState
from kafka_py.operations.directories.planner import propose
from kafka_py.operations.rebalancing.cluster_input import unseen_notes

ALL = "all"


class PlannedDirectories(NamedTuple):
    """A proposal, the id of the cluster that it is for, what could not be seen of it, and what is being moved."""

    proposal: DirectoriesProposal
    cluster_id: str | None
    notes: tuple[str, ...]
    moving: tuple[ReplicaId, ...] = ()


def directories_request(log_dirs: str | None, drained: str | None, tolerance_percent: int) -> DirectoriesRequest:
    """What is asked for by the values of --log-dirs and --drain-log-dirs. Raises UsageError."""
    if drained is None:
        brokers = frozenset[int]() if log_dirs in (None, ALL) else frozenset(ids_of(log_dirs or ""))
        return DirectoriesRequest(brokers, tolerance_percent=tolerance_percent)
    ids = []
    for part in drained.split(","):
        broker, equals, path = part.partition("=")
        if not (equals and path and broker.strip().isdecimal()):
            raise UsageError(f"--drain-log-dirs takes directories such as 0=/disk1,1=/disk1, not {part!r}")
        ids.append(DirectoryId(int(broker), path))
    return DirectoriesRequest(drained=frozenset(ids), tolerance_percent=tolerance_percent)


async def plan_directories(properties: Mapping[str, str], request: DirectoriesRequest) -> PlannedDirectories:
    """The proposal for the cluster as it is. Raises RebalanceRefused, KafkaError."""
    async with AsyncAdminClient(properties) as admin:
        snapshot = await look_at(admin, [ViewPart.LOG_DIRS])
    notes = tuple(unseen_notes(snapshot))
    found = plan_directories_of(snapshot)
    proposal = propose(found, request)
    brokers = {move.replica.broker for move in proposal.moves}
    moving = tuple(sorted(each.id for each in found.replicas if each.is_moving and each.id.broker in brokers))
    return PlannedDirectories(proposal, snapshot.cluster_id, notes, moving)


async def execute_directories(
    properties: Mapping[str, str], zookeeper: str | None, state: DirectoriesState, path: Path, on_interrupt: str
) -> int:
    """Carries out what is left of a plan; the exit code. Raises RebalanceRefused, KafkaError, OSError."""
    display = RunDisplay()
    wake = asyncio.Event()
    async with _tools(properties, zookeeper, path, display, wake) as tools:
        outcome = await until_interrupted(DirectoriesRun(state, tools), state, path, on_interrupt, display, wake)
    reasons = {str(replica): step.reason for replica, step in state.steps.items()}
    return end_of(outcome, "replicas", reasons, state, path, display)


async def cancel_moves(
    properties: Mapping[str, str], zookeeper: str | None, state: DirectoriesState, path: Path
) -> None:
    """Cancels what moves of a plan. Raises KafkaError, OSError."""
    display = RunDisplay()
    async with _tools(properties, zookeeper, path, display, asyncio.Event()) as tools:
        cancelled = await cancel_directories(state, tools)
    display.say(f"{len(cancelled)} moves were cancelled, the throttles of the plan are removed.")
    if state.brokers:
        display.say(f"Still throttled, for they are not live: brokers {', '.join(sorted(state.brokers))}.")


@contextlib.asynccontextmanager
async def _tools(
    properties: Mapping[str, str], zookeeper: str | None, path: Path, display: RunDisplay, wake: asyncio.Event
) -> AsyncIterator[DirectoryTools]:
    async with AsyncAdminClient(properties) as admin, carrier_of(admin, zookeeper) as carrier:
        yield directory_tools(admin, carrier, path, wake, display.show, admin.cluster.clock)
