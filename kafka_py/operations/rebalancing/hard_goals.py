"""The goals that come first: what is removed holds nothing, as many replicas as wanted, racks, disks, demotion.

Each function moves only what breaks its goal, and leaves in place what no broker can take; violations.py names that.
Source: KIP-36 (racks).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kafka_py.operations.rebalancing.placement import Placement


def evacuate(place: Placement, removed: Collection[int]) -> bool:
    """Replicas leave these brokers, the largest first. Returns whether anything changed."""
    held = {number for broker in removed for number in place.on.get(broker, ()) if place.may_move[number]}
    changed = False
    for number in sorted(held, key=lambda each: (-place.sizes[each], each)):
        for broker in [each for each in place.rows[number] if each in removed]:
            new = place.destination(number, broker, place.targets)
            if new is None:  # fewer racks is better than a broker that cannot be taken out of service
                new = place.destination(number, broker, place.targets, racks=False)
            if new is not None:
                place.replace(number, broker, new)
                changed = True
    return changed


def change_factor(place: Placement, factor: int, leaders: Sequence[int | None]) -> bool:
    """Each movable partition gets so many replicas. leaders: who leads each partition now, which stays if it can."""
    changed = False
    for number in place.movable:
        while len(place.rows[number]) < factor:
            new = place.destination(number, None, place.targets, factor=factor)
            if new is None:
                new = place.destination(number, None, place.targets, racks=False)
            if new is None:
                break
            place.add(number, new)
            changed = True
        while len(place.rows[number]) > factor:
            place.remove(number, _least_missed(place, number, leaders[number]))
            changed = True
    return changed


def _least_missed(place: Placement, number: int, leader: int | None) -> int:
    """The replica that is dropped: of a dead or removed broker, else of a shared rack, else of the fullest broker."""
    row = place.rows[number]
    racks = [place.racks.get(broker) for broker in row]
    counts = place.topic_counts[place.topics[number]]

    def rank(broker: int) -> tuple[bool, bool, bool, int, int, int]:
        shares = place.racks.get(broker) is not None and racks.count(place.racks.get(broker)) > 1
        is_target = broker in place.targets
        return (not is_target, broker != leader, shares, place.replicas[broker], counts[broker], broker)

    return max(row, key=rank)


def spread_racks(place: Placement) -> bool:
    """Replicas leave racks that hold more of their partition than they should."""
    changed = False
    for number in place.movable if place.racks else ():
        while crowded := place.crowded_racks(number):
            if not _leave_a_rack(place, number, min(crowded.items())[1]):
                break
            changed = True
    return changed


def _leave_a_rack(place: Placement, number: int, shared: Sequence[int]) -> bool:
    """One of these replicas moves to another rack: a follower before the leader, from the fullest broker."""
    leader = place.rows[number][0]
    for broker in sorted(shared, key=lambda each: (each == leader, -place.replicas[each], each)):
        elsewhere = [target for target in place.targets if place.racks[target] != place.racks[broker]]
        new = place.destination(number, broker, elsewhere)
        if new is not None:
            place.replace(number, broker, new)
            return True
    return False


def relieve_disks(place: Placement) -> bool:
    """Replicas leave brokers that hold more bytes than they have room for, as few bytes as possible."""
    changed = False
    for broker in place.targets:
        capacity = place.capacity[broker]
        while capacity is not None and place.bytes[broker] > capacity:
            if not _relieve(place, broker, place.bytes[broker] - capacity):
                break
            changed = True
    return changed


def _relieve(place: Placement, broker: int, excess: int) -> bool:
    """One replica leaves: the smallest that is enough by itself, else the largest that another broker can take."""
    held = [number for number in place.on[broker] if place.may_move[number] and place.sizes[number]]
    held.sort(key=lambda each: (place.sizes[each], each))
    enough = [number for number in held if place.sizes[number] >= excess]
    others = [number for number in held if place.sizes[number] < excess]
    for number in (*enough, *reversed(others)):
        new = place.destination(number, broker, place.targets)
        if new is not None:
            place.replace(number, broker, new)
            return True
    return False


def demote(place: Placement, demoted: Collection[int]) -> bool:
    """Replicas of these brokers become the last in the order of their partitions."""
    changed = False
    for number in place.movable:
        row = place.rows[number]
        if not any(broker in demoted for broker in row):
            continue
        kept = [broker for broker in row if broker not in demoted]
        if kept and row[0] in demoted:
            live = [broker for broker in kept if broker in place.targets] or kept
            first = min(live, key=lambda each: (place.leads[each], each))
            kept = [first, *(broker for broker in kept if broker != first)]
        wanted = [*kept, *(broker for broker in row if broker in demoted)]
        if wanted != row:
            place.order(number, wanted)
            changed = True
    return changed
