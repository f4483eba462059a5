"""Fenced writes, recursive creation and deletion, set-or-create."""

import asyncio
import gc

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.testing.zookeeper import on_fake
from kafka_py.zk.access import BATCH_SIZE, NOT_FENCED, PIPELINE_WIDTH, ControllerMoved, pipelined, raise_first
from kafka_py.zk.session import BadVersion, CreateOp, DeleteOp, NodeExists, NoNode, SetOp
from kafka_py.zk.store import ZkStore


@on_fake
async def test_recursive_creation_makes_the_missing_parents_with_null_data(store, zk):
    assert await store.znodes.create_recursive("/a/b/c", b"x") == "/a/b/c"
    assert {path: data for path, data in zk.tree().items() if path.startswith("/a")} == {
        "/a": None,
        "/a/b": None,
        "/a/b/c": b"x",
    }
    assert await store.znodes.create_recursive("/a/n_", b"", sequence=True) == "/a/n_0000000001"
    with pytest.raises(NodeExists):
        await store.znodes.create_recursive("/a/b/c", b"y")


@on_fake
async def test_creation_costs_one_request_when_the_parent_is_there(store, zk):
    await store.znodes.create_recursive("/a")
    before = zk.requests
    await store.znodes.create_recursive("/a/b")
    assert zk.requests - before == 1


@on_fake
async def test_set_or_create_writes_either_way(store, zk):
    await store.znodes.set_or_create("/a/b", b"1")
    await store.znodes.set_or_create("/a/b", b"2")
    assert await store.znodes.read("/a/b") == (b"2", await store.session.exists("/a/b"))
    assert await store.znodes.read("/none") is None


@on_fake
async def test_recursive_deletion_takes_everything_below_and_tolerates_absence(store, zk):
    for path in ("/a/b/c", "/a/b/d", "/a/e"):
        await store.znodes.create_recursive(path)
    assert await store.znodes.delete_recursive("/a") is True
    assert await store.znodes.delete_recursive("/a") is False
    assert await store.session.exists("/a") is None


@on_fake
async def test_a_child_that_appears_during_a_deletion_is_deleted_too(store, zk):
    await store.znodes.create_recursive("/a/b")
    other = zk.session()
    await other.connect()
    made = []

    async def create():
        made.append(await other.create("/a/b/late"))

    await_children = store.session.children

    async def children(path, watch=None):
        names = await await_children(path, watch)
        if path == "/a/b" and not made:
            await create()
        return names

    store.session.children = children
    assert await store.znodes.delete_recursive("/a")
    assert made
    assert await store.session.exists("/a") is None


@on_fake
async def test_a_fenced_write_needs_the_remembered_version_of_the_controller_epoch(store, zk):
    """One multi: a check of /controller_epoch, then the write."""
    await store.znodes.create_recursive("/controller_epoch", b"0")
    await store.session.set("/controller_epoch", b"1")
    assert await store.znodes.fenced(CreateOp("/a", b""), 1) == "/a"
    assert (await store.znodes.fenced(SetOp("/a", b"x"), 1)).version == 1
    await store.session.set("/controller_epoch", b"2")
    for op in (SetOp("/a", b"y"), CreateOp("/b"), DeleteOp("/a")):
        with pytest.raises(ControllerMoved) as moved:
            await store.znodes.fenced(op, 1)
        assert moved.value.code is ErrorCode.STALE_CONTROLLER_EPOCH
    assert (await store.session.get("/a"))[0] == b"x"
    await store.znodes.fenced(SetOp("/a", b"z"), NOT_FENCED)
    assert (await store.session.get("/a"))[0] == b"z"


@on_fake
async def test_the_error_of_a_fenced_write_is_that_of_the_write_alone(store, zk):
    await store.znodes.create_recursive("/controller_epoch", b"0")
    await store.znodes.create_recursive("/a")
    for error, op in [
        (NodeExists, CreateOp("/a")),
        (NoNode, SetOp("/none", b"")),
        (BadVersion, SetOp("/a", b"", 7)),
        (NoNode, DeleteOp("/none")),
    ]:
        with pytest.raises(error):
            await store.znodes.fenced(op, 0)


@on_fake
async def test_another_failure_of_the_check_is_raised_as_it_is(store, zk):
    with pytest.raises(NoNode, match="/controller_epoch"):
        await store.znodes.fenced(CreateOp("/a"), 0)


@on_fake
async def test_many_writes_go_as_few_requests_and_are_answered_in_order(store, zk):
    epoch = (await store.election.elect(1, 0)).epoch_zk_version
    before = zk.requests
    paths = [f"/n{number}" for number in range(2 * BATCH_SIZE + 1)]
    assert await store.znodes.fenced_many([CreateOp(path) for path in paths], epoch) == paths
    assert await store.znodes.fenced_many([CreateOp(f"{paths[0]}/a"), DeleteOp(paths[1])], NOT_FENCED) == [
        f"{paths[0]}/a",
        None,
    ]
    assert zk.requests - before == 4
    [stat] = await store.znodes.fenced_many([SetOp(paths[0], b"x")], epoch)
    assert stat == await store.session.exists(paths[0])


