"""What a fetcher does with each kind of answer, against a leader that answers as it is told."""

import asyncio
from collections.abc import Callable, Mapping

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.log.state.epochs import EpochEnd
from kafka_py.replication.follower.leader_link import EpochQuery, EpochReply, LinkFailed, OffsetReply
from kafka_py.replication.leader.offset_queries import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafka_py.testing.fakes.copying import T0, CopyingWorld, Replica
from kafka_py.testing.fakes.stored_logs import batch
from kafka_py.testing.virtual_time import in_virtual_time
from kafka_py.wire.messages.fetch import (
    FetchablePartitionResponse,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
)


class ScriptedLeader:
    """Answers fetches from `answers`, then with nothing new; asked: when each fetch came, in seconds."""

    def __init__(self) -> None:
        self.answers: list[FetchablePartitionResponse | FetchResponse | LinkFailed] = []
        self.epoch_replies: list[EpochReply] = []
        self.offset_replies: dict[int, OffsetReply] = {}
        self.fetches: list[tuple[float, FetchRequest]] = []
        self.questions: list[EpochQuery] = []
        self.asked_offsets: list[int] = []

    async def fetch(self, request: FetchRequest) -> FetchResponse:
        self.fetches.append((asyncio.get_running_loop().time(), request))
        if not self.answers:
            await asyncio.sleep(0.5)
            return FetchResponse(session_id=1, responses=[])
        answer = self.answers.pop(0)
        if isinstance(answer, LinkFailed):
            raise answer
        if isinstance(answer, FetchResponse):
            return answer
        return FetchResponse(
            session_id=1, responses=[FetchableTopicResponse(topic="t", partition_responses=[answer])]
        )

    async def epoch_ends(self, questions: Mapping[TopicPartition, EpochQuery]) -> dict[TopicPartition, EpochReply]:
        self.questions += questions.values()
        return {T0: self.epoch_replies.pop(0)} if self.epoch_replies else {}

    async def offsets(
        self, timestamp: int, current_leader_epochs: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetReply]:
        self.asked_offsets.append(timestamp)
        return {T0: self.offset_replies[timestamp]} if timestamp in self.offset_replies else {}

    def disconnect(self) -> None:
        """There is nothing to close."""

    def named(self) -> list[tuple[float, int]]:
        """(when, from which offset) the partition was asked for by name."""
        return [
            (when, one.fetch_offset)
            for when, request in self.fetches for topic in request.topics for one in topic.partitions
        ]  # fmt: skip


class Follower:
    """Replica 1 follows broker 2, which is scripted; its log holds `held` records of epoch 0."""

    def __init__(self, version: str = "2.6", held: int = 0) -> None:
        world = CopyingWorld(version)
        self.me = Replica(1, world)
        for _ in range(held):
            self.me.disk.append()
        self.leader = ScriptedLeader()
        self.me.fetchers._connect = lambda _key: self.leader
        self._other = Replica(2, world)

    def follow(self, epoch: int = 3) -> None:
        self.me.follow(self._other, epoch)

    @property
    def failed(self) -> set[TopicPartition]:
        return self.me.fetchers.failed

    async def soon(self, condition: Callable[[], object]) -> None:
        await self.me.until(condition)


def told(
    error: ErrorCode = ErrorCode.NONE, records: bytes = b"", high_watermark: int = 0, log_start_offset: int = 0
) -> FetchablePartitionResponse:
    return FetchablePartitionResponse(
        partition=0, error_code=error, high_watermark=high_watermark, log_start_offset=log_start_offset,
        aborted_transactions=None, record_set=records,
    )  # fmt: skip


@in_virtual_time
async def test_corrupt_records_are_not_appended_and_fetched_again_after_a_pause() -> None:
    follower = Follower()
    good = bytes(batch([b"v"], leader_epoch=3))
    bad = good[:-1] + bytes([good[-1] ^ 1])
    follower.leader.answers = [told(records=bad), told(records=good, high_watermark=1)]
    follower.follow()
    await follower.soon(lambda: follower.me.offsets == (1, 1))
    assert follower.leader.named() == [(0.0, 0), (1.0, 0), (1.0, 1)]
    assert not follower.failed


@in_virtual_time
async def test_several_batches_are_one_append_and_a_cut_off_one_comes_again() -> None:
    follower = Follower()
    batches = [bytes(batch([b"v"], leader_epoch=3, base_offset=offset)) for offset in range(3)]
    follower.leader.answers = [told(records=b"".join(batches)[:-5]), told(records=batches[2])]
    follower.follow()
    await follower.soon(lambda: follower.me.log.log_end_offset == 3)
    assert [offset for _, offset in follower.leader.named()] == [0, 2, 3]


@in_virtual_time
async def test_a_leader_that_is_none_yet_is_asked_again_after_a_pause() -> None:
    for error in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.KAFKA_STORAGE_ERROR):
        follower = Follower()
        begun = asyncio.get_running_loop().time()
        follower.leader.answers = [told(error), told(records=bytes(batch([b"v"], leader_epoch=3)))]
        follower.follow()
        await follower.soon(lambda: follower.me.log.log_end_offset == 1)  # noqa: B023
        assert [round(when - begun) for when, _ in follower.leader.named()][:2] == [0, 1]
        await follower.me.fetchers.close()


