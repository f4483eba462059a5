"""Rebalances that the manager carries out: what is theirs alone of an execution."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from kafka_py.manager.execution_jobs import ExecutionJobs, ExecutionKind, RunPlace, executing
from kafka_py.manager.services import ManagerServices
from kafka_py.operations.rebalancing.cancelling import cancel_plan
from kafka_py.operations.rebalancing.carriers import BrokerCarrier, reassigns_by_request
from kafka_py.operations.rebalancing.execution import RebalanceRun
from kafka_py.operations.rebalancing.model import RebalanceRefused
from kafka_py.operations.rebalancing.plan_file import PlanState, read_state
from kafka_py.operations.rebalancing.run_tools import RunTools, run_tools

PART = "rebalances"
"""The name among the parts of the manager."""
RebalanceJobs = ExecutionJobs[PlanState]


async def _tools_of(place: RunPlace) -> RunTools:
    """The tools of a run. Raises RebalanceRefused for brokers that take no reassignments by request."""
    if not await reassigns_by_request(place.admin):
        raise RebalanceRefused(
            "These brokers take no reassignments by request (2.4 and later do): use kafka-py rebalance --zookeeper"
        )
    return run_tools(place.admin, BrokerCarrier(place.admin), place.path, place.wake, place.report, place.clock)


async def _run(state: PlanState, place: RunPlace) -> RebalanceRun:
    return RebalanceRun(state, await _tools_of(place))


async def _cancel(state: PlanState, place: RunPlace) -> int:
    return len(await cancel_plan(state, await _tools_of(place)))


REBALANCES = ExecutionKind("The rebalance", "kafka-manager-rebalance", read_state, _run, _cancel)


def rebalancing(services: ManagerServices) -> AbstractAsyncContextManager[None]:
    """The jobs among the parts of the manager, as long as it runs."""
    return executing(services, PART, REBALANCES)
