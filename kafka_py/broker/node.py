"""The broker as its handlers see it: everything they may use, in one value. Built by server.py, by tests from fakes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Hashable
from dataclasses import dataclass, field

from kafka_py.base.clock import Clock
from kafka_py.base.purgatory import Purgatory
from kafka_py.broker.authorization import ALLOW_ALL, Authorizer
from kafka_py.broker.auto_creation import AutoCreation
from kafka_py.broker.configs import BrokerConfig
from kafka_py.broker.fetch_sessions import SessionCache
from kafka_py.broker.live_config import LiveConfig
from kafka_py.broker.metadata_cache import MetadataCache
from kafka_py.broker.metrics import AllRequestMetrics
from kafka_py.broker.producer_ids import ProducerIds
from kafka_py.broker.topic_configs import TopicConfigs
from kafka_py.controller.controller import Controller
from kafka_py.controller.topics import TopicAdmin
from kafka_py.log.log_dirs import LogDirs
from kafka_py.replication.replica_manager import ReplicaManager
from kafka_py.replication.role_changes import RoleChanges
from kafka_py.zk.store import ZkStore

CLUSTER_KNOWN_TIMEOUT_S = 5.0
"""How long a broker that has just started waits for the controller's first description of the cluster."""


@dataclass(slots=True)
class Node:
    """One broker.

    live_config: the settings, which may change at run time. broker_epoch: of the present registration.
    topic_waits: operations that wait for the metadata cache to show a topic, or show it no more.
    cluster_known: set once the controller has described a cluster that this broker is part of.
    """

    broker_id: int
    cluster_id: str
    live_config: LiveConfig
    clock: Clock
    store: ZkStore
    metadata: MetadataCache
    log_dirs: LogDirs
    replicas: ReplicaManager
    roles: RoleChanges
    sessions: SessionCache
    topic_configs: TopicConfigs
    topics: TopicAdmin
    auto_creation: AutoCreation
    topic_waits: Purgatory[Hashable]
    producer_ids: ProducerIds
    controller: Controller
    request_metrics: AllRequestMetrics
    broker_epoch: int = -1
    cluster_known: asyncio.Event = field(default_factory=asyncio.Event)
    authorizer: Authorizer = field(default=ALLOW_ALL)

    async def wait_cluster_known(self) -> None:
        """Returns when the cluster is known, or has not become so for CLUSTER_KNOWN_TIMEOUT_S."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLUSTER_KNOWN_TIMEOUT_S):
                await self.cluster_known.wait()

    @property
    def config(self) -> BrokerConfig:
        """The settings in force."""
        return self.live_config.current
