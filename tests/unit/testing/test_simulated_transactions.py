"""What the simulation says about transactions: which records are visible, and what is wrong with them."""

from types import SimpleNamespace

import pytest

from kafka_py.records.builder import BatchBuilder
from kafka_py.records.control import ControlType, end_txn_marker
from kafka_py.testing.simulation import transactions
from kafka_py.testing.simulation.transactions import Ended, Transactions, VisibleRecord, visible

COMMIT, ABORT = ControlType.COMMIT, ControlType.ABORT


def batch(producer, *values):
    builder = BatchBuilder(producer_id=producer, producer_epoch=0, base_sequence=0, transactional=True)
    for value in values:
        builder.append(1, None, value)
    return builder.build(), len(values)


def marker(producer, kind):
    data = end_txn_marker(kind, producer_id=producer, producer_epoch=0, coordinator_epoch=0, timestamp=1)
    return data, 1


@pytest.fixture
def log_of(monkeypatch):
    """Makes a log of batches, one behind the other."""
    monkeypatch.setattr(transactions, "log_bytes", lambda log, start, end: log.data)

    def make(*batches, start=0):
        data, offset = bytearray(), start
        for each, count in batches:
            data += offset.to_bytes(8, "big") + each[8:]
            offset += count
        return SimpleNamespace(data=bytes(data), log_start_offset=start, high_watermark=offset)

    return make


def test_records_of_committed_transactions_are_visible_in_the_order_of_their_offsets(log_of):
    log = log_of(
        batch(1, b"0:0", b"0:1"), batch(2, b"1:5"), marker(2, COMMIT), batch(1, b"0:2"), marker(1, COMMIT),
        batch(2, b"2:6"), marker(2, ABORT), batch(2, b"3:6"), marker(2, COMMIT), batch(1, b"4:3"), marker(3, COMMIT),
    )  # fmt: skip
    assert list(visible(log)) == [(0, 0), (0, 1), (1, 5), (0, 2), (3, 6)]


def input_of(log_of, count, start=0):
    return log_of(batch(-1, *[b"x"] * count), start=start)


@pytest.mark.parametrize(
    ("offsets", "said"),
    [
        ([0, 1, 2], None),
        ([0, 2], r"1 are missing \[1\]"),
        ([0, 1, 1, 2], r"1 are there more than once \[1\]"),
        ([0, 2, 1], "in order: False"),
        ([0, 1, 2, 3], r"1 were never written \[3\]"),
        ([], r"3 are missing \[0, 1, 2\]"),
    ],
)
def test_each_input_record_is_there_once_and_in_order(log_of, offsets, said):
    faults = transactions._order_faults(0, [VisibleRecord(7, each) for each in offsets], input_of(log_of, 3), set())
    assert bool(faults) is (said is not None)
    if said is not None:
        with pytest.raises(AssertionError, match=said):
            raise AssertionError(faults[0])


def test_input_that_was_deleted_may_have_been_processed_before(log_of):
    source = input_of(log_of, 2, start=1)
    assert transactions._order_faults(0, [VisibleRecord(7, each) for each in (0, 1, 2)], source, set()) == []
    assert transactions._order_faults(0, [VisibleRecord(7, each) for each in (1, 2)], source, set()) == []


def test_input_that_was_deleted_for_the_worker_is_not_missing(log_of):
    """The leader that it asked failed before the others had deleted it."""
    written = [VisibleRecord(7, 2)]
    assert transactions._order_faults(0, written, input_of(log_of, 3), {0, 1}) == []
    assert transactions._order_faults(0, written, input_of(log_of, 3), {0})


@pytest.mark.parametrize(
    ("ended", "is_visible", "is_fault"),
    [
        (Ended.COMMITTED, True, False), (Ended.COMMITTED, False, True), (Ended.ABORTED, True, True),
        (Ended.ABORTED, False, False), (Ended.UNKNOWN, True, False), (Ended.UNKNOWN, False, False),
    ],
)  # fmt: skip
def test_what_a_worker_was_told_is_what_readers_see(ended, is_visible, is_fault):
    world = Transactions.__new__(Transactions)  # of its parts only the account is asked
    world.account = transactions.Account({4: ended})
    assert world.account.committed == (ended is Ended.COMMITTED)
    faults = world._account_faults({4} if is_visible else set())
    expected = f"transaction 4 is reported as {ended.value}, and its records say otherwise"
    assert faults == ([expected] if is_fault else [])
