"""Leader elections on request: ElectLeaders, /admin/preferred_replica_election, or the automatic leader balance.

Source: docs/reference/controller.md, section 10; KIP-460.
"""

from __future__ import annotations

from collections.abc import Collection

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ElectionType, TopicPartition
from kafka_py.base.steps import slices
from kafka_py.controller.configs import ControllerOptions
from kafka_py.controller.decisions.leaderships import MoveFailed
from kafka_py.controller.decisions.notes import LogLines
from kafka_py.controller.decisions.partition_moves import move_partitions
from kafka_py.controller.decisions.plan import Plan, Worked
from kafka_py.controller.decisions.settings import Settings
from kafka_py.controller.decisions.steps import Put, PutLater, ReplyToCaller
from kafka_py.controller.decisions.znode_steps import DeletePreferredElections, ReadPreferredElections
from kafka_py.controller.events import (
    AutoPreferredReplicaLeaderElection,
    ReplicaLeaderElection,
    ZkReplicaLeaderElection,
)
from kafka_py.controller.model import elections, partition_states
from kafka_py.controller.model.controller_context import ControllerContext, leader_of
from kafka_py.controller.model.elections import Strategy

notes = LogLines(__name__)

FIRST_BALANCE_AFTER_S = 5

ElectionResults = dict[TopicPartition, int | KafkaError]
"""Per partition the elected leader, or the error."""

_STRATEGIES = {ElectionType.PREFERRED: Strategy.PREFERRED, ElectionType.UNCLEAN: Strategy.UNCLEAN}
_STRATEGY_NAMES = {
    ElectionType.PREFERRED: "PreferredReplicaPartitionLeaderElectionStrategy",
    ElectionType.UNCLEAN: "OfflinePartitionLeaderElectionStrategy(true)",
}
"""The names of the strategies in error messages of Apache Kafka."""
_FAILURES = {
    ElectionType.PREFERRED: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
    ElectionType.UNCLEAN: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
}


def replica_leader_election(
    cluster: ControllerContext, event: ReplicaLeaderElection, _settings: Settings
) -> Plan[None]:
    """Handles ElectLeaders."""
    partitions = list(cluster.partitions()) if event.partitions is None else event.partitions
    yield from ReplyToCaller((yield from elect(cluster, partitions, event.type)))


def elect(
    cluster: ControllerContext, partitions: Collection[TopicPartition], type_: ElectionType
) -> Plan[ElectionResults]:
    """Elects leaders where that is needed and possible."""
    results: ElectionResults = {}
    electable = []
    for some in slices(partitions):
        for partition in some:
            refusal = refusal_of(cluster, partition, type_)
            if refusal is None:
                electable.append(partition)
            else:
                results[partition] = refusal
        yield from Worked(len(some))
    outcomes = yield from move_partitions(cluster, electable, partition_states.ONLINE, _STRATEGIES[type_])
    for partition in electable:
        outcome = outcomes.get(partition) or MoveFailed("its state does not allow an election")
        if not isinstance(outcome, Exception):
            results[partition] = outcome.leader
        elif isinstance(outcome, MoveFailed):
            yield from notes.info("No leader was elected for %s: %s", partition, outcome)
            detail = f"Failed to elect leader for partition {partition} under strategy {_STRATEGY_NAMES[type_]}"
            results[partition] = KafkaError(_FAILURES[type_], detail)
        else:
            results[partition] = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, str(outcome))
    return results


