"""Overrides by entity and the announcement of their change."""

import asyncio

from kafka_py.testing.zookeeper import on_fake
from kafka_py.zk.config_znodes import entity_path
from kafka_py.zk.store import ZkStore


@on_fake
async def test_a_change_is_written_first_and_then_announced(store, zk):
    await store.ensure_top_level_paths()
    entity = entity_path(("topics", "t"))
    await store.change_entity_config(entity, {"segment.bytes": "1048576"})
    await store.change_entity_config(entity, {})
    tree = zk.tree()
    assert tree["/config/topics/t"] == b'{"version":1,"config":{}}'
    assert tree["/config/changes/config_change_0000000000"] == b'{"version":2,"entity_path":"topics/t"}'
    assert "/config/changes/config_change_0000000001" in tree
    written = await store.session.exists("/config/topics/t")
    announced = await store.session.exists("/config/changes/config_change_0000000001")
    assert written.mzxid < announced.czxid


@on_fake
async def test_names_come_out_as_they_are(store, zk):
    await store.ensure_top_level_paths()
    alice = entity_path(("users", "CN=alice,O=x/y"))
    await store.change_entity_config(alice, {"producer_byte_rate": "1"})
    await store.change_entity_config(
        entity_path(("users", "CN=alice,O=x/y"), ("clients", "c 1")), {"consumer_byte_rate": "2"}
    )
    await store.change_entity_config(entity_path(("users", "<default>")), {"request_percentage": "3"})
    assert await store.entity_names("users") == ["<default>", "CN=alice,O=x/y"]
    assert await store.all_entity_configs("users") == {
        "<default>": {"request_percentage": "3"},
        "CN=alice,O=x/y": {"producer_byte_rate": "1"},
    }
    assert await store.all_entity_configs(f"{alice}/clients") == {"c 1": {"consumer_byte_rate": "2"}}
    assert await store.all_entity_configs("users/nobody/clients") == {}


@on_fake
async def test_topic_overrides_are_read_together(store, zk):
    await store.ensure_top_level_paths()
    await store.change_entity_config("topics/a", {"x": "1"})
    assert await store.topic_configs(["a", "b"]) == {"a": {"x": "1"}, "b": {}}
    assert await store.topic_config("a") == {"x": "1"}


@on_fake
async def test_what_cannot_be_read_has_no_overrides(store, zk):
    await store.create_recursive("/config/topics/null")
    await store.create_recursive("/config/topics/bad", b'{"version":1,"config":{"x":1}}')
    await store.create_recursive("/config/topics/text", b"x")
    assert await store.topic_configs(["null", "bad", "text", "none"]) == {"null": {}, "bad": {}, "text": {}, "none": {}}


@on_fake
async def test_edits_by_several_processes_at_once_are_all_kept(store, zk):
    """A tool that writes straight to ZooKeeper and brokers: each reads, decides and writes; nobody undoes another."""
    await store.ensure_top_level_paths()
    editors = []
    for _ in range(3):
        session = zk.session()
        await session.connect()
        editors.append(ZkStore(session))

    async def put(editor, name):
        async def edit(present):
            return {**present, name: "1"}

        assert await editor.edit_entity_config("topics/t", edit)

    await asyncio.gather(*(put(editor, name) for editor, name in zip(editors, "abc", strict=True)))
    assert await store.topic_config("t") == {"a": "1", "b": "1", "c": "1"}
    assert len(await store.session.children("/config/changes")) == 3

    async def leave(_present):
        return None

    assert not await store.edit_entity_config("topics/t", leave)
    assert len(await store.session.children("/config/changes")) == 3
