"""Rules between network settings."""

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.net.configs import SYSTEM_BUFFER_BYTES, NetOptions


def test_defaults_are_those_of_the_reference() -> None:
    options = NetOptions.parse()
    assert options.port == 9092
    assert options.listeners is None
    assert options.socket_request_max_bytes == 100 * 1024 * 1024
    assert options.connections_max_idle_ms == 600_000
    assert options.queued_max_requests == 500
    assert options.max_connections == 2**31 - 1


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"queued.max.request.bytes": "1000"}, "queued.max.request.bytes"),
        ({"max.connections.per.ip": "0"}, "max.connections.per.ip"),
        ({"connections.max.idle.ms": "100"}, "connection.failed.authentication.delay.ms"),
        ({"socket.request.max.bytes": "0"}, "socket.request.max.bytes"),
        ({"max.connections": "-1"}, "max.connections"),
    ],
)
def test_a_broken_rule_names_its_setting(settings: dict[str, str], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        NetOptions.parse(settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"queued.max.request.bytes": "104857600"},
        {"queued.max.request.bytes": "0"},
        {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "127.0.0.1:5"},
        {"connections.max.idle.ms": "-1"},
    ],
)
def test_the_edges_are_allowed(settings: dict[str, str]) -> None:
    NetOptions.parse(settings)


def test_only_a_buffer_size_that_differs_from_the_default_is_set() -> None:
    row = NetOptions.socket_receive_buffer_bytes
    assert NetOptions.parse().buffer_bytes(row) == SYSTEM_BUFFER_BYTES
    assert NetOptions.parse({"socket.receive.buffer.bytes": "102400"}).buffer_bytes(row) == SYSTEM_BUFFER_BYTES
    assert NetOptions.parse({"socket.receive.buffer.bytes": "-1"}).buffer_bytes(row) == SYSTEM_BUFFER_BYTES
    assert NetOptions.parse({"socket.receive.buffer.bytes": "4096"}).buffer_bytes(row) == 4096
