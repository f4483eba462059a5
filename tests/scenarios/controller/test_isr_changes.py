"""In-sync sets that leaders change, both ways: in ZooKeeper themselves, or by asking the controller (KIP-497)."""

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.controller.events import IsrProposal
from kafka_py.testing.fakes.controllers import ControllerWorld
from kafka_py.testing.virtual_time import in_virtual_time

T0 = TopicPartition("t", 0)


@in_virtual_time
async def test_isr_changes_of_leaders_reach_every_broker_and_the_notes_are_removed():
    world = ControllerWorld()
    await world.start(1, 2)
    await world.make_topic("t", {0: [1, 2]})
    world.forget()
    store = await world.store()
    shrunk = (await world.state("t"))._replace(isr=(1,))
    assert await store.partitions.write_isr(T0, shrunk) == 1
    await store.notifications.announce_isr_changes([T0, TopicPartition("unknown", 3)])
    await world.settle()

    assert world.story() == [f"UpdateMetadata -> {b}: live [1, 2]; t-0 leader 1 isr [1]" for b in (1, 2)]
    assert world.controller.cluster.leadership(T0).zk_version == 1
    assert await store.notifications.isr_changes() == []


@in_virtual_time
async def test_alter_isr_writes_answers_and_tells():
    world = ControllerWorld()
    await world.start(1, 2)
    await world.make_topic("t", {0: [2, 1]})
    epoch = world.controller.cluster.brokers[2].epoch
    world.forget()

    shrink = {T0: IsrProposal(0, (2,), 0)}
    assert await world.controller.alter_isr(2, epoch, shrink) == {T0: (2, 0, (2,), 1, 1)}
    await world.settle()
    assert await world.state("t") == (2, 0, (2,), 1, 1)
    assert world.story() == [f"UpdateMetadata -> {b}: live [1, 2]; t-0 leader 2 isr [2]" for b in (1, 2)]

    world.forget()
    assert await world.controller.alter_isr(2, epoch, shrink) == {T0: (2, 0, (2,), 1, 1)}  # asked twice: fine
    assert world.story() == []


@in_virtual_time
async def test_alter_isr_is_refused_with_kafkas_codes():
    world = ControllerWorld()
    await world.start(1, 2, 3)
    await world.make_topic("t", {0: [3, 2, 1]})
    await world.kill(3)  # leader 2, leader epoch 1, zk version 1
    epoch = world.controller.cluster.brokers[2].epoch
    for partition, proposal, code in (
        (TopicPartition("x", 0), IsrProposal(0, (2,), 0), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (T0, IsrProposal(0, (2,), 1), ErrorCode.FENCED_LEADER_EPOCH),
        (T0, IsrProposal(1, (2,), 0), ErrorCode.INVALID_UPDATE_VERSION),
    ):
        answer = (await world.controller.alter_isr(2, epoch, {partition: proposal}))[partition]
        assert answer.code is code
    for broker, broker_epoch in ((2, epoch - 1), (2, epoch + 1), (9, 1)):
        with pytest.raises(KafkaError) as caught:
            await world.controller.alter_isr(broker, broker_epoch, {})
        assert caught.value.code is ErrorCode.STALE_BROKER_EPOCH
    with pytest.raises(KafkaError) as caught:
        await world.brokers[2].controller.alter_isr(2, epoch, {})
    assert caught.value.code is ErrorCode.NOT_CONTROLLER
