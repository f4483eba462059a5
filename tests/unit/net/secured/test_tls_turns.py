"""Which turns a stream asks for while it holds data, and of which kind."""

import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_py.net.secured.tls_transport import FileBuffer, TlsTransport


class Loop:
    """Knows one reader, which is called by hand."""

    def __init__(self) -> None:
        self.reader: Callable[[], None] | None = None

    def add_reader(self, _fileno: int, call: Callable[[], None]) -> None:
        self.reader = call

    def remove_reader(self, _fileno: int) -> None:
        self.reader = None

    def socket_is_ready(self) -> None:
        assert self.reader is not None
        self.reader()


class Stream:
    """A stream with an owner that leaves what is held. deferred: whether it is the first turn of its data."""

    def __init__(self, ours: socket.socket) -> None:
        self.loop = Loop()
        self.deferred: list[tuple[Callable[[], None], bool]] = []
        self.calls = 0
        self.fails = False
        loop: Any = self.loop
        no_tls: Any = None
        self.transport = TlsTransport(
            ours, no_tls, loop, FileBuffer(), lambda call, is_first: self.deferred.append((call, is_first))
        )

    def hold(self, is_held: bool = True) -> None:
        """As when `recv_into` has left something, or nothing."""
        self.transport._holds = is_held

    def begin_to_read(self) -> None:
        self.transport.add_reader(self.transport.fileno, self._on_readable)

    def next_turn(self) -> None:
        self.deferred.pop(0)[0]()

    def _on_readable(self) -> None:
        self.calls += 1
        if self.fails:
            raise ZeroDivisionError


@pytest.fixture
def stream() -> Iterator[Stream]:
    with contextlib.ExitStack() as stack:
        ours, _theirs = (stack.enter_context(each) for each in socket.socketpair())
        yield Stream(ours)


def test_a_turn_that_no_socket_has_asked_for_is_not_the_first_of_its_data(stream: Stream) -> None:
    """Else a connection that stops reading and resumes would come before all that wait for their next turn."""
    stream.hold()
    stream.begin_to_read()
    assert [is_first for _, is_first in stream.deferred] == [False]
    stream.next_turn()
    assert [is_first for _, is_first in stream.deferred] == [False]


def test_a_stream_that_nobody_reads_is_not_one_of_those_that_wait(stream: Stream) -> None:
    stream.begin_to_read()
    stream.transport.remove_reader(stream.transport.fileno)
    stream.hold()
    stream.transport._read_held_soon()  # as when its owner reads without having been called
    assert not stream.deferred
    stream.begin_to_read()
    assert len(stream.deferred) == 1


def test_what_was_taken_before_its_turn_is_not_reported(stream: Stream) -> None:
    stream.hold()
    stream.begin_to_read()
    stream.hold(False)
    stream.next_turn()
    assert stream.calls == 0
    stream.hold()
    stream.loop.socket_is_ready()
    assert stream.calls == 1
    assert len(stream.deferred) == 1


def test_an_owner_that_fails_has_its_next_turn(stream: Stream) -> None:
    stream.begin_to_read()
    stream.hold()
    stream.fails = True
    with pytest.raises(ZeroDivisionError):
        stream.loop.socket_is_ready()
    stream.fails = False
    stream.loop.socket_is_ready()
    assert len(stream.deferred) == 1
    stream.next_turn()
    assert stream.calls == 3
