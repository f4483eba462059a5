"""Idempotent and transactional producers of one partition: what may be appended, what is remembered."""

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.log.state.producer_state import BATCHES_KEPT, AppendedBatch, ProducerStateEntry, ProducerStates
from kafka_py.records.batch import BatchHeader
from kafka_py.records.control import ControlType, EndTxnMarker

TRANSACTIONAL = 0x10
CONTROL = 0x30
LARGEST = 2147483647


def header(offset=0, *, pid=1, epoch=0, sequence=0, count=1, attributes=0, timestamp=1000) -> BatchHeader:
    return BatchHeader(
        offset, 100, 0, 2, 0, attributes, count - 1, timestamp, timestamp, pid, epoch, sequence, count
    )


def states(*headers) -> ProducerStates:
    known = ProducerStates()
    for each in headers:
        known.apply(each, each.base_offset)
    return known


def check(known, **fields):
    return known.check(header(**fields), from_client=True)


def refused(known, code, **fields):
    with pytest.raises(KafkaError) as caught:
        check(known, **fields)
    assert caught.value.code is code


def test_an_unknown_producer_may_begin_with_any_sequence():
    assert check(ProducerStates(), sequence=17) is None


def test_sequences_go_on_without_a_gap():
    known = states(header(0, sequence=0, count=5))
    assert check(known, sequence=5) is None
    refused(known, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, sequence=6)
    refused(known, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, sequence=4)


def test_w7_21_new_5_after_old_4_is_taken_and_6_is_not():
    """W7.21, S3-074: the batch that was appended before is answered as it was then."""
    known = states(header(0, sequence=4))
    assert check(known, sequence=5) is None
    refused(known, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, sequence=6)
    assert check(known, sequence=4) == AppendedBatch(4, 0, 0, 1000)


def test_a_repeated_batch_is_found_among_the_last_five():
    known = states(*(header(number * 10, sequence=number * 10, count=10, timestamp=number) for number in range(6)))
    for number in range(1, 6):
        found = check(known, sequence=number * 10, count=10)
        assert found is not None
        assert (found.first_offset, found.last_offset, found.timestamp) == (number * 10, number * 10 + 9, number)
    refused(known, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, sequence=0, count=10)
    refused(known, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, sequence=10, count=9)


def test_sequences_wrap_after_the_largest():
    known = states(header(0, sequence=LARGEST))
    assert check(known, sequence=0) is None
    known = states(header(0, sequence=LARGEST - 1, count=4))  # ends at 1
    assert known.producers[1].last_sequence == 1
    assert known.producers[1].batches[0].first_sequence == LARGEST - 1
    assert check(known, sequence=2) is None
    assert check(known, sequence=LARGEST - 1, count=4) is not None


def test_an_older_epoch_is_fenced():
    known = states(header(0, epoch=3))
    refused(known, ErrorCode.INVALID_PRODUCER_EPOCH, epoch=2, sequence=1)
    with pytest.raises(KafkaError):
        known.check(header(epoch=2, sequence=1), from_client=False)


def test_a_new_epoch_begins_at_sequence_zero():
    known = states(header(0, epoch=3, sequence=9))
    refused(known, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, epoch=4, sequence=10)
    assert check(known, epoch=4, sequence=0) is None
    known.apply(header(1, epoch=4, sequence=0), 1)
    assert [kept.last_sequence for kept in known.producers[1].batches] == [0]


def test_coordinators_are_not_asked_for_sequences():
    known = states(header(0, sequence=4))
    assert known.check(header(sequence=99), from_client=False) is None
    assert known.check(header(sequence=4), from_client=False) is None


def test_an_open_transaction_takes_transactional_batches_only():
    known = states(header(7, attributes=TRANSACTIONAL))
    assert known.first_unstable_offset() == 7
    refused(known, ErrorCode.INVALID_TXN_STATE, sequence=1)
    assert check(known, sequence=1, attributes=TRANSACTIONAL) is None


def finish(known, offset, control_type, *, pid=1, epoch=0, coordinator_epoch=0):
    marker = EndTxnMarker(control_type, coordinator_epoch)
    at = header(offset, pid=pid, epoch=epoch, attributes=CONTROL, sequence=-1)
    known.check_marker(at, marker)
    return known.apply_marker(at, marker)


def test_a_marker_ends_the_transaction_and_stays_unstable_until_replicated():
    known = states(header(7, attributes=TRANSACTIONAL))
    completed = finish(known, 9, ControlType.COMMIT)
    assert completed == (1, 7, 9, False)
    assert known.first_unstable_offset() == 7
    known.forget_replicated(9)
    assert known.first_unstable_offset() == 7
    known.forget_replicated(10)
    assert known.first_unstable_offset() is None
    assert not known.has_unstable


def test_the_index_entry_of_an_abort_knows_the_stable_offset():
    known = states(header(3, pid=2, attributes=TRANSACTIONAL), header(7, attributes=TRANSACTIONAL))
    aborted = finish(known, 9, ControlType.ABORT)
    assert aborted is not None
    assert known.index_entry(aborted) == (1, 7, 9, 3)
    other = finish(known, 12, ControlType.ABORT, pid=2)
    assert other is not None
    assert known.index_entry(other) == (2, 3, 12, 13)


