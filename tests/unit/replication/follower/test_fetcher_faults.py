"""A fetcher with two partitions of one leader: whatever befalls t-0, on its disk or in its structures, t-1 is copied.

Real logs on disks in memory, one for each partition, so that a fault strikes one of them; a leader that answers from a
list of batches. Every file operation of the truncation, the out-of-range reset and the append fails once in turn.
"""

import asyncio
import errno
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.base.meters import MetricRegistry
from kafka_py.base.purgatory import Purgatory
from kafka_py.base.supervision import Supervisor
from kafka_py.base.timers import Timers
from kafka_py.log.state.epochs import EpochEnd
from kafka_py.replication.follower.fetch_state import PartitionFetchState
from kafka_py.replication.follower.fetcher_manager import FetcherManager
from kafka_py.replication.follower.following import Following
from kafka_py.replication.follower.leader_link import EpochQuery, EpochReply, LinkFailed, OffsetReply
from kafka_py.replication.leader.offset_queries import LATEST_TIMESTAMP
from kafka_py.replication.leader.purgatories import Parked
from kafka_py.replication.state.configs import ReplicationOptions
from kafka_py.replication.state.hosted import HostedPartitions
from kafka_py.replication.state.metrics import ReplicaMetrics
from kafka_py.replication.state.partition import Partition
from kafka_py.testing.fakes.stored_logs import LogWorld, batch
from kafka_py.testing.virtual_time import run_virtual, virtual_clock
from kafka_py.wire.messages.fetch import (
    FetchablePartitionResponse,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
)
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrPartitionState
from kafka_py.wire.protocol_versions import InterBrokerVersion

HURT, SOUND = TopicPartition("t", 0), TopicPartition("t", 1)
LEADER_EPOCH = 5
HELD = 12
"""How many records of epoch 3 each replica has; the leader has the first COMMON of them, and its own after these."""
COMMON = 7
LEADER_END = 20


class Leader:
    """Leads both partitions. start: the first offset that it still has."""

    def __init__(self, start: int = 0) -> None:
        self.start = start
        self._next: dict[TopicPartition, int] = {}

    async def fetch(self, request: FetchRequest) -> FetchResponse:
        if request.session_epoch == 0:
            self._next.clear()
        for topic in request.forgotten_topics_data:
            for number in topic.partitions:
                self._next.pop(TopicPartition(topic.topic, number), None)
        for named in request.topics:
            for one in named.partitions:
                self._next[TopicPartition(named.topic, one.partition)] = one.fetch_offset
        answers = [self._answer(one) for one, offset in self._next.items() if offset != LEADER_END]
        if not answers:
            await asyncio.sleep(0.5)
        topics = [FetchableTopicResponse(topic="t", partition_responses=answers)] if answers else []
        return FetchResponse(session_id=1, responses=topics)

    def _answer(self, one: TopicPartition) -> FetchablePartitionResponse:
        offset = self._next[one]
        is_here = self.start <= offset <= LEADER_END
        error = ErrorCode.NONE if is_here else ErrorCode.OFFSET_OUT_OF_RANGE
        return FetchablePartitionResponse(
            partition=one.partition, error_code=error, high_watermark=LEADER_END, log_start_offset=self.start,
            aborted_transactions=None,
            record_set=bytes(batch([b"l" * 100], leader_epoch=LEADER_EPOCH, base_offset=offset)) if is_here else b"",
        )  # fmt: skip

    async def epoch_ends(self, questions: Mapping[TopicPartition, EpochQuery]) -> dict[TopicPartition, EpochReply]:
        return dict.fromkeys(questions, EpochReply(ErrorCode.NONE, EpochEnd(3, COMMON)))

    async def offsets(
        self, timestamp: int, current_leader_epochs: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetReply]:
        offset = LEADER_END if timestamp == LATEST_TIMESTAMP else self.start
        return dict.fromkeys(current_leader_epochs, OffsetReply(ErrorCode.NONE, offset))

    def disconnect(self) -> None:
        """There is nothing to close."""


