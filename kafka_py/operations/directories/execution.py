"""Carries a plan for log directories out: batch by batch, throttled, each one in place before the next begins.

A run looks at the directories before each batch and writes its state before each change, so that one that was
interrupted anywhere is resumed by another. It can be asked to stop after the present batch, or to cancel it; throttles
are removed in both cases. Source: KIP-113 (to move a replica to where it is cancels its move).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from kafka_py.base.clock import Clock
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot
from kafka_py.operations.directories.look_input import ReplicaPlace, places_of
from kafka_py.operations.directories.model import DirectoryMove, ReplicaId
from kafka_py.operations.directories.plan_file import DirectoriesState
from kafka_py.operations.directories.settling import MoveVerdict, next_moves, verdict_of
from kafka_py.operations.rebalancing.carriers import SettingsCarrier
from kafka_py.operations.rebalancing.execution import PATIENCE_S
from kafka_py.operations.rebalancing.model import RebalanceRefused
from kafka_py.operations.rebalancing.plan_file import StepState
from kafka_py.operations.rebalancing.progress import RunOutcome, RunProgress, seconds_left
from kafka_py.operations.rebalancing.run_tools import FIRST_PAUSE_S, GRACE_POLLS, LONGEST_PAUSE_S
from kafka_py.operations.rebalancing.throttles import LOG_DIR_RATE
from kafka_py.operations.rebalancing.throttling import clear_broker_throttles, set_broker_throttles

MOST_STARTS = 3
"""How often a move is begun that its broker ends without a result."""


class DirectoryTools(NamedTuple):
    """What a run works with.

    settings: changes settings of brokers. look: the cluster now, with its log directories. move: begins moves to these
    directories, and returns what was refused with the reasons. keep: writes the state down. pause: waits so many
    seconds, or less when a stop was asked for. report: gets the progress.
    """

    settings: SettingsCarrier
    look: Callable[[], Awaitable[ClusterSnapshot]]
    move: Callable[[Mapping[ReplicaId, str]], Awaitable[dict[ReplicaId, str]]]
    keep: Callable[[DirectoriesState], Awaitable[None]]
    pause: Callable[[float], Awaitable[None]]
    clock: Clock
    report: Callable[[RunProgress], None]


class DirectoriesRun:
    """One run over a plan's state; `carry_out` once. stop, cancel: may be set at any time from the same loop."""

    def __init__(self, state: DirectoriesState, tools: DirectoryTools) -> None:
        self.state = state
        self.stop = False
        self.cancel = False
        self._tools = tools
        self._begun_s = tools.clock.monotonic_s()
        self._settled_before = state.settled_bytes
        self._batches = 0
        self._copied = 0
        self._note = ""
        self._starts: Counter[ReplicaId] = Counter()
        self._absent_since_s: float | None = None

    async def carry_out(self) -> RunOutcome:
        """Does what is left of the plan. Raises RebalanceRefused, KafkaError, OSError."""
        await check_begin(self.state, self._tools)
        while True:
            verdicts, live = await self._look()
            pending = self.state.pending
            moving = [move for move in pending if verdicts[move.replica].is_moving]
            if (self.stop or self.cancel) and pending and not moving:
                await self._clear()
                return RunOutcome.CANCELLED if self.cancel else RunOutcome.STOPPED
            ready = moving or [move for move in pending if move.replica.broker in live]
            if not ready:
                if pending and await self._is_patient(pending, live):
                    continue
                return await self._finish()
            await self._run_batch(moving or next_moves(ready, self.state.limits), live)

    async def _look(self) -> tuple[dict[ReplicaId, MoveVerdict], set[int]]:
        """What has become of what is pending, which is noted, and the brokers that have answered."""
        snapshot = await self._tools.look()
        places = places_of(snapshot.log_dirs)
        verdicts = {}
        self._copied = 0
        for move in self.state.pending:
            place = places.get(move.replica, ReplicaPlace())
            verdict = verdict_of(move, place, snapshot.log_dirs.get(move.replica.broker))
            verdicts[move.replica] = verdict
            if verdict.is_moving:
                self._copied += min(move.size_bytes, place.copied_bytes)
            # For a moment, when a copy takes over, a broker may name neither of the two.
            if verdict.state is StepState.GONE and self._starts[move.replica]:
                continue
            step = self.state.steps[move.replica]
            step.state, step.reason = verdict.state, verdict.reason
        return verdicts, set(snapshot.log_dirs)

    async def _is_patient(self, moves: Sequence[DirectoryMove], live: Collection[int]) -> bool:
        """Waits a little for brokers that do not answer; false once that took too long."""
        now_s = self._tools.clock.monotonic_s()
        self._absent_since_s = now_s if self._absent_since_s is None else self._absent_since_s
        if now_s - self._absent_since_s > PATIENCE_S:
            return False
        self._note = _absent(moves, live)
        self._report(())
        await self._tools.pause(LONGEST_PAUSE_S)
        return True

    # ---- one batch

    async def _run_batch(self, batch: Sequence[DirectoryMove], live: Collection[int]) -> None:
        self._batches += 1
        self._absent_since_s = None
        self._note = ""
        tools, rate = self._tools, {LOG_DIR_RATE: str(self.state.throttle)}
        brokers = [str(broker) for broker in sorted({move.replica.broker for move in batch}) if broker in live]
        throttled = dict.fromkeys(brokers, rate) if self.state.throttle is not None else {}
        await set_broker_throttles(self.state, tools.settings, lambda: tools.keep(self.state), tools.pause, throttled)
        await self._wait(batch)
        await self._clear()
        await tools.keep(self.state)
        self._report(())

    async def _wait(self, batch: Sequence[DirectoryMove]) -> None:
        """Begins what does not run, until every replica of the batch is in place, or its move is cancelled."""
        pause_s, idle = FIRST_PAUSE_S, Counter[ReplicaId]()
        while True:
            verdicts, live = await self._look()
            unsettled = [move for move in batch if self.state.steps[move.replica].state is StepState.PENDING]
            moving = [move for move in unsettled if verdicts[move.replica].is_moving]
            unseen = [move for move in unsettled if move.replica.broker not in live]
            if not unseen:
                self._absent_since_s = None
            if self.cancel:
                if not moving:
                    # The moves of a broker that does not answer may still run.
                    if unseen and await self._is_patient(unseen, live):
                        continue
                    return
                self._refused(await self._tools.move({move.replica: move.source for move in moving}))
            elif not unsettled:
                return
            else:
                reached = [move for move in unsettled if move.replica.broker in live]
                if not reached and not await self._is_patient(unsettled, live):
                    return
                for move in reached:
                    idle[move.replica] = 0 if move in moving else idle[move.replica] + 1
                await self._begin([move for move in reached if move not in moving], verdicts, idle)
            self._report(moving)
            await self._tools.pause(pause_s)
            pause_s = min(LONGEST_PAUSE_S, pause_s * 1.5)

    async def _begin(
        self, resting: Sequence[DirectoryMove], verdicts: Mapping[ReplicaId, MoveVerdict], idle: Mapping[ReplicaId, int]
    ) -> None:
        """Begins moves; those that were begun and do not run are begun again a few times, each after a while."""
        due: dict[ReplicaId, str] = {}
        for move in resting:
            replica, step = move.replica, self.state.steps[move.replica]
            if self._starts[replica] and idle[replica] <= GRACE_POLLS * self._starts[replica]:
                continue
            if verdicts[replica].state is StepState.GONE:
                step.state = StepState.GONE
            elif self._starts[replica] == MOST_STARTS:
                step.state, step.reason = StepState.FAILED, f"the broker has ended the move {MOST_STARTS} times"
            else:
                self._starts[replica] += 1
                due[replica] = move.target
        self._refused(await self._tools.move(due) if due else {})

    def _refused(self, reasons: Mapping[ReplicaId, str]) -> None:
        for replica, reason in reasons.items():
            self.state.steps[replica].state, self.state.steps[replica].reason = StepState.FAILED, reason

    async def _clear(self) -> None:
        await clear_directory_throttles(self.state, self._tools)

    async def _finish(self) -> RunOutcome:
        """Everything is in place, or waits in vain."""
        await self._clear()
        state = self.state
        state.is_finished = not state.pending and not state.count(StepState.FAILED) and not state.brokers
        await self._tools.keep(state)
        if state.brokers:
            self._note = f"The throttle of broker {', '.join(sorted(state.brokers))} is still set: it is not live."
        self._report(())
        return RunOutcome.COMPLETE if state.is_finished else RunOutcome.INCOMPLETE

    def _report(self, moving: Sequence[DirectoryMove]) -> None:
        state = self.state
        settled, total, pending = state.settled_bytes, state.total_bytes, len(state.pending)
        copied = min(total, settled + (self._copied if moving else 0))
        elapsed_s = self._tools.clock.monotonic_s() - self._begun_s
        left_s = seconds_left(elapsed_s, copied - self._settled_before, total - copied)
        self._tools.report(RunProgress(
            len(state.steps) - pending, len(state.steps), copied, total, self._batches, len(moving), left_s, self._note
        ))  # fmt: skip


