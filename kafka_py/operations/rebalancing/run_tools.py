"""What a run works with on a real cluster: looks at it, the file of its state, and a pause that can be ended."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import NamedTuple

from kafka_py.base.clock import Clock
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.operations.cluster_view.look import look_at
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, ViewPart
from kafka_py.operations.rebalancing.carriers import ReassignmentCarrier
from kafka_py.operations.rebalancing.plan_file import PlanState, write_state
from kafka_py.operations.rebalancing.progress import RunProgress

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 2.0
GRACE_POLLS = 10
"""How often metadata may still name other replicas than those of a reassignment that has ended."""


class RunTools(NamedTuple):
    """What a run works with.

    look: the cluster now, with these parts. keep: writes the state down. pause: waits so many seconds, or less when a
    stop was asked for. report: gets the progress.
    """

    carrier: ReassignmentCarrier
    look: Callable[[Collection[ViewPart]], Awaitable[ClusterSnapshot]]
    keep: Callable[[PlanState], Awaitable[None]]
    pause: Callable[[float], Awaitable[None]]
    clock: Clock
    report: Callable[[RunProgress], None]


def run_tools(
    admin: AsyncAdminClient,
    carrier: ReassignmentCarrier,
    path: Path,
    wake: asyncio.Event,
    report: Callable[[RunProgress], None],
    clock: Clock,
) -> RunTools:
    """path: of the state. wake: ends a pause once."""

    async def look(parts: Collection[ViewPart]) -> ClusterSnapshot:
        return await look_at(admin, parts)

    async def keep(state: PlanState) -> None:
        await asyncio.to_thread(write_state, path, state)

    async def pause(seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(wake.wait(), seconds)
        wake.clear()

    return RunTools(carrier, look, keep, pause, clock, report)
