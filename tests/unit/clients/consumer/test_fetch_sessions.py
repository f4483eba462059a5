"""Fetch sessions name only what changed (KIP-227)."""

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.fetch_sessions import FetchSession, Wanted

A, B, C = (TopicPartition("t", number) for number in range(3))


def want(offset: int) -> Wanted:
    return Wanted(offset, 1000, 0)


def test_the_first_request_names_all_and_the_next_ones_what_changed() -> None:
    session = FetchSession()
    first = session.build({A: want(0), B: want(0)})
    assert (first.session_id, first.epoch, set(first.send)) == (0, 0, {A, B})
    session.succeeded(9)
    second = session.build({A: want(5), C: want(0)})
    assert (second.session_id, second.epoch) == (9, 1)
    assert second.send == {A: want(5), C: want(0)}
    assert second.forget == [B]
    session.succeeded(9)
    third = session.build({A: want(5), C: want(0)})
    assert (third.epoch, third.send, third.forget) == (2, {}, [])


def test_without_a_session_every_request_names_all() -> None:
    session = FetchSession()
    for _ in range(2):
        request = session.build({A: want(0)})
        assert (request.session_id, request.epoch, set(request.send)) == (0, 0, {A})
        session.succeeded(0)


def test_a_lost_session_begins_anew() -> None:
    session = FetchSession()
    session.build({A: want(0)})
    session.succeeded(9)
    session.build({A: want(0)})
    session.failed(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    request = session.build({A: want(0)})
    assert (request.session_id, request.epoch, set(request.send)) == (0, 0, {A})


def test_after_a_broken_request_the_session_is_replaced_by_a_full_one() -> None:
    session = FetchSession()
    session.build({A: want(0)})
    session.succeeded(9)
    session.failed(ErrorCode.NETWORK_EXCEPTION)
    request = session.build({A: want(0)})
    assert (request.session_id, request.epoch, set(request.send)) == (9, 0, {A})


def test_the_epoch_goes_on_at_one_after_the_largest() -> None:
    session = FetchSession()
    session.build({A: want(0)})
    session.succeeded(9)
    session.epoch = 0x7FFFFFFF
    session.succeeded(9)
    assert session.epoch == 1
