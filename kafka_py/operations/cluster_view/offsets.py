"""The first and the end offset of partitions, each asked of its leader, many in one request (KIP-79).

Thousands of partitions are dealt with some at a time, so that they do not hold the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import CONSUMER_REPLICA_ID, EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, TopicPartition
from kafka_py.base.turns import sliced
from kafka_py.clients.admin.core import error_of
from kafka_py.clients.metadata import PartitionInfo
from kafka_py.operations.cluster_view.asking import LookRequests
from kafka_py.operations.cluster_view.snapshot import LogBounds, ViewPart
from kafka_py.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

_Found = dict[TopicPartition, int | KafkaError]


async def offsets_of(
    asker: LookRequests, partitions: Collection[PartitionInfo], brokers: Collection[int]
) -> dict[TopicPartition, LogBounds]:
    """The bounds of each partition whose leader answers; one whose leader is not among `brokers` is not asked for."""
    by_leader: dict[int, list[TopicPartition]] = {}
    async for some in sliced(partitions):
        for info in some:
            if info.leader in brokers:
                by_leader.setdefault(info.leader, []).append(info.topic_partition)
    step = asker.limits.partitions
    pieces = [
        (leader, led[at : at + step]) for leader, led in sorted(by_leader.items()) for at in range(0, len(led), step)
    ]
    found: dict[TopicPartition, LogBounds] = {}
    for part in await asyncio.gather(*(_bounds(asker, leader, piece) for leader, piece in pieces)):
        found.update(part)
        await asyncio.sleep(0)
    return found


async def _bounds(asker: LookRequests, leader: int, wanted: list[TopicPartition]) -> dict[TopicPartition, LogBounds]:
    try:
        starts, ends = await asyncio.gather(
            _list(asker, leader, wanted, EARLIEST_TIMESTAMP), _list(asker, leader, wanted, LATEST_TIMESTAMP)
        )
    except KafkaError as error:
        asker.note(ViewPart.OFFSETS, leader, error)
        return {}
    bounds: dict[TopicPartition, LogBounds] = {}
    missing = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the broker's response does not contain it")
    for partition in wanted:
        start, end = starts.get(partition, missing), ends.get(partition, missing)
        if isinstance(end, KafkaError):
            asker.note(ViewPart.OFFSETS, leader, end, str(partition))
        elif isinstance(start, KafkaError):
            asker.note(ViewPart.OFFSETS, leader, start, str(partition))
        else:
            bounds[partition] = LogBounds(start, end)
    return bounds


async def _list(asker: LookRequests, leader: int, wanted: list[TopicPartition], timestamp: int) -> _Found:
    topics: dict[str, list[ListOffsetsPartition]] = {}
    for topic, number in wanted:
        row = ListOffsetsPartition(partition_index=number, timestamp=timestamp)
        topics.setdefault(topic, []).append(row)
    request = ListOffsetsRequest(
        replica_id=CONSUMER_REPLICA_ID,
        topics=[ListOffsetsTopic(name=name, partitions=rows) for name, rows in topics.items()],
    )
    response = await asker.ask(leader, request)
    return {
        TopicPartition(topic.name, row.partition_index): error_of(row.error_code, None) or row.offset
        for topic in response.topics
        for row in topic.partitions
    }
