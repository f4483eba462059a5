"""A broker's parts, made and joined: log directories, replicas, roles, topics and the controller become one Node.

Nothing happens here yet; server.py starts what is made. Neighbours of one floor meet only here, as functions handed
over.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import Executor
from dataclasses import dataclass

from kafka_py.base.clock import Clock
from kafka_py.base.meters import MetricRegistry
from kafka_py.base.purgatory import Purgatory
from kafka_py.base.supervision import Supervisor
from kafka_py.base.timers import Timers
from kafka_py.broker.alter_policy import load_alter_policy
from kafka_py.broker.auto_creation import AutoCreation
from kafka_py.broker.coordinators import Coordinators
from kafka_py.broker.fetch_sessions import MAX_EPOCH, SessionCache
from kafka_py.broker.live_config import LiveConfig
from kafka_py.broker.metadata_answers import MetadataAnswers
from kafka_py.broker.metadata_cache import MetadataCache
from kafka_py.broker.metrics import AllRequestMetrics, PurgatoryMetrics
from kafka_py.broker.node import Node
from kafka_py.broker.producer_ids import ProducerIds
from kafka_py.broker.replication import Replication
from kafka_py.broker.topic_configs import TopicConfigs
from kafka_py.controller.channels import Address, Connection
from kafka_py.controller.controller import Controller
from kafka_py.controller.placement import BrokerRack
from kafka_py.controller.topic_policy import load_policy
from kafka_py.controller.topics import TopicAdmin
from kafka_py.log.configs import LogConfig
from kafka_py.log.log_dirs import LogDirs
from kafka_py.net.client import BrokerConnection
from kafka_py.net.endpoints import Listening
from kafka_py.net.network import Network
from kafka_py.replication.metrics import ReplicaMetrics
from kafka_py.replication.parked import Parked
from kafka_py.replication.record_deletion import RecordDeletion
from kafka_py.replication.replica_manager import ReplicaManager
from kafka_py.replication.role_changes import RoleCallbacks, RoleChanges
from kafka_py.zk.store import ZkStore


@dataclass(frozen=True, slots=True)
class World:
    """What a broker's parts stand on: who it is, its settings, and everything that reaches outside.

    supervisor: of all background work, until the broker stops. offsets_partitions: of the topic where groups are kept.
    """

    broker_id: int
    cluster_id: str
    live: LiveConfig
    topic_configs: TopicConfigs
    listening: Listening
    clock: Clock
    timers: Timers
    loop: asyncio.AbstractEventLoop
    registry: MetricRegistry
    store: ZkStore
    network: Network | None
    executor: Executor
    supervisor: Supervisor
    offsets_partitions: int


def assemble(world: World, log_dirs: LogDirs, register_again: Callable[[], Awaitable[None]]) -> Node:
    """Makes the broker's parts and joins them; nothing happens yet.

    register_again: puts the broker among the live ones once more, after its ZooKeeper session was lost.
    """
    config = world.live.current
    metadata = MetadataCache()
    chance = random.SystemRandom()
    replicas = ReplicaManager(
        world.broker_id,
        config,
        log_dirs,
        world.clock,
        parked=Parked(
            _purgatory(world, "Produce"),
            _purgatory(world, "Fetch"),
            _purgatory(world, "DeleteRecords"),
            world.loop.call_soon,
        ),
        is_known=metadata.has_partition,
        metrics=ReplicaMetrics(world.registry),
        background=log_dirs.background,
        rng=random.Random(chance.getrandbits(64)),
        supervisor=world.supervisor,
    )
    replication = Replication(world, replicas, metadata)
    roles = RoleChanges(
        replicas,
        world.clock,
        is_live=metadata.is_live,
        log_config=world.topic_configs.of,
        topic_identity=world.store.topic_identity,
        callbacks=RoleCallbacks(),
        supervisor=world.supervisor,
    )
    replication.listen(roles.callbacks)
    coordinators = Coordinators(
        world.live,
        replicas,
        world.clock,
        timers=world.timers,
        registry=world.registry,
        rebalances=_purgatory(world, "Rebalance"),
        partition_count=world.offsets_partitions,
        executor=world.executor,
        supervisor=world.supervisor,
    )
    coordinators.listen(roles.callbacks)
    controller = _make_controller(world, register_again)
    topics = TopicAdmin(
        world.store,
        lambda: world.live.current,
        live_brokers=lambda: [BrokerRack(*row) for row in metadata.racks().items()],
        validate_configs=lambda overrides: LogConfig.check(overrides, world.live.current),
        exists=metadata.has_topic,
        is_queued=controller.is_queued_for_deletion,
        policy=load_policy(config.create_topic_policy_class_name, config.originals),
    )
    return Node(
        broker_id=world.broker_id,
        cluster_id=world.cluster_id,
        live_config=world.live,
        clock=world.clock,
        store=world.store,
        metadata=metadata,
        metadata_answers=MetadataAnswers(metadata),
        log_dirs=log_dirs,
        replicas=replicas,
        replication=replication,
        deletion=RecordDeletion(replicas, metadata.is_live),
        roles=roles,
        sessions=SessionCache(
            config.max_incremental_fetch_session_cache_slots, lambda: chance.randint(1, MAX_EPOCH), world.registry
        ),
        topic_configs=world.topic_configs,
        topics=topics,
        auto_creation=AutoCreation(topics, lambda: world.live.current),
        topic_waits=Purgatory("topic", world.timers),
        election_waits=_purgatory(world, "ElectLeader"),
        producer_ids=ProducerIds(lambda: world.store.claim_producer_ids(world.broker_id)),
        coordinators=coordinators,
        controller=controller,
        request_metrics=AllRequestMetrics(world.registry),
        alter_policy=load_alter_policy(config.alter_config_policy_class_name, config.originals),
    )


def _purgatory(world: World, name: str) -> Purgatory[Hashable]:
    purgatory: Purgatory[Hashable] = Purgatory(name, world.timers)
    PurgatoryMetrics(world.registry, purgatory, delayedOperation=name)
    return purgatory


def _make_controller(world: World, register_again: Callable[[], Awaitable[None]]) -> Controller:
    config = world.live.current

    async def connect(address: Address) -> Connection:
        return await BrokerConnection.connect(
            address.host,
            address.port,
            client_id=str(world.broker_id),
            timeout_ms=config.controller_socket_timeout_ms,
            network=world.network,
        )

    return Controller(
        world.broker_id,
        store=world.store,
        config=config,
        connect=connect,
        register_broker=register_again,
        clock=world.clock,
        registry=world.registry,
        listener=world.listening.inter_broker_listener,
        control_listener=world.listening.control_plane_listener,
        request_timeout_ms=config.request_timeout_ms,
        supervisor=world.supervisor,
    )
