"""Overrides by entity and the announcement of their change."""

import asyncio

from kafka_py.testing.zookeeper import on_fake
from kafka_py.zk.config_znodes import entity_path
from kafka_py.zk.store import ZkStore


@on_fake
async def test_a_change_is_written_first_and_then_announced(store, zk):
    await store.brokers.ensure_top_level_paths()
    entity = entity_path(("topics", "t"))
    await store.configs.change(entity, {"segment.bytes": "1048576"})
    await store.configs.change(entity, {})
    tree = zk.tree()
    assert tree["/config/topics/t"] == b'{"version":1,"config":{}}'
    assert tree["/config/changes/config_change_0000000000"] == b'{"version":2,"entity_path":"topics/t"}'
    assert "/config/changes/config_change_0000000001" in tree
    written = await store.session.exists("/config/topics/t")
    announced = await store.session.exists("/config/changes/config_change_0000000001")
    assert written.mzxid < announced.czxid


@on_fake
async def test_names_come_out_as_they_are(store, zk):
    await store.brokers.ensure_top_level_paths()
    alice = entity_path(("users", "CN=alice,O=x/y"))
    await store.configs.change(alice, {"producer_byte_rate": "1"})
    await store.configs.change(
        entity_path(("users", "CN=alice,O=x/y"), ("clients", "c 1")), {"consumer_byte_rate": "2"}
    )
    await store.configs.change(entity_path(("users", "<default>")), {"request_percentage": "3"})
    assert await store.configs.entity_names("users") == ["<default>", "CN=alice,O=x/y"]
    assert await store.configs.of_all("users") == {
        "<default>": {"request_percentage": "3"},
        "CN=alice,O=x/y": {"producer_byte_rate": "1"},
    }
    assert await store.configs.of_all(f"{alice}/clients") == {"c 1": {"consumer_byte_rate": "2"}}
    assert await store.configs.of_all("users/nobody/clients") == {}


@on_fake
async def test_topic_overrides_are_read_together(store, zk):
    await store.brokers.ensure_top_level_paths()
    await store.configs.change("topics/a", {"x": "1"})
    assert await store.configs.of_topics(["a", "b"]) == {"a": {"x": "1"}, "b": {}}
    assert await store.configs.of_topic("a") == {"x": "1"}


@on_fake
async def test_what_cannot_be_read_has_no_overrides(store, zk):
    await store.znodes.create_recursive("/config/topics/null")
    await store.znodes.create_recursive("/config/topics/bad", b'{"version":1,"config":{"x":1}}')
    await store.znodes.create_recursive("/config/topics/text", b"x")
    topics = ["null", "bad", "text", "none"]
    assert await store.configs.of_topics(topics) == {topic: {} for topic in topics}


@on_fake
async def test_edits_by_several_processes_at_once_are_all_kept(store, zk):
    """A tool that writes straight to ZooKeeper and brokers: each reads, decides and writes; nobody undoes another."""
    await store.brokers.ensure_top_level_paths()
    editors = []
    for _ in range(3):
        session = zk.session()
        await session.connect()
        editors.append(ZkStore(session))

    async def put(editor, name):
        async def edit(present):
            return {**present, name: "1"}

        assert await editor.configs.edit("topics/t", edit)

    await asyncio.gather(*(put(editor, name) for editor, name in zip(editors, "abc", strict=True)))
    assert await store.configs.of_topic("t") == {"a": "1", "b": "1", "c": "1"}
    assert len(await store.session.children("/config/changes")) == 3

    async def leave(_present):
        return None

    assert not await store.configs.edit("topics/t", leave)
    assert len(await store.session.children("/config/changes")) == 3
