"""Looks at the cluster, plans, and carries a plan out with progress; two interrupts away from a cancelled batch."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kafka_py.base.clock import SYSTEM_CLOCK
from kafka_py.base.ids import TopicPartition
from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.common.zookeeper_connection import connected
from kafka_py.cli.rebalancing.rebalance_options import CANCEL, Capacities
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.operations.cluster_view.look import look_at
from kafka_py.operations.rebalancing.cancelling import cancel_plan
from kafka_py.operations.rebalancing.carriers import (
    BrokerCarrier,
    ReassignmentCarrier,
    ZookeeperCarrier,
    reassigns_by_request,
    running_targets,
)
from kafka_py.operations.rebalancing.cluster_input import PLANNED_PARTS, look_notes, plan_cluster_of, unnamed_partitions
from kafka_py.operations.rebalancing.execution import RebalanceRun
from kafka_py.operations.rebalancing.model import PlanRequest, Proposal
from kafka_py.operations.rebalancing.plan_file import PlanState, RunState
from kafka_py.operations.rebalancing.planner import propose
from kafka_py.operations.rebalancing.progress import InterruptibleRun, RunOutcome, RunProgress
from kafka_py.operations.rebalancing.run_tools import RunTools, run_tools
from kafka_py.operations.rebalancing.summary import progress_line

LINE_EVERY_S = 10.0
"""How often a line of progress is printed where no terminal shows one that changes."""
REDRAW_S = 0.2
INTERRUPTED = 130
LOOKS, LOOK_PAUSE_S = 5, 1.0
"""A broker that has just started, or a topic that was just created, is not everywhere known yet."""


class PlannedCluster(NamedTuple):
    """A proposal, the id of the cluster that it is for, what could not be seen of it, and what is being reassigned."""

    proposal: Proposal
    cluster_id: str | None
    notes: tuple[str, ...]
    moving: tuple[TopicPartition, ...] = ()


async def plan(properties: Mapping[str, str], request: PlanRequest, capacities: Capacities) -> PlannedCluster:
    """The proposal for the cluster as it is. Raises RebalanceRefused, KafkaError."""
    async with AsyncAdminClient(properties) as admin:
        snapshot = await look_at(admin, PLANNED_PARTS)
        for _ in range(LOOKS - 1):
            if not unnamed_partitions(snapshot):
                break
            await asyncio.sleep(LOOK_PAUSE_S)
            snapshot = await look_at(admin, PLANNED_PARTS)
        running = await running_targets(admin)
        cluster = plan_cluster_of(snapshot, capacities.by_broker, capacities.default, running)
        return PlannedCluster(
            propose(cluster, request), snapshot.cluster_id, look_notes(snapshot), tuple(sorted(running))
        )


class RunDisplay:
    """Progress on standard error: a line that changes on a terminal, else one every few seconds."""

    def __init__(self, now: Callable[[], float] = SYSTEM_CLOCK.monotonic_s) -> None:
        self._now = now
        self._next_at = 0.0
        self._is_terminal = sys.stderr.isatty()
        self._last = ""

    def show(self, progress: RunProgress) -> None:
        text, now = progress_line(progress), self._now()
        is_end = progress.done == progress.total
        if text == self._last or (now < self._next_at and not is_end):
            return
        self._last = text
        self._next_at = now + (REDRAW_S if self._is_terminal else LINE_EVERY_S)
        print(f"\r\x1b[K{text}" if self._is_terminal else text, end="" if self._is_terminal else "\n", file=sys.stderr,
              flush=True)  # fmt: skip

    def say(self, text: str) -> None:
        """A line of its own."""
        print(f"{chr(10) if self._is_terminal and self._last else ''}{text}", file=sys.stderr, flush=True)
        self._last = ""


AnyState = RunState[Any, Any]


async def execute(
    properties: Mapping[str, str], zookeeper: str | None, state: PlanState, path: Path, on_interrupt: str
) -> int:
    """Carries out what is left of a plan; the exit code. Raises RebalanceRefused, KafkaError, OSError."""
    display = RunDisplay()
    wake = asyncio.Event()
    async with _tools(properties, zookeeper, path, display, wake) as tools:
        run = RebalanceRun(state, tools)
        if on_interrupt == CANCEL and not tools.carrier.can_cancel:
            display.say("Reassignments through ZooKeeper cannot be cancelled: an interrupt ends after the batch.")
        outcome = await until_interrupted(run, state, path, on_interrupt, display, wake)
    reasons = {str(partition): step.reason for partition, step in state.steps.items()}
    return end_of(outcome, "partitions", reasons, state, path, display)


async def until_interrupted(
    run: InterruptibleRun, state: AnyState, path: Path, on_interrupt: str, display: RunDisplay, wake: asyncio.Event
) -> RunOutcome | None:
    """How a run ended that SIGINT and SIGTERM stop, then cancel, then leave as it is; None for the last."""
    task = asyncio.ensure_future(run.carry_out())
    interrupts = 0

    def interrupt() -> None:
        nonlocal interrupts
        interrupts += 1
        wake.set()
        if interrupts == 1 and on_interrupt != CANCEL:
            run.stop = True
            display.say("Interrupted: the running batch is finished; another interrupt cancels it.")
        elif not run.cancel:
            run.cancel = True
            display.say("Interrupted: the running batch is cancelled; another interrupt leaves it as it is.")
        else:
            task.cancel()

    with _on_signals(interrupt):
        try:
            return await task
        except asyncio.CancelledError:
            display.say(f"Left as it is: --resume {path} continues, --cancel {path} cancels what runs.")
            return None
        except Exception:
            if state.has_throttles:
                display.say(f"Throttles are still set: --resume {path} continues, --cancel {path} removes them.")
            raise


def end_of(
    outcome: RunOutcome | None, what: str, reasons: Mapping[str, str], state: AnyState, path: Path, display: RunDisplay
) -> int:
    """Says how a run ended; the exit code. what: is moved. reasons: by name, why something failed, "" if it did not."""
    if outcome is None:
        return INTERRUPTED
    if outcome is RunOutcome.COMPLETE:
        display.say(f"Complete: {len(reasons)} {what} are in place.")
        return 0
    for line in [f"{name}: {reason}" for name, reason in reasons.items() if reason][:10]:
        display.say(line)
    display.say(f"{str(outcome).capitalize()}: {len(state.pending)} {what} are left; --resume {path} continues.")
    return 1 if outcome is RunOutcome.INCOMPLETE else INTERRUPTED


async def cancel(properties: Mapping[str, str], zookeeper: str | None, state: PlanState, path: Path) -> None:
    """Cancels what runs of a plan. Raises RebalanceRefused, KafkaError, OSError."""
    display = RunDisplay()
    async with _tools(properties, zookeeper, path, display, asyncio.Event()) as tools:
        cancelled = await cancel_plan(state, tools)
    display.say(f"{len(cancelled)} reassignments were cancelled, the throttles of the plan are removed.")
    if state.brokers:
        display.say(f"Still throttled, for they are not live: brokers {', '.join(sorted(state.brokers))}.")


@contextlib.asynccontextmanager
async def _tools(
    properties: Mapping[str, str], zookeeper: str | None, path: Path, display: RunDisplay, wake: asyncio.Event
) -> AsyncIterator[RunTools]:
    async with AsyncAdminClient(properties) as admin, carrier_of(admin, zookeeper) as carrier:
        yield run_tools(admin, carrier, path, wake, display.show, admin.cluster.clock)


@contextlib.asynccontextmanager
async def carrier_of(admin: AsyncAdminClient, zookeeper: str | None) -> AsyncIterator[ReassignmentCarrier]:
    """By requests where the brokers take them, else through ZooKeeper. Raises CommandFailed."""
    if await reassigns_by_request(admin):
        yield BrokerCarrier(admin)
    elif zookeeper is None:
        raise CommandFailed("These brokers take no reassignments by request (2.4 and later do): add --zookeeper")
    else:
        async with connected(zookeeper) as store:
            yield ZookeeperCarrier(store)


@contextlib.contextmanager
def _on_signals(interrupt: Callable[[], None]) -> Iterator[None]:
    """SIGINT and SIGTERM call it, unless they are ignored."""
    loop = asyncio.get_running_loop()
    numbers = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) is not signal.SIG_IGN]
    for number in numbers:
        loop.add_signal_handler(number, interrupt)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
