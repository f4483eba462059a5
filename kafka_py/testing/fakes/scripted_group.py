"""A group coordinator that answers as a test tells it, for tests of what a member does with the answers."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any, cast

from kafka_py.base.clock import SystemClock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.consumer.assignors.assignor import Assignment
from kafka_py.clients.consumer.configs import ConsumerOptions
from kafka_py.clients.consumer.group import GroupMember
from kafka_py.clients.consumer.metrics import CoordinatorMetrics
from kafka_py.clients.consumer.protocol import encode_assignment
from kafka_py.clients.coordinator import Coordinator
from kafka_py.clients.metadata import Node
from kafka_py.clients.metrics import CONSUMER, ClientMetrics
from kafka_py.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafka_py.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember
from kafka_py.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafka_py.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

NONE = ErrorCode.NONE
HANG = "hang"
Answer = ErrorCode | str | Any
"""An error, HANG, or a whole response; nothing scripted is what a group of one says when all goes well."""


class ScriptedCoordinator(Coordinator):
    """asked: all requests. script: the next answers by request class."""

    def __init__(self) -> None:
        super().__init__(cast(Cluster, None), "g")
        self.asked: list[Any] = []
        self.script: dict[type, deque[Answer]] = defaultdict(deque)
        self.generation = 0
        self.hung_up = 0

    @property
    def trouble(self) -> str:
        return ""

    async def find(self) -> Node:
        self.node = Node(1, "host", 9092)
        return self.node

    async def version_for(self, request: type) -> int:
        return 4

    def hang_up(self) -> None:
        self.hung_up += 1

    def of(self, kind: type) -> list[Any]:
        return [each for each in self.asked if isinstance(each, kind)]

    async def send(self, request: Any, *, timeout_ms: float | None = None) -> Any:
        await self.find()
        self.asked.append(request)
        await asyncio.sleep(0)
        script = self.script[type(request)]
        answer = script.popleft() if script else NONE
        if answer == HANG:
            await asyncio.Event().wait()
        if isinstance(answer, KafkaError):
            raise answer
        if not isinstance(answer, ErrorCode):
            return answer
        return ANSWERS[type(request)](self, request, answer)


def _joined(self: ScriptedCoordinator, request: JoinGroupRequest, error: ErrorCode) -> Any:
    member_id = request.member_id or "m-1"
    if error is not NONE:
        return JoinGroupResponse(error_code=error, member_id=member_id, leader="", members=[], protocol_name="")
    self.generation += 1
    return JoinGroupResponse(
        error_code=NONE, generation_id=self.generation, protocol_type="consumer",
        protocol_name=request.protocols[0].name if request.protocols else "range", leader=member_id,
        member_id=member_id, members=[JoinGroupResponseMember(member_id=member_id, metadata=b"")],
    )  # fmt: skip


ANSWERS: dict[type, Callable[[ScriptedCoordinator, Any, ErrorCode], Any]] = {
    JoinGroupRequest: _joined,
    SyncGroupRequest: lambda _, request, error: SyncGroupResponse(
        error_code=error,
        assignment=next((each.assignment for each in request.assignments if each.member_id == request.member_id), b""),
    ),
    HeartbeatRequest: lambda _, __, error: HeartbeatResponse(error_code=error),
    LeaveGroupRequest: lambda _, __, error: LeaveGroupResponse(error_code=error, members=[]),
}


class Played:
    """A member of a scripted group; play it inside of a running loop. news: how often it had something for poll."""

    def __init__(self, **settings: object) -> None:
        names = {name.replace("_", "."): value for name, value in settings.items()}
        self.options = ConsumerOptions.load({
            "bootstrap.servers": "host:9092", "group.id": "g", "retry.backoff.ms": 1, "heartbeat.interval.ms": 5,
            "session.timeout.ms": 6000, **names,
        })  # fmt: skip
        self.clock = SystemClock()
        self.coordinator = ScriptedCoordinator()
        self.metrics = CoordinatorMetrics(ClientMetrics(self.options, "c", self.clock, CONSUMER), self)
        self.assigned_count = 0
        self.news = 0
        self.member = GroupMember(
            self.options, "g", self.coordinator, self.clock, self.metrics,
            protocols=self._protocols, assign=self._assign, on_event=self._on_event,
        )  # fmt: skip

    async def _protocols(self) -> list[Any]:
        return []

    async def _assign(self, protocol: str, members: list[JoinGroupResponseMember]) -> dict[str, bytes]:
        return {each.member_id: encode_assignment(Assignment([])) for each in members}

    def _on_event(self) -> None:
        self.news += 1

    def script(self, kind: type, *answers: Answer) -> None:
        self.coordinator.script[kind].extend(answers)

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(30):
            while not condition():  # noqa: ASYNC110  # nothing tells of every state a test may wait for
                await asyncio.sleep(0.001)

    async def join(self) -> None:
        """Joins, and takes the outcome."""
        self.member.join()
        await self.until(lambda: self.member.needs_attention)
        assert self.member.take_joined() is not None
