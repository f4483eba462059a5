"""The limit and the load generator work with one another, and the limit with a real client."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_py.testing.cluster import KafkaCluster

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    command = [sys.executable, "-m", "benchmarks.bare_loop", "--dir", str(tmp_path), "--partitions", "2"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield int(process.stdout.readline())
    process.terminate()
    process.wait(10)
    process.stdout.close()


def load(kind: str, port: int, *arguments: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.load", kind, "--port", str(port), "--topic", "t", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def test_what_was_produced_is_counted_and_can_be_fetched(port: int) -> None:
    shape = ("--batch-records", "50", "--seconds", "0.1", "--connections", "3", "--depth", "4")
    produced = load("produce", port, *shape)
    assert produced["records"] == produced["requests"] * 50 > 0
    fetched = load("fetch", port, *shape, "--fetch-batches", "2")
    assert fetched["records"] == fetched["requests"] * 100 > 0


def test_a_server_that_refuses_is_one_clear_line(port: int) -> None:
    command = [sys.executable, "-m", "benchmarks.load", "fetch", "--port", str(port), "--topic", "empty"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert done.stderr == "load: empty-0 holds too little\n"


def test_places_at_the_end_of_a_segment_are_left_out(kafka_cluster_factory: Callable[..., KafkaCluster]) -> None:
    with kafka_cluster_factory(settings={"log.segment.bytes": "65536"}) as cluster:
        port = int(cluster.bootstrap_servers.rpartition(":")[2])
        load("produce", port, "--batch-records", "50", "--seconds", "0.2", "--connections", "1")
        fetched = load("fetch", port, "--batch-records", "50", "--seconds", "0.2", "--fetch-batches", "5")
    assert fetched["records"] == fetched["requests"] * 250 > 0


@pytest.mark.skipif(shutil.which("kcat") is None, reason="kcat is not installed")
def test_a_real_client_gets_its_lines_back(port: int, tmp_path: Path) -> None:
    lines = [f"line {number}" for number in range(1000)]
    source = tmp_path / "lines"
    source.write_text("\n".join(lines) + "\n")
    server = ["-b", f"127.0.0.1:{port}", "-t", "k"]
    subprocess.run(["kcat", "-P", *server, "-l", str(source)], check=True, timeout=30)
    done = subprocess.run(["kcat", "-C", *server, "-e", "-q"], check=True, capture_output=True, text=True, timeout=30)
    assert sorted(done.stdout.splitlines()) == sorted(lines)
