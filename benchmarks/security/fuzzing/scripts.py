"""What is sent over one connection, with other changes each time; and how many of its frames the broker has read.

A script is prepared once and sent many times. Each time every frame gets another correlation id and another byte at one
of the places where that does not hide the frames behind it, and some frames get another byte anywhere in their bodies.
Pure: knows no socket.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

MOST_FRAMES = 127
"""In one script: the lower bits of a correlation id say which frame of the script an answer belongs to."""
_PUT_ID = struct.Struct(">i").pack_into
_SIZE = struct.Struct(">i").unpack_from
_ID_AND_ERROR = struct.Struct(">ih").unpack_from
_CONTINUES = frozenset((0, 35, 42))
"""Error codes after which a login continues: none; UNSUPPORTED_VERSION and INVALID_REQUEST, of ApiVersions."""
_TLS_HANDSHAKE_RECORD = 22


class Frame(NamedTuple):
    """data: with its size. body: where what follows the header begins. places: bytes that may have any ASCII value.

    is_numbered: whether it has a correlation id, which may be any.
    """

    data: bytes
    body: int
    places: Sequence[int] = ()
    is_numbered: bool = True


class Script:
    """The frames of one burst, in one piece.

    ends: whether this side of the connection is closed behind it. changed: how many frames get another byte anywhere in
    their bodies. outside: so many frames, the first ones, are sent before the exchange that is meant. is_tls: these are
    records of TLS.
    """

    __slots__ = ("_bodies", "_changed", "_data", "_ids", "_places", "count", "ends", "is_tls", "outside")

    def __init__(
        self, frames: Sequence[Frame], *, ends: bool = True, changed: int = 0, outside: int = 0, is_tls: bool = False
    ) -> None:
        assert len(frames) <= MOST_FRAMES
        self.count, self.ends, self.outside, self.is_tls = len(frames), ends, outside, is_tls
        self._changed = changed
        self._data = b"".join(frame.data for frame in frames)
        self._ids: list[tuple[int, int]] = []
        self._places: list[list[int]] = []
        self._bodies: list[tuple[int, int]] = []
        start = 0
        for index, frame in enumerate(frames):
            if frame.is_numbered:
                self._ids.append((index, start + 8))
            if frame.places:
                self._places.append([start + place for place in frame.places])
            if len(frame.data) > frame.body:
                self._bodies.append((start + frame.body, len(frame.data) - frame.body))
            start += len(frame.data)

    def fill(self, serial: int, chance: Random) -> bytearray:
        """The bytes to send this time. serial: below 2**24; the frames have correlation ids of it."""
        data, random = bytearray(self._data), chance.random
        first = serial << 7
        for index, place in self._ids:
            _PUT_ID(data, place, first | index)
        for places in self._places:
            data[places[int(random() * len(places))]] = int(random() * 128)
        for _ in range(self._changed):
            start, size = self._bodies[int(random() * len(self._bodies))]
            data[start + int(random() * size)] = int(random() * 256)
        return data


class Answers:
    """Counts answers in a stream that arrives in pieces, by their sizes.

    last_index: of the last one whose correlation id has `serial`, -1 before the first. last_error: the two bytes behind
    the correlation id of the last one.
    """

    __slots__ = ("_skip", "_tail", "count", "first_byte", "last_error", "last_index", "serial")

    def __init__(self, serial: int) -> None:
        self.serial = serial
        self.count = self.last_error = 0
        self.last_index = self.first_byte = -1
        self._tail = b""
        self._skip = 0

    def take(self, data: bytes) -> None:
        if self.first_byte < 0:
            self.first_byte = data[0]
        if self._skip >= len(data):
            self._skip -= len(data)
            return
        at, self._skip = self._skip, 0
        if self._tail:
            data, self._tail = self._tail + data, b""
        end = len(data)
        while at < end:
            if end - at < 10 and (end - at < 4 or end - at < 4 + _SIZE(data, at)[0]):
                self._tail = data[at:]
                return
            (size,) = _SIZE(data, at)
            self.count += 1
            self.last_error = 0
            if size >= 6:
                id, self.last_error = _ID_AND_ERROR(data, at + 4)
                if id >> 7 == self.serial:
                    self.last_index = id & MOST_FRAMES
            at += 4 + size
        self._skip = at - end


def read_of_login(script: Script, answers: Answers, *, is_over: bool) -> int:
    """How many frames of a script before or during a login the broker has certainly read.

    Those that it answered; and if the broker has closed the connection, and not because of what it answered last, the
    one after those. is_over: whether it has.
    """
    if script.is_tls:
        return min(1 + (answers.first_byte == _TLS_HANDSHAKE_RECORD), script.count) if is_over else 0
    ended_it = is_over and answers.last_error in _CONTINUES
    return min(answers.count + ended_it, script.count)


def read_of_requests(script: Script, answers: Answers, *, is_over: bool) -> int:
    """The same of a script of requests: those up to the last answered one, and the one that ended the connection."""
    return min(answers.last_index + 1 + is_over, script.count)
