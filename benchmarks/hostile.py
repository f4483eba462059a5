"""What one hostile client can do to the others: how long their requests wait, and how much memory the broker takes.

    python -m benchmarks.hostile [--only NAME]

Each attack is one connection with the worst requests we know of: as many elements as fit, names that do not exist,
small compressed batches of millions of records, answers as large as can be, pipelined, read slowly or not at all.
Another client asks every few milliseconds meanwhile. The short form, which measures the loop itself, is
tests/system/test_hostile_client.py.
"""

from __future__ import annotations

import argparse
import contextlib
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.servers import Server, broker, zookeeper
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.frames import encode_request
from kafka_py.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafka_py.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateableTopicConfig,
    CreateTopicsRequest,
)
from kafka_py.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafka_py.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafka_py.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_py.wire.schema import Field, Message, Scalar, schema_of

TOPICS = 200
"""Topics of the broker under attack, PARTITIONS partitions each; COMPACTED is one more."""
PARTITIONS = 10
COMPACTED = "compacted"
MOST_WAIT_MS = 50.0
MOST_GROWTH_MB = 300.0
PATIENCE_S = 60.0
"""An attack that has not been answered after this is over."""

OF_BROKERS = frozenset(key for key, api in APIS.items() if api.brokers_only)
"""Whoever may send these has the cluster anyway."""


@dataclass(frozen=True)
class Attack:
    """One connection's bytes. reads: whether it takes its answers; answers: how many are expected at the most."""

    name: str
    frames: Callable[[], Sequence[bytes]]
    reads: bool = True


def flood(key: ApiKey, count: int, *, same: bool = False) -> bytes:
    """A request of one API whose arrays hold `count` of the smallest elements, all different unless `same`."""
    api = APIS[key]
    message = api.request()
    version = api.max_version
    arrays = [
        field for field in schema_of(api.request).fields
        if field.is_array and version in field.versions and not field.is_tagged(version)
    ]  # fmt: skip
    for field in arrays:
        each = count // len(arrays)
        setattr(message, field.name, [_smallest(field, version, 0 if same else number) for number in range(each)])
    for name, value in (("timeout_ms", 1000), ("group_id", "g"), ("allow_auto_topic_creation", False)):
        if hasattr(message, name):
            setattr(message, name, value)
    return encode_request(message, version, 1, "hostile")


def _smallest(field: Field, version: int, number: int) -> Any:
    element = field.element
    if isinstance(element, Scalar):
        return _scalar(element, number)
    made: Message = element()
    for inner in schema_of(element).fields:
        if version not in inner.versions or inner.is_tagged(version):
            continue
        if inner.is_array:
            setattr(made, inner.name, [_smallest(inner, version, 0)])
        elif isinstance(inner.element, Scalar) and inner.element.name in ("string", "int32"):
            setattr(made, inner.name, _scalar(inner.element, number))
    return made


def _scalar(element: Scalar, number: int) -> Any:
    if element.name == "string":
        return f"{number:x}"
    return number % 100 if element.name.startswith("int") else element.zero


def fits(key: ApiKey) -> int:
    """How many elements of one nested level the table lets through."""
    return min(APIS[key].elements, 100_000) // 2 - 10


def bomb(records: int) -> bytes:
    """A small batch of very many records."""
    made = BatchBuilder(Codec.GZIP)
    for _ in range(records):
        made.append(1000, b"k", b"")
    return made.build()


def _metadata(*names: str, create: bool = False) -> MetadataRequest:
    return MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=create
    )


def _one(request: object, version: int) -> bytes:
    return encode_request(request, version, 1, "hostile")


def _fetch(*topics: FetchTopic, session_epoch: int = -1, **more: Any) -> bytes:
    return _one(FetchRequest(replica_id=-1, max_wait_ms=10, min_bytes=1, topics=list(topics), max_bytes=1 << 20,
                             session_epoch=session_epoch, **more), 11)  # fmt: skip


def _huge(partitions: int, factor: int, *, assigned: int = 0) -> CreatableTopic:
    rows = [CreatableReplicaAssignment(partition_index=number, broker_ids=[0]) for number in range(assigned)]
    return CreatableTopic(
        name="huge", num_partitions=partitions, replication_factor=factor, assignments=rows, configs=[]
    )


def _first_partition(max_bytes: int) -> FetchPartition:
    return FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=max_bytes)


def _invented(topics: int, mark: str = "") -> list[FetchTopic]:
    return [FetchTopic(topic=f"invented{mark}{n}", partitions=[_first_partition(1)]) for n in range(topics)]


def _produce(topic: str, records: bytes) -> bytes:
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=records)])
    return _one(ProduceRequest(acks=1, timeout_ms=1000, topic_data=[data]), 8)


def _offsets_by_time(topic: str, times: int) -> bytes:
    asked = [ListOffsetsPartition(partition_index=number, timestamp=1000) for number in range(times)]
    return _one(ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=asked)]), 5)


