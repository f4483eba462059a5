"""Admin calls on topics: create, delete, list, describe, add partitions.

Source: KIP-117; KafkaAdminClient.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ZERO_UUID
from kafka_py.clients.admin.core import AdminCore, error_of
from kafka_py.clients.admin.resources import ConfigEntry, ConfigSource
from kafka_py.clients.admin.results import Results, operations_of
from kafka_py.clients.metadata import Node
from kafka_py.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafka_py.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicResult,
    CreateableTopicConfig,
    CreateTopicsRequest,
)
from kafka_py.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafka_py.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)

BROKER_DEFAULT = -1
DELETES_BY_STATE = 6
"""The first version of DeleteTopics with names and ids in one list."""


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create: with counts (-1: the broker's default), or with an assignment of partition -> broker ids."""

    name: str
    num_partitions: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    replica_assignments: Mapping[int, Sequence[int]] | None = None
    configs: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewPartitions:
    """The total number of partitions of a topic, optionally with the brokers of each new partition."""

    total_count: int
    new_assignments: Sequence[Sequence[int]] | None = None


class CreatedTopic(NamedTuple):
    """The created topic, as far as the broker reports it (from 2.4 on); -1 and None for unknown fields."""

    name: str
    topic_id: uuid.UUID
    num_partitions: int
    replication_factor: int
    configs: list[ConfigEntry] | None


class TopicListing(NamedTuple):
    """A topic by name."""

    name: str
    topic_id: uuid.UUID
    is_internal: bool


class TopicPartitionInfo(NamedTuple):
    """One partition; brokers that are down are nodes without host."""

    partition: int
    leader: Node | None
    replicas: list[Node]
    isr: list[Node]


class TopicDescription(NamedTuple):
    """One topic and its partitions, sorted by number. authorized_operations: bits, None if not requested."""

    name: str
    topic_id: uuid.UUID
    is_internal: bool
    partitions: list[TopicPartitionInfo]
    authorized_operations: int | None = None


async def create_topics(
    core: AdminCore, topics: Collection[NewTopic], *, validate_only: bool = False, timeout: float | None = None
) -> Results[str, CreatedTopic]:
    """Creates topics, or only validates the request."""
    by_name = {topic.name: topic for topic in topics}

    async def attempt(names: list[str], timeout_ms: int) -> dict[str, CreatedTopic | KafkaError]:
        request = CreateTopicsRequest(
            topics=[_creatable(by_name[name]) for name in names],
            timeout_ms=timeout_ms,
            validate_only=validate_only,
        )
        response = await core.ask_controller(lambda _: request, CreateTopicsRequest, timeout_ms)
        answers = {topic.name: _created(topic) for topic in response.topics}
        await core.note_not_controller(answers)
        return answers

    return await core.per_item(by_name, attempt, timeout)


async def create_partitions(
    core: AdminCore,
    partitions: Mapping[str, NewPartitions | int],
    *,
    validate_only: bool = False,
    timeout: float | None = None,
) -> Results[str, None]:
    """Increases the number of partitions of topics (a plain number is the new total)."""

    async def attempt(names: list[str], timeout_ms: int) -> dict[str, KafkaError | None]:
        request = CreatePartitionsRequest(
            topics=[_more_partitions(name, partitions[name]) for name in names],
            timeout_ms=timeout_ms,
            validate_only=validate_only,
        )
        response = await core.ask_controller(lambda _: request, CreatePartitionsRequest, timeout_ms)
        answers = {
            topic.name: error_of(topic.error_code, topic.error_message, topic.name) for topic in response.results
        }
        await core.note_not_controller(answers)
        return answers

    return await core.per_item(partitions, attempt, timeout)


async def delete_topics(
    core: AdminCore, topics: Collection[str], *, timeout: float | None = None
) -> Results[str, None]:
    """Deletes topics by name."""

    async def attempt(names: list[str], timeout_ms: int) -> dict[str, KafkaError | None]:
        def make(version: int) -> DeleteTopicsRequest:
            if version < DELETES_BY_STATE:
                return DeleteTopicsRequest(topic_names=names, timeout_ms=timeout_ms)
            states = [DeleteTopicState(name=name, topic_id=ZERO_UUID) for name in names]
            return DeleteTopicsRequest(topics=states, timeout_ms=timeout_ms)

        response = await core.ask_controller(make, DeleteTopicsRequest, timeout_ms)
        answers = {
            topic.name: error_of(topic.error_code, topic.error_message, topic.name) for topic in response.responses
        }
        await core.note_not_controller(answers)
        return answers

    return await core.per_item(topics, attempt, timeout)


