"""Who is controller: elections, fail-over, expired sessions, and former controllers that do not know it yet."""

import asyncio

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ElectionType, TopicPartition
from kafka_py.controller.events import TopicChange
from kafka_py.testing.fakes.controllers import ControllerWorld
from kafka_py.testing.virtual_time import in_virtual_time
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrRequest
from kafka_py.wire.messages.update_metadata import UpdateMetadataRequest


@in_virtual_time
async def test_w6_11_the_first_controller_has_epoch_1_the_next_epoch_2():
    """W6.11: first controller => `/controller_epoch` 1; kill it => another broker wins, epoch 2."""
    world = ControllerWorld()
    await world.start(1, 2, 3)
    assert (world.controller.broker_id, world.controller.epoch) == (1, 1)
    assert world.zookeeper.tree()["/controller_epoch"] == b"1"

    await world.kill(1)
    assert world.controller.broker_id in (2, 3)
    assert world.controller.epoch == 2
    assert world.zookeeper.tree()["/controller_epoch"] == b"2"
    assert {b.controller.active_controller_id for b in world.brokers.values()} == {world.controller.broker_id}


@in_virtual_time
async def test_w6_12_deleting_the_controller_znode_forces_an_election():
    """W6.12: manual delete of `/controller` => new election; old controller resigned."""
    world = ControllerWorld()
    await world.start(1, 2)
    before = world.controller
    cluster = before.cluster
    await (await world.store()).session.delete("/controller")
    await world.settle()
    assert world.controller.epoch == 2
    assert before.cluster is not cluster  # even if it won again, it started afresh


@in_virtual_time
async def test_writing_another_broker_id_makes_the_controller_resign():
    """An old controller whose id differs resigns."""
    world = ControllerWorld()
    await world.start(1, 2)
    await (await world.store()).session.set("/controller", b'{"version":1,"brokerid":2,"timestamp":"1"}')
    await world.settle()
    assert not world.brokers[1].controller.is_active
    assert world.brokers[1].controller.cluster is None
    assert world.brokers[1].controller.active_controller_id == 2


@in_virtual_time
async def test_a_new_controller_tells_who_lives_before_whom_to_follow():
    world = ControllerWorld()
    await world.start(1, 2, 3)
    await world.make_topic("t", {0: [1, 2, 3]})
    world.forget()
    await world.kill(1)

    for broker in (2, 3):
        told = world.told_to(broker)
        assert isinstance(told[0], UpdateMetadataRequest)
        assert told[0].topic_states == []
        assert {b.id for b in told[0].live_brokers} == {2, 3}
        assert {request.controller_epoch for request in told} == {2}
        final = told_states(told)[-1]
        assert (final.leader, final.isr) == (2, [2, 3])
    assert (await world.state("t")).controller_epoch == 2


def told_states(told):
    return [
        state
        for request in told
        if isinstance(request, LeaderAndIsrRequest)
        for topic in request.topic_states
        for state in topic.partition_states
    ]


@in_virtual_time
async def test_an_expired_session_registers_again_and_another_broker_leads():
    world = ControllerWorld()
    await world.start(1, 2)
    await world.make_topic("t", {0: [1, 2]})
    zombie = world.brokers[1]
    old = zombie.controller.cluster.brokers[1].epoch
    zombie.session.expire()
    await world.settle(5)
    assert world.controller.broker_id == 2
    assert not zombie.controller.is_active
    assert zombie.controller.active_controller_id == 2
    epoch = world.controller.cluster.brokers[1].epoch
    assert epoch > old
    last = world.told_to(1, LeaderAndIsrRequest)[-1]
    assert (last.controller_id, last.controller_epoch, last.broker_epoch) == (2, 2, epoch)
    assert (await world.state("t")).isr == (1, 2)  # it was back before the new controller looked


@in_virtual_time
async def test_an_expired_session_of_the_only_broker_elects_it_again():
    world = ControllerWorld()
    await world.start(1)
    await world.make_topic("t", {0: [1]})
    world.brokers[1].session.expire()
    await world.settle(5)
    assert (world.controller.broker_id, world.controller.epoch) == (1, 2)
    assert (await world.state("t")).leader == 1
    await world.make_topic("u", {0: [1]})
    assert (await world.state("u")) == (1, 0, (1,), 2, 0)


@in_virtual_time
async def test_a_zombie_controller_is_fenced_and_resigns():
    """It missed that its seat was taken; the first write it tries says so, and nothing of it is done."""
    world = ControllerWorld()
    await world.start(1, 2)
    zombie = world.brokers[1]
    zombie.session.cut()  # it hears nothing more
    world.zookeeper.end_session(zombie.session.session_id)
    await world.settle()
    assert world.brokers[2].controller.epoch == 2
    assert zombie.controller.is_active  # as far as it knows

    zombie.session._become(zombie.session.state.CONNECTED)  # a link that carries requests but has lost the watches
    zombie.session._send_held()
    await world.make_topic("t", {0: [2]})
    world.forget()
    zombie.controller.put(TopicChange())
    await world.settle()

    assert not zombie.controller.is_active
    assert (await world.state("t")) == (2, 0, (2,), 2, 0)
    assert not [one for one in world.told if one.message.controller_epoch == 1]


