"""Real brokers as nodes of a simulation: started, killed, paused, cut off, and looked into.

Knows how a broker is put together; nothing of schedules or of what must hold.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kafka_py.base.chance import Chance
from kafka_py.base.ids import TopicPartition
from kafka_py.broker.server import KafkaServer
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.wiring.server_environment import ServerEnvironment
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.net.client import BrokerConnection
from kafka_py.replication.state.partition import Partition
from kafka_py.testing.fakes.files import FakeFiles, Loss
from kafka_py.testing.simulation.history import ClusterHistory
from kafka_py.testing.simulation.network import NodeNetwork, SimulatedNetwork
from kafka_py.testing.simulation.nodes import InlineExecutor, NodeLoop, SimulatedNode
from kafka_py.testing.virtual_time import VirtualClock
from kafka_py.testing.zookeeper import FakeSession, FakeZookeeper
from kafka_py.zk.session import Op, SessionState

LOG_DIR = "/kafka-logs"
PORT = 9092
SESSION_TIMEOUT_MS = 2000
START_DEADLINE_S = 120.0
OUTSIDE = "outside"
"""The host of clients."""

SETTINGS = {
    "listeners": f"PLAINTEXT://:{PORT}",
    "log.dirs": LOG_DIR,
    "zookeeper.connect": "in-memory:2181",
    "num.recovery.threads.per.data.dir": "1",
    "replica.lag.time.max.ms": "2000",
    "replica.fetch.wait.max.ms": "300",
    "replica.high.watermark.checkpoint.interval.ms": "1000",
    "controller.socket.timeout.ms": "3000",
    "request.timeout.ms": "3000",
    "replica.socket.timeout.ms": "3000",
    "min.insync.replicas": "2",
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "1",
    "auto.create.topics.enable": "false",
    "controlled.shutdown.retry.backoff.ms": "500",
    "unclean.leader.election.enable": "false",
    "log.segment.bytes": "16384",
    "log.index.size.max.bytes": "4096",
}


def rack_of(broker_id: int) -> str:
    """Every broker has a rack of its own."""
    return f"rack{broker_id}"


class SimulatedBroker:
    """A broker with its disk, over all its lives."""

    def __init__(self, cluster: SimulatedCluster, broker_id: int) -> None:
        self.broker_id = broker_id
        self.name = f"broker{broker_id}"
        self.clock = VirtualClock(cluster.loop)
        self._chance = cluster.new_chance()
        self.files = FakeFiles(now_ms=self.clock.wall_ms)
        self.node: SimulatedNode | None = None
        self.server: KafkaServer | None = None
        self.session: FakeSession | None = None
        self.failure: BaseException | None = None
        """Why its last start failed."""
        self.ends: dict[TopicPartition, int] = {}
        """Where its logs ended when its last life did."""
        self._cluster = cluster
        self._life: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        """Neither killed nor stopped; it may still be starting."""
        return self.node is not None

    def start(self) -> None:
        """Begins a new life on what is on its disk."""
        cluster = self._cluster
        self.node = node = cluster.loop.node(self.name)
        self.failure = None
        self._life = node.run(self._live(node))

    async def _live(self, node: SimulatedNode) -> None:
        cluster = self._cluster
        settings = {**SETTINGS, **cluster.settings, "broker.id": str(self.broker_id)}
        settings["broker.rack"] = rack_of(self.broker_id)
        settings["advertised.listeners"] = f"PLAINTEXT://{self.name}:{PORT}"
        self.session = cluster.zookeeper.session()
        self.ends = {}  # it copies and serves before its start has ended
        environment = ServerEnvironment(
            self.clock, self._chance, self.files, cluster.network.of(node), self.session, InlineExecutor()
        )
        server = KafkaServer(BrokerConfig.parse(settings), environment)
        try:
            await server.start()
            self.server = server
            reason = await server.failed
            self.failure = RuntimeError(reason)
            await server.shutdown()
        except Exception as error:  # a verdict for the invariants, whatever it is
            self.failure = error

    @property
    def log_dirs(self) -> list[str]:
        """The paths of its log directories."""
        return self._cluster.settings.get("log.dirs", LOG_DIR).split(",")

    @property
    def has_failed(self) -> bool:
        """Whether it needs a new start: it ended by itself, or continues without one of its directories."""
        return self.failure is not None or (
            self.server is not None and bool(self.server.node.log_dirs.offline_directories)
        )

    def kill(self, loss: Loss = Loss.NOTHING, rng: random.Random | None = None) -> None:
        """kill -9; with a loss the whole machine fails."""
        if self.node is None:
            return
        if self.server is not None:
            self.ends = {log.topic_partition: log.log_end_offset for log in self.server.node.log_dirs.all_logs()
                         if not log.files.is_future}  # fmt: skip
        self.node.kill()
        self._cluster.network.node_died(self.name)
        self.files.crash(loss, rng)
        if self.session is not None:
            self._cluster.zookeeper.cut_off(self.session)
        self._cluster.graveyard.append((self.server, self.session, self._life))
        self.node = self.server = self.session = None

    async def stop(self) -> None:
        """SIGTERM; returns when the process has ended. A broker that does not end within a minute is killed."""
        node, server = self.node, self.server
        if node is None or server is None:
            self.kill()
            return
        stopping = node.run(server.shutdown())
        await asyncio.wait([stopping], timeout=60)
        if self.node is node:
            self.kill()  # the process ends, well or not; a session that it left open times out

    def pause(self) -> None:
        """SIGSTOP; ZooKeeper ends its session when that lasts too long."""
        if self.node is not None:
            self.node.pause()
            self.cut_zookeeper()

    def resume(self) -> None:
        """SIGCONT."""
        if self.node is not None:
            self.node.resume()
            self.mend_zookeeper()

    def cut_zookeeper(self) -> None:
        """ZooKeeper is out of reach."""
        if self.session is not None and self.session.state is SessionState.CONNECTED and self.node is not None:
            self.node.context.copy().run(self.session.cut)

    def mend_zookeeper(self) -> None:
        if self.session is not None and self.session.state is SessionState.SUSPENDED and self.node is not None:
            self.node.context.copy().run(self.session.mend)

    def expire(self) -> None:
        """ZooKeeper ends the session at once."""
        if self.session is not None and self.session.state is SessionState.CONNECTED and self.node is not None:
            self.node.context.copy().run(self.session.expire)

    def partitions(self) -> Mapping[TopicPartition, Partition]:
        """What it hosts; nothing while it is not up."""
        return self.server.node.hosted.partitions if self.server is not None else {}

    def end_offset(self, topic_partition: TopicPartition) -> int | None:
        """Where its log of a partition ends; None when that cannot be known, as its directory has failed."""
        if self.server is None:
            return self.ends.get(topic_partition)
        log = self.log(topic_partition)
        return log.log_end_offset if log is not None else None

    def log(self, topic_partition: TopicPartition) -> PartitionLog | None:
        return self.server.node.log_dirs.get(topic_partition) if self.server is not None else None


class SimulatedZookeeper(FakeZookeeper):
    """Ends the session of a client that died, after the session's time-out."""

    def __init__(self, loop: NodeLoop) -> None:
        super().__init__(VirtualClock(loop), session_timeout_ms=SESSION_TIMEOUT_MS)
        self.history = ClusterHistory(loop.time)
        self._loop = loop

    def apply_all(self, session_id: int, ops: Sequence[Op]) -> list[Any]:
        results = super().apply_all(session_id, ops)
        self.history.written(ops)
        return results

    def cut_off(self, session: FakeSession) -> None:
        """Its process has ended: nothing reaches it."""
        self._loop.call_later(SESSION_TIMEOUT_MS / 1000, self.end_session, session.session_id)


