"""When the answers to OffsetCommit and LeaveGroup leave: once what they say is written and replicated."""

import asyncio
from collections.abc import Callable, Generator
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.broker.handlers.groups import leave_group, offset_commit
from kafka_py.broker.requests.request_context import ANSWERS_LATER
from kafka_py.coordinator.groups.requests import CommitRequest
from kafka_py.testing.clock import ManualClock
from kafka_py.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafka_py.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

ANYTHING = SimpleNamespace(allows=lambda *_: True)


class Connection:
    """Counts how often it is muted."""

    def __init__(self) -> None:
        self.mutes = 0

    def mute(self) -> None:
        self.mutes += 1

    def unmute(self) -> None:
        self.mutes -= 1


class Context:
    """A request's context that keeps the answers."""

    def __init__(self, api_version: int, request_bytes: int = 100) -> None:
        self.connection = Connection()
        self.api_version = api_version
        self.request_bytes = request_bytes
        self.answers: list[Any] = []
        self.answer = self.answers.append
        self.metrics = SimpleNamespace(count_error=lambda _name: None)


class Groups:
    """Offsets of groups whose records are replicated when the test says so."""

    def __init__(self) -> None:
        self.commits: list[tuple[int, Callable[[ErrorCode], None]]] = []

    def building(self, _group_id: str, request: CommitRequest) -> Generator[None, None, bytes]:
        for _ in range(0, len(request.commits), 100):
            yield
        return b"built"

    def commit(
        self, _group_id: str, request: CommitRequest, done: Callable[[ErrorCode], None], _built: bytes | None = None
    ) -> None:
        self.commits.append((len(request.commits), done))


def committing(groups: Groups) -> Any:
    return SimpleNamespace(
        authorizer=ANYTHING,
        clock=ManualClock(),
        config=SimpleNamespace(offset_metadata_max_bytes=4096),
        metadata=SimpleNamespace(partitions_of=lambda _topic: range(1_000)),
        coordinators=SimpleNamespace(offsets=groups),
    )


def commit_of(count: int) -> OffsetCommitRequest:
    partitions = [
        OffsetCommitRequestPartition(partition_index=each, committed_offset=1, committed_metadata="")
        for each in range(count)
    ]
    return OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(name="t", partitions=partitions)])


def codes(response: Any) -> list[int]:
    return [each.error_code for topic in response.topics for each in topic.partitions]


@pytest.mark.parametrize("error", [ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_a_small_commit_is_answered_when_its_records_are_replicated(error: ErrorCode) -> None:
    groups, context = Groups(), Context(api_version=8)
    assert offset_commit.handle(committing(groups), context, commit_of(3)) is ANSWERS_LATER  # type: ignore[arg-type]
    [(count, done)] = groups.commits
    assert (count, context.answers) == (3, [])
    done(error)
    [response] = context.answers
    assert codes(response) == [error] * 3


@pytest.mark.parametrize("error", [ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_a_large_commit_is_answered_when_its_records_are_replicated(error: ErrorCode) -> None:
    async def scenario() -> None:
        groups, context = Groups(), Context(api_version=8, request_bytes=100_000)
        work: Any = offset_commit.handle(committing(groups), context, commit_of(500))  # type: ignore[arg-type]
        answering = asyncio.ensure_future(work)
        for _ in range(1_000):
            await asyncio.sleep(0)
        [(count, done)] = groups.commits
        assert count == 500
        assert not answering.done()
        assert context.answers == []
        done(error)
        assert codes(await answering) == [error] * 500

    asyncio.run(scenario())


class SlowClock(ManualClock):
    """Every look at it ends a turn."""

    def monotonic_ms(self) -> float:
        self.advance(10)
        return super().monotonic_ms()


def test_nothing_that_a_connection_sends_after_a_large_commit_comes_before_it() -> None:
    """An older offset would replace the newer one, and stay."""

    async def scenario() -> None:
        groups, context = Groups(), Context(api_version=8, request_bytes=100_000)
        node = committing(groups)
        node.clock = SlowClock()
        work: Any = offset_commit.handle(node, context, commit_of(500))  # type: ignore[arg-type]
        answering = asyncio.ensure_future(work)
        await asyncio.sleep(0)
        for _ in range(1_000):
            if context.connection.mutes:
                await asyncio.sleep(0)
        offset_commit.handle(node, Context(api_version=8), commit_of(3))  # type: ignore[arg-type]
        assert [count for count, _ in groups.commits] == [500, 3]
        groups.commits[0][1](ErrorCode.NONE)
        await answering
        assert context.connection.mutes == 0

    asyncio.run(scenario())


@pytest.mark.parametrize("version", [0, 8])
def test_a_large_commit_that_fails_leaves_its_connection_unmuted(version: int) -> None:
    async def scenario() -> None:
        context = Context(version, request_bytes=100_000)
        node = committing(Groups())
        node.coordinators.offsets = node.store = None
        with pytest.raises(AttributeError):
            await offset_commit.handle(node, context, commit_of(500))  # type: ignore[arg-type, misc]
        assert context.connection.mutes == 0

    asyncio.run(scenario())


class Membership:
    """A group that the last member leaves. written: whether it is written already that it is empty."""

    def __init__(self, *, written: bool) -> None:
        self.written = written
        self.waiting: list[Callable[[], object]] = []
        self.left: list[str] = []

    def leave(self, _group_id: str, leavers: Any) -> list[ErrorCode]:
        self.left += [each.member_id for each in leavers]
        return [ErrorCode.NONE for _ in leavers]

    def once_written(self, group_id: str, then: Callable[[], object]) -> bool:
        assert (group_id, self.left) == ("g", ["m"])
        if not self.written:
            self.waiting.append(then)
        return not self.written


def leave(membership: Membership, context: Context) -> object:
    node: Any = SimpleNamespace(authorizer=ANYTHING, coordinators=SimpleNamespace(membership=membership))
    request = (
        LeaveGroupRequest(group_id="g", member_id="m")
        if context.api_version < 3
        else LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id="m")])
    )
    return leave_group.handle(node, context, request)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", [0, 4])
def test_the_last_member_s_leave_is_answered_when_it_is_written_that_the_group_is_empty(version: int) -> None:
    """A client that deletes the group next finds it empty."""
    membership, context = Membership(written=False), Context(version)
    assert leave(membership, context) is ANSWERS_LATER
    assert context.answers == []
    [then] = membership.waiting
    then()
    [response] = context.answers
    assert response.error_code is ErrorCode.NONE


@pytest.mark.parametrize("version", [0, 4])
def test_a_leave_that_nothing_is_written_for_is_answered_at_once(version: int) -> None:
    response: Any = leave(Membership(written=True), Context(version))
    assert response.error_code is ErrorCode.NONE
