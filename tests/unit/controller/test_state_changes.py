"""What the controller writes to the log of state changes."""

import logging

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.base.state_changes import NAME
from kafka_py.controller.decisions.batch import ControllerRequest
from kafka_py.controller.model.controller_context import PartitionAndReplica
from kafka_py.controller.model.partition_states import PartitionState
from kafka_py.controller.state_changes import PARTITION, REPLICA, StateChanges
from kafka_py.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kafka_py.wire.messages.stop_replica import StopReplicaRequest
from kafka_py.wire.messages.update_metadata import UpdateMetadataRequest

NEW, ONLINE = PartitionState.NEW, PartitionState.ONLINE
CHANGES = StateChanges(0, 3)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def partitions(count: int) -> dict[TopicPartition, PartitionState]:
    return {TopicPartition("t", number): NEW for number in range(count)}


def test_one_line_for_all_that_moved(caplog: pytest.LogCaptureFixture) -> None:
    failed = TopicPartition("t", 1)
    with caplog.at_level(logging.INFO, logger=NAME):
        CHANGES.moved(PARTITION, partitions(3), ONLINE, lambda each: NEW if each == failed else ONLINE, {})
    assert lines(caplog) == ["[Controller id=0 epoch=3] Changed 2 partitions from NEW to ONLINE: t-0, t-2"]


def test_debug_tells_of_every_single_one(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger=NAME):
        detail = {TopicPartition("t", 0): "leader 5"}
        CHANGES.moved(PARTITION, partitions(2), ONLINE, lambda _: ONLINE, detail)
        CHANGES.moved(REPLICA, {PartitionAndReplica("t", 0, 5): NEW}, ONLINE, lambda _: ONLINE, {})
    said = lines(caplog)
    assert "[Controller id=0 epoch=3] Changed partition t-0 from NEW to ONLINE with state leader 5" in said
    assert "[Controller id=0 epoch=3] Changed 1 replicas from NEW to ONLINE: t-0 on 5" in said


def test_nothing_is_worked_out_when_nobody_listens(caplog: pytest.LogCaptureFixture) -> None:
    def refuse(_: object) -> object:
        raise AssertionError("asked for a state")

    with caplog.at_level(logging.WARNING, logger=NAME):
        CHANGES.moved(PARTITION, partitions(2), ONLINE, refuse, {})
    with caplog.at_level(logging.INFO, logger=NAME):
        CHANGES.moved(REPLICA, {PartitionAndReplica("t", 0, 5): NEW}, ONLINE, refuse, {})
    assert lines(caplog) == []


def test_requests_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    states = [LeaderAndIsrPartitionState(leader=leader, isr=[], replicas=[]) for leader in (1, 1, 2)]  # type: ignore[call-arg]
    topic = LeaderAndIsrTopicState(topic_name="t", partition_states=states)
    with caplog.at_level(logging.INFO, logger=NAME):
        CHANGES.sent(ControllerRequest(1, LeaderAndIsrRequest(topic_states=[topic]), 5))  # type: ignore[call-arg]
        CHANGES.sent(ControllerRequest(1, UpdateMetadataRequest(live_brokers=[]), 7))  # type: ignore[call-arg]
        CHANGES.sent(ControllerRequest(1, StopReplicaRequest(), 3, frozenset({TopicPartition("t", 0)})))  # type: ignore[call-arg]
    assert lines(caplog) == [
        "[Controller id=0 epoch=3] LeaderAndIsr to broker 1: it leads 2 partitions and follows 1",
        "[Controller id=0 epoch=3] StopReplica to broker 1: 1 of the replicas are deleted",
    ]
