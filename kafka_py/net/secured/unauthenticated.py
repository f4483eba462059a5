"""A bound on connections that have not yet authenticated: a flood of them costs its sender its own ones.

Without it whoever connects and says nothing holds a socket, and what belongs to it, until the deadline of the handshake
or login. Pure bookkeeping: closes nothing itself.
"""

from __future__ import annotations

from itertools import islice

from kafka_py.base.chance import Chance
from kafka_py.net.connection import Connection


class UnauthenticatedConnections:
    """Those that are in a handshake or a login, by the address of the client. most: so many may be, of all addresses.

    Beyond it one leaves, drawn from those of the address that has most: neither the oldest, or many clients that return
    at once would never complete a login, nor the newest, or a flood would keep out whoever shares its address.
    """

    def __init__(self, most: int, chance: Chance) -> None:
        self.most = most
        self._chance = chance
        self._by_host: dict[str, dict[Connection, None]] = {}
        self._total = 0

    def __len__(self) -> int:
        return self._total

    def __contains__(self, connection: Connection) -> bool:
        return connection in self._by_host.get(connection.peer_host, {})

    def add(self, connection: Connection) -> Connection | None:
        """Counts a connection; returns the one that has to leave for it, still counted, if any."""
        self._by_host.setdefault(connection.peer_host, {})[connection] = None
        self._total += 1
        if self._total <= self.most:
            return None
        several = max(self._by_host.values(), key=len)
        return next(islice(several, self._chance.number(0, len(several) - 1), None))

    def discard(self, connection: Connection) -> None:
        """It has authenticated, or was closed; may be called again."""
        if connection not in self:
            return
        others = self._by_host[connection.peer_host]
        del others[connection]
        self._total -= 1
        if not others:
            del self._by_host[connection.peer_host]