@in_virtual_time
async def test_w6_13_every_request_of_a_former_controller_shows_its_old_epoch():
    """W6.13: a request with an old controller_epoch is refused: receivers see the smaller epoch."""
    world = ControllerWorld()
    await world.start(1, 2)
    assert {request.controller_epoch for request in world.told_to(2)} == {1}
    await world.kill(1)
    world.forget()
    await world.make_topic("t", {0: [2]})
    assert {request.controller_epoch for request in world.told_to(2)} == {2}


@in_virtual_time
async def test_a_fail_over_that_cannot_succeed_gives_up_the_seat_again_and_again():
    world = ControllerWorld()
    store = await world.store()
    await store.session.create("/feature", b"not json")
    await world.start(1)
    await world.settle(10)
    assert not world.brokers[1].controller.is_active
    assert "/controller" not in world.zookeeper.tree()
    assert 5 < int(world.zookeeper.tree()["/controller_epoch"]) < 20  # not as fast as it can

    await store.session.delete("/feature")
    await world.settle(2)
    assert b'"status":1' in world.zookeeper.tree()["/feature"]


@in_virtual_time
async def test_the_feature_znode_is_disabled_below_2_7():
    world = ControllerWorld({"inter.broker.protocol.version": "2.6"})
    await world.start(1)
    assert b'"status":0' in world.zookeeper.tree()["/feature"]


@in_virtual_time
async def test_notifications_of_the_time_before_are_dropped_at_fail_over():
    world = ControllerWorld()
    store = await world.store()
    await store.notifications.announce_isr_changes([TopicPartition("t", 0)])
    await store.notifications.announce_log_dir_failure(1)
    await world.start(1)
    assert await store.notifications.isr_changes() == []
    assert await store.notifications.log_dir_events() == []


@in_virtual_time
async def test_what_is_asked_of_another_broker_than_the_controller_is_refused():
    world = ControllerWorld()
    await world.start(1, 2)
    follower = world.brokers[2].controller
    for asked in (
        follower.elect_leaders(None, ElectionType.PREFERRED),
        follower.alter_reassignments({}),
        follower.list_reassignments(None),
    ):
        with pytest.raises(KafkaError) as caught:
            await asked
        assert caught.value.code is ErrorCode.NOT_CONTROLLER


@in_virtual_time
async def test_shutdown_resigns_answers_what_waits_and_takes_nothing_more():
    world = ControllerWorld()
    await world.start(1)
    controller = world.controller
    waiting = asyncio.ensure_future(controller.list_reassignments(None))
    await asyncio.sleep(0)
    await controller.shutdown()
    with pytest.raises(KafkaError):
        await waiting
    assert not controller.is_active
    assert controller.cluster is None
    with pytest.raises(KafkaError):
        await controller.list_reassignments(None)
    await controller.shutdown()  # twice is fine


@in_virtual_time
async def test_shutdown_does_not_wait_for_a_zookeeper_that_does_not_answer():
    world = ControllerWorld()
    await world.start(1)
    controller = world.controller
    world.brokers[1].session.cut()
    controller.put(TopicChange())
    await world.settle()
    await asyncio.wait_for(controller.shutdown(), 10)
    assert not controller.is_active
    assert controller.cluster is None


@in_virtual_time
async def test_a_lost_reply_of_the_election_is_taken_for_what_it_was():
    world = ControllerWorld()
    await world.store()
    await world.start(1)
    store = await world.store()
    world.brokers[1].session.lose_next_reply(3)
    await store.session.delete("/controller")
    await world.settle()
    assert world.controller.epoch == 2


@in_virtual_time
async def test_gauges_follow_the_cluster_and_are_zero_elsewhere():
    world = ControllerWorld()
    await world.start(1, 2)
    await world.make_topic("t", {0: [1], 1: [2]})
    gauges = world.controller._gauges
    shown = {
        row.name: getattr(gauges, name) for name, row in gauges.ROWS.items()
    }
    assert shown["ActiveControllerCount"] == 1
    assert (shown["GlobalTopicCount"], shown["GlobalPartitionCount"]) == (1, 2)
    assert shown["OfflinePartitionsCount"] == 0
    await world.kill(2)
    assert gauges.offline_partitions == 1
    assert world.controller._stats.topic_change.count >= 1

    await world.start(3)
    idle = world.brokers[3].controller._gauges
    assert not any(getattr(idle, name) for name in idle.ROWS)
