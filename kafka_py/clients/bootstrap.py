"""Resolves bootstrap servers to the canonical names of their addresses (KIP-235).

Knows names and addresses; connects to nothing. Source: KIP-235; ClientUtils (client.dns.lookup).
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterable
from typing import Any, Protocol

from kafka_py.base.errors import ErrorCode, KafkaError

_log = logging.getLogger(__name__)

CANONICAL = "resolve_canonical_bootstrap_servers_only"
"""The value of client.dns.lookup for canonical names."""

Server = tuple[str, int]
"""Host and port."""


class Resolver(Protocol):
    """Looks up names and addresses; an event loop implements it."""

    async def getaddrinfo(self, host: str, port: int, *, type: int = 0) -> list[Any]:
        """(family, type, protocol, canonical name, (address, port, ...)) tuples. Raises OSError, UnicodeError."""
        ...

    async def getnameinfo(self, sockaddr: Any, flags: int = 0) -> tuple[str, str]:
        """The name of an address, its text when it has none, and the name of a port. Raises OSError."""
        ...


async def canonical_servers(servers: Iterable[Server], resolver: Resolver | None = None) -> list[Server]:
    """The canonical name of each address of each server, without duplicates, in the order of the servers.

    resolver: the running loop by default. A server that cannot be resolved is logged and left out.
    Raises KafkaError(BROKER_NOT_AVAILABLE) if none can be resolved.
    """
    resolver = resolver or asyncio.get_running_loop()
    found: dict[Server, None] = {}
    for host, port in servers:
        try:
            addresses = await resolver.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            _log.warning("%s in bootstrap.servers cannot be resolved: %s", host, error)
            continue
        for _, _, _, _, address in addresses:
            found[await _canonical_name(resolver, address), port] = None
    if not found:
        raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, "no host in bootstrap.servers can be resolved")
    return list(found)


async def _canonical_name(resolver: Resolver, address: Any) -> str:
    """The name of an address if the name resolves to the address; else the address as text, as in Java."""
    text: str = address[0]
    try:
        name, _ = await resolver.getnameinfo(address, socket.NI_NUMERICSERV)
        back = await resolver.getaddrinfo(name, address[1], type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return text
    return name if any(each[4][0] == text for each in back) else text