def _configs(kind: int, names: Sequence[str]) -> bytes:
    resources = [DescribeConfigsResource(resource_type=kind, resource_name=n, configuration_keys=[]) for n in names]
    return _one(DescribeConfigsRequest(resources=resources, include_synonyms=True, include_documentation=True), 4)


def _join(group: str) -> bytes:
    protocol = JoinGroupRequestProtocol(name="range", metadata=b"")
    return _one(JoinGroupRequest(group_id=group, session_timeout_ms=6000, rebalance_timeout_ms=1000, member_id="",
                                 protocol_type="consumer", protocols=[protocol]), 4)  # fmt: skip


def _coordinator(group: str) -> bytes:
    return _one(FindCoordinatorRequest(key=group), 3)


def _create(*topics: CreatableTopic) -> bytes:
    """Only asks whether that could be."""
    return _one(CreateTopicsRequest(topics=list(topics), timeout_ms=1000, validate_only=True), 7)


def _reassign(topic: str, brokers: Sequence[int]) -> bytes:
    partitions = [ReassignablePartition(partition_index=0, replicas=list(brokers))]
    topics = [ReassignableTopic(name=topic, partitions=partitions)]
    return _one(AlterPartitionReassignmentsRequest(timeout_ms=1000, topics=topics), 0)


def _topics() -> list[str]:
    return [f"t{number}" for number in range(TOPICS)]


def _tagged(count: int) -> bytes:
    """ApiVersions with very many unknown tagged fields in its header."""
    start = struct.pack(">hhih", ApiKey.API_VERSIONS, 3, 1, 1) + b"c"
    varint = bytearray()
    while count > 0x7F:
        varint.append(count & 0x7F | 0x80)
        count >>= 7
    varint.append(count)
    frame = start + bytes(varint) + b"\x05\x00" * 30_000
    return struct.pack(">i", len(frame)) + frame


def floods() -> list[Attack]:
    """Every API of clients with as many of the smallest elements as its row of the table lets through."""
    chosen = []
    for key in APIS:
        has_arrays = any(field.is_array for field in schema_of(APIS[key].request).fields)
        if key not in OF_BROKERS and has_arrays:
            chosen.append(Attack(f"{APIS[key].name}: many elements", lambda key=key: [flood(key, fits(key))]))
            chosen.append(
                Attack(f"{APIS[key].name}: one element many times", lambda key=key: [flood(key, fits(key), same=True)])
            )
    return chosen


def attacks() -> list[Attack]:
    """The table of what is tried."""
    topic = "t0"
    return [
        Attack("fetch of invented topics", lambda: [_fetch(*_invented(29_000, str(n))) for n in range(4)]),
        Attack("fetch sessions of invented topics", lambda: [
            _fetch(*_invented(29_000, str(n)), session_epoch=0) for n in range(4)
        ]),
        Attack("fetch of one partition many times", lambda: [_fetch(
            FetchTopic(topic=topic, partitions=[_first_partition(1000)] * 50_000)
        )] * 4),
        Attack("more elements than the bound", lambda: [_one(_metadata(*map(str, range(300_000))), 9)]),
        Attack("frames larger than the bound", lambda: [struct.pack(">ihhih", 50 << 20, 3, 9, 1, -1)]),
        Attack("half a frame", lambda: [struct.pack(">ihhih", 50 << 20, 0, 8, 1, -1) + bytes(1 << 20)], reads=False),
        Attack("tagged fields", lambda: [_tagged(30_000)]),
        Attack("many invented topics to create", lambda: [_one(_metadata(*_names("made", 2000), create=True), 9)]),
        Attack("64 pipelined requests of small elements", lambda: [_one(_metadata(*map(str, range(300))), 9)] * 640),
        Attack("pipelined questions for all topics", lambda: [_one(MetadataRequest(topics=None), 9)] * 64),
        Attack("answers not read", lambda: [_one(MetadataRequest(topics=None), 9)] * 640, reads=False),
        Attack("configurations of the broker, many times", lambda: [_configs(4, ["0"] * 40_000)]),
        Attack("configurations of the broker, spelled differently", lambda: [
            _configs(4, ["0" * zeros for zeros in range(1, 2000)])
        ]),
        Attack("configurations of all topics, pipelined", lambda: [_configs(2, _topics())] * 10),
        Attack("invented groups", lambda: [_join(f"group{number}") for number in range(20_000)]),
        Attack("coordinators of invented groups", lambda: [_coordinator(f"g{number}") for number in range(20_000)]),
        Attack("topics of as many partitions as may be", lambda: [
            _create(_huge(150_000, 1)),
            _create(_huge(-1, -1, assigned=150_000)),
        ]),
        Attack("reassignment to very many brokers", lambda: [_reassign(topic, range(900_000))]),
        Attack("compressed records by the million", lambda: [_produce(COMPACTED, bomb(2_000_000))]),
        Attack("offsets by time in compressed records", lambda: [
            _produce(topic, bomb(2_000_000)), *[_offsets_by_time(topic, 1)] * 20
        ]),
    ]  # fmt: skip


def _names(stem: str, count: int) -> list[str]:
    return [f"{stem}{number}" for number in range(count)]


