"""Which targets of AlterPartitionReassignments are refused, and with which words."""

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.controller.decisions.reassignment_requests import requested_assignment
from kafka_py.controller.model.controller_context import ControllerContext, PartitionAssignment
from kafka_py.testing.fakes.controller_transcripts import ControllerScript

T0 = TopicPartition("t", 0)


@pytest.fixture
def cluster() -> ControllerContext:
    """Brokers 1 to 3 live, t-0 is on 1 and 2."""
    script = ControllerScript()
    script.perform("brokers 1 2 3")
    script.perform("topic t 1,2")
    return script.cluster


def test_the_target_comes_first_while_a_partition_moves(cluster: ControllerContext) -> None:
    assert requested_assignment(cluster, T0, [3, 1]) == PartitionAssignment((3, 1, 2), (3,), (2,))


def test_to_cancel_is_to_go_back_to_the_origin(cluster: ControllerContext) -> None:
    cluster.set_assignment(T0, requested_assignment(cluster, T0, [3]))
    assert requested_assignment(cluster, T0, None) == PartitionAssignment((1, 2))
    assert requested_assignment(cluster, T0, [2, 1]) == PartitionAssignment((2, 1))


def test_nothing_can_be_cancelled_where_nothing_moves(cluster: ControllerContext) -> None:
    with pytest.raises(KafkaError) as caught:
        requested_assignment(cluster, T0, None)
    assert caught.value.code is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ([], "Empty replica list specified in partition reassignment."),
        ([2, 2], "Duplicate replica ids in partition reassignment replica list: ArrayBuffer(2, 2)"),
        ([1, -1], "Invalid broker id in replica list: ArrayBuffer(1, -1)"),
        ([1, 9], "Replica assignment has brokers that are not alive. Replica list: ArrayBuffer(9), "
                 "live broker list: Set(1, 2, 3)"),
    ],
)  # fmt: skip
def test_impossible_targets_are_refused_in_the_words_of_the_tools(
    cluster: ControllerContext, target: list[int], text: str
) -> None:
    with pytest.raises(KafkaError) as caught:
        requested_assignment(cluster, T0, target)
    assert caught.value.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert caught.value.message == text
