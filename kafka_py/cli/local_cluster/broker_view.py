"""What a broker says of its cluster: one blocking question over one connection, for commands that wait for it."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from kafka_py.cli.local_cluster.ports import HOST

METADATA_VERSION = 5
PATIENCE_S = 5.0


class BrokerView(NamedTuple):
    """brokers: ids of the live ones. controller: its id, -1 for none. lagging: partitions, by topic and number, whose
    in-sync set lacks replicas or that have no leader."""

    brokers: tuple[int, ...]
    controller: int
    partitions: int
    lagging: tuple[str, ...]


class Connect(Protocol):
    """Opens a connection over which requests can be sent. Raises OSError, also for a login that is refused."""

    def __call__(self, host: str, port: int, timeout_s: float) -> socket.socket: ...


def plain_connection(host: str, port: int, timeout_s: float) -> socket.socket:
    """One without TLS and login; secured_socket.py has the others."""
    return socket.create_connection((host, port), timeout_s)


def ask(port: int, connect: Connect = plain_connection, *, topics: bool = False) -> BrokerView | None:
    """The view of the broker on this port; None while it does not answer, also where it refuses the login.

    topics: whether to look at all partitions.
    """
    from kafka_py.wire.frames import decode_response, encode_request
    from kafka_py.wire.messages.metadata import MetadataRequest, MetadataResponse

    request = MetadataRequest(topics=None if topics else [], allow_auto_topic_creation=False)
    try:
        with connect(HOST, port, PATIENCE_S) as connection:
            received = exchange(connection, encode_request(request, METADATA_VERSION, 1, "kafka-py"))
        _, answer = decode_response(MetadataResponse, METADATA_VERSION, received)
    except OSError:
        return None
    return _view(answer)


def shortened(partitions: Sequence[str], most: int) -> str:
    """The first ones in a line of text; three dots stand for the others."""
    return ", ".join(partitions[:most]) + (" ..." if len(partitions) > most else "")


def _view(answer: object) -> BrokerView:
    from kafka_py.wire.messages.metadata import MetadataResponse

    assert isinstance(answer, MetadataResponse)
    lagging = []
    partitions = 0
    for topic in answer.topics:
        for partition in topic.partitions:
            partitions += 1
            if partition.leader_id < 0 or len(partition.isr_nodes) < len(partition.replica_nodes):
                lagging.append(f"{topic.name}-{partition.partition_index}")
    ids = tuple(sorted(broker.node_id for broker in answer.brokers))
    return BrokerView(ids, answer.controller_id, partitions, tuple(sorted(lagging)))


def exchange(connection: socket.socket, request: bytes) -> bytes:
    """Sends a request with its size, and returns the response without. Raises OSError."""
    connection.sendall(request)
    return bytes(receive(connection, int.from_bytes(receive(connection, 4), "big")))


def receive(connection: socket.socket, size: int) -> bytearray:
    """Exactly so many bytes. Raises OSError."""
    received = bytearray(size)
    with memoryview(received) as view:
        done = 0
        while done < size:
            count = connection.recv_into(view[done:])
            if not count:
                raise ConnectionError(f"the connection was closed after {done} of {size} bytes")
            done += count
    return received


def zookeeper_mode(port: int, timeout_s: float = PATIENCE_S) -> str | None:
    """standalone, leader or follower; None while the ZooKeeper server on this port does not serve.

    Without a mode it listens, but could not read its data. `srvr` is the one command that every server accepts.
    """
    try:
        with socket.create_connection((HOST, port), timeout_s) as connection:
            connection.sendall(b"srvr")
            answer = b""
            while piece := connection.recv(4096):
                answer += piece
    except OSError:
        return None
    return next((line[6:] for line in answer.decode().splitlines() if line.startswith("Mode: ")), None)
