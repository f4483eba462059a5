"""The table of transaction states, walked in full, and the numbers by which records name them.

S3-092, X-021: the states. W7.27: their order in a commit and in an abort.
"""

import itertools
from pathlib import Path

import pytest

from kafka_py.base.moves import IllegalMove
from kafka_py.coordinator.transactions.states import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    DEAD,
    EMPTY,
    IS_DECIDED,
    MAY_EXPIRE,
    MOVES,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    PREPARE_EPOCH_FENCE,
    TransactionState,
)
from kafka_py.coordinator.transactions.transaction import TransactionMetadata

MAY_COME_FROM = {
    EMPTY: {EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT},
    ONGOING: {ONGOING, EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT},
    PREPARE_COMMIT: {ONGOING},
    PREPARE_ABORT: {ONGOING, PREPARE_EPOCH_FENCE},
    COMPLETE_COMMIT: {PREPARE_COMMIT},
    COMPLETE_ABORT: {PREPARE_ABORT},
    DEAD: {EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT},
    PREPARE_EPOCH_FENCE: {ONGOING},
}
"""The reference's own table."""


@pytest.mark.parametrize(("before", "after"), list(itertools.product(TransactionState, TransactionState)))
def test_every_legal_move_works_and_every_other_raises(before: TransactionState, after: TransactionState) -> None:
    metadata = TransactionMetadata(1, 0, 60_000, before, (), 5, 3)
    if before in MAY_COME_FROM[after]:
        assert metadata.moved(after, 7) == metadata._replace(state=after, last_update_ms=7)
    else:
        with pytest.raises(IllegalMove):
            metadata.moved(after, 7)


def test_numbers_are_those_of_the_records() -> None:
    """S3-092, X-021."""
    order = [EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT, DEAD, PREPARE_EPOCH_FENCE]
    assert [state.value for state in order] == list(range(8))


@pytest.mark.parametrize(
    "way", [(EMPTY, ONGOING, PREPARE_COMMIT, COMPLETE_COMMIT), (EMPTY, ONGOING, PREPARE_ABORT, COMPLETE_ABORT)]
)
def test_w7_27_the_way_of_a_transaction(way: tuple[TransactionState, ...]) -> None:
    assert all(MOVES.allows(here, there) for here, there in itertools.pairwise(way))
    assert [state.value for state in way] in ([0, 1, 2, 4], [0, 1, 3, 5])


def test_what_is_decided_has_one_end_only() -> None:
    assert {
        state: list(MOVES.events(state)) for state in IS_DECIDED
    } == {PREPARE_COMMIT: [COMPLETE_COMMIT], PREPARE_ABORT: [COMPLETE_ABORT]}


def test_only_ids_without_a_transaction_may_expire() -> None:
    assert {EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT} == MAY_EXPIRE


def test_the_picture_in_the_documentation_is_this_table() -> None:
    text = (Path(__file__).resolve().parents[4] / "docs" / "transactions.md").read_text()
    assert MOVES.diagram() in text
