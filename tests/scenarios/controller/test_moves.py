"""Elections on request, balanced leaders, and reassignments from their first step to their last."""

import asyncio

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import ElectionType, TopicPartition
from kafka_py.base.steps import to_end
from kafka_py.controller.model.controller_context import PartitionAssignment
from kafka_py.testing.fakes.controllers import ControllerWorld
from kafka_py.testing.virtual_time import in_virtual_time
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrRequest
from kafka_py.wire.messages.stop_replica import StopReplicaRequest
from kafka_py.zk.session import SetOp
from kafka_py.zk.topics import ReplicaAssignment

T0 = TopicPartition("t", 0)
PREFERRED = ElectionType.PREFERRED


async def led_by_another(world):
    """t-0 prefers broker 2, which died and came back, so that 1 leads and both are in sync."""
    await world.start(1, 2)
    await world.make_topic("t", {0: [2, 1]})
    await world.kill(2)
    await world.start(2)
    await world.rejoin_isr(T0, [1, 2])
    world.forget()


@in_virtual_time
async def test_the_old_tools_znode_triggers_an_election_and_vanishes():
    """S1-132: the preferred replica leads only if it is in the ISR; the znode is transient (S1-062)."""
    world = ControllerWorld()
    await led_by_another(world)
    store = await world.store()
    for _ in range(2):  # it is watched for again
        await store.admin.request_preferred_elections([T0, TopicPartition("unknown", 0)])
        await world.settle()
        assert "/admin/preferred_replica_election" not in world.zookeeper.tree()
    assert (await world.state("t")).leader == 2


@in_virtual_time
async def test_a_pending_election_znode_is_served_at_fail_over():
    world = ControllerWorld()
    await led_by_another(world)
    store = await world.store()
    world.brokers[1].controller._executor.watches.end()  # this controller will not see it
    await store.admin.request_preferred_elections([T0])
    await world.start(3)
    await store.session.delete("/controller")
    await world.settle()
    assert "/admin/preferred_replica_election" not in world.zookeeper.tree()
    assert (await world.state("t")).leader == 2


@in_virtual_time
async def test_leaders_are_balanced_after_five_seconds_and_then_every_interval():
    """Above `leader.imbalance.per.broker.percentage` an election runs."""
    world = ControllerWorld({"leader.imbalance.check.interval.seconds": "300"})
    await led_by_another(world)
    assert (await world.state("t")).leader == 1
    await world.settle(301)
    assert (await world.state("t")).leader == 2


@in_virtual_time
async def test_balancing_can_be_switched_off_and_knows_a_limit():
    for properties in ({"auto.leader.rebalance.enable": "false"}, {"leader.imbalance.per.broker.percentage": "100"}):
        world = ControllerWorld(properties)
        await led_by_another(world)
        await world.settle(700)
        assert (await world.state("t")).leader == 1


@in_virtual_time
async def test_a_reassignment_adds_waits_moves_the_leader_and_drops():
    """S1-109 to S1-120, in KIP-455's form."""
    world = ControllerWorld()
    await world.start(1, 2, 3, 4)
    await world.make_topic("t", {0: [1, 2]})
    store = await world.store()
    topic_id = (await store.topics.assignment("t")).topic_id
    world.forget()

    assert await world.controller.alter_reassignments({T0: [3, 4]}) == {T0: None}
    await world.settle()

    assert (await store.topics.assignment("t")) == (
        {0: ReplicaAssignment((3, 4, 1, 2), (3, 4), (1, 2))}, topic_id
    )  # fmt: skip
    story = world.story(LeaderAndIsrRequest)
    assert "LeaderAndIsr -> 1: t-0 leader 1 epoch 1 isr [1, 2]" in story
    assert "LeaderAndIsr -> 3: t-0 leader 1 epoch 1 isr [1, 2] new" in story
    state = world.told_to(1, LeaderAndIsrRequest)[0].topic_states[0].partition_states[0]
    assert (state.replicas, state.adding_replicas, state.removing_replicas) == ([3, 4, 1, 2], [3, 4], [1, 2])
    assert await world.controller.list_reassignments(None) == {T0: PartitionAssignment((3, 4, 1, 2), (3, 4), (1, 2))}
    world.forget()

    await world.rejoin_isr(T0, [1, 2, 3])  # not all of the target yet
    assert T0 in world.controller.cluster.reassigning
    await world.rejoin_isr(T0, [1, 2, 3, 4])

    assert (await store.topics.assignment("t")) == ({0: ReplicaAssignment((3, 4))}, topic_id)
    final = await world.state("t")
    assert (final.leader, final.isr) == (3, (3, 4))
    assert world.story(StopReplicaRequest) == [
        "StopReplica -> 1: t-0",
        "StopReplica -> 1: t-0 delete",
        "StopReplica -> 2: t-0",
        "StopReplica -> 2: t-0 delete",
    ]
    assert await world.controller.list_reassignments([T0]) == {}
    assert world.controller.cluster.assignment(T0) == PartitionAssignment((3, 4))


@in_virtual_time
async def test_a_move_is_not_called_off_while_only_its_new_replicas_are_in_sync():
    """Found by simulated seed 100783: the only replica that had everything was deleted, and nobody could lead."""
    world = ControllerWorld()
    await world.start(1, 2, 3)
    await world.make_topic("t", {0: [1]})
    controller = world.controller
    await controller.alter_reassignments({T0: [2, 3]})
    running = controller.cluster.assignment(T0)
    await world.rejoin_isr(T0, [2])
    for target in (None, [1]):
        refused = (await controller.alter_reassignments({T0: target}))[T0]
        assert refused.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
        assert "All in-sync replicas" in refused.message
    await world.settle()
    assert controller.cluster.assignment(T0) == running
    assert not [line for line in world.story(StopReplicaRequest) if "delete" in line]

    await world.rejoin_isr(T0, [1, 2])
    assert await controller.alter_reassignments({T0: None}) == {T0: None}
    assert controller.cluster.assignment(T0) == PartitionAssignment((1,))


