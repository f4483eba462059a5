"""Records find their batch: by partition, size, memory."""

import random
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ZERO_UUID
from kafka_py.clients.metadata import NO_NODE, ClusterView, Node, PartitionInfo, TopicInfo
from kafka_py.clients.producer.accumulator import Accumulator
from kafka_py.clients.producer.batches import ProducerBatch
from kafka_py.clients.producer.configs import ProducerOptions
from kafka_py.clients.producer.lanes import sequence_order
from kafka_py.records.batch import HEADER_SIZE
from kafka_py.records.builder import BatchBuilder


class Clock:
    now = 0.0

    def wall_ms(self) -> int:
        return 1_700_000_000_000

    def monotonic_ms(self) -> float:
        return self.now

    def monotonic_s(self) -> float:
        return self.monotonic_ms() / 1000


def view(count: int, leader: int = 0, error: ErrorCode = ErrorCode.NONE) -> ClusterView:
    partitions = tuple(PartitionInfo("t", n, leader, 0, (0,), (0,), ()) for n in range(count))
    return ClusterView({0: Node(0, "h", 1)}, {"t": TopicInfo("t", ZERO_UUID, False, partitions, error)})


def accumulator(partitions: int = 1, **settings: Any) -> tuple[Accumulator, list[str]]:
    wakes: list[str] = []
    names = {name.replace("_", "."): value for name, value in settings.items()}
    options = ProducerOptions.parse({"bootstrap.servers": "h:1", **names})
    made = Accumulator(options, Clock(), random.Random(1), lambda: wakes.append("wake"))
    made.take_view(view(partitions))
    return made, wakes


def add(to: Accumulator, value: bytes | None = b"v", key: bytes | None = None, partition: int | None = None) -> Any:
    return to.append("t", key, value, partition, None, None, None)


def test_a_topic_without_metadata_is_not_appended_to() -> None:
    made, _ = accumulator()
    assert made.append("other", None, b"v", None, None, None, None) is None


@pytest.mark.parametrize("error", [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None], ids=["refused", "left out"])
def test_nobody_leads_a_topic_without_metadata_whose_leader_has_left(error: ErrorCode | None) -> None:
    made, _ = accumulator()
    add(made)
    lane = made.topics["t"].lanes[0]
    topics = {} if error is None else dict(view(0, error=error).topics)
    made.take_view(ClusterView({0: Node(0, "h", 1)}, topics))
    assert lane.leader == 0
    made.take_view(ClusterView({5: Node(5, "h", 1)}, topics))
    assert lane.leader == NO_NODE


def test_records_share_a_batch_until_it_is_full_and_only_new_batches_wake_the_sender() -> None:
    made, wakes = accumulator(batch_size=400)
    lane = made.topics["t"].lanes[0]
    for _ in range(4):
        assert add(made, b"x" * 100) is not None
    assert [len(batch.details) for batch in lane.queue] == [3, 1]
    assert wakes == ["wake", "wake"]


def test_the_size_of_a_batch_is_nearly_what_is_built() -> None:
    made, _ = accumulator(batch_size=16384)
    for _ in range(200):
        add(made, b"x" * 100)
    for batch in made.topics["t"].lanes[0].queue:
        built = len(batch.encode())
        assert built <= 16384 + 200
        assert abs(built - batch.size) < 0.03 * built + 10


def test_we2_12_a_record_above_batch_size_gets_a_batch_of_its_own_size() -> None:
    made, _ = accumulator(batch_size=1000)
    add(made, b"small")
    add(made, b"x" * 5000)
    small, large = made.topics["t"].lanes[0].queue
    assert small.reserved == 1000
    assert large.reserved > 5000
    made.take(small.lane)
    made.release(small)
    made.take(large.lane)
    made.release(large)
    assert made.pool.free_pieces == 1
    assert made.pool.available == 33_554_432


def test_without_memory_nothing_is_appended_until_some_is_released() -> None:
    made, _ = accumulator(batch_size=1000, buffer_memory=1500)
    assert add(made, b"x" * 900) is not None
    assert add(made, b"x" * 900) is None
    batch = made.take(made.topics["t"].lanes[0])
    made.release(batch)
    assert add(made, b"x" * 900) is not None


def test_granted_memory_is_used_and_the_rest_given_back() -> None:
    made, _ = accumulator(batch_size=1000, buffer_memory=1000)
    add(made)
    granted: list[int] = []
    waiter = made.wait_for_memory(1000, lambda: granted.append(1))
    made.release(made.take(made.topics["t"].lanes[0]))
    assert granted == [1]
    assert add(made) is None  # it belongs to the waiter
    assert made.append("t", None, b"v", None, None, None, None, waiter) is not None
    made.withdraw(waiter)
    assert made.pool.available == 0


def test_we2_10_a_record_above_max_request_size_is_refused_at_once() -> None:
    made, _ = accumulator(max_request_size=1000)
    with pytest.raises(KafkaError, match=r"exceeds max\.request\.size, 1000") as caught:
        add(made, b"x" * 1000)
    assert caught.value.code is ErrorCode.MESSAGE_TOO_LARGE
    assert not caught.value.retriable


def test_what_is_not_bytes_is_refused_by_name_and_leaves_nothing_behind() -> None:
    made, _ = accumulator()
    with pytest.raises(TypeError, match=r"the value is a str, not bytes: set value\.serializer"):
        add(made, "text")  # type: ignore[arg-type]
    assert not made.active
    add(made)
    with pytest.raises(TypeError):
        add(made, "text")  # type: ignore[arg-type]
    assert [len(batch.details) for batch in made.topics["t"].lanes[0].queue] == [1]


