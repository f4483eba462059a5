"""Carries a plan out: batch by batch, throttled, each one in sync before the next begins.

A run reads the cluster afresh before each batch and writes its state before each change, so that one that was
interrupted anywhere is resumed by another: what runs is waited for, what is in place is noted, the rest goes on. It can
be asked to stop after the present batch, or to cancel it; throttles are removed in both cases. A partition that another
user has given other replicas meanwhile is left alone, and named.
Source: KIP-73 (throttles), KIP-455 (reassignments), KIP-460 (preferred leaders).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kafka_py.base.ids import TopicPartition
from kafka_py.operations.cluster_view.derived import replica_bytes
from kafka_py.operations.cluster_view.snapshot import ViewPart
from kafka_py.operations.rebalancing import throttling
from kafka_py.operations.rebalancing.batches import next_batch
from kafka_py.operations.rebalancing.cancelling import PartitionInfos, clear_throttles, infos_of, restore_order
from kafka_py.operations.rebalancing.model import PartitionChange, RebalanceRefused
from kafka_py.operations.rebalancing.other_users import (
    Running,
    belongs_to,
    changed_by_others,
    is_between,
)
from kafka_py.operations.rebalancing.plan_file import PlanState, StepState
from kafka_py.operations.rebalancing.progress import RunOutcome, RunProgress, copied_of, seconds_left
from kafka_py.operations.rebalancing.run_tools import FIRST_PAUSE_S, GRACE_POLLS, LONGEST_PAUSE_S, RunTools
from kafka_py.operations.rebalancing.throttles import (
    REPLICATION_RATES,
    Moves,
    ReplicaMove,
    moving_brokers,
    topic_throttles,
)

PATIENCE_S = 60.0
"""How long brokers that a partition needs, and partitions that no broker names, are waited for in the end."""
SIZES_PART = 20
"""Sizes are asked for at most so rarely that this takes one part in so many of the time."""


class RebalanceRun:
    """One run over a plan's state; `carry_out` once. stop, cancel: may be set at any time from the same loop."""

    def __init__(self, state: PlanState, tools: RunTools) -> None:
        self.state = state
        self.stop = False
        self.cancel = False
        self._tools = tools
        self._begun_s = tools.clock.monotonic_s()
        self._settled_before = (state.settled_bytes, len(state.pending))
        self._batches = 0
        self._sizes_at_s = 0.0
        self._copied = 0
        self._note = ""
        self._waits_since_s: float | None = None

    async def carry_out(self) -> RunOutcome:
        """Does what is left of the plan. Raises RebalanceRefused, KafkaError, OSError."""
        await self._check_begin()
        while True:
            running = await self._tools.carrier.running()
            infos, live = await self._read()
            pending = await self._pending(infos, running)
            # What runs already, after an interruption, is finished first.
            begun = [change for change in pending if change.partition in infos and change.partition in running]
            ready = begun or [one for one in pending if one.partition in infos and live.issuperset(one.after)]
            if self.stop or self.cancel:
                if pending and not begun:
                    await self._clear_throttles()
                    return RunOutcome.CANCELLED if self.cancel else RunOutcome.STOPPED
            elif not ready and pending and await self._is_patient(pending, infos, live):
                continue
            if not ready:
                return await self._finish(infos, pending, live)
            self._waits_since_s = None
            await self._run_batch(begun or next_batch(ready, self.state.limits), infos, live, running)

    async def _is_patient(
        self, pending: Sequence[PartitionChange], infos: PartitionInfos, live: set[int]
    ) -> bool:
        """Waits a little for brokers and partitions that are missing; false once that took too long."""
        now_s = self._tools.clock.monotonic_s()
        if self._waits_since_s is None:
            self._waits_since_s = now_s
        if now_s - self._waits_since_s > PATIENCE_S:
            return False
        self._note = "; ".join(_missing(pending, infos, live)[:1])
        self._report(())
        await self._tools.pause(LONGEST_PAUSE_S)
        return True

    async def _check_begin(self) -> None:
        snapshot = await self._tools.look([])
        if not snapshot.is_reached:
            raise RebalanceRefused("; ".join(map(str, snapshot.unseen)) or "no broker has answered")
        if self.state.cluster_id is not None and snapshot.cluster_id not in (None, self.state.cluster_id):
            raise RebalanceRefused(f"The plan is for cluster {self.state.cluster_id}, this is {snapshot.cluster_id}")
        running, steps = await self._tools.carrier.running(), self.state.steps
        others = sorted(each for each in running if each not in steps or not belongs_to(steps[each].change, running))
        if others:
            raise RebalanceRefused(f"Partitions are being reassigned that are not part of the plan: {_some(others)}")

    # ---- the cluster as it is

    async def _read(self) -> tuple[PartitionInfos, set[int]]:
        snapshot = await self._tools.look([ViewPart.TOPICS])
        while not snapshot.is_reached or snapshot.controller is None:
            self._note = "waiting for the cluster: " + ("; ".join(map(str, snapshot.unseen)) or "it has no controller")
            self._report(())
            await self._tools.pause(LONGEST_PAUSE_S)
            snapshot = await self._tools.look([ViewPart.TOPICS])
        return infos_of(snapshot), set(snapshot.nodes)

    def _settle(self, infos: PartitionInfos, running: Running) -> None:
        """Notes what is in place. A partition that gets more replicas shows all of them from the beginning."""
        for change in self.state.pending:
            info = infos.get(change.partition)
            if info is not None and tuple(info.replicas) == change.after and change.partition not in running:
                self.state.steps[change.partition].state = StepState.DONE

    async def _pending(self, infos: PartitionInfos, running: Running) -> list[PartitionChange]:
        """What is left to do. Notes what is in place, and what others have changed."""
        self._settle(infos, running)
        for poll in range(GRACE_POLLS):
            if not any(is_between(one, infos[one.partition].replicas) for one in self.state.pending
                       if one.partition in infos and one.partition not in running):  # fmt: skip
                break
            await self._tools.pause(min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**poll))  # a reassignment ended just now
            infos.update((await self._read())[0])
            self._settle(infos, running)
        for change in self.state.pending:
            info = infos.get(change.partition)
            reason = None if info is None else changed_by_others(change, info.replicas, running)
            if reason is not None:
                self._fail(change.partition, reason)
        return self.state.pending

    def _fail(self, partition: TopicPartition, reason: str) -> None:
        self.state.steps[partition].state = StepState.FAILED
        self.state.steps[partition].reason = reason

    # ---- one batch

    async def _run_batch(
        self, batch: Sequence[PartitionChange], infos: PartitionInfos, live: set[int], running: Running
    ) -> None:
        self._batches += 1
        self._copied = 0
        tools = self._tools
        await self._set_throttles(_moves_of(batch, infos), live)
        await self._begin([change for change in batch if change.partition not in running])
        await self._wait(batch)
        await self._clear_throttles()
        after, live = await self._read()
        self._settle(after, await tools.carrier.running())
        await self._elect([change.partition for change in batch], after, live)
        await tools.keep(self.state)
        self._report(())

    async def _begin(self, fresh: Sequence[PartitionChange]) -> None:
        """Begins the reassignments that still fit: they would replace those that others have begun meanwhile."""
        if not fresh:
            return
        tools = self._tools
        infos, _ = await self._read()
        running = await tools.carrier.running()
        targets = {}
        for change in fresh:
            info = infos.get(change.partition)
            reason = None if info is None else changed_by_others(change, info.replicas, running)
            if reason is not None:
                self._fail(change.partition, reason)
            elif change.partition not in running:
                targets[change.partition] = change.after
        try:
            refused = await tools.carrier.start(targets) if targets else {}
        except RebalanceRefused:
            await self._clear_throttles()
            raise
        for partition, reason in refused.items():
            self._fail(partition, reason)

    async def _wait(self, batch: Sequence[PartitionChange]) -> None:
        """Until every partition of the batch is in place and in sync, or cancelled."""
        tools, pause_s = self._tools, FIRST_PAUSE_S
        is_cancelled, polls = False, 0
        while True:
            running = await tools.carrier.running()
            moving = [change for change in batch if belongs_to(change, running)]
            if self.cancel and moving and not is_cancelled and tools.carrier.can_cancel:
                await tools.carrier.cancel([change.partition for change in moving])
                is_cancelled = True
                continue
            if self.cancel and not moving:
                await restore_order(self.state, tools)
                return
            infos, live = await self._read()
            self._settle(infos, running)
            polls = 0 if moving else polls + 1
            states = {change.partition: self.state.steps[change.partition].state for change in batch}
            in_place = [partition for partition, state in states.items() if state is StepState.DONE]
            unsettled = StepState.PENDING in states.values()
            if not moving and not _lagging(in_place, infos) and (not unsettled or polls > GRACE_POLLS):
                return
            dead = sorted({broker for change in batch for broker in change.after} - live)
            self._note = f"waiting for broker {_some(dead)}, which is not live" if dead else ""
            await self._measure(batch)
            self._report(moving or batch)
            await tools.pause(pause_s)
            pause_s = min(LONGEST_PAUSE_S, pause_s * 1.5)

    async def _elect(
        self, wanted: Sequence[TopicPartition], infos: PartitionInfos, live: set[int]
    ) -> None:
        """The preferred leader of each partition leads, where it is live and in sync."""
        due = [
            partition for partition in wanted
            if (info := infos.get(partition)) is not None and info.replicas and info.leader != info.replicas[0]
            and info.replicas[0] in live and info.replicas[0] in info.isr
        ]  # fmt: skip
        if due:
            failed = await self._tools.carrier.elect(due)
            for partition, reason in sorted(failed.items())[:1]:
                self._note = f"no election of {partition} and {len(failed) - 1} others: {reason}"

    # ---- throttles

    async def _set_throttles(self, moves: Moves, live: set[int]) -> None:
        throttle, tools = self.state.throttle, self._tools
        topics = topic_throttles(moves) if throttle is not None else {}
        brokers = [str(each) for each in moving_brokers(moves) if each in live] if topics else []
        rates = dict.fromkeys(REPLICATION_RATES, str(throttle))
        await throttling.set_throttles(
            self.state, tools.carrier, lambda: tools.keep(self.state), tools.pause, topics,
            dict.fromkeys(brokers, rates),
        )  # fmt: skip

    async def _clear_throttles(self) -> None:
        await clear_throttles(self.state, self._tools)

    # ---- the end

    async def _finish(
        self, infos: PartitionInfos, pending: Sequence[PartitionChange], live: set[int]
    ) -> RunOutcome:
        """Everything is in place, or waits in vain."""
        await self._clear_throttles()
        failed = {tp for tp, step in self.state.steps.items() if step.state is StepState.FAILED}
        wanted = dict.fromkeys((*self.state.steps, *self.state.elections))
        await self._elect([partition for partition in wanted if partition not in failed], infos, live)
        for change in pending:
            if change.partition not in infos:
                self.state.steps[change.partition].state = StepState.GONE
        state = self.state
        state.is_finished = not state.pending and not state.count(StepState.FAILED) and not state.brokers
        await self._tools.keep(state)
        self._note = "; ".join(_missing(state.pending, infos, live)[:3])
        if state.brokers:
            self._note += f" The throttle of broker {_some(sorted(state.brokers))} is still set: it is not live."
        self._report(())
        return RunOutcome.COMPLETE if state.is_finished else RunOutcome.INCOMPLETE

    # ---- progress

    async def _measure(self, batch: Sequence[PartitionChange]) -> None:
        """How much of the batch is copied; not asked for more often than it is cheap."""
        clock = self._tools.clock
        now_s = clock.monotonic_s()
        if now_s >= self._sizes_at_s and any(change.added for change in batch):
            self._copied = copied_of(batch, replica_bytes(await self._tools.look([ViewPart.LOG_DIRS])))
            took_s = clock.monotonic_s() - now_s
            self._sizes_at_s = now_s + took_s * SIZES_PART

    def _report(self, moving: Sequence[PartitionChange]) -> None:
        state = self.state
        if not moving:
            self._copied = 0
        settled, total = state.settled_bytes, state.total_bytes
        copied = min(total, settled + self._copied)
        pending = len(state.pending)
        elapsed_s = self._tools.clock.monotonic_s() - self._begun_s
        if total > settled:
            left_s = seconds_left(elapsed_s, copied - self._settled_before[0], total - copied)
        else:
            left_s = seconds_left(elapsed_s, self._settled_before[1] - pending, pending)
        self._tools.report(RunProgress(
            len(state.steps) - pending, len(state.steps), copied, total, self._batches, len(moving), left_s, self._note
        ))  # fmt: skip


