"""What all admin calls share: the search for the controller, retries of items and of whole calls, and their end."""

from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.clients import ClientTimeout, IllegalState, NewTopic
from kafka_py.clients.admin.core import error_of
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from kafka_py.wire.messages.metadata import MetadataRequest

NEW = [NewTopic("a", 1, 1), NewTopic("b", 1, 1)]


def answered(*codes_of_calls: dict[str, ErrorCode]) -> Any:
    """An answer of CreateTopics for each call, by topic; the last one stands for all later calls."""
    calls = list(codes_of_calls)

    def answer(request: CreateTopicsRequest) -> CreateTopicsResponse:
        codes = calls.pop(0) if len(calls) > 1 else calls[0]
        return CreateTopicsResponse(
            topics=[
                CreatableTopicResult(name=topic.name, error_code=codes[topic.name])
                for topic in request.topics
                if topic.name in codes
            ]
        )

    return answer


def test_only_items_that_met_a_passing_error_are_asked_for_again(world: Any) -> None:
    world.cluster.answers[ApiKey.CREATE_TOPICS] = answered(
        {"a": ErrorCode.NONE, "b": ErrorCode.THROTTLING_QUOTA_EXCEEDED}, {"b": ErrorCode.NONE}
    )
    results = world.ask(lambda admin: admin.create_topics(NEW))
    assert results.errors() == {}
    names = [[topic.name for topic in request.topics] for _, request in world.asked(CreateTopicsRequest)]
    assert names == [["a", "b"], ["b"]]


def test_another_controller_is_looked_for_when_the_one_asked_is_not_it(world: Any) -> None:
    def answer(request: CreateTopicsRequest) -> Any:
        right = world.asked(CreateTopicsRequest)[-1][0] == 1
        world.cluster.controller_id = 1
        code = ErrorCode.NONE if right else ErrorCode.NOT_CONTROLLER
        return answered({"a": code, "b": code})(request)

    world.cluster.controller_id = 0
    world.cluster.answers[ApiKey.CREATE_TOPICS] = answer
    world.ask(lambda admin: admin.create_topics(NEW)).all()
    assert [node_id for node_id, _ in world.asked(CreateTopicsRequest)] == [0, 1]


def test_an_item_keeps_its_last_error_when_the_time_is_over(world: Any) -> None:
    code = ErrorCode.THROTTLING_QUOTA_EXCEEDED
    world.cluster.answers[ApiKey.CREATE_TOPICS] = answered({"a": code, "b": ErrorCode.NONE})
    results = world.ask(lambda admin: admin.create_topics(NEW, timeout=0.95), retry_backoff_ms=100)
    assert {name: error.code for name, error in results.errors().items()} == {"a": code}
    assert len(world.asked(CreateTopicsRequest)) == 10


def test_a_throttle_time_longer_than_the_call_does_not_outlast_it(world: Any) -> None:
    """A single large topic may cost an hour's worth of permits: the call ends in its own time, and says why."""
    code = ErrorCode.THROTTLING_QUOTA_EXCEEDED

    def answer(request: CreateTopicsRequest) -> CreateTopicsResponse:
        response: CreateTopicsResponse = answered({"a": code, "b": code})(request)
        response.throttle_time_ms = 3_600_000
        return response

    world.cluster.answers[ApiKey.CREATE_TOPICS] = answer
    results = world.ask(lambda admin: admin.create_topics(NEW, timeout=65.0))
    assert {name: error.code for name, error in results.errors().items()} == {"a": code, "b": code}
    assert len(world.asked(CreateTopicsRequest)) == 1


def test_the_number_of_retries_is_a_setting(world: Any) -> None:
    world.cluster.answers[ApiKey.CREATE_TOPICS] = answered(dict.fromkeys("ab", ErrorCode.THROTTLING_QUOTA_EXCEEDED))
    assert set(world.ask(lambda admin: admin.create_topics(NEW), retries=2).errors()) == {"a", "b"}
    assert len(world.asked(CreateTopicsRequest)) == 3


def test_an_item_that_the_answer_leaves_out_is_an_error(world: Any) -> None:
    world.cluster.answers[ApiKey.CREATE_TOPICS] = answered({"a": ErrorCode.NONE})
    [(name, error)] = world.ask(lambda admin: admin.create_topics(NEW)).errors().items()
    assert (name, error.code) == ("b", ErrorCode.UNKNOWN_SERVER_ERROR)


def test_a_call_that_reaches_no_broker_is_made_again_until_its_time_is_over(world: Any) -> None:
    world.cluster.down = {0, 1}
    with pytest.raises(ClientTimeout, match="no broker was reachable in time"):
        world.ask(lambda admin: admin.list_topics(timeout=2.0))
    assert world.asked(MetadataRequest) == []


def test_a_closed_client_refuses_calls(world: Any) -> None:
    async def closed(admin: Any) -> None:
        await admin.close()
        await admin.list_topics()

    with pytest.raises(IllegalState, match="closed"):
        world.ask(closed)


def test_the_error_of_an_item_says_what_it_is_about() -> None:
    assert error_of(0, "text") is None
    said, known = error_of(36, "the broker's words", "t"), error_of(36, None, "t")
    assert said is not None
    assert (said.code, said.detail) == (ErrorCode.TOPIC_ALREADY_EXISTS, "the broker's words")
    assert known is not None
    assert known.detail == f"t: {ErrorCode.TOPIC_ALREADY_EXISTS.meaning}"
