"""What the controller does about topics: made, grown, written by hand, deleted. Each test reads from top to bottom."""

import time

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.ids import ZERO_UUID, TopicPartition
from kafka_py.controller.model import replica_states
from kafka_py.controller.model.controller_context import PartitionAndReplica
from kafka_py.testing.fakes.controllers import ControllerWorld
from kafka_py.testing.virtual_time import in_virtual_time, run_virtual
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrRequest
from kafka_py.wire.messages.stop_replica import (
    StopReplicaRequest,
    StopReplicaResponse,
)
from kafka_py.wire.messages.update_metadata import UpdateMetadataRequest
from kafka_py.zk.topics import TopicAssignment


@in_virtual_time
async def test_requests_carry_controller_epoch_broker_epoch_topic_id_and_znode_version():
    world = ControllerWorld()
    await world.start(1, 2)
    world.forget()
    await world.make_topic("t", {0: [2, 1]})

    (request,) = world.told_to(2, LeaderAndIsrRequest)
    assert (request.controller_id, request.controller_epoch) == (1, 1)
    assert request.broker_epoch == world.controller.cluster.brokers[2].epoch
    assert [(leader.broker_id, leader.host_name, leader.port) for leader in request.live_leaders] == [
        (2, "host2", 9002)
    ]
    (topic,) = request.topic_states
    assert topic.topic_id == (await (await world.store()).topics.assignment("t")).topic_id != ZERO_UUID
    (state,) = topic.partition_states
    assert (state.zk_version, state.controller_epoch, state.replicas) == (0, 1, [2, 1])
    assert {one.version for one in world.told if isinstance(one.message, LeaderAndIsrRequest)} == {5}
    assert {one.version for one in world.told if isinstance(one.message, UpdateMetadataRequest)} == {7}


@in_virtual_time
async def test_we4_14_a_topic_written_by_hand_is_made_like_any_other():
    """WE4-14: write `/brokers/topics/topic-create-zk` by hand with topic-create's map."""
    world = ControllerWorld()
    await world.start(0, 1, 2)
    store = await world.store()
    await store.session.create(
        "/brokers/topics/topic-create-zk",
        b'{"version":1,"partitions":{"2":[1,2],"1":[0,1],"3":[2,1],"0":[2,0]}}',
    )
    await world.settle()

    leaders = {partition: (await world.state("topic-create-zk", partition)).leader for partition in range(4)}
    assert leaders == {0: 2, 1: 0, 2: 1, 3: 2}
    assert (await store.topics.assignment("topic-create-zk")).topic_id is not None  # the controller gave it one


@in_virtual_time
async def test_we4_15_partition_numbers_may_have_gaps():
    """WE4-15: `topic-create-special` with partitions 10, 21, 33, 40: works through ZooKeeper only."""
    world = ControllerWorld()
    await world.start(0, 1, 2)
    partitions = {10: [1, 2], 21: [0, 1], 33: [2, 1], 40: [2, 0]}
    await world.make_topic("topic-create-special", partitions)

    for number, replicas in partitions.items():
        assert (await world.state("topic-create-special", number)).isr == tuple(replicas)
    assert world.controller.cluster.partition_count == 4


@in_virtual_time
async def test_a_topic_that_cannot_be_read_harms_no_other():
    world = ControllerWorld()
    await world.start(1)
    store = await world.store()
    await store.session.create("/brokers/topics/broken", b"{not json")
    await world.make_topic("fine", {0: [1]})
    assert (await world.state("fine")).leader == 1

    await world.kill(1)
    await world.start(2)
    await world.make_topic("also-fine", {0: [2]})
    assert (await world.state("also-fine")).leader == 2


@in_virtual_time
async def test_added_partitions_start_and_changes_of_old_ones_are_ignored():
    world = ControllerWorld()
    await world.start(1, 2)
    await world.make_topic("t", {0: [1, 2]})
    store = await world.store()
    before = await store.topics.assignment("t")
    world.forget()

    grown = before.of({0: [2, 1], 1: [2, 1]}, before.topic_id)
    await store.topics.set_assignment("t", grown)
    await world.settle()

    assert world.story(LeaderAndIsrRequest) == [
        "LeaderAndIsr -> 1: t-1 leader 2 epoch 0 isr [2, 1] new",
        "LeaderAndIsr -> 2: t-1 leader 2 epoch 0 isr [2, 1] new",
    ]
    assert world.controller.cluster.assignment(TopicPartition("t", 0)).replicas == (1, 2)


