"""Admin calls on replicas: elect leaders, start, cancel and list partition reassignments.

Source: KIP-183, KIP-460 (ElectLeaders), KIP-455 (reassignments).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ElectionType, TopicPartition
from kafka_py.clients.admin.core import AdminCore, error_of
from kafka_py.clients.admin.results import Results
from kafka_py.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafka_py.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions
from kafka_py.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from kafka_py.wire.version_meanings import ELECT_LEADERS_HAS_TYPE


class PartitionReassignment(NamedTuple):
    """A partition that is being reassigned. replicas: all present ones, including those added and removed."""

    replicas: list[int]
    adding: list[int]
    removing: list[int]


_Errors = dict[TopicPartition, KafkaError | None]


async def elect_leaders(
    core: AdminCore,
    election_type: ElectionType,
    partitions: Collection[TopicPartition] | None = None,
    *,
    timeout: float | None = None,
) -> Results[TopicPartition, None]:
    """Elects the preferred replicas, or (UNCLEAN) any live replica of partitions without leader.

    partitions: None for all of the cluster; the result then has only those for which an election was held.
    """
    if partitions is None:
        return await _elect_all(core, election_type, timeout)

    async def attempt(some: list[TopicPartition], timeout_ms: int) -> _Errors:
        return await _elect(core, election_type, some, timeout_ms)

    return await core.per_item(partitions, attempt, timeout)


async def _elect_all(
    core: AdminCore, election_type: ElectionType, timeout: float | None
) -> Results[TopicPartition, None]:
    async def attempt(_: list[None], timeout_ms: int) -> dict[None, _Errors | KafkaError]:
        found = await _elect(core, election_type, None, timeout_ms)
        return {None: next(filter(_is_not_controller, found.values()), None) or found}

    results = await core.per_item([None], attempt, timeout)
    return Results(results.value(None))


async def _elect(
    core: AdminCore, election_type: ElectionType, partitions: Collection[TopicPartition] | None, timeout_ms: int
) -> _Errors:
    topics = None
    if partitions is not None:
        topics = [TopicPartitions(topic=topic, partition_id=ids) for topic, ids in _by_topic(partitions).items()]
    request = ElectLeadersRequest(topic_partitions=topics, timeout_ms=timeout_ms)

    def make(version: int) -> ElectLeadersRequest:
        if ELECT_LEADERS_HAS_TYPE[version]:
            request.election_type = election_type
        elif election_type is not ElectionType.PREFERRED:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "the broker supports preferred leader elections only")
        return request

    response: ElectLeadersResponse = await core.ask_controller(make, ElectLeadersRequest, timeout_ms)
    error = error_of(response.error_code, None)
    if error is not None:
        raise error
    answers: _Errors = {
        TopicPartition(topic.topic, each.partition_id): error_of(each.error_code, each.error_message)
        for topic in response.replica_election_results
        for each in topic.partition_result
    }
    await core.note_not_controller(answers)
    return answers


async def alter_partition_reassignments(
    core: AdminCore, targets: Mapping[TopicPartition, Sequence[int] | None], *, timeout: float | None = None
) -> Results[TopicPartition, None]:
    """Starts reassignments of partitions to these brokers, the preferred leader first; None cancels one.

    Returns when they have started; `list_partition_reassignments` lists them until they are complete.
    """

    async def attempt(some: list[TopicPartition], timeout_ms: int) -> _Errors:
        rows: dict[str, list[ReassignablePartition]] = {}
        for partition in some:
            replicas = targets[partition]
            row = ReassignablePartition(
                partition_index=partition.partition, replicas=None if replicas is None else list(replicas)
            )
            rows.setdefault(partition.topic, []).append(row)
        request = AlterPartitionReassignmentsRequest(
            timeout_ms=timeout_ms,
            topics=[ReassignableTopic(name=topic, partitions=each) for topic, each in rows.items()],
        )
        response = await core.ask_controller(lambda _: request, AlterPartitionReassignmentsRequest, timeout_ms)
        top = error_of(response.error_code, response.error_message)
        answers: _Errors = dict.fromkeys(some, top) if top is not None else {
            TopicPartition(topic.name, each.partition_index): error_of(each.error_code, each.error_message)
            for topic in response.responses
            for each in topic.partitions
        }  # fmt: skip
        await core.note_not_controller(answers)
        return answers

    return await core.per_item(targets, attempt, timeout)


async def list_partition_reassignments(
    core: AdminCore, partitions: Collection[TopicPartition] | None = None, *, timeout: float | None = None
) -> dict[TopicPartition, PartitionReassignment]:
    """Those of the partitions (None: of all) that are being reassigned."""

    async def attempt(
        _: list[None], timeout_ms: int
    ) -> dict[None, dict[TopicPartition, PartitionReassignment] | KafkaError]:
        topics = None
        if partitions is not None:
            topics = [
                ListPartitionReassignmentsTopics(name=topic, partition_indexes=ids)
                for topic, ids in _by_topic(partitions).items()
            ]
        request = ListPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=topics)
        response = await core.ask_controller(lambda _: request, ListPartitionReassignmentsRequest, timeout_ms)
        error = error_of(response.error_code, response.error_message)
        if error is not None:
            await core.note_not_controller({None: error})
            return {None: error}
        return {None: {
            TopicPartition(topic.name, each.partition_index): PartitionReassignment(
                each.replicas, each.adding_replicas, each.removing_replicas
            )
            for topic in response.topics
            for each in topic.partitions
        }}  # fmt: skip

    results = await core.per_item([None], attempt, timeout)
    return results.value(None)


def _by_topic(partitions: Collection[TopicPartition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return topics


def _is_not_controller(error: KafkaError | None) -> bool:
    return error is not None and error.code is ErrorCode.NOT_CONTROLLER