async def list_topics(
    core: AdminCore, *, list_internal: bool = False, timeout: float | None = None
) -> dict[str, TopicListing]:
    """All topics by name."""
    response = await _metadata(core, MetadataRequest(topics=None), timeout)
    return {
        topic.name: TopicListing(topic.name, topic.topic_id, topic.is_internal)
        for topic in response.topics
        if not topic.error_code and (list_internal or not topic.is_internal)
    }


async def describe_topics(
    core: AdminCore,
    topics: Collection[str],
    *,
    include_authorized_operations: bool = False,
    timeout: float | None = None,
) -> Results[str, TopicDescription]:
    """Topics with partitions, leaders and replicas; a topic that does not exist gets an error and is not created."""
    names = list(dict.fromkeys(topics))
    if not names:
        return Results()
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in names],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=include_authorized_operations,
    )
    response = await _metadata(core, request, timeout)
    nodes = {each.node_id: Node(each.node_id, each.host, each.port, each.rack) for each in response.brokers}
    found = {topic.name: _described(topic, nodes) for topic in response.topics}
    missing = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return Results({name: found.get(name, missing) for name in names})


async def _metadata(core: AdminCore, request: MetadataRequest, timeout: float | None) -> MetadataResponse:
    async def call(left_ms: int) -> Any:
        return await core.cluster.send_any(request, timeout_ms=left_ms)

    response: MetadataResponse = await core.once(call, timeout)
    return response


def _creatable(topic: NewTopic) -> CreatableTopic:
    assignments = topic.replica_assignments or {}
    return CreatableTopic(
        name=topic.name,
        num_partitions=BROKER_DEFAULT if assignments else topic.num_partitions,
        replication_factor=BROKER_DEFAULT if assignments else topic.replication_factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=partition, broker_ids=list(brokers))
            for partition, brokers in assignments.items()
        ],
        configs=[CreateableTopicConfig(name=name, value=value) for name, value in topic.configs.items()],
    )


def _created(topic: CreatableTopicResult) -> CreatedTopic | KafkaError:
    error = error_of(topic.error_code, topic.error_message, topic.name)
    if error is not None:
        return error
    configs = None
    if topic.configs is not None and not topic.topic_config_error_code:
        configs = [
            ConfigEntry(each.name, each.value, ConfigSource.of(each.config_source), each.read_only, each.is_sensitive)
            for each in topic.configs
        ]
    return CreatedTopic(topic.name, topic.topic_id, topic.num_partitions, topic.replication_factor, configs)


def _more_partitions(name: str, wanted: NewPartitions | int) -> CreatePartitionsTopic:
    if isinstance(wanted, int):
        wanted = NewPartitions(wanted)
    assignments = None
    if wanted.new_assignments is not None:
        assignments = [CreatePartitionsAssignment(broker_ids=list(brokers)) for brokers in wanted.new_assignments]
    return CreatePartitionsTopic(name=name, count=wanted.total_count, assignments=assignments)


def _described(topic: MetadataResponseTopic, nodes: Mapping[int, Node]) -> TopicDescription | KafkaError:
    error = error_of(topic.error_code, None, topic.name)
    if error is not None:
        return error

    def node(node_id: int) -> Node:
        return nodes.get(node_id) or Node(node_id, "", -1)

    partitions = [
        TopicPartitionInfo(
            partition.partition_index,
            nodes.get(partition.leader_id),
            [node(each) for each in partition.replica_nodes],
            [node(each) for each in partition.isr_nodes],
        )
        for partition in sorted(topic.partitions, key=lambda each: each.partition_index)
    ]
    operations = operations_of(topic.topic_authorized_operations)
    return TopicDescription(topic.name, topic.topic_id, topic.is_internal, partitions, operations)
