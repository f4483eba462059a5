"""Who may ask for a controlled shutdown, and what is remembered of it. What follows is in the transcripts."""

import pytest

from kafka_py.testing.fakes.controller_transcripts import ControllerScript


@pytest.fixture
def script() -> ControllerScript:
    script = ControllerScript()
    script.perform("brokers 1 2")
    script.perform("topic t 2,1")
    return script


def test_a_broker_that_shuts_down_is_not_live_until_it_is_back(script: ControllerScript) -> None:
    script.perform("shut-down 2")
    assert script.cluster.live_brokers == {1}
    script.perform("kill 2")
    assert script.cluster.shutting_down == set()
    script.perform("start 2")
    assert script.cluster.live_brokers == {1, 2}


def test_to_ask_twice_is_to_be_told_the_same(script: ControllerScript) -> None:
    assert script.perform("shut-down 2")[-1] == "answer: none"
    assert script.perform("shut-down 2")[-1] == "answer: none"


def test_a_broker_that_is_not_known_changes_nothing(script: ControllerScript) -> None:
    assert script.perform("shut-down 9") == ["answer: BROKER_NOT_AVAILABLE"]
    assert script.cluster.live_brokers == {1, 2}


def test_topics_to_be_deleted_are_left_to_the_deletion(script: ControllerScript) -> None:
    script.perform("ignore 2")
    script.perform("delete t")
    lines = script.perform("shut-down 2")
    assert not [line for line in lines if line.startswith(("write", "StopReplica"))]
