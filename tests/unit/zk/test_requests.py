"""The bytes of our own requests, and of what comes back."""

import struct

import pytest
from kazoo.exceptions import BadVersionError, RolledBackError

from kafka_py.zk.requests import (
    AccessRequest,
    ChildrenRequest,
    CreateRequest,
    ExistsRequest,
    GetRequest,
    MultiRequest,
    SetAccessRequest,
    SetRequest,
    SetWatchesRequest,
    ZkSyncRequest,
    kazoo_create,
    kazoo_operation,
    read_watch_event,
)
from kafka_py.zk.secured.access_lists import OPEN, Access, AccessEntry
from kafka_py.zk.session import CheckOp, CreateOp, DeleteOp, EventType, SetOp, Stat, WatchEvent

STAT = Stat(1, 2, 3, 4, 5, 6, 7, -8, 9, 10, 11)
STAT_BYTES = struct.pack(">qqqqiiiqiiq", *STAT)


def text(value):
    return struct.pack(">i", len(value)) + value.encode()


@pytest.mark.parametrize(("cls", "kind"), [(ExistsRequest, 3), (GetRequest, 4), (ChildrenRequest, 8)])
def test_a_read_is_a_path_and_whether_to_watch(cls, kind):
    assert cls.type == kind
    assert cls("/ü", False).serialize() == b"\0\0\0\3/\xc3\xbc\0"
    assert cls("/a", True).serialize() == b"\0\0\0\2/a\1"
    assert not hasattr(cls("/a", True), "watcher")  # or kazoo would keep a watch of its own


def test_answers_of_reads():
    assert ExistsRequest.deserialize(b"x" + STAT_BYTES, 1) == STAT
    assert GetRequest.deserialize(b"\0\0\0\2hi" + STAT_BYTES, 0) == (b"hi", STAT)
    assert GetRequest.deserialize(b"\xff\xff\xff\xff" + STAT_BYTES, 0) == (None, STAT)
    assert GetRequest.deserialize(b"\0\0\0\0" + STAT_BYTES, 0) == (b"", STAT)
    assert ChildrenRequest.deserialize(struct.pack(">i", 2) + text("a") + text("bc"), 0) == ["a", "bc"]
    assert ChildrenRequest.deserialize(b"\0\0\0\0", 0) == []


def test_a_creation_has_flags_an_open_access_list_and_perhaps_null_data():
    world = struct.pack(">ii", 1, 31) + text("world") + text("anyone")
    for op, data, flags in [
        (CreateOp("/a"), b"\xff\xff\xff\xff", 0),
        (CreateOp("/a", b""), b"\0\0\0\0", 0),
        (CreateOp("/a", b"x", ephemeral=True), b"\0\0\0\1x", 1),
        (CreateOp("/a", b"x", sequence=True), b"\0\0\0\1x", 2),
        (CreateOp("/a", b"x", ephemeral=True, sequence=True), b"\0\0\0\1x", 3),
    ]:
        assert CreateRequest(kazoo_create(op, "/c/a", OPEN)).serialize() == (
            text("/c/a") + data + world + struct.pack(">i", flags)
        )
    assert CreateRequest.deserialize(text("/a") + STAT_BYTES, 0) == ("/a", STAT)


def test_a_write_expects_a_version():
    request = SetRequest(kazoo_operation(SetOp("/a", None, 7), "/a"))
    assert request.serialize() == text("/a") + b"\xff\xff\xff\xff" + struct.pack(">i", 7)
    assert SetRequest.deserialize(STAT_BYTES, 0) == STAT
    assert ZkSyncRequest("/a").serialize() == text("/a")


def test_a_multi_is_its_operations_each_with_a_header():
    operations = [CheckOp("/a", 1), DeleteOp("/b", -1)]
    request = MultiRequest([kazoo_operation(op, op.path) for op in operations])
    assert request.serialize() == (
        struct.pack(">iBi", 13, 0, -1) + text("/a") + struct.pack(">i", 1)
        + struct.pack(">iBi", 2, 0, -1) + text("/b") + struct.pack(">i", -1)
        + struct.pack(">iBi", -1, 1, -1)
    )  # fmt: skip


def test_the_answer_of_a_multi_has_one_entry_per_operation():
    def header(kind, error=0, done=0):
        return struct.pack(">iBi", kind, done, error)

    end = header(-1, -1, 1)
    good = header(13) + header(1) + text("/a") + header(5) + STAT_BYTES + header(2) + end
    assert MultiRequest.deserialize(good, 0) == [None, "/a", STAT, None]
    failed = header(-1, 0) + struct.pack(">i", 0) + header(-1, -103) + struct.pack(">i", -103) + end
    first, second = MultiRequest.deserialize(failed, 0)
    assert isinstance(first, RolledBackError)
    assert isinstance(second, BadVersionError)


def test_set_watches_is_a_zxid_and_three_lists():
    assert SetWatchesRequest(258, ["/a"], [], ["/b", "/c"]).serialize() == (
        struct.pack(">q", 258)
        + struct.pack(">i", 1) + text("/a")
        + struct.pack(">i", 0)
        + struct.pack(">i", 2) + text("/b") + text("/c")
    )  # fmt: skip


def test_notifications_of_unknown_kinds_are_nobodys():
    for code, kind in enumerate((EventType.CREATED, EventType.DELETED, EventType.CHANGED, EventType.CHILDREN), 1):
        assert read_watch_event(struct.pack(">ii", code, 3) + text("/a"), 0) == WatchEvent(kind, "/a")
    assert read_watch_event(struct.pack(">ii", 5, 3) + text("/a"), 0) is None


def test_access_lists_are_asked_for_and_set():
    entries = (AccessEntry(Access.ALL, "sasl", "a"), AccessEntry(Access.READ, "world", "anyone"))
    encoded = struct.pack(">i", 2) + struct.pack(">i", 31) + text("sasl") + text("a")
    encoded += struct.pack(">i", 1) + text("world") + text("anyone")
    assert AccessRequest("/a").serialize() == text("/a")
    assert AccessRequest.deserialize(b"????" + encoded + STAT_BYTES, 4) == (entries, STAT)
    assert SetAccessRequest("/a", entries, 3).serialize() == text("/a") + encoded + struct.pack(">i", 3)
    assert SetAccessRequest.deserialize(STAT_BYTES, 0) == STAT
