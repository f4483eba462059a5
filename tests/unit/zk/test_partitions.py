"""Partition states: the controller's fenced writes, the leaders' compare-and-set."""

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.testing.zookeeper import on_fake
from kafka_py.zk.access import ControllerMoved
from kafka_py.zk.partitions import LeaderAndIsr
from kafka_py.zk.session import EventType, NodeExists, NoNode

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
STATE = LeaderAndIsr(leader=2, leader_epoch=0, isr=(2, 1), controller_epoch=1)


@on_fake
async def test_first_states_are_made_with_their_parents(store, zk):
    epoch = await store.election.elect(1, 0)
    await store.znodes.create_recursive("/brokers/topics/t")
    await store.znodes.create_recursive("/brokers/topics/u")
    made = await store.partitions.create_states(dict.fromkeys([T0, T1, U0], STATE), epoch.epoch_zk_version)
    assert made == {T0: None, T1: None, U0: None}
    tree = zk.tree()
    assert tree["/brokers/topics/t/partitions"] is None
    assert tree["/brokers/topics/t/partitions/1"] is None
    assert tree["/brokers/topics/t/partitions/1/state"] == (
        b'{"controller_epoch":1,"leader":2,"version":1,"leader_epoch":0,"isr":[2,1]}'
    )
    assert await store.partitions.states([T0, U0, TopicPartition("none", 0)]) == {T0: STATE, U0: STATE}


@on_fake
async def test_a_state_that_exists_is_an_outcome_and_no_failure_of_the_others(store, zk):
    epoch = await store.election.elect(1, 0)
    await store.znodes.create_recursive("/brokers/topics/t")
    await store.partitions.create_states({T0: STATE._replace(controller_epoch=0)}, epoch.epoch_zk_version)
    made = await store.partitions.create_states({T0: STATE, T1: STATE, U0: STATE}, epoch.epoch_zk_version)
    assert [type(made[one]) for one in (T0, T1, U0)] == [NodeExists, type(None), NoNode]


@on_fake
async def test_first_states_whose_reply_was_lost_are_known_as_made(store, zk):
    epoch = await store.election.elect(1, 0)
    await store.znodes.create_recursive("/brokers/topics/t")
    states = {TopicPartition("t", number): STATE for number in range(100)}
    really_send = store.session.multi
    lost = []

    async def lose(ops):
        if any(op.path.endswith("/state") for op in ops):
            lost.append(len(ops))
            store.session.lose_next_reply()
        return await really_send(ops)

    store.session.multi = lose
    assert set((await store.partitions.create_states(states, epoch.epoch_zk_version)).values()) == {None}
    assert lost


@on_fake
async def test_updates_expect_the_version_each_state_carries(store, zk):
    epoch = await store.election.elect(1, 0)
    await store.znodes.create_recursive("/brokers/topics/t")
    await store.partitions.create_states({T0: STATE, T1: STATE}, epoch.epoch_zk_version)
    new = STATE._replace(leader=1, leader_epoch=1, isr=(1,))
    updates = await store.partitions.update_states(
        {T0: new, T1: new._replace(zk_version=9), U0: new}, epoch.epoch_zk_version
    )
    assert updates.updated == {T0: new._replace(zk_version=1)}
    assert updates.conflicts == [T1]
    assert {one: type(error) for one, error in updates.failed.items()} == {U0: NoNode}
    assert await store.partitions.state(T0) == new._replace(zk_version=1)


@on_fake
async def test_a_former_controller_writes_no_state(store, zk):
    await store.election.elect(1, 0)
    await store.znodes.create_recursive("/brokers/topics/t")
    with pytest.raises(ControllerMoved):
        await store.partitions.create_states({T0: STATE}, 0)
    await store.partitions.create_states({T0: STATE}, 1)
    with pytest.raises(ControllerMoved):
        await store.partitions.update_states({T0: STATE}, 0)
    assert await store.partitions.state(T0) == STATE


@on_fake
async def test_a_leaders_write_is_not_fenced_but_expects_its_version(store, zk):
    await store.election.elect(1, 0)
    await store.znodes.create_recursive("/brokers/topics/t")
    await store.partitions.create_states({T0: STATE}, 1)
    await store.session.set("/controller_epoch", b"5")
    shrunk = STATE._replace(isr=(2,))
    assert await store.partitions.write_isr(T0, shrunk) == 1
    assert await store.partitions.state(T0) == shrunk._replace(zk_version=1)
    assert await store.partitions.write_isr(T0, STATE) is None
    assert await store.partitions.write_isr(TopicPartition("none", 0), STATE) is None
    assert await store.partitions.state(T0) == shrunk._replace(zk_version=1)


@on_fake
async def test_a_leaders_write_whose_reply_was_lost_has_succeeded(store, zk):
    """BADVERSION -> re-read: the stored JSON equals what we wanted to write: success with the read version."""
    await store.election.elect(1, 0)
    await store.znodes.create_recursive("/brokers/topics/t")
    await store.partitions.create_states({T0: STATE}, 1)
    store.session.lose_next_reply()
    assert await store.partitions.write_isr(T0, STATE._replace(isr=(2,))) == 1


@on_fake
async def test_the_same_replicas_in_another_order_are_someone_elses_write(store, zk):
    await store.election.elect(1, 0)
    await store.znodes.create_recursive("/brokers/topics/t")
    await store.partitions.create_states({T0: STATE}, 1)
    await store.partitions.update_states({T0: STATE._replace(isr=(1, 2))}, 1)
    assert await store.partitions.write_isr(T0, STATE) is None


@on_fake
async def test_an_unreadable_state_counts_as_none(store, zk):
    await store.znodes.create_recursive("/brokers/topics/t/partitions/0/state", b"?")
    assert await store.partitions.state(T0) is None
    assert await store.partitions.states([T0]) == {}
    assert await store.partitions.write_isr(T0, STATE._replace(zk_version=7)) is None


@on_fake
async def test_states_can_be_watched_one_by_one(store, zk):
    await store.election.elect(1, 0)
    await store.znodes.create_recursive("/brokers/topics/t")
    await store.partitions.create_states({T0: STATE, T1: STATE}, 1)
    seen = []
    await store.partitions.states([T0, T1], lambda one: lambda event: seen.append((one, event.type)))
    await store.partitions.write_isr(T1, STATE)
    await store.session.sync("/")
    assert seen == [(T1, EventType.CHANGED)]
