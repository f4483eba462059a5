"""What the controller does about brokers: they die, come back, move, lose a disk, or ask leave to go."""

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.testing.fakes.controllers import ControllerWorld
from kafka_py.testing.virtual_time import in_virtual_time
from kafka_py.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from kafka_py.wire.messages.stop_replica import StopReplicaRequest
from kafka_py.wire.messages.update_metadata import UpdateMetadataRequest
from kafka_py.zk.znodes import BrokerEndpoint, BrokerIdZNode


@in_virtual_time
async def test_unclean_election_can_be_allowed_later_for_a_topic_or_for_all():
    for how in ("topic", "broker"):
        world = ControllerWorld()
        await world.start(1, 2, 3)
        await world.make_topic("t", {0: [2, 3]})
        await world.kill(3)
        await world.kill(2)
        await world.start(3)
        assert (await world.state("t")).leader == -1

        if how == "topic":
            store = await world.store()
            await store.configs.change("topics/t", {"unclean.leader.election.enable": "true"})
            world.controller.topic_unclean_election_enabled("t")
        else:
            allowed = world.config.override({"unclean.leader.election.enable": "true"})
            world.controller.reconfigure(allowed)
        await world.settle()
        assert await world.state("t") == (3, 3, (3,), 1, 3)


@in_virtual_time
async def test_w6_14_controlled_shutdown_of_three_kinds_of_partitions():
    """W6.14: leader moved, follower closed, single replica closed last; response empty, error 0."""
    world = ControllerWorld()
    await world.start(1, 2)
    await world.make_topic("t", {0: [2, 1], 1: [1, 2], 2: [2]})
    epoch = world.controller.cluster.brokers[2].epoch
    world.forget()

    assert await world.controller.controlled_shutdown(2, epoch) == set()
    await world.settle()

    assert await world.state("t", 0) == (1, 1, (1,), 1, 1)
    assert await world.state("t", 1) == (1, 1, (1,), 1, 1)
    assert await world.state("t", 2) == (2, 0, (2,), 1, 0)
    assert world.story(StopReplicaRequest) == ["StopReplica -> 2: t-1", "StopReplica -> 2: t-1"]
    assert "LeaderAndIsr -> 2: t-0 leader 1 epoch 1 isr [1]" in world.story()
    assert world.controller.cluster.live_brokers == {1}

    await world.kill(2)
    assert world.controller.cluster.shutting_down == set()


@in_virtual_time
async def test_controlled_shutdown_checks_who_asks():
    world = ControllerWorld()
    await world.start(1, 2)
    epoch = world.controller.cluster.brokers[2].epoch
    for broker, broker_epoch, code in (
        (2, epoch - 1, ErrorCode.STALE_BROKER_EPOCH),
        (9, epoch, ErrorCode.UNKNOWN_SERVER_ERROR),
        (9, -1, ErrorCode.BROKER_NOT_AVAILABLE),
    ):
        with pytest.raises(KafkaError) as caught:
            await world.controller.controlled_shutdown(broker, broker_epoch)
        assert caught.value.code is code
    with pytest.raises(KafkaError) as caught:  # not the controller
        await world.brokers[2].controller.controlled_shutdown(2, epoch)
    assert caught.value.code is ErrorCode.STALE_CONTROLLER_EPOCH
    assert await world.controller.controlled_shutdown(2, epoch + 5) == set()


@in_virtual_time
async def test_a_replica_on_a_failed_disk_is_led_elsewhere_and_welcome_again():
    world = ControllerWorld()
    await world.start(1, 2)
    failing = [ErrorCode.NONE]

    def answer(broker, request, _version):
        if broker != 2 or not isinstance(request, LeaderAndIsrRequest):
            return None
        return LeaderAndIsrResponse(error_code=0, partition_errors=[], topics=[
            LeaderAndIsrTopicError(topic_id=topic.topic_id, partition_errors=[
                LeaderAndIsrPartitionError(partition_index=state.partition_index, error_code=failing[0])
                for state in topic.partition_states])
            for topic in request.topic_states])  # fmt: skip

    world.answer = answer
    failing[0] = ErrorCode.KAFKA_STORAGE_ERROR
    await world.make_topic("t", {0: [2, 1]})
    assert await world.state("t") == (1, 1, (1,), 1, 1)
    partition = TopicPartition("t", 0)
    assert world.controller.cluster.offline_dirs == {2: {partition}}
    news = world.told_to(1, UpdateMetadataRequest)[-1]
    assert news.topic_states[0].partition_states[0].offline_replicas == [2]

    failing[0] = ErrorCode.NONE
    await (await world.store()).notifications.announce_log_dir_failure(2)
    await world.settle()
    assert world.controller.cluster.offline_dirs == {2: set()}


@in_virtual_time
async def test_a_log_dir_event_asks_the_broker_about_all_its_replicas():
    world = ControllerWorld()
    await world.start(1, 2)
    await world.make_topic("t", {0: [2, 1], 1: [1, 2], 2: [1]})
    world.forget()
    await (await world.store()).notifications.announce_log_dir_failure(2)
    await world.settle()
    assert world.story(LeaderAndIsrRequest) == [
        "LeaderAndIsr -> 2: t-0 leader 2 epoch 0 isr [2, 1]; t-1 leader 1 epoch 0 isr [1, 2]"
    ]
    assert await (await world.store()).notifications.log_dir_events() == []


@in_virtual_time
async def test_a_changed_address_is_told_to_everyone_and_nothing_else_is():
    world = ControllerWorld()
    await world.start(1, 2)
    world.forget()
    store = await world.store()

    await store.brokers.update(2, world.brokers[2].registration)  # rewritten, but the same
    await world.settle()
    assert world.story() == []

    moved = BrokerIdZNode.of(
        [BrokerEndpoint("PLAINTEXT", "PLAINTEXT", "elsewhere", 1234)], jmx_port=-1, timestamp_ms=0, version=5
    )
    await store.brokers.update(2, moved)
    await world.settle()
    assert world.story() == ["UpdateMetadata -> 1: live [1, 2]", "UpdateMetadata -> 2: live [1, 2]"]
    assert world.told_to(1)[0].live_brokers[1].endpoints[0].host == "elsewhere"


@in_virtual_time
async def test_a_broker_without_the_inter_broker_listener_is_not_let_in_and_nobody_new_is():
    world = ControllerWorld()
    await world.start(1)
    store = await world.store()
    odd = BrokerIdZNode.of([BrokerEndpoint("ODD", "PLAINTEXT", "h", 1)], jmx_port=-1, timestamp_ms=0, version=5)
    await store.brokers.register(7, odd)
    await world.settle()
    assert world.controller.cluster.brokers.keys() == {1}
    await world.start(2)
    assert world.controller.cluster.brokers.keys() == {1}

    await store.session.delete("/brokers/ids/7")
    await world.settle()
    assert world.controller.cluster.brokers.keys() == {1, 2}


@in_virtual_time
async def test_requests_are_sent_again_until_the_broker_answers_and_in_order():
    world = ControllerWorld()
    await world.start(1, 2)
    world.forget()
    world.down.add(2)  # cannot be reached, but its session lives
    await world.make_topic("a", {0: [2]})
    await world.make_topic("b", {0: [2]})
    assert not world.told_to(2)

    world.down.discard(2)
    await world.settle()
    assert [line.split(": ")[1] for line in world.story(LeaderAndIsrRequest)] == [
        "a-0 leader 2 epoch 0 isr [2] new",
        "b-0 leader 2 epoch 0 isr [2] new",
    ]
