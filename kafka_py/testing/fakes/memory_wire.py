"""Clients talk to a FakeCluster in the same process and on their own loop: no sockets, no thread, any clock.

Each answer comes after a delay that the test draws; a fetch without news is held for max_wait_ms, as a broker does.
Trouble is scripted with `fail`, as for every fake cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from kafka_py.base.clock import SYSTEM_CLOCK, Clock
from kafka_py.base.errors import ErrorCode
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.clients.metadata import Node
from kafka_py.net.connection_failures import ConnectionLost
from kafka_py.testing.fakes.fake_answers import ANSWERS
from kafka_py.testing.fakes.fake_cluster import CUT, CUT_AFTER, HANG, FakeCluster
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.messages.heartbeat import HeartbeatResponse
from kafka_py.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember
from kafka_py.wire.messages.leave_group import LeaveGroupResponse
from kafka_py.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafka_py.wire.schema import schema_of

FIRST_PORT = 9092


class MemoryCluster(FakeCluster):
    """A fake cluster that listens nowhere; its brokers are reached over `MemoryWires`."""

    def __init__(self, brokers: int = 1) -> None:
        super().__init__(brokers)
        self.ports = {node_id: FIRST_PORT + node_id for node_id in range(brokers)}
        self.down: set[int] = set()
        self.answers: dict[ApiKey, Callable[[Any], Any]] = {}
        """Answers of a test's own, by API, before those of every fake cluster; None is no answer."""

    def is_up(self, node_id: int) -> bool:
        return node_id not in self.down


class GroupOfOne:
    """What a coordinator answers the only member of a group. rebalances: whether heartbeats send it to join again."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self.generation = 0
        self.rebalances = False
        cluster.answers |= {
            ApiKey.JOIN_GROUP: self._join,
            ApiKey.SYNC_GROUP: self._sync,
            ApiKey.HEARTBEAT: lambda _: HeartbeatResponse(
                error_code=ErrorCode.REBALANCE_IN_PROGRESS if self.rebalances else ErrorCode.NONE
            ),
            ApiKey.LEAVE_GROUP: lambda _: LeaveGroupResponse(error_code=ErrorCode.NONE, members=[]),
        }

    def _join(self, request: JoinGroupRequest) -> JoinGroupResponse:
        self.generation += 1
        self.rebalances = False
        chosen = request.protocols[0]
        return JoinGroupResponse(
            error_code=ErrorCode.NONE, generation_id=self.generation, protocol_type=request.protocol_type,
            protocol_name=chosen.name, leader="m", member_id="m",
            members=[JoinGroupResponseMember(member_id="m", metadata=chosen.metadata)],
        )  # fmt: skip

    def _sync(self, request: SyncGroupRequest) -> SyncGroupResponse:
        return SyncGroupResponse(error_code=ErrorCode.NONE, assignment=request.assignments[0].assignment)


class MemoryWires:
    """Opens connections for the clients that take its `environment`. delay_s: drawn for each answer."""

    def __init__(self, cluster: MemoryCluster, delay_s: Callable[[], float] = lambda: 0.0) -> None:
        self.cluster = cluster
        self.delay_s = delay_s
        self.open: list[MemoryWire] = []

    def environment(self, clock: Clock = SYSTEM_CLOCK) -> ClientEnvironment:
        """Of a client whose connections are these."""
        return ClientEnvironment(clock, connect=self.connect)

    async def connect(self, node: Node, timeout_ms: float) -> Any:
        node_id = next(each for each, port in self.cluster.ports.items() if port == node.port)
        if not self.cluster.is_up(node_id):
            raise ConnectionLost("refused")
        wire = MemoryWire(self, node_id)
        self.open.append(wire)
        return wire


class MemoryWire:
    """One connection: what a client uses of net.client.BrokerConnection."""

    def __init__(self, world: MemoryWires, node_id: int) -> None:
        self.closed = False
        self.session = None
        self.versions = {key: (0, world.cluster.max_version(key)) for key in APIS}
        self.unsent_bytes = self.last_request_size = self.bytes_received = 0
        self._world = world
        self._node_id = node_id
        self._waiting: list[asyncio.Future[Any]] = []

    @property
    def in_flight(self) -> int:
        return len(self._waiting)

    def send_nowait(self, request: Any, version: int) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        if self.closed:
            future.set_exception(ConnectionLost("closed"))
            return future
        self._world.cluster.requests.append((self._node_id, request))
        self._waiting.append(future)
        wait_s = self._world.delay_s()
        api = schema_of(type(request)).api
        assert api is not None
        if api is ApiKey.FETCH and not self._world.cluster.has_news(request):
            wait_s += request.max_wait_ms / 1000
        if wait_s:
            loop.call_later(wait_s, self._answer, api, request, future)
        else:
            loop.call_soon(self._answer, api, request, future)
        return future

    def send_and_forget(self, request: Any, version: int) -> None:
        self.send_nowait(request, version).add_done_callback(lambda future: future.cancelled() or future.exception())

    def _answer(self, api: ApiKey, request: Any, future: asyncio.Future[Any]) -> None:
        if self.closed or future.done():
            return
        cluster = self._world.cluster
        trouble = cluster.next_trouble(api)
        if trouble == CUT:
            self.close(CUT)
            return
        error = trouble if isinstance(trouble, ErrorCode) else ErrorCode.NONE
        own = trouble if callable(trouble) else cluster.answers.get(api)
        answer = ANSWERS[api](cluster, self._node_id, request, error) if own is None else own(request)
        if trouble == CUT_AFTER:
            self.close(CUT_AFTER)
        if answer is None or trouble in (HANG, CUT_AFTER):
            return
        self._waiting.remove(future)
        if api is ApiKey.FETCH:
            for topic in answer.responses:
                for each in topic.partition_responses:
                    each.record_set = memoryview(each.record_set or b"")
        future.set_result(answer)

    def close(self, reason: str = "closed") -> None:
        """What waits for an answer fails."""
        self.closed = True
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_exception(ConnectionLost(reason))
