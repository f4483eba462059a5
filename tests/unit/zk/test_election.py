"""The controller's seat."""

import asyncio

import pytest

from kafka_py.testing.zookeeper import on_fake
from kafka_py.zk.access import ControllerMoved
from kafka_py.zk.election import ControllerEpoch
from kafka_py.zk.session import EventType
from kafka_py.zk.store import ZkStore


async def second_store(zk):
    session = zk.session()
    await session.connect()
    return ZkStore(session)


@on_fake
async def test_the_first_controller_has_epoch_1_and_epoch_zk_version_1(store, zk):
    assert await store.election.controller_id() is None
    assert await store.election.controller_epoch() is None
    assert await store.election.elect(8, 1600000000000) == ControllerEpoch(1, 1)
    assert await store.election.controller_id() == 8
    assert zk.tree()["/controller"] == b'{"version":1,"brokerid":8,"timestamp":"1600000000000"}'
    assert zk.tree()["/controller_epoch"] == b"1"
    assert (await store.session.exists("/controller")).ephemeral_owner == store.session.session_id


@on_fake
async def test_each_election_raises_the_epoch_by_one(store, zk):
    for number in range(1, 4):
        epoch = await store.election.elect(1, 0)
        assert epoch == (number, number)
        await store.election.delete_controller(epoch.epoch_zk_version)
    assert await store.election.controller_id() is None


@on_fake
async def test_of_many_candidates_one_is_elected_and_the_others_are_told(store, zk):
    others = [await second_store(zk) for _ in range(4)]
    results = await asyncio.gather(
        *(one.election.elect(number, 0) for number, one in enumerate([store, *others])), return_exceptions=True
    )
    assert [type(result) for result in results].count(ControllerEpoch) == 1
    assert [type(result) for result in results].count(ControllerMoved) == 4
    assert (await store.election.controller_epoch()).epoch == 1


@on_fake
async def test_a_lost_reply_of_the_election_is_found_out(store, zk):
    """NODEEXISTS or BADVERSION: if /controller names this broker and the epoch is ours, the write did succeed."""
    await store.election.elect(1, 0)
    await store.election.delete_controller(1)
    store.session.lose_next_reply(2)  # of the read, then of the multi
    assert await store.election.elect(1, 0) == ControllerEpoch(2, 2)


@on_fake
async def test_a_lost_reply_of_the_very_first_election_is_found_out(store, zk):
    store.session.lose_next_reply(3)  # of the read, of the creation of the epoch, of the multi
    assert await store.election.elect(1, 0) == ControllerEpoch(1, 1)


@on_fake
async def test_an_epoch_raised_meanwhile_without_a_controller_is_a_lost_election(store, zk):
    await store.election.elect(1, 0)
    await store.election.delete_controller(1)
    sending = store.session.multi

    async def multi(ops):
        await store.session.set("/controller_epoch", b"7")
        return await sending(ops)

    store.session.multi = multi
    with pytest.raises(ControllerMoved, match="resigned already"):
        await store.election.elect(1, 0)


@on_fake
async def test_a_seat_of_ours_with_another_epoch_is_not_this_election(store, zk):
    await store.election.elect(1, 0)
    with pytest.raises(ControllerMoved, match="epoch"):
        await store.election.elect(1, 0)


@on_fake
async def test_a_controller_node_that_is_no_json_counts_as_none_and_blocks_the_election(store, zk):
    await store.session.create("/controller", b"?", ephemeral=True)
    assert await store.election.controller_id() is None
    with pytest.raises(ControllerMoved):
        await store.election.elect(1, 0)


@on_fake
async def test_the_watch_sees_the_seat_taken_and_left(store, zk):
    other = await second_store(zk)
    seen = []

    def watch(event):
        seen.append(event.type)

    assert await store.election.controller_id(watch) is None
    epoch = await other.election.elect(2, 0)
    assert await store.election.controller_id(watch) == 2
    await other.election.delete_controller(epoch.epoch_zk_version)
    await store.session.sync("/")
    assert seen == [EventType.CREATED, EventType.DELETED]


@on_fake
async def test_only_the_controller_of_that_epoch_may_give_the_seat_up(store, zk):
    await store.election.elect(1, 0)
    await store.session.set("/controller_epoch", b"2")
    with pytest.raises(ControllerMoved):
        await store.election.delete_controller(1)
    assert await store.election.controller_id() == 1
