"""One member of a group: join, sync, leave. heartbeats.py keeps it alive.

A join runs as a separate task and continues while the application computes. rebalance.py applies its result to the
partitions, joining.py provides its contents. All methods are called on one event loop.

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
from kafka_py.clients.consumer.heartbeats import Heartbeats
from kafka_py.clients.consumer.metrics import CoordinatorMetrics
from kafka_py.clients.consumer.protocol import PROTOCOL_TYPE
from kafka_py.clients.coordinator import Coordinator
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
"""How much longer than the rebalance time-out the client waits for the response to a JoinGroup."""

NAMES_MEMBERS_SINCE = 3
"""The first version of LeaveGroup that names several members."""


class State(enum.Enum):
    """The state of the member. Heartbeats are sent in the last two."""

    UNJOINED = "unjoined"
    PREPARING_REBALANCE = "waits for the others to join"
    COMPLETING_REBALANCE = "waits for its assignment"
    STABLE = "stable"


class Generation(NamedTuple):
    """The member's generation and member id. protocol: the name of the assignor that the coordinator chose."""

    id: int = UNKNOWN_GENERATION
    member_id: str = UNKNOWN_MEMBER
    protocol: str = ""


NO_GENERATION = Generation()


class Joined(NamedTuple):
    """The result of a join: this member's assignment, as the leader encoded it."""

    generation: Generation
    assignment: bytes