def _moves_of(batch: Sequence[PartitionChange], infos: PartitionInfos) -> Moves:
    """What is copied, by the replicas as they are now."""
    moves: Moves = {}
    for change in batch:
        sources = [broker for broker in infos[change.partition].replicas if broker not in change.added]
        destinations = [broker for broker in change.after if broker not in sources]
        if destinations:
            moves[change.partition] = ReplicaMove(sources or list(change.before), destinations)
    return moves


def _lagging(
    batch: Collection[TopicPartition], infos: PartitionInfos
) -> list[TopicPartition]:
    """Partitions of the batch of which not all replicas are in sync."""
    return [tp for tp in batch if tp in infos and not set(infos[tp].replicas) <= set(infos[tp].isr)]


def _some(items: Sequence[object], most: int = 5) -> str:
    listed = ", ".join(map(str, items[:most]))
    return listed if len(items) <= most else f"{listed} and {len(items) - most} more"


def _missing(pending: Sequence[PartitionChange], infos: PartitionInfos, live: set[int]) -> list[str]:
    """What keeps partitions from being moved."""
    unknown = [str(change.partition) for change in pending if change.partition not in infos]
    dead = sorted({broker for change in pending for broker in change.after} - live)
    texts = [f"no broker names {_some(unknown)}"] if unknown else []
    return texts + ([f"{len(pending)} partitions need broker {_some(dead)}, which is not live"] if dead else [])
