"""The commands of group transcripts: one group, decided by coordinator/groups/machine.py and shown as text.

No store, no loop and no clock take part: time passes by a command, and a record is written when a command says so.

    join a [id=a-1] [instance=i] [needs-id] [protocols=range:topics,sticky:x] [session=10000] [rebalance=60000]
    sync a-1 [generation=1] [assign=a-1:x,b-2:y]      heartbeat a-1 [generation=1]      leave a-1 instance:i
    pass 3000      written      failed NOT_COORDINATOR      limits group_max_size=2      fail-over
    joined a b instance:i [session=10000]     stable a b

The last two show only the group that comes of them: all have joined its first generation, and have their ids for work.
The commands about offsets are in offset_transcripts.py.

Member ids are the client's or the instance's and a number that counts from 1; the generation is the group's own unless
it is given. Every request has a number under which its answer is shown.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy

from kafka_py.base.errors import ErrorCode
from kafka_py.coordinator.groups import sessions
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.joining import Join
from kafka_py.coordinator.groups.leaving import Leave
from kafka_py.coordinator.groups.machine import Event, Loaded, RecordWritten, TimeOver, Unloaded, handle
from kafka_py.coordinator.groups.member import Protocols
from kafka_py.coordinator.groups.moment import Moment
from kafka_py.coordinator.groups.offsets import GroupOffsets
from kafka_py.coordinator.groups.outcome import GroupOutcome, GroupRecord, Level, Result, TimerChange, TimerName
from kafka_py.coordinator.groups.records import group_value, read_group_value
from kafka_py.coordinator.groups.replay import restore
from kafka_py.coordinator.groups.requests import JoinRequest, JoinResult, Leaver, SyncRequest, SyncResult
from kafka_py.coordinator.groups.syncing import Sync
from kafka_py.testing.fakes.groups import REBALANCE_MS, SESSION_MS, FakeGroupConfig
from kafka_py.testing.fakes.offset_transcripts import OffsetScript

Options = dict[str, str]


class GroupScript:
    """One group and what was asked of it. group: as it is in memory. stored: the last value that was written."""

    def __init__(self) -> None:
        self.limits = FakeGroupConfig()
        self.now_ms = 0
        self.group = Group("g", GroupOffsets(), 0)
        self.stored: bytes | None = None
        self.timers: dict[TimerName, float] = {}
        self.unwritten: deque[tuple[GroupRecord, bytes]] = deque()
        self._parked: dict[int, str] = {}
        self._requests = 0
        self._ids = 0
        self._shown = self._state()
        self._commands: dict[str, Callable[[list[str], Options], Iterator[str]]] = {
            "join": self._join,
            "sync": self._sync,
            "heartbeat": self._heartbeat,
            "leave": self._leave,
            "pass": self._pass,
            "written": self._written,
            "failed": self._written,
            "limits": self._limits,
            "fail-over": self._fail_over,
            "joined": self._joined,
            "stable": self._stable,
        }
        self._offsets = OffsetScript(self.group)

    def perform(self, command: str) -> list[str]:
        """What comes of one command, as lines."""
        name, *words = command.split()
        options = dict(word.split("=", 1) for word in words if "=" in word)
        if name in self._offsets.commands:
            lines = self._offsets.perform(command, self.now_ms)
            for change in self._offsets.timers():
                lines.extend(self._change_timer(change))
        else:
            lines = list(self._commands[name]([word for word in words if "=" not in word], options))
        state = self._state()
        if state != self._shown:
            self._shown = state
            lines.append(state)
        return lines or ["nothing"]

    # ---- requests

    def _join(self, words: list[str], options: Options) -> Iterator[str]:
        request = JoinRequest(
            self.group.id,
            options.get("id", ""),
            options.get("instance"),
            "needs-id" in words,
            next((word for word in words if word != "needs-id"), ""),
            "/127.0.0.1",
            int(options.get("session", SESSION_MS)),
            int(options.get("rebalance", REBALANCE_MS)),
            options.get("type", "consumer"),
            _protocols(options.get("protocols", "range:topics")),
        )
        if not request.member_id:
            self._ids += 1
        return self._ask("join", lambda ticket: Join(request, str(self._ids), ticket))

    def _sync(self, words: list[str], options: Options) -> Iterator[str]:
        given = dict(pair.split(":", 1) for pair in options.get("assign", "").split(",") if pair)
        request = SyncRequest(
            self.group.id,
            int(options.get("generation", self.group.generation)),
            words[0],
            options.get("instance"),
            assignments={member_id: text.encode() for member_id, text in given.items()},
        )
        return self._ask("sync", lambda ticket: Sync(request, ticket))

    def _leave(self, words: list[str], _options: Options) -> Iterator[str]:
        leavers = [
            Leaver("", word.removeprefix("instance:")) if word.startswith("instance:") else Leaver(word)
            for word in words
        ]
        return self._ask("leave", lambda ticket: Leave(leavers, ticket))

    def _ask(self, kind: str, event_of: Callable[[int], Event]) -> Iterator[str]:
        self._requests += 1
        ticket = self._requests
        self._parked[ticket] = f"{kind} {ticket}"
        yield from self._handle(event_of(ticket))
        if ticket in self._parked:
            yield f"{kind} {ticket} waits"

    def _heartbeat(self, words: list[str], options: Options) -> Iterator[str]:
        generation = int(options.get("generation", self.group.generation))
        code, change = sessions.heartbeat(
            self.group, words[0], generation, options.get("instance"), self.now_ms
        )
        yield code.name
        if change is not None:
            yield from self._change_timer(change)

    # ---- time, records, the coordinator

    def _pass(self, words: list[str], _options: Options) -> Iterator[str]:
        end = self.now_ms + int(words[0])
        while self.timers:
            timer = min(self.timers, key=self.timers.__getitem__)
            if self.timers[timer] > end:
                break
            self.now_ms = int(self.timers.pop(timer))
            yield f"after {self.now_ms} ms: timer {_name(timer)}"
            yield from self._handle(TimeOver(timer))
        self.now_ms = end

    def _written(self, words: list[str], _options: Options) -> Iterator[str]:
        record, value = self.unwritten.popleft()
        error = ErrorCode[words[0]] if words else ErrorCode.NONE
        if error is ErrorCode.NONE:
            self.stored = value
        return self._handle(RecordWritten(record.change, error))

    def _limits(self, _words: list[str], options: Options) -> Iterator[str]:
        for name, value in options.items():
            setattr(self.limits, name, int(value))
        yield "ok"

    def _fail_over(self, _words: list[str], _options: Options) -> Iterator[str]:
        """Another broker, with the same clock, reads the group; what was on its way is lost."""
        yield from self._handle(Unloaded())
        assert not self.timers, f"a group that is gone still waits: {self.timers}"
        self.unwritten.clear()
        self.group = self.replayed()
        self._offsets.fail_over(self.group)
        yield from self._handle(Loaded())

    def _joined(self, words: list[str], options: Options) -> Iterator[str]:
        for word in words:
            client, instance = ("", word.removeprefix("instance:")) if word.startswith("instance:") else (word, None)
            of_instance = {} if instance is None else {"instance": instance}
            _silently(self._join([client], options | of_instance))
        _silently(self._pass([str(2 * self.limits.group_initial_rebalance_delay_ms)], {}))
        return iter(())

    def _stable(self, words: list[str], options: Options) -> Iterator[str]:
        self._joined(words, options)
        members = list(self.group.members)
        work = ",".join(f"{each}:{each}" for each in members)
        for member_id in members:
            _silently(self._sync([member_id], {"assign": work}))
        _silently(self._written([], {}))
        return iter(())

    def replayed(self) -> Group:
        """The group as the last record says it is."""
        group = Group(self.group.id, GroupOffsets(), self.now_ms)
        if self.stored is not None:
            restore(group, read_group_value(self.stored))
        return group

    # ---- what comes of it

    def _handle(self, event: Event) -> Iterator[str]:
        before = _all_of(self.group)
        outcome = handle(self.group, event, Moment(self.now_ms, self.now_ms, self.limits))
        assert _all_of(self.group) == before, f"the decision about {event} changed the group itself"
        self.group.adopt(outcome.group)
        return self._show(outcome)

    def _show(self, outcome: GroupOutcome) -> Iterator[str]:
        for level, text in outcome.notes:
            yield f"{'note' if level is Level.INFO else level.value}: {text}"
        for change in outcome.timers:
            yield from self._change_timer(change)
        for ticket, result in outcome.replies:
            yield f"{self._parked.pop(ticket)} answered: {_result(result)}"
        for record in outcome.records:
            self.unwritten.append((record, group_value(record.group, record.assignments)))
            work = "".join(f" {member_id}={text.decode()}" for member_id, text in record.assignments.items())
            yield f"write generation {record.group.generation}:{work or ' no members'}"

    def _change_timer(self, change: TimerChange) -> Iterator[str]:
        timer, delay_ms = change
        was_armed = self.timers.pop(timer, None) is not None
        if delay_ms is not None:
            self.timers[timer] = self.now_ms + delay_ms
            yield f"timer {_name(timer)} in {delay_ms:g} ms"
        elif was_armed:
            yield f"timer {_name(timer)} cancelled"

    def _state(self) -> str:
        group = self.group
        who = " ".join(f"{each} (leader)" if each == group.leader else each for each in group.members) or "no members"
        protocol = f", {group.protocol}" if group.protocol else ""
        return f"group {group.state.value}, generation {group.generation}{protocol}: {who}"


def _all_of(group: Group) -> dict[str, object]:
    """A copy of all that membership may change in a group: all but the offsets."""
    return {name: deepcopy(getattr(group, name)) for name in Group.__slots__ if name != "offsets"}


def _silently(lines: Iterable[str]) -> None:
    """Does what the lines would tell of."""
    for _ in lines:
        pass


def _name(timer: TimerName) -> str:
    return f"{timer.kind.value} {timer.member_id}".rstrip()


def _protocols(text: str) -> Protocols:
    pairs = (pair.partition(":") for pair in text.split(",") if pair)
    return tuple((name, metadata.encode()) for name, _, metadata in pairs)


def _result(result: Result) -> str:
    if isinstance(result, JoinResult):
        if result.error is not ErrorCode.NONE:
            return f"{result.error.name} {result.member_id}".rstrip()
        members = "".join(f" {each.member_id}={each.metadata.decode()}" for each in result.members)
        leads = f", members{members}" if members else ""
        return f"{result.member_id}, generation {result.generation}, {result.protocol}, leader {result.leader}{leads}"
    if isinstance(result, SyncResult):
        return result.error.name if result.error is not ErrorCode.NONE else f"work {result.assignment.decode()!r}"
    return " ".join(code.name for code in result)
