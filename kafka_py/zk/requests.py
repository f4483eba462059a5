"""The requests sent through kazoo, in the form that its connection expects: `type`, `serialize()`, `deserialize()`.

kazoo's own watch requests register the callback in kazoo, which drops all watches at every disconnect; these only set
the server's flag. Create also returns the Stat, and SetWatches (with which the Java client sets watches again after a
reconnect) does not exist in kazoo. Layout: jute, big-endian, length-prefixed text and buffers.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, ClassVar

from kazoo.exceptions import EXCEPTIONS
from kazoo.protocol.serialization import (
    CheckVersion,
    Create,
    Delete,
    MultiHeader,
    SetData,
    read_buffer,
    read_string,
    write_string,
)
from kazoo.security import ACL, Id

from kafka_py.zk.secured.access_lists import Access, AccessEntry, AccessList
from kafka_py.zk.session import CheckOp, CreateOp, DeleteOp, EventType, SetOp, Stat, WatchEvent

_INT = struct.Struct("!i")
_TWO_INTS = struct.Struct("!ii")
_LONG = struct.Struct("!q")
_STAT = struct.Struct("!qqqqiiiqiiq")
_MULTI_END = struct.Struct("!iBi").pack(-1, True, -1)

_EVENTS = {1: EventType.CREATED, 2: EventType.DELETED, 3: EventType.CHANGED, 4: EventType.CHILDREN}


def _read_stat(buffer: bytes, offset: int) -> Stat:
    return Stat._make(_STAT.unpack_from(buffer, offset))


def read_watch_event(buffer: bytes, offset: int) -> WatchEvent | None:
    """A notification; None for a kind that is not used here. Layout: type i32, state i32, path."""
    kind, _state = _TWO_INTS.unpack_from(buffer, offset)
    path, _ = read_string(buffer, offset + _TWO_INTS.size)
    return WatchEvent(_EVENTS[kind], path) if kind in _EVENTS else None


class _Read:
    """A read of one path that may set a watch. Layout: path, watch u8."""

    __slots__ = ("path", "watch")
    type: ClassVar[int]

    def __init__(self, path: str, watch: bool) -> None:
        self.path = path
        self.watch = watch

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path!r}, watch={self.watch})"

    def serialize(self) -> bytes:
        return bytes(write_string(self.path)) + (b"\1" if self.watch else b"\0")


class ExistsRequest(_Read):
    """Returns the Stat; kazoo turns the error NoNode into None for this type."""

    __slots__ = ()
    type = 3

    @staticmethod
    def deserialize(buffer: bytes, offset: int) -> Stat:
        return _read_stat(buffer, offset)


class GetRequest(_Read):
    """Returns data and Stat."""

    __slots__ = ()
    type = 4

    @staticmethod
    def deserialize(buffer: bytes, offset: int) -> tuple[bytes | None, Stat]:
        data, offset = read_buffer(buffer, offset)
        return data, _read_stat(buffer, offset)


class ChildrenRequest(_Read):
    """Returns the names of the children."""

    __slots__ = ()
    type = 8

    @staticmethod
    def deserialize(buffer: bytes, offset: int) -> list[str]:
        (count,) = _INT.unpack_from(buffer, offset)
        offset += _INT.size
        names = []
        for _ in range(count):
            name, offset = read_string(buffer, offset)
            names.append(name)
        return names


class AccessRequest:
    """Returns the access list of a znode and the Stat. Layout: path; in the response the entries before the Stat."""

    __slots__ = ("path",)
    type = 6

    def __init__(self, path: str) -> None:
        self.path = path

    def serialize(self) -> bytes:
        return bytes(write_string(self.path))

    @staticmethod
    def deserialize(buffer: bytes, offset: int) -> tuple[AccessList, Stat]:
        (count,) = _INT.unpack_from(buffer, offset)
        offset += _INT.size
        entries = []
        for _ in range(count):
            (access,) = _INT.unpack_from(buffer, offset)
            scheme, offset = read_string(buffer, offset + _INT.size)
            identity, offset = read_string(buffer, offset)
            entries.append(AccessEntry(Access(access), scheme, identity))
        return tuple(entries), _read_stat(buffer, offset)


class SetAccessRequest:
    """Replaces the access list of a znode; returns the new Stat.

    Layout: path, entries (access i32, scheme, id) after their count, version i32.
    """

    __slots__ = ("entries", "path", "version")
    type = 7

    def __init__(self, path: str, entries: AccessList, version: int) -> None:
        self.path = path
        self.entries = entries
        self.version = version

    def serialize(self) -> bytes:
        out = bytearray(write_string(self.path))
        out += _INT.pack(len(self.entries))
        for entry in self.entries:
            out += _INT.pack(entry.access) + write_string(entry.scheme) + write_string(entry.id)
        return bytes(out) + _INT.pack(self.version)

    @staticmethod
    def deserialize(buffer: bytes, offset: int) -> Stat:
        return _read_stat(buffer, offset)


class _Write:
    """A write that kazoo serializes; only its response is read here."""

    __slots__ = ("operation",)
    type: ClassVar[int]

    def __init__(self, operation: Create | SetData | Delete) -> None:
        self.operation = operation

    def __repr__(self) -> str:
        return repr(self.operation)

    def serialize(self) -> bytes:
        return bytes(self.operation.serialize())


class CreateRequest(_Write):
    """Returns the path as created, and the Stat."""

    __slots__ = ()
    type = 15

    @staticmethod
    def deserialize(buffer: bytes, offset: int) -> tuple[str, Stat]:
        path, offset = read_string(buffer, offset)
        return path, _read_stat(buffer, offset)


class SetRequest(_Write):
    """Returns the new Stat."""

    __slots__ = ()
    type = 5

    @staticmethod
    def deserialize(buffer: bytes, offset: int) -> Stat:
        return _read_stat(buffer, offset)


class DeleteRequest(_Write):
    """Returns None."""

    __slots__ = ()
    type = 2

    @staticmethod
    def deserialize(_buffer: bytes, _offset: int) -> None:
        return None


class ZkSyncRequest:
    """Responds when the server has caught up with the leader."""

    __slots__ = ("path",)
    type = 9

    def __init__(self, path: str) -> None:
        self.path = path

    def serialize(self) -> bytes:
        return bytes(write_string(self.path))

    @staticmethod
    def deserialize(_buffer: bytes, _offset: int) -> None:
        return None


class MultiRequest:
    """All or nothing; the result has one entry per operation: path, Stat, None or kazoo's exception."""

    __slots__ = ("operations",)
    type = 14

    def __init__(self, operations: Sequence[Any]) -> None:
        self.operations = operations

    def serialize(self) -> bytes:
        out = bytearray()
        for operation in self.operations:
            out += MultiHeader(operation.type, False, -1).serialize()
            out += operation.serialize()
        return bytes(out) + _MULTI_END

    @staticmethod
    def deserialize(buffer: bytes, offset: int) -> list[Any]:
        results: list[Any] = []
        while True:
            header, offset = MultiHeader.deserialize(buffer, offset)
            if header.done:
                return results
            result: Any = None
            if header.type == Create.type:
                result, offset = read_string(buffer, offset)
            elif header.type == SetData.type:
                result = _read_stat(buffer, offset)
                offset += _STAT.size
            elif header.type == -1:
                (code,) = _INT.unpack_from(buffer, offset)
                offset += _INT.size
                result = EXCEPTIONS[code]()
            results.append(result)


