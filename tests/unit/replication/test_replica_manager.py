"""Appends and fetches over many partitions, and what is parked on them."""

from collections.abc import Callable

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.meters import MetricRegistry
from kafka_py.base.purgatory import Purgatory
from kafka_py.base.timers import Timers
from kafka_py.replication.configs import ReplicationOptions
from kafka_py.replication.delayed import AppendResult
from kafka_py.replication.metrics import ReplicaMetrics
from kafka_py.replication.reads import FetchEntry, FetchParams, FetchResults, Isolation, PlainSource
from kafka_py.replication.replica_manager import ReplicaManager
from kafka_py.testing.logs import MemoryLog, MemoryLogDirs, slice_bytes
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrPartitionState

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class ManualClock:
    def __init__(self) -> None:
        self.now_ms = 1_000_000.0
        self._calls: list[tuple[float, Callable[[], None]]] = []

    def wall_ms(self) -> int:
        return int(self.now_ms)

    def monotonic_ms(self) -> float:
        return self.now_ms

    def call_later(self, seconds: float, callback: Callable[[], None]) -> "ManualClock":
        self._calls.append((self.now_ms + seconds * 1000, callback))
        return self

    def cancel(self) -> None:
        self._calls.clear()

    def advance(self, ms: float) -> None:
        self.now_ms += ms
        due = [call for call in self._calls if call[0] <= self.now_ms]
        self._calls = [call for call in self._calls if call[0] > self.now_ms]
        for _, callback in due:
            callback()


