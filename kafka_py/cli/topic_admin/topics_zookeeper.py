"""kafka-topics.sh --zookeeper: topics read and written straight in ZooKeeper, past the brokers (deprecated).

The controller sees the znodes and does the rest. Topics made this way get no topic id. Placement and name rules are
the controller's own.
Source: docs/reference/tools.md, section 2; docs/reference/controller.md, section 14; docs/reference/zookeeper.md,
sections 8 and 10.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_py.base.chance import Chance
from kafka_py.base.clock import SystemClock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import NO_LEADER, ZERO_UUID, TopicPartition
from kafka_py.base.placement import BrokerRack
from kafka_py.broker.requests.topic_admin import BROKER_DEFAULT, RackMode, TopicAdmin, TopicToCreate, registered_brokers
from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.common.zookeeper_connection import on_zookeeper
from kafka_py.cli.topic_admin.topic_description import Describing, PartitionDescription, ShownTopic
from kafka_py.cli.topic_admin.topic_requests import TopicAction, require_found, select_topics
from kafka_py.controller import topic_names
from kafka_py.controller.configs import ControllerOptions
from kafka_py.zk.config_znodes import entity_path
from kafka_py.zk.partitions import LeaderAndIsr
from kafka_py.zk.store import ZkStore
from kafka_py.zk.topics import ReplicaAssignment

CONFIG_WARNING = (
    "WARNING: Altering topic configuration from this script has been deprecated and may be removed in future "
    "releases.\n         Going forward, please use kafka-configs.sh for this functionality"
)
KEYS_WARNING = (
    "WARNING: If partitions are increased for a topic that has a key, the partition logic or ordering of the messages "
    "will be affected"
)


def run_on_zookeeper(connect: str, request: TopicAction) -> None:
    """Carries out one request. Raises CommandFailed, KafkaError, or ConfigError for a malformed connect string."""
    on_zookeeper(connect, lambda store: carry_out(store, request), CommandFailed)


async def carry_out(store: ZkStore, request: TopicAction) -> None:
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


async def _create(store: ZkStore, request: TopicAction) -> None:
    if request.collision_warning:
        print(request.collision_warning)
    request.check_counts()
    try:
        await create_topic(store, request)
    except KafkaError as error:
        if error.code is ErrorCode.TOPIC_ALREADY_EXISTS and request.if_not_exists:
            return
        raise
    print(f"Created topic {request.name}.")


async def create_topic(store: ZkStore, request: TopicAction) -> None:
    """Writes the znodes of a new topic. Raises KafkaError for a bad or taken name, or what cannot be placed."""
    counted = request.assignment is None
    brokers = await registered_brokers(store, _rack_mode(request)) if counted else []
    admin = _admin(store, brokers)
    planned = await admin.plan(
        TopicToCreate(
            request.name,
            BROKER_DEFAULT if request.partitions is None else request.partitions,
            BROKER_DEFAULT if request.replication_factor is None else request.replication_factor,
            request.assignment or {},
            request.configs,
        )
    )
    await admin.write(planned._replace(topic_id=None))


def _rack_mode(request: TopicAction) -> RackMode:
    return RackMode.ENFORCED if request.rack_aware else RackMode.DISABLED


def _admin(store: ZkStore, brokers: Sequence[BrokerRack] = ()) -> TopicAdmin:
    """The controller's own rules; configs have been checked when the command line was read."""
    return TopicAdmin(
        store, ControllerOptions.parse, live_brokers=lambda: brokers, validate_configs=lambda _configs: None,
        chance=Chance(), clock=SystemClock(),
    )  # fmt: skip


async def _list(store: ZkStore, request: TopicAction) -> None:
    marked = await store.topics.marked_for_deletion()
    for name in select_topics(await store.topics.names(), request):
        print(f"{name} - marked for deletion" if name in marked else name)


async def _delete(store: ZkStore, request: TopicAction) -> None:
    names = select_topics(await store.topics.names(), request)
    require_found(names, request)
    marked = await store.topics.marked_for_deletion()
    for name in names:
        if topic_names.is_internal(name):
            raise CommandFailed(f"Topic {name} is a kafka internal topic and is not allowed to be marked for deletion.")
        if name in marked:
            print(f"Topic {name} is already marked for deletion.")
            continue
        await store.topics.mark_for_deletion(name)
        print(f"Topic {name} is marked for deletion.")
        print("Note: This will have no impact if delete.topic.enable is not set to true.")


async def _alter(store: ZkStore, request: TopicAction) -> None:
    names = select_topics(await store.topics.names(), request)
    require_found(names, request)
    for name in names:
        if request.configs or request.delete_configs:
            print(CONFIG_WARNING)
            await store.configs.edit(entity_path(("topics", name)), request.edit_configs)
            print(f"Updated config for topic {name}.")
        if request.partitions is not None:
            if topic_names.is_internal(name):
                raise CommandFailed(f"The number of partitions for the internal topic {name} cannot be changed.")
            print(KEYS_WARNING)
            await add_partitions(store, name, request)
            print("Adding partitions succeeded!")


async def add_partitions(store: ZkStore, topic: str, request: TopicAction) -> None:
    """Writes the topic's assignment with more partitions; its id and the present partitions stay as they are.

    Raises KafkaError as CreatePartitions does.
    """
    added = None
    if request.assignment is not None:
        count = await store.topics.partition_count(topic) or 0
        added = [replicas for _, replicas in sorted(request.assignment.items())][count:]
    admin = _admin(store)
    basis = await admin.growth_basis(1, _rack_mode(request))
    await admin.grow(topic, request.partitions or 1, added, basis=basis)


async def _describe(store: ZkStore, request: TopicAction) -> None:
    names = select_topics(await store.topics.names(), request)
    require_found(names, request)
    shown = Describing(request.report, request.only_overridden, frozenset(await store.brokers.ids()))
    marked = await store.topics.marked_for_deletion()
    assignments = await store.topics.assignments(names)
    configs = await store.configs.of_topics(names)
    states = await store.partitions.states(
        TopicPartition(name, number) for name, assignment in assignments.items() for number in assignment.partitions
    )
    for name in names:
        if name not in assignments:
            print(f"Topic {name} doesn't exist!")
            continue
        assignment = assignments[name]
        topic = ShownTopic(
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


def _partition(number: int, row: ReplicaAssignment, state: LeaderAndIsr | None) -> PartitionDescription:
    leader = None if state is None or state.leader == NO_LEADER else state.leader
    return PartitionDescription(
        number, leader, row.replicas, state.isr if state is not None else (), row.adding, row.removing
    )
