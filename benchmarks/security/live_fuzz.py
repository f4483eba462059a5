"""Changed frames over the sockets of a running broker: before a login, during it, and after it.

    python -m benchmarks.security.live_fuzz [--seconds S] [--seed N]

Before: requests of every API as the first of a connection, some with bytes changed. During: the tokens of a login, some
with bytes changed. After: requests with random values of every API in every version, by a user who may do what clients
may do. Meanwhile another client asks over a connection that has logged in. What the dispatcher alone is fed with is
`python -m kafka_py.testing.fuzz`. Prints lines for people; a broker that has ended is an error.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from random import Random
from typing import NamedTuple

from benchmarks.security.failed_logins import PASSWORD, USER, OtherClient, login, running
from benchmarks.servers import Server, folder, zookeeper
from kafka_py.clients.admin.client import AdminClient
from kafka_py.net.principal import ANONYMOUS
from kafka_py.security.acls.bindings import AclBinding, AclEntry, ResourcePattern
from kafka_py.security.acls.vocabulary import CLUSTER_NAME, Operation, Permission, ResourceType
from kafka_py.testing.fuzz.broker_cases import random_requests
from kafka_py.testing.fuzz.mutations import mutate

PHASES = ("before", "during", "after")
SETTINGS = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": str(ANONYMOUS),
    "allow.everyone.if.no.acl.found": "true",
    "connection.failed.authentication.delay.ms": "0",
    "log.segment.bytes": "1000000",
    "log.retention.bytes": "1000000",
}
AT_ONCE = 40
"""Frames of one connection after its login."""
POOL = 5000
CHANGED = 0.3
TIMEOUT_S = 20.0


class Fuzzed(NamedTuple):
    """taken: frames that the broker has answered, or closed the connection for. late: connections it kept too long."""

    taken: int
    connections: int
    late: int


def fuzz(phase: str, port: int, seconds: float, seed: int) -> Fuzzed:
    """Sends changed frames for so long."""
    chance = Random(f"{phase} {seed}")
    requests = random_requests(chance, POOL)
    good = login(USER, PASSWORD)
    handshake = good[: 4 + int.from_bytes(good[:4], "big")]
    token = good[len(handshake) + 4 :]
    ends_s = time.monotonic() + seconds
    taken = connections = late = 0
    while time.monotonic() < ends_s:
        if phase == "during":
            before, frames = handshake, [bytes(mutate(token, chance))]
        elif phase == "before":
            before, frames = b"", [some(chance, requests) for _ in range(2)]
        else:
            before, frames = good, [some(chance, requests) for _ in range(AT_ONCE)]
        sent = before + b"".join(len(each).to_bytes(4, "big") + each for each in frames)
        answers, is_over = exchange(port, sent)
        taken += min(max(answers - (2 if phase == "after" else phase == "during"), 0) + 1, len(frames))
        connections += 1
        late += not is_over
    return Fuzzed(taken, connections, late)


def some(chance: Random, requests: list[bytes]) -> bytes:
    request = chance.choice(requests)
    return bytes(mutate(request, chance)) if chance.random() < CHANGED else request


def exchange(port: int, sent: bytes) -> tuple[int, bool]:
    """Sends it and reads to the end: how many responses came, and whether the broker closed the connection in time."""
    received = bytearray()
    is_over = False
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.settimeout(TIMEOUT_S)
        try:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            while data := connection.recv(65536):
                received += data
            is_over = True
        except ConnectionError:
            is_over = True
        except TimeoutError:
            pass
    count = at = 0
    while at + 4 <= len(received):
        at += 4 + int.from_bytes(received[at : at + 4], "big")
        count += 1
    return count, is_over


def restrict(server: Server) -> None:
    """The user may do nothing to the cluster: requests of brokers would end it."""
    entry = AclEntry(f"User:{USER}", "*", Operation.ALL, Permission.DENY)
    with AdminClient({"bootstrap.servers": f"127.0.0.1:{server.port}"}) as admin:
        admin.create_acls([AclBinding(ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME), entry)]).all()


@contextlib.contextmanager
def fuzzed_broker() -> Iterator[tuple[Server, int]]:
    with zookeeper() as connect, folder("fuzz") as directory, running(connect, directory, SETTINGS) as (server, port):
        restrict(server)
        yield server, port


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120.0, help="of each phase")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with fuzzed_broker() as (server, port):
        for phase in ("alone", *PHASES):
            other = OtherClient(port)
            other.start()
            before_mb, found = server.resident_mb(), Fuzzed(0, 0, 0)
            if phase == "alone":
                time.sleep(10)
            else:
                with ProcessPoolExecutor(1) as process:
                    found = process.submit(fuzz, phase, port, options.seconds, options.seed).result()
            p99_ms, longest_ms = other.stop()
            server.check_alive()
            print(f"{phase:7} {found.taken:9} frames over {found.connections} connections, {found.late} kept open; "
                  f"broker {before_mb:.0f} to {server.resident_mb():.0f} MB; another client: p99 {p99_ms:.1f} ms, "
                  f"longest {longest_ms:.1f} ms", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
