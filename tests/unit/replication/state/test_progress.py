"""What a leader learns from a follower's fetches."""

from kafka_py.base.ids import TopicPartition
from kafka_py.replication.state.progress import NEVER, UNKNOWN_OFFSET, FollowerProgress
from kafka_py.replication.state.reads import FetchEntry


def at(offset: int, log_start_offset: int = 0) -> FetchEntry:
    return FetchEntry(TopicPartition("t", 0), offset, 100, log_start_offset=log_start_offset)


class InSession(FetchEntry):
    """An entry of a session that was used at a moment the test sets."""

    used_ms = 0.0

    @property
    def last_asked_ms(self) -> float:
        return self.used_ms


def test_a_follower_that_reaches_the_log_end_is_caught_up_now() -> None:
    progress = FollowerProgress(2)
    progress.record_fetch(at(10, 0), leader_end_offset=10, now_ms=500)
    assert progress.last_caught_up_ms == 500
    assert progress.log_end_offset == 10


def test_a_follower_that_reaches_where_the_log_ended_at_its_last_fetch_was_caught_up_then() -> None:
    progress = FollowerProgress(2)
    progress.reset(0, 0, forget_offsets=True)
    progress.record_fetch(at(0, 0), leader_end_offset=100, now_ms=1000)
    progress.record_fetch(at(100, 0), leader_end_offset=250, now_ms=2000)
    assert progress.last_caught_up_ms == 1000


def test_a_follower_that_falls_behind_keeps_its_last_time() -> None:
    progress = FollowerProgress(2)
    progress.record_fetch(at(10, 0), leader_end_offset=10, now_ms=500)
    progress.record_fetch(at(11, 0), leader_end_offset=100, now_ms=1000)
    progress.record_fetch(at(50, 0), leader_end_offset=200, now_ms=9000)
    assert progress.last_caught_up_ms == 500


def test_a_newly_elected_leader_forgets_where_its_followers_were() -> None:
    progress = FollowerProgress(2)
    progress.record_fetch(at(10, 3), leader_end_offset=10, now_ms=500)
    progress.reset(NEVER, 20, forget_offsets=True)
    assert (progress.log_end_offset, progress.log_start_offset) == (UNKNOWN_OFFSET, UNKNOWN_OFFSET)
    assert progress.last_caught_up_ms == NEVER


def test_a_leader_that_stays_keeps_where_its_followers_were() -> None:
    progress = FollowerProgress(2)
    progress.record_fetch(at(10, 3), leader_end_offset=10, now_ms=500)
    progress.reset(700, 20, forget_offsets=False)
    assert (progress.log_end_offset, progress.last_caught_up_ms) == (10, 700)


def test_at_the_end_of_an_idle_partition_each_use_of_the_session_counts_as_caught_up() -> None:
    progress = FollowerProgress(2)
    entry = InSession(TopicPartition("t", 0), 10, 100)
    progress.record_fetch(entry, leader_end_offset=10, now_ms=500)
    entry.used_ms = 60_000
    assert progress.caught_up_ms() == 60_000


def test_a_follower_that_was_behind_when_it_was_read_last_is_not_saved_by_its_session() -> None:
    progress = FollowerProgress(2)
    entry = InSession(TopicPartition("t", 0), 10, 100)
    progress.record_fetch(entry, leader_end_offset=10, now_ms=500)
    progress.record_fetch(entry, leader_end_offset=20, now_ms=900)
    progress.record_fetch(entry, leader_end_offset=30, now_ms=1500)
    entry.used_ms = 60_000
    assert progress.caught_up_ms() == 500