def _absent(moves: Sequence[DirectoryMove], live: Collection[int]) -> str:
    brokers = sorted({move.replica.broker for move in moves} - set(live))
    return f"waiting for broker {', '.join(map(str, brokers))}, which does not tell its log directories"


async def check_begin(state: DirectoriesState, tools: DirectoryTools) -> None:
    """What must hold before a run begins. Raises RebalanceRefused."""
    snapshot = await tools.look()
    if not snapshot.is_reached:
        raise RebalanceRefused("; ".join(map(str, snapshot.unseen)) or "no broker has answered")
    if state.cluster_id is not None and snapshot.cluster_id not in (None, state.cluster_id):
        raise RebalanceRefused(f"The plan is for cluster {state.cluster_id}, this is {snapshot.cluster_id}")
    concerned = {replica.broker for replica in state.steps}
    others = sorted(
        replica for replica, place in places_of(snapshot.log_dirs).items()
        if place.future is not None and replica.broker in concerned
        and (replica not in state.steps or state.steps[replica].change.target != place.future)
    )  # fmt: skip
    if others:
        raise RebalanceRefused(
            f"{len(others)} replicas are being moved that are not part of the plan, such as {others[0]}: wait until "
            "that has ended"
        )


async def clear_directory_throttles(state: DirectoriesState, tools: DirectoryTools) -> None:
    """Restores what was set before the throttles of a plan; those of brokers that are not live stay in the state."""

    async def live() -> Collection[int]:
        return (await tools.look()).nodes

    await clear_broker_throttles(state, tools.settings, lambda: tools.keep(state), tools.pause, live)


