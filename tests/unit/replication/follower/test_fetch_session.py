"""What a follower says in its fetches: everything once, then only what changed (KIP-227)."""

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.replication.follower.fetch_session import FollowerFetchSession, SessionFields
from kafka_py.wire.fetch_epochs import MAX_EPOCH
from kafka_py.wire.messages.fetch import FetchPartition


class One:
    def __init__(self, partition: int, offset: int = 0) -> None:
        self.topic_partition = TopicPartition("t", partition)
        self.offset = offset

    def as_request(self) -> FetchPartition:
        return FetchPartition(
            partition=self.topic_partition.partition, fetch_offset=self.offset, partition_max_bytes=1
        )


def named(request: SessionFields) -> list[int]:
    return [one.partition for topic in request.topics for one in topic.partitions]


def opened(*partitions: int) -> FollowerFetchSession:
    session = FollowerFetchSession(sessions=True)
    for partition in partitions:
        session.put(One(partition))
    assert session.next_request()[:2] == (0, 0)
    assert session.answered(0, 77)
    return session


def test_after_the_full_request_only_changes_are_named() -> None:
    session = opened(0, 1, 2)
    assert session.next_request() == SessionFields(77, 1, [], [])
    session.answered(0, 77)
    session.put(One(1, offset=5))
    request = session.next_request()
    assert (request.session_epoch, named(request)) == (2, [1])


def test_what_is_not_wanted_any_more_is_forgotten_once() -> None:
    session = opened(0, 1)
    session.remove(TopicPartition("t", 0))
    assert [one.partitions for one in session.next_request().forgotten] == [[0]]
    session.answered(0, 77)
    assert session.next_request().forgotten == []


def test_forgotten_and_wanted_again_is_a_change() -> None:
    session = opened(0)
    session.remove(TopicPartition("t", 0))
    again = One(0, offset=9)
    session.put(again)
    request = session.next_request()
    assert (named(request), request.forgotten) == ([0], [])
    assert session.sent[again.topic_partition] is again


def test_what_was_not_heeded_is_forgotten_first_and_named_afterwards() -> None:
    """Else the leader, which takes its high watermark for delivered, would not say it again: in a simulated run a
    follower stayed one record behind until the next one came."""
    session = opened(0, 1)
    session.remove(TopicPartition("t", 0))
    session.put(One(0, offset=9))
    session.note_discarded(TopicPartition("t", 0))
    request = session.next_request()
    assert (named(request), [one.partitions for one in request.forgotten]) == ([], [[0]])
    assert session.has_changes
    session.answered(0, 77)
    request = session.next_request()
    assert (named(request), request.forgotten) == ([0], [])
    assert not session.has_changes
    session.answered(0, 77)
    assert session.next_request()[2:] == ([], [])


def test_what_the_leader_never_heard_of_needs_no_forgetting() -> None:
    session = opened(0)
    session.put(One(1))
    session.remove(TopicPartition("t", 1))
    assert session.next_request() == SessionFields(77, 1, [], [])


def test_a_session_that_is_gone_is_begun_anew() -> None:
    session = opened(0, 1)
    session.next_request()
    assert not session.answered(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0)
    request = session.next_request()
    assert (request.session_id, request.session_epoch, named(request)) == (0, 0, [0, 1])


def test_a_session_that_went_wrong_is_closed_by_the_next_full_request() -> None:
    session = opened(0)
    session.next_request()
    assert not session.answered(ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0)
    assert session.next_request()[:2] == (77, 0)
    session.failed()
    assert session.next_request()[:2] == (77, 0)


def test_a_leader_without_room_gets_full_requests() -> None:
    session = FollowerFetchSession(sessions=True)
    session.put(One(0))
    session.next_request()
    assert session.answered(0, 0)
    request = session.next_request()
    assert (request.session_epoch, named(request)) == (0, [0])


def test_old_versions_have_no_sessions() -> None:
    session = FollowerFetchSession(sessions=False)
    session.put(One(0))
    for _ in range(2):
        request = session.next_request()
        assert (request.session_id, request.session_epoch, named(request)) == (0, -1, [0])
        assert session.answered(0, 0)


def test_epochs_begin_again_at_one() -> None:
    session = opened(0)
    session._epoch = MAX_EPOCH
    session.next_request()
    session.answered(0, 77)
    assert session.next_request().session_epoch == 1
