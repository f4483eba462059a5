"""What consumer groups cost the broker: heartbeats of many members, and the rebalance of a large group.

    python -m benchmarks.groups [--groups N] [--members N] [--seconds S] [--large N] [--partitions N] [--apache]

First `--groups` groups of `--members` members each join and sync; then every member sends a heartbeat each three
seconds, evenly spread, over few connections. CPU is the broker's own, all threads, as a share of one core, less what
it used at rest. Then one group of `--large` members that own `--partitions` partitions: one more joins, all join
again with what they own (eager, sticky), the leader hands in the assignment; the clock runs from the last join to the
last assignment. Requests are encoded beforehand; the leader's own thinking is not measured.
"""

from __future__ import annotations

import argparse
import itertools
import selectors
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from benchmarks import servers
from benchmarks.protocol import Refused
from benchmarks.servers import Server
from kafka_py.wire.apis import api_of
from kafka_py.wire.frames import decode_response, encode_request
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.heartbeat import HeartbeatRequest
from kafka_py.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafka_py.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafka_py.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from kafka_py.wire.schema import schema_of

INTERVAL_S = 3.0
SESSION_MS = 300_000
REBALANCE_MS = 120_000
DELAY = "group.initial.rebalance.delay.ms"
"""All joins that are sent at once must arrive within it; a Java broker that has just started needs longer."""
CONNECTIONS = 20
AT_ONCE = 200
"""Groups that are brought together at the same time."""
JOIN, SYNC, HEARTBEAT, LEAVE = 3, 3, 4, 4
"""Versions; JoinGroup 3 is the last one without the round for a member id."""
_HEARTBEAT_ANSWER = struct.Struct(">iibihb")


