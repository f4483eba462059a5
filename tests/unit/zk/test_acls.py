"""ACLs in ZooKeeper: their form as Apache's, conditional writes, notifications."""

from typing import Any

import pytest

from kafka_py.testing.zookeeper import FakeZookeeper, on_fake
from kafka_py.zk.acl_znodes import (
    AclResource,
    AclRow,
    LiteralAclChangeZNode,
    PrefixedAclChangeZNode,
    decode_acls,
)
from kafka_py.zk.acls import ABSENT
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.store import ZkStore

from ..security.acls.golden_acls import samples

FOO = AclResource("TOPIC", "foo")
ROW = AclRow("User:alice", "Allow", "Read", "*")


def titled(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


@pytest.mark.parametrize(("sample", "expected"), samples("acl_json"))
def test_entries_and_their_notification_are_written_as_by_apache(sample: Any, expected: Any) -> None:
    resource = AclResource(sample["resource_type"], sample["name"], sample["pattern_type"])
    rows = [AclRow(who, titled(permission), titled(what), host) for who, permission, host, what in sample["acls"]]

    @on_fake
    async def write(store: ZkStore, zk: FakeZookeeper) -> None:
        await store.acls.ensure_paths()
        assert await store.acls.write(resource, rows, ABSENT) == 0
        await store.acls.announce(resource)
        tree = zk.tree()
        assert tree[expected["path"]] == expected["data"].encode()
        assert tree[f"{expected['change_path']}0000000000"] == expected["change_data"].encode()
        assert await store.acls.patterns() == [resource]
        assert await store.acls.read(resource) == (rows, 0, False)

    write()


@pytest.mark.parametrize(("sample", "expected"), samples("acl_change_literal"))
def test_a_notification_of_a_literal_pattern_is_read_as_by_apache(sample: str, expected: Any) -> None:
    if "error" in expected:
        with pytest.raises(MalformedZNode):
            LiteralAclChangeZNode.decode(sample.encode())
    else:
        assert list(LiteralAclChangeZNode.decode(sample.encode()).resource) == expected


@pytest.mark.parametrize(("sample", "expected"), samples("acl_change_extended"))
def test_a_notification_of_a_prefixed_pattern_is_read_as_by_apache(sample: str, expected: Any) -> None:
    if "error" in expected:
        with pytest.raises(MalformedZNode):
            PrefixedAclChangeZNode.decode(sample.encode())
    else:
        assert list(PrefixedAclChangeZNode.decode(sample.encode()).resource) == expected


@pytest.mark.parametrize("data", [b"[]", b"null", b'{"version":1}', b'{"version":1,"acls":[{"principal":"User:a"}]}'])
def test_json_of_another_form_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedZNode):
        decode_acls(FOO, data)


@on_fake
async def test_a_write_goes_by_the_version(store: ZkStore, zk: FakeZookeeper) -> None:
    acls = store.acls
    await acls.ensure_paths()
    other = ROW._replace(host="10.0.0.1")
    assert await acls.read(FOO) == ([], ABSENT, False)
    assert await acls.write(FOO, [], ABSENT) == ABSENT
    assert await acls.write(FOO, [ROW], 3) is None
    assert await acls.write(FOO, [ROW], ABSENT) == 0
    assert await acls.write(FOO, [other], ABSENT) is None
    assert await acls.write(FOO, [other], 0) == 1
    assert await acls.write(FOO, [], 0) is None
    assert await acls.read(FOO) == ([other], 1, False)
    assert await acls.write(FOO, [], 1) == ABSENT
    assert "/kafka-acl/Topic/foo" not in zk.tree()


@on_fake
async def test_unknown_types_are_left_out(store: ZkStore, zk: FakeZookeeper) -> None:
    await store.acls.ensure_paths()
    prefixed = AclResource("GROUP", "g", "PREFIXED")
    for resource in (FOO, prefixed):
        await store.acls.write(resource, [ROW], ABSENT)
    await store.znodes.create_recursive("/kafka-acl/User/alice", b"{}")
    assert await store.acls.patterns() == [FOO, prefixed]


@on_fake
async def test_a_name_with_a_slash_is_below_another_one_whose_entries_may_be_removed(
    store: ZkStore, zk: FakeZookeeper
) -> None:
    acls = store.acls
    await acls.ensure_paths()
    group = AclResource("GROUP", "g")
    inner = group._replace(name="g/x")
    assert await acls.write(inner, [ROW], ABSENT) == 0
    assert await acls.patterns() == [group]
    assert await acls.read(group) == ([], 0, True)
    assert await acls.below(group) == [inner]
    assert await acls.write(group, [ROW], 0) == 1
    assert await acls.write(group, [], 0) is None
    assert await acls.write(group, [], 1) == ABSENT
    assert await acls.read(group) == ([], 2, True)
    assert await acls.read(inner) == ([ROW], 0, False)
