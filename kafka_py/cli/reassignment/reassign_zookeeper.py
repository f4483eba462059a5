"""kafka-reassign-partitions.sh --zookeeper: a list in /admin/reassign_partitions, which the controller works off.

Deprecated: it sees only reassignments begun this way, and knows nothing of log directories.
Source: docs/reference/tools.md, section 5; docs/reference/zookeeper.md, section 11.
"""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from pathlib import Path

from kafka_py.base.ids import TopicPartition
from kafka_py.base.placement import without_racks
from kafka_py.broker.requests.topic_admin import RackMode, registered_brokers
from kafka_py.cli.common.command import CommandFailed, Refused
from kafka_py.cli.common.zookeeper_connection import on_zookeeper
from kafka_py.cli.reassignment import reassign_plan
from kafka_py.cli.reassignment.reassign_admin import proposed
from kafka_py.cli.reassignment.reassign_plan import PartitionProgress
from kafka_py.operations.reassignments import plans, replica_moves
from kafka_py.operations.reassignments.plans import Assignment, Plan
from kafka_py.operations.rebalancing.throttles import (
    BROKER_THROTTLES,
    FOLLOWER_RATE,
    LEADER_RATE,
    TOPIC_THROTTLES,
    moving_brokers,
    topic_throttles,
)
from kafka_py.zk.config_znodes import entity_path
from kafka_py.zk.session import NodeExists
from kafka_py.zk.store import ZkStore

INCOMPLETE_WARNING = (
    "Warning: because you are using the deprecated --zookeeper option, the results may be incomplete.  Use "
    "--bootstrap-server instead for more accurate results."
)


def run_on_zookeeper(connect: str, action: str, options: argparse.Namespace) -> None:
    """Carries out one action. Raises CommandFailed, ConfigError for a malformed connect string, OSError for a file."""
    if action == "generate":
        topics = Path(options.topics_to_move_json_file).read_text(encoding="utf-8")
        rack_aware = not options.disable_rack_aware
        work: Work = partial(generate, topics=topics, brokers=options.broker_list, rack_aware=rack_aware)
    else:
        plan = plans.parse_plan(Path(options.reassignment_json_file).read_text(encoding="utf-8"))
        if action == "execute":
            same_factor = options.disallow_replication_factor_change
            work = partial(execute, plan=plan, throttle=options.throttle, same_factor=same_factor)
        else:
            work = partial(verify, plan=plan, preserve_throttles=options.preserve_throttles)
    on_zookeeper(connect, work, CommandFailed)


Work = Callable[[ZkStore], Awaitable[None]]


async def generate(store: ZkStore, topics: str, brokers: str, *, rack_aware: bool) -> None:
    """Prints where the replicas of some topics are, and where they could be on those brokers."""
    ids = plans.parse_brokers(brokers)
    current = await assignment_of_topics(store, plans.parse_topics(topics))
    found = [broker for broker in await registered_brokers(store, RackMode.SAFE) if broker.id in ids]
    print(reassign_plan.proposal_text(current, proposed(current, found if rack_aware else without_racks(found))))


async def assignment_of_topics(store: ZkStore, topics: Collection[str]) -> Assignment:
    """The replicas of all partitions of those topics that are there."""
    return {
        TopicPartition(topic, number): list(row.replicas)
        for topic, assignment in (await store.topics.assignments(topics)).items()
        for number, row in sorted(assignment.partitions.items())
    }


async def execute(store: ZkStore, plan: Plan, throttle: int, *, same_factor: bool = False) -> None:
    """Writes the list for the controller, throttles first. Raises Refused, CommandFailed."""
    plan.check()
    _refuse_log_dirs(plan)
    current = await assignment_of_topics(store, plan.topics)
    await _check_known(store, plan, current)
    if await store.admin.reassignments() is not None:
        raise Refused(reassign_plan.ANOTHER_RUNS)
    print(reassign_plan.current_text(plan.targets, current), flush=True)
    if same_factor:
        reassign_plan.require_same_factor(plan, {partition: len(ids) for partition, ids in current.items()})
    if throttle >= 0:
        print(reassign_plan.MUST_VERIFY)
        moves = replica_moves.planned_moves({}, plan.targets, current)
        for topic, settings in topic_throttles(moves).items():
            await _change(store, ("topics", topic), settings)
        rates = {LEADER_RATE: str(throttle), FOLLOWER_RATE: str(throttle)}
        for broker in moving_brokers(moves):
            await _change(store, ("brokers", str(broker)), rates)
        print(f"The inter-broker throttle limit was set to {throttle} B/s")
    try:
        await store.admin.request_reassignments(plan.targets)
    except NodeExists:
        raise Refused(reassign_plan.ANOTHER_RUNS) from None
    print(reassign_plan.started_text(plan.targets))


def _refuse_log_dirs(plan: Plan) -> None:
    if plan.log_dirs:
        raise CommandFailed("bootstrap-server needs to be provided when replica reassignments are present.")


async def _check_known(store: ZkStore, plan: Plan, current: Mapping[TopicPartition, object]) -> None:
    unknown = [str(partition) for partition in plan.targets if partition not in current]
    if unknown:
        raise CommandFailed(f"The proposed assignment contains non-existent partitions: Set({', '.join(unknown)})")
    live = await store.brokers.ids()
    missing = [str(broker) for broker in plan.brokers if broker not in live]
    if missing:
        raise CommandFailed(f"The proposed assignment contains non-existent brokerIDs: {','.join(missing)}")


async def verify(store: ZkStore, plan: Plan, *, preserve_throttles: bool) -> None:
    """Says how far the partitions are; once the list is empty, throttles go."""
    _refuse_log_dirs(plan)
    print(INCOMPLETE_WARNING)
    listed = await store.admin.reassignments() or {}
    current = await assignment_of_topics(store, plan.topics)
    progress = {
        partition: PartitionProgress(current.get(partition, []), target, partition not in listed)
        for partition, target in plan.targets.items()
    }
    print(reassign_plan.status_text(progress), flush=True)
    if not listed and not preserve_throttles:
        await clear_throttles(store, plan)


async def clear_throttles(store: ZkStore, plan: Plan) -> None:
    """Removes all throttles from every broker that could have taken part, and from the plan's topics."""
    brokers = list(dict.fromkeys((*sorted(await store.brokers.ids()), *plan.brokers)))
    rates, throttled = reassign_plan.clearing_lines(brokers, plan.topics)
    print(rates, flush=True)
    for broker in brokers:
        await _change(store, ("brokers", str(broker)), dict.fromkeys(BROKER_THROTTLES))
    print(throttled, flush=True)
    for topic in plan.topics:
        await _change(store, ("topics", topic), dict.fromkeys(TOPIC_THROTTLES))


async def _change(store: ZkStore, entity: tuple[str, str], changes: Mapping[str, str | None]) -> None:
    """Sets overrides of an entity, removes those that are None; nothing is written where nothing changes."""

    async def edit(before: dict[str, str]) -> dict[str, str] | None:
        after = {name: value for name, value in {**before, **changes}.items() if value is not None}
        return None if after == before else after

    await store.configs.edit(entity_path(entity), edit)
