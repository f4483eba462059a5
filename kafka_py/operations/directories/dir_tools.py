"""What a run over log directories works with on a real cluster."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.clients.admin.log_dirs import TopicPartitionReplica
from kafka_py.operations.cluster_view.look import look_at
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, ViewPart
from kafka_py.operations.directories.execution import DirectoryTools
from kafka_py.operations.directories.model import ReplicaId
from kafka_py.operations.directories.plan_file import DirectoriesState, write_directories
from kafka_py.operations.rebalancing.carriers import SettingsCarrier
from kafka_py.operations.rebalancing.progress import RunProgress

NOT_REACHED = (ErrorCode.BROKER_NOT_AVAILABLE, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NETWORK_EXCEPTION)
"""Says nothing about the move: the broker may have begun it, and the next look shows whether it has."""


def directory_tools(
    admin: AsyncAdminClient,
    carrier: SettingsCarrier,
    path: Path,
    wake: asyncio.Event,
    report: Callable[[RunProgress], None],
    clock: Clock,
) -> DirectoryTools:
    """path: of the state. wake: ends a pause once."""

    async def look() -> ClusterSnapshot:
        return await look_at(admin, [ViewPart.LOG_DIRS])

    async def move(targets: Mapping[ReplicaId, str]) -> dict[ReplicaId, str]:
        moves = {TopicPartitionReplica(*id_.partition, id_.broker): target for id_, target in targets.items()}
        ids = dict(zip(moves, targets, strict=True))
        results = await admin.alter_replica_log_dirs(moves)
        return {
            ids[replica]: error.message for replica, error in results.errors().items() if error.code not in NOT_REACHED
        }

    async def keep(state: DirectoriesState) -> None:
        await asyncio.to_thread(write_directories, path, state)

    async def pause(seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(wake.wait(), seconds)
        wake.clear()

    return DirectoryTools(carrier, look, move, keep, pause, clock, report)
