"""Creates and connects a broker's parts: log directories, replicas, roles, topics and the controller become one Node.

Starts nothing; server.py does. Packages of one floor are connected only here, by passing functions.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable

from kafka_py.base.placement import BrokerRack
from kafka_py.base.purgatory import Purgatory
from kafka_py.broker.metadata.metadata_cache import MetadataCache
from kafka_py.broker.observe.metrics import AllRequestMetrics, PurgatoryMetrics
from kafka_py.broker.own_markers import OwnMarkers
from kafka_py.broker.requests.auto_creation import AutoCreation
from kafka_py.broker.requests.fetch_session_cache import SessionCache
from kafka_py.broker.requests.metadata_answers import MetadataAnswers
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.producer_ids import ProducerIds
from kafka_py.broker.requests.topic_admin import TopicAdmin
from kafka_py.broker.settings.alter_policy import load_alter_policy
from kafka_py.broker.wiring.broker_environment import BrokerEnvironment
from kafka_py.broker.wiring.coordinators import Coordinators
from kafka_py.broker.wiring.marker_wiring import make_marker_channels
from kafka_py.broker.wiring.replica_wiring import Replication
from kafka_py.controller.controller import Controller
from kafka_py.controller.decisions.steps import Address
from kafka_py.controller.topic_policy import load_policy
from kafka_py.log.log_manager import LogManager
from kafka_py.log.model.configs import LogConfig
from kafka_py.net.broker_link import LinkConnection
from kafka_py.net.client import BrokerConnection
from kafka_py.replication.leader.purgatories import Parked
from kafka_py.replication.leader.record_deletion import RecordDeletion
from kafka_py.replication.role_changes import RoleCallbacks, RoleChanges
from kafka_py.wire.fetch_epochs import MAX_EPOCH


def assemble(
    env: BrokerEnvironment,
    log_dirs: LogManager,
    register_again: Callable[[], Awaitable[None]],
    apply_settings: Callable[[str], Awaitable[None]],
) -> Node:
    """Creates the broker's parts and connects them; starts nothing.

    register_again: registers the broker again, in a new ZooKeeper session. apply_settings: see Node.
    """
    config = env.live.current
    metadata = MetadataCache()
    replication = Replication(env, log_dirs, metadata, _make_parked(env))
    replicas = replication.replicas
    producer_ids = ProducerIds(lambda: env.store.admin.claim_producer_ids(env.broker_id))
    markers = make_marker_channels(env, metadata, lambda: OwnMarkers(node))
    coordinators = Coordinators(env, replicas, _purgatory(env, "Rebalance"), markers, producer_ids.next_id)
    roles = RoleChanges(
        replicas,
        env.clock,
        is_live=metadata.is_live,
        log_config=env.topic_configs.of,
        topic_identity=env.store.topics.identity,
        callbacks=_role_callbacks(replication, coordinators),
        supervisor=env.supervisor,
    )
    controller = _make_controller(env, register_again)
    topics = _make_topics(env, metadata, controller)
    node = Node(
        broker_id=env.broker_id,
        cluster_id=env.cluster_id,
        live_config=env.live,
        clock=env.clock,
        store=env.store,
        metadata=metadata, metadata_answers=MetadataAnswers(metadata),
        log_dirs=log_dirs,
        replicas=replicas,
        replication=replication,
        deletion=RecordDeletion(replicas, metadata.is_live),
        roles=roles,
        sessions=SessionCache(
            config.max_incremental_fetch_session_cache_slots, lambda: env.chance.number(1, MAX_EPOCH), env.registry
        ),
        topic_configs=env.topic_configs,
        topics=topics,
        auto_creation=AutoCreation(topics, lambda: env.live.current),
        topic_waits=Purgatory("topic", env.timers),
        election_waits=_purgatory(env, "ElectLeader"),
        producer_ids=producer_ids,
        coordinators=coordinators,
        controller=controller,
        request_metrics=AllRequestMetrics(env.registry),
        quotas=env.quotas,
        authorizer=env.authorizer, tokens=env.tokens.keeper,
        had_topics=env.had_topics,
        apply_settings=apply_settings,
        check_stores=env.logins.check_stores,
        alter_policy=load_alter_policy(config.alter_config_policy_class_name, config.originals),
    )
    return node


def _make_parked(env: BrokerEnvironment) -> Parked:
    return Parked(
        _purgatory(env, "Produce"), _purgatory(env, "Fetch"), _purgatory(env, "DeleteRecords"), env.loop.call_soon
    )


def _role_callbacks(replication: Replication, coordinators: Coordinators) -> RoleCallbacks:
    fetchers = replication.fetchers
    return RoleCallbacks(
        on_become_follower=(fetchers.start,),
        on_following_settled=(fetchers.end_idle,),
        on_stop_following=(fetchers.stop,),
        on_roles_changed=(replication.resume_moves, coordinators.roles_changed),
        on_stopped=(coordinators.stopped,),
    )


def _make_topics(env: BrokerEnvironment, metadata: MetadataCache, controller: Controller) -> TopicAdmin:
    config = env.live.current
    return TopicAdmin(
        env.store,
        lambda: env.live.current,
        live_brokers=lambda: [BrokerRack(*row) for row in metadata.racks().items()],
        validate_configs=lambda overrides: LogConfig.check(overrides, env.live.current),
        chance=env.chance,
        clock=env.clock,
        exists=metadata.has_topic,
        is_queued=controller.is_queued_for_deletion,
        policy=load_policy(config.create_topic_policy_class_name, config.originals),
    )


def _purgatory(env: BrokerEnvironment, name: str) -> Purgatory[Hashable]:
    purgatory: Purgatory[Hashable] = Purgatory(name, env.timers)
    PurgatoryMetrics(env.registry, purgatory, delayedOperation=name)
    return purgatory


def _make_controller(env: BrokerEnvironment, register_again: Callable[[], Awaitable[None]]) -> Controller:
    config = env.live.current
    security = env.security_to(env.listening.control_plane_listener or env.listening.inter_broker_listener)

    async def connect(address: Address) -> LinkConnection:
        return await BrokerConnection.connect(
            address.host,
            address.port,
            client_id=str(env.broker_id),
            timeout_ms=config.controller_socket_timeout_ms,
            network=env.network,
            clock=env.clock,
            security=security,
        )

    return Controller(
        env.broker_id,
        store=env.store,
        config=config,
        connect=connect,
        register_broker=register_again,
        clock=env.clock,
        chance=env.chance,
        registry=env.registry,
        listener=env.listening.inter_broker_listener,
        control_listener=env.listening.control_plane_listener,
        request_timeout_ms=config.request_timeout_ms,
        on_role=env.tokens.control,
        supervisor=env.supervisor,
    )
