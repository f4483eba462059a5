"""Membership of one group, seen from the member: join, sync, leave. heartbeats.py keeps it alive.

A join runs as a task of its own and goes on while the application computes. What the outcome means for partitions is
rebalance.py's business, which also says what to join with. Lives on one event loop.

Source: AbstractCoordinator; KIP-345 (static members), KIP-394 (member id first); docs/reference/groups.md, sections 3
to 6.
"""

from __future__ import annotations

import asyncio
import enum
import logging
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.consumer.assignors.assignor import UNKNOWN_GENERATION, UNKNOWN_MEMBER
from kafka_py.clients.consumer.configs import ConsumerOptions
from kafka_py.clients.consumer.coordinator import Coordinator
from kafka_py.clients.consumer.heartbeats import Heartbeats
from kafka_py.clients.consumer.metrics import CoordinatorMetrics
from kafka_py.clients.consumer.protocol import PROTOCOL_TYPE
from kafka_py.wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from kafka_py.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafka_py.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

_log = logging.getLogger(__name__)

JOIN_LEEWAY_MS = 5_000
"""How much longer than a rebalance may take the answer to a JoinGroup is waited for."""

NAMES_MEMBERS_SINCE = 3
"""The version of LeaveGroup that names several members."""


class State(enum.Enum):
    """Where the member stands. Heartbeats are sent in the last two."""

    UNJOINED = "unjoined"
    PREPARING_REBALANCE = "waits for the others to join"
    COMPLETING_REBALANCE = "waits for its assignment"
    STABLE = "stable"


class Generation(NamedTuple):
    """What the member belongs to, and as whom. protocol: the name of the assignor that was chosen."""

    id: int = UNKNOWN_GENERATION
    member_id: str = UNKNOWN_MEMBER
    protocol: str = ""


NO_GENERATION = Generation()


class Joined(NamedTuple):
    """The outcome of a join: what this member got, as the leader wrote it."""

    generation: Generation
    assignment: bytes


