"""The environment of a client: clock, random numbers, network and name resolution.

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
"""(node, time-out in ms) -> an open connection with negotiated versions."""


@dataclass(frozen=True, slots=True)
class ClientEnvironment(Environment):
    """Clock, random numbers, network and resolver of a client; those of the machine by default.

    network: creates sockets.
    resolver: looks up canonical names of bootstrap servers if client.dns.lookup asks for them; None: the running loop.
    See bootstrap.py.
    connect: opens the connection to a node instead of one over `network`, for tests without sockets.
    """

    network: Network = field(default_factory=TcpNetwork)
    resolver: Resolver | None = None
    connect: Connect | None = None


SYSTEM = ClientEnvironment()
"""The machine's clock, random numbers and network: the default environment of clients."""
