"""What a broker's parts are given when they are made: who it is, its settings, and everything that reaches outside."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from dataclasses import dataclass

from kafka_py.base.chance import Chance
from kafka_py.base.clock import Clock
from kafka_py.base.meters import MetricRegistry
from kafka_py.base.supervision import Supervisor
from kafka_py.base.timers import Timers
from kafka_py.broker.settings.live_config import LiveConfig
from kafka_py.broker.settings.topic_configs import TopicConfigs
from kafka_py.broker.wiring.server_environment import ServerEnvironment
from kafka_py.net.endpoints import Listening
from kafka_py.net.network import Network
from kafka_py.zk.store import ZkStore


@dataclass(frozen=True, slots=True)
class BrokerEnvironment:
    """Of one broker that runs in this process.

    outside: what it was given at its start. executor: runs what blocks. supervisor: of all background work, until the
    broker stops. offsets_partitions: of the topic where groups are kept, as it is or will be created.
    had_topics: whether the cluster had topics when this broker started.
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
    offsets_partitions: int
    had_topics: bool

    @property
    def clock(self) -> Clock:
        return self.outside.clock

    @property
    def chance(self) -> Chance:
        return self.outside.chance

    @property
    def network(self) -> Network:
        return self.outside.network
