"""Ports of the loopback address: is one free, and which are."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, Iterator
from pathlib import Path

LOWEST_DRAWN = 10_000
HOST = "127.0.0.1"


def is_free(port: int) -> bool:
    """Whether a server could listen on it now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def free_ports(count: int, *, besides: Collection[int] = ()) -> list[int]:
    """So many free ports, none of them in `besides`; two commands at the same time look at different ones first.

    Below those that the system gives to outgoing connections: one of these could take a port away before it is bound.
    """
    found: list[int] = []
    for port in _candidates():
        if len(found) == count:
            break
        if port not in besides and is_free(port):
            found.append(port)
    return found


def _candidates() -> Iterator[int]:
    first_outgoing = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    drawn = range(LOWEST_DRAWN, max(first_outgoing, LOWEST_DRAWN + 1))
    start = os.getpid() * 101 % len(drawn)
    yield from drawn[start:]
    yield from drawn[:start]
    yield from range(first_outgoing, 65_536)
