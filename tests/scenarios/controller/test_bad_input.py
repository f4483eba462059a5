"""What administrators may get wrong: the classic's answer to each, and nothing is stuck afterwards."""

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.controller.model.controller_context import PartitionAssignment
from kafka_py.testing.fakes.controllers import ControllerWorld
from kafka_py.testing.virtual_time import run_virtual
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrRequest
from kafka_py.wire.messages.stop_replica import StopReplicaRequest
from kafka_py.zk.topics import ReplicaAssignment

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
REASSIGN, PREFER = "/admin/reassign_partitions", "/admin/preferred_replica_election"
MALFORMED = [b"{not json", b"", b"[]", b'{"version":1}', b'{"version":1,"partitions":[{"topic":"t"}]}',
             b'{"version":1,"partitions":7}', b'{"version":1,"partitions":[{"topic":7,"partition":"0"}]}']  # fmt: skip


async def started(*brokers):
    world = ControllerWorld()
    await world.start(*brokers)
    return world


async def still_works(world):
    """The controller makes topics and elects leaders as before."""
    await world.make_topic("afterwards", {0: [1, 2]})
    assert (await world.state("afterwards")).leader == 1


@pytest.mark.parametrize("data", MALFORMED, ids=repr)
def test_a_malformed_list_of_reassignments_stays_until_someone_deletes_it(data):
    async def scenario():
        world = await started(1, 2, 3)
        await world.make_topic("t", {0: [1]})
        store = await world.store()
        await store.session.create(REASSIGN, data)
        await world.settle()
        assert REASSIGN in world.zookeeper.tree()
        assert await world.controller.alter_reassignments({T0: [1, 2]}) == {T0: None}  # the API is not blocked by it
        await world.rejoin_isr(T0, [1, 2])
        assert world.controller.cluster.assignment(T0) == PartitionAssignment((1, 2))
        await store.session.delete(REASSIGN)
        await store.admin.request_reassignments({T0: [2, 1]})
        await world.settle()
        assert REASSIGN not in world.zookeeper.tree()
        assert world.controller.cluster.assignment(T0) == PartitionAssignment((2, 1))
        await still_works(world)

    run_virtual(scenario())


@pytest.mark.parametrize("data", MALFORMED, ids=repr)
def test_a_malformed_list_of_elections_is_dropped(data):
    async def scenario():
        world = await started(1, 2)
        store = await world.store()
        for _ in range(2):
            await store.session.create(PREFER, data)
            await world.settle()
            assert PREFER not in world.zookeeper.tree()
        await still_works(world)

    run_virtual(scenario())


@pytest.mark.parametrize("path", [REASSIGN, PREFER])
def test_a_new_controller_is_not_stopped_by_a_malformed_list(path):
    async def scenario():
        world = await started(1, 2, 3)
        store = await world.store()
        world.brokers[1].controller._executor.watches.end()  # this one will not see it
        await store.session.create(path, b"{not json")
        await store.session.delete("/controller")
        await world.settle()
        assert world.controller.epoch == 2
        await still_works(world)

    run_virtual(scenario())


def test_notes_that_cannot_be_read_are_dropped():
    async def scenario():
        world = await started(1, 2)
        store = await world.store()
        for root, name in (
            ("isr_change_notification", "isr_change_"),
            ("log_dir_event_notification", "log_dir_event_"),
        ):
            for data in (b"{not json", b"", b"[]"):
                await store.session.create(f"/{root}/{name}", data, sequence=True)
                await world.settle()
            assert await store.session.children(f"/{root}") == []
        await still_works(world)

    run_virtual(scenario())


def test_a_topic_to_delete_that_is_not_there_is_taken_off_the_list():
    async def scenario():
        world = await started(1, 2)
        await world.delete_topic("never-made")
        assert await (await world.store()).topics.marked_for_deletion() == set()
        await still_works(world)

    run_virtual(scenario())


def test_a_list_with_unknown_topics_loses_them_and_goes_on():
    async def scenario():
        world = await started(1, 2)
        await world.make_topic("t", {0: [1], 1: [1]})
        store = await world.store()
        await store.admin.request_reassignments({TopicPartition("nope", 0): [1], T0: [2], TopicPartition("t", 9): [2]})
        await world.settle()
        assert await store.admin.reassignments() == {T0: [2]}
        await world.rejoin_isr(T0, [1, 2])
        assert await store.admin.reassignments() is None
        assert (await world.state("t")).leader == 2

    run_virtual(scenario())


def test_a_list_with_a_dead_broker_waits_for_it():
    """The old list is not checked for living brokers; the move goes on once the broker is there."""

    async def scenario():
        world = await started(1, 2)
        await world.make_topic("t", {0: [1]})
        store = await world.store()
        await store.admin.request_reassignments({T0: [3]})
        await world.settle()
        assert world.controller.cluster.assignment(T0) == PartitionAssignment((3, 1), (3,), (1,))
        await still_works(world)
        await world.start(3)
        await world.rejoin_isr(T0, [1, 3])
        assert world.controller.cluster.assignment(T0) == PartitionAssignment((3,))
        assert await store.admin.reassignments() is None

    run_virtual(scenario())


