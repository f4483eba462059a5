"""What a run has begun is undone: its throttles, the order of replicas, reassignments that run.

Source: KIP-455 (what a cancelled reassignment leaves).
"""

from __future__ import annotations

from collections.abc import Collection

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.metadata import PartitionInfo
from kafka_py.operations.cluster_view.derived import partitions
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, ViewPart
from kafka_py.operations.rebalancing import throttling
from kafka_py.operations.rebalancing.other_users import belongs_to, cancelled_order, is_between
from kafka_py.operations.rebalancing.plan_file import PlanState
from kafka_py.operations.rebalancing.run_tools import FIRST_PAUSE_S, GRACE_POLLS, LONGEST_PAUSE_S, RunTools

PartitionInfos = dict[TopicPartition, PartitionInfo]


async def clear_throttles(state: PlanState, tools: RunTools) -> None:
    """Restores what was set before the throttles of a plan; those of brokers that are not live stay in the state."""

    async def live() -> Collection[int]:
        return (await tools.look([])).nodes

    await throttling.clear_throttles(state, tools.carrier, lambda: tools.keep(state), tools.pause, live)


async def restore_order(state: PlanState, tools: RunTools) -> None:
    """Replicas of what was cancelled get the order that they had before, by which the preferred leader is meant.

    A cancelled reassignment leaves the replicas that a partition had, in the order of its target; another order is that
    of another user.
    """
    infos = infos_of(await tools.look([ViewPart.TOPICS]))
    for poll in range(GRACE_POLLS):
        if not any(is_between(one, infos[one.partition].replicas) for one in state.pending if one.partition in infos):
            break
        await tools.pause(min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**poll))  # brokers are notified a little later
        infos = infos_of(await tools.look([ViewPart.TOPICS]))
    turned = {
        change.partition: change.before
        for change in state.pending
        if (info := infos.get(change.partition)) is not None
        and tuple(info.replicas) == cancelled_order(change) not in (change.before, change.after)
    }
    if turned:
        await tools.carrier.start(turned)
        while turned.keys() & (await tools.carrier.running()).keys():
            await tools.pause(FIRST_PAUSE_S)


async def cancel_plan(state: PlanState, tools: RunTools) -> list[TopicPartition]:
    """Cancels what runs of a plan and removes its throttles; for a plan that no run carries out any longer.

    Returns the partitions that were cancelled. Raises RebalanceRefused where reassignments cannot be cancelled.
    """
    running = await tools.carrier.running()
    cancelled = sorted(tp for tp, step in state.steps.items() if belongs_to(step.change, running))
    if cancelled:
        await tools.carrier.cancel(cancelled)
        while set(cancelled) & (await tools.carrier.running()).keys():
            await tools.pause(FIRST_PAUSE_S)
    await restore_order(state, tools)
    await clear_throttles(state, tools)
    return cancelled


def infos_of(snapshot: ClusterSnapshot) -> PartitionInfos:
    return {TopicPartition(info.topic, info.partition): info for info in partitions(snapshot)}
