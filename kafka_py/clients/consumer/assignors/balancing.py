"""The sticky algorithm: the assignment is balanced first, then as close as possible to the previous one (KIP-54).

Balanced: no partition could move to a member that subscribes to its topic and has at least two fewer than its owner.
If all members subscribe to the same topics, their shares differ by at most one. Pure, over plain values.

If several members claim a partition, the claim of the latest generation counts (KIP-341). Claims of the same generation
contradict each other, so none of them counts.
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


class MemberData(NamedTuple):
    """The previous assignment that a member claims, and its generation."""

    partitions: Sequence[TopicPartition]
    generation: int = UNKNOWN_GENERATION


Shares = dict[str, list[TopicPartition]]


def balance(
    counts: Mapping[str, int], subscriptions: Mapping[str, Subscription], claims: Mapping[str, MemberData]
) -> Shares:
    """The partitions of each member.

    counts: number of partitions by topic, for topics that exist. claims: by member; claims of unknown members, and of
        partitions of topics that the member no longer subscribes to, are ignored.
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
    counts: Mapping[str, int], subscriptions: Mapping[str, Subscription], claims: Mapping[str, MemberData]
) -> Shares:
    """The partitions that each member may keep, in order of members and partitions."""
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
    """Balances members with equal subscriptions: each keeps up to its quota, the least loaded get the rest."""
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
    """Assigns each partition to the member with the fewest partitions; among equals to the first."""
    heap = [(len(shares[member]), position, member) for position, member in enumerate(members)]
    heapq.heapify(heap)
    for partition in free:
        count, position, member = heap[0]
        shares[member].append(partition)
        heapq.heapreplace(heap, (count + 1, position, member))


def _deal(shares: Shares, free: list[TopicPartition], subscribers: Mapping[str, list[str]]) -> None:
    """Assigns free partitions, topics with few subscribers first, before members with many topics are full."""
    by_topic: dict[str, list[TopicPartition]] = {}
    for partition in free:
        by_topic.setdefault(partition.topic, []).append(partition)
    for topic in sorted(by_topic, key=lambda each: (len(subscribers[each]), each)):
        _give_to_least(shares, by_topic[topic], subscribers[topic])


class _Loads:
    """The number of partitions of every member, and the least loaded subscriber of each topic."""

    def __init__(self, shares: Shares, subscribers: Mapping[str, list[str]]) -> None:
        self.of = {member: len(share) for member, share in shares.items()}
        self._heaps = {
            topic: [(self.of[member], member) for member in members] for topic, members in subscribers.items()
        }
        self._topics: dict[str, list[str]] = {}
        for topic, members in subscribers.items():
            heapq.heapify(self._heaps[topic])
            for member in members:
                self._topics.setdefault(member, []).append(topic)

    def least(self, topic: str) -> tuple[int, str] | None:
        """(load, member) of the least loaded subscriber; None while the only one is being unloaded."""
        heap = self._heaps[topic]
        while heap and heap[0][0] != self.of[heap[0][1]]:
            load, member = heap[0]
            if load < self.of[member]:
                heapq.heapreplace(heap, (self.of[member], member))
            else:
                heapq.heappop(heap)  # `relieved` puts it back
        return heap[0] if heap else None

    def relieved(self, member: str) -> None:
        """Updates the load of a member whose partitions were moved."""
        for topic in self._topics.get(member, ()):
            heapq.heappush(self._heaps[topic], (self.of[member], member))


def _move(shares: Shares, subscribers: Mapping[str, list[str]], claimed: Mapping[str, set[TopicPartition]]) -> None:
    """Moves single partitions to less loaded subscribers of their topic until none is left to move.

    Every move reduces the sum of squared loads, so it terminates.
    """
    loads = _Loads(shares, subscribers)
    moved = True
    while moved:
        moved = False
        for member in sorted(loads.of, key=lambda each: -loads.of[each]):
            given = _relieve(member, shares, loads, claimed.get(member, set()))
            if given:
                shares[member] = [partition for partition in shares[member] if partition not in given]
                loads.relieved(member)
                moved = True


def _relieve(member: str, shares: Shares, loads: _Loads, claimed: set[TopicPartition]) -> set[TopicPartition]:
    """Moves partitions of a member to members with at least two fewer, first those that it did not claim."""
    by_topic: dict[str, list[TopicPartition]] = {}
    for partition in sorted(shares[member], key=lambda each: (each in claimed, each), reverse=True):
        by_topic.setdefault(partition.topic, []).append(partition)
    given: set[TopicPartition] = set()
    while by_topic:
        takers = [(*least, topic) for topic in by_topic if (least := loads.least(topic)) is not None]
        if not takers or min(takers)[0] + 1 >= loads.of[member]:
            break
        _, taker, topic = min(takers)
        partition = by_topic[topic].pop()
        if not by_topic[topic]:
            del by_topic[topic]
        given.add(partition)
        shares[taker].append(partition)
        loads.of[taker] += 1
        loads.of[member] -= 1
    return given
