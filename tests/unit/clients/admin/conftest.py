"""An admin client and pretend brokers in virtual time: no sockets, no thread, no waiting."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest

from kafka_py.clients import AsyncAdminClient
from kafka_py.testing.fakes.memory_wire import MemoryCluster, MemoryWires
from kafka_py.testing.virtual_time import run_virtual, virtual_clock

T = TypeVar("T")


class AdminWorld:
    """Two brokers, and what an admin client of them is asked to do."""

    def __init__(self) -> None:
        self.cluster = MemoryCluster(2)

    def ask(self, call: Callable[[AsyncAdminClient], Coroutine[Any, Any, T]], **settings: Any) -> T:
        """The result of one call of a new client."""
        names = {name.replace("_", "."): value for name, value in settings.items()}

        async def run() -> T:
            environment = MemoryWires(self.cluster).environment(virtual_clock())
            bootstrap = ",".join(f"h:{port}" for port in self.cluster.ports.values())
            async with AsyncAdminClient({"bootstrap.servers": bootstrap, **names}, environment=environment) as admin:
                return await call(admin)

        return run_virtual(run())

    def asked(self, kind: type) -> list[tuple[int, Any]]:
        """(broker, request) of every request of a kind."""
        return [(node_id, request) for node_id, request in self.cluster.requests if isinstance(request, kind)]


@pytest.fixture
def world() -> AdminWorld:
    return AdminWorld()
