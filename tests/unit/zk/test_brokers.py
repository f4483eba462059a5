"""Registration, broker ids, the cluster id."""

import asyncio

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ConfigError
from kafka_py.base.ids import uuid_from_text
from kafka_py.testing.zookeeper import on_fake
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.session import NodeExists
from kafka_py.zk.store import ZkStore
from kafka_py.zk.znodes import TOP_LEVEL_PATHS, BrokerEndpoint, BrokerIdZNode

PLAIN = BrokerEndpoint("PLAINTEXT", "PLAINTEXT", "h", 9092)
REGISTRATION = BrokerIdZNode.of([PLAIN], jmx_port=-1, timestamp_ms=5, rack="r1")


async def second_store(zk):
    session = zk.session()
    await session.connect()
    return ZkStore(session)


@on_fake
async def test_the_top_level_paths_hold_null_and_may_exist(store, zk):
    await store.brokers.ensure_top_level_paths()
    await store.brokers.ensure_top_level_paths()
    assert {path: zk.tree().get(path, "absent") for path in TOP_LEVEL_PATHS} == dict.fromkeys(TOP_LEVEL_PATHS)


@on_fake
async def test_the_first_broker_makes_the_cluster_id_and_all_others_read_it(store, zk):
    other = await second_store(zk)
    assert await store.brokers.cluster_id() is None
    first, second = await asyncio.gather(
        *(each.brokers.cluster_id_or_create(Chance().new_uuid) for each in (store, other))
    )
    assert first == second == await store.brokers.cluster_id()
    assert uuid_from_text(first).version == 4
    assert zk.tree()["/cluster/id"] == f'{{"version":"1","id":"{first}"}}'.encode()


@on_fake
async def test_generated_broker_ids_start_above_the_reserved_ones(store, zk):
    """setData on /brokers/seqid; id = version + reserved.broker.max.id, so the first generated id is 1001."""
    assert [await store.brokers.generate_id() for _ in range(3)] == [1001, 1002, 1003]
    assert await store.brokers.generate_id(5) == 9
    assert zk.tree()["/brokers/seqid"] == b""


@on_fake
async def test_w6_18_the_version_of_seqid_makes_the_ids(store, zk):
    """W6.18: dataVersion 0, after an empty write 1; cZxid and ctime stay, mZxid changes."""
    await store.brokers.ensure_top_level_paths()
    fresh = await store.session.exists("/brokers/seqid")
    assert (fresh.version, fresh.data_length) == (0, 0)
    assert await store.brokers.generate_id() == 1001
    written = await store.session.exists("/brokers/seqid")
    assert (written.version, written.data_length) == (1, 0)
    assert (written.czxid, written.ctime) == (fresh.czxid, fresh.ctime)
    assert written.mzxid > fresh.mzxid
    assert await store.brokers.generate_id() == 1002


@on_fake
async def test_the_epoch_of_a_registration_is_its_czxid_and_its_payload_is_version_1(store, zk):
    await store.brokers.ensure_top_level_paths()
    epoch = await store.brokers.register(1, REGISTRATION)
    data, stat = await store.session.get("/brokers/ids/1")
    assert (data, stat.version, stat.ephemeral_owner) == (REGISTRATION.encode(), 1, store.session.session_id)
    assert epoch == stat.czxid
    (broker,) = (await store.brokers.all()).values()
    assert (broker.id, broker.epoch, broker.rack, broker.endpoints) == (1, epoch, "r1", (PLAIN,))
    assert broker.endpoint("PLAINTEXT") == PLAIN
    assert broker.endpoint("OTHER") is None
    assert await store.brokers.one(2) is None


@on_fake
async def test_a_registration_whose_reply_was_lost_is_ours(store, zk):
    await store.brokers.ensure_top_level_paths()
    store.session.lose_next_reply()
    epoch = await store.brokers.register(1, REGISTRATION)
    assert epoch == (await store.session.exists("/brokers/ids/1")).czxid


@on_fake
async def test_an_id_held_by_another_session_is_refused(store, zk):
    await store.brokers.ensure_top_level_paths()
    other = await second_store(zk)
    await other.brokers.register(1, REGISTRATION)
    with pytest.raises(NodeExists, match="another session"):
        await store.brokers.register(1, REGISTRATION)


@on_fake
async def test_what_our_previous_session_registered_is_replaced(store, zk):
    """The server may not have noticed yet that the old session is over."""
    await store.brokers.ensure_top_level_paths()
    first = await store.brokers.register(1, REGISTRATION)
    fresh = zk.session()
    await fresh.connect()
    store.znodes.session = fresh
    second = await store.brokers.register(1, REGISTRATION)
    assert second > first
    assert (await fresh.exists("/brokers/ids/1")).ephemeral_owner == fresh.session_id


@on_fake
async def test_a_bounced_broker_has_a_larger_epoch(store, zk):
    await store.brokers.ensure_top_level_paths()
    renewed = asyncio.get_running_loop().create_future()

    async def register_again():
        renewed.set_result(await store.brokers.register(1, REGISTRATION))

    first = await store.brokers.register(1, REGISTRATION)
    store.session.add_expiry_hooks(after=register_again)
    store.session.expire()
    assert await renewed > first


@on_fake
async def test_an_advertised_address_that_another_broker_has_is_refused(store, zk):
    await store.brokers.ensure_top_level_paths()
    await store.brokers.register(1, REGISTRATION)
    await store.brokers.refuse_taken_endpoints(1, [PLAIN])
    await store.brokers.refuse_taken_endpoints(2, [PLAIN._replace(port=9093)])
    with pytest.raises(ConfigError, match=r"broker 1 is already registered with h:9092"):
        await store.brokers.refuse_taken_endpoints(2, [PLAIN._replace(listener="OTHER")])


@on_fake
async def test_one_unreadable_registration_makes_the_whole_list_fail(store, zk):
    await store.brokers.ensure_top_level_paths()
    await store.brokers.register(1, REGISTRATION)
    await store.session.create("/brokers/ids/2", b"{}")
    with pytest.raises(MalformedZNode):
        await store.brokers.all()
    await store.session.delete("/brokers/ids/2")
    await store.session.create("/brokers/ids/x", b"{}")
    with pytest.raises(MalformedZNode, match="not a number"):
        await store.brokers.all()


@on_fake
async def test_a_broker_that_leaves_while_the_list_is_read_is_left_out(store, zk):
    await store.brokers.ensure_top_level_paths()
    other = await second_store(zk)
    await store.brokers.register(1, REGISTRATION)
    await other.brokers.register(2, REGISTRATION)
    reading = store.session.children

    async def children(path, watch=None):
        names = await reading(path, watch)
        await other.session.close()
        return names

    store.session.children = children
    assert list(await store.brokers.all()) == [1]


@on_fake
async def test_an_updated_registration_keeps_its_epoch(store, zk):
    await store.brokers.ensure_top_level_paths()
    epoch = await store.brokers.register(1, REGISTRATION)
    await store.brokers.update(1, BrokerIdZNode.of([PLAIN._replace(port=1)], jmx_port=-1, timestamp_ms=6))
    broker = await store.brokers.one(1)
    assert (broker.epoch, broker.endpoints[0].port) == (epoch, 1)
