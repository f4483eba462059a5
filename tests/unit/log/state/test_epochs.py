"""Leader epochs: where they begin and end, and what truncation leaves of them."""

import pytest

from kafka_py.log.state.epochs import UNKNOWN_END, EpochEnd, EpochStart, LeaderEpochs


def epochs(*entries) -> LeaderEpochs:
    return LeaderEpochs(EpochStart(*entry) for entry in entries)


@pytest.mark.parametrize(
    ("start", "assigned", "result"),
    [
        ([], (0, 0), [(0, 0)]),
        ([(0, 0)], (0, 5), [(0, 0)]),
        ([(0, 0)], (1, 5), [(0, 0), (1, 5)]),
        ([(0, 0), (1, 5)], (2, 5), [(0, 0), (2, 5)]),
        ([(0, 0), (1, 5), (2, 9)], (1, 7), [(0, 0), (1, 7)]),
        ([(0, 0), (1, 5), (2, 9)], (3, 3), [(0, 0), (3, 3)]),
        ([(4, 10)], (4, 6), [(4, 6)]),
    ],
)
def test_assign_drops_what_contradicts_it(start, assigned, result):
    known = epochs(*start)
    changed = known.assign(*assigned)
    assert known.entries() == result
    assert changed == (result != start)
    assert known.latest == result[-1][0]


@pytest.mark.parametrize(
    ("start", "found", "result"),
    [
        ([], (3, 7), [(3, 7)]),
        ([(0, 0), (1, 5)], (1, 8), [(0, 0), (1, 5)]),
        ([(0, 0), (1, 5)], (0, 3), [(0, 0), (1, 5)]),
        ([(0, 0), (1, 5)], (2, 8), [(0, 0), (1, 5), (2, 8)]),
        ([(0, 0), (1, 5)], (-1, 8), [(0, 0), (1, 5)]),
        ([(0, 0), (1, 5)], (-513, 8), [(0, 0), (1, 5)]),
        ([(2, 5), (3, 8)], (1, 4), [(2, 5), (3, 8)]),
        ([(0, 0), (1, 5), (4, 8), (5, 9)], (1, 8), [(0, 0), (1, 5)]),
        ([(0, 0), (4, 8), (5, 9)], (1, 8), [(0, 0), (1, 8)]),
        ([(0, 0), (4, 8)], (2, 5), [(0, 0), (2, 5)]),
    ],
)
def test_what_stands_in_the_log_is_believed_rather_than_what_was_noted(start, found, result):
    known = epochs(*start)
    changed = known.note_batch(*found)
    assert known.entries() == result
    assert changed == (result != start)
    assert known.latest == result[-1][0]


def test_negative_epochs_and_offsets_are_errors():
    for epoch, offset in ((-1, 0), (0, -1)):
        with pytest.raises(ValueError, match="cannot begin"):
            epochs().assign(epoch, offset)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (-1, UNKNOWN_END),
        (1, EpochEnd(1, 10)),
        (2, EpochEnd(2, 20)),
        (3, EpochEnd(2, 20)),
        (4, EpochEnd(4, 35)),
        (5, UNKNOWN_END),
    ],
)
def test_the_end_of_an_epoch_is_the_start_of_the_next_known(asked, answer):
    assert epochs((2, 10), (4, 20)).end_offset_for(asked, 35) == answer


def test_an_empty_cache_knows_no_end():
    assert epochs().end_offset_for(0, 5) == UNKNOWN_END


@pytest.mark.parametrize(("offset", "epoch"), [(0, -1), (9, -1), (10, 2), (19, 2), (20, 4), (99, 4)])
def test_the_epoch_of_an_offset(offset, epoch):
    assert epochs((2, 10), (4, 20)).epoch_of(offset) == epoch


@pytest.mark.parametrize(
    ("end", "left"), [(99, [(1, 0), (2, 10), (4, 20)]), (20, [(1, 0), (2, 10)]), (10, [(1, 0)]), (0, [])]
)
def test_truncation_from_the_end_drops_epochs_that_begin_there(end, left):
    known = epochs((1, 0), (2, 10), (4, 20))
    assert known.truncate_from_end(end) == (len(left) < 3)
    assert known.entries() == left
    assert known.latest == (left[-1][0] if left else -1)


@pytest.mark.parametrize(
    ("start", "left"),
    [
        (0, [(1, 0), (2, 10), (4, 20)]),
        (5, [(1, 5), (2, 10), (4, 20)]),
        (10, [(2, 10), (4, 20)]),
        (15, [(2, 15), (4, 20)]),
        (99, [(4, 99)]),
    ],
)
def test_truncation_from_the_start_lets_the_holding_epoch_begin_there(start, left):
    known = epochs((1, 0), (2, 10), (4, 20))
    known.truncate_from_start(start)
    assert known.entries() == left
