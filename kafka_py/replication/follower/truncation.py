"""Where a follower cuts its log after a change of leader (KIP-101, KIP-279, KIP-595).

Pure: knows epochs and offsets, nothing of files or sockets. The loop that asks is fetcher.py.
Source: docs/reference/replication.md, section 8.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kafka_py.replication.state.reads import EpochEnd

NOT_KNOWN = -1


class Cut(NamedTuple):
    """Where the log is to end now (exclusive).

    complete: whether fetching may go on from there; if not, the leader is asked again with the new latest epoch.
    """

    offset: int
    complete: bool


class OwnLog(NamedTuple):
    """What the rule needs of the follower's log.

    high_watermark: as it was when following began. end_of_epoch: where an epoch ends here; (-1, -1) when not known.
    """

    end_offset: int
    high_watermark: int
    end_of_epoch: Callable[[int], EpochEnd]


def cut_after(answer: EpochEnd, own: OwnLog) -> Cut:
    """Where to cut after the leader has said where our latest epoch ends in its log.

    answer: the largest epoch of the leader that is not above ours, and its end; end -1 when it knows none; epoch -1
        from a leader that speaks the first version of the protocol and names no epoch.
    """
    if answer.end_offset == NOT_KNOWN:
        return Cut(own.high_watermark, True)
    if answer.epoch == NOT_KNOWN:
        return Cut(min(answer.end_offset, own.end_offset), True)
    known = own.end_of_epoch(answer.epoch)
    if known.end_offset == NOT_KNOWN:
        return Cut(min(answer.end_offset, own.end_offset), True)
    if known.epoch != answer.epoch:
        # We lack the leader's epoch: the logs part before it began, at the latest where our next older one ends.
        return Cut(min(known.end_offset, own.end_offset), False)
    return Cut(min(known.end_offset, answer.end_offset, own.end_offset), True)


class OutOfRange(NamedTuple):
    """How a follower whose fetch offset the leader does not hold goes on.

    truncate_to: cut the log there; None to keep it. restart: delete everything and begin at the leader's start.
    fetch_offset: where to fetch from then.
    """

    fetch_offset: int
    truncate_to: int | None = None
    restart: bool = False


def after_out_of_range(own_end: int, leader_end: int, leader_start: int | None) -> OutOfRange | None:
    """What to do about OFFSET_OUT_OF_RANGE; None while `leader_start` has to be asked first.

    The leader's log may be shorter than ours (an unclean election), or begin only after our end (we were away long).
    """
    if leader_end < own_end:
        return OutOfRange(leader_end, truncate_to=leader_end)
    if leader_start is None:
        return None
    if leader_start > own_end:
        return OutOfRange(leader_start, restart=True)
    return OutOfRange(own_end)
