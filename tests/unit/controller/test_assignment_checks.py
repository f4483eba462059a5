"""Assigned replicas: what is refused, with which text, and how long a step takes."""

from collections.abc import Generator, Mapping, Sequence
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.placement import MOST_REPLICAS
from kafka_py.controller.assignment_checks import MOST_NAMED, STEP_REPLICAS, checking, checking_added, copied

LONG = 20 * STEP_REPLICAS


class CountedRow(Sequence[int]):
    """A partition's replicas. seen: how many were looked at since the generator that looks at them last stopped."""

    seen = 0

    def __init__(self, replicas: Sequence[int]) -> None:
        self._replicas = replicas

    def __getitem__(self, place: Any) -> Any:
        found = self._replicas[place]
        if isinstance(place, slice):
            CountedRow.seen += len(found)
        return found

    def __iter__(self) -> Any:
        CountedRow.seen += len(self._replicas)
        return iter(self._replicas)

    def __len__(self) -> int:
        return len(self._replicas)


def steps_of(steps: Generator[None, None, object]) -> tuple[int, int]:
    """How many there are until it ends, and the most replicas that one of them has looked at."""
    count = most = CountedRow.seen = 0
    try:
        while True:
            next(steps)
            count, most, CountedRow.seen = count + 1, max(most, CountedRow.seen), 0
    except (StopIteration, KafkaError):
        return count, max(most, CountedRow.seen)


def refusal(
    steps: Generator[None, None, object], code: ErrorCode = ErrorCode.INVALID_REPLICA_ASSIGNMENT
) -> str:
    with pytest.raises(KafkaError) as caught:
        for _ in steps:
            pass
    assert caught.value.code is code
    return caught.value.message


def result_of(steps: Generator[None, None, Any]) -> Any:
    try:
        while True:
            next(steps)
    except StopIteration as end:
        return end.value


def assigned(*rows: Sequence[int]) -> Mapping[int, Sequence[int]]:
    return dict(enumerate(rows))


@pytest.mark.parametrize(
    "assignment",
    [
        assigned(CountedRow(range(LONG))),
        assigned(CountedRow([0] * LONG)),
        assigned(*(CountedRow([0]) for _ in range(LONG))),
        assigned(*(CountedRow(range(200)) for _ in range(LONG // 200))),
    ],
    ids=["long", "twice", "short", "rows"],
)
def test_a_step_looks_at_few_replicas_however_a_request_spreads_them(
    assignment: Mapping[int, Sequence[int]],
) -> None:
    rows = list(assignment.values())
    for steps in (
        checking(assignment),
        checking_added(rows, 0, len(rows), len(rows[0]), set(range(LONG))),
        checking_added(rows, 0, len(rows), len(rows[0]), set()),
    ):
        count, most = steps_of(steps)
        assert count >= 15
        assert most <= 3 * STEP_REPLICAS
    count, most = steps_of(copied(assignment))
    assert count >= 15
    assert most <= 3 * STEP_REPLICAS


def test_partitions_without_replicas_are_taken_in_steps() -> None:
    empty: list[list[int]] = [[] for _ in range(LONG)]
    assert steps_of(copied(assigned(*empty)))[0] >= 20
    assert steps_of(checking_added(empty, 0, 1, 1, {0}))[0] >= 20


def test_a_copy_is_taken_in_steps_and_its_own() -> None:
    rows = assigned(*([number, 1] for number in range(LONG)))
    steps = copied(rows)
    stops = 0
    try:
        while True:
            next(steps)
            stops += 1
    except StopIteration as end:
        result = end.value
    assert stops >= 20
    assert result == rows
    assert result[0] is not rows[0]


def test_a_replica_that_is_named_twice_is_found_wherever_it_stands() -> None:
    for first, second in ((0, 1), (0, LONG - 1), (STEP_REPLICAS - 1, STEP_REPLICAS), (LONG - 2, LONG - 1)):
        replicas = list(range(LONG))
        replicas[second] = replicas[first]
        assert refusal(checking(assigned(replicas))).startswith("Duplicate replica assignment found: partition 0 on")
        added = checking_added([replicas], 1, 1, LONG, set(range(LONG)))
        assert refusal(added).startswith("Duplicate brokers are not allowed")


def test_more_replicas_than_a_znode_can_contain_are_refused_before_they_are_compared() -> None:
    most = [0] * MOST_REPLICAS
    assert "Duplicate" in refusal(checking(assigned(most)))
    too_many = f"1 partitions with {MOST_REPLICAS + 1} replicas each do not fit"
    assert too_many in refusal(checking(assigned([*most, 1])), ErrorCode.INVALID_PARTITIONS)
    assert "Duplicate" in refusal(checking_added([[0, 0]], MOST_REPLICAS // 2 - 1, 1, 2, {0}))
    growth = checking_added([[0, 0]], MOST_REPLICAS // 2, 1, 2, {0})
    assert "do not fit into one znode" in refusal(growth, ErrorCode.INVALID_PARTITIONS)


def test_unknown_brokers_are_named_in_order_and_only_some_of_very_many() -> None:
    assert ": [7, 8]." in refusal(checking_added([[8, 0], [7]], 1, 9, 2, {0, 1}))
    assert f" and {100 - MOST_NAMED} more." in refusal(checking_added([list(range(1, 101))], 1, 1, 1, {0}))
    last = [*range(LONG), LONG + 5]
    assert f": [{LONG + 5}]." in refusal(checking_added([last], 1, 1, 1, set(range(LONG))))


def test_long_rows_are_copied_whole() -> None:
    row = list(range(2 * STEP_REPLICAS + 5))
    assert result_of(copied(assigned(row))) == {0: row}
    added = result_of(checking_added([row], 3, 1, len(row), set(row)))
    assert added == {3: row}
    assert added[3] is not row


def test_very_many_partitions_are_counted_in_steps_also_when_they_do_not_fit() -> None:
    assert steps_of(checking(assigned(*([0] for _ in range(MOST_REPLICAS + 1)))))[0] >= 100


def test_partitions_are_numbered_from_zero_and_there_is_one() -> None:
    for numbers in ((-1, 1), (1, 2), (0, 2)):
        assert "consecutive 0-based" in refusal(checking({number: [0] for number in numbers}))
    assert "same number of replicas" in refusal(checking({}))


def test_a_partition_without_replicas_is_told_apart() -> None:
    assert refusal(checking({0: []})) == "Partition 0 has no replica."
    assert refusal(checking_added([[]], 1, 1, 1, {0})) == "A partition cannot have no replica."


def test_of_the_faults_of_added_partitions_the_first_in_kafkas_order_is_told() -> None:
    assert "Duplicate brokers" in refusal(checking_added([[0, 0, 0]], 1, 1, 2, {0}))
    assert "Partition 0 has 2 replicas" in refusal(checking_added([[0, 1, 2]], 1, 1, 2, {0, 1, 2}))
    for rows in ([], [[0]], [[0], [0], [0]]):
        detail = f"2 partitions are to be added but {len(rows)} assignments are given."
        assert refusal(checking_added(rows, 1, 2, 1, {0})) == detail
        assert refusal(checking_added(rows, MOST_REPLICAS, 2, 1, {0})) == detail


def test_as_many_brokers_as_are_named_are_all() -> None:
    assert refusal(checking_added([list(range(1, MOST_NAMED + 1))], 1, 1, 1, {0})).endswith(f", {MOST_NAMED}].")