def test_a_request_takes_a_partition_out_of_the_list():
    """Plans that overlap: the later one counts, and the API's is taken out of the znode's."""

    async def scenario():
        world = await started(1, 2, 3)
        await world.make_topic("t", {0: [1], 1: [1]})
        store = await world.store()
        await store.admin.request_reassignments({T0: [2], T1: [2]})
        await world.settle()
        assert await world.controller.alter_reassignments({T0: [3]}) == {T0: None}
        assert await store.admin.reassignments() == {T1: [2]}
        assert world.controller.cluster.assignment(T0) == PartitionAssignment((3, 1), (3,), (1,))
        await world.rejoin_isr(T0, [1, 3])
        await world.rejoin_isr(T1, [1, 2])
        assert await store.admin.reassignments() is None
        found = [world.controller.cluster.assignment(p) for p in (T0, T1)]
        assert found == [PartitionAssignment((3,)), PartitionAssignment((2,))]

    run_virtual(scenario())


def test_a_topic_can_be_deleted_while_its_partition_moves():
    """docs/reference/controller.md, section 9: the deletion begins at once, and the move is over."""

    async def scenario():
        world = await started(1, 2)
        await world.make_topic("t", {0: [1]})
        await world.controller.alter_reassignments({T0: [2]})
        await world.delete_topic("t")
        assert await (await world.store()).topics.names() == set()
        assert not world.controller.cluster.reassigning
        assert "StopReplica -> 2: t-0 delete" in world.story(StopReplicaRequest)
        await still_works(world)

    run_virtual(scenario())


def test_partitions_cannot_be_added_while_one_moves_and_numbers_may_have_gaps():
    """Hand-written znodes: gaps are taken as they are; replicas of known partitions changed there are ignored."""

    async def scenario():
        world = await started(1, 2)
        await world.make_topic("t", {3: [1], 17: [2]})
        store = await world.store()
        assert (await world.state("t", 17)).leader == 2
        found = await store.topics.assignment("t")
        changed = {3: ReplicaAssignment((2,)), 17: ReplicaAssignment((2,)), 40: ReplicaAssignment((1,))}
        await store.topics.set_assignment("t", found._replace(partitions=changed))
        await world.settle()
        assert (await world.state("t", 40)).leader == 1
        assert world.controller.cluster.assignment(TopicPartition("t", 3)) == PartitionAssignment((1,))

    run_virtual(scenario())


def test_what_a_dead_controller_writes_is_fenced_off():
    async def scenario():
        world = await started(1, 2, 3)
        await world.make_topic("t", {0: [2, 3]})
        sleeper = world.brokers[1].controller
        sleeper._executor.watches.end()
        store = await world.store()
        await store.session.delete("/controller")
        await world.settle()
        assert sum(broker.controller.is_active for broker in world.brokers.values()) == 1
        awake = world.controller
        assert awake.epoch == 2
        before = await world.state("t")
        if awake is not sleeper:
            assert not sleeper.is_active
        assert await world.state("t") == before

    run_virtual(scenario())


def test_a_reassignment_of_what_is_refused_changes_nothing():
    async def scenario():
        world = await started(1, 2)
        await world.make_topic("t", {0: [1]})
        world.forget()
        for target in ([], [2, 2], [-1], [2, 9]):
            [refusal] = (await world.controller.alter_reassignments({T0: target})).values()
            assert refusal.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
        await world.settle()
        assert world.story(LeaderAndIsrRequest) == []
        assert (await (await world.store()).topics.assignment("t")).partitions == {0: ReplicaAssignment((1,))}

    run_virtual(scenario())


def test_the_steps_of_a_reassignment_are_those_of_the_example():
    """S1-199 to S1-204: from {1,2,3} to {4,5,6}. Since KIP-455 the order in the znode is the target first, where
    the example has the old replicas first; leader and in-sync set are the example's, step by step.
    """

    async def scenario():
        world = await started(1, 2, 3, 4, 5, 6)
        await world.make_topic("t", {0: [1, 2, 3]})
        store = await world.store()

        async def seen():
            row = (await store.topics.assignment("t")).partitions[0]
            state = await world.state("t")
            return set(row.replicas), state.leader, set(state.isr)

        old, new = {1, 2, 3}, {4, 5, 6}
        assert await seen() == (old, 1, old), "S1-199"
        await world.controller.alter_reassignments({T0: [4, 5, 6]})
        await world.settle()
        assert await seen() == (old | new, 1, old), "S1-200"
        told = {broker for broker in world.brokers if world.told_to(broker, LeaderAndIsrRequest)}
        assert told >= old | new, "S1-200: every replica of AR is told the new leader epoch"
        await world.rejoin_isr(T0, [1, 2, 3, 4, 5])
        assert await seen() == (old | new, 1, old | {4, 5}), "one is missing yet"

        states = []
        world.forget()
        await world.rejoin_isr(T0, [1, 2, 3, 4, 5, 6])  # S1-201 is what this writes; then the controller goes on
        for line in world.story(LeaderAndIsrRequest):
            if line.startswith("LeaderAndIsr -> 4:"):
                states.append(line.partition(" leader ")[2])
        assert any(line.startswith("4 ") and "isr [1, 2, 3, 4, 5, 6]" in line for line in states), "S1-202: 4 leads"
        assert any(line.startswith("4 ") and "isr [4, 5, 6]" in line for line in states), "S1-203: the old ones are out"
        stops = world.story(StopReplicaRequest)
        assert stops == [f"StopReplica -> {id_}: t-0{what}" for id_ in (1, 2, 3) for what in ("", " delete")], "S1-203"
        assert await seen() == (new, 4, new), "S1-204"

    run_virtual(scenario())
