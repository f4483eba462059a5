"""A login over a new connection of kazoo, on its thread, in place of kazoo's own, which needs another package.

The session is open by then, but nothing was sent in it; a server that refuses the login closes it.
Source: ZooKeeperSaslClient.
"""

from __future__ import annotations

from typing import Any

from kazoo.exceptions import AuthFailedError, ConnectionDropped, SessionClosedRequireSaslError, SessionExpiredError
from kazoo.protocol.serialization import SASL

from kafka_py.zk.secured.digest_md5 import LoginFailed
from kafka_py.zk.secured.protection import LoginExchange

_MOST_STEPS = 16


def log_in(connection: Any, exchange: LoginExchange, timeout_s: float) -> None:
    """Carries out a login. connection: kazoo's ConnectionHandler, connected.

    Raises LoginFailed, ConnectionDropped for a connection that breaks and for other errors, SessionExpiredError.
    """
    token = exchange.first()
    for xid in range(1, _MOST_STEPS):
        token = exchange.respond(_sent(connection, xid, token, timeout_s))
        if exchange.is_complete:
            return
    raise LoginFailed("the login does not end")


def _sent(connection: Any, xid: int, token: bytes, timeout_s: float) -> bytes | None:
    """The server's answer to a token."""
    connection._submit(SASL(token), timeout_s, xid)
    header, buffer, offset = connection._read_header(timeout_s)
    if header.xid != xid:
        raise ConnectionDropped(f"response {header.xid} to token {xid} of a login")
    if header.err in (AuthFailedError.code, SessionClosedRequireSaslError.code):
        raise LoginFailed("the server refuses the login: its name, password or ticket is wrong")
    if header.err == SessionExpiredError.code:
        raise SessionExpiredError
    if header.err:  # anything else that kazoo does not expect here would end its thread
        raise ConnectionDropped(f"error {header.err} in response to a token of a login")
    challenge: bytes | None = SASL.deserialize(buffer, offset)[0]
    return challenge
