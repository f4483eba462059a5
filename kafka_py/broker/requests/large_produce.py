"""Produce requests of many partitions: processed a few partitions at a time, with one response.

Each piece is handled like a request (handlers/records/produce.py), but its response waits for the others. The
connection is muted until all pieces are appended, so that no later request overtakes a piece; requests that arrive
while they wait for replication are handled as usual.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kafka_py.base.turns import Turn
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import ANSWERS_LATER, RequestContext
from kafka_py.wire.frames import RequestHeader
from kafka_py.wire.messages.produce import ProduceRequest, ProduceResponse, TopicProduceData

PIECE = 32
"""Partitions per piece; an append to one takes some 30 microseconds."""

Handle = Callable[[Node, RequestContext, ProduceRequest], object]


async def in_pieces(
    node: Node, context: RequestContext, request: ProduceRequest, handle: Handle,
    needs_check: Callable[[Any], bool], check: Callable[[], None],
) -> object:  # fmt: skip
    """Handles a large request in turns with other work.

    handle: handles one piece. check: raises KafkaError if the whole request is refused for records that need it.
    """
    turn = Turn(node.clock)
    is_checked = False
    for topic in request.topic_data:
        for data in topic.partition_data:
            await turn.maybe_yield()
            if not is_checked and needs_check(data.records):
                check()
                is_checked = True
    answers = _Answers(context)
    for piece in pieces(request):
        await turn.maybe_yield()
        handle(node, answers.expect(), piece)
    context.large_request = None  # frees the request and its records while the pieces wait
    context.connection.unmute()
    answers.expect_no_more()
    return ANSWERS_LATER


def pieces(request: ProduceRequest) -> Iterator[ProduceRequest]:
    """The request in parts of PIECE partitions, in its order; one part if it has none at all."""
    is_empty = True
    topics: list[TopicProduceData] = []
    room = PIECE
    for topic in request.topic_data:
        taken = 0
        while taken < len(topic.partition_data):
            part = topic.partition_data[taken : taken + room]
            topics.append(TopicProduceData(name=topic.name, partition_data=part))
            taken += len(part)
            room -= len(part)
            if not room:
                yield _like(request, topics)
                topics, room, is_empty = [], PIECE, False
    if topics or is_empty:
        yield _like(request, topics)


def _like(request: ProduceRequest, topics: list[TopicProduceData]) -> ProduceRequest:
    return ProduceRequest(
        transactional_id=request.transactional_id, acks=request.acks, timeout_ms=request.timeout_ms, topic_data=topics
    )


class _Answers:
    """The responses of the pieces; the response to the request is sent with the last one.

    With acks=0 a failed piece has no response: it closes the connection.
    """

    def __init__(self, context: RequestContext) -> None:
        self._context = context
        self._found: list[ProduceResponse | None] = []
        self._missing = 1  # one until `expect_no_more`

    def expect(self) -> RequestContext:
        """Creates the context of one more piece."""
        place = len(self._found)
        self._found.append(None)
        self._missing += 1

        def take(_piece: RequestContext, response: Any) -> None:
            self._found[place] = response
            self._count_down()

        context = self._context
        header = RequestHeader(context.api.key, context.api_version, context.correlation_id, context.client_id)
        return RequestContext(
            context.connection, context.slot, context.api, header, context.request_bytes, context.metrics, take
        )

    def expect_no_more(self) -> None:
        """Called when all pieces have been handled."""
        self._count_down()

    def _count_down(self) -> None:
        self._missing -= 1
        if not self._missing:
            self._context.answer(_joined([response for response in self._found if response is not None]))


def _joined(responses: list[ProduceResponse]) -> ProduceResponse | None:
    """Merges the responses; None if the pieces have none. A topic may be split between two of them."""
    if not responses:
        return None
    topics = responses[0].responses
    for response in responses[1:]:
        rows = iter(response.responses)
        if topics and response.responses and topics[-1].name == response.responses[0].name:
            topics[-1].partition_responses += next(rows).partition_responses
        topics.extend(rows)
    return responses[0]
