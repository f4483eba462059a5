"""A whole broker inside the test's own process and loop: real sockets and files, ZooKeeper in memory.

    @on_broker(num_partitions=3)
    async def test_something(broker: LocalBroker) -> None:
        response = await broker.ask(MetadataRequest(topics=None), 9)

Starts in a few hundredths of a second. For processes see broker.py, for many brokers and simulated time see the
simulation tests.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from typing import Any

from kafka_py.base.clock import SYSTEM_CLOCK, Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.broker.server import KafkaServer
from kafka_py.broker.settings import loggers
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.wiring.server_environment import ServerEnvironment
from kafka_py.log.disk.files import Files, RealFiles
from kafka_py.net.client import BrokerConnection
from kafka_py.records.builder import BatchBuilder
from kafka_py.testing.zookeeper import FakeSession, FakeZookeeper
from kafka_py.wire.messages.create_topics import CreatableTopic, CreateableTopicConfig, CreateTopicsRequest
from kafka_py.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_py.zk.store import ZkStore

LISTENER = "PLAINTEXT"
DEADLINE_S = 20


def batch(*values: bytes, timestamp: int = 1000, key: bytes | None = None, **builder: Any) -> bytes:
    """One record batch."""
    made = BatchBuilder(**builder)
    for value in values or (b"v",):
        made.append(timestamp, key, value)
    return made.build()


class LocalBroker:
    """One broker and a connection to it.

    zookeeper: shared by brokers that shall form a cluster. files, clock: in place of the real ones.
    """

    def __init__(
        self,
        folder: str,
        zookeeper: FakeZookeeper,
        settings: Mapping[str, str],
        *,
        files: Files | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.folder = folder
        self.files = files or RealFiles()
        self.clock = clock
        self.zookeeper = zookeeper
        self.settings = {
            "broker.id": "0",
            "listeners": f"{LISTENER}://127.0.0.1:0",
            "log.dirs": f"{folder}/logs",
            "zookeeper.connect": "in-memory:2181",
            "controlled.shutdown.retry.backoff.ms": "10",
            **settings,
        }
        self.server: KafkaServer
        self.session: FakeSession
        self.client: BrokerConnection

    @property
    def port(self) -> int:
        return next(iter(self.server.ports.values()))

    @property
    def store(self) -> ZkStore:
        """What the broker itself reads and writes."""
        return self.server.store

    async def start(self, **changes: str) -> None:
        """Starts it, the second time on what is in its folder. changes: settings, `_` for `.`."""
        loggers.link()
        self.settings.update(_settings(changes))
        self.session = self.zookeeper.session()
        environment = ServerEnvironment(clock=self.clock, files=self.files, session=self.session)
        self.server = KafkaServer(BrokerConfig.parse(self.settings), environment)
        await self.server.start()
        self.client = await self.connect()
        await self.until(lambda: self.server.node.metadata.is_live(self.server.broker_id))

    async def connect(self, client_id: str = "test") -> BrokerConnection:
        return await BrokerConnection.connect("127.0.0.1", self.port, client_id=client_id)

    async def stop(self) -> None:
        self.client.close()
        await self.server.shutdown()

    async def until(self, condition: Callable[[], object]) -> None:
        """Lets the broker work until the condition holds."""
        async with asyncio.timeout(DEADLINE_S):
            while not condition():  # noqa: ASYNC110  # nothing tells of every state a test may wait for
                await asyncio.sleep(0.002)

    async def ask(self, request: object, version: int) -> Any:
        async with asyncio.timeout(DEADLINE_S):
            return await self.client.send(request, version)

    async def create_topic(
        self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None, replication_factor: int = 1
    ) -> None:
        """Makes a topic through the API. Raises KafkaError."""
        given = [CreateableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()]
        topic = CreatableTopic(
            name=name, num_partitions=partitions, replication_factor=replication_factor, assignments=[], configs=given
        )
        response = await self.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 5)
        result = response.topics[0]
        if result.error_code:
            raise KafkaError(ErrorCode(result.error_code), result.error_message or "")

    async def produce(
        self, topic: str, records: bytes | None, *, partition: int = 0, acks: int = -1, version: int = 8
    ) -> Any:
        """The answer for the one partition."""
        data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=records)])
        request = ProduceRequest(acks=acks, timeout_ms=5000, topic_data=[data])
        response = await self.ask(request, version)
        return response.responses[0].partition_responses[0]

    async def fetch(self, topic: str, offset: int, *, partition: int = 0, version: int = 11, **limits: Any) -> Any:
        """The answer for the one partition; what is asked besides is the request's fields."""
        response = await self.ask(self.fetch_request({TopicPartition(topic, partition): offset}, **limits), version)
        return response.responses[0].partition_responses[0]

    def fetch_request(self, offsets: Mapping[TopicPartition, int], **limits: Any) -> FetchRequest:
        """partition_max_bytes, current_leader_epoch and last_fetched_epoch go to each partition."""
        per_partition = {
            name: limits.pop(name)
            for name in ("partition_max_bytes", "current_leader_epoch", "last_fetched_epoch")
            if name in limits
        }
        topics: dict[str, FetchTopic] = {}
        for (topic, partition), offset in offsets.items():
            asked = FetchPartition(
                partition=partition, fetch_offset=offset, **{"partition_max_bytes": 1 << 20, **per_partition}
            )
            topics.setdefault(topic, FetchTopic(topic=topic, partitions=[])).partitions.append(asked)
        fields = {"replica_id": -1, "max_wait_ms": 0, "min_bytes": 1, **limits}
        return FetchRequest(topics=list(topics.values()), **fields)


def _settings(changes: Mapping[str, object]) -> dict[str, str]:
    return {name.replace("_", "."): str(value) for name, value in changes.items()}


def in_folder(
    run: Callable[[str], Coroutine[Any, Any, None]], scenario: Callable[..., object] | None = None
) -> Callable[[], None]:
    """Turns a coroutine function into a test that gives it a temporary folder. scenario: the test has its name."""

    @wraps(scenario or run)
    def test() -> None:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(run(folder))

    del test.__wrapped__  # pytest would ask for its arguments
    return test


def on_broker(**settings: object) -> Callable[[Callable[[LocalBroker], Coroutine[Any, Any, None]]], Callable[[], None]]:
    """Turns a coroutine function of a running broker into a test. settings: with `_` for `.`."""

    def decorate(scenario: Callable[[LocalBroker], Coroutine[Any, Any, None]]) -> Callable[[], None]:
        async def run(folder: str) -> None:
            broker = LocalBroker(folder, FakeZookeeper(), _settings(settings))
            await broker.start()
            try:
                await scenario(broker)
            finally:
                await broker.stop()

        return in_folder(run, scenario)

    return decorate