class Broker:
    """Follows both partitions, each on a disk of its own."""

    def __init__(self, leader: Leader) -> None:
        clock = virtual_clock()
        timers = Timers(clock, asyncio.get_running_loop().call_later)
        registry = MetricRegistry(clock)
        metrics = ReplicaMetrics(registry, HostedPartitions(1, lambda _known: True, 30_000))
        options = ReplicationOptions.parse({})
        parked = Parked(
            Purgatory("Produce", timers), Purgatory("Fetch", timers), Purgatory("DeleteRecords", timers),
            asyncio.get_running_loop().call_soon,
        )  # fmt: skip
        self.supervisor = Supervisor(clock)
        self.following = Following(parked, clock, metrics.all_topics)
        self.disks = {one: LogWorld({"segment.bytes": 700}, topic_partition=one) for one in (HURT, SOUND)}
        self.partitions = {one: self._partition(one) for one in (HURT, SOUND)}
        self.fetchers = FetcherManager(
            1, options=lambda: options, version=InterBrokerVersion("2.6"), find_broker=lambda broker: ("host", broker),
            following=self.following, clock=clock, registry=registry, connect=lambda _key: leader,
            supervisor=self.supervisor,
        )  # fmt: skip

    def _partition(self, one: TopicPartition) -> Partition:
        disk = self.disks[one]
        for _ in range(HELD):
            disk.append(batch([b"f" * 100]), epoch=3)
        partition = Partition(one, 1, 30_000)
        self.take_role(partition, LEADER_EPOCH)
        disk.files.calls.clear()
        return partition

    def take_role(self, partition: Partition, epoch: int) -> None:
        state = LeaderAndIsrPartitionState(
            partition_index=partition.topic_partition[1], controller_epoch=1, leader=2, leader_epoch=epoch, isr=[2],
            zk_version=0, replicas=[1, 2], is_new=False,
        )  # fmt: skip
        partition.become_follower(state, self.disks[partition.topic_partition].log)

    def end(self, one: TopicPartition) -> int:
        return self.disks[one].log.log_end_offset

    async def until(self, condition: Callable[[], object], within_s: float = 60.0) -> None:
        async with asyncio.timeout(within_s):
            while not condition():  # noqa: ASYNC110  # virtual time; nothing tells of every state
                await asyncio.sleep(0.01)

    async def follow_and_see_t1_copied(self) -> None:
        """t-1 is copied to its end, and t-0 is in a settled state: copied, or set aside until the controller speaks."""
        self.fetchers.start(self.partitions.values())
        await self.until(lambda: self.end(SOUND) == LEADER_END)
        await self.until(lambda: self.end(HURT) == LEADER_END or HURT in self.fetchers.failed)
        assert SOUND not in self.fetchers.failed
        assert [(record.value or b"")[:1] for record in self.disks[SOUND].read_all()][-1] == b"l"


NEEDS_A_DESCRIPTOR = ("open", "list")


def operations_on_t0(start: int) -> list[tuple[str, int]]:
    """(operation, how many times): what the disk of t-0 does from the first cut to the last append."""
    counts: dict[str, int] = {}

    async def main() -> None:
        broker = Broker(Leader(start))
        await broker.follow_and_see_t1_copied()
        assert broker.end(HURT) == LEADER_END
        for operation, _ in broker.disks[HURT].files.calls:
            counts[operation] = counts.get(operation, 0) + 1
        await broker.fetchers.close()

    run_virtual(main())
    return sorted(counts.items())


