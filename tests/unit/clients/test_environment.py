"""What clients get from outside: the machine's own unless given, and one value for all that a client is made of."""

import dataclasses
from typing import Any

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.clock import SystemClock
from kafka_py.clients import AsyncAdminClient, AsyncConsumer, AsyncProducer
from kafka_py.clients.environment import SYSTEM, ClientEnvironment
from kafka_py.net.client import BrokerConnection
from kafka_py.net.connection_failures import ConnectionLost
from kafka_py.net.network import TcpNetwork
from kafka_py.testing.virtual_time import run_virtual, virtual_clock

SETTINGS = {"bootstrap.servers": "nowhere:9092", "reconnect.backoff.ms": 1_000, "retry.backoff.ms": 1_000}


def test_without_another_one_it_is_the_machines_own() -> None:
    assert isinstance(SYSTEM.clock, SystemClock)
    assert isinstance(SYSTEM.network, TcpNetwork)
    assert SYSTEM.connect is None
    assert SYSTEM.chance.new_uuid() != SYSTEM.chance.new_uuid()


def test_it_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        SYSTEM.clock = SystemClock()  # type: ignore[misc]


class NoNetwork(TcpNetwork):
    """Refuses every connection, and notes when it was asked for one."""

    def __init__(self) -> None:
        self.asked_s: list[float] = []
        self.clock: Any = None

    async def connect(
        self, host: str, port: int, *, send_buffer_bytes: int = -1, receive_buffer_bytes: int = -1
    ) -> Any:
        self.asked_s.append(self.clock.monotonic_s())
        raise ConnectionRefusedError(host)


async def _administrate(environment: ClientEnvironment) -> None:
    async with AsyncAdminClient(SETTINGS, environment=environment) as admin:
        await admin.list_topics(timeout=60)


async def _produce(environment: ClientEnvironment) -> None:
    async with AsyncProducer(SETTINGS, environment=environment) as producer:
        await producer.partitions_for("t")


async def _consume(environment: ClientEnvironment) -> None:
    async with AsyncConsumer(SETTINGS, environment=environment) as consumer:
        await consumer.list_topics(60)


@pytest.mark.parametrize("use", [_administrate, _produce, _consume])
def test_a_client_connects_over_the_network_and_at_times_that_follow_from_what_is_handed_in(use: Any) -> None:
    def asked(seed: int) -> list[float]:
        network = NoNetwork()

        async def run() -> None:
            network.clock = virtual_clock()
            with pytest.raises(Exception, match=r"nowhere|Timed out|broker"):
                await use(ClientEnvironment(network.clock, Chance(seed), network))

        run_virtual(run())
        return network.asked_s

    first = asked(1)
    assert len(first) > 10
    assert first == asked(1)
    assert first != asked(2)


def test_a_connection_is_given_the_same_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    async def connect(*_: Any, **named: Any) -> Any:
        given.append(named.get("clock"))
        raise ConnectionLost("refused")

    async def run() -> Any:
        clock = virtual_clock()
        with pytest.raises(Exception, match=r"refused|Timed out|broker"):
            await _administrate(ClientEnvironment(clock, Chance(1)))
        return clock

    monkeypatch.setattr(BrokerConnection, "connect", connect)
    clock = run_virtual(run())
    assert given and all(each is clock for each in given)
