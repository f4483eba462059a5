"""Elections that somebody asks for: an administrator, the old tool's znode, or the timer that balances leaders.

Handlers of events (I/O). Source: docs/reference/controller.md, section 10; KIP-460.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import TYPE_CHECKING

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ElectionType, TopicPartition
from kafka_py.base.turns import sliced
from kafka_py.controller.events import (
    AutoPreferredReplicaLeaderElection,
    ReplicaLeaderElection,
    ZkReplicaLeaderElection,
)
from kafka_py.controller.leaderships import MoveFailed
from kafka_py.controller.model import elections, partition_states
from kafka_py.controller.model.controller_context import Cluster, leader_of
from kafka_py.controller.model.elections import Strategy

if TYPE_CHECKING:
    from kafka_py.controller.term import Term

log = logging.getLogger(__name__)

FIRST_BALANCE_AFTER_S = 5

ElectionResults = dict[TopicPartition, int | KafkaError]
"""Per partition the leader that was elected, or why there was no election, or none that succeeded."""

_STRATEGIES = {ElectionType.PREFERRED: Strategy.PREFERRED, ElectionType.UNCLEAN: Strategy.UNCLEAN}
_STRATEGY_NAMES = {
    ElectionType.PREFERRED: "PreferredReplicaPartitionLeaderElectionStrategy",
    ElectionType.UNCLEAN: "OfflinePartitionLeaderElectionStrategy(true)",
}
"""As the classic's tools show them to those who asked."""
_FAILURES = {
    ElectionType.PREFERRED: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
    ElectionType.UNCLEAN: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
}


async def replica_leader_election(term: Term, event: ReplicaLeaderElection) -> None:
    """ElectLeaders."""
    partitions = list(term.cluster.partitions()) if event.partitions is None else event.partitions
    event.reply(await elect(term, partitions, event.type))


async def elect(term: Term, partitions: Collection[TopicPartition], type_: ElectionType) -> ElectionResults:
    """Holds elections where they are needed and possible."""
    results: ElectionResults = {}
    electable = []
    async for some in sliced(partitions):
        for partition in some:
            refusal = refusal_of(term.cluster, partition, type_)
            if refusal is None:
                electable.append(partition)
            else:
                results[partition] = refusal
    outcomes = await term.transitions.partitions(electable, partition_states.ONLINE, _STRATEGIES[type_])
    for partition in electable:
        outcome = outcomes.get(partition) or MoveFailed("its state does not allow an election")
        if not isinstance(outcome, Exception):
            results[partition] = outcome.leader
        elif isinstance(outcome, MoveFailed):
            log.info("No leader was elected for %s: %s", partition, outcome)
            detail = f"Failed to elect leader for partition {partition} under strategy {_STRATEGY_NAMES[type_]}"
            results[partition] = KafkaError(_FAILURES[type_], detail)
        else:
            results[partition] = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, str(outcome))
    return results


def refusal_of(cluster: Cluster, partition: TopicPartition, type_: ElectionType) -> KafkaError | None:
    """Why there is no point in an election; None when there is."""
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


async def zk_replica_leader_election(term: Term, _event: ZkReplicaLeaderElection) -> None:
    """The old tool asks for preferred leaders; its znode goes after the attempt, whatever came of it."""
    wanted = await term.store.admin.preferred_elections(term.watches.preferred_elections)
    if wanted is not None:
        await elect_from_znode(term, wanted)


async def elect_from_znode(term: Term, wanted: Collection[TopicPartition]) -> None:
    """Preferred elections, then the znode is deleted and watched for again."""
    try:
        results = await elect(term, sorted(wanted), ElectionType.PREFERRED)
        for partition, result in results.items():
            if isinstance(result, KafkaError) and result.code is not ErrorCode.ELECTION_NOT_NEEDED:
                log.warning("The preferred replica of %s does not lead: %s", partition, result)
    finally:
        await term.store.admin.delete_preferred_elections(term.epoch_zk_version)
        term.put(ZkReplicaLeaderElection())


async def pending_elections(term: Term) -> set[TopicPartition]:
    """What the znode still asks for, less what is done, unknown or about to be deleted."""
    wanted = await term.store.admin.preferred_elections(term.watches.preferred_elections) or set()
    return {partition for partition in wanted if refusal_of(term.cluster, partition, ElectionType.PREFERRED) is None}


async def balance_leaders(term: Term, _event: AutoPreferredReplicaLeaderElection) -> None:
    """Gives partitions back to their preferred broker where too many of its partitions are led by others."""
    try:
        limit = term.config.leader_imbalance_per_broker_percentage / 100
        for partitions in await unbalanced(term.cluster, limit):
            await elect(term, partitions, ElectionType.PREFERRED)
    finally:
        schedule_balance(term, term.config.leader_imbalance_check_interval_seconds)


def schedule_balance(term: Term, seconds: float = FIRST_BALANCE_AFTER_S) -> None:
    """Has the balance looked at later, unless that is switched off."""
    if term.config.auto_leader_rebalance_enable:
        term.put_after(seconds, AutoPreferredReplicaLeaderElection())


async def unbalanced(cluster: Cluster, limit: float) -> list[list[TopicPartition]]:
    """Per broker over the limit, the partitions that its preferred replica could lead but does not.

    limit: of the partitions that prefer a broker, the share that others may lead. Nothing while partitions move.
    """
    preferring: dict[int, list[TopicPartition]] = {}
    async for some in sliced(list(cluster.partitions())):
        for partition in some:
            replicas = cluster.assignment(partition).replicas
            if replicas and partition.topic not in cluster.queued:
                preferring.setdefault(replicas[0], []).append(partition)
    if cluster.reassigning:
        return []
    groups = []
    for broker, partitions in sorted(preferring.items()):
        elsewhere: list[TopicPartition] = []
        async for some in sliced(partitions):
            elsewhere += [partition for partition in some if _is_led_by_another(cluster, partition, broker)]
        if len(elsewhere) / len(partitions) > limit:
            group: list[TopicPartition] = []
            async for some in sliced(elsewhere):
                group += [partition for partition in some if _can_lead(cluster, partition)]
            groups.append(group)
    return [group for group in groups if group]


def _is_led_by_another(cluster: Cluster, partition: TopicPartition, broker: int) -> bool:
    leadership = cluster.leadership(partition)
    return leadership is not None and leadership.leader != broker


def _can_lead(cluster: Cluster, partition: TopicPartition) -> bool:
    leadership = cluster.leadership(partition)
    replicas = cluster.assignment(partition).replicas
    online = cluster.online(partition, replicas)
    return leadership is not None and elections.preferred(replicas, leadership.isr, online) is not None
