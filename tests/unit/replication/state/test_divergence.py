"""Whether a reader's log parts from the leader's before the offset that it fetches from."""

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.log.state.epochs import EpochEnd
from kafka_py.replication.state.divergence import diverging_end
from kafka_py.replication.state.reads import FetchEntry

START = 10


def reading(offset: int, epoch: int) -> FetchEntry:
    return FetchEntry(TopicPartition("t", 0), offset, 100, last_fetched_epoch=epoch)


@pytest.mark.parametrize(
    ("offset", "epoch", "leader_end", "diverging"),
    [
        (50, 3, (3, 60), None),
        (60, 3, (3, 60), None),
        (61, 3, (3, 60), EpochEnd(3, 60)),
        (50, 3, (2, 40), EpochEnd(2, 40)),
        (50, 3, (2, 70), EpochEnd(2, 70)),
    ],
    ids=["within the epoch", "at its end", "beyond its end", "an epoch that the leader never had", "and ends later"],
)
def test_where_the_reader_has_to_end(
    offset: int, epoch: int, leader_end: tuple[int, int], diverging: EpochEnd | None
) -> None:
    assert diverging_end(reading(offset, epoch), leader_end, START) == diverging


@pytest.mark.parametrize(
    ("offset", "leader_end"),
    [(50, (-1, -1)), (50, (3, -1)), (START - 1, (3, 60))],
    ids=["epochs older than all here", "an end that is not known", "an offset that was deleted"],
)
def test_what_cannot_be_told_is_out_of_range(offset: int, leader_end: tuple[int, int]) -> None:
    with pytest.raises(KafkaError) as error:
        diverging_end(reading(offset, 3), leader_end, START)
    assert error.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
