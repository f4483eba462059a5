"""What is done of what the decisions say, also when something of it raises what nobody foresaw."""

from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.purgatory import Purgatory
from kafka_py.base.timers import Timers
from kafka_py.coordinator.groups import driver, joining
from kafka_py.coordinator.groups.driver import TRY_AGAIN_MS, GroupTimers
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.machine import Event, RecordWritten, handle
from kafka_py.coordinator.groups.moment import Moment
from kafka_py.coordinator.groups.offsets import GroupOffsets
from kafka_py.coordinator.groups.outcome import ROUND, GroupOutcome, TimerChange, TimerKind, TimerName
from kafka_py.coordinator.groups.requests import JoinRequest, JoinResult, SyncRequest
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.fakes.groups import GROUP, RANGE, SESSION_MS, GroupWorld


def request(member_id: str = "") -> JoinRequest:
    return JoinRequest(GROUP, member_id, None, False, "a", "/127.0.0.1", 10_000, 60_000, "consumer", RANGE)


def test_a_store_that_raises_counts_as_a_failed_write_of_the_assignment() -> None:
    world = GroupWorld()
    a, b = world.joined("a", "b")
    waiting = world.sync(b)
    world.store.fault = ZeroDivisionError("nobody foresaw this")
    leader = world.sync(a, assignments={})
    assert waiting.value.error is leader.value.error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert world.state == "PreparingRebalance"
    assert world.store.supervisor.failures.total() == 1
    world.store.fault = None
    assert world.join(member_id=a).is_parked
    assert world.join(member_id=b).value.generation == 2


def test_an_answer_that_raises_leaves_the_others_theirs() -> None:
    world = GroupWorld()

    def fail(_result: JoinResult) -> None:
        raise ConnectionResetError("the client has gone")

    world.membership.join(request(), fail)
    other = world.join("b")
    world.pass_ms(6000)
    assert other.value.generation == 1
    assert world.state == "CompletingRebalance"
    world.pass_ms(120_000)  # neither syncs
    assert world.state == "Empty"


def test_the_record_is_written_though_an_answer_before_it_raised() -> None:
    """The last member leaves while its own join waits, and its client has gone."""
    world = GroupWorld()
    (member,) = world.stable("a")
    world.join("b")

    def fail(_result: JoinResult) -> None:
        raise ConnectionResetError("the client has gone")

    world.membership.join(request("b-2"), fail)
    assert world.leave(member, "b-2") == [ErrorCode.NONE, ErrorCode.NONE]
    assert world.store.supervisor.failures.total() == 1
    assert world.state == "Empty"
    assert world.store.persisted[-1].members == ()


def gone(_result: object) -> None:
    raise ConnectionResetError("the client has gone")


def test_who_ends_the_round_is_answered_once_though_the_answer_of_another_raises() -> None:
    world = GroupWorld()
    a, b = world.stable("a", "b")
    world.membership.join(request(a), gone)
    assert world.join(member_id=b, protocols=((RANGE[0][0], b"other"),)).value.generation == 2
    assert world.store.supervisor.failures.total() == 1


def test_who_begins_a_round_waits_in_it_though_the_answer_of_another_raises() -> None:
    world = GroupWorld()
    a, b = world.joined("a", "b")
    world.membership.sync(SyncRequest(GROUP, 1, b), gone)
    newcomer = world.join("c")
    assert newcomer.is_parked
    for member_id in (a, b):
        world.join(member_id=member_id)
    assert newcomer.value.generation == 2


def test_who_asks_gets_what_the_own_answer_raises() -> None:
    world = GroupWorld()
    world.joined("a")
    with pytest.raises(ConnectionResetError):
        world.membership.sync(SyncRequest(GROUP, 1, "stranger"), gone)


