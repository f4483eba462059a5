"""Selects the replica that a consumer reads from (KIP-392): one in its rack that has the fetch offset, if possible.

Pure. Source: docs/reference/replication.md, section 11; KIP-392.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from kafka_py.replication.state.partition import Partition

RACK_AWARE = "RackAwareReplicaSelector"
"""The last part of replica.selector.class for rack-aware selection; any other class means the leader."""


class Candidate(NamedTuple):
    """A replica that has the fetch offset. caught_up_ms: when it was last caught up, monotonic."""

    broker_id: int
    rack: str | None
    log_end_offset: int
    caught_up_ms: float


def choose(rack: str, leader: Candidate, followers: Iterable[Candidate]) -> int:
    """The broker to read from: a follower in the consumer's rack if the leader is not, with the highest end offset."""
    if not rack or leader.rack == rack:
        return leader.broker_id
    near = [one for one in followers if one.rack == rack]
    if not near:
        return leader.broker_id
    return max(near, key=lambda one: (one.log_end_offset, one.caught_up_ms, one.broker_id)).broker_id


class RackAware:
    """Selects replicas of the partitions that this broker leads. rack_of: the rack of a live broker, else None."""

    def __init__(self, rack_of: Callable[[int], str | None]) -> None:
        self._rack_of = rack_of

    def __call__(self, partition: Partition, offset: int, rack: str) -> int:
        """The broker to read from."""
        log = partition.log
        if log is None or not rack:
            return partition.local_id
        me = Candidate(partition.local_id, self._rack_of(partition.local_id), log.log_end_offset, float("inf"))
        others = (
            Candidate(one.broker_id, self._rack_of(one.broker_id), one.log_end_offset, one.caught_up_ms())
            for one in partition.followers.values()
            if one.log_start_offset <= offset <= one.log_end_offset
        )
        return choose(rack, me, others)