@in_virtual_time
async def test_deletion_tells_everyone_stops_the_replicas_and_removes_the_znodes():
    world = ControllerWorld()
    await world.start(1, 2)
    await world.make_topic("t", {0: [1, 2]})
    await world.make_topic("kept", {0: [2, 1]})
    world.forget()

    await world.delete_topic("t")

    assert world.story() == [
        "UpdateMetadata -> 1: live [1, 2]; t-0 leader -2 isr [1, 2]",
        "StopReplica -> 1: t-0",
        "StopReplica -> 1: t-0 delete",
        "UpdateMetadata -> 2: live [1, 2]; t-0 leader -2 isr [1, 2]",
        "StopReplica -> 2: t-0",
        "StopReplica -> 2: t-0 delete",
    ]
    stops = world.told_to(1, StopReplicaRequest)
    assert [s.topic_states[0].partition_states[0].leader_epoch for s in stops] == [-2, -2]
    assert [s.topic_states[0].partition_states[0].delete_partition for s in stops] == [False, True]
    assert not [path for path in world.zookeeper.tree() if path.endswith("/t") or "/t/" in path]
    assert list(world.controller.cluster.topics) == ["kept"]
    assert world.controller.cluster.replica_state(PartitionAndReplica("t", 0, 1)) is replica_states.NON_EXISTENT

    await world.make_topic("t", {0: [2]})  # and it can be made again
    assert await world.state("t") == (2, 0, (2,), 1, 0)


@in_virtual_time
async def test_we4_24_a_znode_made_by_hand_deletes_a_topic():
    """WE4-24: create `/admin/delete_topics/topic-delete`; the controller does the rest."""
    world = ControllerWorld()
    await world.start(0, 1)
    await world.make_topic("topic-delete", {0: [0, 1]})
    store = await world.store()
    await store.session.create("/admin/delete_topics/topic-delete", b"")
    await world.settle()
    assert not [path for path in world.zookeeper.tree() if "topic-delete" in path]
    assert "StopReplica -> 1: topic-delete-0 delete" in world.story(StopReplicaRequest)


@in_virtual_time
async def test_a_refusal_of_a_whole_request_is_one_of_each_replica_that_it_names():
    """Else the deletion would be under way for ever: a broker is not asked again while it is awaited."""
    world = ControllerWorld()
    await world.start(1, 2)
    await world.make_topic("t", {0: [2, 1]})

    def refuse(broker, request, _version):
        is_refused = broker == 2 and isinstance(request, StopReplicaRequest)
        return StopReplicaResponse(error_code=-1, partition_errors=[]) if is_refused else None

    world.answer = refuse
    await world.delete_topic("t")
    assert world.controller.cluster.ineligible == {"t"}
    world.answer = lambda *_: None
    await world.kill(2)
    await world.start(2)
    assert "/brokers/topics/t" not in world.zookeeper.tree()


@in_virtual_time
async def test_a_refusal_for_another_life_of_the_broker_says_nothing_of_its_replicas():
    """STALE_BROKER_EPOCH: the broker has registered again, which resumes the deletion; the answer may come after."""
    world = ControllerWorld()
    await world.start(1, 2)
    await world.make_topic("t", {0: [2, 1]})
    world.answer = lambda broker, request, _version: (
        StopReplicaResponse(error_code=77, partition_errors=[])
        if broker == 2 and isinstance(request, StopReplicaRequest) else None
    )  # fmt: skip
    await world.delete_topic("t")
    assert world.controller.cluster.ineligible == set()
    world.answer = lambda *_: None
    await world.kill(2)
    await world.start(2)
    assert "/brokers/topics/t" not in world.zookeeper.tree()


@in_virtual_time
async def test_a_topic_removed_by_hand_is_forgotten_and_can_be_made_again():
    """WE4-24, deletion by hand: remove `/config/topics/<topic>`, and `/brokers/topics/<topic>` with its children."""
    world = ControllerWorld()
    await world.start(1)
    await world.make_topic("t", {0: [1]})
    store = await world.store()
    await store.znodes.delete_recursive("/config/topics/t")
    await store.znodes.delete_recursive("/brokers/topics/t")
    await world.settle()
    assert not world.controller.cluster.topics

    await world.make_topic("t", {0: [1], 1: [1]})
    assert (await world.state("t", 1)).leader == 1


@in_virtual_time
async def test_old_topics_get_ids_at_fail_over_unless_the_protocol_version_has_none():
    for version, has_id in (("2.8", True), ("2.6", False)):
        world = ControllerWorld({"inter.broker.protocol.version": version})
        store = await world.store()
        await store.session.create("/brokers/topics/old", b'{"version":1,"partitions":{"0":[1]}}')
        await world.start(1)
        assert ((await store.topics.assignment("old")).topic_id is not None) is has_id
        for broker in list(world.brokers):
            await world.kill(broker)


@pytest.mark.parametrize("count", [1000])
def test_a_thousand_topics_are_made_within_two_seconds(count):
    async def run():
        world = ControllerWorld()
        await world.start(1, 2, 3)
        store = await world.store()
        began = time.process_time()
        for number in range(count):
            replicas = [1 + number % 3, 1 + (number + 1) % 3, 1 + (number + 2) % 3]
            await store.topics.create(f"topic{number}", _assignment(replicas), {})
        await world.settle()
        took = time.process_time() - began
        cluster = world.controller.cluster
        assert len(cluster.partitions_with_leadership()) == count
        assert not cluster.preferred_imbalance_count
        return took

    assert run_virtual(run()) < 2


def _assignment(replicas):
    return TopicAssignment.of({0: replicas}, Chance().new_topic_id())
