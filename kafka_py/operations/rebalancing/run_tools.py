"""What a run works with on a real cluster: looks at it, the file of its state, and a pause that can be ended."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection
from pathlib import Path

from kafka_py.base.clock import Clock
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.operations.cluster_view.look import look_at
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, ViewPart
from kafka_py.operations.rebalancing.carriers import ReassignmentCarrier
from kafka_py.operations.rebalancing.execution import RunTools
from kafka_py.operations.rebalancing.plan_file import PlanState, write_state
from kafka_py.operations.rebalancing.progress import RunProgress


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
