"""Which records of the decision log count, and when a request is retried."""

import asyncio

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.pipeline.exactly_once.decision_log import Committed, retried
from kafka_py.records.batch import CorruptBatch
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.control import ControlType, end_txn_marker


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
