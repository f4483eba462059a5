"""Notifications of changed in-sync sets are removed whatever becomes of them; AlterIsr answers what holds."""

from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.controller.decisions.isr_changes import alter_isr, isr_change
from kafka_py.controller.decisions.plan import Step
from kafka_py.controller.decisions.settings import Settings
from kafka_py.controller.decisions.steps import ReplyToCaller, Send
from kafka_py.controller.decisions.znode_steps import ReadIsrChanges, UpdateLeaderships
from kafka_py.controller.events import AlterIsrReceived, IsrChangeNotification, IsrProposal
from kafka_py.testing.fakes.controller_transcripts import ControllerScript
from kafka_py.testing.fakes.controller_znodes import TABLE, result_of

T0 = TopicPartition("t", 0)


class World:
    """Brokers 1 and 2, t-0 on both. asked: the steps that were."""

    def __init__(self) -> None:
        self.script = ControllerScript()
        self.script.perform("brokers 1 2")
        self.script.perform("topic t 1,2")
        self.settings = Settings(self.script.options, "PLAINTEXT")
        self.asked: list[Step[Any]] = []

    def perform(self, step: Step[Any]) -> Any:
        self.asked.append(step)
        return self.script.znodes.perform(step) if type(step) in TABLE else None


def test_notifications_are_removed_when_they_cannot_be_read() -> None:
    world = World()
    world.script.znodes.isr_changes["isr_change_1"] = {T0}

    def perform(step: Step[Any]) -> Any:
        if isinstance(step, ReadIsrChanges):
            raise TimeoutError
        return world.perform(step)

    with pytest.raises(TimeoutError):
        result_of(isr_change(world.script.cluster, IsrChangeNotification(), world.settings), perform)
    assert world.script.znodes.isr_changes == {}


def test_unknown_partitions_are_not_read() -> None:
    world = World()
    world.script.znodes.isr_changes["isr_change_1"] = {TopicPartition("unknown", 0)}
    result_of(isr_change(world.script.cluster, IsrChangeNotification(), world.settings), world.perform)
    assert not [step for step in world.asked if isinstance(step, Send)]
    assert world.script.znodes.isr_changes == {}


def test_what_holds_already_is_answered_and_not_written() -> None:
    world = World()
    cluster = world.script.cluster
    event = AlterIsrReceived(1, cluster.brokers[1].epoch, {T0: IsrProposal(0, (1, 2), 0)})
    result_of(alter_isr(cluster, event, world.settings), world.perform)
    (write,) = [step for step in world.asked if isinstance(step, UpdateLeaderships)]
    assert write.leaderships == {}
    (reply,) = [step for step in world.asked if isinstance(step, ReplyToCaller)]
    assert reply.outcome == {T0: cluster.leadership(T0)}


@pytest.mark.parametrize("broker, epoch", [(2, 0), (1, 1)])
def test_a_proposal_of_one_that_does_not_lead_in_that_epoch_is_refused(broker: int, epoch: int) -> None:
    world = World()
    cluster = world.script.cluster
    event = AlterIsrReceived(broker, cluster.brokers[broker].epoch, {T0: IsrProposal(epoch, (2,), 0)})
    result_of(alter_isr(cluster, event, world.settings), world.perform)
    (reply,) = [step for step in world.asked if isinstance(step, ReplyToCaller)]
    assert isinstance(reply.outcome, dict)
    assert reply.outcome[T0].code == ErrorCode.INVALID_UPDATE_VERSION
    assert (known := cluster.leadership(T0)) is not None and known[:3] == (1, 0, (1, 2))


def test_a_topic_to_be_deleted_is_not_announced_after_a_late_write() -> None:
    world = World()
    world.script.znodes.write_isr(T0, (2,))
    late = world.script.znodes.leaderships[T0]._replace(leader=2, leader_epoch=5)
    world.script.znodes.leaderships[T0] = late
    world.script.znodes.isr_changes["isr_change_1"] = {T0}
    world.script.cluster.queued.add("t")
    result_of(isr_change(world.script.cluster, IsrChangeNotification(), world.settings), world.perform)
    assert world.script.znodes.leaderships[T0] == late


def test_the_leader_that_is_put_back_is_sent_to_live_replicas_only() -> None:
    script = World().script
    script.perform("kill 2")
    assert "LeaderAndIsr -> 1: t-0 leader 1 epoch 8 isr [1]" in script.perform("late-write t-0 2 7 2 announced")
