"""The limit: what a broker in Python could do if it did nothing but its work.

A frame comes in, the checksum is checked, the offset is stamped, one write; fetches leave by sendfile. One epoll loop,
one buffer per connection in which requests are parsed in place; no asyncio, no index files, no replication, no
settings, no errors but a closed connection. It answers real clients in the one version each that it advertises:
Produce 3, Fetch 4, ListOffsets 1, Metadata 1, ApiVersions 0.

    python -m benchmarks.bare_loop --dir DIR [--port N] [--partitions N]

Prints the port it listens at.
"""

from __future__ import annotations

import argparse
import os
import select
import socket
import struct
import time
from bisect import bisect_right
from pathlib import Path

from crc32c import crc32c

PRODUCE, FETCH, LIST_OFFSETS, METADATA, API_VERSIONS = 0, 1, 2, 3, 18
SPOKEN = {PRODUCE: (3, 3), FETCH: (4, 4), LIST_OFFSETS: (1, 1), METADATA: (1, 1), API_VERSIONS: (0, 0)}
UNSUPPORTED_VERSION = 35
FIRST_BUFFER_BYTES = 256 * 1024
SMALL_BYTES = 32 * 1024
"""Up to here reading is cheaper than a sendfile of its own."""
MSG_MORE = socket.MSG_MORE

_size = struct.Struct(">i").unpack_from
_header = struct.Struct(">ihhih").unpack_from  # size, api key, version, correlation id, client id's length
_short = struct.Struct(">h").unpack_from
_int = struct.Struct(">i").unpack_from
_long = struct.Struct(">q").unpack_from
_batch = struct.Struct(">qiibIhi").unpack_from  # base offset, length, epoch, magic, crc, attributes, last delta
_stamp_offset = struct.Struct(">q").pack_into
_fetch_start = struct.Struct(">iiiibi").unpack_from  # replica, wait, min and max bytes, isolation, topics
_fetch_partition = struct.Struct(">iqi").unpack_from
_produced = struct.Struct(">ihqq").pack  # partition, error, base offset, append time
_fetched = struct.Struct(">ihqqii").pack  # partition, error, high watermark, last stable, aborted, size


class Partition:
    """One file, and where each of its batches begins."""

    def __init__(self, path: Path) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        self.next_offset = 0
        self.size = 0
        self.base_offsets: list[int] = []
        self.positions: list[int] = []

    def append(self, records: memoryview) -> int:
        """Check, stamp and write; returns the first offset."""
        first = self.next_offset
        position = 0
        end = len(records)
        while position < end:
            _, length, _, _, crc, _, last_delta = _batch(records, position)
            after = position + length + 12
            if after > end or crc32c(records[position + 21 : after]) != crc:
                raise ValueError("corrupt batch")
            _stamp_offset(records, position, self.next_offset)
            self.base_offsets.append(self.next_offset)
            self.positions.append(self.size + position)
            self.next_offset += last_delta + 1
            position = after
        os.write(self.fd, records)
        self.size += end
        return first

    def locate(self, offset: int, max_bytes: int) -> tuple[int, int]:
        """(position, size) of what a fetch from `offset` gets; the first batch whole."""
        if offset >= self.next_offset:
            return self.size, 0
        at = bisect_right(self.base_offsets, offset) - 1
        start = self.positions[at]
        first_ends = self.positions[at + 1] if at + 1 < len(self.positions) else self.size
        return start, max(min(max_bytes, self.size - start), first_ends - start)


class Client:
    """One connection: a buffer with `filled` bytes in it, and what has yet to leave."""

    __slots__ = ("buffer", "filled", "out", "socket", "view")

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        self.buffer = bytearray(FIRST_BUFFER_BYTES)
        self.view = memoryview(self.buffer)
        self.filled = 0
        self.out: list[bytes | memoryview | tuple[int, int, int]] = []  # bytes, or (fd, position, size)

    def grow(self, size: int) -> None:
        larger = bytearray(size)
        larger[: self.filled] = self.view[: self.filled]
        self.buffer = larger
        self.view = memoryview(larger)

    def flush(self) -> bool:
        """Send what goes; False when the socket is full."""
        out = self.out
        try:
            while out:
                first = out[0]
                if isinstance(first, tuple):
                    fd, position, size = first
                    sent = os.sendfile(self.socket.fileno(), fd, position, size)
                    if sent < size:
                        out[0] = (fd, position + sent, size - sent)
                    else:
                        del out[0]
                    continue
                run = 1
                while run < len(out) and not isinstance(out[run], tuple):
                    run += 1
                data = first if run == 1 else b"".join(out[:run])  # type: ignore[arg-type]
                sent = self.socket.send(data, MSG_MORE if run < len(out) else 0)
                out[:run] = [memoryview(data)[sent:]] if sent < len(data) else []
        except BlockingIOError:
            return False
        return True


