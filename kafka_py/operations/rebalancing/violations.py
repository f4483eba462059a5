"""What a cluster has that the goals want otherwise, by name, and what each broker has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kafka_py.operations.rebalancing.bands import GoalBand
from kafka_py.operations.rebalancing.model import (
    BrokerLoad,
    Goal,
    GoalViolation,
    PlanCluster,
    PlanRequest,
    RebalanceAction,
)
from kafka_py.operations.rebalancing.placement import NO_BROKERS, Placement
from kafka_py.operations.rebalancing.soft_moves import bands_of

BALANCING = (RebalanceAction.REBALANCE, RebalanceAction.ADD_BROKERS)


def violations_of(cluster: PlanCluster, request: PlanRequest) -> tuple[GoalViolation, ...]:
    """All violations of the goals that the request is about, by priority."""
    removed = request.brokers if request.action is RebalanceAction.REMOVE_BROKERS else NO_BROKERS
    place = Placement(cluster, cluster.movable(request), removed)
    found: list[GoalViolation] = []
    if removed:
        found += _still_held(place, cluster, sorted(removed))
    if request.factor is not None:
        found += _wrong_factor(place, cluster, request.factor)
    found += _shared_racks(place, cluster)
    found += _full_disks(place)
    if request.action is RebalanceAction.DEMOTE_BROKERS:
        found += _demoted_leaders(place, cluster, request)
    if request.action in BALANCING:
        found += _unbalanced(place, cluster, request)
    return tuple(found)


def _still_held(place: Placement, cluster: PlanCluster, removed: Sequence[int]) -> Iterator[GoalViolation]:
    for broker in removed:
        held = sorted(number for number in place.on.get(broker, ()) if place.may_move[number])
        if held:
            example = cluster.partitions[held[0]].partition
            text = f"broker {broker} holds {len(held)} replicas, such as one of {example}"
            yield GoalViolation(Goal.REMOVED, text, broker)


def _wrong_factor(place: Placement, cluster: PlanCluster, factor: int) -> Iterator[GoalViolation]:
    for number in place.movable:
        count = len(place.rows[number])
        if count != factor:
            partition = cluster.partitions[number].partition
            yield GoalViolation(Goal.FACTOR, f"{partition} has {count} replicas, {factor} are wanted")


def _shared_racks(place: Placement, cluster: PlanCluster) -> Iterator[GoalViolation]:
    for number in place.movable:
        for rack, shared in sorted(place.crowded_racks(number).items()):
            limit = place.rack_limit(len(place.rows[number]))
            listed = ", ".join(map(str, shared))
            text = (f"{cluster.partitions[number].partition} has replicas on brokers {listed} of rack {rack}, "
                    f"at most {limit} should share one")  # fmt: skip
            yield GoalViolation(Goal.RACKS, text)


def _full_disks(place: Placement) -> Iterator[GoalViolation]:
    for broker in place.brokers:
        capacity = place.capacity[broker]
        if capacity is not None and place.bytes[broker] > capacity:
            text = f"broker {broker} holds {place.bytes[broker]:,} bytes and has room for {capacity:,}"
            yield GoalViolation(Goal.CAPACITY, text, broker)


def _demoted_leaders(place: Placement, cluster: PlanCluster, request: PlanRequest) -> Iterator[GoalViolation]:
    for number in place.movable:
        row = cluster.partitions[number]
        for broker in dict.fromkeys((*row.replicas[:1], row.leader)):
            if broker in request.brokers:
                others = any(other not in request.brokers for other in row.replicas)
                why = "" if others else ", and no other broker has a replica"
                yield GoalViolation(Goal.DEMOTED, f"{row.partition} is led by broker {broker}{why}", broker)


def _unbalanced(place: Placement, cluster: PlanCluster, request: PlanRequest) -> Iterator[GoalViolation]:
    bands = bands_of(place, request)
    for goal, band, numbers, unit in (
        (Goal.REPLICAS, bands.replicas, place.replicas, "replicas"),
        (Goal.LEADERS, bands.leaders, place.leads, "preferred leaders"),
        (Goal.BYTES, bands.bytes, place.bytes, "bytes"),
    ):
        for broker in place.targets:
            if band.cost(numbers[broker]):
                text = f"broker {broker} has {numbers[broker]:,} {unit}, {_range(band)} are wanted"
                yield GoalViolation(goal, text, broker)
    for topic, band in enumerate(bands.topics):
        counts = place.topic_counts[topic]
        name = cluster.partitions[place.topic_partitions[topic][0]].partition.topic
        for broker in place.targets if request.selects(name) else ():
            if band.cost(counts[broker]):
                text = f"broker {broker} has {counts[broker]} replicas of {name}, {_range(band)} are wanted"
                yield GoalViolation(Goal.TOPICS, text, broker)


def _range(band: GoalBand) -> str:
    if band.lowest == band.highest:
        return f"{band.lowest:,}"
    return f"{band.lowest:,} to {band.highest:,}"


def loads_of(cluster: PlanCluster, violations: Sequence[GoalViolation]) -> tuple[BrokerLoad, ...]:
    """What each broker has, by id."""
    place = Placement(cluster, ())
    known = {broker.id: broker for broker in cluster.brokers}
    counts = Counter(violation.broker for violation in violations)
    leads = Counter(row.leader for row in cluster.partitions)
    return tuple(
        BrokerLoad(
            id_, known[id_].rack if id_ in known else None, id_ in known and known[id_].is_live, place.replicas[id_],
            place.leads[id_], leads[id_], place.bytes[id_], counts[id_],
        )
        for id_ in place.brokers
    )  # fmt: skip


def notes_of(cluster: PlanCluster, request: PlanRequest) -> tuple[str, ...]:
    """What a reader of the plan should know: goals that do not count here, brokers that are not live."""
    notes = []
    racks = {broker.rack for broker in cluster.brokers if broker.is_live}
    if None in racks and len(racks) > 1:
        notes.append("Some live brokers have no rack: racks are not taken into account.")
    moving = [row.partition for row in cluster.partitions if row.is_moving]
    if moving:
        notes.append(f"{len(moving)} partitions are being reassigned, such as {moving[0]}: the plan leaves them out.")
    live = {broker.id for broker in cluster.brokers if broker.is_live}
    dead = Counter(broker for row in cluster.partitions for broker in row.replicas if broker not in live)
    for broker, count in sorted(dead.items()):
        if request.action is not RebalanceAction.REMOVE_BROKERS or broker not in request.brokers:
            notes.append(
                f"Broker {broker} is not live and holds {count} replicas, which stay there: removing the broker "
                "moves them."
            )
    return tuple(notes)