@in_virtual_time
async def test_a_leader_that_another_target_drops_is_replaced():
    """Found by simulated seed 2000713: the new replicas waited for a leader for ever."""
    world = ControllerWorld()
    await world.start(1, 2, 3)
    await world.make_topic("t", {0: [1]})
    controller = world.controller
    await controller.alter_reassignments({T0: [2, 3]})
    await world.rejoin_isr(T0, [1, 2])
    await controller.elect_leaders([T0], PREFERRED)
    await world.settle()
    assert (await world.state("t")).leader == 2
    assert await controller.alter_reassignments({T0: [3]}) == {T0: None}
    await world.settle()
    state = await world.state("t")
    assert (state.leader, state.isr) == (1, (1,))
    await world.rejoin_isr(T0, [1, 3])
    assert (await world.state("t")).leader == 3
    assert controller.cluster.assignment(T0) == PartitionAssignment((3,))


@in_virtual_time
async def test_a_target_of_very_many_brokers_is_refused_by_its_first_ones():
    """Sets of half a million ids, or a search through them for each, would hold the controller for minutes."""
    world = ControllerWorld()
    await world.start(1, 2)
    await world.make_topic("t", {0: [1, 2]})
    looked_at = _Counted(range(500_000))
    refused = (await world.controller.alter_reassignments({T0: looked_at}))[T0]
    assert refused.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert looked_at.given == 0
    assert len(refused.message) < 2_000


class _Counted(list):
    """Broker ids, and how many were looked at but for the first few."""

    given = 0

    def __iter__(self):
        type(self).given += len(self)
        return super().__iter__()


@in_virtual_time
async def test_reassignments_of_very_many_partitions_are_planned_in_turns_and_before_the_next_event():
    world = ControllerWorld()
    await world.start(1, 2)
    await world.make_topic("t", {0: [1], 1: [1]})
    targets = {TopicPartition("x", number): [1] for number in range(10_000)}
    targets = {T0: [2], **targets, TopicPartition("t", 1): [2]}
    turns, answers = 0, []

    async def ask():
        answers.append(await world.controller.alter_reassignments(targets))

    async def ask_next():
        answers.append(await world.controller.list_reassignments(None))

    asking = [asyncio.create_task(ask()), asyncio.create_task(ask_next())]
    while not asking[0].done():
        turns += 1
        await asyncio.sleep(0)
    await asyncio.gather(*asking)
    assert turns > 2 * 10_000 // 256
    assert sum(refusal is None for refusal in answers[0].values()) == 2
    assert answers[1].keys() == {T0, TopicPartition("t", 1)}


@in_virtual_time
async def test_the_old_tools_list_is_worked_off_and_watched_for_again():
    world = ControllerWorld()
    await world.start(1, 2, 3)
    await world.make_topic("t", {0: [1]})
    store = await world.store()
    for target in (2, 3):
        await store.admin.request_reassignments({T0: [target], TopicPartition("unknown", 1): [1]})
        await world.settle()
        assert await store.admin.reassignments() == {T0: [target]}  # what cannot be done has left it
        await world.rejoin_isr(T0, [(await world.state("t")).leader, target])
        assert await store.admin.reassignments() is None
        assert (await world.state("t"))[0] == target


@in_virtual_time
async def test_a_request_that_overrides_the_last_row_of_the_old_tools_list_deletes_it():
    world = ControllerWorld()
    await world.start(1, 2, 3)
    await world.make_topic("t", {0: [1]})
    store = await world.store()
    await store.admin.request_reassignments({T0: [2]})
    await world.settle()
    await world.controller.alter_reassignments({T0: [3]})
    await world.settle()
    assert await store.admin.reassignments() is None
    await store.admin.request_reassignments({T0: [2]})  # and a new one is watched for
    await world.settle()
    assert world.controller.cluster.assignment(T0) == PartitionAssignment((2, 1), (2,), (1,))


@in_virtual_time
async def test_partitions_added_while_the_controller_writes_a_move_are_kept():
    """The controller writes the whole topic from what it knows; a growth that it has not seen yet is in the znode."""
    world = ControllerWorld()
    await world.start(1, 2, 3)
    await world.make_topic("t", {0: [1, 2]})
    store = await world.store()
    grown = (await store.topics.assignment("t"))._replace(
        partitions={0: ReplicaAssignment((1, 2)), 1: ReplicaAssignment((3,))}
    )
    grow = SetOp("/brokers/topics/t", to_end(grown.encoding()))
    session = world.brokers[1].session
    get, overtaken = session.get, []

    async def get_and_be_overtaken(path, watch=None):
        found = await get(path, watch)
        if path == "/brokers/topics/t" and not overtaken:
            overtaken.append(path)
            world.zookeeper.apply_all(session.session_id, [grow])
        return found

    session.get = get_and_be_overtaken
    assert await world.controller.alter_reassignments({T0: [3, 1]}) == {T0: None}
    await world.settle()
    assert overtaken
    stored = await store.topics.assignment("t")
    assert set(stored.partitions) == {0, 1}
    assert stored.partitions[0].adding == (3,)
    assert (await world.state("t", 1)).leader == 3
