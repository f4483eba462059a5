"""Between kazoo's thread and the loop."""

import asyncio
import socket
import ssl
import threading

import pytest
from kazoo.handlers.threading import KazooTimeoutError

from kafka_py.testing.tls_ends import contexts
from kafka_py.zk import kazoo_bridge
from kafka_py.zk.kazoo_bridge import Bell, BufferedSocket, LoopHandler, LoopInbox, TlsSocket


def test_what_threads_post_runs_on_the_loop_in_order_and_failures_stop_nothing():
    async def run():
        inbox = LoopInbox(asyncio.get_running_loop())
        got, done = [], asyncio.Event()

        def take(number):
            got.append((number, threading.current_thread() is threading.main_thread()))
            if number == 5:
                raise RuntimeError("a bug in whoever is called")
            if number == 999:
                done.set()

        def post():
            for number in range(1000):
                inbox.post(take, number)

        threading.Thread(target=post).start()
        await done.wait()
        assert got == [(number, True) for number in range(1000)]

    asyncio.run(run())


def test_posts_to_a_closed_loop_are_dropped():
    loop = asyncio.new_event_loop()
    inbox = LoopInbox(loop)
    loop.close()
    inbox.post(print, "never")


@pytest.fixture
def link():
    near, far = socket.socketpair()
    near.setblocking(False)
    yield BufferedSocket(near), far
    near.close()
    far.close()


def test_reads_are_taken_from_what_has_arrived(link):
    near, far = link
    far.sendall(b"0123456789")
    assert (near.recv(4), near.pending()) == (b"0123", 6)
    far.sendall(b"ab")
    assert (near.recv(100), near.pending()) == (b"456789", 0)
    assert near.recv(1) == b"a"
    assert near.recv(1) == b"b"
    with pytest.raises(BlockingIOError):
        near.recv(1)
    far.close()
    assert near.recv(1) == b""


def test_select_sees_what_is_buffered_and_what_is_not(link):
    near, far = link
    handler = LoopHandler(1)
    writer, reader = Bell.pair()
    assert handler.select([near, reader], [], [], 0) == ([], [], [])
    writer.send(b"\0\0")
    assert handler.select([near, reader], [], [], 5) == ([reader], [], [])
    assert reader.recv(1) == reader.recv(1) == b"\0"
    assert handler.select([near, reader], [], [], 0) == ([], [], [])
    far.sendall(b"xy")
    assert handler.select([near, reader], [], [], 5) == ([near], [], [])
    near.recv(1)
    assert handler.select([near, reader], [], [], None) == ([near], [], [])
    writer.close()
    reader.close()
    with pytest.raises(ValueError, match="file descriptor"):
        writer.send(b"\0")


def test_a_bell_is_rung_any_number_of_times_without_waiting():
    """A socket pair would block after a few hundred bytes, and with it the loop."""
    writer, reader = Bell.pair()
    for _ in range(100_000):
        writer.send(b"\0")
    assert reader.recv(1) == b"\0"
    writer.close()
    reader.close()


def test_a_write_waits_for_room_but_not_for_ever(link):
    near, far = link
    LoopHandler(1).select([], [near], [], 0.01)
    with pytest.raises(KazooTimeoutError):
        while True:
            near.send(bytes(1 << 16))

    def drain():
        while not far.recv(1 << 16).endswith(b"x"):
            pass

    near.allow_write(10)
    reader = threading.Thread(target=drain)
    reader.start()
    assert near.send(b"x") == 1
    reader.join()


def test_a_barred_handler_makes_no_connection():
    with socket.create_server(("127.0.0.1", 0)) as server:
        handler = LoopHandler(1)
        handler.create_connection(server.getsockname(), 5).close()
        handler.bar()
        with pytest.raises(OSError, match="expired"):
            handler.create_connection(server.getsockname(), 5)


