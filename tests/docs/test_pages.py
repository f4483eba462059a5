"""Every command of the documentation pages is run, page by page, in the order of the page."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from page_blocks import DOCS, commands_of
from page_world import PageWorld

from kafka_py.cli.local_cluster import state
from kafka_py.cli.local_cluster.ports import is_free
from kafka_py.cli.local_cluster.processes import kill
from kafka_py.testing.processes import free_ports


@pytest.fixture
def world(tmp_path: Path) -> Iterator[PageWorld]:
    """Clusters that `kafka-py up` has started there end with the test."""
    made = PageWorld(tmp_path)
    yield made
    for process in state.read(tmp_path / "cluster"):
        kill(process)


def consecutive_ports(count: int) -> int:
    """The first of some ports in a row that were free just now."""
    while True:
        [first] = free_ports(1)
        if all(is_free(port) for port in range(first, first + count)):
            return first


def test_the_first_page(world: PageWorld, capsys: pytest.CaptureFixture[str]) -> None:
    port = consecutive_ports(3)
    up = f"kafka-py up --port {port} --zookeeper-port 0"
    world.replaced = {"kafka-py up": up, "localhost:9092": f"localhost:{port}"}
    shown = [world.run(block) for block in commands_of(DOCS / "index.md")]
    assert "Created topic greetings." in shown[0] and "hello" in shown[0].splitlines()
    assert "b'hello from Python'" in capsys.readouterr().out
    assert "Stopped zookeeper, broker-0, broker-1, broker-2" in shown[-1]