def run_attack(port: int, frames: Sequence[bytes], *, reads: bool, patience_s: float = PATIENCE_S) -> str:
    """Sends all frames over one connection. Returns how it ended: answered, closed by the broker, not over in time."""
    ends = time.monotonic() + patience_s
    expected = len(frames)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setblocking(False)
        waiting = select.poll()
        outgoing = memoryview(b"".join(frames))
        received = 0
        pending = bytearray()
        while time.monotonic() < ends:
            waiting.register(connection, (select.POLLOUT if outgoing else 0) | (select.POLLIN if reads else 0))
            events = sum(event for _, event in waiting.poll(200))
            readable = events & (select.POLLIN | select.POLLHUP | select.POLLERR)
            writable = events & select.POLLOUT
            try:
                if writable:
                    outgoing = outgoing[connection.send(outgoing[: 1 << 18]) :]
                if readable:
                    data = connection.recv(1 << 20)
                    if not data:
                        return "closed"
                    pending += data
                    received += _take_answers(pending)
            except ConnectionError:
                return "closed"
            if reads and received >= expected:
                return "answered"
            if not reads and not readable and not writable and ends - time.monotonic() < patience_s - 3:
                return "held up"
    return "not over"


def _take_answers(pending: bytearray) -> int:
    """Takes whole answers off the front; returns how many."""
    position = count = 0
    while len(pending) - position >= 4:
        size = int.from_bytes(pending[position : position + 4], "big")
        if len(pending) - position < 4 + size:
            break
        position += 4 + size
        count += 1
    del pending[:position]
    return count


class Other(threading.Thread):
    """Another client, which asks every few milliseconds; `waits_ms` has how long each answer took."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._client = WireClient(f"127.0.0.1:{port}", timeout_s=PATIENCE_S)
        self._over = threading.Event()
        self.waits_ms: list[float] = []

    def run(self) -> None:
        request = _metadata("t1")
        while not self._over.wait(0.003):
            began = time.perf_counter()
            self._client.ask(request, 9)
            self.waits_ms.append((time.perf_counter() - began) * 1000)

    def stop(self) -> tuple[float, float]:
        """(the longest wait, the 99th percentile)."""
        self._over.set()
        self.join()
        self._client.close()
        waits = sorted(self.waits_ms) or [0.0]
        return waits[-1], waits[int(len(waits) * 0.99)]


def make_topics(port: int) -> None:
    """The topics of the broker under attack."""
    compact = CreateableTopicConfig(name="cleanup.policy", value="compact")
    asked = [
        CreatableTopic(name=name, num_partitions=PARTITIONS, replication_factor=1, assignments=[], configs=[])
        for name in _topics()
    ]
    asked.append(
        CreatableTopic(name=COMPACTED, num_partitions=1, replication_factor=1, assignments=[], configs=[compact])
    )
    with WireClient(f"127.0.0.1:{port}", timeout_s=PATIENCE_S) as client:
        client.ask(CreateTopicsRequest(topics=asked, timeout_ms=60_000), 5)


@contextlib.contextmanager
def other_client(port: int) -> Iterator[Other]:
    other = Other(port)
    other.start()
    try:
        yield other
    finally:
        other._over.set()


def measure(server: Server, attack: Attack) -> tuple[str, float, float, float]:
    """(how it ended, longest wait in ms, 99th percentile, growth of the broker in MB)."""
    frames = attack.frames()
    before_mb = server.resident_mb()
    with other_client(server.port) as other:
        peak = _Peak(server)
        ended = run_attack(server.port, frames, reads=attack.reads)
        peak.stop()
        longest_ms, most_ms = other.stop()
    return ended, longest_ms, most_ms, max(peak.peak_mb, server.resident_mb()) - before_mb


class _Peak(threading.Thread):
    """The most memory that the broker had."""

    def __init__(self, server: Server) -> None:
        super().__init__(daemon=True)
        self._server = server
        self._over = threading.Event()
        self.peak_mb = 0.0
        self.start()

    def run(self) -> None:
        while not self._over.wait(0.02):
            self.peak_mb = max(self.peak_mb, self._server.resident_mb())

    def stop(self) -> None:
        self._over.set()
        self.join()


def main() -> None:
    parser = argparse.ArgumentParser(description="How far one hostile client can hold up the others.")
    parser.add_argument("--only", metavar="WORD", help="attacks whose names have this word")
    options = parser.parse_args()
    print(f"{'attack':58} {'ended':9} {'longest':>9} {'p99':>8} {'growth':>9}")
    with zookeeper() as connect, broker(connect) as server:
        make_topics(server.port)
        for attack in [*attacks(), *floods()]:
            if options.only and options.only not in attack.name:
                continue
            ended, longest_ms, most_ms, growth_mb = measure(server, attack)
            mark = "  <-- " if longest_ms > MOST_WAIT_MS or growth_mb > MOST_GROWTH_MB else ""
            print(
                f"{attack.name:58} {ended:9} {longest_ms:6.1f} ms {most_ms:5.1f} ms {growth_mb:6.1f} MB{mark}",
                flush=True,
            )


if __name__ == "__main__":
    main()