class GroupMember:
    """One member of one group.

    protocols: returns the protocols to join with; called at every attempt. assign: computes the assignments on the
    leader, from the chosen protocol and all members. on_event: called when poll() has something to do.
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
        on_event: Callable[[], object],
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
        self._on_event = on_event
        self._failure: KafkaError | None = None
        self._joining: asyncio.Task[Joined | None] | None = None
        self._heartbeats = Heartbeats(self, options, coordinator, clock, metrics)
        self._join_began_ms: float | None = None

    # ---- used by poll

    @property
    def is_joining(self) -> bool:
        """Whether a join is in progress, or its result has not been taken yet."""
        return self._joining is not None

    @property
    def needs_attention(self) -> bool:
        """Whether the next poll has something to do here."""
        joining = self._joining
        return self._failure is not None or (self.rejoin_needed if joining is None else joining.done())

    @property
    def stable_generation(self) -> Generation | None:
        """The generation in which offsets may be committed; None while the member is not stable."""
        return self.generation if self.state is State.STABLE else None

    def request_rejoin(self, reason: str) -> None:
        """The next poll joins again."""
        if not self.rejoin_needed:
            _log.info("Request joining group %s due to: %s", self.group_id, reason)
        self.rejoin_needed = True
        self._on_event()

    def note_prepared(self, is_done: bool) -> None:
        """Notes whether partitions were revoked for the coming join, so that this is done only once per join."""
        self.prepared = is_done

    def raise_failure(self) -> None:
        """Raises a fatal error that occurred in the background."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    # ---- join

    def join(self) -> None:
        """Starts to join or rejoin."""
        if self._joining is None:
            if self._join_began_ms is None:
                self._join_began_ms = self._clock.monotonic_ms()
            self._heartbeats.start()
            self._joining = asyncio.get_running_loop().create_task(self._join_until_done())
            self._joining.add_done_callback(lambda _task: self._on_event())

    def take_joined(self) -> Joined | None:
        """Takes the result of a join that is done; None if there is none, or the join has to be restarted.

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
        """Joins, with retries; None when partitions are lost and have to be dropped before the next attempt.

        Raises KafkaError that is not retriable.
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
            detail = f"group {self.group_id} has protocol type {response.protocol_type}"
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
        """Drops member id and generation, which the group no longer knows; the next join is that of a new member."""
        self.generation = NO_GENERATION
        self.state = State.UNJOINED
        self.rejoin_needed = True
        self.prepared = False
        self._on_event()

    def fail_generation(self, code: ErrorCode, generation: Generation) -> None:
        """Handles an error that says that the generation of a request has ended."""
        if generation == self.generation and not self.is_joining:
            _log.info("Group %s: %s in generation %s, rejoining as a new member", self.group_id, code.name, generation)
            self._lose_generation()

    # ---- used by heartbeats

    def enter_poll(self) -> None:
        """The application is in poll: max.poll.interval.ms does not apply."""
        self._polling = True

    def leave_poll(self) -> None:
        """The application has left poll, or runs a listener: max.poll.interval.ms applies."""
        self._polling = False

    def note_poll(self) -> None:
        """Restarts max.poll.interval.ms."""
        self.last_poll_ms = self._clock.monotonic_ms()

    @property
    def is_waiting(self) -> bool:
        """Whether max.poll.interval.ms does not apply, because the application is in poll or a join is in progress."""
        return self._polling or (self._joining is not None and not self._joining.done())

    @property
    def beats(self) -> bool:
        """Whether heartbeats are to be sent."""
        return self.state in (State.COMPLETING_REBALANCE, State.STABLE)

    def fail(self, error: KafkaError) -> None:
        """Notes a fatal error of the background; the next poll raises it."""
        self._failure = error
        self._on_event()

    def fence(self, generation: Generation) -> None:
        """Fails the member: another consumer uses its group.instance.id."""
        if generation == self.generation:
            self._lose_generation()
            code = ErrorCode.FENCED_INSTANCE_ID
            self.fail(KafkaError(code, f"{self._options.group_instance_id}: {code.meaning}"))

    # ---- leave

    async def leave(self, reason: str, timeout_ms: float | None = None) -> None:
        """Sends LeaveGroup, unless the member is static, and drops member id and generation.

        Raises nothing: if the request fails, the coordinator removes the member after session.timeout.ms.
        """
        generation, joining = self.generation, self._joining
        self._lose_generation()
        if joining is not None:
            self._joining = None
            if not joining.done():
                joining.cancel()
                self._coordinator.hang_up()  # a LeaveGroup would wait behind the JoinGroup
            elif not joining.cancelled():
                joining.exception()  # marks it as retrieved: no poll will take it
        if generation.member_id == UNKNOWN_MEMBER or self._options.group_instance_id is not None:
            return
        _log.info("Member %s leaving group %s: %s", generation.member_id, self.group_id, reason)
        timeout_ms = self._options.request_timeout_ms if timeout_ms is None else timeout_ms
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                version = await self._coordinator.version_for(LeaveGroupRequest)
                response = await self._coordinator.send(self._leave_request(generation.member_id, version))
                self._coordinator.check(response.error_code, f"leaving group {self.group_id}")
        except TimeoutError:
            _log.info("Group %s did not respond in time to member %s leaving", self.group_id, generation.member_id)
        except KafkaError as error:
            _log.info("Leaving group %s failed: %s", self.group_id, error)

    def _leave_request(self, member_id: str, version: int) -> LeaveGroupRequest:
        if version < NAMES_MEMBERS_SINCE:
            return LeaveGroupRequest(group_id=self.group_id, member_id=member_id)
        return LeaveGroupRequest(group_id=self.group_id, members=[MemberIdentity(member_id=member_id)])

    async def close(self) -> None:
        """Cancels the join in progress; sends no LeaveGroup."""
        await self._heartbeats.close()
        if self._joining is not None:
            self._joining.cancel()
            [outcome] = await asyncio.gather(self._joining, return_exceptions=True)
            if isinstance(outcome, Exception):
                _log.debug("A join that was cancelled by close failed", exc_info=outcome)
            self._joining = None


def is_passing(code: ErrorCode) -> bool:
    """Whether a member retries after this error of a join or sync."""
    return code.retriable or code in (
        ErrorCode.MEMBER_ID_REQUIRED,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.BROKER_NOT_AVAILABLE,
    )
