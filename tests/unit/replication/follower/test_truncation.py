"""Where a follower cuts its log (KIP-101, KIP-279), and how it goes on when its offset is out of range."""

import pytest

from kafka_py.log.state.epochs import EpochEnd, EpochStart, LeaderEpochs
from kafka_py.replication.follower.truncation import (
    FollowerLog,
    OutOfRange,
    Truncation,
    after_out_of_range,
    truncation_for,
)


def own(*epochs: tuple[int, int], end: int, high_watermark: int = 0) -> FollowerLog:
    """A log with (epoch, first offset) pairs that ends at `end`."""
    held = LeaderEpochs([EpochStart(*each) for each in epochs])
    return FollowerLog(end, high_watermark, lambda epoch: EpochEnd(*held.end_offset_for(epoch, end)))


@pytest.mark.parametrize(
    ("answer", "log", "cut"),
    [
        # The leader knows nothing of our epoch or an older one: back to the high watermark.
        ((-1, -1), own((3, 0), end=20, high_watermark=12), Truncation(12, True)),
        # A leader of the first protocol version names no epoch.
        ((-1, 15), own((3, 0), end=20), Truncation(15, True)),
        ((-1, 30), own((3, 0), end=20), Truncation(20, True)),
        # Same epoch: to where it ends with the leader, if that is before our end.
        ((3, 15), own((3, 0), end=20), Truncation(15, True)),
        ((3, 30), own((3, 0), end=20), Truncation(20, True)),
        # The leader's epoch is not our latest, but we have it: where it ended here or there, whichever is first.
        ((2, 15), own((2, 0), (3, 10), end=20), Truncation(10, True)),
        ((2, 8), own((2, 0), (3, 10), end=20), Truncation(8, True)),
        # We never saw that epoch: cut to the end of our next older one and ask again (KIP-279).
        ((2, 15), own((1, 0), (3, 10), end=20), Truncation(10, False)),
        ((4, 15), own((1, 0), (5, 12), end=20), Truncation(12, False)),
        # Newer than all we know: the leader's end must do.
        ((7, 15), own((3, 0), end=20), Truncation(15, True)),
        ((7, 25), own((3, 0), end=20), Truncation(20, True)),
        # Older than all we know: nothing of it is here, so all goes that came after it.
        ((1, 15), own((2, 5), (3, 10), end=20), Truncation(5, True)),
    ],
)
def test_the_cut(answer: tuple[int, int], log: FollowerLog, cut: Truncation) -> None:
    assert truncation_for(EpochEnd(*answer), log) == cut


def test_w8_8_an_epoch_that_ends_where_our_log_does_cuts_nothing() -> None:
    """W8.8: A asks with epoch 0 and gets 2, its own end: m2 stays though the high watermark is 1."""
    assert truncation_for(EpochEnd(0, 2), own((0, 0), end=2, high_watermark=1)) == Truncation(2, True)


def test_w8_9_an_epoch_that_ended_earlier_at_the_leader_cuts_there() -> None:
    """W8.9: the leader wrote m3 at offset 1 in epoch 1; A asks with epoch 0, gets 1 and cuts m2."""
    assert truncation_for(EpochEnd(0, 1), own((0, 0), end=2, high_watermark=2)) == Truncation(1, True)


@pytest.mark.parametrize(
    ("own_end", "leader_end", "leader_start", "decision"),
    [
        (20, 15, None, OutOfRange(15, truncate_to=15)),  # the leader's log is shorter: an unclean election
        (20, 40, None, None),
        (20, 40, 30, OutOfRange(30, restart=True)),  # we were away for longer than the leader keeps records
        (20, 40, 10, OutOfRange(20)),
        (20, 40, 20, OutOfRange(20)),
        (20, 20, 0, OutOfRange(20)),
    ],
)
def test_out_of_range(own_end: int, leader_end: int, leader_start: int | None, decision: OutOfRange | None) -> None:
    assert after_out_of_range(own_end, leader_end, leader_start) == decision
