"""A cluster of controllers over a fake ZooKeeper, with brokers that only note what they are told.

Scenario tests of the controller: start and kill brokers, make topics, cut sessions, and look at the requests that
each broker got, in order. Runs on the virtual loop, so waiting costs nothing. No sockets, no logs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kafka_py.base.chance import Chance
from kafka_py.base.clock import Clock
from kafka_py.base.ids import TopicId, TopicPartition
from kafka_py.base.meters import MetricRegistry
from kafka_py.controller.configs import ControllerOptions
from kafka_py.controller.controller import Controller
from kafka_py.controller.decisions.steps import Address
from kafka_py.testing.virtual_time import VirtualLoop, virtual_clock
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from kafka_py.wire.messages.stop_replica import StopReplicaPartitionError, StopReplicaRequest, StopReplicaResponse
from kafka_py.wire.messages.update_metadata import UpdateMetadataResponse
from kafka_py.zk.partitions import LeaderAndIsr
from kafka_py.zk.session import ZkSession
from kafka_py.zk.store import ZkStore
from kafka_py.zk.topics import TopicAssignment
from kafka_py.zk.znodes import BrokerEndpoint, BrokerIdZNode

LISTENER = "PLAINTEXT"
FIRST_PORT = 9000


class ReceivedRequest(NamedTuple):
    """One request as a broker got it."""

    broker: int
    message: Any
    version: int


class NotedConnection:
    """A connection on which every request is noted and answered by the world's rules."""

    def __init__(self, world: ControllerWorld, broker: int) -> None:
        self._world = world
        self._broker = broker

    async def send(self, request: Any, version: int) -> Any:
        return await self._world.deliver(self._broker, request, version)

    def close(self) -> None:
        pass


class ControllerBroker:
    """One process: its ZooKeeper session and its controller."""

    def __init__(self, world: ControllerWorld, broker_id: int, rack: str | None, config: ControllerOptions) -> None:
        self.id = broker_id
        self.session: Any = world.new_session()
        self.store = ZkStore(self.session)
        self.registration = BrokerIdZNode.of(
            [BrokerEndpoint(LISTENER, LISTENER, f"host{broker_id}", FIRST_PORT + broker_id)],
            jmx_port=-1, timestamp_ms=world.clock.wall_ms(), version=5, rack=rack,
        )  # fmt: skip
        self.controller = Controller(
            broker_id, store=self.store, config=config, connect=world.connect, register_broker=self.register,
            clock=world.clock, chance=world.chance, registry=MetricRegistry(world.clock), listener=LISTENER,
        )  # fmt: skip

    async def register(self) -> int:
        return await self.store.brokers.register(self.id, self.registration)


