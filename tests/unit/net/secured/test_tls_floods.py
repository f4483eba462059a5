"""What a peer can make of an encrypted stream that is cheap for it: tiny records, changes of keys, answers not read."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

import pytest

from kafka_py.net.secured.tls_transport import MOST_ANSWER_BYTES, RECORDS_A_TURN, FileBuffer, TlsTransport
from kafka_py.testing.tls_ends import client_end, contexts, server_end
from kafka_py.testing.tls_records import ClientRecords

ANSWER_BYTES = 27
"""A KeyUpdate: its header, four bytes and one, the kind of the content, and the tag."""


class RawClient:
    """A server's stream after its handshake, and a client that makes its records itself."""

    def __init__(self, folder: Path) -> None:
        server_context, client_context = contexts(folder)
        client_context.keylog_filename = str(folder / "keys")
        left, self.socket = socket.socketpair()
        for each in (left, self.socket):
            each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 256 * 1024)
        loop = asyncio.get_running_loop()
        self.server = TlsTransport(left, server_end(server_context), loop, FileBuffer())
        self._client = TlsTransport(self.socket, client_end(client_context), loop, FileBuffer())
        self._folder = folder

    def shake_hands(self, then: Callable[[ClientRecords], bytes]) -> ClientRecords:
        """then: what leaves together with the client's last message."""
        server, client = self.server, self._client
        assert not client.step()
        client.push()
        server.receive_cipher_text()
        assert not server.step()
        server.push()
        client.receive_cipher_text()
        assert client.step()
        client.push()
        records = ClientRecords(self._folder / "keys")
        self.socket.sendall(then(records))
        server.receive_cipher_text()
        assert server.step()
        server.push()
        self.received()  # the server's ticket
        return records

    def received(self) -> int:
        """Bytes that the server has sent since the last call."""
        count = 0
        try:
            while got := self.socket.recv(65_536):
                count += len(got)
        except BlockingIOError:
            pass
        return count

    def close(self) -> None:
        self.server.close()
        self._client.close()


def nothing(_records: ClientRecords) -> bytes:
    return b""


def on_a_raw_stream(folder: Path, body: Callable[[RawClient], Awaitable[None]]) -> None:
    async def run() -> None:
        client = RawClient(folder)
        try:
            await body(client)
        finally:
            client.close()

    asyncio.run(run())


