"""Reassignments that cannot be begun or completed. Their steps are in the transcripts."""

from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.controller.decisions.plan import Step
from kafka_py.controller.decisions.reassignment import maybe_complete, start_from_request
from kafka_py.controller.decisions.znode_steps import WriteAssignments
from kafka_py.testing.fakes.controller_transcripts import ControllerScript
from kafka_py.testing.fakes.controller_znodes import TABLE, result_of
from kafka_py.zk.access import ControllerMoved

T0, U0 = TopicPartition("t", 0), TopicPartition("u", 0)


@pytest.fixture
def script() -> ControllerScript:
    script = ControllerScript()
    for command in ("brokers 1 2", "topic t 1", "topic u 1"):
        script.perform(command)
    return script


def test_one_that_cannot_be_written_is_refused_and_the_next_one_begins(script: ControllerScript) -> None:
    def perform(step: Step[Any]) -> Any:
        if isinstance(step, WriteAssignments) and step.topic == "t":
            raise TimeoutError("no answer")
        return script.znodes.perform(step) if type(step) in TABLE else None

    refusals = result_of(start_from_request(script.cluster, {T0: [2], U0: [2]}), perform)
    refusal = refusals[T0]
    assert isinstance(refusal, KafkaError)
    assert (refusal.code, refusal.message) == (ErrorCode.UNKNOWN_SERVER_ERROR, "no answer")
    assert refusals[U0] is None
    assert script.cluster.reassigning == {U0}


def test_nothing_more_is_begun_once_another_controller_was_elected(script: ControllerScript) -> None:
    script.znodes.is_moved = True
    with pytest.raises(ControllerMoved):
        result_of(start_from_request(script.cluster, {T0: [2], U0: [2]}),
                  lambda step: script.znodes.perform(step) if type(step) in TABLE else None)  # fmt: skip
    assert not script.cluster.reassigning


def test_every_partition_has_its_own_answer(script: ControllerScript) -> None:
    unknown = TopicPartition("unknown", 0)
    refusals = result_of(start_from_request(script.cluster, {unknown: [1], T0: []}), lambda _: None)
    assert {partition: refusal and refusal.code for partition, refusal in refusals.items()} == {
        T0: ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        unknown: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_a_late_write_of_a_former_leader_completes_no_reassignment() -> None:
    """It names the target as in sync, which has none of the records; the other replicas would be deleted."""
    script = ControllerScript()
    for command in ("brokers 1 2 3 4", "topic t 1,2", "reassign t-0 3,4", "late-write t-0 3 7 3,4"):
        script.perform(command)
    result_of(maybe_complete(script.cluster, T0),
              lambda step: script.znodes.perform(step) if type(step) in TABLE else None)  # fmt: skip
    assert script.cluster.reassigning == {T0}
    assert script.cluster.assignment(T0).replicas == (3, 4, 1, 2)
    assert script.perform("late-write t-0 3 7 3,4 announced")[-1].startswith("UpdateMetadata")
    assert script.znodes.leaderships[T0][:3] == (1, 8, (1,))
