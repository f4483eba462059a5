"""The high watermark of a partition, computed from its leader's state of the replicas.

Pure; times are monotonic milliseconds. Source: docs/reference/replication.md, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from kafka_py.replication.state.progress import FollowerProgress


def committed_end(
    own_end: int, followers: Mapping[int, FollowerProgress], maximal: Set[int], now_ms: float, lag_max_ms: float
) -> int:
    """The smallest log end offset of the replicas that count; the high watermark may rise to it, and never falls.

    The replicas that count: the leader, the maximal in-sync set, and any follower that was caught up within
    `lag_max_ms`, for it may be about to join. own_end: the leader's log end offset, as far as it is flushed where
    flush.messages asks for that.
    """
    end = own_end
    for broker_id, progress in followers.items():
        if progress.log_end_offset < end and (
            broker_id in maximal or now_ms - progress.last_caught_up_ms <= lag_max_ms
        ):
            end = progress.log_end_offset
    return end