class BareLoop:
    """The server."""

    def __init__(self, directory: Path, port: int, partitions: int) -> None:
        self.directory = directory
        self.partition_count = partitions
        self.partitions: dict[tuple[bytes, int], Partition] = {}
        self.topics: dict[bytes, None] = {}
        self.listening = socket.create_server(("127.0.0.1", port), backlog=1024)
        self.listening.setblocking(False)
        self.port: int = self.listening.getsockname()[1]
        self.poll = select.epoll()
        self.poll.register(self.listening.fileno(), select.EPOLLIN)
        self.clients: dict[int, Client] = {}
        self.parked: list[tuple[float, int, bytes]] = []  # (deadline, connection, fetch) of fetches without data

    def run(self) -> None:
        listening = self.listening.fileno()
        while True:
            for fd, event in self.poll.poll(0.005 if self.parked else None):
                if fd == listening:
                    self.accept()
                    continue
                try:
                    if event & ~select.EPOLLOUT:
                        self.receive(fd)
                    else:
                        self.flush(fd)
                except (OSError, ValueError, struct.error):
                    self.drop(fd)
            if self.parked:
                self.unpark()

    def accept(self) -> None:
        connected, _ = self.listening.accept()
        connected.setblocking(False)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.clients[connected.fileno()] = Client(connected)
        self.poll.register(connected.fileno(), select.EPOLLIN)

    def drop(self, fd: int) -> None:
        client = self.clients.pop(fd, None)
        if client is not None:
            self.poll.unregister(fd)
            client.socket.close()
            self.parked = [each for each in self.parked if each[1] != fd]

    def receive(self, fd: int) -> None:
        client = self.clients[fd]
        got = client.socket.recv_into(client.view[client.filled :])
        if not got:
            self.drop(fd)
            return
        end = client.filled + got
        view = client.view
        start = 0
        while end - start >= 4:
            (size,) = _size(view, start)
            after = start + 4 + size
            if after > end:
                break
            self.answer(client, view[start:after])
            start = after
        client.filled = left = end - start
        if left and start:
            view[:left] = view[start:end]
        if left >= 4 and size + 4 > len(client.buffer):
            client.grow(size + 4)
        if client.out:
            self.flush(fd)

    def flush(self, fd: int) -> None:
        done = self.clients[fd].flush()
        self.poll.modify(fd, select.EPOLLIN if done else select.EPOLLIN | select.EPOLLOUT)

    def answer(self, client: Client, frame: memoryview) -> None:
        _, key, version, correlation_id, client_id_length = _header(frame, 0)
        body = 14 + max(client_id_length, 0)
        if key == PRODUCE:
            self.produce(client, frame, body, correlation_id)
        elif key == FETCH:
            if not self.fetch(client, frame, body, correlation_id, at_least=1):
                wait_ms = _int(frame, body + 4)[0]
                self.parked.append((time.monotonic() + wait_ms / 1000, client.socket.fileno(), bytes(frame)))
        elif key == METADATA:
            self.send(client, correlation_id, self.metadata(frame, body))
        elif key == LIST_OFFSETS:
            self.send(client, correlation_id, self.list_offsets(frame, body))
        elif key == API_VERSIONS:
            rows = b"".join(struct.pack(">hhh", api, *versions) for api, versions in SPOKEN.items())
            error = UNSUPPORTED_VERSION if version else 0
            self.send(client, correlation_id, struct.pack(">hi", error, len(SPOKEN)) + rows)
        else:
            raise ValueError(f"api {key}")

    @staticmethod
    def send(client: Client, correlation_id: int, body: bytes) -> None:
        client.out.append(struct.pack(">ii", len(body) + 4, correlation_id) + body)

    # ---- produce and fetch

    def produce(self, client: Client, frame: memoryview, position: int, correlation_id: int) -> None:
        (id_length,) = _short(frame, position)
        position += 2 + max(id_length, 0)
        (acks,) = _short(frame, position)
        (topics,) = _int(frame, position + 6)
        position += 10
        out = [frame[position - 4 : position]]
        for _ in range(topics):
            name_at = position
            name, position = self.string(frame, position)
            (partitions,) = _int(frame, position)
            position += 4
            out.append(frame[name_at:position])
            for _ in range(partitions):
                index, size = struct.unpack_from(">ii", frame, position)
                position += 8
                first = self.partition(name, index).append(frame[position : position + size])
                position += size
                out.append(_produced(index, 0, first, -1))  # type: ignore[arg-type]
        if acks:
            out.append(b"\0\0\0\0")  # type: ignore[arg-type]
            self.send(client, correlation_id, b"".join(out))

    def fetch(self, client: Client, frame: memoryview, position: int, correlation_id: int, *, at_least: int) -> bool:
        """False, and nothing sent, when there is less than `at_least` bytes."""
        _, _, _, max_bytes, _, topics = _fetch_start(frame, position)
        position += 21
        out: list[bytes | tuple[int, int, int]] = []
        head = bytearray(frame[position - 4 : position])
        total = 0
        for _ in range(topics):
            name_at = position
            name, position = self.string(frame, position)
            (partitions,) = _int(frame, position)
            position += 4
            head += frame[name_at:position]
            for _ in range(partitions):
                index, offset, partition_max = _fetch_partition(frame, position)
                position += 16
                partition = self.partition(name, index)
                start, size = partition.locate(offset, min(partition_max, max_bytes - total))
                head += _fetched(index, 0, partition.next_offset, partition.next_offset, 0, size)
                total += size
                if size > SMALL_BYTES:
                    out += (bytes(head), (partition.fd, start, size))
                    head.clear()
                elif size:
                    head += os.pread(partition.fd, size, start)
        if total < at_least:
            return False
        if head:
            out.append(bytes(head))
        length = 8 + sum(each[2] if isinstance(each, tuple) else len(each) for each in out)
        client.out.append(struct.pack(">iii", length, correlation_id, 0))
        client.out += out
        return True

    def unpark(self) -> None:
        """Answer parked fetches that have data now, or have waited long enough."""
        now = time.monotonic()
        parked, self.parked = self.parked, []
        for deadline, fd, frame in parked:
            client = self.clients[fd]
            _, _, _, correlation_id, client_id_length = _header(frame, 0)
            body = 14 + max(client_id_length, 0)
            if self.fetch(client, memoryview(frame), body, correlation_id, at_least=0 if now >= deadline else 1):
                try:
                    self.flush(fd)
                except OSError:
                    self.drop(fd)
            else:
                self.parked.append((deadline, fd, frame))

    # ---- the rest

    @staticmethod
    def string(frame: memoryview, position: int) -> tuple[bytes, int]:
        (length,) = _short(frame, position)
        after = position + 2 + length
        return bytes(frame[position + 2 : after]), after

    def partition(self, topic: bytes, index: int) -> Partition:
        found = self.partitions.get((topic, index))
        if found is None:
            if not 0 <= index < self.partition_count:
                raise ValueError(f"partition {index}")
            found = Partition(self.directory / f"{topic.decode()}-{index}.log")
            self.partitions[topic, index] = found
            self.topics[topic] = None
        return found

    def metadata(self, frame: memoryview, position: int) -> bytes:
        (count,) = _int(frame, position)
        position += 4
        names = list(self.topics)
        if count >= 0:
            names = []
            for _ in range(count):
                name, position = self.string(frame, position)
                names.append(name)
        host = b"127.0.0.1"
        out = struct.pack(">iih", 1, 0, len(host)) + host + struct.pack(">ihii", self.port, -1, 0, len(names))
        for name in names:
            self.topics[name] = None
            out += struct.pack(">hh", 0, len(name)) + name + struct.pack(">bi", 0, self.partition_count)
            for index in range(self.partition_count):
                out += struct.pack(">hiiiiii", 0, index, 0, 1, 0, 1, 0)
        return out

    def list_offsets(self, frame: memoryview, position: int) -> bytes:
        (topics,) = _int(frame, position + 4)
        position += 8
        out = struct.pack(">i", topics)
        for _ in range(topics):
            name, position = self.string(frame, position)
            (partitions,) = _int(frame, position)
            position += 4
            out += struct.pack(">h", len(name)) + name + struct.pack(">i", partitions)
            for _ in range(partitions):
                index, timestamp = _int(frame, position)[0], _long(frame, position + 4)[0]
                position += 12
                offset = self.partition(name, index).next_offset if timestamp == -1 else 0
                out += struct.pack(">ihqq", index, 0, -1, offset)
        return out


def main() -> None:
    parser = argparse.ArgumentParser(description="The limit that the broker is measured against.")
    parser.add_argument("--dir", type=Path, required=True, help="where the log files go")
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--partitions", type=int, default=4, help="of every topic")
    options = parser.parse_args()
    loop = BareLoop(options.dir, options.port, options.partitions)
    print(loop.port, flush=True)
    loop.run()


if __name__ == "__main__":
    main()