class ControllerWorld:
    """Brokers, their ZooKeeper, and all that was told.

    told: every request in the order in which they were sent. down: brokers that cannot be reached. answer: replaces
    the friendly answers; gets (broker, request, version), returns a response or None for the friendly one.
    """

    def __init__(
        self, properties: Mapping[str, object] | None = None, *, new_session: Callable[[], ZkSession] | None = None,
        clock: Clock | None = None,
    ) -> None:  # fmt: skip
        """new_session, clock: of a real ZooKeeper, in place of the fake one and of virtual time."""
        self.clock = clock or virtual_clock()
        self.chance = Chance(1)
        self.zookeeper = FakeZookeeper(self.clock)
        self.new_session: Callable[[], ZkSession] = new_session or self.zookeeper.session
        self.config = ControllerOptions.parse(properties)
        self.brokers: dict[int, ControllerBroker] = {}
        self.told: list[ReceivedRequest] = []
        self.down: set[int] = set()
        self.answer: Callable[[int, Any, int], Any] = lambda *_: None
        self._hands = ZkStore(self.new_session())  # the test's own: a tool, or an administrator

    # ---- what happens

    async def store(self) -> ZkStore:
        """The test's own way into ZooKeeper."""
        if not self._hands.session.session_id:
            await self._hands.session.connect()
            await self._hands.brokers.ensure_top_level_paths()
        return self._hands

    async def start(self, *broker_ids: int, racks: Mapping[int, str] | None = None) -> None:
        """Starts brokers one after the other; the first becomes controller."""
        await self.store()
        for broker_id in broker_ids:
            broker = ControllerBroker(self, broker_id, (racks or {}).get(broker_id), self.config)
            await broker.session.connect()
            self.brokers[broker_id] = broker
            self.down.discard(broker_id)
            await broker.register()
            await broker.controller.start()
            await self.settle()

    async def kill(self, *broker_ids: int) -> None:
        """Processes die and their sessions end; nothing is tidied up."""
        for broker_id in broker_ids:
            self.down.add(broker_id)
            broker = self.brokers.pop(broker_id)
            await broker.session.close()
            await broker.controller.shutdown()
        await self.settle()

    async def make_topic(
        self, topic: str, assignment: Mapping[int, Sequence[int]], topic_id: TopicId | None = None,
        configs: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """As a broker makes it: the znodes only."""
        made = TopicAssignment.of(assignment, topic_id or self.chance.new_topic_id())
        await (await self.store()).topics.create(topic, made, configs)
        await self.settle()

    async def delete_topic(self, topic: str) -> None:
        await (await self.store()).topics.mark_for_deletion(topic)
        await self.settle()

    async def settle(self, seconds: float = 1.0) -> None:
        """Lets everything happen that happens within that time; on a real ZooKeeper use `until`."""
        if isinstance(asyncio.get_running_loop(), VirtualLoop):
            await asyncio.sleep(seconds)

    async def until(self, look: Callable[[], Awaitable[bool] | bool], timeout_s: float = 20) -> None:
        """Waits until something holds. Raises TimeoutError."""
        async with asyncio.timeout(timeout_s):
            while True:
                found = look()
                if found is True or (not isinstance(found, bool) and await found):
                    return
                await asyncio.sleep(0.01)

    async def close(self) -> None:
        """Ends every process and the test's own session."""
        await self.kill(*list(self.brokers))
        await self._hands.session.close()

    # ---- what is seen

    @property
    def controller(self) -> Controller:
        """The active one."""
        (active,) = [broker.controller for broker in self.brokers.values() if broker.controller.is_active]
        return active

    async def state(self, topic: str, partition: int = 0) -> LeaderAndIsr:
        """Leader and in-sync set as ZooKeeper has them."""
        found = await (await self.store()).partitions.state(TopicPartition(topic, partition))
        assert found is not None, f"{topic}-{partition} has no state"
        return found

    async def rejoin_isr(self, partition: TopicPartition, isr: Iterable[int]) -> None:
        """Does what the leader does when its followers have caught up."""
        store = await self.store()
        state = await self.state(*partition)
        assert await store.partitions.write_isr(partition, state._replace(isr=tuple(isr))) is not None
        await store.notifications.announce_isr_changes([partition])
        await self.settle()

    def forget(self) -> None:
        """Clears the notes, before the step that a test is about."""
        self.told.clear()

    def told_to(self, broker: int, kind: type | None = None) -> list[Any]:
        """The requests that one broker got, perhaps of one kind only."""
        return [one.message for one in self.told if one.broker == broker and kind in (None, type(one.message))]

    def story(self, *kinds: type) -> list[str]:
        """The notes as readable lines, see `line_of`: broker by broker, what each got in the order in which it came."""
        chosen = [one for one in self.told if not kinds or isinstance(one.message, kinds)]
        return [line_of(one) for one in sorted(chosen, key=lambda one: one.broker)]

    # ---- the wire

    async def connect(self, address: Address) -> NotedConnection:
        broker = address.port - FIRST_PORT
        if broker in self.down:
            raise ConnectionRefusedError(f"broker {broker} is down")
        return NotedConnection(self, broker)

    async def deliver(self, broker: int, request: Any, version: int) -> Any:
        if broker in self.down:
            raise ConnectionResetError(f"broker {broker} is down")
        self.told.append(ReceivedRequest(broker, request, version))
        given = self.answer(broker, request, version)
        return friendly_answer(request) if given is None else given


def friendly_answer(request: Any) -> Any:
    """What a broker answers that can do all it is told."""
    if isinstance(request, LeaderAndIsrRequest):
        return LeaderAndIsrResponse(
            error_code=0,
            partition_errors=[],
            topics=[
                LeaderAndIsrTopicError(
                    topic_id=topic.topic_id,
                    partition_errors=[
                        LeaderAndIsrPartitionError(partition_index=state.partition_index, error_code=0)
                        for state in topic.partition_states
                    ],
                )
                for topic in request.topic_states
            ],
        )
    if isinstance(request, StopReplicaRequest):
        return StopReplicaResponse(
            error_code=0,
            partition_errors=[
                StopReplicaPartitionError(
                    topic_name=topic.topic_name, partition_index=state.partition_index, error_code=0
                )
                for topic in request.topic_states
                for state in topic.partition_states
            ],
        )
    return UpdateMetadataResponse(error_code=0)


def line_of(told: ReceivedRequest) -> str:
    """A request in one line: `LeaderAndIsr -> 1: t-0 leader 1 epoch 0 isr [1, 2] new`."""
    message = told.message
    if isinstance(message, LeaderAndIsrRequest):
        parts = [
            f"{topic.topic_name}-{state.partition_index} leader {state.leader} epoch {state.leader_epoch} "
            f"isr {state.isr}{' new' if state.is_new else ''}"
            for topic in message.topic_states
            for state in topic.partition_states
        ]
        return _line("LeaderAndIsr", told.broker, parts)
    if isinstance(message, StopReplicaRequest):
        parts = [
            f"{topic.topic_name}-{state.partition_index}{' delete' if state.delete_partition else ''}"
            for topic in message.topic_states
            for state in topic.partition_states
        ]
        return _line("StopReplica", told.broker, parts)
    parts = [
        f"{topic.topic_name}-{state.partition_index} leader {state.leader} isr {state.isr}"
        for topic in message.topic_states
        for state in topic.partition_states
    ]
    live = [broker.id for broker in message.live_brokers]
    return _line("UpdateMetadata", told.broker, [f"live {live}", *parts])


def _line(kind: str, broker: int, parts: Iterable[str]) -> str:
    return f"{kind} -> {broker}: {'; '.join(parts)}"
