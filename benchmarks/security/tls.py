"""What TLS costs: records in and out over a plain and a TLS listener of one broker, new connections, idle ones.

    python -m benchmarks.security.tls [--records N] [--apache] [--idle N]

librdkafka writes and reads records of 100 bytes, uncompressed, over TLS 1.3. On few processors it shares them with the
broker, so the broker's own CPU time is the fairer figure. New connections are made by OpenSSL's client, one after the
other, and ask for a response. Prints lines for people.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import confluent_kafka.admin

from benchmarks.servers import Server, folder, zookeeper
from kafka_py.testing.broker import AnyBroker, BrokerProcess
from kafka_py.testing.certificate_files import CertificateFiles
from kafka_py.testing.peers.apache import CLASSIC_JVM, ApacheBroker
from kafka_py.testing.processes import free_port
from kafka_py.wire.frames import encode_request
from kafka_py.wire.messages.api_versions import ApiVersionsRequest

VALUE = b"x" * 100
CONNECTIONS = 300


def client(server: str, files: CertificateFiles | None) -> dict[str, Any]:
    if files is None:
        return {"bootstrap.servers": server}
    return {"bootstrap.servers": server, "security.protocol": "ssl", "ssl.ca.location": str(files.authority_pem)}


def write(settings: dict[str, Any], topic: str, records: int) -> None:
    producer = confluent_kafka.Producer({
        **settings, "linger.ms": 5, "batch.size": 1_000_000, "queue.buffering.max.messages": 1_000_000,
    })  # fmt: skip
    for number in range(records):
        producer.produce(topic, VALUE, partition=0)
        if number % 10_000 == 0:
            producer.poll(0)
    assert producer.flush(120) == 0


def read(settings: dict[str, Any], topic: str, records: int) -> None:
    consumer = confluent_kafka.Consumer({**settings, "group.id": "unused", "fetch.message.max.bytes": 4_000_000})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    got = 0
    while got < records:
        got += len(consumer.consume(10_000, 5.0))
    consumer.close()


def measure(server: Server, name: str, servers: dict[str, str], files: CertificateFiles, records: int) -> None:
    for listener, address in servers.items():
        settings = client(address, files if listener == "SSL" else None)
        admin = confluent_kafka.admin.AdminClient(settings)
        [made] = admin.create_topics([confluent_kafka.admin.NewTopic(listener, 1, 1)]).values()
        made.result(30)
        write(settings, listener, records // 10)  # warm
        for what, work in (("in", write), ("out", read)):
            cpu, began = server.cpu_seconds(), time.monotonic()
            work(settings, listener, records)
            took, cpu = time.monotonic() - began, server.cpu_seconds() - cpu
            print(f"{name:8} {listener:9} {what:3} {records / took / 1000:8.0f} k records/s, broker's CPU "
                  f"{cpu / records * 1e6:5.2f} us a record", flush=True)  # fmt: skip


def connections(server: Server, name: str, port: int, files: CertificateFiles) -> None:
    context = ssl.create_default_context(cafile=str(files.authority_pem))
    request = bytes(encode_request(ApiVersionsRequest(), 0, 1, "bench"))
    cpu, began = server.cpu_seconds(), time.monotonic()
    for _ in range(CONNECTIONS):
        with (
            socket.create_connection(("127.0.0.1", port)) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as secured,
        ):
            secured.sendall(request)
            secured.recv(4)
    took, cpu = time.monotonic() - began, server.cpu_seconds() - cpu
    print(f"{name:8} {CONNECTIONS / took:8.0f} new connections/s one after the other, broker's CPU "
          f"{cpu / CONNECTIONS * 1e3:5.2f} ms each", flush=True)  # fmt: skip


def idle(server: Server, name: str, port: int, files: CertificateFiles, count: int) -> None:
    context = ssl.create_default_context(cafile=str(files.authority_pem))
    before = server.resident_mb()
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            plain = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            stack.enter_context(context.wrap_socket(plain, server_hostname="localhost"))
        after = server.resident_mb()
        each = (after - before) * 1024 / max(count, 1)
        print(f"{name:8} {count} idle connections: {after:.0f} MB, {each:.0f} KB each", flush=True)


@contextlib.contextmanager
def running(kind: type[AnyBroker], connect: str, files: CertificateFiles) -> Iterator[tuple[Server, dict[str, int]]]:
    ports = {"PLAINTEXT": free_port(), "SSL": free_port()}
    listeners = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
    settings = {"listeners": listeners, **files.broker()}
    with folder(kind.__name__) as directory, contextlib.ExitStack() as stack:
        connect, port = f"{connect}/{kind.__name__}", ports["PLAINTEXT"]
        broker: AnyBroker
        if kind is ApacheBroker:
            broker = ApacheBroker(directory, connect, port=port, settings=settings, jvm=CLASSIC_JVM)
        else:
            broker = BrokerProcess(directory, connect, port=port, settings=settings)
        stack.enter_context(broker)
        yield Server(kind.__name__, broker.popen, broker.port, directory), ports


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=500_000)
    parser.add_argument("--idle", type=int, default=300)
    parser.add_argument("--apache", action="store_true", help="Apache Kafka 2.8.2 as well")
    options = parser.parse_args()
    kinds: list[type[AnyBroker]] = [BrokerProcess, *([ApacheBroker] if options.apache else [])]
    with zookeeper() as connect, folder("certificates") as certificates:
        files = CertificateFiles(Path(certificates))
        for kind in kinds:
            name = "ours" if kind is BrokerProcess else "Apache"
            with running(kind, connect, files) as (server, ports):
                servers = {listener: f"localhost:{port}" for listener, port in ports.items()}
                measure(server, name, servers, files, options.records)
                connections(server, name, ports["SSL"], files)
                idle(server, name, ports["SSL"], files, options.idle)


if __name__ == "__main__":
    main()
