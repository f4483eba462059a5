"""How long single pieces of work hold the loop at very many partitions; the rule is 5 ms.

    python -m benchmarks.loop_holds [--partitions N] [--topics N] [--rounds N] [--only WORD,...]

Runs the code of this checkout in one process: a controller's term over brokers that only receive, and a whole broker
with real sockets and files over a ZooKeeper in memory, to which a client in a thread of its own sends frames that were
encoded before. Every callback that the event loop runs is timed by the CPU time of its thread; a row is the longest
callback between the beginning and the end of one kind of work, the best of the rounds. Collections of the garbage
collector are put off until after the measurement. Put TMPDIR on a memory file system: files are made by the thousand.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import inspect
import os
import socket
import struct
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from kafka_py.base.chance import Chance
from kafka_py.base.clock import SystemClock
from kafka_py.base.ids import TopicPartition
from kafka_py.base.meters import MetricRegistry
from kafka_py.base.supervision import Supervisor
from kafka_py.base.turns import next_turn
from kafka_py.broker.observe.metrics_http import MetricsServer
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.settings.topic_configs import TopicConfigs
from kafka_py.controller.configs import ControllerOptions
from kafka_py.controller.decisions.deletion import resume
from kafka_py.controller.decisions.replica_moves import move_replicas
from kafka_py.controller.decisions.steps import Address
from kafka_py.controller.executor import ControllerEnvironment, Executor
from kafka_py.controller.metrics import ControllerMetrics, ControllerStats
from kafka_py.controller.model import partition_states, replica_states
from kafka_py.controller.model.controller_context import ControllerContext, Leadership, PartitionAssignment
from kafka_py.log.disk.context import LogContext
from kafka_py.log.disk.filenames import partition_directory
from kafka_py.log.disk.files import RealFiles
from kafka_py.log.loading.recovery import Checkpointed, open_log
from kafka_py.log.model.answers import Origin
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.net.client import BrokerConnection
from kafka_py.testing.local_broker import LocalBroker, batch
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.wire.frames import encode_request
from kafka_py.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_py.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kafka_py.wire.messages.metadata import MetadataRequest
from kafka_py.wire.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kafka_py.zk.brokers import RegisteredBroker
from kafka_py.zk.election import ControllerEpoch
from kafka_py.zk.store import ZkStore
from kafka_py.zk.znodes import BrokerEndpoint

LISTENER = "PLAINTEXT"
BROKERS = (1, 2, 3)
FOLLOWER = 1
STAMPEDE = 100
THROTTLED = 1000
SEGMENTS = 1000
OVERRIDDEN = 10_000


class Holds:
    """Times every callback that the loops of this process run.

    longest_ms: of one callback since `start`; total_ms: of all of them.
    """

    def __init__(self) -> None:
        self.longest_ms = self.total_ms = 0.0
        run = asyncio.events.Handle._run  # type: ignore[attr-defined]

        def timed(handle: asyncio.Handle) -> None:
            begun = time.thread_time_ns()
            run(handle)
            took_ms = (time.thread_time_ns() - begun) / 1e6
            self.total_ms += took_ms
            self.longest_ms = max(self.longest_ms, took_ms)

        asyncio.events.Handle._run = timed  # type: ignore[assignment,attr-defined]

    async def start(self) -> None:
        await asyncio.sleep(0.01)  # what is left of the step before
        gc.collect()
        gc.disable()
        await asyncio.sleep(0)
        self.longest_ms = self.total_ms = 0.0

    async def end(self) -> tuple[float, float]:
        """(longest, total) in ms."""
        await asyncio.sleep(0)
        found = self.longest_ms, self.total_ms
        gc.enable()
        return found


class Table:
    """Measures rows and prints them."""

    def __init__(self, holds: Holds, rounds: int, only: list[str]) -> None:
        self._holds = holds
        self._rounds = rounds
        self._only = only
        print("| work | when | longest hold, ms | all of it, ms |\n|---|---|---:|---:|", flush=True)

    async def row(self, what: str, when: str, work: Callable[[], Any]) -> None:
        """work: is called in each round, and awaited if it has something to wait for."""
        if self._only and not any(word in what for word in self._only):
            return
        found = []
        for _ in range(self._rounds):
            await self._holds.start()
            outcome = work()
            if inspect.isawaitable(outcome):
                await outcome
            found.append(await self._holds.end())
        longest, total = min(found)
        print(f"| {what} | {when} | {longest:.1f} | {total:.0f} |", flush=True)


# ---- the controller


class Receiver:
    """A broker that takes requests and answers none; encoded by a real connection."""

    def __init__(self) -> None:
        self.received_bytes = 0
        self.port = 0
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._read, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _read(self, reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            self.received_bytes += len(data)

    def close(self) -> None:
        assert self._server is not None
        self._server.close()


def fill(cluster: ControllerContext, topics: int, partitions: int) -> None:
    """Registers the brokers and gives each partition three replicas, online and in sync."""
    for broker in BROKERS:
        endpoint = BrokerEndpoint(LISTENER, LISTENER, "127.0.0.1", 9000 + broker)
        cluster.brokers[broker] = RegisteredBroker(id=broker, epoch=1, endpoints=(endpoint,), rack=None, features={})
    for topic in range(topics):
        name = f"topic-{topic:05d}"
        cluster.add_topic(name, Chance().new_topic_id())
        for number in range(partitions // topics):
            partition = TopicPartition(name, number)
            replicas = tuple((number + k) % 3 + 1 for k in range(3))
            cluster.set_assignment(partition, PartitionAssignment(replicas))
            cluster.set_leadership(partition, Leadership(replicas[0], 5, replicas, 1, 3))
            cluster.set_partition_state(partition, partition_states.ONLINE)
    for replica in list(cluster.replicas()):
        cluster.set_replica_state(replica, replica_states.ONLINE)


def new_executor(connect: Callable[[Address], Awaitable[BrokerConnection]]) -> Executor:
    """A controller in office. connect: opens the connections to the brokers."""
    clock = SystemClock()
    registry = MetricRegistry(clock)
    options = ControllerOptions.parse({})
    environment = ControllerEnvironment(
        broker_id=1, store=ZkStore(FakeZookeeper(clock).session()), config=lambda: options, listener=LISTENER,
        request_timeout_ms=30_000, connect=connect, clock=clock, new_topic_id=Chance().new_topic_id,
        registry=registry, stats=ControllerStats(registry), put=lambda event: None, supervisor=Supervisor(clock),
    )  # fmt: skip
    return Executor(ControllerEpoch(1, 1), environment)


async def controller_rows(table: Table, topics: int, partitions: int) -> None:
    """A term without elections: the moves that a broker's start and a mass deletion cause."""
    receiver = Receiver()
    await receiver.start()

    async def connect(_address: Address) -> BrokerConnection:
        return await BrokerConnection.connect("127.0.0.1", receiver.port, client_id="1")

    async def never(_address: Address) -> BrokerConnection:
        await asyncio.Event().wait()
        raise AssertionError

    idle = new_executor(never)
    fill(idle.cluster, topics, partitions)
    replicas = list(idle.cluster.replicas())

    async def build() -> None:
        for broker in BROKERS:
            idle.channels.remove(broker)
            idle.channels.add(broker, Address("127.0.0.1", receiver.port))
        await idle.run(move_replicas(idle.cluster, replicas, replica_states.ONLINE))

    async def encode() -> None:
        before = receiver.received_bytes
        for broker in BROKERS:
            sending.channels.remove(broker)
            sending.channels.add(broker, Address("127.0.0.1", receiver.port))
        await sending.run(move_replicas(sending.cluster, replicas, replica_states.ONLINE))
        while receiver.received_bytes < before + 3 * 30 * partitions:  # noqa: ASYNC110
            await asyncio.sleep(0.001)

    await table.row("controller: batch of all partitions x 3 built", "broker start, fail-over", build)
    sending = new_executor(connect)
    fill(sending.cluster, topics, partitions)
    await table.row("controller: the same, encoded and sent", "broker start, fail-over", encode)
    await table.row("controller: replicas_on(broker)", "broker events", lambda: idle.cluster.replicas_on([1]))
    idle.cluster.queue_for_deletion(list(idle.cluster.topics))
    idle.cluster.started.update(idle.cluster.topics)
    gauges = ControllerMetrics(MetricRegistry(SystemClock()))
    for replica in replicas:
        idle.cluster.set_replica_state(replica, replica_states.DELETION_STARTED)
    await table.row("controller: gauges", "each event of a mass deletion", lambda: gauges.show(idle.cluster))
    await table.row("controller: deletion.resume", "each StopReplica answer", lambda: idle.run(resume(idle.cluster)))
    for one in (idle, sending):
        one.end()
    receiver.close()


