"""Offsets of ten thousand partitions are asked for, and read, some at a time."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from kafka_py.base.ids import EARLIEST_TIMESTAMP, TopicPartition
from kafka_py.base.steps import SLICE
from kafka_py.clients.metadata import PartitionInfo
from kafka_py.operations.cluster_view.asking import LookLimits
from kafka_py.operations.cluster_view.groups import groups_of
from kafka_py.operations.cluster_view.offsets import offsets_of
from kafka_py.operations.cluster_view.snapshot import LogBounds
from kafka_py.wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from kafka_py.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kafka_py.wire.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)

COUNT = 10_000
T = TypeVar("T")


class Answers:
    """Answers at once, as a LookRequests. most: partitions of the largest request for offsets."""

    limits = LookLimits()

    def __init__(self) -> None:
        self.most = 0

    async def ask(self, broker: int, request: Any) -> Any:
        if isinstance(request, ListGroupsRequest):
            group = ListedGroup(group_id="g", protocol_type="", group_state="Empty")
            return ListGroupsResponse(error_code=0, groups=[group])
        if isinstance(request, ListOffsetsRequest):
            return self._offsets(broker, request)
        rows = [
            OffsetFetchResponsePartition(partition_index=number, committed_offset=number, metadata="", error_code=0)
            for number in range(COUNT)
        ]
        return OffsetFetchResponse(topics=[OffsetFetchResponseTopic(name="t", partitions=rows)])

    def _offsets(self, broker: int, request: ListOffsetsRequest) -> ListOffsetsResponse:
        self.most = max(self.most, sum(len(topic.partitions) for topic in request.topics))
        assert all(row.partition_index % 3 == broker for topic in request.topics for row in topic.partitions)
        return ListOffsetsResponse(topics=[
            ListOffsetsTopicResponse(name=topic.name, partitions=[
                ListOffsetsPartitionResponse(
                    partition_index=row.partition_index, error_code=0, timestamp=-1,
                    offset=0 if row.timestamp == EARLIEST_TIMESTAMP else row.partition_index,
                )
                for row in topic.partitions
            ])
            for topic in request.topics
        ])  # fmt: skip


def turns_of(work: Coroutine[Any, Any, T]) -> tuple[T, int]:
    """What the work returns, and how many turns others had meanwhile."""

    async def run() -> tuple[T, int]:
        task, turns = asyncio.ensure_future(work), 0
        while not task.done():
            turns += 1
            await asyncio.sleep(0)
        return task.result(), turns

    return asyncio.run(run())


def test_offsets_are_asked_for_in_small_requests_and_turns() -> None:
    infos = [PartitionInfo("t", number, number % 3, 1, (0,), (0,), ()) for number in range(COUNT)]
    answers = Answers()
    found, turns = turns_of(offsets_of(answers, infos, (0, 1, 2)))  # type: ignore[arg-type]
    assert found == {TopicPartition("t", number): LogBounds(0, number) for number in range(COUNT)}
    assert answers.most <= SLICE
    assert turns >= 2 * COUNT // SLICE, "one of them for each slice of what is asked for, and of what was found"


def test_committed_offsets_are_read_in_turns() -> None:
    found, turns = turns_of(groups_of(Answers(), [1], None, members=False, committed=True))  # type: ignore[arg-type]
    committed = found["g"].committed
    assert committed is not None
    assert {each.partition: of.offset for each, of in committed.items()} == {each: each for each in range(COUNT)}
    assert turns >= COUNT // SLICE
