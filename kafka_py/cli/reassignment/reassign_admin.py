"""kafka-reassign-partitions.sh --bootstrap-server: moves begun, watched and cancelled through the brokers.

Source: docs/reference/tools.md, section 5.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.placement import BrokerRack, require_racks_of_all_or_none
from kafka_py.cli.common.command import CommandFailed, Refused
from kafka_py.cli.common.documents import print_document
from kafka_py.cli.reassignment import reassign_plan
from kafka_py.cli.reassignment.reassign_plan import PartitionProgress, in_order, plural
from kafka_py.clients.admin.client import AdminClient
from kafka_py.clients.admin.log_dirs import ReplicaLogDirs, TopicPartitionReplica
from kafka_py.clients.admin.resources import AlterConfig, AlterOperation, ConfigResource, ConfigResourceType
from kafka_py.operations.reassignments import generating, plans, replica_moves
from kafka_py.operations.reassignments.plans import Assignment, Plan
from kafka_py.operations.rebalancing.throttles import (
    BROKER_THROTTLES,
    FOLLOWER_RATE,
    LEADER_RATE,
    LOG_DIR_RATE,
    TOPIC_THROTTLES,
    Moves,
    moving_brokers,
    topic_throttles,
)

CLIENT_ID = "reassign-partitions-tool"
RETRY_MOVES_AFTER_S = 0.1


def run_on_brokers(properties: Mapping[str, str], action: str, options: argparse.Namespace) -> None:
    """Carries out one action. Raises CommandFailed, KafkaError, OSError for a file that cannot be read."""
    with AdminClient({"client.id": CLIENT_ID, **properties}) as admin:
        if action == "list":
            moving = admin.list_partition_reassignments()
            if options.output is not None:
                print_document(reassign_plan.moving_documents(moving), options.output)
            else:
                print(reassign_plan.moving_text(moving))
        elif action == "generate":
            topics = Path(options.topics_to_move_json_file).read_text(encoding="utf-8")
            generate(admin, topics, options.broker_list, rack_aware=not options.disable_rack_aware)
        else:
            plan = plans.parse_plan(Path(options.reassignment_json_file).read_text(encoding="utf-8"))
            _ACTIONS[action](admin, plan, options)


# ---- generate


def generate(admin: AdminClient, topics: str, brokers: str, *, rack_aware: bool) -> None:
    """Prints where the replicas of some topics are, and where they could be on those brokers."""
    ids = plans.parse_brokers(brokers)
    current = assignment_of_topics(admin, plans.parse_topics(topics))
    nodes = [node for node in admin.describe_cluster().nodes if node.id in ids]
    racks = [BrokerRack(node.id, node.rack if rack_aware else None) for node in nodes]
    print(reassign_plan.proposal_text(current, proposed(current, racks)))


def proposed(current: Mapping[TopicPartition, Sequence[int]], brokers: Sequence[BrokerRack]) -> Assignment:
    """New places, topic by topic, with as many replicas as now. Raises CommandFailed for what cannot be placed."""
    try:
        require_racks_of_all_or_none(brokers)
    except KafkaError:
        raise CommandFailed(
            "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica "
            "assignment without rack information."
        ) from None
    try:
        return generating.proposed(current, brokers, Chance().generator())
    except KafkaError as error:
        raise CommandFailed(error.message) from None


def assignment_of_topics(admin: AdminClient, topics: Collection[str]) -> Assignment:
    """The replicas of all partitions of topics. Raises KafkaError for the first topic that is not there."""
    described = admin.describe_topics(topics).all()
    return {
        TopicPartition(name, one.partition): [node.id for node in one.replicas]
        for name, topic in described.items()
        for one in topic.partitions
    }


# ---- execute


def execute(admin: AdminClient, plan: Plan, options: argparse.Namespace) -> None:
    """Sets throttles, begins the reassignment, then the moves between log directories."""
    plan.check()
    running = admin.list_partition_reassignments()
    if running and not options.additional:
        raise Refused(reassign_plan.ANOTHER_RUNS)
    known = {node.id for node in admin.describe_cluster().nodes}
    for broker in plan.brokers:
        if broker not in known:
            raise CommandFailed(f"Unknown broker id {broker}")
    current = assignment_of_topics(admin, plan.topics)
    print(reassign_plan.current_text(plan.targets, current), flush=True)
    if options.disallow_replication_factor_change:
        adding = {partition: len(one.adding) for partition, one in running.items()}
        reassign_plan.require_same_factor(plan, {tp: len(ids) - adding.get(tp, 0) for tp, ids in current.items()})
    if options.throttle >= 0 or options.replica_alter_log_dirs_throttle >= 0:
        print(reassign_plan.MUST_VERIFY)
        if options.throttle >= 0:
            set_throttle(admin, replica_moves.planned_moves(running, plan.targets, current), options.throttle)
        if options.replica_alter_log_dirs_throttle >= 0:
            set_log_dir_throttle(admin, plan, options.replica_alter_log_dirs_throttle)
    _require_done("Error reassigning partition(s):", admin.alter_partition_reassignments(plan.targets).errors())
    print(reassign_plan.started_text(plan.targets), flush=True)
    if plan.log_dirs:
        move_log_dirs(admin, plan.log_dirs, options.timeout)


def _require_done(title: str, errors: Mapping[TopicPartition, KafkaError]) -> None:
    if errors:
        lines = [f"{partition}: {error.message}" for partition, error in sorted(errors.items())]
        raise Refused("\n".join([title, *lines]))


def set_throttle(admin: AdminClient, moves: Moves, rate: int) -> None:
    """Throttles the replicas that move, on all brokers that send or receive."""
    changes = {
        ConfigResource(ConfigResourceType.TOPIC, topic): [AlterConfig(name, value) for name, value in settings.items()]
        for topic, settings in topic_throttles(moves).items()
    }
    admin.incremental_alter_configs(changes).all()
    rates = [AlterConfig(name, str(rate)) for name in (LEADER_RATE, FOLLOWER_RATE)]
    _change_brokers(admin, moving_brokers(moves), rates)
    print(f"The inter-broker throttle limit was set to {rate} B/s")


def set_log_dir_throttle(admin: AdminClient, plan: Plan, rate: int) -> None:
    """Throttles moves between log directories on the brokers that have some."""
    brokers = list(dict.fromkeys(replica.broker for replica in plan.log_dirs))
    _change_brokers(admin, brokers, [AlterConfig(LOG_DIR_RATE, str(rate))])
    print(f"The replica-alter-dir throttle limit was set to {rate} B/s")


def _change_brokers(admin: AdminClient, brokers: Collection[int], changes: Sequence[AlterConfig]) -> None:
    resources = [ConfigResource(ConfigResourceType.BROKER, str(broker)) for broker in brokers]
    admin.incremental_alter_configs(dict.fromkeys(resources, changes)).all()


def move_log_dirs(admin: AdminClient, moves: Mapping[TopicPartitionReplica, str], timeout_ms: int) -> None:
    """Begins moves between log directories; a replica that is not there yet is waited for.

    Raises Refused when some could not begin in time, CommandFailed when a broker refuses one.
    """
    deadline_s = time.monotonic() + timeout_ms / 1000
    pending = dict(moves)
    while True:
        begun = []
        for replica, error in admin.alter_replica_log_dirs(pending).items():
            if error is None:
                begun.append(replica)
            elif error.code is not ErrorCode.REPLICA_NOT_AVAILABLE:
                raise CommandFailed(f"Failed to alter dir for {replica}") from error
        if begun:
            listed = ",".join(map(str, in_order(begun)))
            print(f"Successfully started log directory move{plural(begun)} for: {listed}", flush=True)
        for replica in begun:
            del pending[replica]
        if not pending:
            return
        if time.monotonic() >= deadline_s:
            listed = ",".join(map(str, in_order(pending)))
            raise Refused(f"Timed out before log directory move{plural(list(pending))} could be started for: {listed}")
        time.sleep(RETRY_MOVES_AFTER_S)


# ---- verify, cancel


def verify(admin: AdminClient, plan: Plan, options: argparse.Namespace) -> None:
    """Says how far everything is; throttles are removed once no move is left."""
    progress, running = progress_of(admin, plan)
    print(reassign_plan.status_text(progress), flush=True)
    moves = log_dir_moves(admin, plan.log_dirs)
    print("\n".join(move.line(replica) for replica, move in _in_order_of_replicas(moves)), flush=True)
    if not running and all(move.is_done for move in moves.values()) and not options.preserve_throttles:
        clear_throttles(admin, plan)


def progress_of(admin: AdminClient, plan: Plan) -> tuple[dict[TopicPartition, PartitionProgress], bool]:
    """How far each partition is, and whether any reassignment runs in the cluster."""
    running = admin.list_partition_reassignments()
    settled = dict.fromkeys(partition.topic for partition in plan.targets if partition not in running)
    current: Assignment = {}
    for name, topic in admin.describe_topics(settled).items():
        if isinstance(topic, KafkaError):
            if topic.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise topic
            continue
        current.update(
            {TopicPartition(name, one.partition): [node.id for node in one.replicas] for one in topic.partitions}
        )
    progress = {
        partition: PartitionProgress(running[partition].replicas, target, False)
        if partition in running
        else PartitionProgress(current.get(partition, []), target, True)
        for partition, target in plan.targets.items()
    }
    return progress, bool(running)


class LogDirMove(NamedTuple):
    """The directory of a replica, and the one it is to have. known: whether its broker was asked."""

    places: ReplicaLogDirs
    target: str
    known: bool = True

    @property
    def is_moving(self) -> bool:
        return self.places.future is not None

    @property
    def is_done(self) -> bool:
        return not self.is_moving

    def line(self, replica: TopicPartitionReplica) -> str:
        partition, broker = TopicPartition(replica.topic, replica.partition), replica.broker
        current, future = self.places.current, self.places.future
        if not self.known:
            return f"Partition {partition} cannot be found in any live log directory on broker {broker}."
        if future is not None and future == self.target:
            return f"Reassignment of replica {replica} is still in progress."
        if future is not None:
            return (
                f"Partition {partition} on broker {broker} is being moved to log dir {future} instead of {self.target}."
            )
        if current is None:
            return (f"Partition {partition} is not found in any live log dir on broker {broker}. There is likely an "
                    "offline log directory on the broker.")  # fmt: skip
        if current == self.target:
            return f"Reassignment of replica {replica} completed successfully."
        return f"Partition {partition} on broker {broker} is not being moved from log dir {current} to {self.target}."


def log_dir_moves(
    admin: AdminClient, targets: Mapping[TopicPartitionReplica, str]
) -> dict[TopicPartitionReplica, LogDirMove]:
    """How far moves between log directories are."""
    found = admin.describe_replica_log_dirs(targets) if targets else {}
    moves = {}
    for replica, places in found.items():
        if isinstance(places, KafkaError):
            moves[replica] = LogDirMove(ReplicaLogDirs(), targets[replica], known=False)
        else:
            moves[replica] = LogDirMove(places, targets[replica])
    return moves


def _in_order_of_replicas(
    moves: Mapping[TopicPartitionReplica, LogDirMove],
) -> list[tuple[TopicPartitionReplica, LogDirMove]]:
    return [(replica, moves[replica]) for replica in in_order(moves)]


def cancel(admin: AdminClient, plan: Plan, options: argparse.Namespace) -> None:
    """Calls off those moves of the plan that run."""
    running = [partition for partition, _ in admin.list_partition_reassignments(list(plan.targets)).items()]
    if running:
        errors = admin.alter_partition_reassignments(dict.fromkeys(running)).errors()
        _require_done(f"Error cancelling partition reassignment{plural(list(errors))} for:", errors)
        listed = ",".join(map(str, sorted(running)))
        print(f"Successfully cancelled partition reassignment{plural(running)} for: {listed}")
    else:
        print("None of the specified partition reassignments are active.")
    moving = {
        replica: move.places.current
        for replica, move in log_dir_moves(admin, plan.log_dirs).items()
        if move.is_moving and move.places.current is not None
    }
    if moving:
        move_log_dirs(admin, moving, options.timeout)
    else:
        print("None of the specified partition moves are active.")
    if not options.preserve_throttles:
        clear_throttles(admin, plan)


def clear_throttles(admin: AdminClient, plan: Plan) -> None:
    """Removes all throttles from every broker that could have taken part, and from the plan's topics."""
    live = sorted(node.id for node in admin.describe_cluster().nodes)
    brokers = list(dict.fromkeys((*live, *plan.brokers)))
    rates, throttled = reassign_plan.clearing_lines(brokers, plan.topics)
    print(rates, flush=True)
    _change_brokers(admin, brokers, _deletions(BROKER_THROTTLES))
    print(throttled, flush=True)
    resources = [ConfigResource(ConfigResourceType.TOPIC, topic) for topic in plan.topics]
    admin.incremental_alter_configs(dict.fromkeys(resources, _deletions(TOPIC_THROTTLES))).all()


def _deletions(names: Sequence[str]) -> list[AlterConfig]:
    return [AlterConfig(name, None, AlterOperation.DELETE) for name in names]


_ACTIONS = {"execute": execute, "verify": verify, "cancel": cancel}