@pytest.mark.parametrize("start", [0, 15], ids=["cut and append", "out of range"])
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, errno.EMFILE], ids=errno.errorcode.__getitem__)
def test_each_file_operation_of_one_partition_fails_in_turn_and_the_other_is_copied(start: int, error: int) -> None:
    walked = 0
    for operation, count in operations_on_t0(start):
        if error == errno.EMFILE and operation not in NEEDS_A_DESCRIPTOR:
            continue
        for nth in range(count):
            async def main(operation: str = operation, nth: int = nth) -> None:
                broker = Broker(Leader(start))
                broker.disks[HURT].files.fail(operation, error, after=nth)
                await broker.follow_and_see_t1_copied()
                assert not broker.supervisor.failures, (operation, nth)  # every OSError here is foreseen
                await broker.fetchers.close()

            run_virtual(main())
            walked += 1
    assert walked > 10


@pytest.mark.parametrize("at", [0, 8, 12, 16, 17, 23, 40, 57], ids=lambda at: f"byte {at}")
@pytest.mark.parametrize("offset", [0, 3, COMMON - 1, COMMON, HELD - 1])
@pytest.mark.parametrize("value", [0x00, 0xFF], ids=hex)
def test_corrupt_batches_of_one_partition_leave_the_other_alone(offset: int, at: int, value: int) -> None:
    """Bytes of a batch header, before, at and behind the place where the log is cut."""
    async def main() -> None:
        broker = Broker(Leader())
        disk = broker.disks[HURT]
        segment = disk.log.segments[disk.log._segments.slot(offset)]
        place = segment.find(offset)
        assert place is not None
        segment.file().write(bytes([value] * 4), place.position + at)
        await broker.follow_and_see_t1_copied()
        await broker.fetchers.close()

    run_virtual(main())


@pytest.mark.parametrize("damage", ["index", "timeindex", "log"])
def test_a_file_of_one_partition_that_was_overwritten_with_zeroes_leaves_the_other_alone(damage: str) -> None:
    async def main() -> None:
        broker = Broker(Leader())
        disk = broker.disks[HURT]
        for segment in disk.log.segments:
            file = disk.files.open(segment.path.removesuffix("log") + damage)
            file.write(bytes(file.size()), 0)
        await broker.follow_and_see_t1_copied()
        await broker.fetchers.close()

    run_virtual(main())


