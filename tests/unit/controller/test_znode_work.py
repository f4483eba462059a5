"""What plans ask of ZooKeeper, done on a store: every step has its work, every write is fenced."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.ids import TopicPartition
from kafka_py.controller.decisions import steps as other_steps
from kafka_py.controller.decisions import znode_steps as steps
from kafka_py.controller.decisions.plan import Step
from kafka_py.controller.events import Event, PartitionReassignmentIsrChange, TopicChange
from kafka_py.controller.model.controller_context import Leadership, PartitionAssignment
from kafka_py.controller.watches import Watches
from kafka_py.controller.znode_work import FORGET, WORK, ZnodeWork
from kafka_py.testing.fakes.controller_znodes import TABLE
from kafka_py.testing.virtual_time import run_virtual
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.zk.access import ControllerMoved
from kafka_py.zk.session import ZkError
from kafka_py.zk.store import ZkStore
from kafka_py.zk.topics import ReplicaAssignment, TopicAssignment

T0 = TopicPartition("t", 0)


class World:
    """A controller of epoch 1 on a fake ZooKeeper with topic t. events: what its watches put."""

    def __init__(self, store: ZkStore, epoch_zk_version: int) -> None:
        self.store = store
        self.events: list[Event] = []
        self.znodes = ZnodeWork(
            store, Watches(self.events.append), epoch_zk_version, Chance(1).new_topic_id, lambda: False
        )

    async def do(self, step: Step[Any]) -> Any:
        return await WORK[type(step)](self.znodes, step)


def run(scenario: Callable[[World], Awaitable[None]]) -> None:
    async def main() -> None:
        store = ZkStore(FakeZookeeper().session())
        await store.session.connect()
        await store.brokers.ensure_top_level_paths()
        await store.topics.create("t", TopicAssignment.of({0: [1, 2]}), {})
        office = await store.election.elect(1, 0)
        await scenario(World(store, office.epoch_zk_version))

    run_virtual(main())


def kinds_of(module: Any) -> set[type[Step[Any]]]:
    return {each for _, each in inspect.getmembers(module, inspect.isclass)
            if issubclass(each, Step) and each.__module__ == module.__name__}  # fmt: skip


def test_every_step_of_zookeeper_is_done_here_and_by_the_fake() -> None:
    assert kinds_of(steps) == WORK.keys() | FORGET.keys() == TABLE.keys()
    assert kinds_of(other_steps).isdisjoint(WORK)


def test_first_leaders_are_written_once() -> None:
    async def scenario(world: World) -> None:
        first = Leadership(1, 0, (1, 2), 1)
        assert await world.do(steps.CreateLeaderships({T0: first})) == {T0: None}
        assert await world.do(steps.CreateLeaderships({T0: first})) == {T0: None}  # as if a reply was lost
        other = await world.do(steps.CreateLeaderships({T0: first._replace(leader=2)}))
        assert isinstance(other[T0], ZkError)
        assert await world.do(steps.ReadLeaderships([T0])) == {T0: first}

    run(scenario)


def test_a_write_expects_the_version_that_it_names() -> None:
    async def scenario(world: World) -> None:
        first = Leadership(1, 0, (1, 2), 1)
        await world.do(steps.CreateLeaderships({T0: first}))
        written = await world.do(steps.UpdateLeaderships({T0: first._replace(leader=2)}))
        assert written.updated == {T0: (2, 0, (1, 2), 1, 1)}
        assert (await world.do(steps.UpdateLeaderships({T0: first}))).conflicts == [T0]

    run(scenario)


WRITES: list[Step[Any]] = [
    steps.CreateLeaderships({TopicPartition("t", 1): Leadership(1, 0, (1,), 1)}),
    steps.UpdateLeaderships({T0: Leadership(2, 1, (2,), 1)}),
    steps.GiveTopicIds(["t"]),
    steps.WriteAssignments("t", {0: PartitionAssignment((2, 1))}, None),
    steps.KeepPartitions("t", []),
    steps.UnmarkForDeletion(["t"]),
    steps.DeleteTopics(["t"]),
    steps.DeletePreferredElections(),
    steps.RemoveReassignments({T0: None}),
    steps.DeleteIsrChanges(["isr_change_0000000000"]),
    steps.DeleteLogDirEvents(["log_dir_event_0000000000"]),
]


@pytest.mark.parametrize("step", WRITES, ids=lambda step: type(step).__name__)
def test_every_write_is_fenced(step: Step[Any]) -> None:
    async def scenario(world: World) -> None:
        await world.do(steps.CreateLeaderships({T0: Leadership(1, 0, (1, 2), 1)}))
        store = world.store
        await store.topics.mark_for_deletion("t")
        await store.notifications.announce_isr_changes([T0])
        await store.notifications.announce_log_dir_failure(1)
        await store.admin.request_preferred_elections([T0])
        await store.session.create("/admin/reassign_partitions", b'{"version":1,"partitions":'
                                   b'[{"topic":"t","partition":0,"replicas":[2]}]}')  # fmt: skip
        await store.session.set("/controller_epoch", b"2")  # another broker was elected
        with pytest.raises(ControllerMoved):
            await world.do(step)
        assert await store.partitions.state(T0) == (1, 0, (1, 2), 1, 0)
        assert await store.topics.assignment("t") == TopicAssignment.of({0: [1, 2]})

    run(scenario)


def test_partitions_that_somebody_added_stay_when_an_assignment_is_written() -> None:
    async def scenario(world: World) -> None:
        await world.store.topics.edit("t", lambda _: TopicAssignment.of({0: [1, 2], 1: [1]}))
        await world.do(steps.WriteAssignments("t", {0: PartitionAssignment((3, 1, 2), (3,), (2,))}, None))
        found = (await world.do(steps.ReadAssignments(["t"])))["t"]
        assert found.partitions == {0: ReplicaAssignment((3, 1, 2), (3,), (2,)), 1: ReplicaAssignment((1,))}
        await world.do(steps.KeepPartitions("t", {0}))
        assert (await world.do(steps.ReadAssignments(["t"])))["t"].partitions.keys() == {0}

    run(scenario)


def test_a_topic_keeps_the_id_that_it_has() -> None:
    async def scenario(world: World) -> None:
        given = await world.do(steps.GiveTopicIds(["t"]))
        assert given["t"].topic_id is not None
        assert await world.do(steps.GiveTopicIds(["t"])) == given

    run(scenario)


def test_unclean_permissions_are_the_topics_own_or_else_the_brokers() -> None:
    async def scenario(world: World) -> None:
        await world.store.configs.change("topics/t", {"unclean.leader.election.enable": "true"})
        assert await world.do(steps.ReadUncleanPermissions(["t", "u"])) == {"t": True, "u": False}

    run(scenario)


def test_rows_leave_the_list_of_reassignments_if_they_want_what_is_said() -> None:
    async def scenario(world: World) -> None:
        await world.store.session.create("/admin/reassign_partitions", b'{"version":1,"partitions":'
                                         b'[{"topic":"t","partition":0,"replicas":[2,3]}]}')  # fmt: skip
        assert await world.do(steps.RemoveReassignments({T0: (3, 2)})) is None
        assert await world.do(steps.RemoveReassignments({T0: (2, 3)})) == {}
        assert await world.do(steps.ReadReassignments()) is None

    run(scenario)


def test_what_is_read_with_a_watch_becomes_an_event_once_it_changes() -> None:
    async def scenario(world: World) -> None:
        first = Leadership(1, 0, (1, 2), 1)
        await world.do(steps.CreateLeaderships({T0: first}))
        await world.do(steps.ReadLeadership(T0))
        await world.do(steps.ReadTopics(watches=False))
        await world.store.topics.create("u", TopicAssignment.of({0: [1]}), {})
        await world.do(steps.UpdateLeaderships({T0: first}))
        assert world.events == []
        await world.do(steps.ReadLeadership(T0, watches=True))
        await world.do(steps.ReadTopics())
        await world.do(steps.UpdateLeaderships({T0: first._replace(zk_version=1)}))
        await world.store.topics.create("v", TopicAssignment.of({0: [1]}), {})
        assert [type(event) for event in world.events] == [PartitionReassignmentIsrChange, TopicChange]

    run(scenario)
