"""An encrypted stream between two transports over a socket pair."""

import asyncio
import os
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest

from kafka_py.base.slices import FileSlice
from kafka_py.net.secured.handshakes import Handshake, HandshakeFailed
from kafka_py.net.secured.tls_transport import CHUNK_BYTES, TURN_BYTES, FileBuffer, TlsTransport
from kafka_py.net.transport import MSG_MORE
from kafka_py.testing.tls_ends import client_end, contexts, server_end


async def secured(transport: TlsTransport, *, is_server: bool) -> None:
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    Handshake(transport, asyncio.get_running_loop(), None, is_server=is_server).start(
        lambda: done.set_result(None), done.set_exception
    )
    await done


class CountingSocket(socket.socket):
    """Counts how often it is asked for data."""

    asked = 0

    def recv(self, *arguments: Any) -> bytes:
        self.asked += 1
        return super().recv(*arguments)


class Stream:
    """A client and a server after their handshake."""

    def __init__(self, server: TlsTransport, client: TlsTransport) -> None:
        self.server = server
        self.client = client

    @classmethod
    async def open(cls, folder: Path) -> "Stream":
        server_context, client_context = contexts(folder)
        left, right = socket.socketpair()
        loop = asyncio.get_running_loop()
        server = TlsTransport(left, server_end(server_context), loop, FileBuffer())
        client = TlsTransport(right, client_end(client_context), loop, FileBuffer())
        await asyncio.gather(secured(server, is_server=True), secured(client, is_server=False))
        return cls(server, client)

    def close(self) -> None:
        self.server.close()
        self.client.close()


async def received(transport: TlsTransport, size: int, *, at_a_time: int = 70_000) -> bytes:
    """What arrives, read as a connection does it: once for each time it is said to be readable."""
    data = bytearray()
    buffer = memoryview(bytearray(at_a_time))
    done = asyncio.Event()

    def on_readable() -> None:
        try:
            got = transport.recv_into(buffer)
        except BlockingIOError:
            return
        data.extend(buffer[:got])
        if not got or len(data) >= size:
            transport.remove_reader(transport.fileno)
            done.set()

    transport.add_reader(transport.fileno, on_readable)
    await asyncio.wait_for(done.wait(), 10)
    return bytes(data)


async def sent(transport: TlsTransport, data: bytes, flags: int = 0) -> None:
    """All of it, as a connection sends it: on when the socket takes more."""
    view, done = memoryview(data), asyncio.Event()

    def go_on() -> None:
        nonlocal view
        try:
            view = view[transport.send(view, flags) :]
        except BlockingIOError:
            return
        if not view:
            transport.remove_writer(transport.fileno)
            done.set()

    transport.add_writer(transport.fileno, go_on)
    await asyncio.wait_for(done.wait(), 10)


def waiting(transport: TlsTransport) -> int:
    """Bytes that have arrived and were not received: at first those of the server's ticket."""
    return len(transport._socket.recv(65_536, socket.MSG_PEEK))


def on_a_stream(folder: Path, body: Any) -> None:
    async def run() -> None:
        stream = await Stream.open(folder)
        try:
            await body(stream)
        finally:
            stream.close()

    asyncio.run(run())


@pytest.mark.parametrize("size", [1, 16_384, 70_001, 3 * TURN_BYTES])
def test_data_arrives_whole_in_both_directions(tmp_path: Path, size: int) -> None:
    data = os.urandom(size)

    async def body(stream: Stream) -> None:
        for one, other in ((stream.client, stream.server), (stream.server, stream.client)):
            _, arrived = await asyncio.gather(sent(one, data), received(other, size))
            assert arrived == data

    on_a_stream(tmp_path, body)