class GroupMember:
    """One member of one group.

    protocols: what to join with, asked at every attempt. assign: for the leader: from the chosen protocol and all
    members to what each gets. on_news: called when poll() has something to do.
    rejoin_needed: whether the next poll has to begin a join. prepared: whether partitions were revoked for it.
    """

    def __init__(
        self,
        options: ConsumerOptions,
        group_id: str,
        coordinator: Coordinator,
        clock: Clock,
        metrics: CoordinatorMetrics,
        *,
        protocols: Callable[[], Awaitable[list[JoinGroupRequestProtocol]]],
        assign: Callable[[str, list[JoinGroupResponseMember]], Awaitable[dict[str, bytes]]],
        on_news: Callable[[], object],
    ) -> None:
        self.group_id = group_id
        self.state = State.UNJOINED
        self.generation = NO_GENERATION
        self.rejoin_needed = True
        self.prepared = False
        self._polling = False
        self.last_poll_ms = clock.monotonic_ms()
        self._options = options
        self._coordinator = coordinator
        self._clock = clock
        self._metrics = metrics
        self._protocols = protocols
        self._assign = assign
        self._on_news = on_news
        self._failure: KafkaError | None = None
        self._joining: asyncio.Task[Joined | None] | None = None
        self._heartbeats = Heartbeats(self, options, coordinator, clock, metrics)
        self._join_began_ms: float | None = None

    # What poll asks

    @property
    def is_joining(self) -> bool:
        """Whether a join is under way, or its outcome not taken yet."""
        return self._joining is not None

    @property
    def needs_attention(self) -> bool:
        """Whether the next poll has something to do here."""
        joining = self._joining
        return self._failure is not None or (self.rejoin_needed if joining is None else joining.done())

    @property
    def stable_generation(self) -> Generation | None:
        """The generation in which offsets may be committed; None outside of one."""
        return self.generation if self.state is State.STABLE else None

    def request_rejoin(self, reason: str) -> None:
        """Has the next poll join again."""
        if not self.rejoin_needed:
            _log.info("Request joining group %s due to: %s", self.group_id, reason)
        self.rejoin_needed = True
        self._on_news()

    def note_prepared(self, is_done: bool) -> None:
        """Whether the partitions that a join costs are revoked: then they are not revoked again for it."""
        self.prepared = is_done

    def raise_failure(self) -> None:
        """Raises what went wrong for good in the background."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    # Join

    def join(self) -> None:
        """Begins to join, or to join again."""
        if self._joining is None:
            if self._join_began_ms is None:
                self._join_began_ms = self._clock.monotonic_ms()
            self._heartbeats.start()
            self._joining = asyncio.get_running_loop().create_task(self._join_until_done())
            self._joining.add_done_callback(lambda _task: self._on_news())

    def take_joined(self) -> Joined | None:
        """The outcome of a join that is done; None when there is none, or it must begin anew.

        Raises KafkaError when the member cannot be part of the group.
        """
        task = self._joining
        if task is None or not task.done():
            return None
        self._joining = None
        if task.cancelled():
            return None
        try:
            joined = task.result()
        except Exception:
            self._metrics.failed_rebalances += 1
            self.state = State.UNJOINED
            raise
        if joined is not None and joined.generation == self.generation and self.state is State.STABLE:
            self.prepared = False
            self._count_rebalance()
            return joined
        self._metrics.failed_rebalances += 1
        return None

    def _count_rebalance(self) -> None:
        if self._join_began_ms is not None:
            now_ms = self._clock.monotonic_ms()
            self._metrics.rebalances += 1
            self._metrics.rebalance_latency.update(now_ms - self._join_began_ms)
            self._metrics.note_rebalance(now_ms)
            self._join_began_ms = None

    async def _join_until_done(self) -> Joined | None:
        """Joins, as often as it takes; None when partitions have to be given up as lost before the next attempt.

        Raises KafkaError for what no other attempt will mend.
        """
        while True:
            self.state = State.PREPARING_REBALANCE
            try:
                joined = await self._sync(await self._join_once())
            except KafkaError as error:
                if not is_passing(error.code):
                    raise
                _log.info("Rebalance of group %s failed: %s", self.group_id, error)
                self.state = State.PREPARING_REBALANCE
                if error.code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
                    self._lose_generation()
                    return None
                if error.code not in (ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.REBALANCE_IN_PROGRESS):
                    await asyncio.sleep(self._options.retry_backoff_ms / 1000)
                continue
            self.state = State.STABLE
            self.rejoin_needed = False
            return joined

    async def _join_once(self) -> JoinGroupResponse:
        options = self._options
        _log.info("(Re-)joining group %s", self.group_id)
        begun_ms = self._clock.monotonic_ms()
        request = JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=options.session_timeout_ms,
            rebalance_timeout_ms=options.max_poll_interval_ms,
            member_id=self.generation.member_id,
            group_instance_id=options.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=await self._protocols(),
        )
        longest_ms = max(options.request_timeout_ms, options.max_poll_interval_ms + JOIN_LEEWAY_MS)
        response = await self._coordinator.send(request, timeout_ms=longest_ms)
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.generation = Generation(member_id=response.member_id)
        self._coordinator.check(response.error_code, f"joining group {self.group_id}")
        if response.protocol_type not in (None, PROTOCOL_TYPE):
            detail = f"group {self.group_id} is of the kind {response.protocol_type}"
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, detail)
        self._metrics.join_time.update(self._clock.monotonic_ms() - begun_ms)
        self._metrics.joins += 1
        answer: JoinGroupResponse = response
        return answer

    async def _sync(self, joined: JoinGroupResponse) -> Joined:
        generation = Generation(joined.generation_id, joined.member_id, joined.protocol_name or "")
        self.generation = generation
        self.state = State.COMPLETING_REBALANCE
        self._heartbeats.begin()
        leads = joined.leader == joined.member_id
        _log.info("Joined group %s with generation %s%s", self.group_id, generation, " as its leader" if leads else "")
        shares = await self._assign(generation.protocol, joined.members) if leads else {}
        begun_ms = self._clock.monotonic_ms()
        request = SyncGroupRequest(
            group_id=self.group_id,
            generation_id=generation.id,
            member_id=generation.member_id,
            group_instance_id=self._options.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=generation.protocol,
            assignments=[
                SyncGroupRequestAssignment(member_id=member, assignment=share) for member, share in shares.items()
            ],
        )
        longest_ms = max(self._options.request_timeout_ms, self._options.max_poll_interval_ms + JOIN_LEEWAY_MS)
        response = await self._coordinator.send(request, timeout_ms=longest_ms)
        self._coordinator.check(response.error_code, f"syncing group {self.group_id}")
        if response.protocol_name not in (None, generation.protocol):
            detail = f"group {self.group_id} uses {response.protocol_name} and not {generation.protocol}"
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, detail)
        self._metrics.sync_time.update(self._clock.monotonic_ms() - begun_ms)
        self._metrics.syncs += 1
        return Joined(generation, bytes(response.assignment))

    def _lose_generation(self) -> None:
        """The group does not know this member any more: what it had is lost, and it begins as a new one."""
        self.generation = NO_GENERATION
        self.state = State.UNJOINED
        self.rejoin_needed = True
        self.prepared = False
        self._on_news()

    def fail_generation(self, code: ErrorCode, generation: Generation) -> None:
        """An answer to a request made in a generation says that it is no more."""
        if generation == self.generation and not self.is_joining:
            _log.info("Group %s: %s in generation %s, rejoining as a new member", self.group_id, code.name, generation)
            self._lose_generation()

    # What heartbeats tell

    def enter_poll(self) -> None:
        """The application waits in poll: it need not poll in time."""
        self._polling = True

    def leave_poll(self) -> None:
        """The application computes."""
        self._polling = False

    def note_poll(self) -> None:
        """The application is alive."""
        self.last_poll_ms = self._clock.monotonic_ms()

    @property
    def is_waiting(self) -> bool:
        """Whether it is not for the application to poll now, since it does or the group is not done."""
        return self._polling or (self._joining is not None and not self._joining.done())

    @property
    def beats(self) -> bool:
        """Whether heartbeats are to be sent."""
        return self.state in (State.COMPLETING_REBALANCE, State.STABLE)

    def fail(self, error: KafkaError) -> None:
        """Something went wrong for good in the background: the next poll raises it."""
        self._failure = error
        self._on_news()

    def fence(self, generation: Generation) -> None:
        """Another consumer has taken our instance id."""
        if generation == self.generation:
            self._lose_generation()
            code = ErrorCode.FENCED_INSTANCE_ID
            self.fail(KafkaError(code, f"{self._options.group_instance_id}: {code.meaning}"))

    # Leave

    async def leave(self, reason: str, timeout_ms: float | None = None) -> None:
        """Tells the group that this member goes, unless it is static; it has nothing any more either way.

        Nothing is raised: the group finds out by itself in the end.
        """
        generation, joining = self.generation, self._joining
        self._lose_generation()
        if joining is not None:
            self._joining = None
            if not joining.done():
                joining.cancel()
                self._coordinator.hang_up()  # a LeaveGroup would wait behind the JoinGroup
        if generation.member_id == UNKNOWN_MEMBER or self._options.group_instance_id is not None:
            return
        _log.info("Member %s leaving group %s: %s", generation.member_id, self.group_id, reason)
        timeout_ms = self._options.request_timeout_ms if timeout_ms is None else timeout_ms
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                version = await self._coordinator.version_for(LeaveGroupRequest)
                response = await self._coordinator.send(self._goodbye(generation.member_id, version))
                self._coordinator.check(response.error_code, f"leaving group {self.group_id}")
        except TimeoutError:
            _log.info("Group %s did not answer in time that member %s leaves", self.group_id, generation.member_id)
        except KafkaError as error:
            _log.info("Leaving group %s failed: %s", self.group_id, error)

    def _goodbye(self, member_id: str, version: int) -> LeaveGroupRequest:
        if version < NAMES_MEMBERS_SINCE:
            return LeaveGroupRequest(group_id=self.group_id, member_id=member_id)
        return LeaveGroupRequest(group_id=self.group_id, members=[MemberIdentity(member_id=member_id)])

    async def close(self) -> None:
        """Stops all that runs; leaves nobody."""
        await self._heartbeats.close()
        if self._joining is not None:
            self._joining.cancel()
            [outcome] = await asyncio.gather(self._joining, return_exceptions=True)
            if isinstance(outcome, Exception):
                _log.debug("A join that nobody waits for any longer failed", exc_info=outcome)
            self._joining = None


def is_passing(code: ErrorCode) -> bool:
    """Whether a member goes on trying after this error of a join or sync."""
    return code.retriable or code in (
        ErrorCode.MEMBER_ID_REQUIRED,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.BROKER_NOT_AVAILABLE,
    )
