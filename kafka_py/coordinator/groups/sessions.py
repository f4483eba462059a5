"""Who is alive: every member has a deadline, which each sign of life moves on.

A heartbeat must cost next to nothing, for there are many: it only notes the new deadline. The member's one timer looks
at the deadline when it fires and goes back to sleep for the rest, so a timer is touched once a session time-out, not
once a heartbeat. Knows nothing of what a death leads to. Source: docs/reference/groups.md, sections 3 and 5.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kafka_py.base.clock import Clock
from kafka_py.base.timers import Timers
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.member import Member

_ROUNDING_MS = 1.0


class Sessions:
    """The sessions of all members of all groups.

    on_expired: a member's deadline has passed; on_pending_expired: so has that of an id whose owner never came.
    watched: members whose timer runs.
    """

    def __init__(
        self,
        clock: Clock,
        timers: Timers,
        on_expired: Callable[[Group, Member], None],
        on_pending_expired: Callable[[Group, str], None],
    ) -> None:
        self.watched = 0
        self._clock = clock
        self._timers = timers
        self._on_expired = on_expired
        self._on_pending_expired = on_pending_expired

    @property
    def delayed(self) -> int:
        """The same number, as the metrics of Kafka's purgatory "Heartbeat" ask for it too."""
        return self.watched

    def touch(self, group: Group, member: Member) -> None:
        """A sign of life: the session lasts its whole time-out from now on."""
        self.extend(group, member, member.session_timeout_ms)

    def extend(self, group: Group, member: Member, timeout_ms: float) -> None:
        """The member lives for `timeout_ms` from now on, longer or shorter than it would have."""
        deadline = self._clock.monotonic_ms() + timeout_ms
        member.deadline_ms = deadline
        timer = member.timer
        if timer is not None:
            if timer.deadline_ms - deadline <= _ROUNDING_MS:
                return
            self.end(member)  # it would look too late
        self._arm(group, member, timeout_ms)

    def end(self, member: Member) -> None:
        """The member is gone, or its life is not watched any more."""
        if member.timer is not None:
            member.timer.cancel()
            member.timer = None
            self.watched -= 1

    def expect(self, group: Group, member_id: str, timeout_ms: float) -> None:
        """The owner of a new id has so long to come back with it."""
        expired = partial(self._on_pending_expired, group, member_id)
        group.pending_members[member_id] = self._timers.schedule(timeout_ms, expired)

    def _arm(self, group: Group, member: Member, delay_ms: float) -> None:
        member.timer = self._timers.schedule(delay_ms, partial(self._look, group, member))
        self.watched += 1

    def _look(self, group: Group, member: Member) -> None:
        member.timer = None
        self.watched -= 1
        if group.is_dead or group.members.get(member.member_id) is not member:
            return
        if group.is_waiting(member.member_id) and not member.is_new:
            return  # we owe it an answer, so it cannot be late; the answer starts its session anew
        left_ms = member.deadline_ms - self._clock.monotonic_ms()
        if left_ms > 0:
            self._arm(group, member, left_ms)
        else:
            self._on_expired(group, member)