class World:
    """A replica manager with everything it needs in memory."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        timers = Timers(self.clock, self.clock.call_later)
        self.deferred: list[Callable[[], None]] = []
        self.known = {T0, T1}
        self.metrics = ReplicaMetrics(MetricRegistry(self.clock))
        self.manager = ReplicaManager(
            1,
            ReplicationOptions.parse({}),
            MemoryLogDirs(),  # type: ignore[arg-type]
            self.clock,
            produce_purgatory=Purgatory("Produce", timers),
            fetch_purgatory=Purgatory("Fetch", timers),
            is_known=self.known.__contains__,
            defer=self.deferred.append,
            metrics=self.metrics,
        )
        self.appended: list[list[AppendResult]] = []
        self.fetched: list[FetchResults] = []

    def lead(self, topic_partition: TopicPartition = T0, isr: tuple[int, ...] = (1,)) -> MemoryLog:
        log = MemoryLog(topic_partition)
        partition = self.manager.new_partition(topic_partition)
        state = LeaderAndIsrPartitionState(
            partition_index=topic_partition.partition, controller_epoch=1, leader=1, leader_epoch=0, isr=list(isr),
            zk_version=0, replicas=list(isr),
        )  # fmt: skip
        partition.become_leader(state, log, self.clock.monotonic_ms())  # type: ignore[arg-type]
        self.manager.partitions[topic_partition] = partition
        return log

    def append(self, records: bytes = b"abc", acks: int = 1, *to: TopicPartition, timeout_ms: int = 100) -> None:
        entries = [(one, memoryview(bytearray(records))) for one in to or (T0,)]
        self.manager.append(entries, acks, timeout_ms, self.appended.append)

    def fetch(self, *entries: FetchEntry, min_bytes: int = 1, max_wait_ms: int = 500, replica_id: int = -1,
              max_bytes: int = 1000) -> None:  # fmt: skip
        isolation = Isolation.LOG_END if replica_id >= 0 else Isolation.READ_UNCOMMITTED
        params = FetchParams(replica_id, max_wait_ms, min_bytes, max_bytes, isolation)
        self.manager.fetch(params, PlainSource(list(entries)), self.fetched.append)

    def run_deferred(self) -> None:
        while self.deferred:
            self.deferred.pop(0)()


@pytest.fixture
def world() -> World:
    return World()


def test_an_append_is_answered_at_once_when_this_broker_alone_is_in_sync(world: World) -> None:
    world.lead()
    world.append(acks=-1)
    [[result]] = world.appended
    assert (result.error, result.base_offset, result.end_offset) == (ErrorCode.NONE, 0, 3)
    assert world.manager.produce_purgatory.delayed == 0


def test_acks_all_waits_for_every_in_sync_replica(world: World) -> None:
    world.lead(isr=(1, 2))
    world.append(acks=-1)
    assert world.appended == []
    world.fetch(FetchEntry(T0, 3, 1000), replica_id=2, max_wait_ms=0)
    world.run_deferred()
    [[result]] = world.appended
    assert (result.error, result.base_offset) == (ErrorCode.NONE, 0)


def test_acks_all_times_out_and_the_data_stays(world: World) -> None:
    log = world.lead(isr=(1, 2))
    world.append(acks=-1, timeout_ms=100)
    world.clock.advance(101)
    [[result]] = world.appended
    assert (result.error, result.base_offset) == (ErrorCode.REQUEST_TIMED_OUT, -1)
    assert log.log_end_offset == 3


def test_acks_1_does_not_wait(world: World) -> None:
    world.lead(isr=(1, 2))
    world.append(acks=1)
    assert world.appended[0][0].error is ErrorCode.NONE


def test_each_partition_has_its_own_error(world: World) -> None:
    world.lead(T0)
    gone = TopicPartition("gone", 0)
    world.append(b"abc", 1, T0, T1, gone)
    assert [result.error for result in world.appended[0]] == [
        ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]  # fmt: skip
    assert world.appended[0][1].log_start_offset == -1


def test_internal_topics_are_refused_to_clients(world: World) -> None:
    world.append(b"abc", 1, TopicPartition("__consumer_offsets", 3))
    assert world.appended[0][0].error is ErrorCode.INVALID_TOPIC_EXCEPTION


def test_a_refused_batch_tells_the_log_start_unless_the_error_says_nothing_of_the_log(world: World) -> None:
    log = world.lead()
    log.log_start_offset = 7
    for code, start in ((ErrorCode.INVALID_RECORD, 7), (ErrorCode.CORRUPT_MESSAGE, -1), (ErrorCode.MESSAGE_TOO_LARGE, -1)):
        log.failure = KafkaError(code)
        world.append()
        assert (world.appended[-1][0].error, world.appended[-1][0].log_start_offset) == (code, start)


def test_an_io_error_is_a_storage_error_and_is_reported(world: World) -> None:
    log = world.lead()
    reported: list[TopicPartition] = []
    world.manager.on_storage_error = lambda topic_partition, _error: reported.append(topic_partition)
    log.failure = OSError("disk gone")
    world.append()
    assert world.appended[0][0].error is ErrorCode.KAFKA_STORAGE_ERROR
    assert reported == [T0]


def test_offline_partitions_answer_storage_errors_and_what_is_parked_on_them_is_answered(world: World) -> None:
    world.lead(isr=(1, 2))
    world.append(acks=-1)
    world.fetch(FetchEntry(T0, 3, 100))
    world.manager.mark_offline([T0])
    assert world.appended[0][0].error is ErrorCode.KAFKA_STORAGE_ERROR
    assert world.fetched[0][0][1].error is ErrorCode.KAFKA_STORAGE_ERROR
    world.append()
    assert world.appended[1][0].error is ErrorCode.KAFKA_STORAGE_ERROR


def test_a_long_poll_is_woken_by_the_append(world: World) -> None:
    world.lead()
    world.fetch(FetchEntry(T0, 0, 1000))
    assert world.fetched == []
    world.append()
    world.run_deferred()
    [[(_, read)]] = world.fetched
    assert slice_bytes(read.records) == b"abc"


def test_a_long_poll_waits_for_min_bytes_over_all_partitions(world: World) -> None:
    world.lead(T0)
    world.lead(T1)
    world.fetch(FetchEntry(T0, 0, 1000), FetchEntry(T1, 0, 1000), min_bytes=6)
    world.append(b"abc", 1, T0)
    world.run_deferred()
    assert world.fetched == []
    world.append(b"def", 1, T1)
    world.run_deferred()
    assert [slice_bytes(read.records) for _, read in world.fetched[0]] == [b"abc", b"def"]


def test_a_long_poll_ends_with_its_time(world: World) -> None:
    world.lead()
    world.fetch(FetchEntry(T0, 0, 1000), max_wait_ms=50)
    world.clock.advance(51)
    assert world.fetched[0][0][1].size == 0


def test_many_appends_of_one_turn_wake_a_long_poll_once(world: World) -> None:
    world.lead()
    world.fetch(FetchEntry(T0, 0, 1000))
    world.append(b"abc")
    world.append(b"def")
    assert len(world.deferred) == 1
    world.run_deferred()
    assert slice_bytes(world.fetched[0][0][1].records) == b"abcdef"


def test_an_error_is_answered_at_once(world: World) -> None:
    world.fetch(FetchEntry(TopicPartition("gone", 0), 0, 1000))
    assert world.fetched[0][0][1].error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_first_batch_comes_whole_though_it_exceeds_the_limits_and_the_next_do_not(world: World) -> None:
    world.lead(T0)
    world.lead(T1)
    world.append(b"x" * 50, 1, T0, T1)
    world.fetch(FetchEntry(T0, 0, 10), FetchEntry(T1, 0, 10), max_bytes=20)
    assert [read.size for _, read in world.fetched[0]] == [50, 0]


def test_a_fetch_of_a_broker_that_is_no_replica_gets_no_data_and_no_error(world: World) -> None:
    world.lead()
    world.append()
    world.fetch(FetchEntry(T0, 0, 1000), replica_id=9, max_wait_ms=0)
    assert (world.fetched[0][0][1].error, world.fetched[0][0][1].size) == (ErrorCode.NONE, 0)


def test_the_answer_to_a_follower_holds_the_watermark_from_before_its_fetch_counted(world: World) -> None:
    log = world.lead(isr=(1, 2))
    world.append()
    world.fetch(FetchEntry(T0, 3, 1000), replica_id=2, max_wait_ms=0)
    assert world.fetched[0][0][1].high_watermark == 0
    assert log.high_watermark == 3


def test_traffic_is_counted_per_topic_and_in_all(world: World) -> None:
    world.lead()
    world.append()
    assert (world.metrics.topic("t").bytes_in, world.metrics.all_topics.messages_in) == (3, 3)
    assert world.metrics.manager.leader_count == 1