def test_a_marker_without_a_transaction_only_moves_the_epochs():
    known = states(header(0, sequence=4))
    assert finish(known, 1, ControlType.ABORT, epoch=5, coordinator_epoch=2) is None
    producer = known.producers[1]
    assert (producer.epoch, producer.coordinator_epoch, producer.batches) == (5, 2, [])
    refused(known, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, epoch=5, sequence=5)
    assert check(known, epoch=5, sequence=0) is None


def test_markers_of_older_epochs_and_coordinators_are_refused():
    known = states(header(0, epoch=3))
    finish(known, 1, ControlType.COMMIT, epoch=3, coordinator_epoch=4)
    with pytest.raises(KafkaError) as caught:
        finish(known, 2, ControlType.COMMIT, epoch=2, coordinator_epoch=4)
    assert caught.value.code is ErrorCode.INVALID_PRODUCER_EPOCH
    with pytest.raises(KafkaError) as caught:
        finish(known, 2, ControlType.COMMIT, epoch=3, coordinator_epoch=3)
    assert caught.value.code is ErrorCode.TRANSACTION_COORDINATOR_FENCED


def test_silent_producers_expire_unless_a_transaction_is_open():
    known = states(header(0, timestamp=1000), header(1, pid=2, timestamp=1000, attributes=TRANSACTIONAL))
    assert known.remove_expired(1999, 1000) == 0
    assert known.remove_expired(2000, 1000) == 1
    assert list(known.producers) == [2]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_the_first_unstable_offset_is_the_lowest_of_all_that_are_open_or_not_replicated(data):
    """Beside a model that looks at every transaction each time."""
    states = ProducerStates()
    open_at: dict[int, int] = {}
    decided: list[tuple[int, int]] = []
    offset = 0
    for _ in range(data.draw(st.integers(1, 60))):
        kind = data.draw(st.sampled_from(["begin", "end", "replicate"]))
        producer = data.draw(st.integers(0, 4))
        if kind == "begin":
            states.apply(header(offset, pid=producer, attributes=TRANSACTIONAL), offset)
            open_at.setdefault(producer, offset)
            offset += 1
        elif kind == "end":
            marker = EndTxnMarker(ControlType.ABORT, 0)
            completed = states.apply_marker(header(offset, pid=producer, attributes=TRANSACTIONAL), marker)
            first = open_at.pop(producer, None)
            assert (completed is None) == (first is None)
            if first is not None:
                decided.append((first, offset))
                assert states.index_entry(completed).last_stable_offset == min(open_at.values(), default=offset + 1)
            offset += 1
        else:
            high_watermark = data.draw(st.integers(0, offset))
            states.forget_replicated(high_watermark)
            decided = [one for one in decided if one[1] >= high_watermark]
        expected = min([*open_at.values(), *(first for first, _ in decided)], default=None)
        assert states.first_unstable_offset() == expected


def test_transactions_of_a_snapshot_are_in_order_whatever_its_order_is():
    states = ProducerStates()
    for producer_id, first_offset in ((1, 50), (2, 10), (3, 30)):
        producer = ProducerStateEntry(0)
        producer.txn_first_offset = first_offset
        states.restore(producer_id, producer)
    states.restored()
    assert states.first_unstable_offset() == 10


def test_a_producer_takes_less_than_a_kilobyte():
    """Five batches of each, with offsets, sequences and times that no two objects share."""
    count = 500
    batches = [
        header(offset, pid=10**6 + offset % count, sequence=10**5 + offset // count, timestamp=10**12 + offset)
        for offset in range(10**9, 10**9 + 7 * count)
    ]
    tracemalloc.start()
    try:
        known = ProducerStates()
        for each in batches:
            known.apply(each, each.base_offset)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(known.producers[10**6].batches) == BATCHES_KEPT
    assert taken < 1024 * count


def test_the_window_gives_back_what_was_put_in():
    known = ProducerStateEntry(3, [AppendedBatch(9, 20, 4, 1000), AppendedBatch(12, 23, 2, 1001)])
    assert known.batches == [(9, 20, 4, 1000), (12, 23, 2, 1001)]
    assert (known.last_sequence, known.last_offset) == (12, 23)
    known.keep([])
    assert (known.batches, known.last_sequence, known.last_offset) == ([], -1, -1)


def test_the_newest_five_batches_are_kept_in_order_and_none_of_an_earlier_epoch():
    known = states(*(header(offset, sequence=offset) for offset in range(12)))
    [producer] = known.producers.values()
    assert [each.last_offset for each in producer.batches] == [7, 8, 9, 10, 11]
    assert (producer.last_sequence, producer.last_offset) == (11, 11)
    known.apply(header(12, epoch=1, sequence=0, count=3), 12)
    assert producer.batches == [AppendedBatch(2, 14, 2, 1000)]
    assert check(known, epoch=1, sequence=3) is None
    refused(known, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, epoch=1, sequence=12)


def test_restored_batches_say_which_sequence_is_next_also_over_the_largest():
    known = ProducerStates()
    known.restore(1, ProducerStateEntry(0, [AppendedBatch(LARGEST - 1, 20, 4, 1000)]))
    assert check(known, pid=1, epoch=0, sequence=LARGEST) is None
    known.apply(header(21, pid=1, epoch=0, sequence=LARGEST), 21)
    assert check(known, pid=1, epoch=0, sequence=0) is None
    known.restore(2, ProducerStateEntry(0, [AppendedBatch(LARGEST, 20, 4, 1000)]))
    assert check(known, pid=2, epoch=0, sequence=0) is None
