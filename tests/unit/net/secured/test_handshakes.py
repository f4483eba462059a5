"""Handshakes that do not go as they should."""

import asyncio
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kafka_py.net.event_loop.turns import LoopTurns
from kafka_py.net.secured.handshakes import Handshake, HandshakeFailed, IsShort, explained, never
from kafka_py.net.secured.hello import Flight, flight
from kafka_py.net.secured.short_steps import ShortSteps
from kafka_py.net.secured.tls_transport import FileBuffer, TlsTransport
from kafka_py.testing.tls_ends import client_end, contexts, server_end


def failure(folder: Path, peer: Any, within_s: float = 10.0) -> HandshakeFailed:
    """Why the handshake of a server failed with such a peer, which gets its socket."""

    async def run() -> HandshakeFailed:
        left, right = socket.socketpair()
        loop = asyncio.get_running_loop()
        transport = TlsTransport(left, server_end(contexts(folder)[0]), loop, FileBuffer())
        done: asyncio.Future[HandshakeFailed] = loop.create_future()
        Handshake(transport, loop, None, is_server=True).start(
            lambda: pytest.fail("it succeeded"), done.set_result, within_s
        )
        peer(right)
        try:
            return await asyncio.wait_for(done, 10)
        finally:
            transport.close()
            right.close()

    return asyncio.run(run())


def test_plain_bytes_are_named_as_such(tmp_path: Path) -> None:
    found = failure(tmp_path, lambda peer: peer.send(b"\0\0\0\x20\0\x12\0\3"))
    assert found.is_fatal and "plain bytes" in str(found)


def test_an_http_request_is_plain_bytes(tmp_path: Path) -> None:
    assert "plain bytes" in str(failure(tmp_path, lambda peer: peer.send(b"GET / HTTP/1.1\r\n\r\n")))


def test_a_peer_that_closes_is_no_failed_authentication(tmp_path: Path) -> None:
    found = failure(tmp_path, lambda peer: peer.shutdown(socket.SHUT_WR))
    assert not found.is_fatal and "closed the connection" in str(found)


def test_a_silent_peer_meets_the_deadline_and_costs_no_session(tmp_path: Path) -> None:
    found = failure(tmp_path, lambda peer: None, within_s=0.01)
    assert not found.is_fatal and "was not complete" in str(found)


def test_invalid_handshake_messages_are_fatal(tmp_path: Path) -> None:
    assert failure(tmp_path, lambda peer: peer.send(b"\x16\x03\x01\x00\x04\x01\x00\x00\x00")).is_fatal


def test_a_cancelled_handshake_calls_nothing(tmp_path: Path) -> None:
    async def run() -> None:
        left, right = socket.socketpair()
        loop = asyncio.get_running_loop()
        transport = TlsTransport(left, server_end(contexts(tmp_path)[0]), loop, FileBuffer())
        handshake = Handshake(transport, loop, None, is_server=True)
        handshake.start(lambda: pytest.fail("done"), lambda error: pytest.fail(str(error)))
        right.send(b"plain")
        handshake.cancel()
        transport.close()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        right.close()

    asyncio.run(run())


def test_a_pool_that_was_shut_down_ends_the_handshake(tmp_path: Path) -> None:
    async def run() -> HandshakeFailed:
        left, right = socket.socketpair()
        loop = asyncio.get_running_loop()
        executor = ThreadPoolExecutor(1)
        executor.shutdown()
        transport = TlsTransport(left, server_end(contexts(tmp_path)[0]), loop, FileBuffer())
        done: asyncio.Future[HandshakeFailed] = loop.create_future()
        Handshake(transport, loop, executor, is_server=True).start(lambda: pytest.fail("done"), done.set_result)
        right.send(hello(tmp_path))
        try:
            return await asyncio.wait_for(done, 10)
        finally:
            transport.close()
            right.close()

    assert "shutting down" in str(asyncio.run(run()))


def test_errors_are_explained_in_one_line() -> None:
    missing = ssl.SSLError(1, "[SSL: PEER_DID_NOT_RETURN_A_CERTIFICATE] peer did not return a certificate (_ssl.c:1)")
    missing.reason = "PEER_DID_NOT_RETURN_A_CERTIFICATE"
    assert "ssl.client.auth=required" in str(explained(missing))
    other = ssl.SSLError(1, "[SSL: SOMETHING_NEW] something new")
    other.reason = "SOMETHING_NEW"
    assert str(explained(other)) == "something new"
    assert not explained(ConnectionResetError(104, "Connection reset by peer")).is_fatal


