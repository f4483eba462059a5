"""Which name a client checks, and which it sends to the server (SNI, RFC 6066: host names, never addresses)."""

import ssl
from typing import Any

import pytest

from kafka_py.security.tls.client_tls import client_end


class Context:
    """Notes the name of the session that is made."""

    def __init__(self, *, check_hostname: bool) -> None:
        self.check_hostname = check_hostname
        self.name: str | None = ""

    def wrap_bio(self, _incoming: Any, _outgoing: Any, server_hostname: str | None) -> None:
        self.name = server_hostname


def name_for(host: str, *, check: bool) -> str | None:
    context: Any = Context(check_hostname=check)
    client_end(context, host)(ssl.MemoryBIO(), ssl.MemoryBIO())
    name: str | None = context.name
    return name


@pytest.mark.parametrize("host", ["kafka-1.example.com", "localhost", "127.0.0.1", "::1"])
def test_where_names_are_checked_every_host_is(host: str) -> None:
    assert name_for(host, check=True) == host


@pytest.mark.parametrize(
    ("host", "sent"),
    [("kafka-1.example.com", "kafka-1.example.com"), ("localhost", None), ("127.0.0.1", None), ("::1", None)],
)
def test_where_they_are_not_only_names_with_a_dot_are_sent(host: str, sent: str | None) -> None:
    assert name_for(host, check=False) == sent