class SetWatchesRequest:
    """Sets watches again on a new connection; changes after `last_zxid` fire at once.

    Layout: last_zxid i64, then three lists of paths: data, exist, child.
    """

    __slots__ = ("last_zxid", "lists")
    type = 101

    def __init__(self, last_zxid: int, data: Sequence[str], exist: Sequence[str], child: Sequence[str]) -> None:
        self.last_zxid = last_zxid
        self.lists = (data, exist, child)

    def serialize(self) -> bytes:
        out = bytearray(_LONG.pack(self.last_zxid))
        for paths in self.lists:
            out += _INT.pack(len(paths))
            for path in paths:
                out += write_string(path)
        return bytes(out)

    @staticmethod
    def deserialize(_buffer: bytes, _offset: int) -> bool:
        return True


def kazoo_create(op: CreateOp, path: str, entries: AccessList) -> Create:
    """A creation at `path`, which is absolute, with this access list."""
    access_list = [ACL(int(entry.access), Id(entry.scheme, entry.id)) for entry in entries]
    return Create(path, op.data, access_list, (1 if op.ephemeral else 0) | (2 if op.sequence else 0))


def kazoo_operation(op: CheckOp | SetOp | DeleteOp, path: str) -> Any:
    """An operation at `path`, which is absolute."""
    match op:
        case CheckOp():
            return CheckVersion(path, op.version)
        case SetOp():
            return SetData(path, op.data, op.version)
        case DeleteOp():
            return Delete(path, op.version)