def test_tiny_records_are_read_some_in_each_turn(tmp_path: Path) -> None:
    data = bytes(range(256)) * 2

    async def body(client: RawClient) -> None:
        records = client.shake_hands(nothing)
        client.socket.sendall(b"".join(records.record(data[at : at + 1]) for at in range(len(data))))
        buffer, got = memoryview(bytearray(4096)), b""
        for _ in range(len(data) // RECORDS_A_TURN):
            count = client.server.recv_into(buffer)
            assert count == RECORDS_A_TURN
            got += buffer[:count]
        assert got == data

    on_a_raw_stream(tmp_path, body)


def test_what_is_left_of_tiny_records_is_reported_as_readable(tmp_path: Path) -> None:
    """All of it has been received: nothing more happens on the socket."""

    async def body(client: RawClient) -> None:
        server = client.server
        records = client.shake_hands(nothing)
        client.socket.sendall(b"".join(records.record(bytes([each % 256])) for each in range(1000)))
        buffer, got, done = memoryview(bytearray(4096)), bytearray(), asyncio.Event()

        def on_readable() -> None:
            try:
                got.extend(buffer[: server.recv_into(buffer)])
            except BlockingIOError:
                return
            if len(got) == 1000:
                done.set()

        server.add_reader(server.fileno, on_readable)
        await asyncio.wait_for(done.wait(), 10)
        assert got == bytes(each % 256 for each in range(1000))

    on_a_raw_stream(tmp_path, body)


@pytest.mark.parametrize(
    ("pieces", "sizes"),
    [([1], [1, 2, 300]), ([1, 4, 5, 24, 25, 1700], [1, 2, 300]), ([1700, 3001], [1]), ([3001, 3002], [1, 2, 300])],
)
def test_records_may_be_cut_anywhere(tmp_path: Path, pieces: list[int], sizes: list[int]) -> None:
    """Within their headers too; each is there as soon as its last byte has arrived."""
    random = Random(1)

    async def body(client: RawClient) -> None:
        server = client.server
        records = client.shake_hands(nothing)
        contents = [random.randbytes(random.choice(sizes)) for _ in range(20 if pieces == [1] else 700)]
        sent = b"".join(map(records.record, contents))
        buffer, got, at = memoryview(bytearray(4096)), bytearray(), 0
        while at < len(sent):
            size = random.choice(pieces)
            client.socket.sendall(sent[at : at + size])
            at += size
            while True:
                try:
                    count = server.recv_into(buffer)
                except BlockingIOError:
                    if not server._holds:
                        break
                else:
                    assert count <= (RECORDS_A_TURN + 1) * max(sizes)  # one may have been given in part before
                    got.extend(buffer[:count])
        assert got == b"".join(contents)

    on_a_raw_stream(tmp_path, body)


@pytest.mark.parametrize("is_with_handshake", [False, True])
def test_changes_of_keys_are_answered_some_in_each_turn(tmp_path: Path, is_with_handshake: bool) -> None:
    def flood(records: ClientRecords) -> bytes:
        updates = (records.key_update(asks_for_one=True) for _ in range(2 * RECORDS_A_TURN))
        return b"".join(updates) + records.record(b"a request")

    async def body(client: RawClient) -> None:
        records = client.shake_hands(flood if is_with_handshake else nothing)
        if not is_with_handshake:
            client.socket.sendall(flood(records))
        buffer, calls = memoryview(bytearray(4096)), 0
        while True:
            calls += 1
            try:
                got = client.server.recv_into(buffer)
            except BlockingIOError:
                assert 0 < client.received() <= RECORDS_A_TURN * ANSWER_BYTES
            else:
                break
        assert (bytes(buffer[:got]), calls) == (b"a request", 3)

    on_a_raw_stream(tmp_path, body)


def test_a_record_that_comes_byte_by_byte_takes_one_turn_after_the_other(tmp_path: Path) -> None:
    """As fast as it is read: the socket always has the next byte."""

    async def body(client: RawClient) -> None:
        server = client.server
        content = bytes(range(256)) * 8
        data = iter(client.shake_hands(nothing).record(content))
        calls: list[int] = []

        def receive(_size: int) -> bytes:
            calls[-1] += 1
            return bytes([next(data)])

        server._receive = receive  # type: ignore[assignment]
        buffer = memoryview(bytearray(4096))
        while True:
            calls.append(0)
            try:
                got = server.recv_into(buffer)
            except BlockingIOError:
                assert server._holds
            else:
                break
        assert buffer[:got] == content
        assert max(calls) <= RECORDS_A_TURN

    on_a_raw_stream(tmp_path, body)


def test_what_is_left_after_a_call_of_its_owner_is_reported_as_readable(tmp_path: Path) -> None:
    """A client that has read much reads on by itself, and not because the stream says that it is readable."""

    async def body(client: RawClient) -> None:
        server, done = client.server, asyncio.Event()
        records = client.shake_hands(nothing)
        buffer = memoryview(bytearray(4096))
        with pytest.raises(BlockingIOError):
            server.recv_into(buffer)
        server.add_reader(server.fileno, done.set)
        client.socket.sendall(b"".join(records.key_update(asks_for_one=False) for _ in range(2 * RECORDS_A_TURN)))
        with pytest.raises(BlockingIOError):
            server.recv_into(buffer)
        await asyncio.wait_for(done.wait(), 10)
        server.remove_reader(server.fileno)

    on_a_raw_stream(tmp_path, body)


def test_what_is_left_when_the_last_record_of_a_turn_fills_the_buffer_is_reported_as_readable(tmp_path: Path) -> None:
    async def body(client: RawClient) -> None:
        server, done = client.server, asyncio.Event()
        records = client.shake_hands(nothing)
        client.socket.sendall(b"".join(records.record(b"x") for _ in range(RECORDS_A_TURN + 1)))
        assert server.recv_into(memoryview(bytearray(RECORDS_A_TURN))) == RECORDS_A_TURN
        server.add_reader(server.fileno, done.set)
        await asyncio.wait_for(done.wait(), 10)
        server.remove_reader(server.fileno)

    on_a_raw_stream(tmp_path, body)


def test_answers_that_are_not_read_end_the_connection(tmp_path: Path) -> None:
    async def body(client: RawClient) -> None:
        server = client.server
        records = client.shake_hands(nothing)
        with pytest.raises(BlockingIOError):
            while True:
                server.send(bytes(65_536))
        buffer = memoryview(bytearray(4096))
        with pytest.raises(ConnectionAbortedError):
            for _ in range(2 * MOST_ANSWER_BYTES // ANSWER_BYTES // RECORDS_A_TURN + 1):
                client.socket.sendall(b"".join(records.key_update(asks_for_one=True) for _ in range(RECORDS_A_TURN)))
                with pytest.raises(BlockingIOError):
                    server.recv_into(buffer)
        assert server._outgoing.pending < MOST_ANSWER_BYTES + 2 * RECORDS_A_TURN * ANSWER_BYTES

    on_a_raw_stream(tmp_path, body)


class CountingLoop:
    """Notes what is to be called, and calls nothing."""

    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []

    def add_reader(self, _fileno: int, _call: Callable[[], None]) -> None:
        pass

    remove_writer = add_reader

    def remove_reader(self, _fileno: int) -> None:
        pass

    def call_soon(self, call: Callable[[], None]) -> None:
        self.soon.append(call)


def test_data_that_keeps_coming_has_one_turn_besides_that_of_its_socket(tmp_path: Path) -> None:
    """The socket is readable while data is held: each of the two turns must not schedule one of its own."""

    async def body(client: RawClient) -> None:
        server, loop = client.server, CountingLoop()
        records = client.shake_hands(nothing)
        server._loop = loop  # type: ignore[assignment]
        server._defer = lambda call, _is_first: loop.call_soon(call)
        client.socket.sendall(records.record(bytes(10_000)))
        buffer = memoryview(bytearray(100))

        def on_readable() -> None:
            server.recv_into(buffer)

        server.add_reader(server.fileno, on_readable)
        for _ in range(5):
            server._read_ready()  # as the loop calls it, because the socket has more
            scheduled, loop.soon = loop.soon, []
            assert len(scheduled) == 1
            for call in scheduled:
                call()
        assert len(loop.soon) == 1
        server._loop = asyncio.get_running_loop()

    on_a_raw_stream(tmp_path, body)


def test_data_that_is_held_waits_for_its_turn_among_all_that_is_deferred(tmp_path: Path) -> None:
    async def body(client: RawClient) -> None:
        server, loop, deferred = client.server, CountingLoop(), list[tuple[Callable[[], None], bool]]()
        records = client.shake_hands(nothing)
        server._loop = loop  # type: ignore[assignment]
        server._defer = lambda call, is_first: deferred.append((call, is_first))
        client.socket.sendall(records.record(bytes(10_000)))
        buffer = memoryview(bytearray(100))

        def on_readable() -> None:
            server.recv_into(buffer)
            server.add_reader(server.fileno, on_readable)  # as when a connection may take more requests again
            during.append(len(deferred))

        during: list[int] = []
        server._holds = False
        server.add_reader(server.fileno, on_readable)
        assert not deferred
        server._read_ready()
        assert [is_first for _, is_first in deferred] == [True]
        deferred.pop()[0]()
        assert [is_first for _, is_first in deferred] == [False]
        assert during == [0, 0]  # it is not one of those that wait while it has its turn
        assert loop.soon == []
        server.remove_reader(server.fileno)
        deferred.pop()[0]()  # no one reads
        server.add_reader(server.fileno, on_readable)
        assert [is_first for _, is_first in deferred] == [False]
        server._loop = asyncio.get_running_loop()

    on_a_raw_stream(tmp_path, body)


def test_who_waits_to_write_learns_that_the_connection_is_lost(tmp_path: Path) -> None:
    """It need not be reading: a client that takes no responses is not read either."""

    async def body(client: RawClient) -> None:
        server, errors = client.server, list[OSError]()
        client.shake_hands(nothing)
        lost = asyncio.Event()

        def on_writable() -> None:
            try:
                server.send(bytes(65_536))
            except BlockingIOError:
                pass
            except OSError as error:
                server.remove_writer(server.fileno)
                errors.append(error)
                lost.set()

        server.add_writer(server.fileno, on_writable)
        with pytest.raises(BlockingIOError):
            while True:
                server.send(bytes(65_536))
        client.socket.close()
        await asyncio.wait_for(lost.wait(), 10)
        assert isinstance(errors[0], ConnectionError)

    on_a_raw_stream(tmp_path, body)
