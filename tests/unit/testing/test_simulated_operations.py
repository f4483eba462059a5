"""What an administrator leaves behind in a simulation is seen, and so is what nobody asked for."""

import asyncio
import random

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.testing.simulation.cluster import LOG_DIR, SimulatedCluster
from kafka_py.testing.simulation.nodes import NodeLoop
from kafka_py.testing.simulation.operations import GROWING, KINDS, PASSING, Administrator, draw_operations
from kafka_py.zk.store import ZkStore
from kafka_py.zk.topics import ReplicaAssignment, TopicAssignment

T0 = TopicPartition("t", 0)
KINDS_DRAWN = sorted(KINDS)[:4]
U0 = TopicPartition(GROWING, 0)


@pytest.fixture
def world():
    """A loop, a cluster of which no broker runs, a store, and an administrator of the topics t and u."""
    loop = NodeLoop()
    asyncio.set_event_loop(loop)
    cluster = SimulatedCluster(loop, random.Random(1), 4, {})
    session = cluster.zookeeper.session()
    store = ZkStore(session)

    async def begin():
        await session.connect()
        await store.topics.create("t", TopicAssignment.of({0: [1, 2, 3]}))
        await store.topics.create(GROWING, TopicAssignment.of({0: [1, 2]}))
        return Administrator(cluster, store, [T0, U0], lambda _: None)

    yield loop, cluster, store, loop.run_until_complete(begin())
    asyncio.set_event_loop(None)
    loop.close()


def test_a_calm_cluster_has_nothing_left_over(world):
    _loop, _cluster, _store, administrator = world
    assert administrator.left_over() == []
    assert administrator.faults() == []


def test_requests_that_nobody_carried_out_are_left_over(world):
    loop, _cluster, store, administrator = world

    async def ask():
        await store.admin.request_reassignments({T0: [1, 2]})
        await store.admin.request_preferred_elections([T0])
        await store.topics.mark_for_deletion(PASSING[0])

    loop.run_until_complete(ask())
    assert len(administrator.left_over()) == 3


def test_a_replica_on_its_way_is_left_over(world):
    loop, _cluster, store, administrator = world
    moving = TopicAssignment({0: ReplicaAssignment((4, 1, 2, 3), adding=(4,))})
    loop.run_until_complete(store.topics.set_assignment("t", moving))
    assert ["t-0 is on its way" in each for each in administrator.left_over()] == [True]


def test_replicas_that_nobody_asked_for_are_a_fault(world):
    loop, _cluster, store, administrator = world
    loop.run_until_complete(store.topics.set_assignment("t", TopicAssignment.of({0: [4, 2, 1]})))
    assert len(administrator.faults()) == 1
    administrator.targets[T0].add(frozenset((1, 2, 4)))
    assert administrator.faults() == []


def test_a_partition_that_is_gone_is_a_fault(world):
    _loop, _cluster, _store, administrator = world
    administrator.count = 2
    assert administrator.faults() == ["u: 2 partitions were made, 1 are left"]


def test_logs_of_a_deleted_topic_are_left_over(world, monkeypatch):
    _loop, cluster, _store, administrator = world
    broker = cluster.brokers[0]
    monkeypatch.setattr(cluster, "servers", lambda: iter([broker]))
    for name in ("t-0", f"{PASSING[0]}-0", f"{PASSING[1]}-0.{'0' * 32}-delete"):
        broker.files.make_directory(f"{LOG_DIR}/{name}")
    assert [each.split()[-1].split("-")[0] for each in administrator.left_over()] == list(PASSING)


def test_operations_follow_from_the_generator():
    drawn = draw_operations(random.Random(3), 20, KINDS_DRAWN)
    assert drawn == draw_operations(random.Random(3), 20, KINDS_DRAWN)
    assert {each.kind for each in drawn} == set(KINDS_DRAWN)
