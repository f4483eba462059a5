"""Admin call on offsets of partitions: earliest, latest, or by timestamp.

Finds leaders with records.py. Source: KIP-79, KIP-396.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import CONSUMER_REPLICA_ID, EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, TopicPartition
from kafka_py.clients.admin.core import TRY_AGAIN, AdminCore, error_of
from kafka_py.clients.admin.records import leaders_of
from kafka_py.clients.admin.results import Results
from kafka_py.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

EARLIEST, LATEST = EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
"""Timestamps that stand for the log start offset and for the end offset."""

LEADER_CHANGED = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.BROKER_NOT_AVAILABLE,
)
"""Errors of a partition whose leader has changed or failed."""


class ListedOffset(NamedTuple):
    """An offset with the timestamp of its record (ms UTC). offset: -1 if no record is at or after the timestamp.

    timestamp, leader_epoch: -1 if the broker does not report them.
    """

    offset: int
    timestamp: int = -1
    leader_epoch: int = -1


_Answers = dict[TopicPartition, ListedOffset | KafkaError]


async def list_offsets(
    core: AdminCore,
    timestamps: Mapping[TopicPartition, int],
    *,
    read_committed: bool = False,
    timeout: float | None = None,
) -> Results[TopicPartition, ListedOffset]:
    """Per partition the first record at or after a timestamp (ms UTC), or one end: EARLIEST, LATEST (exclusive).

    read_committed: the latest offset is the last stable offset. A partition without leader gets LEADER_NOT_AVAILABLE
    without a retry.
    """

    async def attempt(partitions: list[TopicPartition], timeout_ms: int) -> _Answers:
        leaders = await leaders_of(core, partitions, timeout_ms)
        answers: _Answers = {tp: found for tp, found in leaders.items() if isinstance(found, KafkaError)}
        by_leader: dict[int, dict[TopicPartition, int]] = {}
        for tp, leader in leaders.items():
            if isinstance(leader, int):
                by_leader.setdefault(leader, {})[tp] = timestamps[tp]
        asked = (_list(core, leader, part, read_committed, timeout_ms) for leader, part in by_leader.items())
        for answer in await asyncio.gather(*asked):
            answers.update(answer)
        return answers

    return await core.per_item(timestamps, attempt, timeout, try_again=(*TRY_AGAIN, *LEADER_CHANGED))


async def _list(
    core: AdminCore, node_id: int, timestamps: Mapping[TopicPartition, int], read_committed: bool, timeout_ms: int
) -> _Answers:
    topics: dict[str, list[ListOffsetsPartition]] = {}
    for (topic, number), timestamp in timestamps.items():
        row = ListOffsetsPartition(partition_index=number, timestamp=timestamp)
        topics.setdefault(topic, []).append(row)
    request = ListOffsetsRequest(
        replica_id=CONSUMER_REPLICA_ID,
        isolation_level=int(read_committed),
        topics=[ListOffsetsTopic(name=name, partitions=rows) for name, rows in topics.items()],
    )
    try:
        await core.know(node_id)
        response: Any = await core.cluster.send(node_id, request, timeout_ms=timeout_ms)
    except KafkaError as error:
        return dict.fromkeys(timestamps, error)
    answers: _Answers = {}
    for topic_answer in response.topics:
        for answer in topic_answer.partitions:
            tp = TopicPartition(topic_answer.name, answer.partition_index)
            failure = error_of(answer.error_code, None, str(tp))
            answers[tp] = failure or ListedOffset(answer.offset, answer.timestamp, answer.leader_epoch)
    return answers
