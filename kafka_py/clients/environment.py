"""What a client gets from the world outside: time, chance, the network and the names in it.

Source: docs/architecture.md.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from kafka_py.base.environment import Environment
from kafka_py.clients.bootstrap import Resolver
from kafka_py.clients.metadata import Node
from kafka_py.net.client import BrokerConnection
from kafka_py.net.network import Network, TcpNetwork

Connect = Callable[[Node, float], Awaitable[BrokerConnection]]
"""From (node, time-out in ms) to an open, negotiated connection."""


@dataclass(frozen=True, slots=True)
class ClientEnvironment(Environment):
    """The machine's own, unless given.

    network: where sockets come from.
    resolver: looks up canonical names of bootstrap servers, where client.dns.lookup asks for them; the running loop
    when None. See bootstrap.py.
    connect: opens the connection to a node in place of one over `network`, for tests without sockets.
    """

    network: Network = field(default_factory=TcpNetwork)
    resolver: Resolver | None = None
    connect: Connect | None = None


SYSTEM = ClientEnvironment()
"""The machine's own clock, entropy and network, for clients to which nothing else is handed."""
