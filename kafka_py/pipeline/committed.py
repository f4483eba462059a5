"""Offsets of consumer groups, read and written for a group without members.

Speaks FindCoordinator, OffsetFetch and OffsetCommit; a coordinator that is still to be found, or still loads, is asked
again. A group with members refuses offsets from outside, as it should.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.errors import error_code
from kafka_py.pipeline.links import Link
from kafka_py.pipeline.offsets import Offsets
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_py.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic

PATIENCE_S = 20.0
ASK_AGAIN = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.BROKER_NOT_AVAILABLE,
)


def committed_offsets(link: Link, group: str, partitions: Collection[TopicPartition] | None = None) -> Offsets:
    """What the group has committed; partitions for which it has nothing are left out. None: of all partitions."""
    topics = None if partitions is None else [
        OffsetFetchRequestTopic(name=name, partition_indexes=numbers) for name, numbers in _by_topic(partitions).items()
    ]  # fmt: skip
    answer = link.run(_ask(link, group, OffsetFetchRequest(group_id=group, topics=topics), _fetch_errors))
    return {
        TopicPartition(topic.name, each.partition_index): each.committed_offset
        for topic in answer.topics
        for each in topic.partitions
        if each.committed_offset >= 0
    }


def commit_offsets(link: Link, group: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Commits where the group is to continue. Raises KafkaError naming the group, and the partition at fault."""
    topics = [
        OffsetCommitRequestTopic(
            name=name,
            partitions=[
                OffsetCommitRequestPartition(
                    partition_index=each, committed_offset=offsets[TopicPartition(name, each)], committed_metadata=""
                )
                for each in numbers
            ],
        )
        for name, numbers in _by_topic(offsets).items()
    ]
    if topics:
        link.run(_ask(link, group, OffsetCommitRequest(group_id=group, topics=topics), _commit_errors))


def _by_topic(partitions: Collection[TopicPartition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        topics.setdefault(topic, []).append(number)
    return topics


async def _ask(link: Link, group: str, request: Any, errors: Any) -> Any:
    give_up = time.monotonic() + PATIENCE_S
    while True:
        try:
            coordinator = await _coordinator(link, group)
            answer = await (await link.cluster()).send(coordinator, request)
            for code, where in errors(answer):
                if code is not ErrorCode.NONE:
                    raise KafkaError(code, f"group {group}{where}: {code.meaning}")
            return answer
        except KafkaError as error:
            if error.code not in ASK_AGAIN or time.monotonic() > give_up:
                raise
            await asyncio.sleep(0.1)


async def _coordinator(link: Link, group: str) -> int:
    cluster = await link.cluster()
    if not cluster.view.fetched_ms:
        await cluster.refresh(at_once=True)
    found = await cluster.send_any(FindCoordinatorRequest(key=group))
    code = error_code(found.error_code)
    if code is not ErrorCode.NONE:
        raise KafkaError(code, f"the coordinator of group {group}: {code.meaning}")
    if found.node_id not in cluster.view.nodes:
        await cluster.refresh(at_once=True)
    return int(found.node_id)


def _fetch_errors(answer: Any) -> list[tuple[ErrorCode, str]]:
    found = [(error_code(answer.error_code), "")]
    for topic in answer.topics:
        found += [(error_code(each.error_code), f", {topic.name}-{each.partition_index}") for each in topic.partitions]
    return found


def _commit_errors(answer: Any) -> list[tuple[ErrorCode, str]]:
    return [
        (error_code(each.error_code), f", {topic.name}-{each.partition_index}")
        for topic in answer.topics
        for each in topic.partitions
    ]
