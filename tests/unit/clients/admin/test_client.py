"""The two admin clients as wholes: what a blocking one does besides its calls."""

import asyncio

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.clients import AdminClient, AsyncAdminClient, IllegalState, NewTopic
from kafka_py.testing.fakes.memory_wire import MemoryCluster, MemoryWires

SETTINGS = {"bootstrap.servers": "h:9092", "client.id": "me"}


def test_a_blocking_client_waits_for_its_calls_on_a_thread_of_its_own() -> None:
    cluster = MemoryCluster()
    with AdminClient(SETTINGS, environment=MemoryWires(cluster).environment()) as admin:
        admin.create_topics([NewTopic("t", 2, 1)]).all()
        assert set(admin.list_topics()) == {"t"}
        assert admin.metrics().find("request-total", "admin-client-metrics", client_id="me") >= 2


def test_a_closed_blocking_client_refuses_calls_and_may_be_closed_again() -> None:
    admin = AdminClient(SETTINGS, environment=MemoryWires(MemoryCluster()).environment())
    admin.close()
    admin.close()
    with pytest.raises(IllegalState):
        admin.list_topics()


def test_settings_are_checked_before_anything_is_started() -> None:
    with pytest.raises(ConfigError):
        AdminClient({})
    with pytest.raises(ConfigError):
        AsyncAdminClient({**SETTINGS, "retries": "some"})


def test_several_calls_of_an_asyncio_client_may_be_under_way() -> None:
    async def scenario() -> list[str]:
        cluster = MemoryCluster()
        async with AsyncAdminClient(SETTINGS, environment=MemoryWires(cluster).environment()) as admin:
            await asyncio.gather(*(admin.create_topics([NewTopic(name, 1, 1)]) for name in "abc"))
            return sorted(await admin.list_topics())

    assert asyncio.run(scenario()) == ["a", "b", "c"]