async def cancel_directories(state: DirectoriesState, tools: DirectoryTools) -> list[ReplicaId]:
    """Cancels what moves of a plan and removes its throttles; for a plan that no run carries out any longer.

    Brokers that do not answer are waited for a little. Returns the replicas whose moves were cancelled; those whose
    brokers refuse are left. Raises KafkaError, OSError.
    """
    cancelled: dict[ReplicaId, str] = {}
    refused: dict[ReplicaId, str] = {}
    pause_s = FIRST_PAUSE_S
    began_s = tools.clock.monotonic_s()
    concerned = {move.replica.broker for move in state.pending}
    while True:
        snapshot = await tools.look()
        places = places_of(snapshot.log_dirs)
        is_late = tools.clock.monotonic_s() - began_s > PATIENCE_S
        moving = {
            replica: step.change.source for replica, step in state.steps.items()
            if replica not in refused and (place := places.get(replica)) and place.future == step.change.target
        }  # fmt: skip
        if not moving and (is_late or concerned <= snapshot.log_dirs.keys()):
            break
        cancelled |= moving
        refused |= await tools.move(moving) if moving else {}
        await tools.pause(pause_s)
        pause_s = min(LONGEST_PAUSE_S, pause_s * 1.5)
    await clear_directory_throttles(state, tools)
    return sorted(cancelled.keys() - refused.keys())
