"""kafka-topics.sh --bootstrap-server: topics made, shown, changed and deleted by the brokers' own calls.

Source: docs/reference/tools.md, section 2.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.cli.common.documents import print_document
from kafka_py.cli.topic_admin.topic_description import (
    MIN_INSYNC_REPLICAS,
    Describing,
    PartitionDescription,
    ShownTopic,
)
from kafka_py.cli.topic_admin.topic_requests import TopicAction, require_found, select_topics
from kafka_py.clients.admin.client import AdminClient
from kafka_py.clients.admin.resources import ConfigEntry, ConfigResource, ConfigResourceType
from kafka_py.clients.admin.topics import NewPartitions, NewTopic
from kafka_py.clients.admin.topics import TopicDescription as DescribedTopic


def run_on_brokers(properties: Mapping[str, str], request: TopicAction) -> None:
    """Carries out one request. Raises CommandFailed, KafkaError."""
    with AdminClient(properties) as admin:
        carry_out(admin, request)


def carry_out(admin: AdminClient, request: TopicAction) -> None:
    """Does what is asked for and prints what comes of it."""
    match request.action:
        case "create":
            _create(admin, request)
        case "list" if request.output is not None:
            print_document(_matching(admin, request), request.output)
        case "list":
            print("\n".join(_matching(admin, request)))  # an empty line where there is none, as Apache Kafka prints
        case "describe":
            _describe(admin, request)
        case "alter":
            _alter(admin, request)
        case "delete":
            names = _matching(admin, request)
            require_found(names, request)
            if names:
                admin.delete_topics(names).all()


def _matching(admin: AdminClient, request: TopicAction) -> list[str]:
    return select_topics(admin.list_topics(list_internal=not request.exclude_internal), request)


def _create(admin: AdminClient, request: TopicAction) -> None:
    if request.collision_warning:
        print(request.collision_warning)
    request.check_counts()
    topic = NewTopic(
        request.name,
        -1 if request.partitions is None else request.partitions,
        -1 if request.replication_factor is None else request.replication_factor,
        replica_assignments=request.assignment,
        configs=request.configs,
    )
    try:
        admin.create_topics([topic]).all()
    except KafkaError as error:
        if error.code is ErrorCode.TOPIC_ALREADY_EXISTS and request.if_not_exists:
            return
        raise
    print(f"Created topic {request.name}.")


def _alter(admin: AdminClient, request: TopicAction) -> None:
    names = _matching(admin, request)
    require_found(names, request)
    if not names:
        return
    total = request.partitions
    assert total is not None
    wanted: dict[str, NewPartitions | int] = dict.fromkeys(names, total)
    if request.assignment is not None:
        groups = [replicas for _, replicas in sorted(request.assignment.items())]
        for name, present in admin.describe_topics(names).all().items():
            wanted[name] = NewPartitions(total, groups[len(present.partitions) :])
    admin.create_partitions(wanted).all()


def _describe(admin: AdminClient, request: TopicAction) -> None:
    names = _matching(admin, request)
    require_found(names, request)
    if not names:
        if request.output is not None:
            print_document([], request.output)
        return
    resources = {name: ConfigResource(ConfigResourceType.TOPIC, name) for name in names}
    configs = admin.describe_configs(list(resources.values()))
    shown = Describing(
        request.report, request.only_overridden, frozenset(node.id for node in admin.describe_cluster().nodes)
    )
    topics = admin.describe_topics(names).all()
    found = [description_of(topics[name], configs.value(resources[name])) for name in names]
    if request.output is not None:
        print_document([document for topic in found for document in shown.documents(topic)], request.output)
        return
    for topic in found:
        for line in shown.lines(topic):
            print(line)


def description_of(topic: DescribedTopic, configs: Mapping[str, ConfigEntry]) -> ShownTopic:
    """A topic as the tool shows it; a setting of the broker that differs from the default counts as the topic's."""
    least = configs.get(MIN_INSYNC_REPLICAS)
    return ShownTopic(
        topic.name,
        [
            PartitionDescription(
                partition.partition,
                partition.leader.id if partition.leader is not None else None,
                [node.id for node in partition.replicas],
                [node.id for node in partition.isr],
            )
            for partition in topic.partitions
        ],
        {entry.name: entry.value or "" for entry in configs.values() if not entry.is_default},
        topic.topic_id,
        min_insync_replicas=int(least.value) if least is not None and least.value else None,
    )
