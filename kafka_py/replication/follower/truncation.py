"""Where a follower truncates its log after a change of leader (KIP-101, KIP-279, KIP-595).

Pure: knows epochs and offsets, nothing of files or sockets. leader_comparison.py sends the requests.
Source: docs/reference/replication.md, section 8; OffsetTruncationState.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kafka_py.log.state.epochs import EpochEnd

NOT_KNOWN = -1


class Truncation(NamedTuple):
    """The offset to truncate to (exclusive).

    complete: whether fetching may continue from there; if not, the end of the new latest epoch has to be requested.
    """

    offset: int
    complete: bool


class FollowerLog(NamedTuple):
    """The offsets of a follower's log.

    end_offset: of the log (exclusive). high_watermark: as it was when following began. end_of_epoch: returns the end
    of an epoch in this log; (-1, -1) when not known.
    """

    end_offset: int
    high_watermark: int
    end_of_epoch: Callable[[int], EpochEnd]


def truncation_for(leader_end: EpochEnd, own: FollowerLog) -> Truncation:
    """Where to truncate, given the leader's end of the follower's latest epoch.

    leader_end: the leader's largest epoch that is not above the follower's latest one, and its end offset (exclusive);
        end offset -1 when it knows none; epoch -1 from version 0 of OffsetForLeaderEpoch, which has no epoch.
    """
    if leader_end.end_offset == NOT_KNOWN:
        return Truncation(own.high_watermark, True)
    if leader_end.epoch == NOT_KNOWN:
        return Truncation(min(leader_end.end_offset, own.end_offset), True)
    known = own.end_of_epoch(leader_end.epoch)
    if known.end_offset == NOT_KNOWN:
        return Truncation(min(leader_end.end_offset, own.end_offset), True)
    if known.epoch != leader_end.epoch:
        # The follower lacks the leader's epoch: the logs diverge at or before the end of its next older one.
        return Truncation(min(known.end_offset, own.end_offset), False)
    return Truncation(min(known.end_offset, leader_end.end_offset, own.end_offset), True)


class OutOfRange(NamedTuple):
    """How a follower continues whose fetch offset the leader does not have.

    truncate_to: offset to truncate to (exclusive); None to keep the log. restart: whether to delete all records and
    start at the leader's log start offset. fetch_offset: of the next fetch.
    """

    fetch_offset: int
    truncate_to: int | None = None
    restart: bool = False


def after_out_of_range(own_end: int, leader_end: int, leader_start: int | None) -> OutOfRange | None:
    """How to handle OFFSET_OUT_OF_RANGE; None if `leader_start` has to be requested first.

    The leader's log may be shorter than the follower's (after an unclean election), or start above the follower's end
    (if the follower was down for long).
    """
    if leader_end < own_end:
        return OutOfRange(leader_end, truncate_to=leader_end)
    if leader_start is None:
        return None
    if leader_start > own_end:
        return OutOfRange(leader_start, restart=True)
    return OutOfRange(own_end)