def test_keyless_records_move_to_another_partition_with_each_batch() -> None:
    made, _ = accumulator(partitions=3, batch_size=400)
    partitions = []
    for _ in range(9):
        partitions.append(add(made, b"x" * 100)._batch.lane.partition)
    assert partitions[0] == partitions[1] == partitions[2]
    assert partitions[2] != partitions[3]
    assert partitions[3] == partitions[4]


def test_a_batch_size_of_zero_sends_every_record_alone() -> None:
    made, _ = accumulator(batch_size=0)
    add(made)
    add(made)
    assert [len(batch.details) for batch in made.topics["t"].lanes[0].queue] == [1, 1]


def test_a_partition_that_does_not_exist_asks_for_metadata() -> None:
    made, _ = accumulator(partitions=2)
    assert add(made, partition=2) is None
    made.take_view(view(3))
    assert add(made, partition=2) is not None


def test_metadata_may_leave_a_partition_out() -> None:
    """A broker learns of a partition once it has a leader, so the one added before it may still be missing."""
    made, _ = accumulator()
    known = view(3)
    gap = known.topics["t"]._replace(partitions=(known.topics["t"].partitions[0], known.topics["t"].partitions[2]))
    made.take_view(ClusterView(known.nodes, {"t": gap}))
    assert [lane.leader for lane in made.topics["t"].lanes] == [0, NO_NODE, 0]
    assert add(made, partition=2) is not None


def test_a_topic_that_is_gone_is_no_longer_appended_to() -> None:
    made, _ = accumulator()
    made.take_view(view(0, error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    assert add(made) is None


def test_compression_makes_batches_larger_as_the_ratio_is_learnt() -> None:
    made, _ = accumulator(batch_size=1000, compression_type="gzip")
    topic_lanes = made.topics["t"]
    for _ in range(500):
        topic_lanes.note_ratio(0.1)
    add(made)
    assert topic_lanes.lanes[0].queue[0].limit > 5000
    topic_lanes.note_ratio(0.9)
    assert topic_lanes.ratio == 0.9


def test_batches_to_send_again_go_in_front_oldest_first() -> None:
    made, _ = accumulator(batch_size=0)
    clock = made._clock
    assert isinstance(clock, Clock)
    lane = made.topics["t"].lanes[0]
    for clock.now in (1.0, 2.0, 3.0):
        add(made)
    first, second = made.take(lane), made.take(lane)
    for batch in (first, second):
        batch.attempts = 1
    made.put_back(lane, [second])
    made.put_back(lane, [first])
    assert [batch.created_ms for batch in lane.queue] == [1.0, 2.0, 3.0]


def test_sequences_are_ordered_across_the_wrap() -> None:
    made, _ = accumulator(batch_size=0)
    for _ in range(3):
        add(made)
    batches = list(made.topics["t"].lanes[0].queue)
    for batch, sequence in zip(batches, (5, 2**31 - 4, 0), strict=True):
        batch.sequence = sequence
    assert [each.sequence for each in sorted(batches, key=sequence_order(batches))] == [2**31 - 4, 0, 5]


class Number:
    """An integer of another kind, as NumPy has them."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


@pytest.mark.parametrize(("says", "chosen"), [(1, 1), (Number(1), 1), (2, None), (-1, None), (True, None), ("1", None)])
def test_a_partitioner_of_the_applications_own_says_a_partition_that_there_is(says: Any, chosen: int | None) -> None:
    class Own:
        def partition(self, *_arguments: object) -> Any:
            return says

    made, _ = accumulator(partitions=2, partitioner_class=Own())
    if chosen is None:
        with pytest.raises(KafkaError, match="the partitioner chose"):
            made.choose("t", None, None, b"v", b"v")
    else:
        assert made.choose("t", None, None, b"v", b"v") == chosen


def test_batches_put_back_one_after_the_other_are_in_order_of_sequence() -> None:
    made, _ = accumulator(batch_size=0)
    for _ in range(3):
        add(made)
    lane = made.topics["t"].lanes[0]
    batches = [made.take(lane) for _ in range(3)]
    for sequence, batch in enumerate(batches):
        batch.sequence = sequence
    add(made)
    for batch in batches:
        made.put_back(lane, [batch])
    assert [batch.sequence for batch in lane.queue] == [0, 1, 2, -1]


def test_every_batch_reports_its_end_to_the_observer() -> None:
    """Interceptors (KIP-42) are called for every batch, whether it was filled record by record or added whole."""
    observed: list[ProducerBatch] = []
    options = ProducerOptions.parse({"bootstrap.servers": "h:1"})
    made = Accumulator(options, Clock(), random.Random(1), lambda: None, observed.append)
    made.take_view(view(1))
    add(made)
    builder = BatchBuilder()
    builder.append(0, None, b"v")
    records = builder.build()[HEADER_SIZE:]
    assert made.append_batch("t", 0, 0, bytes(records), 1, lambda _metadata, _error: None)
    opened = list(made.topics["t"].lanes[0].queue)
    assert len(opened) == 2
    opened[0].succeed(0)
    opened[1].fail(KafkaError(ErrorCode.REQUEST_TIMED_OUT, "late"))
    assert observed == opened
