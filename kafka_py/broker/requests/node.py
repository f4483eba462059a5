"""The broker as its handlers see it: everything that they may use, in one value. Created by assembly.py."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafka_py.base.clock import Clock
from kafka_py.base.exclusion import KeyedLocks
from kafka_py.base.purgatory import Purgatory
from kafka_py.base.turns import Turn
from kafka_py.broker.metadata.metadata_cache import MetadataCache
from kafka_py.broker.metadata.topic_waits import THE_CLUSTER, wait_for_topics
from kafka_py.broker.observe.metrics import AllRequestMetrics
from kafka_py.broker.quotas.client_quotas import ClientQuotas
from kafka_py.broker.requests.auto_creation import AutoCreation
from kafka_py.broker.requests.fetch_session_cache import SessionCache
from kafka_py.broker.requests.metadata_answers import MetadataAnswers
from kafka_py.broker.requests.producer_ids import ProducerIds
from kafka_py.broker.requests.throttling import Throttling
from kafka_py.broker.requests.topic_admin import TopicAdmin
from kafka_py.broker.settings.alter_policy import AlterPolicy
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.settings.live_config import LiveConfig
from kafka_py.broker.settings.topic_configs import TopicConfigs
from kafka_py.broker.wiring.coordinators import Coordinators
from kafka_py.broker.wiring.replica_wiring import Replication
from kafka_py.controller.controller import Controller
from kafka_py.log.log_manager import LogManager
from kafka_py.replication.leader.appends import Appends
from kafka_py.replication.leader.fetches import Fetches
from kafka_py.replication.leader.record_deletion import RecordDeletion
from kafka_py.replication.leader.replica_manager import ReplicaManager
from kafka_py.replication.role_changes import RoleChanges
from kafka_py.replication.state.hosted import HostedPartitions
from kafka_py.security.acls.authorization import ALLOW_ALL, Authorizer
from kafka_py.zk.store import ZkStore

if TYPE_CHECKING:
    from kafka_py.security.tokens.token_keeper import TokenKeeper

CLUSTER_KNOWN_TIMEOUT_MS = 5000
"""How long a started broker waits for the first UpdateMetadata."""


async def _apply_nothing(entity: str) -> None:
    """Default of `apply_settings`: does nothing."""


async def _accept_stores(config: BrokerConfig) -> None:
    """Default of `check_stores`: there are none."""


@dataclass(slots=True)
class Node:
    """One broker.

    live_config: the settings, which may change at run time. broker_epoch: of the current registration. hosted, appends,
        fetches: parts of `replicas`, used by every produce and fetch. topic_waits: operations that wait until a topic
        is in the metadata cache, or is removed from it. election_waits: operations that wait until a partition's new
        leader is in the metadata cache.
    had_topics: whether the cluster had topics when this broker started.
    quotas: of clients. throttling: applies them to requests; None until there is a quota.
    apply_settings: re-reads and applies the settings of an entity, before the change notification arrives: a client
        that got the response to a change sees it here.
    tokens: delegation tokens; None on a broker without a secret for them.
    check_stores: raises ConfigError if listeners may not have the key and trust stores of these settings.
    config_locks: by entity path; held while the settings of the entity are read, changed and written.
    """

    broker_id: int
    cluster_id: str
    live_config: LiveConfig
    clock: Clock
    store: ZkStore
    metadata: MetadataCache
    metadata_answers: MetadataAnswers
    log_dirs: LogManager
    replicas: ReplicaManager
    replication: Replication
    deletion: RecordDeletion
    roles: RoleChanges
    sessions: SessionCache
    topic_configs: TopicConfigs
    topics: TopicAdmin
    auto_creation: AutoCreation
    topic_waits: Purgatory[Hashable]
    election_waits: Purgatory[Hashable]
    producer_ids: ProducerIds
    coordinators: Coordinators
    controller: Controller
    request_metrics: AllRequestMetrics
    quotas: ClientQuotas
    broker_epoch: int = -1
    had_topics: bool = False
    described: bool = False
    throttling: Throttling | None = None
    authorizer: Authorizer = field(default=ALLOW_ALL)
    tokens: TokenKeeper | None = None
    alter_policy: AlterPolicy | None = None
    config_locks: KeyedLocks = field(default_factory=KeyedLocks)
    apply_settings: Callable[[str], Awaitable[None]] = _apply_nothing
    check_stores: Callable[[BrokerConfig], Awaitable[None]] = _accept_stores
    hosted: HostedPartitions = field(init=False)
    appends: Appends = field(init=False)
    fetches: Fetches = field(init=False)

    def __post_init__(self) -> None:
        self.hosted = self.replicas.hosted
        self.appends = self.replicas.appends
        self.fetches = self.replicas.fetches

    def begin_epoch(self, broker_epoch: int) -> None:
        """Sets the broker epoch, after the first registration or one in a new session."""
        self.broker_epoch = broker_epoch

    @property
    def is_cluster_known(self) -> bool:
        """Whether the metadata cache has this broker and, if the cluster has any, topics.

        A new controller first sends the live brokers only; a client with a Metadata response from that state would
        treat its topics as deleted and drop its records.
        """
        if not self.described:
            topics_known = not self.had_topics or any(self.metadata.topics())
            self.described = topics_known and self.metadata.is_live(self.broker_id)
        return self.described

    async def wait_cluster_known(self) -> None:
        """Returns when the cluster is known, or after CLUSTER_KNOWN_TIMEOUT_MS."""
        turn = Turn(self.clock)
        await wait_for_topics(
            self.topic_waits, (THE_CLUSTER,), lambda _: self.is_cluster_known, CLUSTER_KNOWN_TIMEOUT_MS, turn
        )
        self.described = True

    @property
    def config(self) -> BrokerConfig:
        """The current settings."""
        return self.live_config.current
