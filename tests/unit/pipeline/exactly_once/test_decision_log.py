"""Which records of the decision log count, and when a request is retried."""

import asyncio
from typing import NamedTuple
from uuid import UUID

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.metadata import ClusterView, TopicInfo
from kafka_py.pipeline.exactly_once.decision_log import Committed, DecisionLog, retried
from kafka_py.records.batch import CorruptBatch
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.control import ControlType, end_txn_marker
from kafka_py.wire.messages.fetch import AbortedTransaction

PARTITION = TopicPartition("d", 0)


def batch(*keys, producer=-1, transactional=False):
    builder = BatchBuilder(producer_id=producer, producer_epoch=0, base_sequence=0, transactional=transactional)
    for key in keys:
        builder.append(1, key, b"v")
    return builder.build()


def marker(producer, control_type):
    return end_txn_marker(control_type, producer_id=producer, producer_epoch=0, coordinator_epoch=0, timestamp=1)


def keys(records):
    return b"".join(key for key, _ in records)


def test_records_count_with_their_commit_marker_and_others_at_once():
    log = [
        batch(b"a", producer=1, transactional=True), batch(b"b", producer=2, transactional=True), batch(b"c"),
        batch(b"d", producer=1, transactional=True), marker(1, ControlType.COMMIT), batch(b"e", producer=1),
        marker(2, ControlType.ABORT), batch(b"f", producer=2, transactional=True), marker(2, ControlType.COMMIT),
        marker(3, ControlType.COMMIT), batch(b"g", producer=1, transactional=True),
    ]  # fmt: skip
    assert keys(Committed().of(b"".join(log))) == b"cadef"
    piece_by_piece = Committed()
    assert b"".join(keys(piece_by_piece.of(each)) for each in log) == b"cadef"


def test_a_damaged_batch_is_not_passed_over():
    damaged = bytearray(batch(b"a"))
    damaged[-1] ^= 1
    with pytest.raises(CorruptBatch):
        Committed().of(damaged)


class LinkToOneBroker:
    """Metadata of one answer. code: of the topic; None where the answer has no such topic."""

    def __init__(self, code):
        self.view = ClusterView(topics={} if code is None else {"d": TopicInfo("d", UUID(int=1), False, (), code)})

    async def know(self, topics):
        return self.view

    def run(self, work):
        return asyncio.run(work)


@pytest.mark.parametrize(
    ("code", "expected"), [(ErrorCode.NONE, True), (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, False), (None, False)]
)
def test_whether_the_topic_is_known_is_what_one_answer_says(code, expected):
    assert DecisionLog(LinkToOneBroker(code), "d", patience_s=1).is_known() is expected


def run(errors, busy=frozenset(), patience_s=10.0):
    """Calls that fail with these errors, then succeed; what came of it, and how often metadata was asked for."""
    left, refreshed = list(errors), []

    async def once():
        if left:
            raise KafkaError(left.pop(0), "no")
        return "result"

    async def refresh():
        refreshed.append(1)

    return asyncio.run(retried(once, refresh, busy, patience_s, 0)), len(refreshed)


def test_retriable_errors_ask_for_metadata_and_busy_ones_do_not():
    errors = [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.INVALID_TXN_STATE, ErrorCode.NETWORK_EXCEPTION]
    assert run(errors, frozenset({ErrorCode.INVALID_TXN_STATE})) == ("result", 2)


@pytest.mark.parametrize(
    ("error", "patience_s"), [(ErrorCode.INVALID_PRODUCER_EPOCH, 10.0), (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1.0)]
)
def test_other_errors_and_those_after_the_time_are_raised(error, patience_s):
    with pytest.raises(KafkaError, match=error.name):
        run([error], patience_s=patience_s)


class Answer(NamedTuple):
    record_set: bytes
    aborted_transactions: list[AbortedTransaction] | None = None


class LogOfBatches(DecisionLog):
    """One batch per offset, from its start on. `before_fetch` is called with each offset that is fetched."""

    def __init__(self, batches, start=0, before_fetch=lambda offset: None):
        self._partition = PARTITION
        self.batches, self.start, self.before_fetch = batches, start, before_fetch
        self.aborted = []

    def _start(self):
        return self.start

    def _fetch(self, partition, offset, isolation):
        self.before_fetch(offset)
        if offset < self.start:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, "gone")
        data = bytearray(self.batches[offset])
        data[:8] = offset.to_bytes(8, "big")
        return Answer(bytes(data), self.aborted)


def test_the_log_is_read_up_to_an_offset_or_from_one_on():
    log = LogOfBatches([batch(name) for name in (b"a", b"b", b"c", b"d")])
    assert keys(log.records(2)) == b"abc"
    assert keys(log.records(3, first=2)) == b"cd"
    assert keys(log.records(1, first=2)) == b""


def test_where_the_start_of_the_log_moves_meanwhile_reading_continues_there():
    def clean(offset):
        log.start = max(log.start, 2 if offset == 1 else 0)

    log = LogOfBatches([batch(name) for name in (b"a", b"b", b"c", b"d")], before_fetch=clean)
    assert keys(log.records(3)) == b"acd"
    assert keys(LogOfBatches(log.batches, start=3).records(3, first=1)) == b"d"


def test_an_offset_that_is_out_of_range_at_the_start_of_the_log_is_an_error():
    log = LogOfBatches([batch(b"a")])
    log._fetch = lambda *_: (_ for _ in ()).throw(KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, "no"))
    with pytest.raises(KafkaError, match="OFFSET_OUT_OF_RANGE"):
        list(log.records(0))


@pytest.mark.parametrize(
    ("aborted", "expected"),
    [
        ([], True),
        ([AbortedTransaction(producer_id=7, first_offset=0)], False),
        ([AbortedTransaction(producer_id=7, first_offset=1)], False),
        ([AbortedTransaction(producer_id=7, first_offset=2)], True),  # a later one of the same producer
        ([AbortedTransaction(producer_id=8, first_offset=0)], True),
    ],
)
def test_a_record_is_committed_unless_its_own_transaction_was_aborted(aborted, expected):
    log = LogOfBatches([batch(b"a", producer=7, transactional=True)] * 3)
    log.aborted = aborted
    assert log.was_committed(PARTITION, 1, 7) is expected


def test_whether_a_deleted_record_was_committed_is_not_known():
    log = LogOfBatches([batch(b"a", producer=8, transactional=True)] * 3, start=1)
    for offset in (0, 1):  # no longer there, and in its place another one
        with pytest.raises(KafkaError, match=f"whether the record at offset {offset} of d-0 was committed cannot"):
            log.was_committed(PARTITION, offset, 7)
