"""Replays requests that were encoded beforehand over many pipelined connections, and counts the answers.

Runs as a process of its own and costs next to nothing: what comes back is discarded inside the kernel but for its
number of bytes; the first answer of each connection is read and checked. Prints one line of JSON.

    python -m benchmarks.load produce|fetch --port N --topic T [--record-bytes N] [--batch-records N] ...
        [--secured-port N --authority FILE]

With a secured port the pipelined connections are made there, over TLS 1.3, and what comes back is decrypted and then
discarded; the other requests still take the plain port.
"""

from __future__ import annotations

import argparse
import json
import resource
import select
import socket
import ssl
import struct
import sys
import time
from collections.abc import Callable
from itertools import cycle

from benchmarks import protocol
from benchmarks.protocol import Caller, Refused

JOIN_BYTES = 64 * 1024
DISCARD_BYTES = 8 * 1024 * 1024
PLACES = 64
"""In the log, from where each connection fetches in turn."""

_size = struct.Struct(">i").unpack_from


class Stream:
    """One connection: `depth` requests under way, taken from `requests` in turn.

    Answers must all have one size: then counting them is counting bytes. check: reads the first one, raises Refused.
    """

    def __init__(
        self, connected: socket.socket, requests: list[bytes], depth: int, check: Callable[[memoryview], None]
    ) -> None:
        self.socket = connected
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.depth = depth
        self.under_way = 0
        self.answers = 0
        self._requests = cycle(requests)
        self._only = requests[0] if len(requests) == 1 else None
        self._pending = memoryview(b"")  # of requests, not taken by the socket yet
        self._answer_bytes = self._ask_one(check)
        self._received = 0  # of the present answer
        self.socket.setblocking(False)

    def _ask_one(self, check: Callable[[memoryview], None]) -> int:
        """Before the clock starts: one request, its answer checked; returns how large all answers are."""
        self.socket.sendall(next(self._requests))
        (size,) = _size(self._exactly(4))
        check(self._exactly(size))
        return 4 + int(size)

    def _exactly(self, count: int) -> memoryview:
        out = memoryview(bytearray(count))
        view = out
        while view:
            view = view[self._some(self.socket.recv_into(view)) :]
        return out

    @staticmethod
    def _some(got: int) -> int:
        if not got:
            raise Refused("the server closed the connection")
        return got

    def _decrypted(self, secured: ssl.SSLSocket, scratch: bytearray) -> int:
        """All that is there: what OpenSSL has read already would not wake the poll."""
        count = 0
        try:
            while True:
                count += self._some(secured.recv_into(scratch))
        except ssl.SSLWantReadError:
            return count

    def fill(self) -> bool:
        """Send until `depth` requests are under way; False when the socket is full."""
        try:
            while True:
                while self._pending:
                    self._pending = self._pending[self.socket.send(self._pending) :]
                missing = self.depth - self.under_way
                if missing <= 0:
                    return True
                self._pending = memoryview(self._take(missing))
        except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            return False

    def _take(self, missing: int) -> bytes:
        if self._only is not None and len(self._only) * missing <= JOIN_BYTES:
            self.under_way += missing
            return self._only * missing
        self.under_way += 1
        return next(self._requests)

    def drain(self, scratch: bytearray) -> int:
        """Discard what came back; returns how many answers are complete now."""
        if isinstance(self.socket, ssl.SSLSocket):
            self._received += self._decrypted(self.socket, scratch)
        else:
            self._received += self._some(self.socket.recv_into(scratch, DISCARD_BYTES, socket.MSG_TRUNC))
        complete, self._received = divmod(self._received, self._answer_bytes)
        self.answers += complete
        self.under_way -= complete
        if self.under_way < 0 or (not self.under_way and self._received):
            raise Refused(f"answers differ in size from the first, which had {self._answer_bytes} bytes")
        return complete


def run(streams: list[Stream], seconds: float, most_answers: int) -> dict[str, float]:
    """Drive all streams for that long, or for that many answers; what is under way at the end is waited for."""
    poll = select.epoll()
    by_fd = {}
    scratch = bytearray(DISCARD_BYTES)
    for stream in streams:
        by_fd[stream.socket.fileno()] = stream
        poll.register(stream.socket.fileno(), select.EPOLLIN)
    writing: set[int] = set()
    began = last = time.perf_counter()
    ends = began + seconds
    longest_gap = 0.0
    answers = 0
    for fd, stream in by_fd.items():
        if not stream.fill():
            writing.add(fd)
            poll.modify(fd, select.EPOLLIN | select.EPOLLOUT)
    open_streams = len(by_fd)
    while open_streams:
        for fd, event in poll.poll():
            stream = by_fd[fd]
            complete = stream.drain(scratch) if event & ~select.EPOLLOUT else 0
            if complete:
                answers += complete
                now = time.perf_counter()
                longest_gap = max(longest_gap, now - last)
                last = now
                if now >= ends or answers >= most_answers:
                    stream.depth = 0
                    if not stream.under_way:
                        open_streams -= 1
            filled = stream.fill()
            if filled is (fd in writing):
                (writing.discard if filled else writing.add)(fd)
                poll.modify(fd, select.EPOLLIN if filled else select.EPOLLIN | select.EPOLLOUT)
    return {"seconds": last - began, "longest_gap_ms": longest_gap * 1000}


