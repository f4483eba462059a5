"""kafka-topics.sh --zookeeper: topics read and written straight in ZooKeeper, past the brokers (deprecated).

The controller sees the znodes and does the rest. Topics made this way get no topic id. Placement and name rules are
the controller's own. Source: reference tools, section 2; controller.md section 12; zookeeper.md sections 5 and 7.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ZERO_UUID, TopicPartition
from kafka_py.cli.topic_description import Describing, PartitionDescription, TopicDescription
from kafka_py.cli.topic_requests import TopicFailure, TopicRequest, require_found, select_topics
from kafka_py.controller import topic_names
from kafka_py.controller.placement import BrokerRack, place, without_racks
from kafka_py.zk.configs import ConnectString
from kafka_py.zk.partitions import NO_LEADER, PartitionState
from kafka_py.zk.session import ZkError
from kafka_py.zk.store import ZkStore
from kafka_py.zk.topics import ReplicaAssignment, TopicAssignment
from kafka_py.zk.znodes import entity_path

SESSION_TIMEOUT_MS = 30_000

CONFIG_WARNING = (
    "WARNING: Altering topic configuration from this script has been deprecated and may be removed in future "
    "releases.\n         Going forward, please use kafka-configs.sh for this functionality"
)
KEYS_WARNING = (
    "WARNING: If partitions are increased for a topic that has a key, the partition logic or ordering of the messages "
    "will be affected"
)


def run_on_zookeeper(connect: str, request: TopicRequest) -> None:
    """Carries out one request. Raises TopicFailure, KafkaError, or ConfigError for a malformed connect string."""
    asyncio.run(_connected(connect, request))


async def _connected(connect: str, request: TopicRequest) -> None:
    from kafka_py.zk.kazoo_session import KazooSession

    logging.getLogger("kafka_py.zk").setLevel(logging.ERROR)  # the failure says in one line what each attempt would
    servers = ConnectString.parse(connect, "zookeeper")
    session = KazooSession(servers, session_timeout_ms=SESSION_TIMEOUT_MS, create_chroot=False)
    try:
        await session.connect()
        await carry_out(ZkStore(session), request)
    except ZkError as error:
        raise TopicFailure(str(error)) from None
    finally:
        await session.close()


async def carry_out(store: ZkStore, request: TopicRequest) -> None:
    """Does what is asked for and prints what comes of it."""
    match request.action:
        case "create":
            await _create(store, request)
        case "list":
            await _list(store, request)
        case "describe":
            await _describe(store, request)
        case "alter":
            await _alter(store, request)
        case "delete":
            await _delete(store, request)


async def _create(store: ZkStore, request: TopicRequest) -> None:
    if request.collision_warning:
        print(request.collision_warning)
    try:
        await create_topic(store, request)
    except KafkaError as error:
        if error.code is ErrorCode.TOPIC_ALREADY_EXISTS and request.if_not_exists:
            return
        raise
    print(f"Created topic {request.name}.")


async def create_topic(store: ZkStore, request: TopicRequest) -> None:
    """Writes the znodes of a new topic. Raises KafkaError for a bad or taken name, or what cannot be placed."""
    name = request.name
    topic_names.validate(name)
    existing = await store.topics()
    if name in existing:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    rivals = topic_names.colliding(name, existing)
    if rivals:
        detail = f"Topic '{name}' collides with existing topics: {', '.join(rivals)}"
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, detail)
    if request.assignment is not None:
        placement: Mapping[int, Sequence[int]] = request.assignment
    else:
        assert request.partitions is not None and request.replication_factor is not None
        brokers = await _brokers(store, request.rack_aware)
        placement = place(brokers, request.partitions, request.replication_factor)
    await store.create_topic(name, TopicAssignment.of(placement), request.configs)


async def _brokers(store: ZkStore, rack_aware: bool) -> list[BrokerRack]:
    brokers = [BrokerRack(broker.id, broker.rack) for _, broker in sorted((await store.brokers()).items())]
    return brokers if rack_aware else without_racks(brokers)


async def _list(store: ZkStore, request: TopicRequest) -> None:
    marked = await store.topics_to_delete()
    for name in select_topics(await store.topics(), request):
        print(f"{name} - marked for deletion" if name in marked else name)


async def _delete(store: ZkStore, request: TopicRequest) -> None:
    names = select_topics(await store.topics(), request)
    require_found(names, request)
    marked = await store.topics_to_delete()
    for name in names:
        if topic_names.is_internal(name):
            raise TopicFailure(
                f"Topic {name} is a kafka internal topic and is not allowed to be marked for deletion."
            )
        if name in marked:
            print(f"Topic {name} is already marked for deletion.")
            continue
        await store.mark_for_deletion(name)
        print(f"Topic {name} is marked for deletion.")
        print("Note: This will have no impact if delete.topic.enable is not set to true.")


async def _alter(store: ZkStore, request: TopicRequest) -> None:
    names = select_topics(await store.topics(), request)
    require_found(names, request)
    for name in names:
        if request.configs or request.delete_configs:
            print(CONFIG_WARNING)
            configs = {**await store.topic_config(name), **request.configs}
            for key in request.delete_configs:
                configs.pop(key, None)
            await store.change_entity_config(entity_path(("topics", name)), configs)
            print(f"Updated config for topic {name}.")
        if request.partitions is not None:
            if name == topic_names.GROUP_METADATA_TOPIC:
                raise TopicFailure("The number of partitions for the offsets topic cannot be changed.")
            print(KEYS_WARNING)
            await add_partitions(store, name, request)
            print("Adding partitions succeeded!")


async def add_partitions(store: ZkStore, topic: str, request: TopicRequest) -> None:
    """Writes the topic's assignment with more partitions; its id and the present partitions stay as they are.

    Raises KafkaError(INVALID_PARTITIONS) unless the number grows, KafkaError(INVALID_REPLICA_ASSIGNMENT) for a given
    assignment that does not fit, TopicFailure for a topic that has gone or lacks partition 0.
    """
    present = await store.topic_assignment(topic)
    if present is None:
        raise TopicFailure(f"The topic {topic} does not exist")
    first = present.partitions.get(0)
    if first is None:
        raise TopicFailure(f"Unexpected replica assignment of topic '{topic}': partition 0 is missing")
    count, wanted = len(present.partitions), request.partitions or 1
    if wanted <= count:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"The number of partitions for a topic can only be increased. Topic {topic} currently has {count} "
            f"partitions, {wanted} would not be an increase.",
        )
    brokers = await _brokers(store, request.rack_aware)
    replicas = [broker for broker in first.replicas if broker not in first.adding]
    added: Mapping[int, Sequence[int]]
    if request.assignment is not None:
        added = _fitting(request.assignment, count, wanted, len(replicas), {broker.id for broker in brokers})
    else:
        start = next((index for index, broker in enumerate(brokers) if broker.id >= replicas[0]), 0)
        added = place(brokers, wanted - count, len(replicas), fixed_start=start, first_partition=count)
    partitions = dict(present.partitions)
    partitions.update({number: ReplicaAssignment(tuple(group)) for number, group in added.items()})
    await store.set_topic_assignment(topic, TopicAssignment(partitions, present.topic_id))


def _fitting(
    given: Mapping[int, Sequence[int]], count: int, wanted: int, factor: int, live: set[int]
) -> dict[int, Sequence[int]]:
    """The new part of a whole assignment, checked against the topic and the live brokers."""
    added = {number: replicas for number, replicas in given.items() if number >= count}
    fault = ""
    if len(given) != wanted:
        fault = f"it has {len(given)} partitions, --partitions says {wanted}"
    for number, replicas in added.items():
        unknown = sorted(set(replicas) - live)
        if unknown:
            fault = f"partition {number} names brokers that are not there: {', '.join(map(str, unknown))}"
        elif len(replicas) != factor:
            fault = f"partition {number} has {len(replicas)} replicas, the topic has {factor}"
    if fault:
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The replica assignment does not fit: {fault}")
    return added


async def _describe(store: ZkStore, request: TopicRequest) -> None:
    names = select_topics(await store.topics(), request)
    require_found(names, request)
    shown = Describing(request.report, request.only_overridden, frozenset(await store.broker_ids()))
    marked = await store.topics_to_delete()
    assignments = await store.topic_assignments(names)
    configs = await store.topic_configs(names)
    for name in names:
        if name not in assignments:
            print(f"Topic {name} doesn't exist!")
            continue
        assignment = assignments[name]
        states = await store.partition_states(TopicPartition(name, number) for number in assignment.partitions)
        topic = TopicDescription(
            name,
            [
                _partition(number, row, states.get(TopicPartition(name, number)))
                for number, row in sorted(assignment.partitions.items())
            ],
            configs[name],
            assignment.topic_id or ZERO_UUID,
            marked_for_deletion=name in marked,
            full_factor=True,
        )
        for line in shown.lines(topic):
            print(line)


def _partition(number: int, row: ReplicaAssignment, state: PartitionState | None) -> PartitionDescription:
    leader = None if state is None or state.leader == NO_LEADER else state.leader
    return PartitionDescription(
        number, leader, row.replicas, state.isr if state is not None else (), row.adding, row.removing
    )
