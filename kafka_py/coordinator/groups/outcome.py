"""What follows from an event in a group, as values: records to append, answers to give, timers to arm or to cancel.

A decision changes the Group, which is a value in memory, and says here what has to happen outside of it; driver.py does
that. What a record makes true holds when it is acknowledged: the driver then hands its `change` back as an event.
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
    """What a group waits for; the value is how a transcript shows it."""

    ROUND = "round"  # members to join
    SYNCS = "syncs"  # members to sync
    SESSION = "session"  # a sign of life of a member
    PENDING = "pending"  # the owner of a new member id to come back with it


class TimerName(NamedTuple):
    """One timer of a group. member_id: whose it is; empty for those of the group as a whole."""

    kind: TimerKind
    member_id: str = ""


ROUND = TimerName(TimerKind.ROUND)
SYNCS = TimerName(TimerKind.SYNCS)


class TimerChange(NamedTuple):
    """delay_ms: until the timer fires, in place of when it would have before; None cancels it."""

    timer: TimerName
    delay_ms: float | None


class Assigned(NamedTuple):
    """The leader's assignment of a generation. assignments: by member id."""

    generation: int
    assignments: Mapping[str, bytes]


class Replaced(NamedTuple):
    """A static member has the id `member_id` in place of `former_id`. former_leader: the leader before that."""

    generation: int
    member_id: str
    former_id: str
    former_leader: str | None
    former_protocols: Protocols


class Emptied(NamedTuple):
    """The group has no members in `generation`."""

    generation: int


Change = Assigned | Replaced | Emptied


class Record(NamedTuple):
    """A group as it is to be written before anything else happens to it, with what each member is to work on.

    change: what is true once it is written.
    """

    group: Group
    assignments: Mapping[str, bytes]
    change: Change


Result = JoinResult | SyncResult | Sequence["ErrorCode"]


class Reply(NamedTuple):
    """The answer to a request. result: a list of codes answers a LeaveGroup, one for each leaver."""

    ticket: Ticket
    result: Result


class Level(Enum):
    """How loud a note is."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Note(NamedTuple):
    """Something for the log."""

    level: Level
    text: str


class Outcome:
    """All that follows from one event; each list in the order in which it has to be done.

    The driver changes the timers first, then answers, then appends.
    """

    __slots__ = ("notes", "records", "replies", "timers")

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.replies: list[Reply] = []
        self.timers: list[TimerChange] = []
        self.notes: list[Note] = []

    def reply(self, ticket: Ticket, result: Result) -> None:
        self.replies.append(Reply(ticket, result))

    def arm(self, timer: TimerName, delay_ms: float) -> None:
        self.timers.append(TimerChange(timer, delay_ms))

    def cancel(self, timer: TimerName) -> None:
        """Nothing happens if it is not armed."""
        self.timers.append(TimerChange(timer, None))

    def note(self, text: str, level: Level = Level.INFO) -> None:
        self.notes.append(Note(level, text))