class Observed:
    """A server's handshake whose steps in threads are counted."""

    def __init__(self, folder: Path, is_short: IsShort) -> None:
        self.left, self.right = socket.socketpair()
        loop = asyncio.get_running_loop()
        self.transport = TlsTransport(self.left, server_end(contexts(folder)[0]), loop, FileBuffer())
        self.done: asyncio.Future[HandshakeFailed | None] = loop.create_future()
        self.short_steps = ShortSteps(LoopTurns(loop, time.monotonic))
        self.executor = Counting()
        self.handshake = Handshake(
            self.transport, loop, self.executor, is_server=True, short_steps=self.short_steps, is_short=is_short
        )
        self.handshake.start(lambda: self.done.set_result(None), self.done.set_result, 10.0)

    async def connect(self, context: ssl.SSLContext, first: int | None = None) -> None:
        """A client does its handshake; the first so many bytes of its ClientHello arrive alone."""
        loop, incoming, outgoing = asyncio.get_running_loop(), ssl.MemoryBIO(), ssl.MemoryBIO()
        self.right.setblocking(False)
        end = client_end(context)(incoming, outgoing)
        while True:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                data = outgoing.read()
                if first is not None:
                    await loop.sock_sendall(self.right, data[:first])
                    await self.executor.used.wait()
                    data, first = data[first:], None
                await loop.sock_sendall(self.right, data)
                incoming.write(await loop.sock_recv(self.right, 65_536))
            else:
                await loop.sock_sendall(self.right, outgoing.read())
                return

    def close(self) -> None:
        self.handshake.cancel()
        self.transport.close()
        self.right.close()
        self.executor.shutdown()


class Counting(ThreadPoolExecutor):
    """Counts what it is given. used: set by the first of it."""

    def __init__(self) -> None:
        super().__init__(1)
        self.steps = 0
        self.used = asyncio.Event()

    def submit(self, *given: Any, **named: Any) -> Any:
        self.steps += 1
        self.used.set()
        return super().submit(*given, **named)


def is_known(data: bytes) -> bool:
    return flight(data) is not Flight.OTHER


@pytest.mark.parametrize(
    ("is_short", "first", "threads"),
    [
        (is_known, None, 0),
        (never, None, 2),
        (lambda data: flight(data) is Flight.SHORT_HELLO, None, 1),
        (lambda data: flight(data) is Flight.ENCRYPTED, None, 2),  # after a first step that was not short none is
        (is_known, 20, 3),  # so with a message that came in parts
    ],
)
def test_short_steps_need_no_thread(tmp_path: Path, is_short: IsShort, first: int | None, threads: int) -> None:
    async def run() -> int:
        observed = Observed(tmp_path, is_short)
        try:
            async with asyncio.timeout(10):
                await observed.connect(contexts(tmp_path)[1], first)
                assert await observed.done is None
            return observed.executor.steps
        finally:
            observed.close()

    assert asyncio.run(run()) == threads


def test_early_data_does_not_hide_a_second_hello(tmp_path: Path) -> None:
    """The server wants another group; what it computes for the second ClientHello is done in a thread."""

    async def run() -> None:
        loop, observed, server = asyncio.get_running_loop(), Observed(tmp_path, is_known), contexts(tmp_path)[0]
        server.set_ecdh_curve("secp384r1")
        observed.transport._make = server_end(server)
        observed.right.setblocking(False)
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        end = client_end(contexts(tmp_path)[1])(incoming, outgoing)

        async def answer(data: bytes) -> bytes:
            await loop.sock_sendall(observed.right, data)
            return await loop.sock_recv(observed.right, 65_536)

        try:
            async with asyncio.timeout(10):
                with pytest.raises(ssl.SSLWantReadError):
                    end.do_handshake()
                incoming.write(await answer(with_early_data(outgoing.read())))
                with pytest.raises(ssl.SSLWantReadError):
                    end.do_handshake()
                assert observed.executor.steps == 0
                found = await answer(b"\x17\x03\x03\x00\x20" + bytes(32) + outgoing.read())
            assert found[0] == 0x16, "a ServerHello, no alert: the early data was skipped"
            assert observed.executor.steps == 1
        finally:
            observed.close()

    asyncio.run(run())


