"""Canonical names of bootstrap servers (KIP-235), looked up by a resolver that is a table."""

import asyncio
import logging
import socket
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.bootstrap import canonical_servers
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.configs import ClientOptions
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.clients.errors import ClientTimeout
from kafka_py.clients.metadata import Node
from kafka_py.net.connection_failures import ConnectionLost

SETTING = "client.dns.lookup"
CANONICAL = "resolve_canonical_bootstrap_servers_only"


class Names:
    """A resolver. addresses: by name; names: by address. asked: the names looked up, in order."""

    def __init__(self, addresses: dict[str, list[str]], names: dict[str, str]) -> None:
        self.addresses = addresses
        self.names = names
        self.asked: list[str] = []

    async def getaddrinfo(self, host: str, port: int, *, type: int = 0) -> list[Any]:
        self.asked.append(host)
        await asyncio.sleep(0)
        if host not in self.addresses:
            raise socket.gaierror(-2, "Name or service not known")
        return [(socket.AF_INET, type, 6, "", (address, port)) for address in self.addresses[host]]

    async def getnameinfo(self, sockaddr: Any, flags: int = 0) -> tuple[str, str]:
        return self.names.get(sockaddr[0], sockaddr[0]), str(sockaddr[1])


def names() -> Names:
    return Names(
        {"alias": ["10.0.0.1", "10.0.0.2"], "other": ["10.0.0.2"], "a.test": ["10.0.0.1"], "b.test": ["10.0.0.2"]},
        {"10.0.0.1": "a.test", "10.0.0.2": "b.test"},
    )


def found(names: Names, *servers: tuple[str, int]) -> list[tuple[str, int]]:
    return asyncio.run(canonical_servers(servers, names))


def test_each_address_of_each_host_becomes_a_server_by_its_canonical_name() -> None:
    assert found(names(), ("alias", 9092)) == [("a.test", 9092), ("b.test", 9092)]


def test_a_name_found_twice_is_one_server_and_ports_are_kept() -> None:
    servers = found(names(), ("alias", 1), ("other", 1), ("other", 2))
    assert servers == [("a.test", 1), ("b.test", 1), ("b.test", 2)]


def test_an_address_without_a_name_that_leads_back_to_it_stays_an_address() -> None:
    known = names()
    known.names["10.0.0.1"] = "b.test"  # which has another address
    known.names["10.0.0.2"] = "gone.test"  # which has none
    assert found(known, ("alias", 1)) == [("10.0.0.1", 1), ("10.0.0.2", 1)]


def test_a_host_that_cannot_be_resolved_is_left_out_and_named(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert found(names(), ("nowhere", 1), ("other", 1)) == [("b.test", 1)]
    assert "nowhere" in caplog.text


def test_no_host_at_all_is_an_error() -> None:
    with pytest.raises(KafkaError) as refused:
        found(names(), ("nowhere", 1))
    assert refused.value.code is ErrorCode.BROKER_NOT_AVAILABLE


def connected_to(names: Names, **settings: str) -> list[tuple[str, int]]:
    """Where a client tries to connect, all in vain."""
    tried: list[tuple[str, int]] = []

    async def connect(node: Node, _timeout_ms: float) -> Any:
        tried.append((node.host, node.port))
        raise ConnectionLost("refused")

    async def run() -> None:
        configs = {"bootstrap.servers": "alias:9092", "retry.backoff.ms": 1, "reconnect.backoff.ms": 1, **settings}
        cluster = Cluster(ClientOptions.parse(configs), "c", ClientEnvironment(connect=connect, resolver=names))
        cluster.start()
        try:
            with pytest.raises(ClientTimeout):
                await cluster.refresh(200)
        finally:
            await cluster.close()

    asyncio.run(run())
    return tried


def test_a_client_connects_to_canonical_names_only_where_it_is_told_so() -> None:
    known = names()
    assert set(connected_to(known, **{SETTING: CANONICAL})) == {("a.test", 9092), ("b.test", 9092)}
    assert known.asked.count("alias") == 1
    known = names()
    assert set(connected_to(known)) == {("alias", 9092)}
    assert known.asked == []


def test_names_that_cannot_be_resolved_yet_are_looked_up_again() -> None:
    known = Names({}, {})
    assert connected_to(known, **{SETTING: CANONICAL}) == []
    assert known.asked.count("alias") > 1