def connect(port: int) -> socket.socket:
    """A connection for a stream."""
    return socket.create_connection(("127.0.0.1", port), timeout=30)


def connected(options: argparse.Namespace) -> socket.socket:
    """The same, over TLS where there is a secured port."""
    if not options.secured_port:
        return connect(options.port)
    context = ssl.create_default_context(cafile=options.authority)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context.wrap_socket(connect(options.secured_port), server_hostname="localhost")


def produce_streams(options: argparse.Namespace, partitions: int) -> list[Stream]:
    records = protocol.batch(options.record_bytes, options.batch_records)

    def check(body: memoryview) -> None:
        produced = protocol.read_produced(body)
        if produced.error:
            raise Refused(f"produce: error {produced.error}")

    return [
        Stream(
            connected(options),
            [protocol.produce(options.topic, number % partitions, records, options.acks)],
            options.depth,
            check,
        )
        for number in range(options.connections)
    ]


def fetch_streams(options: argparse.Namespace, caller: Caller, partitions: int) -> list[Stream]:
    """Fetches of `--fetch-batches` batches each, from all over the log that produce left behind."""
    expected = options.fetch_batches * options.batch_bytes

    def check(body: memoryview) -> None:
        fetched = protocol.read_fetched(body)
        if fetched.error or fetched.records_bytes != expected:
            raise Refused(f"fetch: error {fetched.error}, {fetched.records_bytes} bytes instead of {expected}")

    ends = caller.end_offsets(options.topic, partitions)
    streams = []
    for number in range(options.connections):
        index = number % partitions
        last = ends[index] // options.batch_records - options.fetch_batches
        if last < 0:
            raise Refused(f"{options.topic}-{index} holds too little")
        step = max(last // PLACES, 1)
        places = [
            protocol.fetch(options.topic, index, at * options.batch_records, expected)
            for at in range(0, last + 1, step)[:PLACES]
        ]
        requests = [each for each in places if is_whole(caller, each, expected)]
        if not requests:
            raise Refused(f"{options.topic}-{index} has no place with {expected} bytes in one segment")
        streams.append(Stream(connected(options), requests, options.depth, check))
    return streams


def is_whole(caller: Caller, request: bytes, expected: int) -> bool:
    """Whether the answer has all these bytes: near the end of a segment it has fewer, and could not be counted."""
    fetched = protocol.read_fetched(caller.ask(request))
    return not fetched.error and fetched.records_bytes == expected


def main() -> int:
    parser = argparse.ArgumentParser(description="Replays pre-encoded requests and counts the answers.")
    parser.add_argument("kind", choices=("produce", "fetch"))
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--secured-port", type=int, help="of a TLS listener, for the pipelined connections")
    parser.add_argument("--authority", help="the file of the certificate authority that signed the broker's")
    parser.add_argument("--topic", required=True, help="created when it is not there")
    parser.add_argument("--record-bytes", type=int, default=100)
    parser.add_argument("--batch-records", type=int, default=9_000)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--depth", type=int, default=4, help="requests under way per connection")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--megabytes", type=int, default=1_000_000, help="stop earlier when so much went through")
    parser.add_argument("--acks", type=int, choices=(1, -1), default=1)
    parser.add_argument("--fetch-batches", type=int, default=1, help="batches in one answer")
    options = parser.parse_args()
    options.batch_bytes = len(protocol.batch(options.record_bytes, options.batch_records))
    try:
        print(json.dumps(measure(options)))
    except (Refused, OSError) as error:
        print(f"load: {error}", file=sys.stderr)
        return 1
    return 0


def measure(options: argparse.Namespace) -> dict[str, float]:
    caller = Caller(options.port)
    partitions = caller.create_topic(options.topic)
    before = sum(caller.end_offsets(options.topic, partitions))
    if options.kind == "produce":
        streams, batches = produce_streams(options, partitions), 1
    else:
        streams, batches = fetch_streams(options, caller, partitions), options.fetch_batches
    cpu_before = time.process_time()
    figures = run(streams, options.seconds, max(options.megabytes * 1_000_000 // (options.batch_bytes * batches), 1))
    answers = sum(stream.answers for stream in streams)
    records = answers * batches * options.batch_records
    if options.kind == "produce":
        appended = sum(caller.end_offsets(options.topic, partitions)) - before
        acknowledged = records + len(streams) * options.batch_records  # with those that were asked before the clock
        if appended != acknowledged:
            raise Refused(f"{acknowledged} records were acknowledged, {appended} are in the log")
    caller.close()
    return {
        **figures,
        "requests": answers,
        "records": records,
        "bytes": answers * batches * options.batch_bytes,
        "client_cpu_seconds": time.process_time() - cpu_before,
        "client_resident_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    sys.exit(main())
