"""Requests as bytes, encoded once before the clock starts, and as much of the responses as a benchmark must read.

One version per API, which the limit and the broker both speak: Produce 3, Fetch 4, ListOffsets 1, Metadata 1.
"""

from __future__ import annotations

import socket
import struct
import time
from typing import NamedTuple

from kafka_py.records.builder import BatchBuilder

PRODUCE, FETCH, LIST_OFFSETS, METADATA = 0, 1, 2, 3
CLIENT_ID = b"load"


class Refused(Exception):
    """The server answered with an error, or not at all."""


def framed(api: int, version: int, body: bytes) -> bytes:
    header = struct.pack(">hhih", api, version, 0, len(CLIENT_ID)) + CLIENT_ID
    return struct.pack(">i", len(header) + len(body)) + header + body


def text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">h", len(encoded)) + encoded


def batch(record_bytes: int, record_count: int) -> bytes:
    """A batch of records with values of `record_bytes` bytes."""
    builder = BatchBuilder()
    now_ms = time.time_ns() // 1_000_000
    value = (b"0123456789abcdef" * (record_bytes // 16 + 1))[:record_bytes]
    for _ in range(record_count):
        builder.append(now_ms, None, value)
    return builder.build()


def produce(topic: str, partition: int, records: bytes, acks: int) -> bytes:
    body = struct.pack(">hhii", -1, acks, 30_000, 1) + text(topic)
    return framed(PRODUCE, 3, body + struct.pack(">iii", 1, partition, len(records)) + records)


def fetch(topic: str, partition: int, offset: int, max_bytes: int) -> bytes:
    body = struct.pack(">iiiibi", -1, 500, 1, max_bytes, 0, 1) + text(topic)
    return framed(FETCH, 4, body + struct.pack(">iiqi", 1, partition, offset, max_bytes))


def list_end_offsets(topic: str, partitions: int) -> bytes:
    rows = b"".join(struct.pack(">iq", index, -1) for index in range(partitions))
    return framed(LIST_OFFSETS, 1, struct.pack(">ii", -1, 1) + text(topic) + struct.pack(">i", partitions) + rows)


class Produced(NamedTuple):
    """What a produce response for one partition says."""

    error: int
    base_offset: int


def read_produced(response: memoryview) -> Produced:
    """response: without its size."""
    (name_length,) = struct.unpack_from(">h", response, 8)
    error, base_offset = struct.unpack_from(">hq", response, 10 + name_length + 8)
    return Produced(error, base_offset)


class Fetched(NamedTuple):
    """What a fetch response for one partition says; `records_at` is where its records begin."""

    error: int
    high_watermark: int
    records_bytes: int
    records_at: int


def read_fetched(response: memoryview) -> Fetched:
    """response: without its size; its beginning is enough."""
    (name_length,) = struct.unpack_from(">h", response, 12)
    position = 14 + name_length + 8
    error, high_watermark, _, aborted = struct.unpack_from(">hqqi", response, position)
    position += 22 + max(aborted, 0) * 16
    return Fetched(error, high_watermark, struct.unpack_from(">i", response, position)[0], position + 4)


class Caller:
    """A blocking connection for what happens before and after the measuring."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)

    def ask(self, request: bytes) -> memoryview:
        self._socket.sendall(request)
        (size,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(size)

    def _exactly(self, count: int) -> memoryview:
        out = bytearray(count)
        view = memoryview(out)
        while view:
            got = self._socket.recv_into(view)
            if not got:
                raise Refused("the server closed the connection")
            view = view[got:]
        return memoryview(out)

    def create_topic(self, topic: str, deadline_s: float = 15.0) -> int:
        """Have the topic created by asking for it; returns how many partitions have a leader, once all have."""
        ends = time.monotonic() + deadline_s
        while True:
            partitions = self._led_partitions(self.ask(framed(METADATA, 1, struct.pack(">i", 1) + text(topic))))
            if partitions:
                return partitions
            if time.monotonic() > ends:
                raise Refused(f"topic {topic} got no leaders within {deadline_s} s")
            time.sleep(0.05)

    @staticmethod
    def _led_partitions(response: memoryview) -> int:
        position = 8
        for _ in range(struct.unpack_from(">i", response, 4)[0]):
            position = _after_text(response, position + 4) + 4
            position = _after_text(response, position)
        error, name_at = struct.unpack_from(">h", response, position + 8)[0], position + 10
        position = _after_text(response, name_at) + 1
        (count,) = struct.unpack_from(">i", response, position)
        position += 4
        for _ in range(count):
            partition_error, _, leader, replicas = struct.unpack_from(">hiii", response, position)
            position += 14 + 4 * replicas
            (in_sync,) = struct.unpack_from(">i", response, position)
            position += 4 + 4 * in_sync
            if partition_error or leader < 0:
                return 0
        return 0 if error else count

    def end_offsets(self, topic: str, partitions: int) -> list[int]:
        response = self.ask(list_end_offsets(topic, partitions))
        position = _after_text(response, 8) + 4
        found = {}
        for _ in range(partitions):
            index, error, _, offset = struct.unpack_from(">ihqq", response, position)
            if error:
                raise Refused(f"end offset of {topic}-{index}: error {error}")
            found[index] = offset
            position += 22
        return [found[index] for index in range(partitions)]

    def close(self) -> None:
        self._socket.close()


def _after_text(response: memoryview, position: int) -> int:
    length: int = struct.unpack_from(">h", response, position)[0]
    return position + 2 + max(length, 0)
