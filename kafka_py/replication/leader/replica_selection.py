"""From which replica a consumer best reads (KIP-392): one in its own rack, if it holds what is asked for.

Pure. Source: docs/reference/replication.md, section 11; KIP-392.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from kafka_py.replication.state.partition import Partition

RACK_AWARE = "RackAwareReplicaSelector"
"""The last part of replica.selector.class that asks for it; any other means the leader."""


class Candidate(NamedTuple):
    """A replica that holds the offset asked for. caught_up_ms: when it last had all there was, monotonic."""

    broker_id: int
    rack: str | None
    log_end_offset: int
    caught_up_ms: float


def choose(rack: str, leader: Candidate, followers: Iterable[Candidate]) -> int:
    """The broker to read from: the leader unless only others are in the consumer's rack, then the one furthest on."""
    if not rack or leader.rack == rack:
        return leader.broker_id
    near = [one for one in followers if one.rack == rack]
    if not near:
        return leader.broker_id
    return max(near, key=lambda one: (one.log_end_offset, one.caught_up_ms, one.broker_id)).broker_id


class RackAware:
    """Chooses for consumers of the partitions that this broker leads. rack_of: of a live broker, None if not alive."""

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
