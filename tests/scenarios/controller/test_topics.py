"""What the controller does about topics: made, grown, written by hand, deleted. Each test reads from top to bottom."""

import time

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.ids import ZERO_UUID, TopicPartition
from kafka_py.controller.model import partition_states, replica_states
from kafka_py.controller.model.controller_context import Replica
from kafka_py.testing.fakes.controllers import ControllerWorld
from kafka_py.testing.virtual_time import run_virtual
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrRequest
from kafka_py.wire.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
)
from kafka_py.wire.messages.update_metadata import UpdateMetadataRequest
from kafka_py.zk.topics import TopicAssignment
from kafka_py.zk.znodes import TopicZNode


def scenario(run):
    """A test that is a coroutine, run in virtual time."""

    def test():
        run_virtual(run())

    test.__name__, test.__doc__ = run.__name__, run.__doc__
    return test


@scenario
async def test_a_new_topic_gets_leaders_and_every_broker_is_told():
    world = ControllerWorld()
    await world.start(1, 2, 3)
    world.forget()

    await world.make_topic("t", {0: [1, 2], 1: [2, 3]})

    assert world.story() == [
        "LeaderAndIsr -> 1: t-0 leader 1 epoch 0 isr [1, 2] new",
        "UpdateMetadata -> 1: live [1, 2, 3]; t-0 leader 1 isr [1, 2]; t-1 leader 2 isr [2, 3]",
        "LeaderAndIsr -> 2: t-0 leader 1 epoch 0 isr [1, 2] new; t-1 leader 2 epoch 0 isr [2, 3] new",
        "UpdateMetadata -> 2: live [1, 2, 3]; t-0 leader 1 isr [1, 2]; t-1 leader 2 isr [2, 3]",
        "LeaderAndIsr -> 3: t-1 leader 2 epoch 0 isr [2, 3] new",
        "UpdateMetadata -> 3: live [1, 2, 3]; t-0 leader 1 isr [1, 2]; t-1 leader 2 isr [2, 3]",
    ]
    assert await world.state("t") == (1, 0, (1, 2), 1, 0)


@scenario
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


@scenario
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


@scenario
async def test_we4_15_partition_numbers_may_have_gaps():
    """WE4-15: `topic-create-special` with partitions 10, 21, 33, 40: works through ZooKeeper only."""
    world = ControllerWorld()
    await world.start(0, 1, 2)
    partitions = {10: [1, 2], 21: [0, 1], 33: [2, 1], 40: [2, 0]}
    await world.make_topic("topic-create-special", partitions)

    for number, replicas in partitions.items():
        assert (await world.state("topic-create-special", number)).isr == tuple(replicas)
    assert world.controller.cluster.partition_count == 4


@scenario
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


@scenario
async def test_a_topic_without_live_replicas_waits_for_a_broker():
    world = ControllerWorld()
    await world.start(1)
    await world.make_topic("t", {0: [2, 3]})
    partition = TopicPartition("t", 0)
    cluster = world.controller.cluster
    assert cluster.partition_state(partition) is partition_states.NEW
    assert cluster.leadership(partition) is None

    world.forget()
    await world.start(3)
    assert await world.state("t") == (3, 0, (3,), 1, 0)
    assert "LeaderAndIsr -> 3: t-0 leader 3 epoch 0 isr [3] new" in world.story()


@scenario
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


@scenario
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
    assert world.controller.cluster.replica_state(Replica("t", 0, 1)) is replica_states.NON_EXISTENT

    await world.make_topic("t", {0: [2]})  # and it can be made again
    assert await world.state("t") == (2, 0, (2,), 1, 0)


@scenario
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


@scenario
async def test_deletion_waits_for_a_dead_broker_and_goes_on_when_it_is_back():
    world = ControllerWorld()
    await world.start(1, 2)
    await world.make_topic("t", {0: [1, 2]})
    await world.kill(2)

    await world.delete_topic("t")
    cluster = world.controller.cluster
    assert cluster.ineligible == {"t"}
    assert cluster.replica_state(Replica("t", 0, 2)) is replica_states.OFFLINE  # to be tried again
    assert cluster.replica_state(Replica("t", 0, 1)) is replica_states.DELETION_SUCCESSFUL
    assert "/brokers/topics/t" in world.zookeeper.tree()

    world.forget()
    await world.start(2)
    assert "/brokers/topics/t" not in world.zookeeper.tree()
    assert "t-0 delete" in " ".join(world.story(StopReplicaRequest))
    assert not world.told_to(1, StopReplicaRequest)  # it has deleted its replica already


@scenario
async def test_a_replica_that_cannot_be_deleted_is_tried_again_when_its_broker_returns():
    world = ControllerWorld()
    await world.start(1, 2)
    await world.make_topic("t", {0: [2, 1]})

    def refuse(broker, request, _version):
        deletes = isinstance(request, StopReplicaRequest) and request.topic_states[0].partition_states[0]
        if broker == 2 and deletes and deletes.delete_partition:
            error = StopReplicaPartitionError(topic_name="t", partition_index=0, error_code=56)
            return StopReplicaResponse(error_code=0, partition_errors=[error])
        return None

    world.answer = refuse
    await world.delete_topic("t")
    assert world.controller.cluster.ineligible == {"t"}
    assert "/brokers/topics/t" in world.zookeeper.tree()

    world.answer = lambda *_: None
    await world.kill(2)
    await world.start(2)
    assert "/brokers/topics/t" not in world.zookeeper.tree()


@scenario
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


@scenario
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


@scenario
async def test_partitions_added_during_deletion_are_taken_out_again():
    world = ControllerWorld()
    await world.start(1, 2)
    await world.make_topic("t", {0: [1, 2]})
    await world.kill(2)
    await world.delete_topic("t")  # cannot end while broker 2 is down
    store = await world.store()
    before = await store.topics.assignment("t")

    await store.topics.set_assignment("t", before.of({0: [1, 2], 1: [1, 2]}, before.topic_id))
    await world.settle()

    after = TopicZNode.decode(world.zookeeper.tree()["/brokers/topics/t"])
    assert (after.partitions, after.topic_id) == ({0: [1, 2]}, before.topic_id)


@scenario
async def test_deleting_what_does_not_exist_only_removes_the_request():
    world = ControllerWorld()
    await world.start(1)
    await world.delete_topic("nothing")
    assert "/admin/delete_topics/nothing" not in world.zookeeper.tree()


@scenario
async def test_with_deletion_switched_off_requests_are_thrown_away():
    """With `delete.topic.enable` false a deletion has no effect."""
    world = ControllerWorld({"delete.topic.enable": "false"})
    await world.start(1)
    await world.make_topic("t", {0: [1]})
    await world.delete_topic("t")
    assert "/admin/delete_topics/t" not in world.zookeeper.tree()
    assert (await world.state("t")).leader == 1


@scenario
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


@scenario
async def test_a_new_controller_finishes_a_deletion():
    world = ControllerWorld()
    await world.start(1, 2)
    await world.make_topic("t", {0: [2]})
    world.answer = lambda _broker, request, _version: (
        StopReplicaResponse(error_code=0, partition_errors=[]) if isinstance(request, StopReplicaRequest) else None
    )  # a reply that lists nothing is ignored
    await world.delete_topic("t")
    assert "/admin/delete_topics/t" in world.zookeeper.tree()

    world.answer = lambda *_: None
    await world.kill(1)
    assert world.controller.broker_id == 2
    assert not [path for path in world.zookeeper.tree() if path.endswith("/t")]


@scenario
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
