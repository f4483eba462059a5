"""Servers that are no brokers, or hang: each is named within the time-out, with and without TLS."""

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from kafka_py.cli.umbrella.doctor import printable
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.processes import ZookeeperServer

from .diagnosing import diagnosed, ids, the

ANSWERS: dict[str, Callable[[bytes], bytes]] = {
    "closes": lambda _: b"",
    "http": lambda _: b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "echo": lambda received: received,
    "announces two gigabytes": lambda _: b"\x7f\xff\xff\xff" + b"x" * 100,
    "announces less than nothing": lambda _: b"\xff\xff\xff\xff" + b"x" * 100,
    "answers another request": lambda _: b"\x00\x00\x00\x20\x00\x00\x00\x09" + b"\xff" * 28,
    "answers what cannot be read": lambda _: b"\x00\x00\x00\x20\x00\x00\x00\x01" + b"\xff" * 28,
}


@contextmanager
def serving(answer: Callable[[bytes], bytes]) -> Iterator[int]:
    """A server on a port of its own that answers the first bytes of each connection, and then closes it or waits."""
    with socket.socket() as listening, ExitStack() as kept:
        listening.bind(("127.0.0.1", 0))
        listening.listen()

        def serve() -> None:
            while True:
                try:
                    connected = kept.enter_context(listening.accept()[0])
                    said = answer(connected.recv(1000))
                    connected.sendall(said)
                except OSError:
                    if listening.fileno() < 0:
                        return
                    continue
                if not said:
                    connected.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


@pytest.mark.parametrize("kind", ANSWERS)
@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
def test_a_server_that_is_no_broker_is_named(kind: str, protocol: str) -> None:
    with serving(ANSWERS[kind]) as port:
        report = diagnosed(f"127.0.0.1:{port}", {"security.protocol": protocol}, timeout_s=1.0)
    assert len(report.findings) == 1
    expected = {"no-kafka", "no-answer"} if protocol == "PLAINTEXT" else {"tls-not-offered", "tls-failed"}
    assert set(ids(report)) <= expected


def test_fault_a_broker_that_is_stopped_by_a_signal(tmp_path: Path, zookeeper: ZookeeperServer) -> None:
    with BrokerProcess(tmp_path, f"{zookeeper.connect}/doctor-stopped") as broker:
        broker.signal(signal.SIGSTOP)
        try:
            finding = the(diagnosed(broker.bootstrap, timeout_s=1.0), "no-answer")
        finally:
            broker.signal(signal.SIGCONT)
    assert "stopped by a signal" in finding.repair


def test_nothing_that_a_server_says_reaches_the_terminal_as_a_command() -> None:
    assert printable("CN=\x1b[2Jx\r\u202e") == "CN=\\x1b[2Jx\\x0d\\x202e"


def test_a_look_leaves_no_task_behind() -> None:
    async def run() -> int:
        from kafka_py.operations.doctor.diagnosis import diagnose
        from kafka_py.operations.doctor.examine import DoctorRequest

        with serving(ANSWERS["closes"]) as port:
            await diagnose(DoctorRequest({"bootstrap.servers": f"127.0.0.1:{port}"}, timeout_s=1.0))
        return len(asyncio.all_tasks())

    assert asyncio.run(run()) == 1