@in_virtual_time
async def test_a_gap_in_the_offsets_gives_the_partition_up() -> None:
    follower = Follower(held=2)
    follower.leader.epoch_replies = [EpochReply(ErrorCode.NONE, EpochEnd(0, 2))]
    follower.leader.answers = [told(records=bytes(batch([b"v"], leader_epoch=3, base_offset=1)))]
    follower.follow()
    await follower.soon(lambda: follower.failed == {T0})
    assert follower.me.log.log_end_offset == 2


@in_virtual_time
async def test_a_log_start_inside_a_batch_of_the_leader_is_no_gap_for_a_follower_that_was_cut_there() -> None:
    follower = Follower(held=3)
    follower.leader.epoch_replies = [EpochReply(ErrorCode.NONE, EpochEnd(0, 2))]  # all that the leader had, it deleted
    around = bytes(batch([b"v"] * 4, leader_epoch=3, base_offset=1))
    follower.leader.answers = [told(records=around, high_watermark=5, log_start_offset=2)]
    follower.follow()
    await follower.soon(lambda: follower.me.offsets == (5, 5))
    assert follower.me.log.log_start_offset == 2
    assert not follower.failed


@in_virtual_time
async def test_an_epoch_question_that_fails_is_asked_again_and_nothing_is_fetched_before() -> None:
    follower = Follower(held=2)
    follower.leader.epoch_replies = [
        EpochReply(ErrorCode.UNKNOWN_LEADER_EPOCH, EpochEnd(-1, -1)),
        EpochReply(ErrorCode.NONE, EpochEnd(0, 1)),
    ]
    follower.follow()
    await follower.soon(lambda: follower.leader.fetches)
    assert follower.leader.questions == [EpochQuery(3, 0)] * 2
    assert follower.leader.named() == [(1.0, 1)]
    assert follower.me.log.log_end_offset == 1


@in_virtual_time
async def test_out_of_range_asks_for_the_end_and_then_for_the_start() -> None:
    follower = Follower(held=2)
    follower.leader.epoch_replies = [EpochReply(ErrorCode.NONE, EpochEnd(0, 2))]
    follower.leader.answers = [told(ErrorCode.OFFSET_OUT_OF_RANGE)]
    follower.leader.offset_replies = {
        LATEST_TIMESTAMP: OffsetReply(ErrorCode.NONE, 90), EARLIEST_TIMESTAMP: OffsetReply(ErrorCode.NONE, 70),
    }  # fmt: skip
    follower.follow()
    await follower.soon(lambda: follower.me.log.log_end_offset == 70)
    assert follower.leader.asked_offsets == [LATEST_TIMESTAMP, EARLIEST_TIMESTAMP]
    await follower.soon(lambda: follower.leader.named()[-1][1] == 70)


@in_virtual_time
async def test_a_question_for_offsets_that_is_not_answered_is_put_again() -> None:
    follower = Follower(held=2)
    follower.leader.epoch_replies = [EpochReply(ErrorCode.NONE, EpochEnd(0, 2))]
    follower.leader.answers = [told(ErrorCode.OFFSET_OUT_OF_RANGE), told(ErrorCode.OFFSET_OUT_OF_RANGE)]
    follower.follow()
    await follower.soon(lambda: len(follower.leader.asked_offsets) == 2)
    assert follower.me.log.log_end_offset == 2


@in_virtual_time
async def test_a_lost_connection_pauses_everything_and_begins_a_new_session() -> None:
    follower = Follower()
    follower.leader.answers = [told(), LinkFailed("gone")]
    follower.follow()
    await follower.soon(lambda: len(follower.leader.fetches) >= 3)
    sessions = [(request.session_id, request.session_epoch) for _, request in follower.leader.fetches[:3]]
    assert sessions == [(0, 0), (1, 1), (1, 0)]
    assert follower.leader.fetches[2][0] - follower.leader.fetches[1][0] == 1.0


@in_virtual_time
async def test_an_answer_without_session_or_partitions_is_an_error_of_the_whole_fetch() -> None:
    follower = Follower()
    follower.leader.answers = [FetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR, session_id=0, responses=[])]
    follower.follow()
    await follower.soon(lambda: len(follower.leader.named()) == 2)
    assert follower.leader.named()[1][0] == 1.0


@in_virtual_time
async def test_the_lag_is_what_the_leaders_watermark_is_ahead() -> None:
    follower = Follower()
    follower.leader.answers = [told(records=bytes(batch([b"v"], leader_epoch=3)), high_watermark=11)]
    follower.follow()
    await follower.soon(lambda: follower.me.fetchers.max_lag() == 10)
    assert follower.me.fetchers.count_followed() == len(follower.me.fetchers.followed()) == 1
