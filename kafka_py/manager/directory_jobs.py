"""Moves between log directories that the manager carries out: what is theirs alone of an execution.

Brokers move replicas between their directories from 1.1 on; throttles are set by requests that 2.3 and later take.
Source: KIP-113; KIP-339.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from kafka_py.manager.execution_jobs import ExecutionJobs, ExecutionKind, RunPlace, executing
from kafka_py.manager.services import ManagerServices
from kafka_py.operations.directories.dir_tools import directory_tools
from kafka_py.operations.directories.execution import DirectoriesRun, DirectoryTools, cancel_directories
from kafka_py.operations.directories.plan_file import DirectoriesState, read_directories
from kafka_py.operations.rebalancing.carriers import BrokerCarrier

PART = "directory-moves"
"""The name among the parts of the manager."""
DirectoryJobs = ExecutionJobs[DirectoriesState]


def _tools_of(place: RunPlace) -> DirectoryTools:
    return directory_tools(place.admin, BrokerCarrier(place.admin), place.path, place.wake, place.report, place.clock)


async def _run(state: DirectoriesState, place: RunPlace) -> DirectoriesRun:
    return DirectoriesRun(state, _tools_of(place))


async def _cancel(state: DirectoriesState, place: RunPlace) -> int:
    return len(await cancel_directories(state, _tools_of(place)))


DIRECTORY_MOVES = ExecutionKind(
    "The plan for log directories", "kafka-manager-directories", read_directories, _run, _cancel
)


def moving_directories(services: ManagerServices) -> AbstractAsyncContextManager[None]:
    """The jobs among the parts of the manager, as long as it runs."""
    return executing(services, PART, DIRECTORY_MOVES)
