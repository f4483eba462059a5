"""The entry point to group membership: join, sync, heartbeat, leave, and the requests of administrators.

Everything here runs on the broker's loop and is synchronous; a delayed response is passed to a callback. Turns calls
into events, which driver.py passes to the decisions of machine.py; heartbeats are handled directly, for speed.
Source: docs/reference/groups.md, sections 2 to 8.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.purgatory import Purgatory
from kafka_py.base.timers import Timers
from kafka_py.coordinator.groups import overview, sessions
from kafka_py.coordinator.groups.context import Context, Store
from kafka_py.coordinator.groups.driver import GroupDriver
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.joining import Join, check_session_timeout
from kafka_py.coordinator.groups.leaving import Leave
from kafka_py.coordinator.groups.machine import Loaded, Unloaded
from kafka_py.coordinator.groups.moment import GroupConfig
from kafka_py.coordinator.groups.overview import GroupDescription, GroupOverview
from kafka_py.coordinator.groups.removal import remove_group
from kafka_py.coordinator.groups.requests import (
    NO_MEMBER_ID,
    AnswerJoin,
    AnswerSync,
    JoinRequest,
    Leaver,
    SyncRequest,
    refused_join,
    refused_sync,
)
from kafka_py.coordinator.groups.syncing import Sync


def _nothing() -> None:
    pass


class Membership:
    """The membership of all groups.

    limits: the settings in force. rebalances: the purgatory "Rebalance", in which joins and syncs are parked.
    on_rebalance_completed: counts. new_id: the random part of member ids, never returned twice; tests replace it.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        timers: Timers,
        limits: Callable[[], GroupConfig],
        *,
        new_id: Callable[[], str],
        rebalances: Purgatory[Hashable] | None = None,
        on_rebalance_completed: Callable[[], None] = _nothing,
    ) -> None:
        parked = Purgatory("Rebalance", timers) if rebalances is None else rebalances
        context = Context(store, clock, timers, limits, parked, on_rebalance_completed)
        self._store = store
        self._clock = clock
        self._limits = limits
        self.new_id = new_id
        self._driver = GroupDriver(context)
        self.sessions = self._driver.timers

    # ---- members

    def join(self, request: JoinRequest, answer: AnswerJoin) -> None:
        """JoinGroup: answers at once, or when the join phase ends."""
        try:
            group = self._group_to_join(request)
        except KafkaError as error:
            answer(refused_join(request.member_id, error.code))
            return
        new_id = self.new_id() if request.member_id == NO_MEMBER_ID else ""
        self._driver.request(group, answer, lambda ticket: Join(request, new_id, ticket))

    def _group_to_join(self, request: JoinRequest) -> Group:
        """Creates a missing group only for a join without member id. Raises KafkaError."""
        store = self._store
        store.check(request.group_id)
        check_session_timeout(request, self._limits())
        if request.member_id == NO_MEMBER_ID:
            return store.get_or_create(request.group_id)
        group = store.get(request.group_id)
        if group is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        return group

    def sync(self, request: SyncRequest, answer: AnswerSync) -> None:
        """SyncGroup: answers at once, or when the leader's assignment is written."""
        try:
            self._store.check(request.group_id)
        except KafkaError as error:
            # During loading: the previous coordinator's rebalance is lost, so the member has to rejoin anyway.
            is_loading = error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            answer(refused_sync(ErrorCode.REBALANCE_IN_PROGRESS if is_loading else error.code))
            return
        group = self._store.get(request.group_id)
        if group is None:
            answer(refused_sync(ErrorCode.UNKNOWN_MEMBER_ID))
            return
        self._driver.request(group, answer, lambda ticket: Sync(request, ticket))

    def heartbeat(
        self, group_id: str, member_id: str, generation: int, group_instance_id: str | None = None
    ) -> ErrorCode:
        """Heartbeat: extends the member's session. NONE, or the error that makes the member rejoin or stop."""
        store = self._store
        try:
            store.check(group_id)
        except KafkaError as error:
            # During loading the membership is unknown: the member is assumed to be valid.
            return ErrorCode.NONE if error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS else error.code
        group = store.get(group_id)
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        code, change = sessions.heartbeat(
            group, member_id, generation, group_instance_id, self._clock.monotonic_ms()
        )
        if change is not None:
            self.sessions.change(group, change)
        return code

    def leave(self, group_id: str, leavers: Sequence[Leaver]) -> list[ErrorCode]:
        """LeaveGroup: the result for each member. Raises KafkaError for an error of the whole group."""
        self._store.check(group_id)
        group = self._store.get(group_id)
        if group is None:
            return [ErrorCode.UNKNOWN_MEMBER_ID] * len(leavers)
        if group.is_dead:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        codes: list[ErrorCode] = []
        self._driver.request(group, codes.extend, lambda ticket: Leave(leavers, ticket))
        return codes

    def once_written(self, group_id: str, then: Callable[[], object]) -> bool:
        """Calls `then` once the group's last change is written, or failed to be; False when no write is in progress."""
        group = self._store.get(group_id)
        return group is not None and self._driver.once_emptied(group, then)

    # ---- administrators

    def describe(self, group_id: str) -> GroupDescription:
        """DescribeGroups. Raises KafkaError."""
        return overview.describe(self._store, group_id)

    def list_groups(self, states: Collection[str] = ()) -> list[GroupOverview]:
        """ListGroups: the groups here, or those in one of `states`; incomplete while a partition is being loaded."""
        return overview.list_groups(self._store, states)

    @property
    def is_loading(self) -> bool:
        return self._store.loading

    def delete(self, group_id: str) -> None:
        """DeleteGroups. Raises KafkaError."""
        group = overview.deletable(self._store, group_id)
        self._driver.handle(group, Unloaded())
        self._store.bury(group, remove_group(group))

    # ---- groups loaded and unloaded with their partition

    def on_loaded(self, group: Group) -> None:
        """The group was loaded from the offsets topic."""
        self._driver.handle(group, Loaded())

    def on_unloaded(self, group: Group) -> None:
        """The group was unloaded, because its coordinator is another broker now, or was removed."""
        self._driver.handle(group, Unloaded())