def refusal_of(cluster: ControllerContext, partition: TopicPartition, type_: ElectionType) -> KafkaError | None:
    """Why there is no election; None if one is to be held."""
    replicas = cluster.assignment(partition).replicas
    if not replicas:
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
    if partition.topic in cluster.queued:
        return KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic is being deleted")
    leader = leader_of(cluster.leadership(partition))
    is_fine = leader == replicas[0] if type_ is ElectionType.PREFERRED else leader in cluster.live_brokers
    if is_fine:
        return KafkaError(ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")
    return None


def zk_replica_leader_election(
    cluster: ControllerContext, _event: ZkReplicaLeaderElection, _settings: Settings
) -> Plan[None]:
    """Handles /admin/preferred_replica_election; the znode is deleted after the attempt, whether or not it succeeds."""
    wanted = yield from ReadPreferredElections()
    if wanted is not None:
        yield from elect_from_znode(cluster, wanted)


def elect_from_znode(cluster: ControllerContext, wanted: Collection[TopicPartition]) -> Plan[None]:
    """Elects preferred leaders, deletes the znode and watches it again."""
    try:
        results = yield from elect(cluster, sorted(wanted), ElectionType.PREFERRED)
        for partition, result in results.items():
            if isinstance(result, KafkaError) and result.code is not ErrorCode.ELECTION_NOT_NEEDED:
                yield from notes.warning("The preferred replica of %s was not elected: %s", partition, result)
    finally:
        yield from DeletePreferredElections()
        yield from Put(ZkReplicaLeaderElection())


def pending_elections(cluster: ControllerContext) -> Plan[set[TopicPartition]]:
    """The partitions in the znode, less those that are done, unknown or being deleted."""
    wanted = (yield from ReadPreferredElections()) or set()
    return {partition for partition in wanted if refusal_of(cluster, partition, ElectionType.PREFERRED) is None}


def balance_leaders(
    cluster: ControllerContext, _event: AutoPreferredReplicaLeaderElection, settings: Settings
) -> Plan[None]:
    """Elects preferred leaders for brokers above leader.imbalance.per.broker.percentage."""
    options = settings.options
    try:
        limit = options.leader_imbalance_per_broker_percentage / 100
        for partitions in (yield from unbalanced(cluster, limit)):
            yield from elect(cluster, partitions, ElectionType.PREFERRED)
    finally:
        yield from schedule_balance(options, options.leader_imbalance_check_interval_seconds)


def schedule_balance(options: ControllerOptions, seconds: float = FIRST_BALANCE_AFTER_S) -> Plan[None]:
    """Schedules the next check of the leader balance, unless auto.leader.rebalance.enable is false."""
    if options.auto_leader_rebalance_enable:
        yield from PutLater(seconds, AutoPreferredReplicaLeaderElection())


def unbalanced(cluster: ControllerContext, limit: float) -> Plan[list[list[TopicPartition]]]:
    """Per broker above the limit, the partitions that it could lead as the preferred replica but does not.

    limit: the share of a broker's preferred partitions that others may lead. None while partitions are reassigned.
    """
    preferring: dict[int, list[TopicPartition]] = {}
    for some in slices(list(cluster.partitions())):
        for partition in some:
            replicas = cluster.assignment(partition).replicas
            if replicas and partition.topic not in cluster.queued:
                preferring.setdefault(replicas[0], []).append(partition)
        yield from Worked(len(some))
    if cluster.reassigning:
        return []
    groups = []
    for broker, partitions in sorted(preferring.items()):
        elsewhere: list[TopicPartition] = []
        for some in slices(partitions):
            elsewhere += [partition for partition in some if _is_led_by_another(cluster, partition, broker)]
            yield from Worked(len(some))
        if len(elsewhere) / len(partitions) > limit:
            group: list[TopicPartition] = []
            for some in slices(elsewhere):
                group += [partition for partition in some if _can_lead(cluster, partition)]
                yield from Worked(len(some))
            groups.append(group)
    return [group for group in groups if group]


def _is_led_by_another(cluster: ControllerContext, partition: TopicPartition, broker: int) -> bool:
    leadership = cluster.leadership(partition)
    return leadership is not None and leadership.leader != broker


def _can_lead(cluster: ControllerContext, partition: TopicPartition) -> bool:
    leadership = cluster.leadership(partition)
    replicas = cluster.assignment(partition).replicas
    online = cluster.online(partition, replicas)
    return leadership is not None and elections.preferred(replicas, leadership.isr, online) is not None
