"""Messages of very many structs are freed in pieces; what others hold stays whole."""

import weakref

import pytest

from kafka_py.wire.dismantling import STEP_VALUES, dismantle
from kafka_py.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)


class Weakly(str):
    """A text of which weak references can be had: how long a struct lives shows in its name."""


def message(topics: int, partitions: int) -> ListOffsetsRequest:
    return ListOffsetsRequest(
        replica_id=-1,
        topics=[
            ListOffsetsTopic(
                name=Weakly(number),
                partitions=[ListOffsetsPartition(partition_index=index, timestamp=1) for index in range(partitions)],
            )
            for number in range(topics)
        ]
    )


@pytest.mark.parametrize(("topics", "partitions"), [(10_000, 1), (1, 10_000), (50, 200)])
def test_no_step_frees_more_than_some_elements(topics: int, partitions: int) -> None:
    given = [message(topics, partitions)]
    steps = sum(1 for _ in dismantle(given))
    assert given == []
    assert steps >= topics * partitions / STEP_VALUES


def test_each_step_frees_some_structs_and_the_last_one_all() -> None:
    made = message(10 * STEP_VALUES, 1)
    names = [weakref.ref(topic.name) for topic in made.topics]
    given = [made]
    del made
    living = len(names)
    for _ in dismantle(given):
        now_living = sum(name() is not None for name in names)
        assert living - now_living <= STEP_VALUES
        living = now_living
    assert living == 0


def test_what_others_hold_stays_whole() -> None:
    made = message(20, 30)
    kept_topic, kept_array = made.topics[3], made.topics[4].partitions
    given = [made]
    del made
    assert sum(1 for _ in dismantle(given)) > 18
    assert len(kept_topic.partitions) == 30
    assert len(kept_array) == 30


def test_messages_of_several_kinds_are_taken_apart() -> None:
    answer = ListOffsetsTopicResponse(
        name="t",
        partitions=[ListOffsetsPartitionResponse(partition_index=index, error_code=0) for index in range(10_000)],
    )
    given = [message(1, 10_000), ListOffsetsResponse(topics=[answer])]
    del answer
    assert sum(1 for _ in dismantle(given)) >= 20_000 / STEP_VALUES


def test_a_message_that_others_hold_stays_whole() -> None:
    made = message(2000, 1)
    assert sum(1 for _ in dismantle([made, None, "no message"])) == 1
    assert len(made.topics) == 2000