def with_early_data(hello: bytes) -> bytes:
    """A ClientHello that announces early data by its first extension."""
    at = 43 + 1 + hello[43]  # after the session id
    at += 2 + int.from_bytes(hello[at : at + 2])
    at += 1 + hello[at]
    extensions = b"\0\x2a\0\0" + hello[at + 2 :]
    message = hello[9:at] + len(extensions).to_bytes(2) + extensions
    return hello[:3] + (len(message) + 4).to_bytes(2) + b"\x01" + len(message).to_bytes(3) + message


def test_an_error_of_a_short_step_fails_the_handshake_and_its_alert_leaves(tmp_path: Path) -> None:
    async def run() -> None:
        observed = Observed(tmp_path, lambda _data: True)
        try:
            observed.right.send(b"\x16\x03\x01\x00\x04\x01\x00\x00\x00")
            found = await asyncio.wait_for(observed.done, 10)
            assert found is not None and found.is_fatal
            observed.right.setblocking(False)
            assert observed.right.recv(100)[0] == 0x15
            assert observed.executor.steps == 0
        finally:
            observed.close()

    asyncio.run(run())


def test_a_short_step_that_waits_for_its_turn_reads_no_more_and_ends_with_its_connection(tmp_path: Path) -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        held, closed = Observed(tmp_path, is_known), Observed(tmp_path, is_known)
        waiting: asyncio.Queue[Any] = asyncio.Queue()
        for each in (held, closed):
            setattr(each.short_steps, "run", waiting.put_nowait)  # noqa: B010  # it is a method; None: it has to wait
        try:
            client = loop.create_task(held.connect(contexts(tmp_path)[1]))
            closed.right.send(hello(tmp_path))
            steps = [await asyncio.wait_for(waiting.get(), 10) for _ in range(2)]
            for each in (held, closed):
                assert not loop.remove_reader(each.left.fileno()), "it is still read"
            closed.handshake.cancel()
            closed.transport.close()
            for step in steps:
                step()
            assert not closed.done.done()
            assert closed.transport._tls is None, "nothing is computed for it"
            setattr(held.short_steps, "run", lambda step: step() is None)  # noqa: B010
            async with asyncio.timeout(10):
                await client
                assert await held.done is None
        finally:
            held.close()
            closed.close()

    asyncio.run(run())


def hello(folder: Path) -> bytes:
    """What a client sends first."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    end = client_end(contexts(folder)[1])(incoming, outgoing)
    with pytest.raises(ssl.SSLWantReadError):
        end.do_handshake()
    return outgoing.read()


def test_changed_and_cut_first_messages_fail_and_nothing_else_happens(tmp_path: Path) -> None:
    """Each of them ends its own handshake, by an error or at the deadline."""
    whole, rng = hello(tmp_path), Random(7)

    async def one(context: ssl.SSLContext, data: bytes) -> HandshakeFailed:
        left, right = socket.socketpair()
        loop = asyncio.get_running_loop()
        transport = TlsTransport(left, server_end(context), loop, FileBuffer())
        done: asyncio.Future[HandshakeFailed] = loop.create_future()
        handshake = Handshake(transport, loop, None, is_server=True)
        handshake.start(lambda: pytest.fail("it succeeded"), done.set_result, 2.0)
        right.send(data)
        try:
            return await asyncio.wait_for(done, 10)
        finally:
            transport.close()
            right.close()

    async def run() -> None:
        context = contexts(tmp_path)[0]
        changed: list[bytes] = []
        for _ in range(150):
            data = bytearray(whole)
            for _ in range(rng.randrange(1, 20)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            changed.append(bytes(data[: rng.randrange(1, len(data) + 1)] if rng.random() < 0.3 else data))
        alert = b"\x15\x03\x03\x00\x02\x02\x28"
        changed += [b"\x16\x03\x01\xff\xff" + bytes(65_000), b"\x16" * 5, whole + whole, alert]
        found = await asyncio.gather(*(one(context, data) for data in changed))
        assert all(isinstance(each, HandshakeFailed) for each in found)
        assert any(each.is_fatal for each in found), "not all of them are only late"

    asyncio.run(run())
