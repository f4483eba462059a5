"""What a consumer does with the answers to its commits and offset fetches."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients import ClientTimeout, CommitFailed, OffsetAndMetadata, RebalanceInProgress
from kafka_py.clients.consumer.commits import CommittedOffsets
from kafka_py.testing.fakes.scripted_group import ANSWERS, HANG, Played, ScriptedCoordinator
from kafka_py.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kafka_py.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)

A = TopicPartition("t", 0)
OFFSETS = {A: OffsetAndMetadata(7, "mine", 3)}


def committed(_: ScriptedCoordinator, request: OffsetCommitRequest, error: ErrorCode) -> OffsetCommitResponse:
    return OffsetCommitResponse(topics=[
        OffsetCommitResponseTopic(name=topic.name, partitions=[
            OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error)
            for each in topic.partitions
        ])
        for topic in request.topics
    ])  # fmt: skip


def fetched(_: ScriptedCoordinator, request: OffsetFetchRequest, error: ErrorCode) -> OffsetFetchResponse:
    return OffsetFetchResponse(error_code=0, topics=[
        OffsetFetchResponseTopic(name=topic.name, partitions=[
            OffsetFetchResponsePartition(partition_index=number, committed_offset=number or -1,
                                         committed_leader_epoch=2, metadata="", error_code=error)
            for number in topic.partition_indexes
        ])
        for topic in request.topics or ()
    ])  # fmt: skip


Scenario = Callable[[Played, CommittedOffsets], Coroutine[Any, Any, None]]


def played(scenario: Scenario, **settings: object) -> None:
    """Plays with a member that has joined."""

    async def run() -> None:
        play = Played(**settings)
        await play.join()
        offsets = CommittedOffsets(play.options, play.member, play.coordinator, play.clock, play.metrics)
        try:
            await scenario(play, offsets)
        finally:
            await play.member.close()

    ANSWERS[OffsetCommitRequest], ANSWERS[OffsetFetchRequest] = committed, fetched
    asyncio.run(run())


def test_a_member_commits_in_its_generation_and_others_in_none() -> None:
    async def scenario(play: Played, offsets: CommittedOffsets) -> None:
        await offsets.commit(OFFSETS, 1000, as_member=True)
        await offsets.commit(OFFSETS, 1000, as_member=False)
        as_member, simple = play.coordinator.of(OffsetCommitRequest)
        assert (as_member.generation_id, as_member.member_id) == (1, "m-1")
        assert (simple.generation_id, simple.member_id) == (-1, "")
        [part] = as_member.topics[0].partitions
        assert (part.committed_offset, part.committed_metadata, part.committed_leader_epoch) == (7, "mine", 3)

    played(scenario)


@pytest.mark.parametrize(
    "trouble",
    [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        KafkaError(ErrorCode.NETWORK_EXCEPTION, "cut"),
    ],
)
def test_a_commit_is_tried_again_until_it_succeeds(trouble: Any) -> None:
    async def scenario(play: Played, offsets: CommittedOffsets) -> None:
        play.script(OffsetCommitRequest, trouble, trouble)
        await offsets.commit(OFFSETS, 30_000, as_member=True)
        assert len(play.coordinator.of(OffsetCommitRequest)) == 3

    played(scenario)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (ErrorCode.ILLEGAL_GENERATION, CommitFailed),
        (ErrorCode.UNKNOWN_MEMBER_ID, CommitFailed),
        (ErrorCode.REBALANCE_IN_PROGRESS, RebalanceInProgress),
        (ErrorCode.FENCED_INSTANCE_ID, KafkaError),
        (ErrorCode.OFFSET_METADATA_TOO_LARGE, KafkaError),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, KafkaError),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, KafkaError),
    ],
)
def test_what_another_attempt_would_not_mend_is_raised(code: ErrorCode, kind: type[KafkaError]) -> None:
    async def scenario(play: Played, offsets: CommittedOffsets) -> None:
        play.script(OffsetCommitRequest, code)
        with pytest.raises(kind) as caught:
            await offsets.commit(OFFSETS, 30_000, as_member=True)
        assert caught.value.code is code
        lost = kind in (CommitFailed, RebalanceInProgress)
        assert play.member.rejoin_needed == lost

    played(scenario)


def test_outside_of_a_generation_nothing_is_asked() -> None:
    async def scenario(play: Played, offsets: CommittedOffsets) -> None:
        await play.member.leave("the test says so")
        with pytest.raises(CommitFailed):
            await offsets.commit(OFFSETS, 1000, as_member=True)
        play.member.join()
        with pytest.raises(RebalanceInProgress):
            await offsets.commit(OFFSETS, 1000, as_member=True)
        assert play.coordinator.of(OffsetCommitRequest) == []

    played(scenario)


def test_a_commit_has_its_time() -> None:
    async def scenario(play: Played, offsets: CommittedOffsets) -> None:
        play.script(OffsetCommitRequest, HANG)
        with pytest.raises(ClientTimeout, match=r"{t-0: 7} could not be committed within 30 ms"):
            await offsets.commit(OFFSETS, 30, as_member=True)
        play.script(OffsetCommitRequest, *[ErrorCode.NOT_COORDINATOR] * 1000)
        with pytest.raises(ClientTimeout):
            await offsets.commit(OFFSETS, 30, as_member=True)

    played(scenario)


def test_committed_offsets_are_fetched_and_absent_ones_are_none() -> None:
    async def scenario(play: Played, offsets: CommittedOffsets) -> None:
        play.script(OffsetFetchRequest, ErrorCode.NOT_COORDINATOR, ErrorCode.UNSTABLE_OFFSET_COMMIT)
        found = await offsets.fetch([A, TopicPartition("t", 5)], 30_000)
        assert found == {A: None, TopicPartition("t", 5): OffsetAndMetadata(5, "", 2)}

    played(scenario)


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.TOPIC_AUTHORIZATION_FAILED])
def test_a_fetch_that_cannot_be_answered_is_raised(code: ErrorCode) -> None:
    async def scenario(play: Played, offsets: CommittedOffsets) -> None:
        play.script(OffsetFetchRequest, code)
        with pytest.raises(KafkaError, match=code.name):
            await offsets.fetch([A], 30_000)
        play.script(OffsetFetchRequest, HANG)
        with pytest.raises(ClientTimeout, match=r"committed offsets of t-0"):
            await offsets.fetch([A], 20)

    played(scenario)


def test_older_coordinators_cannot_wait_for_transactions() -> None:
    """The script speaks version 4: read_committed is not passed on (KIP-447)."""

    async def scenario(play: Played, offsets: CommittedOffsets) -> None:
        await offsets.fetch([A], 30_000)
        assert [each.require_stable for each in play.coordinator.of(OffsetFetchRequest)] == [False]

    played(scenario, isolation_level="read_committed")
