"""What reads the wire: the frames of a stream, and every message in every version.

MalformedMessage is all that a message decoder may raise; a stream gives the frames that were sent, or fails where a
size cannot be.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random

from kafka_py.net.frames_in import RECEIVE_BUFFER_BYTES, FrameReceiver, MemoryPool
from kafka_py.testing.fuzz.cases import Case
from kafka_py.testing.fuzz.mutations import MessageMaker
from kafka_py.wire.__main__ import message_classes
from kafka_py.wire.compiler import decoder, encode
from kafka_py.wire.frames import read_request_header, split_frames
from kafka_py.wire.primitives import MalformedMessage
from kafka_py.wire.schema import Message, schema_of

_SEEDS = 6
_MAX_FRAME = 300_000
_STRINGS = ("", "t", "topic", "ä", "x" * 130)


def wire_cases(chance: Random) -> list[Case]:
    maker = MessageMaker(chance, _STRINGS)
    made = [
        _message_case(cls, version, maker)
        for cls in message_classes()
        for version in range(schema_of(cls).versions[0], schema_of(cls).versions[1] + 1)
    ]
    header = struct.pack(">hhih", 3, 9, 5, 4) + b"test\0\0"
    frames = [_stream([chance.randbytes(size) for size in sizes]) for sizes in _STREAMS]
    every_tenth = max(len(made) // 10, 1)
    return [
        *made,
        *[Case("request header", [header, header[:8] + b"\xff\xff\0"], _read_header)] * every_tenth,
        *[Case("frames of a stream", frames, _frames_feeder())] * every_tenth,
    ]


_STREAMS = ((5,), (0, 0, 3), (100, 20, 7), (70_000,), (10, 70_000, 10), (1, 2, 3, 4, 5, 6, 7, 8))


def _message_case(cls: type[Message], version: int, maker: MessageMaker) -> Case:
    decode = decoder(cls, version)

    def feed(data: bytearray) -> None:
        try:
            decode(data, 0)
        except MalformedMessage:
            pass

    seeds = [encode(maker.make(cls, version), version) for _ in range(_SEEDS)]
    return Case(f"{cls.__name__} v{version}", seeds, feed)


def _read_header(data: bytearray) -> None:
    try:
        read_request_header(data)
    except MalformedMessage:
        pass


def _stream(frames: list[bytes]) -> bytes:
    return b"".join(struct.pack(">i", len(frame)) + frame for frame in frames)


def _frames_feeder() -> Callable[[bytearray], None]:
    """Feeds a stream in pieces to the receiver, and compares with the frames cut out of it at once."""
    buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))

    def feed(data: bytearray) -> None:
        pieces = Random(len(data))
        sent = 0

        def recv_into(target: memoryview) -> int:
            nonlocal sent
            size = min(pieces.choice((1, 3, 50, 100_000)), len(target), len(data) - sent)
            target[:size] = data[sent : sent + size]
            sent += size
            return size

        pool = MemoryPool(1 << 20)
        receiver = FrameReceiver(recv_into, buffer, _MAX_FRAME, pool)
        got: list[bytearray] = []
        while sent < len(data) and receiver.failure is None:
            got += receiver.receive()
        expected, refused = _frames_of(bytes(data))
        assert got == expected, "other frames than were sent"
        assert (receiver.failure is not None) is refused, "failure where none is, or none where one is"
        receiver.close()
        assert pool.used_bytes == 0, "room in the pool is lost"

    return feed


def _frames_of(data: bytes) -> tuple[list[bytearray], bool]:
    """The frames up to the first impossible size, and whether there is one; the client's own cutting must agree."""
    frames: list[bytearray] = []
    rest = bytearray(data)
    while len(rest) >= 4:
        size = int.from_bytes(rest[:4], "big", signed=True)
        if not 0 <= size <= _MAX_FRAME:
            return frames, True
        if len(rest) - 4 < size:
            break
        one = split_frames(bytearray(rest[: 4 + size]), _MAX_FRAME)
        frames += one
        del rest[: 4 + size]
    return frames, False
