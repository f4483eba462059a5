"""Delegation tokens in ZooKeeper: conditional writes, each with its notification or not at all."""

import pytest

from kafka_py.testing.zookeeper import FakeZookeeper, on_fake
from kafka_py.zk.session import NoNode
from kafka_py.zk.store import ZkStore
from kafka_py.zk.tokens import ABSENT, StoredToken
from kafka_py.zk.znodes import TokenZNode

TOKEN = TokenZNode(1, ["User%3Abob"], "id", "User%3Aalice", 2, 3)
PATH = "/delegation_token/tokens/id"


def changes(zk: FakeZookeeper) -> list[bytes | None]:
    return [data for path, data in zk.tree().items() if path.startswith("/delegation_token/token_changes/")]


@on_fake
async def test_a_token_is_written_read_and_removed(store: ZkStore, zk: FakeZookeeper) -> None:
    await store.tokens.ensure_paths()
    await store.tokens.ensure_paths()
    assert await store.tokens.read("id") is None
    assert await store.tokens.write(TOKEN, ABSENT) == 0
    assert await store.tokens.write(TOKEN, 0) == 1
    assert await store.tokens.ids() == ["id"]
    assert await store.tokens.read("id") == StoredToken(TOKEN, 1)
    assert changes(zk) == [b"id", b"id"]
    assert await store.tokens.remove("id", 1)
    assert await store.tokens.ids() == []
    assert changes(zk) == [b"id"] * 3


@on_fake
async def test_what_another_version_was_expected_of_is_neither_written_nor_announced(
    store: ZkStore, zk: FakeZookeeper
) -> None:
    await store.tokens.ensure_paths()
    assert await store.tokens.write(TOKEN, 0) is None
    assert not await store.tokens.remove("id", 0)
    await store.tokens.write(TOKEN, ABSENT)
    assert await store.tokens.write(TOKEN, ABSENT) is None
    assert await store.tokens.write(TOKEN, 1) is None
    assert not await store.tokens.remove("id", 1)
    assert changes(zk) == [b"id"]
    assert zk.tree()[PATH] == TOKEN.encode()


@on_fake
async def test_without_its_parents_no_token_is_written(store: ZkStore, zk: FakeZookeeper) -> None:
    with pytest.raises(NoNode):
        await store.tokens.write(TOKEN, ABSENT)
    assert await store.tokens.ids() == []


@on_fake
async def test_a_parent_of_notifications_that_was_deleted_is_created_again(store: ZkStore, zk: FakeZookeeper) -> None:
    await store.tokens.ensure_paths()
    assert await store.tokens.write(TOKEN, ABSENT) == 0
    await store.znodes.delete_recursive("/delegation_token/token_changes")
    assert await store.tokens.write(TOKEN, 0) == 1
    assert changes(zk) == [b"id"]
    await store.znodes.delete_recursive("/delegation_token/token_changes")
    assert await store.tokens.remove("id", 1)
    assert changes(zk) == [b"id"]
    assert await store.tokens.ids() == []
