"""Health checks: which listener they take, and what they say."""

from __future__ import annotations

import socket
import struct
import threading
from pathlib import Path

import pytest

from kafka_py.cli.common.command import CommandFailed, UsageError
from kafka_py.cli.container import health
from kafka_py.cli.container.health import Door, check_broker, check_manager, doors, lagging, own_id
from kafka_py.manager.settings import ManagerSettings
from kafka_py.wire.messages.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic


def test_the_most_open_listener_is_asked() -> None:
    settings = {
        "listeners": "OUTSIDE://0.0.0.0:9094, LOGIN://kafka:9093,INSIDE://:29092",
        "listener.security.protocol.map": "OUTSIDE:SSL,LOGIN:SASL_PLAINTEXT, INSIDE:PLAINTEXT",
    }
    assert doors(settings) == [
        Door("127.0.0.1", 29092, "PLAINTEXT"), Door("kafka", 9093, "SASL_PLAINTEXT"), Door("127.0.0.1", 9094, "SSL"),
    ]  # fmt: skip
    assert doors({}) == [Door("127.0.0.1", 9092, "PLAINTEXT")]
    assert doors({"listeners": "PLAINTEXT://[::]:9092"}) == [Door("::1", 9092, "PLAINTEXT")]


def test_a_manager_on_all_addresses_of_ipv6_is_asked_there(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def refuse(address: tuple[str, int], *_: object) -> None:
        asked.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", refuse)
    for host in ("::", "0.0.0.0", "10.0.0.1"):
        with pytest.raises(ConnectionRefusedError):
            check_manager(ManagerSettings(host=host))
    assert asked == [("::1", 9000), ("127.0.0.1", 9000), ("10.0.0.1", 9000)]


def answering(body: bytes) -> tuple[int, threading.Thread]:
    """The port of a server that answers one request with this body."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with listener, connection:
            connection.recv(1000)
            connection.sendall(struct.pack(">i", len(body)) + body)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return listener.getsockname()[1], thread


def test_a_broker_that_answers_is_healthy_and_another_server_is_not() -> None:
    port, thread = answering(struct.pack(">ihi", 1, 0, 0))
    check_broker(Door("127.0.0.1", port, "PLAINTEXT"))
    thread.join()
    port, thread = answering(b"HTTP/1.1 400")
    with pytest.raises(CommandFailed, match="is not one of Kafka"):
        check_broker(Door("127.0.0.1", port, "PLAINTEXT"))
    thread.join()


def test_a_replica_out_of_the_in_sync_set_counts_for_its_own_broker_only() -> None:
    partition = MetadataResponsePartition(
        error_code=0, partition_index=3, leader_id=1, replica_nodes=[1, 2], isr_nodes=[1]
    )
    topic = MetadataResponseTopic(error_code=0, name="t", partitions=[partition])
    view = MetadataResponse(brokers=[], controller_id=1, topics=[topic])
    assert [lagging(view, broker) for broker in (1, 2, 3)] == [[], ["t-3"], []]


def test_a_generated_id_is_read_where_the_broker_keeps_it(tmp_path: Path) -> None:
    settings = {"log.dirs": str(tmp_path)}
    with pytest.raises(CommandFailed, match="no id yet"):
        own_id(settings)
    (tmp_path / "meta.properties").write_text("version=0\nbroker.id=1001\n")
    assert (own_id(settings), own_id({"broker.id": "3"})) == (1001, 3)


def test_one_line_says_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    monkeypatch.setenv("KAFKA_LISTENERS", f"PLAINTEXT://:{port}")
    with pytest.raises(CommandFailed, match="the broker does not answer"):
        health.main(["broker"])
    with pytest.raises(UsageError, match="USAGE"):
        health.main(["brokers"])


def serving(response: bytes) -> tuple[int, threading.Thread]:
    """The port of a server that gives one connection these bytes."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with listener, connection:
            connection.recv(10_000)
            connection.sendall(response)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return listener.getsockname()[1], thread


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", "the web manager answers with the status 500"),
        (b"+PONG\r\n", "not one of a web manager"),
    ],
)
def test_a_manager_that_shows_its_login_page_is_healthy_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, response: bytes, words: str
) -> None:
    port, thread = serving(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
    monkeypatch.setenv("KAFKA_MANAGER_PORT", str(port))
    assert health.main(["manager"]) == 0
    thread.join()
    port, thread = serving(response)
    monkeypatch.setenv("KAFKA_MANAGER_PORT", str(port))
    with pytest.raises(CommandFailed, match=words):
        health.main(["manager"])
    thread.join()
    with pytest.raises(CommandFailed, match="the web manager does not answer"):
        health.main(["manager"])