def test_the_wait_for_a_first_answer_is_short_and_doubles_until_there_is_one(monkeypatch):
    monkeypatch.setattr(kazoo_bridge, "FIRST_ANSWER_S", 0.01)
    handler, waits = LoopHandler(1), []

    def readable(readers, timeout_s):
        waits.append(timeout_s)
        return readers if timeout_s is None or timeout_s > 0.05 else []

    monkeypatch.setattr(kazoo_bridge, "_readable", readable)
    with socket.create_server(("127.0.0.1", 0)) as server:
        for _ in range(4):
            handler.select([handler.create_connection(server.getsockname(), 5)], [], [], 18)
        answered = handler.create_connection(server.getsockname(), 5)
        peer = [server.accept()[0] for _ in range(5)][-1]
        peer.sendall(b"x")
        answered.recv(1)
        handler.select([answered], [], [], 18)  # it has been answered: the limit is the caller's
        handler.select([handler.create_connection(server.getsockname(), 5)], [], [], 18)  # short again
        handler.select([handler.create_connection(server.getsockname(), 5)], [], [], 0.001)  # the caller's, if shorter
    assert waits == [0.01, 0.02, 0.04, 0.08, 18, 0.01, 0.001]


def test_a_connection_that_is_not_accepted_is_waited_for_longer_each_time(monkeypatch):
    monkeypatch.setattr(kazoo_bridge, "FIRST_ANSWER_S", 0.01)
    handler, waits = LoopHandler(2), []

    def connect(_address, timeout_s):
        waits.append(timeout_s)
        raise TimeoutError

    monkeypatch.setattr(kazoo_bridge.socket, "create_connection", connect)
    for total_s in (18, 18, 18, 0.02):
        with pytest.raises(TimeoutError):
            handler.create_connection(("127.0.0.1", 1), total_s)
    assert waits == [0.01, 0.02, 0.04, 0.01]  # the last: half of the whole, one of two servers


@pytest.fixture
def tls_link(tmp_path):
    """Both ends of a connection with TLS; the near one as kazoo gets it, with the errors that it reports."""
    server, client = contexts(tmp_path)
    near, far = socket.socketpair()
    ends = []
    thread = threading.Thread(target=lambda: ends.append(server.wrap_socket(far, server_side=True)))
    thread.start()
    secured = client.wrap_socket(near, server_hostname="localhost")
    thread.join()
    errors = []
    link = TlsSocket(secured, errors.append)
    link.setblocking(False)
    yield link, ends[0], errors
    secured.close()
    ends[0].close()


def test_a_secured_connection_reads_what_is_decrypted_without_waiting(tls_link):
    link, far, errors = tls_link
    far.sendall(b"0123456789")
    handler = LoopHandler(1)
    assert handler.select([link], [], [], 5) == ([link], [], [])
    assert (read_some(link, 4), link.pending()) == (b"0123", 6)
    assert handler.select([link], [], [], 5) == ([link], [], [])
    assert link.recv(100) == b"456789"
    with pytest.raises(ssl.SSLWantReadError):
        link.recv(1)
    assert errors == []


def read_some(link, size):
    """Reads once there is data: what comes first may be about the session only."""
    while True:
        try:
            return link.recv(size)
        except ssl.SSLWantReadError:
            continue


def test_a_secured_write_waits_for_room_but_not_for_ever(tls_link):
    link, far, _ = tls_link
    link.allow_write(0.01)
    with pytest.raises(KazooTimeoutError):
        while True:
            link.send(bytes(1 << 14))
    got = []

    def drain():
        while not (got and got[-1].endswith(b"x")):
            got.append(far.recv(1 << 16))

    link.allow_write(10)
    reader = threading.Thread(target=drain)
    reader.start()
    assert link.send(bytes(1 << 14)) == 1 << 14  # the same piece again: OpenSSL has kept it
    assert link.send(b"x") == 1
    reader.join()


def test_a_secured_connection_is_broken_from_any_thread_and_reads_its_end(tls_link):
    link, _, _ = tls_link
    link.shutdown()
    assert read_some(link, 1) == b""


def test_errors_of_tls_are_reported_and_raised(tls_link):
    link, far, errors = tls_link
    plain = socket.socket(fileno=far.detach())
    plain.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    with pytest.raises(ssl.SSLError):
        read_some(link, 1)
    assert len(errors) == 1
    plain.close()