def test_a_socket_that_had_less_than_it_was_asked_for_is_not_asked_again(tmp_path: Path) -> None:
    async def run() -> None:
        server_context, client_context = contexts(tmp_path)
        left, right = socket.socketpair()
        counting = CountingSocket(fileno=left.detach())
        loop = asyncio.get_running_loop()
        server = TlsTransport(counting, server_end(server_context), loop, FileBuffer())
        client = TlsTransport(right, client_end(client_context), loop, FileBuffer())
        await asyncio.gather(secured(server, is_server=True), secured(client, is_server=False))
        buffer = memoryview(bytearray(70_000))
        with pytest.raises(BlockingIOError):
            server.recv_into(buffer)
        counting.asked = 0
        for size in (1, 100, 16_384, 40_000):
            await sent(client, bytes(size))
            assert server.recv_into(buffer) == size
        assert counting.asked == 4
        server.close()
        client.close()

    asyncio.run(run())


@pytest.mark.parametrize("taken", [1, 4_096, 16_383, 16_384])
def test_what_was_not_taken_of_a_record_is_reported_as_readable(tmp_path: Path, taken: int) -> None:
    """The socket has nothing more, so that its readiness alone would never come."""
    data = os.urandom(16_384)

    async def body(stream: Stream) -> None:
        await sent(stream.client, data)
        assert await received(stream.server, len(data), at_a_time=taken) == data

    on_a_stream(tmp_path, body)


def test_both_sides_may_send_much_before_either_reads(tmp_path: Path) -> None:
    data = os.urandom(4 * TURN_BYTES)

    async def body(stream: Stream) -> None:
        results = await asyncio.gather(
            sent(stream.client, data), sent(stream.server, data),
            received(stream.server, len(data)), received(stream.client, len(data)),
        )  # fmt: skip
        assert results[2:] == [data, data]

    on_a_stream(tmp_path, body)


def test_what_the_socket_did_not_take_is_bounded_and_refuses_more(tmp_path: Path) -> None:
    async def body(stream: Stream) -> None:
        data = bytes(TURN_BYTES)
        for _ in range(100):
            try:
                stream.server.send(data)
            except BlockingIOError:
                break
        else:
            raise AssertionError("the socket took everything")
        assert stream.server._unsent is not None and len(stream.server._unsent) <= CHUNK_BYTES * 1.1

    on_a_stream(tmp_path, body)


def test_data_that_is_held_decrypted_is_reported_without_a_further_byte_on_the_socket(tmp_path: Path) -> None:
    async def body(stream: Stream) -> None:
        stream.client.send(b"x" * 10_000)
        assert await received(stream.server, 10_000, at_a_time=7) == b"x" * 10_000

    on_a_stream(tmp_path, body)


