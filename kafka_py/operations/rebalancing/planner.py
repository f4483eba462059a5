"""Makes a plan: goals in order of priority, each changing as little as it needs.

A plan is a function of the cluster and the request alone. The goals are gone through until none of them changes
anything, and every change of a soft goal leaves the goals before it as good as they were; so it ends, and a plan for a
cluster that has been changed by a plan is empty.

Order: what is removed holds nothing, the number of replicas, racks, disks, demotion (the hard goals, hard_goals.py);
then replica counts, leader counts, bytes, topics (replica_counts.py, leader_counts.py, byte_loads.py, topic_spread.py).
"""

from __future__ import annotations

import re

from kafka_py.base.ids import TopicPartition
from kafka_py.operations.rebalancing.byte_loads import balance_bytes
from kafka_py.operations.rebalancing.hard_goals import (
    change_factor,
    demote,
    evacuate,
    relieve_disks,
    spread_racks,
)
from kafka_py.operations.rebalancing.leader_counts import balance_leaders
from kafka_py.operations.rebalancing.model import (
    PartitionChange,
    PlanCluster,
    PlanRequest,
    Proposal,
    RebalanceAction,
    RebalanceRefused,
)
from kafka_py.operations.rebalancing.placement import NO_BROKERS, Placement
from kafka_py.operations.rebalancing.replica_counts import balance_replicas
from kafka_py.operations.rebalancing.soft_moves import SoftMoves, bands_of
from kafka_py.operations.rebalancing.topic_spread import spread_topics
from kafka_py.operations.rebalancing.violations import loads_of, notes_of, violations_of

MOST_ROUNDS = 100
"""No plan is known to need ten; the bound keeps a mistake from running forever."""
NEEDS_BROKERS = (RebalanceAction.ADD_BROKERS, RebalanceAction.REMOVE_BROKERS, RebalanceAction.DEMOTE_BROKERS)
BALANCING = (RebalanceAction.REBALANCE, RebalanceAction.ADD_BROKERS)


def propose(cluster: PlanCluster, request: PlanRequest) -> Proposal:
    """The plan. Raises RebalanceRefused for a request that makes no sense for this cluster."""
    check(cluster, request)
    cluster = PlanCluster(cluster.brokers, tuple(sorted(cluster.partitions, key=lambda row: row.partition)))
    place = Placement(cluster, cluster.movable(request), removed_by(request))
    if not place.targets:
        raise RebalanceRefused("No live broker is left that could hold replicas.")
    for _ in range(MOST_ROUNDS):
        hard = _reach_hard_goals(place, cluster, request)
        if not _reach_soft_goals(place, cluster, request) and not hard:
            break
    changes = tuple(
        PartitionChange(row.partition, row.replicas, tuple(place.rows[number]), row.size_bytes)
        for number, row in enumerate(cluster.partitions)
        if list(row.replicas) != place.rows[number]
    )
    after = cluster.after({change.partition: change.after for change in changes})
    violations, remaining = violations_of(cluster, request), violations_of(after, request)
    return Proposal(
        request, changes, tuple(_elections(cluster, place, request)),
        loads_of(cluster, violations), loads_of(after, remaining), violations, remaining, notes_of(cluster, request),
    )  # fmt: skip


def removed_by(request: PlanRequest) -> frozenset[int]:
    """The brokers that are to hold nothing."""
    return request.brokers if request.action is RebalanceAction.REMOVE_BROKERS else NO_BROKERS


def demoted_by(request: PlanRequest) -> frozenset[int]:
    """The brokers that are to lead nothing."""
    return request.brokers if request.action is RebalanceAction.DEMOTE_BROKERS else NO_BROKERS


def check(cluster: PlanCluster, request: PlanRequest) -> None:
    """What must hold for any plan. Raises RebalanceRefused."""
    for name, pattern in (("topics", request.topics), ("excluded topics", request.excluded)):
        try:
            re.compile(pattern or "")
        except re.error as error:
            raise RebalanceRefused(f"The pattern of {name} is no regular expression: {error}") from None
    if not 0 <= request.tolerance_percent <= 100:
        raise RebalanceRefused(f"The tolerance is a percentage from 0 to 100, not {request.tolerance_percent}")
    if request.action in NEEDS_BROKERS:
        if not request.brokers:
            raise RebalanceRefused(f"{request.action} needs the ids of brokers")
        known = {broker.id for broker in cluster.brokers}
        unknown = sorted(request.brokers - known)
        if unknown:
            raise RebalanceRefused(f"Unknown brokers: {_listed(unknown)}; there are {_listed(sorted(known))}")
    if request.action is RebalanceAction.ADD_BROKERS:
        dead = sorted(broker.id for broker in cluster.brokers if broker.id in request.brokers and not broker.is_live)
        if dead:
            raise RebalanceRefused(f"Brokers that are not live cannot be added: {_listed(dead)}")
    if request.action is RebalanceAction.REPLICATION_FACTOR:
        _check_factor(cluster, request)


def _check_factor(cluster: PlanCluster, request: PlanRequest) -> None:
    live = sum(broker.is_live for broker in cluster.brokers)
    if request.factor is None or request.factor < 1:
        raise RebalanceRefused("A replication factor is at least 1")
    if request.factor > live:
        raise RebalanceRefused(f"{request.factor} replicas need as many live brokers; there are {live}")


def _listed(brokers: list[int]) -> str:
    return ", ".join(map(str, brokers))


def _reach_hard_goals(place: Placement, cluster: PlanCluster, request: PlanRequest) -> bool:
    action = request.action
    changed = False
    if action is RebalanceAction.REMOVE_BROKERS:
        changed = evacuate(place, request.brokers)
    if action is RebalanceAction.REPLICATION_FACTOR and request.factor is not None:
        leaders = [row.leader for row in cluster.partitions]
        changed = change_factor(place, request.factor, leaders) or changed
    if action is RebalanceAction.DEMOTE_BROKERS:
        return demote(place, request.brokers)
    if action in (*BALANCING, RebalanceAction.FIX_RACKS):
        changed = spread_racks(place) or changed
    if action in BALANCING:
        changed = relieve_disks(place) or changed
    return changed


def _reach_soft_goals(place: Placement, cluster: PlanCluster, request: PlanRequest) -> bool:
    bands = bands_of(place, request)
    candidates = [broker for broker in place.targets if broker not in demoted_by(request)]
    if request.action not in BALANCING:
        # Balance is not what was asked for: only leaders that change anyway are chosen well.
        rows = cluster.partitions
        touched = [number for number in place.movable if list(rows[number].replicas[:1]) != place.rows[number][:1]]
        return balance_leaders(place, bands.leaders, candidates, touched)
    into = request.brokers if request.action is RebalanceAction.ADD_BROKERS else place.targets
    moves = SoftMoves(place, bands, into, request.max_bytes)
    changed = balance_replicas(moves)
    changed = balance_leaders(place, bands.leaders, candidates) or changed
    changed = balance_bytes(moves) or changed
    return spread_topics(moves) or changed


def _elections(cluster: PlanCluster, place: Placement, request: PlanRequest) -> list[TopicPartition]:
    """Partitions whose preferred leader is live and does not lead, as far as the request is about them."""
    live = {broker.id for broker in cluster.brokers if broker.is_live}
    found = []
    for number in place.movable:
        row, replicas = cluster.partitions[number], place.rows[number]
        concerned = (
            request.action is RebalanceAction.REBALANCE
            or list(row.replicas) != replicas
            or row.leader in demoted_by(request)
        )
        if concerned and replicas and replicas[0] in live and row.leader not in (None, replicas[0]):
            found.append(row.partition)
    return found