class Connection:
    """Requests in a row, then their answers in the same order."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._asked: list[tuple[type, int]] = []

    def ask_all(self, requests: Sequence[object], version: int) -> list[Any]:
        self.send(requests, version)
        return self.answers()

    def send(self, requests: Sequence[object], version: int) -> None:
        self.socket.sendall(b"".join(framed(request, version) for request in requests))
        for request in requests:
            key = schema_of(type(request)).api
            assert key is not None
            self._asked.append((api_of(key).response, version))

    def answers(self) -> list[Any]:
        found = [decode_response(response, version, self._frame())[1] for response, version in self._asked]
        self._asked.clear()
        return found

    def _frame(self) -> bytearray:
        return self._exactly(int.from_bytes(self._exactly(4), "big"))

    def _exactly(self, count: int) -> bytearray:
        received = bytearray(count)
        view = memoryview(received)
        while view:
            got = self.socket.recv_into(view)
            if not got:
                raise Refused("the broker closed the connection")
            view = view[got:]
        return received


def framed(request: object, version: int) -> bytes:
    return encode_request(request, version, 0, "load")


class Member(NamedTuple):
    group: str
    member_id: str
    generation: int


def check(answers: Sequence[Any]) -> list[Any]:
    for answer in answers:
        if answer.error_code:
            raise Refused(f"{type(answer).__name__}: error {answer.error_code}")
    return list(answers)


def find_coordinator(connection: Connection) -> None:
    ends = time.monotonic() + 60
    while connection.ask_all([FindCoordinatorRequest(key="any")], 3)[0].error_code:
        if time.monotonic() > ends:
            raise Refused("there is no coordinator")
        time.sleep(0.1)
    time.sleep(1)  # until all its partitions are led


# ---- many groups


def subscription(partitions: Sequence[int] = ()) -> bytes:
    """What a sticky member says: its topic, and the partitions that it has."""
    user_data = struct.pack(f">i{len(partitions)}i", len(partitions), *partitions)
    topic = b"\0\5bench"
    return struct.pack(">hi", 0, 1) + topic + struct.pack(">i", len(user_data)) + user_data


SUBSCRIPTION = subscription()


def join(group: str, member_id: str = "", metadata: bytes = SUBSCRIPTION) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="sticky", metadata=metadata)],
    )


def gather(connections: Sequence[Connection], groups: Sequence[str], size: int) -> list[Member]:
    """Has the members of these groups join and sync, each on a connection of its own: a join may block the next."""
    names = [group for group in groups for _ in range(size)]
    used = connections[: len(names)]
    for connection, group in zip(used, names, strict=True):
        connection.send([join(group)], JOIN)
    joined = check([connection.answers()[0] for connection in used])
    members = [
        Member(group, answer.member_id, answer.generation_id) for group, answer in zip(names, joined, strict=True)
    ]
    ids: dict[str, list[str]] = {}
    for member in members:
        ids.setdefault(member.group, []).append(member.member_id)
    for connection, member, answer in zip(used, members, joined, strict=True):
        plan = dict.fromkeys(ids[member.group], b"assignment" * 5) if answer.members else {}
        connection.send([sync(member, plan)], SYNC)
    check([connection.answers()[0] for connection in used])
    return members


def sync(member: Member, plan: dict[str, bytes]) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id=member.group,
        generation_id=member.generation,
        member_id=member.member_id,
        assignments=[SyncGroupRequestAssignment(member_id=each, assignment=part) for each, part in plan.items()],
    )


class Beating(NamedTuple):
    sent: int
    answered: int
    refused: int
    longest_ms: float


def beat(connections: Sequence[Connection], members: Sequence[Member], seconds: float) -> Beating:
    """Every member sends a heartbeat each three seconds; members take the connections in turn."""
    requests = [
        framed(
            HeartbeatRequest(group_id=member.group, generation_id=member.generation, member_id=member.member_id),
            HEARTBEAT,
        )
        for member in members
    ]
    outgoing = itertools.cycle(zip(requests, itertools.cycle(connections), strict=False))
    gap_s = INTERVAL_S / len(members)
    waiting = _Answers(connections)
    sent = 0
    began = time.perf_counter()
    while (now := time.perf_counter() - began) < seconds:
        while sent * gap_s <= now:
            request, connection = next(outgoing)
            waiting.note(connection)
            connection.socket.sendall(request)
            sent += 1
        waiting.collect(max(sent * gap_s - (time.perf_counter() - began), 0))
    ends = time.perf_counter() + 10
    while waiting.answered < sent and time.perf_counter() < ends:
        waiting.collect(0.1)
    return Beating(sent, waiting.answered, waiting.refused, waiting.longest_s * 1000)


class _Answers:
    """The answers to heartbeats, all of one size."""

    def __init__(self, connections: Sequence[Connection]) -> None:
        self.answered = self.refused = 0
        self.longest_s = 0.0
        self._sent: dict[Connection, list[float]] = {connection: [] for connection in connections}
        self._rest = dict.fromkeys(connections, b"")
        self._selector = selectors.DefaultSelector()
        for connection in connections:
            self._selector.register(connection.socket, selectors.EVENT_READ, connection)

    def note(self, connection: Connection) -> None:
        self._sent[connection].append(time.perf_counter())

    def collect(self, timeout_s: float) -> None:
        for key, _ in self._selector.select(timeout_s):
            connection: Connection = key.data
            data = self._rest[connection] + connection.socket.recv(65536)
            whole = len(data) - len(data) % _HEARTBEAT_ANSWER.size
            self._rest[connection] = data[whole:]
            now = time.perf_counter()
            for answer in _HEARTBEAT_ANSWER.iter_unpack(data[:whole]):
                self.longest_s = max(self.longest_s, now - self._sent[connection].pop(0))
                self.answered += 1
                self.refused += answer[4] != 0


def heartbeats(server: Server, options: argparse.Namespace) -> None:
    connections = [Connection(server.port) for _ in range(AT_ONCE * options.members)]
    find_coordinator(connections[0])
    began = time.perf_counter()
    groups = [f"group-{number}" for number in range(options.groups)]
    members = [
        member
        for start in range(0, len(groups), AT_ONCE)
        for member in gather(connections, groups[start : start + AT_ONCE], options.members)
    ]
    took_s = time.perf_counter() - began
    print(f"{server.name}: {len(groups)} groups of {options.members} came together in {took_s:.1f} s", flush=True)
    for connection in connections[CONNECTIONS:]:
        connection.socket.close()
    del connections[CONNECTIONS:]
    beat(connections, members, 1.0)
    before = server.cpu_seconds()
    began = time.perf_counter()
    done = beat(connections, members, options.seconds)
    busy = (server.cpu_seconds() - before) / (time.perf_counter() - began)
    print(
        f"{server.name}: {done.sent / options.seconds:,.0f} heartbeats/s, {busy:.1%} of a core, longest answer "
        f"{done.longest_ms:.0f} ms, {done.sent - done.answered} lost, {done.refused} refused, "
        f"{server.resident_mb():.0f} MB resident",
        flush=True,
    )


# ---- one large group


def shares(partitions: int, members: int) -> Iterator[list[int]]:
    for number in range(members):
        yield list(range(number, partitions, members))


def large_group(server: Server, options: argparse.Namespace) -> None:
    """Each member on a connection of its own, as clients have it."""
    size, group = options.large, "large"
    connections = [Connection(server.port) for _ in range(size)]
    for connection in connections[:-1]:
        connection.send([join(group)], JOIN)
    first = check([connection.answers()[0] for connection in connections[:-1]])
    ids = [answer.member_id for answer in first]
    settle(connections[:-1], group, first, [subscription(part) for part in shares(options.partitions, size - 1)])
    metadata = [subscription(part) for part in shares(options.partitions, size - 1)]
    connections[-1].send([join(group)], JOIN)
    for connection, member, said in zip(connections, ids[:-1], metadata, strict=False):
        connection.send([join(group, member, said)], JOIN)
    cpu_before = server.cpu_seconds()
    began = time.perf_counter()
    connections[size - 2].send([join(group, ids[-1], metadata[-1])], JOIN)
    answers = check([connection.answers()[0] for connection in connections])
    joined_s = time.perf_counter() - began
    settle(connections, group, answers, [subscription(part) for part in shares(options.partitions, size)])
    took_s = time.perf_counter() - began
    cpu_s = server.cpu_seconds() - cpu_before
    print(
        f"{server.name}: {size} members, {options.partitions} partitions: {took_s * 1000:.0f} ms from the last join to "
        f"the last assignment ({joined_s * 1000:.0f} ms to the last join's answer), {cpu_s * 1000:.0f} ms of CPU",
        flush=True,
    )
    leavers = [MemberIdentity(member_id=answer.member_id) for answer in answers]
    check(connections[0].ask_all([LeaveGroupRequest(group_id=group, members=leavers)], LEAVE))


def settle(connections: Sequence[Connection], group: str, joined: Sequence[Any], plan: Sequence[bytes]) -> None:
    """All sync, the leader with the plan."""
    ids = [answer.member_id for answer in joined]
    for connection, answer in zip(connections, joined, strict=True):
        member = Member(group, answer.member_id, answer.generation_id)
        connection.send([sync(member, dict(zip(ids, plan, strict=True)) if answer.members else {})], SYNC)
    check([connection.answers()[0] for connection in connections])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--members", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=9.0)
    parser.add_argument("--large", type=int, default=100)
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--apache", action="store_true", help="the same on Apache Kafka 2.8.2")
    options = parser.parse_args()
    with servers.zookeeper() as zookeeper:
        with servers.broker(zookeeper, {DELAY: "1000"}) as server:
            measure(server, options)
        if options.apache:
            with servers.apache_broker(zookeeper, {DELAY: "2000"}) as server:
                measure(server, options)


def measure(server: Server, options: argparse.Namespace) -> None:
    heartbeats(server, options)
    large_group(server, options)


if __name__ == "__main__":
    main()
