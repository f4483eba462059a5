"""ACLs are read, followed and changed in ZooKeeper by several brokers at once, and none of them loses an ACL."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.clock import SYSTEM_CLOCK
from kafka_py.base.errors import ErrorCode
from kafka_py.security.acls import keeper as keeper_module
from kafka_py.security.acls.bindings import (
    ALL_ACLS,
    AclBinding,
    AclEntry,
    AclFilter,
    EntryFilter,
    PatternFilter,
    ResourcePattern,
)
from kafka_py.security.acls.keeper import AclKeeper, entries_of
from kafka_py.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType
from kafka_py.testing.zookeeper import FakeZookeeper, on_fake
from kafka_py.zk.acl_znodes import AclResource, AclRow, decode_acls
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.session import ConnectionLoss
from kafka_py.zk.store import ZkStore

from .golden_acls import samples

FOO = ResourcePattern(ResourceType.TOPIC, "foo")
PREFIXED = ResourcePattern(ResourceType.TOPIC, "foo", PatternType.PREFIXED)
READ = AclEntry("User:alice", "*", Operation.READ, Permission.ALLOW)
WRITE = READ._replace(operation=Operation.WRITE)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper_module, "RETRY_MS", 0)
    monkeypatch.setattr(keeper_module, "RETRY_JITTER_MS", 0)


def keeper_of(store: ZkStore, **options: Any) -> AclKeeper:
    return AclKeeper(store.acls, SYSTEM_CLOCK, Chance(1), **options)


def brokers(
    scenario: Callable[[AclKeeper, AclKeeper, FakeZookeeper], Awaitable[None]],
) -> Callable[[], None]:
    """Two keepers with sessions of their own, both started."""

    @on_fake
    async def run(store: ZkStore, zk: FakeZookeeper) -> None:
        session = zk.session()
        await session.connect()
        one, other = keeper_of(store), keeper_of(ZkStore(session))
        await one.start()
        await other.start()
        try:
            await scenario(one, other, zk)
        finally:
            await one.close()
            await other.close()

    return run


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110  # the index tells nobody of its changes
            await asyncio.sleep(0)


@pytest.mark.parametrize(("sample", "expected"), samples("acl_decode"))
def test_stored_entries_are_read_as_by_apache(sample: str, expected: Any) -> None:
    resource = AclResource("TOPIC", "foo")
    if "error" in expected:
        with pytest.raises(MalformedZNode):
            entries_of(decode_acls(resource, sample.encode()))
        return
    entries = entries_of(decode_acls(resource, sample.encode()))
    assert [[each.principal, each.permission.name, each.host, each.operation.name] for each in entries] == expected


@brokers
async def test_what_one_broker_adds_and_removes_the_other_follows(
    one: AclKeeper, other: AclKeeper, zk: FakeZookeeper
) -> None:
    bindings = [AclBinding(FOO, READ), AclBinding(PREFIXED, READ), AclBinding(FOO, WRITE), AclBinding(FOO, READ)]
    assert await one.add(bindings) == [None] * 4
    assert one.index.of(FOO).entries == (READ, WRITE)
    await until(lambda: len(other.index) == 3)
    assert other.index.of(PREFIXED).entries == (READ,)
    changes = [path for path in zk.tree() if "acl_changes_" in path]
    assert len(changes) == 2
    only_read = AclFilter(PatternFilter(ResourceType.TOPIC, "foo"), EntryFilter(operation=Operation.READ))
    removed = await other.remove([only_read, ALL_ACLS])
    assert sorted(each.binding for each in removed[0]) == sorted([AclBinding(FOO, READ), AclBinding(PREFIXED, READ)])
    assert [each.binding for each in removed[1]] == [AclBinding(FOO, WRITE)]
    await until(lambda: not len(one.index))
    assert not [path for path in zk.tree() if path.endswith("/foo")]


@brokers
async def test_an_entry_is_in_the_result_of_the_first_filter_that_selects_it(
    one: AclKeeper, _other: AclKeeper, _zk: FakeZookeeper
) -> None:
    bob = READ._replace(principal="User:bob")
    foo = PatternFilter(ResourceType.TOPIC, "foo", PatternType.LITERAL)
    exact, alices, reads = EntryFilter(*READ), EntryFilter("User:alice"), EntryFilter(operation=Operation.READ)
    for filters, numbers in (
        ((exact, alices, reads), {READ: 0, WRITE: 1, bob: 2}),
        ((reads, alices, exact), {READ: 0, WRITE: 1, bob: 0}),
        ((alices, exact, reads), {READ: 0, WRITE: 0, bob: 2}),
        ((exact, exact), {READ: 0}),
        ((EntryFilter(host="1.1.1.1"), EntryFilter("User:carol"), alices), {READ: 2, WRITE: 2}),
    ):
        await one.add([AclBinding(FOO, each) for each in (READ, WRITE, bob)])
        removed = await one.remove([AclFilter(foo, each) for each in filters])
        found = {each.binding.entry: number for number, rows in enumerate(removed) for each in rows}
        assert found == numbers
        assert set(one.index.of(FOO).entries) == {READ, WRITE, bob} - numbers.keys()


@brokers
async def test_to_remove_the_entries_of_many_principals_each_entry_is_looked_at_once(
    one: AclKeeper, _other: AclKeeper, _zk: FakeZookeeper
) -> None:
    """Each by each it were a million comparisons on the event loop for a thousand principals."""
    entries = [READ._replace(principal=f"User:{number}") for number in range(300)]
    foo = PatternFilter(ResourceType.TOPIC, "foo", PatternType.LITERAL)
    for filters in (
        [EntryFilter(*each) for each in entries], [EntryFilter(each.principal) for each in entries],
    ):
        await one.add([AclBinding(FOO, each) for each in entries])
        compared: list[AclEntry] = []
        matches = EntryFilter.matches
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(EntryFilter, "matches", lambda self, entry: compared.append(entry) or matches(self, entry))  # noqa: B023
            removed = await one.remove([AclFilter(foo, each) for each in filters])
        assert [[each.binding.entry for each in rows] for rows in removed] == [[each] for each in entries]
        assert len(compared) <= len(entries)


@brokers
async def test_a_filter_for_a_name_of_any_type_removes_those_of_that_name(
    one: AclKeeper, _other: AclKeeper, _zk: FakeZookeeper
) -> None:
    group = ResourcePattern(ResourceType.GROUP, "foo")
    await one.add([AclBinding(each, READ) for each in (FOO, PREFIXED, group, FOO._replace(name="bar"))])
    (removed,) = await one.remove([AclFilter(PatternFilter(ResourceType.ANY, "foo"))])
    assert {each.binding.pattern for each in removed} == {FOO, PREFIXED, group}
    assert one.index.patterns() == [FOO._replace(name="bar")]


@brokers
async def test_what_exists_is_not_announced_again(one: AclKeeper, other: AclKeeper, zk: FakeZookeeper) -> None:
    await one.add([AclBinding(FOO, READ)])
    version = one.index.of(FOO).version
    assert await one.add([AclBinding(FOO, READ)]) == [None]
    assert one.index.of(FOO).version == version + 1
    assert len([path for path in zk.tree() if "acl_changes_" in path]) == 1
    assert await one.remove([AclFilter(PatternFilter(ResourceType.GROUP, "g"))]) == [[]]
    assert len([path for path in zk.tree() if "acl_changes_" in path]) == 1


@brokers
async def test_two_brokers_that_write_one_pattern_at_once_lose_nothing(
    one: AclKeeper, other: AclKeeper, _zk: FakeZookeeper
) -> None:
    hosts = [f"10.0.0.{number}" for number in range(8)]
    added = [AclBinding(FOO, READ._replace(host=host)) for host in hosts]
    results = await asyncio.gather(*(
        (one if number % 2 else other).add([binding]) for number, binding in enumerate(added)
    ))
    assert results == [[None]] * 8
    await until(lambda: len(one.index) == len(other.index) == 8)
    assert set(one.index.of(FOO).entries) == set(other.index.of(FOO).entries) == {each.entry for each in added}


@brokers
async def test_a_pattern_that_always_changes_is_an_error_of_its_acls_only(
    one: AclKeeper, _other: AclKeeper, _zk: FakeZookeeper
) -> None:
    write = one._store.write

    async def conflict(pattern: AclResource, rows: list[AclRow], version: int) -> int | None:
        return None if pattern.name == "foo" else await write(pattern, rows, version)

    one._store.write = conflict  # type: ignore[method-assign]
    bar = FOO._replace(name="bar")
    error, fine = await one.add([AclBinding(FOO, READ), AclBinding(bar, READ)])
    assert fine is None and error is not None
    assert error.code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert "after trying a maximum of 10 times" in error.message
    assert (len(one.index.of(FOO).entries), len(one.index.of(bar).entries)) == (0, 1)
    ((failed,),) = await one.remove([AclFilter(PatternFilter(ResourceType.TOPIC, "bar"))])
    assert failed.error is None


@brokers
async def test_entries_that_cannot_be_stored_are_errors_of_their_pattern(
    one: AclKeeper, _other: AclKeeper, _zk: FakeZookeeper
) -> None:
    nobody, empty = READ._replace(principal="alice"), FOO._replace(name="a//b")
    results = await one.add([
        AclBinding(FOO, nobody), AclBinding(FOO, READ), AclBinding(empty, READ), AclBinding(PREFIXED, READ),
    ])  # fmt: skip
    codes = [None if each is None else each.code for each in results]
    unknown = ErrorCode.UNKNOWN_SERVER_ERROR
    assert codes == [unknown, unknown, unknown, None]
    assert len(one.index) == 1


@on_fake
async def test_what_is_stored_at_the_start_is_read_once_and_then_followed(store: ZkStore, zk: FakeZookeeper) -> None:
    first = keeper_of(store)
    await first.start()
    await first.add([AclBinding(FOO, READ), AclBinding(PREFIXED, WRITE)])
    second = keeper_of(store)
    await second.start()
    assert sorted(second.index.bindings()) == sorted(first.index.bindings())
    await store.znodes.set_or_create("/kafka-acl/Topic/foo", b"")
    await store.acls.announce(AclResource("TOPIC", "foo"))
    await store.acls.announce(AclResource("USER", "foo"))
    await until(lambda: not second.index.of(FOO).entries)
    await first.close()
    await second.close()


@on_fake
async def test_entries_of_another_version_stop_the_start(store: ZkStore, zk: FakeZookeeper) -> None:
    await store.znodes.create_recursive("/kafka-acl/Topic/foo", b'{"version":2,"acls":[]}')
    keeper = keeper_of(store)
    with pytest.raises(MalformedZNode):
        await keeper.start()
    await keeper.close()


@on_fake
async def test_prefixed_patterns_are_not_added_where_brokers_do_not_know_them_but_those_that_exist_count(
    store: ZkStore, zk: FakeZookeeper
) -> None:
    """Otherwise an older inter-broker protocol would end all denials of prefixed patterns."""
    denial = READ._replace(permission=Permission.DENY)
    former = keeper_of(store)
    await former.start()
    await former.add([AclBinding(PREFIXED, denial)])
    keeper = keeper_of(store, with_prefixed=False)
    await keeper.start()
    assert keeper.index.of(PREFIXED).entries == (denial,)
    more = PREFIXED._replace(name="bar")
    await former.add([AclBinding(more, denial)])
    await until(lambda: keeper.index.of(more).entries)
    await former.close()
    error, fine = await keeper.add([AclBinding(PREFIXED, READ), AclBinding(FOO, READ)])
    assert fine is None and error is not None
    assert (error.code, error.message) == (ErrorCode.INVALID_REQUEST, "Failed to create ACL")
    ((removed,),) = await keeper.remove([AclFilter(PatternFilter(ResourceType.TOPIC, "foo", PatternType.PREFIXED))])
    assert removed == (AclBinding(PREFIXED, denial), None)
    await keeper.close()


@on_fake
async def test_a_name_with_slashes_is_read_at_the_next_start_as_well(store: ZkStore, zk: FakeZookeeper) -> None:
    """Apache Kafka takes such an ACL, and has forgotten it after a restart, be it a denial or not."""
    first = keeper_of(store)
    await first.start()
    names = ("a", "a/b/c", "d/e")
    bindings = [
        AclBinding(ResourcePattern(ResourceType.GROUP, name, kind), READ)
        for name in names for kind in (PatternType.LITERAL, PatternType.PREFIXED)
    ]  # fmt: skip
    assert await first.add(bindings) == [None] * len(bindings)
    second = keeper_of(store)
    await second.start()
    assert sorted(second.index.bindings()) == sorted(bindings)
    everything = [each for rows in await second.remove([ALL_ACLS]) for each in rows]
    assert sorted(each.binding for each in everything) == sorted(bindings)
    assert {each.error for each in everything} == {None}
    third = keeper_of(store)
    await third.start()
    assert len(third.index) == 0
    for each in (first, second, third):
        await each.close()


@brokers
async def test_what_is_written_again_unchanged_for_one_is_announced_to_the_others(
    one: AclKeeper, other: AclKeeper, zk: FakeZookeeper
) -> None:
    """Another removed the entry, and this one, which has not read that yet, adds it: the others may have read it."""
    await one.add([AclBinding(FOO, READ), AclBinding(FOO, WRITE)])
    await until(lambda: len(other.index.of(FOO).entries) == 2)
    session: Any = one._store._znodes.session
    session.cut()
    foo = PatternFilter(ResourceType.TOPIC, "foo", PatternType.LITERAL)
    await other.remove([AclFilter(foo, EntryFilter(operation=Operation.WRITE))])
    adding = asyncio.ensure_future(one.add([AclBinding(FOO, WRITE)]))
    await asyncio.sleep(0)
    session.mend()
    assert await adding == [None]
    await until(lambda: len(other.index.of(FOO).entries) == 2)


@brokers
async def test_a_change_that_could_not_be_announced_is_announced_by_the_next_attempt(
    one: AclKeeper, other: AclKeeper, zk: FakeZookeeper
) -> None:
    async def fails(_resource: AclResource) -> None:
        raise ConnectionLoss

    store: Any = one._store
    store.announce, announce = fails, store.announce
    [error] = await one.add([AclBinding(FOO, READ)])
    assert error is not None and error.code is ErrorCode.UNKNOWN_SERVER_ERROR
    store.announce = announce
    assert await one.add([AclBinding(FOO, READ)]) == [None]
    await until(lambda: other.index.of(FOO).entries)


@brokers
async def test_a_change_of_a_pattern_type_that_is_never_stored_is_ignored(
    one: AclKeeper, other: AclKeeper, zk: FakeZookeeper
) -> None:
    await one.add([AclBinding(FOO, READ)])
    await one._on_change(AclResource("TOPIC", "foo", "MATCH"))
    assert one.index.patterns() == [FOO]