@on_fake
async def test_one_refused_write_of_many_leaves_the_others_alone(store, zk):
    epoch = (await store.election.elect(1, 0)).epoch_zk_version
    await store.znodes.create_recursive("/b")
    made = await store.znodes.fenced_many([CreateOp("/a"), CreateOp("/b"), CreateOp("/b/c"), SetOp("/no", b"")], epoch)
    assert [type(one) for one in made] == [str, NodeExists, str, NoNode]


@on_fake
async def test_many_writes_are_fenced(store, zk):
    await store.election.elect(1, 0)
    with pytest.raises(ControllerMoved):
        await store.znodes.fenced_many([CreateOp("/a"), CreateOp("/b")], 0)
    assert "/a" not in zk.tree()


@on_fake
async def test_calls_are_begun_in_order_many_at_a_time_and_answered_in_order(store, zk):
    begun, under_way, most = [], 0, 0

    async def call(number):
        nonlocal under_way, most
        begun.append(number)
        under_way += 1
        most = max(most, under_way)
        await store.session.exists("/")
        under_way -= 1
        if number == 3:
            raise NoNode("/3")
        return number

    results = await pipelined(call(number) for number in range(1000))
    assert begun == list(range(1000))
    assert most == PIPELINE_WIDTH
    assert isinstance(results[3], NoNode)
    assert [result for result in results if result is not results[3]] == [n for n in range(1000) if n != 3]
    assert await pipelined([]) == []
    with pytest.raises(NoNode):
        raise_first(results)


@on_fake
async def test_what_was_not_begun_when_cancelled_never_is(store, zk):
    begun = []

    async def call(number):
        begun.append(number)
        await asyncio.Event().wait()

    task = asyncio.ensure_future(pipelined([call(number) for number in range(100)]))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(begun) == PIPELINE_WIDTH


def appending(piece, seen):
    """A change that appends to what is there."""

    async def change(found):
        seen.append(found and found[0])
        return (found[0] if found else b"") + piece

    return change


@on_fake
async def test_an_update_creates_what_is_missing_and_changes_what_is_there(store, zk):
    seen = []
    assert await store.znodes.update("/a/b", appending(b"1", seen))
    assert await store.znodes.update("/a/b", appending(b"2", seen))
    assert seen == [None, b"1"]
    assert zk.tree()["/a/b"] == b"12"

    async def nothing(_found):
        return None

    assert not await store.znodes.update("/a/b", nothing)
    assert (await store.session.exists("/a/b")).version == 1


@on_fake
async def test_updates_at_the_same_time_lose_nothing(store, zk):
    others = [zk.session() for _ in range(4)]
    for session in others:
        await session.connect()
    pieces = [b"a", b"b", b"c", b"d"]
    stores = [ZkStore(session) for session in others]
    each = zip(stores, pieces, strict=True)
    await asyncio.gather(*(one.znodes.update("/n", appending(piece, [])) for one, piece in each))
    assert sorted(zk.tree()["/n"]) == sorted(b"abcd")


@on_fake
async def test_an_update_whose_answer_was_lost_is_not_made_twice(store, zk):
    await store.znodes.create_recursive("/n", b"")
    update = asyncio.create_task(store.znodes.update("/n", appending(b"1", [])))
    await asyncio.sleep(0)  # the read is under way; the write that follows loses its answer
    store.session.lose_next_reply()
    assert await update
    assert zk.tree()["/n"] == b"1"


@on_fake
async def test_a_creation_by_update_whose_answer_was_lost_is_not_made_twice(store, zk):
    update = asyncio.create_task(store.znodes.update("/n", appending(b"1", [])))
    await asyncio.sleep(0)
    store.session.lose_next_reply()
    assert await update
    assert zk.tree()["/n"] == b"1"


@on_fake
async def test_an_update_is_fenced(store, zk):
    epoch = await store.election.elect(1, 0)
    for _ in range(2):  # creation and change
        with pytest.raises(ControllerMoved):
            await store.znodes.update("/n", appending(b"1", []), epoch_zk_version=epoch.epoch_zk_version + 1)
        assert await store.znodes.update("/n", appending(b"1", []), epoch_zk_version=epoch.epoch_zk_version)
    assert zk.tree()["/n"] == b"11"


def test_failures_of_pipelined_calls_are_freed_with_their_results():
    async def call():
        raise NoNode("/a")

    async def scenario():
        await pipelined(call() for _ in range(100))  # what asyncio makes once
        gc.collect()
        gc.disable()
        try:
            results = await pipelined(call() for _ in range(100))
            assert len(results) == 100
            del results
            assert gc.collect() < 100
        finally:
            gc.enable()

    asyncio.run(scenario())
