"""The door to group membership: join, sync, heartbeat, leave, and what administrators ask.

Everything here runs on the broker's loop and is synchronous; an answer that has to wait comes through a callback.
Joins the parts: joining.py, syncing.py, leaving.py, rebalancing.py, overview.py.
Source: docs/reference/groups.md, sections 2 to 8.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Hashable, Sequence

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.purgatory import Purgatory
from kafka_py.base.timers import Timers
from kafka_py.coordinator.groups import overview
from kafka_py.coordinator.groups.answers import AnswerJoin, AnswerSync, refused_join
from kafka_py.coordinator.groups.context import Context, Limits, Store
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.joining import Joining, JoinRequest
from kafka_py.coordinator.groups.leaving import Leaver, Leaving
from kafka_py.coordinator.groups.overview import GroupDescription, ListedGroup
from kafka_py.coordinator.groups.rebalancing import Rebalancing
from kafka_py.coordinator.groups.states import DEAD, PREPARING_REBALANCE
from kafka_py.coordinator.groups.syncing import Syncing, SyncRequest

log = logging.getLogger(__name__)


def _nothing() -> None:
    pass


class Membership:
    """Who is in which group.

    limits: the settings in force. rebalances: where rounds are parked, Kafka's purgatory "Rebalance".
    on_rebalance_completed: counts. new_id: the random part of member ids.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        timers: Timers,
        limits: Callable[[], Limits],
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
        self._rebalancing = Rebalancing(context)
        self.joining = Joining(context, self._rebalancing, new_id)
        self._syncing = Syncing(context, self._rebalancing)
        self._leaving = Leaving(context, self._rebalancing)
        self.sessions = self._rebalancing.sessions

    # ---- members

    def join(self, request: JoinRequest, answer: AnswerJoin) -> None:
        """JoinGroup: answers at once, or when the round of joining ends."""
        self.joining.join(request, answer)

    def sync(self, request: SyncRequest, answer: AnswerSync) -> None:
        """SyncGroup: answers at once, or when the leader's assignment is written."""
        self._syncing.sync(request, answer)

    def heartbeat(
        self, group_id: str, member_id: str, generation: int, group_instance_id: str | None = None
    ) -> ErrorCode:
        """Heartbeat: the member is alive. NONE, or why it has to rejoin or stop."""
        store = self._store
        try:
            store.check(group_id)
            group = store.get(group_id)
            if group is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            member = group.speaker(member_id, group_instance_id, generation)
        except KafkaError as error:
            # While the group is loaded nobody can say whether the member is in it: it may carry on.
            return ErrorCode.NONE if error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS else error.code
        self.sessions.touch(group, member)
        return ErrorCode.REBALANCE_IN_PROGRESS if group.state is PREPARING_REBALANCE else ErrorCode.NONE

    def leave(self, group_id: str, leavers: Sequence[Leaver]) -> list[ErrorCode]:
        """LeaveGroup: how it went for each. Raises KafkaError for what concerns the group as a whole."""
        return self._leaving.leave(group_id, leavers)

    def once_written(self, group_id: str, then: Callable[[], object]) -> bool:
        """Calls `then` once the group's last change is written, or could not be; False when nothing is under way."""
        group = self._store.get(group_id)
        if group is None or group.being_emptied is None:
            return False
        group.being_emptied.append(then)
        return True

    def touch(self, group: Group, member_id: str) -> None:
        """A member has given a sign of life other than a heartbeat: it committed offsets."""
        member = group.members.get(member_id)
        if member is not None:
            self.sessions.touch(group, member)

    # ---- administrators

    def describe(self, group_id: str) -> GroupDescription:
        """DescribeGroups. Raises KafkaError."""
        return overview.describe(self._store, group_id)

    def list_groups(self, states: Collection[str] = ()) -> list[ListedGroup]:
        """ListGroups: the groups here, or those in one of `states`; while something loads, some are missing."""
        return overview.list_groups(self._store, states)

    @property
    def is_loading(self) -> bool:
        return self._store.loading

    def delete(self, group_id: str) -> None:
        """DeleteGroups. Raises KafkaError."""
        overview.delete(self._store, self._rebalancing, group_id, self._clock.wall_ms())

    # ---- groups that come and go with their partition

    def on_loaded(self, group: Group) -> None:
        """The group was read from the offsets topic: its members live for a session time-out from now on."""
        if len(group.members) > self._limits().group_max_size:
            self._rebalancing.prepare(group, "freshly loaded group is over capacity")
        for member in group.members.values():
            self.sessions.touch(group, member)

    def on_unloaded(self, group: Group) -> None:
        """Another broker coordinates the group now, or it was removed: it is Dead, and who waits is sent elsewhere."""
        group.become(DEAD, self._clock.wall_ms())
        self._rebalancing.forget_rounds(group)
        for member_id in list(group.joins):
            group.answer_join(member_id, refused_join(member_id, ErrorCode.NOT_COORDINATOR))
        self._rebalancing.answer_syncs(group, ErrorCode.NOT_COORDINATOR)
        for member in group.members.values():
            self.sessions.end(member)