# ---- the broker


class Peer:
    """A client in a thread: sends frames that were encoded before, and reads the answers."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None

    def _exchange(self, frame: bytes) -> bytes:
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port))
        self._socket.sendall(frame)
        (size,) = struct.unpack(">i", self._read(4))
        return self._read(size)

    def _read(self, size: int) -> bytes:
        assert self._socket is not None
        read = bytearray()
        while len(read) < size:
            data = self._socket.recv(min(size - len(read), 1 << 20))
            if not data:
                raise ConnectionError("the broker closed the connection")
            read += data
        return bytes(read)

    async def ask(self, frame: bytes) -> bytes:
        """The answer's frame without its size."""
        return await asyncio.to_thread(self._exchange, frame)

    def close(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()


Named = dict[str, range]
"""Topic -> partition numbers."""


def leader_and_isr(broker: LocalBroker, named: Named, ids: dict[str, Any], leader_epoch: int) -> bytes:
    """The broker leads all partitions; broker FOLLOWER follows and is in sync."""
    request = LeaderAndIsrRequest(
        controller_id=0, controller_epoch=1000, broker_epoch=-1, live_leaders=[],
        topic_states=[
            LeaderAndIsrTopicState(
                topic_name=topic, topic_id=ids[topic],
                partition_states=[
                    LeaderAndIsrPartitionState(
                        partition_index=number, controller_epoch=1000, leader=0, leader_epoch=leader_epoch,
                        isr=[0, FOLLOWER], zk_version=0, replicas=[0, FOLLOWER], is_new=False,
                    )
                    for number in numbers
                ],
            )
            for topic, numbers in named.items()
        ],
    )  # fmt: skip
    return encode_request(request, 5, 1, "controller")


def update_metadata(broker: LocalBroker, named: Named, ids: dict[str, Any]) -> bytes:
    """The same for the metadata cache."""
    endpoint = UpdateMetadataEndpoint(port=broker.port, host="127.0.0.1", listener=LISTENER, security_protocol=0)
    request = UpdateMetadataRequest(
        controller_id=0, controller_epoch=1000, broker_epoch=-1,
        live_brokers=[UpdateMetadataBroker(id=0, endpoints=[endpoint], rack=None)],
        topic_states=[
            UpdateMetadataTopicState(
                topic_name=topic, topic_id=ids[topic],
                partition_states=[
                    UpdateMetadataPartitionState(
                        partition_index=number, controller_epoch=1000, leader=0, leader_epoch=1, isr=[0],
                        zk_version=0, replicas=[0, FOLLOWER], offline_replicas=[FOLLOWER],
                    )
                    for number in numbers
                ],
            )
            for topic, numbers in named.items()
        ],
    )  # fmt: skip
    return encode_request(request, 7, 1, "controller")


def fetch(named: Named, *, replica_id: int = -1, session: tuple[int, int] = (0, -1), wait_ms: int = 0) -> bytes:
    """Everything from offset 0. session: (id, epoch); the default is none."""
    topics = [
        FetchTopic(
            topic=topic,
            partitions=[
                FetchPartition(partition=number, current_leader_epoch=-1, fetch_offset=0, log_start_offset=0,
                               partition_max_bytes=1 << 20)
                for number in numbers
            ],
        )
        for topic, numbers in named.items()
    ]  # fmt: skip
    request = FetchRequest(
        replica_id=replica_id, max_wait_ms=wait_ms, min_bytes=1, max_bytes=10 << 20, session_id=session[0],
        session_epoch=session[1], topics=topics,
    )  # fmt: skip
    return encode_request(request, 11, 1, "reader")


@asynccontextmanager
async def running_broker() -> AsyncIterator[LocalBroker]:
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "replica.lag.time.max.ms": "1000000000",
            "replica.high.watermark.checkpoint.interval.ms": "1000000",
        }
        broker = LocalBroker(folder, FakeZookeeper(), settings)
        await broker.start()
        try:
            yield broker
        finally:
            await broker.stop()