class SimulatedCluster:
    """Brokers 1 to n, a ZooKeeper, a network."""

    def __init__(self, loop: NodeLoop, rng: random.Random, brokers: int, settings: Mapping[str, str]) -> None:
        self.loop = loop
        self._rng = rng
        self.settings = dict(settings)
        self.topics_stay = True
        """Whether no topic is ever deleted."""
        self.network = SimulatedNetwork(loop, rng)
        self.zookeeper = SimulatedZookeeper(loop)
        self.graveyard: list[object] = []
        """Dead brokers: nothing of theirs may be collected, and so run its last words, before the end."""
        self.brokers = [SimulatedBroker(self, number + 1) for number in range(brokers)]
        self.outside = NodeNetwork(self.network, OUTSIDE)

    @property
    def history(self) -> ClusterHistory:
        """What really happened."""
        return self.zookeeper.history

    def held_in_sync(self, topic_partition: TopicPartition) -> int | None:
        """What every replica in sync holds ends here (exclusive), so nothing behind can be committed; None: not known.

        In sync is who ZooKeeper says is. Where an election was unclean, nothing is known.
        """
        history = self.history
        if history.had_unclean_election(topic_partition):
            return None
        members = history.isr.get(topic_partition, frozenset())
        ends = [self.brokers[broker_id - 1].end_offset(topic_partition) for broker_id in members]
        return min((end for end in ends if end is not None), default=None)

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{broker.name}:{PORT}" for broker in self.brokers)

    def new_chance(self) -> Chance:
        """Where one broker or client gets its randomness from, over all its lives."""
        return Chance(self._rng.getrandbits(64))

    def broker(self, name: str) -> SimulatedBroker:
        """By its host's name."""
        return next(broker for broker in self.brokers if broker.name == name)

    def client_environment(self) -> ClientEnvironment:
        """What one client of kafka_py gets of this world."""
        return ClientEnvironment(self.brokers[0].clock, self.new_chance(), self.outside)

    async def connect(self, host: str, port: int, timeout_ms: float, client_id: str = "client") -> BrokerConnection:
        """A client's negotiated connection. Raises ConnectionLost, TimeoutError."""
        async with asyncio.timeout(timeout_ms / 1000):
            wire = await BrokerConnection.connect(
                host, port, client_id=client_id, timeout_ms=timeout_ms, network=self.outside,
                clock=self.brokers[0].clock,
            )  # fmt: skip
            try:
                await wire.negotiate()
            except BaseException:
                wire.close()
                raise
            return wire

    async def until(self, condition: Callable[[], object], deadline_s: float, what: str) -> None:
        """Lets virtual time pass until `condition()` holds. Raises AssertionError."""
        ends = self.loop.time() + deadline_s
        while not condition():
            if self.loop.time() > ends:
                raise AssertionError(f"not within {deadline_s:.0f} s of simulated time: {what}")
            await asyncio.sleep(0.1)

    async def start_all(self) -> None:
        """All brokers up. Raises AssertionError."""
        for broker in self.brokers:
            broker.start()
        await self.until(lambda: all(each.server is not None for each in self.brokers), START_DEADLINE_S, "all up")

    def servers(self) -> Iterator[SimulatedBroker]:
        return (broker for broker in self.brokers if broker.server is not None)

    def heal(self) -> None:
        """Nothing is cut, paused, failing or down from now on."""
        self.network.mend_all()
        for broker in self.brokers:
            broker.files.heal()
            if broker.node is not None and broker.node.is_paused:
                broker.resume()
            broker.mend_zookeeper()
            if broker.has_failed:
                broker.kill()
            if not broker.is_running:
                broker.start()

    def close(self) -> None:
        """Every node ends, as by kill -9."""
        for broker in self.brokers:
            with contextlib.suppress(OSError):
                broker.kill()
