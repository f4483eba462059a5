"""What a leader learns from a follower's fetches."""

from kafka_py.replication.progress import NEVER, UNKNOWN_OFFSET, FollowerProgress


def test_a_follower_that_reaches_the_log_end_is_caught_up_now() -> None:
    progress = FollowerProgress(2)
    progress.record_fetch(10, 0, leader_end_offset=10, now_ms=500)
    assert progress.last_caught_up_ms == 500
    assert progress.log_end_offset == 10


def test_a_follower_that_reaches_where_the_log_ended_at_its_last_fetch_was_caught_up_then() -> None:
    progress = FollowerProgress(2)
    progress.reset(0, 0, forget_offsets=True)
    progress.record_fetch(0, 0, leader_end_offset=100, now_ms=1000)
    progress.record_fetch(100, 0, leader_end_offset=250, now_ms=2000)
    assert progress.last_caught_up_ms == 1000


def test_a_follower_that_falls_behind_keeps_its_last_time() -> None:
    progress = FollowerProgress(2)
    progress.record_fetch(10, 0, leader_end_offset=10, now_ms=500)
    progress.record_fetch(11, 0, leader_end_offset=100, now_ms=1000)
    progress.record_fetch(50, 0, leader_end_offset=200, now_ms=9000)
    assert progress.last_caught_up_ms == 500


def test_a_newly_elected_leader_forgets_where_its_followers_were() -> None:
    progress = FollowerProgress(2)
    progress.record_fetch(10, 3, leader_end_offset=10, now_ms=500)
    progress.reset(NEVER, 20, forget_offsets=True)
    assert (progress.log_end_offset, progress.log_start_offset) == (UNKNOWN_OFFSET, UNKNOWN_OFFSET)
    assert progress.last_caught_up_ms == NEVER


def test_a_leader_that_stays_keeps_where_its_followers_were() -> None:
    progress = FollowerProgress(2)
    progress.record_fetch(10, 3, leader_end_offset=10, now_ms=500)
    progress.reset(700, 20, forget_offsets=False)
    assert (progress.log_end_offset, progress.last_caught_up_ms) == (10, 700)