async def broker_rows(table: Table, topics: int, partitions: int) -> None:
    """One broker that leads every partition."""
    named = {f"topic-{topic:05d}": range(partitions // topics) for topic in range(topics)}
    ids = {topic: Chance().new_topic_id() for topic in named}
    async with running_broker() as broker:
        await hosted_rows(table, broker, named, ids)


async def hosted_rows(table: Table, broker: LocalBroker, named: Named, ids: dict[str, Any]) -> None:
    peer = Peer(broker.port)
    node = broker.server.node
    await peer.ask(leader_and_isr(broker, named, ids, 0))  # makes the logs
    epochs = iter(range(1, 100))
    orders = iter([leader_and_isr(broker, named, ids, next(epochs)) for _ in range(10)])
    await table.row("broker: LeaderAndIsr", "fail-over, broker start", lambda: peer.ask(next(orders)))
    metadata = update_metadata(broker, named, ids)
    await table.row("broker: UpdateMetadata", "fail-over, broker start", lambda: peer.ask(metadata))
    every = encode_request(MetadataRequest(topics=None), 9, 1, "reader")
    await table.row("broker: Metadata of all topics", "each request", lambda: peer.ask(every))
    await stampede_row(table, broker, peer, metadata, every)
    await fetch_rows(table, broker, peer, named)
    scraped = MetricsServer("127.0.0.1", 0, broker.server.registry)
    await table.row("broker: scrape of the metrics", "each scrape", scraped.scrape)
    await table.row("broker: shrink_isrs", "replica.lag.time.max.ms / 2", node.replicas.fetches.shrink_isrs)
    await table.row("broker: high watermark checkpoint", "5 s", broker.server._checkpoint_high_watermarks)
    peer.close()


async def stampede_row(table: Table, broker: LocalBroker, peer: Peer, metadata: bytes, every: bytes) -> None:
    peers = [Peer(broker.port) for _ in range(STAMPEDE)]

    async def stampede() -> None:
        await peer.ask(metadata)  # what was known before is out of date
        await asyncio.gather(*(one.ask(every) for one in peers))

    await table.row(f"broker: Metadata of all topics for {STAMPEDE} clients", "change of a leader", stampede)
    for one in peers:
        one.close()


async def fetch_rows(table: Table, broker: LocalBroker, peer: Peer, named: Named) -> None:
    full = fetch(named, replica_id=FOLLOWER, session=(0, 0))
    sessions: list[int] = []

    async def first() -> None:
        answer = await peer.ask(full)
        sessions.append(struct.unpack_from(">i", answer, 10)[0])

    async def second() -> None:
        await peer.ask(fetch({}, replica_id=FOLLOWER, session=(sessions.pop(), 1)))

    await table.row("broker: first fetch of a follower", "each (re)connect", first)
    if sessions:
        await table.row("broker: second fetch of a follower", "each (re)connect", second)
    await wake_rows(table, broker, named)
    covered = ",".join(f"{number}:{broker_id}" for number in range(THROTTLED) for broker_id in (2, 3))
    name = next(iter(named))
    broker.server.node.topic_configs.set_overrides(name, {"leader.replication.throttled.replicas": covered})
    throttle = broker.server.node.replication.leader_throttle

    def cover() -> None:
        for number in range(THROTTLED):
            throttle.covers(TopicPartition(name, number))

    await table.row(f"broker: throttle of {THROTTLED} partitions", "each round while replicas move", cover)


async def wake_rows(table: Table, broker: LocalBroker, named: Named) -> None:
    """A consumer without session waits on every partition for more bytes than come."""
    topic = next(iter(named))
    parked = Peer(broker.port)
    records = batch(bytes(10))
    asking = asyncio.ensure_future(parked.ask(_patient(fetch(named, wait_ms=60_000))))
    await broker.until(lambda: broker.server.node.replicas.parked.fetch.watched)

    async def append() -> None:
        for _ in range(20):
            await broker.produce(topic, records, acks=1)

    await table.row("broker: 20 appends beside a fetch without session", "each append", append)
    parked.close()
    await asyncio.gather(asking, return_exceptions=True)


def _patient(frame: bytes) -> bytes:
    """The fetch with a min_bytes that is never reached: after max_wait_ms in the body."""
    head = struct.calcsize(">ihhih") + len("reader")
    place = head + 8
    return frame[:place] + struct.pack(">i", 1 << 30) + frame[place + 4 :]


# ---- logs and settings


def many_segments(folder: str) -> PartitionLog:
    """A log of SEGMENTS segments, of one record each."""
    clock = SystemClock()
    partition = TopicPartition("t", 0)
    directory = f"{folder}/{partition_directory(partition)}"
    os.makedirs(directory)
    context = LogContext(folder, RealFiles(), clock, Chance().generator(), later=lambda _delay_ms, _callback: None)
    config = LogConfig.for_topic(None, {"segment.bytes": "200"})
    log = open_log(partition, directory, config, context, checkpointed=Checkpointed(), is_clean=True)
    for _ in range(SEGMENTS):
        log.append_as_leader(memoryview(bytearray(batch(bytes(100)))), 0, clock.wall_ms(), origin=Origin.CLIENT)
    return log


async def cut_back(log: PartitionLog) -> None:
    """As a follower does (replication/follower/fetcher.py)."""
    for cut in [*log.cuts_before(1), 1]:
        log.truncate_to(cut)
        await next_turn()


async def storage_rows(table: Table, rounds: int) -> None:
    """What concerns one log of very many segments, and the settings of very many topics."""
    with tempfile.TemporaryDirectory() as folder:
        logs = iter([many_segments(f"{folder}/{number}") for number in range(rounds)])
        await table.row(f"log: {SEGMENTS} segments cut off", "follower far ahead", lambda: cut_back(next(logs)))
    configs = TopicConfigs(BrokerConfig.parse({"zookeeper.connect": "in-memory"}))
    for number in range(OVERRIDDEN):
        configs.set_overrides(f"t{number}", {"retention.ms": "1000"})
    changed = BrokerConfig.parse({"zookeeper.connect": "in-memory", "log.segment.bytes": "100000"})
    await table.row(
        f"settings of {OVERRIDDEN} topics", "a broker's default changes", lambda: configs.set_broker(changed)
    )


async def measure(partitions: int, topics: int, rounds: int, only: list[str]) -> None:
    table = Table(Holds(), rounds, only)
    await storage_rows(table, rounds)
    await controller_rows(table, topics, partitions)
    await broker_rows(table, topics, partitions)


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--topics", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", type=lambda text: text.split(","), default=[], help="rows whose name has a word")
    options = parser.parse_args(arguments if arguments is None else list(arguments))
    asyncio.run(measure(options.partitions, options.topics, options.rounds, options.only))


if __name__ == "__main__":
    main()
