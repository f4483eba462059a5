"""When an election makes sense, and which brokers lead too few of the partitions that prefer them."""

from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import ElectionType, TopicPartition
from kafka_py.controller.decisions.preferred_leaders import balance_leaders, refusal_of, unbalanced
from kafka_py.controller.decisions.settings import Settings
from kafka_py.controller.decisions.steps import PutLater
from kafka_py.controller.events import AutoPreferredReplicaLeaderElection
from kafka_py.controller.model.controller_context import ControllerContext, Leadership, PartitionAssignment
from kafka_py.testing.fakes.controller_transcripts import ControllerScript
from kafka_py.testing.fakes.controller_znodes import result_of
from kafka_py.zk.access import ControllerMoved

PREFERRED, UNCLEAN = ElectionType.PREFERRED, ElectionType.UNCLEAN


def partitions(*numbers: int) -> list[TopicPartition]:
    return [TopicPartition("t", number) for number in numbers]


@pytest.fixture
def cluster() -> ControllerContext:
    """Brokers 1 and 2 live; four partitions prefer broker 1, of which broker 2 leads t-3 and is in sync for all."""
    script = ControllerScript()
    script.perform("brokers 1 2")
    script.perform("topic t 1,2 1,2 1,2 1,2")
    lead(script.cluster, 3, 2, 1, 2)
    return script.cluster


def lead(cluster: ControllerContext, number: int, leader: int, *isr: int) -> None:
    cluster.set_leadership(TopicPartition("t", number), Leadership(leader, 1, isr, 1))


@pytest.mark.parametrize(
    ("number", "type_", "code"),
    [
        (0, PREFERRED, ErrorCode.ELECTION_NOT_NEEDED),
        (3, PREFERRED, None),
        (3, UNCLEAN, ErrorCode.ELECTION_NOT_NEEDED),
        (7, PREFERRED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_an_election_is_refused_where_it_makes_no_sense(
    cluster: ControllerContext, number: int, type_: ElectionType, code: ErrorCode | None
) -> None:
    refusal = refusal_of(cluster, TopicPartition("t", number), type_)
    assert (refusal and refusal.code) == code


def test_topics_to_be_deleted_have_no_elections(cluster: ControllerContext) -> None:
    cluster.queue_for_deletion(["t"])
    refusal = refusal_of(cluster, TopicPartition("t", 3), PREFERRED)
    assert refusal is not None
    assert refusal.code is ErrorCode.INVALID_TOPIC_EXCEPTION


def found(cluster: ControllerContext, limit: float) -> list[list[TopicPartition]]:
    return result_of(unbalanced(cluster, limit), lambda _: None)


def test_a_broker_is_unbalanced_above_the_limit_only(cluster: ControllerContext) -> None:
    assert found(cluster, 0.25) == []
    assert found(cluster, 0.24) == [partitions(3)]
    lead(cluster, 1, 2, 1, 2)
    assert found(cluster, 0.25) == [partitions(1, 3)]


def test_what_the_preferred_replica_could_not_lead_is_left_alone(cluster: ControllerContext) -> None:
    lead(cluster, 3, 2, 2)
    assert found(cluster, 0.1) == []
    lead(cluster, 2, 2, 1, 2)
    assert found(cluster, 0.1) == [partitions(2)]


def test_nothing_is_balanced_while_partitions_are_moved(cluster: ControllerContext) -> None:
    cluster.set_assignment(TopicPartition("t", 0), PartitionAssignment((3, 1, 2), (3,), (1, 2)))
    cluster.reassigning.add(TopicPartition("t", 0))
    assert found(cluster, 0.1) == []


def test_the_balance_is_looked_at_again_whatever_came_of_the_elections(cluster: ControllerContext) -> None:
    later: list[PutLater] = []

    def perform(step: Any) -> None:
        if isinstance(step, PutLater):
            later.append(step)
        else:
            raise ControllerMoved

    settings = Settings(ControllerScript().options, "PLAINTEXT")
    with pytest.raises(ControllerMoved):
        result_of(balance_leaders(cluster, AutoPreferredReplicaLeaderElection(), settings), perform)
    (step,) = later
    assert step.seconds == settings.options.leader_imbalance_check_interval_seconds
    assert isinstance(step.event, AutoPreferredReplicaLeaderElection)
