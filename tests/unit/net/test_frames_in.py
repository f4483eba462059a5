"""A byte stream into frames, whatever the pieces it comes in."""

import random
import struct
import tracemalloc

import pytest

from kafka_py.net.frames_in import (
    DIRECT_BYTES,
    FIRST_READ_BYTES,
    FIRST_STEP_BYTES,
    RECEIVE_BUFFER_BYTES,
    FrameReceiver,
    MemoryPool,
    PeerClosed,
)

MiB = 1024 * 1024


class Stream:
    """What a peer sends: pieces that arrive one by one, b"" for its end."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = list(pieces)

    def recv_into(self, buffer: memoryview) -> int:
        if not self.pieces:
            raise BlockingIOError
        piece = self.pieces[0]
        count = min(len(piece), len(buffer))
        buffer[:count] = piece[:count]
        if count < len(piece):
            self.pieces[0] = piece[count:]
        else:
            del self.pieces[0]
        return count


def receiver(stream: Stream, *, max_bytes: int = 100 * MiB, pool: MemoryPool | None = None) -> FrameReceiver:
    buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
    return FrameReceiver(stream.recv_into, buffer, max_bytes, pool or MemoryPool())


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def read_all(frames: FrameReceiver) -> list[bytearray]:
    found: list[bytearray] = []
    while True:
        try:
            found += frames.receive()
        except BlockingIOError:
            return found


BODIES = [b"", b"a", b"bc" * 100, bytes(1000), b"x" * DIRECT_BYTES, b"y" * (DIRECT_BYTES + 1), b"z" * 700_000, b"end"]


def test_whole() -> None:
    frames = read_all(receiver(Stream(b"".join(map(framed, BODIES)))))
    assert frames == BODIES
    assert all(type(frame) is bytearray for frame in frames)


def test_byte_by_byte() -> None:
    bodies = [b"", b"a", b"bc" * 100]
    stream = b"".join(map(framed, bodies))
    assert read_all(receiver(Stream(*(stream[at : at + 1] for at in range(len(stream)))))) == bodies


def test_in_random_pieces() -> None:
    chance = random.Random(3)
    stream = b"".join(map(framed, BODIES * 3))
    for _ in range(20):
        pieces: list[bytes] = []
        at = 0
        while at < len(stream):
            size = chance.choice((1, 3, 100, 5_000, 70_000, 300_000))
            pieces.append(stream[at : at + size])
            at += size
        assert read_all(receiver(Stream(*pieces))) == BODIES * 3


def test_every_frame_has_its_own_memory() -> None:
    first, second = read_all(receiver(Stream(framed(b"one") + framed(b"two"))))
    first[0] = 0
    assert second == b"two"


def test_two_connections_share_one_buffer() -> None:
    buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
    a = FrameReceiver(Stream(framed(b"first")[:6], framed(b"first")[6:]).recv_into, buffer, 100, MemoryPool())
    b = FrameReceiver(Stream(framed(b"other")[:5], framed(b"other")[5:]).recv_into, buffer, 100, MemoryPool())
    assert a.receive() == b.receive() == []
    assert a.receive() == [b"first"]
    assert b.receive() == [b"other"]


@pytest.mark.parametrize("size", [-1, -(2**31), 1001, 2**31 - 1])
def test_a_size_that_is_negative_or_over_the_limit_is_a_failure_after_the_good_frames(size: int) -> None:
    frames = receiver(Stream(framed(b"good") + struct.pack(">i", size) + b"more"), max_bytes=1000)
    assert frames.receive() == [b"good"]
    assert frames.failure is not None
    assert str(size) in str(frames.failure)


def test_a_large_frame_is_refused_by_its_first_bytes_before_memory_is_taken_for_it() -> None:
    asked: list[tuple[int, int]] = []

    def fault(key: int, size: int) -> str | None:
        asked.append((key, size))
        return "too large for its API" if key == 3 else None

    def receive(*pieces: bytes) -> FrameReceiver:
        pool = MemoryPool(100 * MiB)
        buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        frames = FrameReceiver(Stream(*pieces).recv_into, buffer, 100 * MiB, pool, fault)
        assert read_all(frames) == []
        assert (frames.failure is not None) is (pool.used_bytes == 0)
        return frames

    start = struct.pack(">ih", 50 * MiB, 3)
    for pieces in ((start,), (start[:4], start[4:]), (start[:5], start[5:]), (start + bytes(1000),)):
        assert str(receive(*pieces).failure) == "too large for its API"
    assert receive(struct.pack(">ih", 50 * MiB, 0)).failure is None
    assert set(asked) == {(3, 50 * MiB), (0, 50 * MiB)}


def test_a_frame_of_exactly_the_limit_is_taken() -> None:
    assert read_all(receiver(Stream(framed(bytes(1000))), max_bytes=1000)) == [bytes(1000)]


def test_the_end_of_the_stream() -> None:
    for pieces in ((b"",), (framed(b"abc")[:5], b""), (framed(bytes(MiB))[:DIRECT_BYTES], b"")):
        frames = receiver(Stream(*pieces))
        with pytest.raises(PeerClosed):
            for _ in range(3):
                frames.receive()


def test_a_lie_about_the_size_allocates_little() -> None:
    liars = [receiver(Stream(struct.pack(">i", 100 * MiB) + b"x" * 100)) for _ in range(10)]
    tracemalloc.start()
    try:
        for liar in liars:
            liar.receive()
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size < 10 * (FIRST_STEP_BYTES + 10_000)


def test_memory_grows_with_what_arrived_and_ends_at_the_exact_size() -> None:
    body = random.Random(1).randbytes(3 * MiB)
    stream = Stream(*(framed(body)[at : at + 50_000] for at in range(0, len(body) + 4, 50_000)))
    frames = receiver(stream)
    found: list[bytearray] = []
    while not found:
        found = frames.receive()
        if frames._frame is not None:
            assert len(frames._frame) <= max(FIRST_STEP_BYTES, 4 * frames._filled)
    assert found == [body]


def test_a_connection_that_delivered_large_frames_gets_their_room_at_once() -> None:
    frames = receiver(Stream(framed(bytes(MiB)), framed(bytes(MiB))[:300_000]))
    assert read_all(frames) == [bytes(MiB)]
    assert frames._frame is not None
    assert len(frames._frame) == MiB


def test_after_a_large_frame_little_is_read_of_the_next_before_its_size_is_known() -> None:
    stream = Stream(framed(b"x" * 500_000), framed(b"y" * 500_000), framed(b"small") * 2000, framed(b"end"))
    frames = receiver(stream)
    reads = []
    while stream.pieces:
        found = [len(frame) for frame in frames.receive()]
        reads.append((frames.received_bytes, found))
    assert reads[:4] == [
        (RECEIVE_BUFFER_BYTES, []),
        (500_004 - RECEIVE_BUFFER_BYTES, [500_000]),
        (FIRST_READ_BYTES, []),
        (500_004 - FIRST_READ_BYTES, [500_000]),
    ]
    assert reads[4][0] == FIRST_READ_BYTES  # small ones follow after all: from then on all that is there
    assert reads[5][0] == 2000 * 9 - FIRST_READ_BYTES
    assert sum(reads[4][1] + reads[5][1]) == 2000 * 5


def test_a_full_pool_makes_large_frames_wait_and_small_ones_not() -> None:
    pool = MemoryPool(MiB)
    first = receiver(Stream(framed(bytes(MiB))[:300_000], framed(bytes(MiB))[300_000:]), pool=pool)
    second = receiver(Stream(framed(b"small") + framed(b"l" * 500_000)), pool=pool)
    assert first.receive() == []
    assert pool.available_bytes == 0
    assert second.receive() == [b"small"]
    assert second.is_starved
    woken: list[str] = []
    pool.wait(lambda: woken.append("second"))
    assert read_all(first) == [bytes(MiB)]
    assert woken == ["second"]
    second.resume()
    assert not second.is_starved
    assert read_all(second) == [b"l" * 500_000]
    assert pool.used_bytes == 0


def test_waiters_are_served_in_order_and_only_while_there_is_room() -> None:
    pool = MemoryPool(100)
    woken: list[int] = []

    def waiter(number: int) -> None:
        woken.append(number)
        pool.take(100)

    assert pool.take(100)
    assert not pool.take(1)
    pool.wait(lambda: waiter(1))
    second = lambda: waiter(2)  # noqa: E731
    pool.wait(second)
    pool.wait(lambda: waiter(3))
    pool.give_back(100)
    assert woken == [1]
    pool.stop_waiting(second)
    pool.give_back(100)
    assert woken == [1, 3]


def test_closing_gives_the_room_back() -> None:
    pool = MemoryPool(MiB)
    frames = receiver(Stream(framed(bytes(MiB))[:300_000]), pool=pool)
    frames.receive()
    assert pool.used_bytes == MiB
    frames.close()
    frames.close()
    assert pool.used_bytes == 0