@pytest.mark.parametrize(
    "where",
    ["truncate_to", "append_as_follower", "update_high_watermark", "end_offset_for", "advance_log_start_offset"],
)
def test_what_nobody_foresaw_in_one_partition_is_reported_and_leaves_the_other_alone(
    where: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        broker = Broker(Leader(start=1))
        log = broker.disks[HURT].log
        hurt = log.epochs if where == "end_offset_for" else log
        original = getattr(type(hurt), where)

        def fail(self: object, *arguments: object, **named: object) -> object:
            if self is hurt:
                raise ZeroDivisionError("nobody foresaw this")
            return original(self, *arguments, **named)

        monkeypatch.setattr(type(hurt), where, fail)
        await broker.follow_and_see_t1_copied()
        assert HURT in broker.fetchers.failed
        assert broker.supervisor.failures == {"replica fetcher": 1}
        assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [ZeroDivisionError]
        # The controller's next state begins it again.
        monkeypatch.undo()
        broker.fetchers.stop([HURT])
        broker.take_role(broker.partitions[HURT], LEADER_EPOCH + 1)
        broker.fetchers.start([broker.partitions[HURT]])
        await broker.until(lambda: broker.end(HURT) == LEADER_END)
        await broker.fetchers.close()

    run_virtual(main())


def test_a_partition_whose_log_is_gone_does_not_stop_the_requests_for_the_others() -> None:
    """It cannot even be named in a request: that raises for the whole round, again and again if it stayed."""
    async def main() -> None:
        broker = Broker(Leader())
        broker.fetchers.start(broker.partitions.values())
        broker.partitions[HURT].log = None
        await broker.until(lambda: broker.end(SOUND) == LEADER_END)
        assert HURT in broker.fetchers.failed
        await broker.fetchers.close()

    run_virtual(main())


def test_an_append_that_finds_no_descriptor_is_tried_again() -> None:
    async def main() -> None:
        broker = Broker(Leader())
        broker.disks[HURT].files.fail("open", errno.EMFILE, path="00000000000000000014", times=3)
        await broker.follow_and_see_t1_copied()
        await broker.until(lambda: broker.end(HURT) == LEADER_END)
        assert HURT not in broker.fetchers.failed
        assert not broker.disks[HURT].failures
        await broker.fetchers.close()

    run_virtual(main())


@pytest.mark.parametrize("is_usable", [True, False], ids=["no descriptor was left", "the disk has failed"])
def test_a_sync_that_fails_is_tried_again_unless_the_disk_has_failed(
    is_usable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """flush.messages: before the next fetch, which acknowledges, the log is synced."""
    async def main() -> None:
        broker = Broker(Leader())
        hurt, attempts = broker.disks[HURT].log, list[bool]()

        def flush(_self: object, _up_to: int | None = None, then: Callable[[bool], None] | None = None) -> None:
            if then is not None:  # else it is that of a roll
                attempts.append(len(attempts) > 0)
                then(attempts[-1])

        monkeypatch.setattr(type(hurt), "owes_flush", property(lambda self: self is hurt and not any(attempts)))
        monkeypatch.setattr(type(hurt), "flush_in_background", flush)
        monkeypatch.setattr(type(hurt), "is_usable", is_usable)
        broker.fetchers.start(broker.partitions.values())
        await broker.until(lambda: broker.end(SOUND) == LEADER_END)
        await broker.until(lambda: broker.end(HURT) == LEADER_END or HURT in broker.fetchers.failed)
        assert attempts == ([False, True] if is_usable else [False])
        assert (HURT in broker.fetchers.failed) is not is_usable
        await broker.fetchers.close()

    run_virtual(main())


def test_a_delayed_partition_that_cannot_be_resumed_leaves_the_others_their_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both wait for a leader that was away; the one that is looked at first raises."""
    async def main() -> None:
        leader = Leader()
        broker = Broker(leader)
        hurt = broker.disks[HURT].log
        answer, is_away = leader.fetch, [True]

        async def fetch(request: FetchRequest) -> FetchResponse:
            if is_away.pop():
                monkeypatch.setattr(type(hurt), "owes_flush", property(lambda self: self is hurt and 1 / 0))
                is_away.append(False)
                raise LinkFailed("away")
            is_away.append(False)
            return await answer(request)

        monkeypatch.setattr(leader, "fetch", fetch)
        broker.fetchers.start(broker.partitions.values())
        await broker.until(lambda: broker.end(SOUND) == LEADER_END)
        assert broker.fetchers.failed == {HURT}
        assert broker.supervisor.failures == {"replica fetcher": 1}
        await broker.fetchers.close()

    run_virtual(main())


def test_records_that_were_fetched_for_a_former_role_are_not_appended_in_the_next() -> None:
    """A broker that becomes leader in the middle of a large answer writes its own records from then on."""
    class ManyBatches(Leader):
        def _answer(self, one: TopicPartition) -> FetchablePartitionResponse:
            answer, offset = super()._answer(one), self._next[one]
            if one == HURT:
                many = (batch([b"l"], leader_epoch=LEADER_EPOCH, base_offset=offset + number) for number in range(2500))
                answer.record_set = b"".join(many)
            return answer

    async def main() -> None:
        broker = Broker(ManyBatches())
        take, ends = broker.following.take, list[int]()

        def take_and_lose_the_role(one: PartitionFetchState, *arguments: Any) -> None:
            take(one, *arguments)
            if one.topic_partition == HURT and arguments[0]:
                ends.append(broker.end(HURT))
                broker.fetchers.stop([HURT])

        broker.following.take = take_and_lose_the_role  # type: ignore[method-assign,assignment]
        broker.fetchers.start(broker.partitions.values())
        await broker.until(lambda: ends and broker.end(SOUND) == LEADER_END)
        assert ends == [broker.end(HURT)]
        assert COMMON < ends[0] < COMMON + 2500
        await broker.fetchers.close()

    run_virtual(main())
