"""A produce request of very many partitions is taken in pieces, and answered once, in its own order."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.broker.requests.large_produce import PIECE, in_pieces, pieces
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.net.principal import ANONYMOUS
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.local_broker import LocalBroker, batch, on_broker
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.frames import RequestHeader
from kafka_py.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

PARTITIONS, TIMES = 20, 60
"""A request names each partition so many times: it has more elements than are decoded at once."""


def request_of(sizes: list[int], *, acks: int = 1, records: Any = None) -> ProduceRequest:
    return ProduceRequest(
        acks=acks,
        timeout_ms=1000,
        topic_data=[
            TopicProduceData(
                name=f"t{number}", partition_data=[PartitionProduceData(index=k, records=records) for k in range(size)]
            )
            for number, size in enumerate(sizes)
        ],
    )


def named(data: Any) -> list[tuple[str, int]]:
    return [(topic.name, row.index) for topic in data.topic_data for row in topic.partition_data]


def test_a_request_without_partitions_is_one_piece() -> None:
    assert [named(part) for part in pieces(request_of([0] * 300))] == [[]]


@pytest.mark.parametrize("sizes", [[1000], [1] * 500, [PIECE, PIECE], [PIECE - 1, 2, PIECE + 1], []])
def test_the_pieces_are_the_request_in_its_order(sizes: list[int]) -> None:
    request = request_of(sizes)
    parts = list(pieces(request))
    assert all(len(named(part)) <= PIECE for part in parts)
    assert [where for part in parts for where in named(part)] == named(request)


class Scenario:
    """A handler of pieces that answers when it is told to."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.taken: list[tuple[RequestContext, ProduceRequest]] = []
        self.unmuted_after: list[int] = []
        connection: Any = SimpleNamespace(
            read_s=0.0, principal=ANONYMOUS, peer_host="127.0.0.1",
            unmute=lambda: self.unmuted_after.append(len(self.taken)),
        )  # fmt: skip
        metrics: Any = None
        self.context = RequestContext(
            connection, 0, APIS[ApiKey.PRODUCE], RequestHeader(ApiKey.PRODUCE, 8, 1, "c"), 10_000, metrics,
            lambda _, answer: self.sent.append(answer),
        )  # fmt: skip

    def run(self, request: ProduceRequest, check: Callable[[], None] | None = None) -> None:
        self.context.large_request = request
        node: Any = SimpleNamespace(clock=ManualClock())

        def handle(_node: Any, context: RequestContext, piece: ProduceRequest) -> None:
            assert context.large_request is None
            self.taken.append((context, piece))

        needs_check = lambda _: check is not None  # noqa: E731
        asyncio.run(in_pieces(node, self.context, request, handle, needs_check, check))  # type: ignore[arg-type]

    def answer(self, place: int) -> None:
        context, piece = self.taken[place]
        rows = [
            TopicProduceResponse(
                name=topic.name,
                partition_responses=[
                    PartitionProduceResponse(index=row.index, error_code=0, base_offset=place)
                    for row in topic.partition_data
                ],
            )
            for topic in piece.topic_data
        ]
        context.answer(ProduceResponse(responses=rows) if piece.acks else None)


def test_the_answer_comes_with_the_last_piece_and_names_each_topic_once() -> None:
    scenario = Scenario()
    scenario.run(request_of([100, 1, 30]))
    assert len(scenario.taken) == 5
    for place in (4, 0, 2, 1):
        scenario.answer(place)
    assert scenario.sent == []
    scenario.answer(3)
    (answer,) = scenario.sent
    assert [(topic.name, len(topic.partition_responses)) for topic in answer.responses] == [
        ("t0", 100), ("t1", 1), ("t2", 30),
    ]  # fmt: skip
    assert [row.index for row in answer.responses[0].partition_responses] == list(range(100))


def test_while_the_pieces_wait_the_request_is_not_kept() -> None:
    scenario = Scenario()
    scenario.run(request_of([100]))
    assert scenario.context.large_request is None


def test_what_follows_is_taken_when_all_pieces_were_and_before_they_are_answered() -> None:
    scenario = Scenario()
    scenario.run(request_of([100]))
    assert scenario.unmuted_after == [4]
    assert scenario.sent == []


def test_without_acks_there_is_no_answer() -> None:
    scenario = Scenario()
    scenario.run(request_of([100], acks=0))
    for place in range(len(scenario.taken)):
        scenario.answer(place)
    assert scenario.sent == [None]


def test_what_is_refused_as_a_whole_is_not_begun() -> None:
    def refuse() -> None:
        raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)

    scenario = Scenario()
    with pytest.raises(KafkaError):
        scenario.run(request_of([100]), refuse)
    assert scenario.taken == []


def test_what_needs_a_check_is_checked_once() -> None:
    checked: list[int] = []
    scenario = Scenario()
    scenario.run(request_of([100]), lambda: checked.append(1))
    assert checked == [1]
    assert len(scenario.taken) == 4


@on_broker()
async def test_a_request_of_very_many_batches_is_appended_and_answered_in_order(broker: LocalBroker) -> None:
    await broker.create_topic("t0", PARTITIONS)
    request = request_of([TIMES * PARTITIONS], acks=-1, records=batch())
    for row in request.topic_data[0].partition_data:
        row.index %= PARTITIONS
    answer = await broker.ask(request, 8)
    (topic,) = answer.responses
    assert [(row.index, row.error_code, row.base_offset) for row in topic.partition_responses] == [
        (partition, 0, time) for time in range(TIMES) for partition in range(PARTITIONS)
    ]


@on_broker()
async def test_a_request_of_some_hundred_partitions_is_taken_in_turns_and_one_behind_it_waits(
    broker: LocalBroker,
) -> None:
    await broker.create_topic("t0", PARTITIONS)
    large = request_of([12 * PARTITIONS], acks=-1, records=batch())
    for row in large.topic_data[0].partition_data:
        row.index %= PARTITIONS
    small = request_of([1], acks=-1, records=batch())
    appends: Any = broker.server.node.appends
    append = appends.append
    appended: list[int] = []

    def noted(records: list[Any], *rest: Any, **more: Any) -> None:
        appended.append(len(records))
        append(records, *rest, **more)

    appends.append = noted
    first, second = await asyncio.gather(broker.ask(large, 8), broker.ask(small, 8))
    assert appended == [PIECE] * 7 + [16, 1]
    assert [row.base_offset for row in first.responses[0].partition_responses][::PARTITIONS] == list(range(12))
    assert second.responses[0].partition_responses[0].base_offset == 12
