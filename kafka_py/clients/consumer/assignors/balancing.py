"""The sticky rule: as balanced as can be, and then as close as can be to what was (KIP-54, KIP-341).

Balanced: no partition could go to a member that subscribes to its topic and has at least two fewer than its owner.
When all members subscribe to the same, that means that shares differ by one at most. Pure, over plain values.

Whose claim counts: one made in a later generation than another's. Claims of equal rank on one partition cancel each
other, for none of the two can be right.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.assignors.assignor import (
    UNKNOWN_GENERATION,
    Subscription,
    in_order,
    members_by_topic,
    partitions_of,
)


class Claim(NamedTuple):
    """What a member says it had, and since when."""

    partitions: Sequence[TopicPartition]
    generation: int = UNKNOWN_GENERATION


Shares = dict[str, list[TopicPartition]]


def balance(
    counts: Mapping[str, int], subscriptions: Mapping[str, Subscription], claims: Mapping[str, Claim]
) -> Shares:
    """What each member gets.

    counts: partitions by topic, of topics that exist. claims: by member; those of strangers, and for what a member
        does not subscribe to any more, do not count.
    """
    subscribers = {topic: members for topic, members in members_by_topic(subscriptions).items() if topic in counts}
    shares = _valid_claims(counts, subscriptions, claims)
    all_partitions = [each for topic in sorted(subscribers) for each in partitions_of(topic, counts[topic])]
    taken = {partition for share in shares.values() for partition in share}
    free = [partition for partition in all_partitions if partition not in taken]
    if all(len(members) == len(subscriptions) for members in subscribers.values()):
        _level(shares, free, len(all_partitions), in_order(subscriptions, subscriptions))
    else:
        _deal(shares, free, subscribers)
        _move(shares, subscribers, {member: set(claims[member].partitions) for member in claims})
    return shares


def _valid_claims(
    counts: Mapping[str, int], subscriptions: Mapping[str, Subscription], claims: Mapping[str, Claim]
) -> Shares:
    """What each member may keep, in order of members and partitions."""
    best: dict[TopicPartition, tuple[int, str | None]] = {}
    for member in in_order(subscriptions, subscriptions):
        claim = claims.get(member)
        if claim is None:
            continue
        topics = set(subscriptions[member].topics)
        for partition in set(claim.partitions):
            if partition.topic not in topics or not 0 <= partition.partition < counts.get(partition.topic, 0):
                continue
            generation, _ = best.get(partition, (claim.generation - 1, None))
            if claim.generation > generation:
                best[partition] = (claim.generation, member)
            elif claim.generation == generation:
                best[partition] = (generation, None)
    shares: Shares = {member: [] for member in in_order(subscriptions, subscriptions)}
    for partition in sorted(best):
        owner = best[partition][1]
        if owner is not None:
            shares[owner].append(partition)
    return shares


def _level(shares: Shares, free: list[TopicPartition], total: int, members: list[str]) -> None:
    """All members want the same: everyone keeps up to the quota, the rest goes to whoever has least."""
    if not members:
        return
    least, with_one_more = divmod(total, len(members))
    for member in sorted(members, key=lambda each: -len(shares[each])):
        share = shares[member]
        quota = least
        if len(share) > least and with_one_more:
            quota, with_one_more = least + 1, with_one_more - 1
        free += share[quota:]
        del share[quota:]
    _give_to_least(shares, sorted(free), members)


def _give_to_least(shares: Shares, free: Iterable[TopicPartition], members: list[str]) -> None:
    """Each partition to the member that has fewest then; among equals to the first."""
    heap = [(len(shares[member]), position, member) for position, member in enumerate(members)]
    heapq.heapify(heap)
    for partition in free:
        count, position, member = heap[0]
        shares[member].append(partition)
        heapq.heapreplace(heap, (count + 1, position, member))


def _deal(shares: Shares, free: list[TopicPartition], subscribers: Mapping[str, list[str]]) -> None:
    """Topics that few want come first, so that those who want many topics are not filled up before."""
    by_topic: dict[str, list[TopicPartition]] = {}
    for partition in free:
        by_topic.setdefault(partition.topic, []).append(partition)
    for topic in sorted(by_topic, key=lambda each: (len(subscribers[each]), each)):
        _give_to_least(shares, by_topic[topic], subscribers[topic])


def _move(shares: Shares, subscribers: Mapping[str, list[str]], claimed: Mapping[str, set[TopicPartition]]) -> None:
    """Moves single partitions to less loaded subscribers of their topic until none is left to move.

    Every move lessens the sum of squared loads, so it ends.
    """
    loads = {member: len(share) for member, share in shares.items()}
    moved = True
    while moved:
        moved = False
        for member in sorted(loads, key=lambda each: -loads[each]):
            while (step := _best_move(shares[member], loads[member], loads, subscribers, claimed, member)) is not None:
                partition, taker = step
                shares[member].remove(partition)
                shares[taker].append(partition)
                loads[member] -= 1
                loads[taker] += 1
                moved = True


def _best_move(
    share: list[TopicPartition],
    load: int,
    loads: Mapping[str, int],
    subscribers: Mapping[str, list[str]],
    claimed: Mapping[str, set[TopicPartition]],
    member: str,
) -> tuple[TopicPartition, str] | None:
    """A partition of a member and who takes it: the least loaded taker; the partition that costs least to move.

    Cheapest is what the taker had before, then what the member itself had not.
    """
    topics = {partition.topic for partition in share}
    takers = {topic: min(subscribers[topic], key=lambda each: (loads[each], each)) for topic in topics}
    least = min((loads[taker] for taker in takers.values()), default=load)
    if load <= least + 1:
        return None
    nothing: set[TopicPartition] = set()
    own = claimed.get(member, nothing)
    movable = [partition for partition in share if loads[takers[partition.topic]] == least]
    chosen = min(
        movable,
        key=lambda each: (each not in claimed.get(takers[each.topic], nothing), each in own, each),
    )
    return chosen, takers[chosen.topic]
