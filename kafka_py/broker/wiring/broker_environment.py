"""The environment of a broker's parts: its identity, its settings, and all access to the outside."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from dataclasses import dataclass

from kafka_py.base.chance import Chance
from kafka_py.base.clock import Clock
from kafka_py.base.meters import MetricRegistry
from kafka_py.base.supervision import Supervisor
from kafka_py.base.timers import Timers
from kafka_py.broker.quotas.client_quotas import ClientQuotas
from kafka_py.broker.settings.live_config import LiveConfig
from kafka_py.broker.settings.topic_configs import TopicConfigs
from kafka_py.broker.wiring.logins import BrokerLogins
from kafka_py.broker.wiring.server_environment import ServerEnvironment
from kafka_py.broker.wiring.tokens import BrokerTokens
from kafka_py.net.endpoints import Listening
from kafka_py.net.network import Network
from kafka_py.net.secured.client_security import ConnectionSecurity
from kafka_py.security.acls.authorization import Authorizer
from kafka_py.zk.store import ZkStore


@dataclass(frozen=True, slots=True)
class BrokerEnvironment:
    """The environment of one broker in this process.

    outside: the environment of its server. executor: runs blocking work. supervisor: of all background work, until the
    broker stops. offsets_partitions, transaction_partitions: numbers of partitions of the internal topics, as they
    are or will be created. had_topics: whether the cluster had topics when this broker started.
    """

    broker_id: int
    cluster_id: str
    live: LiveConfig
    topic_configs: TopicConfigs
    listening: Listening
    outside: ServerEnvironment
    timers: Timers
    loop: asyncio.AbstractEventLoop
    registry: MetricRegistry
    store: ZkStore
    executor: Executor
    supervisor: Supervisor
    quotas: ClientQuotas
    authorizer: Authorizer
    logins: BrokerLogins
    tokens: BrokerTokens
    offsets_partitions: int
    transaction_partitions: int
    had_topics: bool

    def security_to(self, listener: str) -> ConnectionSecurity:
        """How connections to that listener of other brokers are protected."""
        return self.logins.security_to(listener)

    @property
    def clock(self) -> Clock:
        return self.outside.clock

    @property
    def chance(self) -> Chance:
        return self.outside.chance

    @property
    def network(self) -> Network:
        return self.outside.network