def test_a_decision_that_raises_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of what it had decided before is carried out: the sync that waits is not answered."""
    world = GroupWorld()
    a, b = world.joined("a", "b")
    waiting = world.sync(b)
    with monkeypatch.context() as patched:
        patched.setattr(Group, "become", fail)
        with pytest.raises(ZeroDivisionError):
            world.leave(a)
    assert waiting.is_parked
    assert list(world.group.members) == [a, b]
    assert world.leave(a) == [ErrorCode.NONE]
    assert waiting.value.error is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_request_whose_decision_raises_gets_the_exception_and_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    world = GroupWorld()
    answers: list[JoinResult] = []
    monkeypatch.setattr(joining, "progress", fail)
    with pytest.raises(ZeroDivisionError):
        world.membership.join(request(), answers.append)
    assert not answers
    assert not world.group.members


def test_a_timer_whose_decision_raises_fires_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = GroupWorld()
    (member,) = world.stable("a")
    with monkeypatch.context() as patched:
        patched.setattr(Group, "become", fail)
        world.pass_ms(SESSION_MS + TRY_AGAIN_MS)
    assert list(world.group.members) == [member]
    world.pass_ms(TRY_AGAIN_MS)
    assert not world.group.members
    assert world.state == "Empty"


def fail(*_arguments: object) -> None:
    raise ZeroDivisionError("nobody foresaw this")


def test_a_write_that_is_said_to_be_over_twice_counts_once() -> None:
    world = GroupWorld()
    (member,) = world.joined("a")
    persist = world.store.persist

    def persist_and_raise(*arguments: Any) -> None:
        persist(*arguments)
        raise ZeroDivisionError("nobody foresaw this")

    world.store.persist = persist_and_raise  # type: ignore[assignment,method-assign]
    assert world.sync(member, assignments={member: b"work"}).value.assignment == b"work"
    assert world.state == "Stable"


def test_a_timer_that_is_armed_again_fires_once_and_is_counted_once() -> None:
    fired: list[str] = []
    clock = ManualClock()
    timers = Timers(clock, clock.call_later)
    group = Group(GROUP, GroupOffsets(), 0)
    session = TimerName(TimerKind.SESSION, "a-1")
    armed = GroupTimers(timers, Purgatory("Rebalance", timers), lambda _group, name: fired.append(name.kind.value))
    for name in (session, ROUND):
        armed.change(group, TimerChange(name, 10))
        armed.change(group, TimerChange(name, 20))
    assert (armed.watched, timers.pending) == (1, 2)
    clock.advance(19)
    assert not fired
    clock.advance(1)
    assert sorted(fired) == ["round", "session"]
    armed.change(group, TimerChange(session, 10))
    armed.change(group, TimerChange(session, None))
    armed.change(group, TimerChange(session, None))
    assert (armed.watched, timers.pending) == (0, 0)


def test_a_written_record_whose_decision_raises_is_decided_on_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without that the group would wait for its record for ever, and take no member."""
    world = GroupWorld()
    (member,) = world.stable("a")
    with monkeypatch.context() as patched:
        patched.setattr(driver, "handle", _fails_after_writes)
        assert world.leave(member) == [ErrorCode.NONE]
        world.pass_ms(TRY_AGAIN_MS - 1)
    assert world.group.is_being_emptied
    world.pass_ms(1)
    assert world.state == "Empty"
    assert world.stable("b")


def test_who_waits_for_a_written_record_waits_until_it_is_decided_on(monkeypatch: pytest.MonkeyPatch) -> None:
    world = GroupWorld()
    (member,) = world.stable("a")
    world.store.holding = True
    assert world.leave(member) == [ErrorCode.NONE]
    states: list[str] = []
    assert world.membership.once_written(GROUP, lambda: states.append(world.state))
    with monkeypatch.context() as patched:
        patched.setattr(driver, "handle", _fails_after_writes)
        world.store.release()
    assert states == []
    world.pass_ms(TRY_AGAIN_MS)
    assert states == ["Empty"]


def test_a_written_record_of_a_group_that_was_unloaded_is_not_decided_on_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = GroupWorld()
    (member,) = world.stable("a")
    world.store.holding = True
    world.leave(member)
    world.membership.on_unloaded(world.group)
    monkeypatch.setattr(driver, "handle", _fails_after_writes)
    world.store.release()
    assert world.timers.pending == 0


def _fails_after_writes(group: Group, event: Event, moment: Moment) -> GroupOutcome:
    if isinstance(event, RecordWritten):
        raise ZeroDivisionError("nobody foresaw this")
    return handle(group, event, moment)