def test_a_header_marked_as_incomplete_leaves_with_the_slice_after_it(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    data = os.urandom(3 * CHUNK_BYTES)
    path.write_bytes(b"before" + data + b"after")

    async def body(stream: Stream) -> None:
        with path.open("rb") as file:
            part = FileSlice(file, 6, len(data))
            before = waiting(stream.client)
            assert stream.server.send(b"head", MSG_MORE) == 4
            assert waiting(stream.client) == before
            reading = asyncio.create_task(received(stream.client, 4 + len(data)))
            done = 0
            while done < len(data):
                try:
                    done += stream.server.send_file(part, done)
                except BlockingIOError:
                    pass
                await asyncio.sleep(0)
            assert await reading == b"head" + data

    on_a_stream(tmp_path, body)


def test_a_file_that_is_shorter_than_its_slice_sends_nothing_past_its_end(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(b"short")

    async def body(stream: Stream) -> None:
        with path.open("rb") as file:
            part = FileSlice(file, 0, 100)
            assert stream.server.send_file(part, 0) == 5
            assert stream.server.send_file(part, 5) == 0

    on_a_stream(tmp_path, body)


def test_many_buffers_leave_together(tmp_path: Path) -> None:
    async def body(stream: Stream) -> None:
        assert stream.client.sendmsg([b"ab", b"", bytearray(b"cd"), memoryview(b"ef")], ()) == 6
        assert await received(stream.server, 6) == b"abcdef"
        assert stream.client.sendmsg([bytes(TURN_BYTES - 1), bytes(10)], ()) <= TURN_BYTES

    on_a_stream(tmp_path, body)


def test_the_end_of_the_stream_is_reported_after_the_last_data(tmp_path: Path) -> None:
    async def body(stream: Stream) -> None:
        stream.client.send(b"last words")
        stream.client.close()
        assert await received(stream.server, 1_000) == b"last words"

    on_a_stream(tmp_path, body)


def test_a_client_that_says_goodbye_and_keeps_its_socket_open_has_ended(tmp_path: Path) -> None:
    async def body(stream: Stream) -> None:
        client = stream.client
        with pytest.raises(BlockingIOError):
            stream.server.recv_into(memoryview(bytearray(10)))
        client.send(b"last words")
        assert client._tls is not None
        with pytest.raises(ssl.SSLWantReadError):
            client._tls.unwrap()
        client.push()
        assert await received(stream.server, 1_000) == b"last words"

    on_a_stream(tmp_path, body)


def test_a_stream_says_goodbye_when_it_is_closed(tmp_path: Path) -> None:
    async def body(stream: Stream) -> None:
        before = waiting(stream.client)
        stream.server.close()
        assert waiting(stream.client) > before

    on_a_stream(tmp_path, body)


def test_the_socket_is_watched_only_while_it_has_to_take_more(tmp_path: Path) -> None:
    """Else the loop would find it writable again and again."""

    async def body(stream: Stream) -> None:
        server, sent = stream.server, 0
        with pytest.raises(BlockingIOError):
            while True:
                sent += server.send(bytes(65_536))
        assert server._watches
        await received(stream.client, sent)
        assert not server._watches

    on_a_stream(tmp_path, body)


def test_changed_cipher_text_ends_the_stream_with_an_error(tmp_path: Path) -> None:
    async def body(stream: Stream) -> None:
        stream.client._socket.send(b"\x17\x03\x03\x00\x20" + bytes(32))
        with pytest.raises(OSError):
            await asyncio.sleep(0)
            stream.server.recv_into(memoryview(bytearray(100)))

    on_a_stream(tmp_path, body)


def test_a_client_that_does_not_trust_the_certificate_fails_and_the_server_learns_why(tmp_path: Path) -> None:
    async def run() -> None:
        server_context, client_context = contexts(tmp_path)
        left, right = socket.socketpair()
        loop = asyncio.get_running_loop()
        server = TlsTransport(left, server_end(server_context), loop, FileBuffer())
        client = TlsTransport(right, client_end(client_context, "elsewhere"), loop, FileBuffer())
        at_server, at_client = await asyncio.gather(
            secured(server, is_server=True), secured(client, is_server=False), return_exceptions=True
        )
        server.close()
        client.close()
        assert isinstance(at_client, HandshakeFailed) and at_client.is_fatal
        assert "not valid for 'elsewhere'" in str(at_client)
        assert isinstance(at_server, HandshakeFailed)
        assert "refused this side's certificate" in str(at_server)

    asyncio.run(run())


def test_what_came_before_a_reset_is_read(tmp_path: Path) -> None:
    """As on a listener without TLS."""

    async def run() -> None:
        stream = await Stream.open(tmp_path)
        assert stream.client.send(b"x" * 1000) == 1000
        server: Any = stream.server
        receive, calls = server._receive, iter([True])

        def reset_after_one(size: int) -> bytes:
            if next(calls, False):
                return receive(size)
            raise ConnectionResetError("reset by the peer")

        server._receive = reset_after_one
        assert server.recv_into(memoryview(bytearray(4096))) == 1000
        with pytest.raises(ConnectionResetError):
            server.recv_into(memoryview(bytearray(4096)))
        stream.close()

    asyncio.run(run())
