"""What follows from an event in a group, as values: the group afterwards, records to append, responses to send, timers
to arm or to cancel.

driver.py applies and carries out an outcome. A record's change is applied when it is acknowledged: the driver hands
`change` back as an event.
Pure. Source: docs/reference/groups.md, sections 2 to 6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.coordinator.groups.requests import JoinResult, SyncResult, Ticket

if TYPE_CHECKING:
    from kafka_py.base.errors import ErrorCode
    from kafka_py.coordinator.groups.group import Group
    from kafka_py.coordinator.groups.member import Protocols


class TimerKind(Enum):
    """What a timer of a group waits for; transcripts show the value."""

    ROUND = "round"  # members to join
    SYNCS = "syncs"  # members to sync
    SESSION = "session"  # a heartbeat of a member, or another request that extends its session
    PENDING = "pending"  # a new member to join again with its issued id


class TimerName(NamedTuple):
    """One timer of a group. member_id: of the member; empty for timers of the whole group."""

    kind: TimerKind
    member_id: str = ""


ROUND = TimerName(TimerKind.ROUND)
SYNCS = TimerName(TimerKind.SYNCS)


class TimerChange(NamedTuple):
    """delay_ms: until the timer fires, replacing an earlier delay; None cancels it."""

    timer: TimerName
    delay_ms: float | None


class Assigned(NamedTuple):
    """The leader's assignment of a generation. assignments: by member id."""

    generation: int
    assignments: Mapping[str, bytes]


class Replaced(NamedTuple):
    """Replaces a static member's id `former_id` by `member_id`. former_leader: the previous leader's member id."""

    generation: int
    member_id: str
    former_id: str
    former_leader: str | None
    former_protocols: Protocols


class Emptied(NamedTuple):
    """The group has no members in `generation`."""

    generation: int


Change = Assigned | Replaced | Emptied


class GroupRecord(NamedTuple):
    """A group as it is to be written before its next change, with the members' assignments.

    change: applied once the record is written.
    """

    group: Group
    assignments: Mapping[str, bytes]
    change: Change


Result = JoinResult | SyncResult | Sequence["ErrorCode"]


class Reply(NamedTuple):
    """The response to a request. result: for LeaveGroup a list of codes, one for each leaving member."""

    ticket: Ticket
    result: Result


class Level(Enum):
    """The log level of a note."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Note(NamedTuple):
    """A line for the log."""

    level: Level
    text: str


class GroupOutcome:
    """All that follows from one event; each list is in the order in which it has to be carried out.

    group: as it is to be from now on; not changed after the decision. The driver applies it, then changes the timers,
    answers, and appends.
    """

    __slots__ = ("group", "notes", "records", "replies", "timers")

    def __init__(self, group: Group) -> None:
        self.group = group
        self.records: list[GroupRecord] = []
        self.replies: list[Reply] = []
        self.timers: list[TimerChange] = []
        self.notes: list[Note] = []

    def reply(self, ticket: Ticket, result: Result) -> None:
        self.replies.append(Reply(ticket, result))

    def arm(self, timer: TimerName, delay_ms: float) -> None:
        self.timers.append(TimerChange(timer, delay_ms))

    def cancel(self, timer: TimerName) -> None:
        """Cancels a timer; does nothing if it is not armed."""
        self.timers.append(TimerChange(timer, None))

    def note(self, text: str, level: Level = Level.INFO) -> None:
        self.notes.append(Note(level, text))
