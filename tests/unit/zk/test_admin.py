"""The old tools' request nodes, producer ids, features."""

import asyncio

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.testing.zookeeper import on_fake
from kafka_py.zk.access import ControllerMoved
from kafka_py.zk.admin import FEATURES_DISABLED, FEATURES_ENABLED, ProducerIdBlock
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.session import CreateOp, DeleteOp, EventType, NodeExists, SetOp
from kafka_py.zk.store import ZkStore

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@on_fake
async def test_a_reassignment_is_asked_for_shrunk_and_removed(store, zk):
    epoch = await store.election.elect(1, 0)
    seen = []
    assert await store.admin.reassignments(seen.append) is None
    await store.admin.request_reassignments({T0: [1, 2], T1: [2]})
    assert [event.type for event in seen] == [EventType.CREATED]
    assert zk.tree()["/admin/reassign_partitions"].startswith(b'{"version":1,"partitions":[{"topic":"t","partition":0')
    with pytest.raises(NodeExists):
        await store.admin.request_reassignments({T0: [1]})
    assert await store.admin.reassignments() == {T0: [1, 2], T1: [2]}
    assert await store.admin.keep_reassignments(lambda *_: True, epoch.epoch_zk_version) is None
    assert await store.admin.keep_reassignments(lambda one, _: one == T1, epoch.epoch_zk_version) == {T1: [2]}
    assert await store.admin.reassignments() == {T1: [2]}
    with pytest.raises(ControllerMoved):
        await store.admin.keep_reassignments(lambda *_: False, 0)
    assert await store.admin.keep_reassignments(lambda *_: False, epoch.epoch_zk_version) == {}
    assert await store.admin.reassignments() is None
    assert await store.admin.keep_reassignments(lambda *_: False, epoch.epoch_zk_version) is None


@on_fake
async def test_a_reassignment_written_meanwhile_is_not_lost(store, zk):
    """The list is deleted and another one asked for after the controller has read it, before it writes."""
    epoch = await store.election.elect(1, 0)
    await store.admin.request_reassignments({T0: [1]})
    other = zk.session()
    await other.connect()
    looked = []

    def stays(partition, replicas):
        looked.append(partition)
        if len(looked) == 1:
            path = "/admin/reassign_partitions"
            row = b'{"version":1,"partitions":[{"topic":"t","partition":1,"replicas":[3]}]}'
            zk.apply_all(other.session_id, [DeleteOp(path), CreateOp(path, row)])
            zk.apply_all(other.session_id, [SetOp(path, row)])
        return partition != T0

    assert await store.admin.keep_reassignments(stays, epoch.epoch_zk_version) is None
    assert looked == [T0, T1]
    assert await store.admin.reassignments() == {T1: [3]}


@on_fake
async def test_requests_that_cannot_be_read_ask_for_nothing_but_stay(store, zk):
    await store.znodes.create_recursive("/admin/reassign_partitions", b"?")
    await store.znodes.create_recursive("/admin/preferred_replica_election", b"?")
    assert await store.admin.reassignments() == {}
    assert await store.admin.preferred_elections() == set()
    assert await store.session.exists("/admin/reassign_partitions") is not None


@on_fake
async def test_a_preferred_election_is_asked_for_and_deleted(store, zk):
    epoch = await store.election.elect(1, 0)
    seen = []
    assert await store.admin.preferred_elections(seen.append) is None
    await store.admin.request_preferred_elections([T0, T1])
    assert len(seen) == 1
    assert await store.admin.preferred_elections() == {T0, T1}
    await store.admin.delete_preferred_elections(epoch.epoch_zk_version)
    assert await store.admin.preferred_elections() is None


@on_fake
async def test_producer_ids_are_claimed_in_blocks_of_1000(store, zk):
    await store.brokers.ensure_top_level_paths()
    assert await store.admin.claim_producer_ids(1) == ProducerIdBlock(0, 999)
    assert await store.admin.claim_producer_ids(2) == ProducerIdBlock(1000, 1999)
    assert zk.tree()["/latest_producer_id_block"] == (
        b'{"version":1,"broker":2,"block_start":"1000","block_end":"1999"}'
    )


@on_fake
async def test_two_brokers_never_claim_the_same_block(store, zk):
    await store.brokers.ensure_top_level_paths()
    stores = [store]
    for _ in range(4):
        session = zk.session()
        await session.connect()
        stores.append(ZkStore(session))
    blocks = await asyncio.gather(*(one.admin.claim_producer_ids(number) for number, one in enumerate(stores)))
    assert sorted(blocks) == [(first, first + 999) for first in range(0, 5000, 1000)]


@on_fake
async def test_a_claim_whose_reply_was_lost_is_ours(store, zk):
    await store.brokers.ensure_top_level_paths()
    store.session.lose_next_reply(2)
    assert await store.admin.claim_producer_ids(1) == ProducerIdBlock(0, 999)
    assert await store.admin.claim_producer_ids(1) == ProducerIdBlock(1000, 1999)


@on_fake
async def test_null_is_no_block_yet_but_empty_data_is_an_error(store, zk):
    await store.znodes.create_recursive("/latest_producer_id_block", b"")
    with pytest.raises(MalformedZNode):
        await store.admin.claim_producer_ids(1)


@on_fake
async def test_producer_ids_end_at_the_largest_long(store, zk):
    last = (1 << 63) - 1 - 1000
    row = b'{"version":1,"broker":2,"block_start":"0","block_end":"%d"}'
    await store.znodes.create_recursive("/latest_producer_id_block", row % last)
    assert await store.admin.claim_producer_ids(1) == ProducerIdBlock(last + 1, (1 << 63) - 1)
    with pytest.raises(OverflowError):
        await store.admin.claim_producer_ids(1)


@on_fake
async def test_features_are_written_only_if_different(store, zk):
    assert await store.admin.features() is None
    await store.admin.ensure_features(FEATURES_DISABLED)
    await store.admin.ensure_features(FEATURES_DISABLED)
    assert zk.tree()["/feature"] == b'{"version":1,"status":0,"features":{}}'
    assert (await store.session.exists("/feature")).version == 0
    await store.admin.ensure_features(FEATURES_ENABLED)
    assert (await store.admin.features()).status == 1
    await store.session.set("/feature", b"{}")
    with pytest.raises(MalformedZNode):
        await store.admin.ensure_features(FEATURES_DISABLED)
