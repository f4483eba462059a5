"""Deletion: what answers to StopReplica mean, and topics that are made and deleted at once."""

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.controller.decisions.batch import ControllerRequest
from kafka_py.controller.decisions.deletion import event_of_reply
from kafka_py.controller.model.controller_context import ControllerContext
from kafka_py.testing.fakes.controller_transcripts import ControllerScript
from kafka_py.wire.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
)

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
STOP = StopReplicaRequest(controller_id=0, controller_epoch=0)
REQUEST = ControllerRequest(2, STOP, 3, (T0, T1, U0))


@pytest.fixture
def cluster() -> ControllerContext:
    """Topic t is being deleted, u only waits for it."""
    cluster = ControllerContext()
    cluster.queue_for_deletion(["t", "u"])
    cluster.started.add("t")
    return cluster


def response(error_code: int = 0, **codes: int) -> StopReplicaResponse:
    """codes: of partitions, named as t0."""
    rows = [StopReplicaPartitionError(topic_name=name[0], partition_index=int(name[1:]), error_code=code)
            for name, code in codes.items()]  # fmt: skip
    return StopReplicaResponse(error_code=error_code, partition_errors=rows)


def test_only_partitions_to_delete_of_topics_in_deletion_matter(cluster: ControllerContext) -> None:
    event = event_of_reply(cluster, REQUEST, response(t0=0, t1=56, u0=0, t9=0))
    assert event is not None
    assert (event.broker, event.error_code, event.partition_errors) == (2, 0, {T0: 0, T1: 56})
    assert event_of_reply(cluster, REQUEST, response(u0=0)) is None
    assert event_of_reply(cluster, REQUEST, response()) is None
    assert event_of_reply(cluster, ControllerRequest(2, STOP, 3), response(t0=0)) is None


def test_a_refusal_of_a_whole_request_is_one_of_each_replica_that_it_names(cluster: ControllerContext) -> None:
    """Else the deletion would be under way for ever: a broker is not asked again while it is awaited."""
    event = event_of_reply(cluster, REQUEST, response(-1))
    assert event is not None
    assert event.partition_errors == {T0: -1, T1: -1}


@pytest.mark.parametrize("code", [77, 11])
def test_a_refusal_for_another_life_of_broker_or_controller_says_nothing(cluster: ControllerContext, code: int) -> None:
    assert event_of_reply(cluster, REQUEST, response(code)) is None


def test_a_topic_that_was_made_a_moment_ago_is_waited_for_once() -> None:
    script = ControllerScript()
    script.perform("brokers 1")
    script.znodes.add_topic("t", {0: [1]})  # of which the controller does not know yet
    assert script.perform("delete t") == ["event TopicDeletion"]
    assert script.perform("delete t") == ["nothing"]
    assert script.znodes.deletions == {"t"}
    script.perform("topic u 1")
    assert "delete topic t" in script.perform("delete t")
