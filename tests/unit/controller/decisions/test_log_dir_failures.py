"""Replicas on failed disks, as responses to LeaderAndIsr name them."""

from kafka_py.base.ids import TopicPartition
from kafka_py.controller.decisions.log_dir_failures import leader_and_isr_response
from kafka_py.controller.decisions.settings import Settings
from kafka_py.controller.events import LeaderAndIsrResponseReceived
from kafka_py.testing.fakes.controller_transcripts import ControllerScript
from kafka_py.testing.fakes.controller_znodes import TABLE, result_of
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrPartitionError, LeaderAndIsrResponse

T0 = TopicPartition("t", 0)


def failed_on_2(response: LeaderAndIsrResponse) -> set[TopicPartition] | None:
    """What is known of broker 2 after that response."""
    script = ControllerScript()
    script.perform("brokers 1 2")
    script.perform("topic t 2,1")
    event = LeaderAndIsrResponseReceived(response, 2)
    plan = leader_and_isr_response(script.cluster, event, Settings(script.options, "PLAINTEXT"))
    result_of(plan, lambda step: script.znodes.perform(step) if type(step) in TABLE else None)
    return script.cluster.offline_dirs.get(2)


def test_old_responses_name_the_topic() -> None:
    row = LeaderAndIsrPartitionError(topic_name="t", partition_index=0, error_code=56)
    assert failed_on_2(LeaderAndIsrResponse(error_code=0, partition_errors=[row], topics=[])) == {T0}


def test_other_errors_say_nothing_of_disks() -> None:
    row = LeaderAndIsrPartitionError(topic_name="t", partition_index=0, error_code=6)
    assert failed_on_2(LeaderAndIsrResponse(error_code=0, partition_errors=[row], topics=[])) is None


def test_a_response_that_refuses_the_request_says_nothing_of_partitions() -> None:
    row = LeaderAndIsrPartitionError(topic_name="t", partition_index=0, error_code=56)
    assert failed_on_2(LeaderAndIsrResponse(error_code=11, partition_errors=[row], topics=[])) is None


def test_a_replica_that_has_failed_is_led_elsewhere_once() -> None:
    script = ControllerScript()
    script.perform("brokers 1 2")
    script.perform("topic t 2,1")
    assert "write t-0 leader 1 epoch 1 isr [1] over version 0" in script.perform("disk-failed 2 t-0")
    assert script.perform("disk-failed 2 t-0") == ["nothing"]
