"""Handshakes that do not go as they should."""

import asyncio
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kafka_py.net.secured.handshakes import Handshake, HandshakeFailed, explained
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
