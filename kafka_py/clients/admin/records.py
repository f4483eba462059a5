"""Admin calls on records: delete those below an offset.

Source: KIP-107.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.core import TRY_AGAIN, AdminCore, error_of
from kafka_py.clients.admin.results import Results
from kafka_py.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

_REASONS = {
    ErrorCode.OFFSET_OUT_OF_RANGE: "the offset is above the high watermark of {}",
    ErrorCode.POLICY_VIOLATION: "the cleanup.policy of {} does not allow the deletion of records",
}
"""The messages of errors whose general meaning would be misleading here."""

_Leaders = dict[TopicPartition, int | KafkaError]
_Answers = dict[TopicPartition, int | KafkaError]


async def delete_records(
    core: AdminCore, offsets: Mapping[TopicPartition, int], *, timeout: float | None = None
) -> Results[TopicPartition, int]:
    """Deletes the records below these offsets (exclusive; -1: the high watermark); returns the log start offsets.

    A partition without leader gets LEADER_NOT_AVAILABLE without a retry.
    """

    async def attempt(partitions: list[TopicPartition], timeout_ms: int) -> _Answers:
        leaders = await leaders_of(core, partitions, timeout_ms)
        answers: _Answers = {tp: found for tp, found in leaders.items() if isinstance(found, KafkaError)}
        by_leader: dict[int, dict[TopicPartition, int]] = {}
        for tp, leader in leaders.items():
            if isinstance(leader, int):
                by_leader.setdefault(leader, {})[tp] = offsets[tp]
        for part in await asyncio.gather(*(_delete(core, *each, timeout_ms) for each in by_leader.items())):
            answers.update(part)
        return answers

    return await core.per_item(offsets, attempt, timeout, try_again=(*TRY_AGAIN, ErrorCode.NOT_LEADER_OR_FOLLOWER))


async def leaders_of(core: AdminCore, partitions: list[TopicPartition], timeout_ms: int) -> _Leaders:
    """The node id of each partition's leader, or the error."""
    names = dict.fromkeys(tp.topic for tp in partitions)
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=False
    )
    response = await core.cluster.send_any(request, timeout_ms=timeout_ms)
    found: _Leaders = {}
    failed: dict[str, KafkaError] = {}
    for topic in response.topics:
        error = error_of(topic.error_code, None, topic.name)
        if error is not None:
            failed[topic.name] = error
        for info in topic.partitions:
            if info.leader_id >= 0:
                found[TopicPartition(topic.name, info.partition_index)] = info.leader_id
    return {tp: failed.get(tp.topic) or found.get(tp, _no_leader(tp)) for tp in partitions}


async def _delete(core: AdminCore, node_id: int, offsets: dict[TopicPartition, int], timeout_ms: int) -> _Answers:
    topics: dict[str, list[DeleteRecordsPartition]] = {}
    for (topic, partition), offset in offsets.items():
        topics.setdefault(topic, []).append(DeleteRecordsPartition(partition_index=partition, offset=offset))
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=name, partitions=rows) for name, rows in topics.items()],
        timeout_ms=timeout_ms,
    )
    try:
        await core.know(node_id)
        response: Any = await core.cluster.send(node_id, request, timeout_ms=timeout_ms)
    except KafkaError as error:
        return dict.fromkeys(offsets, error)
    answers: _Answers = {}
    for topic_answer in response.topics:
        for answer in topic_answer.partitions:
            tp = TopicPartition(topic_answer.name, answer.partition_index)
            failure = error_of(answer.error_code, _REASONS.get(answer.error_code, "").format(tp), str(tp))
            answers[tp] = answer.low_watermark if failure is None else failure
    return answers


def _no_leader(partition: TopicPartition) -> KafkaError:
    return KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"{partition} has no leader")
