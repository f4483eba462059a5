"""Fetch sessions name only what changed (KIP-227)."""

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.fetching.fetch_sessions import ConsumerFetchSession, PartitionFetch

A, B, C = (TopicPartition("t", number) for number in range(3))
NAMED = {"a": A, "b": B, "c": C}


def want(offset: int) -> PartitionFetch:
    return PartitionFetch(offset, 1000, 0)


def wanting(**offsets: int) -> ConsumerFetchSession:
    session = ConsumerFetchSession()
    for name, offset in offsets.items():
        session.want(NAMED[name], want(offset))
    return session


def test_the_first_request_names_all_and_the_next_ones_what_changed() -> None:
    session = wanting(a=0, b=0)
    first = session.build()
    assert (first.session_id, first.epoch, set(first.send)) == (0, 0, {A, B})
    session.succeeded(9)
    session.want(A, want(5))
    session.want(C, want(0))
    session.drop(B)
    second = session.build()
    assert (second.session_id, second.epoch) == (9, 1)
    assert second.send == {A: want(5), C: want(0)}
    assert second.forget == [B]
    session.succeeded(9)
    session.want(A, want(5))
    third = session.build()
    assert (third.epoch, third.send, third.forget) == (2, {}, [])


def test_without_a_session_every_request_names_all() -> None:
    session = wanting(a=0)
    for _ in range(2):
        request = session.build()
        assert (request.session_id, request.epoch, set(request.send)) == (0, 0, {A})
        session.succeeded(0)


def test_a_lost_session_begins_anew() -> None:
    session = wanting(a=0)
    session.build()
    session.succeeded(9)
    session.build()
    session.failed(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    request = session.build()
    assert (request.session_id, request.epoch, set(request.send)) == (0, 0, {A})


def test_after_a_broken_request_the_session_is_replaced_by_a_full_one() -> None:
    session = wanting(a=0)
    session.build()
    session.succeeded(9)
    session.failed(ErrorCode.NETWORK_EXCEPTION)
    request = session.build()
    assert (request.session_id, request.epoch, set(request.send)) == (9, 0, {A})


def test_the_epoch_goes_on_at_one_after_the_largest() -> None:
    session = wanting(a=0)
    session.build()
    session.succeeded(9)
    session.epoch = 0x7FFFFFFF
    session.succeeded(9)
    assert session.epoch == 1


def test_what_was_dropped_and_is_wanted_again_as_before_is_not_named() -> None:
    session = wanting(a=0, b=0)
    session.build()
    session.succeeded(9)
    session.drop(A)
    session.want(A, want(0))
    session.want(C, want(0))
    session.drop(C)
    request = session.build()
    assert (request.send, request.forget) == ({}, [])
    assert session.asked == {A: want(0), B: want(0)}


def test_a_change_while_a_request_is_under_way_is_named_by_the_next_one() -> None:
    session = wanting(a=0)
    session.build()
    session.want(A, want(3))
    assert session.asked == {A: want(0)}
    session.succeeded(9)
    assert session.build().send == {A: want(3)}


def test_a_full_request_begins_with_what_has_waited_longest() -> None:
    """A broker fills an answer in the order of the request: what was answered last is served last."""
    session = wanting(a=0, b=0, c=0)
    session.build()
    session.succeeded(0)
    session.want(A, want(5))
    assert list(session.build().send) == [B, C, A]
