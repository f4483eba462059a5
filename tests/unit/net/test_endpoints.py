"""Listener settings: every form that is accepted, every mistake named with its setting."""

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.net.configs import NetOptions
from kafka_py.net.endpoints import (
    Endpoint,
    SecurityProtocol,
    listeners_of,
    listening_of,
    parse_endpoints,
    parse_protocol_map,
)

PLAIN = SecurityProtocol.PLAINTEXT
PROTOCOLS = parse_protocol_map("PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,EXTERNAL:PLAINTEXT,SSL:SSL")
MAP = {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,EXTERNAL:PLAINTEXT,SSL:SSL"}


def options(**settings: object) -> NetOptions:
    return NetOptions.parse({name.replace("__", "-").replace("_", "."): value for name, value in settings.items()})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PLAINTEXT://localhost:9092", Endpoint("PLAINTEXT", PLAIN, "localhost", 9092)),
        ("plaintext://localhost:9092", Endpoint("PLAINTEXT", PLAIN, "localhost", 9092)),
        ("PLAINTEXT://:0", Endpoint("PLAINTEXT", PLAIN, "", 0)),
        ("INTERNAL://[::1]:9092", Endpoint("INTERNAL", PLAIN, "::1", 9092)),
        ("SSL://a-b.example.org:65535", Endpoint("SSL", SecurityProtocol.SSL, "a-b.example.org", 65535)),
        (" PLAINTEXT://127.0.0.1:1 ", Endpoint("PLAINTEXT", PLAIN, "127.0.0.1", 1)),
    ],
)
def test_one_endpoint(text: str, expected: Endpoint) -> None:
    assert parse_endpoints("listeners", text, PROTOCOLS) == [expected]


def test_an_endpoint_prints_as_it_is_written() -> None:
    assert str(Endpoint("INTERNAL", PLAIN, "::1", 9092)) == "INTERNAL://[::1]:9092"
    assert str(Endpoint("PLAINTEXT", PLAIN, "h", 9092)) == "PLAINTEXT://h:9092"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("localhost:9092", "unable to parse 'localhost:9092'"),
        ("PLAINTEXT://localhost", "unable to parse"),
        ("PLAINTEXT://localhost:x", "unable to parse"),
        ("PLAINTEXT://loc alhost:1", "unable to parse"),
        ("PLAINTEXT://localhost:65536", "port 65536"),
        ("PLAINTEXT://localhost:-1", "port -1"),
        ("OTHER://localhost:1", "no security protocol is defined for listener 'OTHER'"),
        ("", "at least one listener"),
        (" , ", "at least one listener"),
        ("PLAINTEXT://a:1,plaintext://b:2", "PLAINTEXT names two listeners"),
    ],
)
def test_a_mistake_names_the_setting(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=r"advertised.listeners: ") as caught:
        parse_endpoints("advertised.listeners", text, PROTOCOLS)
    assert complaint in caught.value.detail


@pytest.mark.parametrize("text", ["PLAINTEXT", "A:NOPE", ":SSL", "A:SSL,a:PLAINTEXT"])
def test_a_broken_protocol_map_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"listener.security.protocol.map: "):
        parse_protocol_map(text)


def test_without_listeners_host_name_and_port_count() -> None:
    assert listeners_of(options()) == [Endpoint("PLAINTEXT", PLAIN, "", 9092)]
    assert listeners_of(options(host_name="h", port="1")) == [Endpoint("PLAINTEXT", PLAIN, "h", 1)]


def test_ports_are_unique_unless_they_are_0() -> None:
    assert len(listeners_of(NetOptions.parse({"listeners": "PLAINTEXT://:0,INTERNAL://:0", **MAP}))) == 2
    with pytest.raises(ConfigError, match=r"listeners: two listeners share port 9092"):
        listeners_of(NetOptions.parse({"listeners": "PLAINTEXT://a:9092,INTERNAL://b:9092", **MAP}))


def test_a_listener_has_the_protocol_of_its_name() -> None:
    (endpoint,) = listeners_of(options(listeners="SSL://:9093"))
    assert endpoint.security_protocol is SecurityProtocol.SSL


def test_advertised_listeners_default_to_listeners() -> None:
    listening = listening_of(options(listeners="PLAINTEXT://h:9092"))
    assert listening.advertised == listening.listeners
    assert listening.inter_broker_listener == "PLAINTEXT"
    assert listening.control_plane_listener is None


def test_advertised_host_name_and_port_of_old_configurations() -> None:
    listening = listening_of(options(listeners="PLAINTEXT://:9092", advertised_host_name="pub", advertised_port="99"))
    assert listening.advertised == [Endpoint("PLAINTEXT", PLAIN, "pub", 99)]


def test_the_any_address_is_not_advertised() -> None:
    for settings in (
        {"listeners": "PLAINTEXT://0.0.0.0:9092"},
        {"listeners": "PLAINTEXT://:9092", "advertised.listeners": "PLAINTEXT://0.0.0.0:9092"},
    ):
        with pytest.raises(ConfigError, match=r"advertised.listeners cannot use .* 0\.0\.0\.0"):
            listening_of(NetOptions.parse(settings))


def test_advertised_names_are_a_subset_of_the_listeners() -> None:
    with pytest.raises(ConfigError, match=r"advertised.listeners: EXTERNAL is not among the names in listeners"):
        listening_of(NetOptions.parse({"listeners": "PLAINTEXT://:1", "advertised.listeners": "EXTERNAL://h:1", **MAP}))


def test_port_0_and_the_empty_host_are_filled_in() -> None:
    listening = listening_of(NetOptions.parse({"listeners": "PLAINTEXT://:0,INTERNAL://[::1]:0,EXTERNAL://h:7", **MAP}))
    bound = {"PLAINTEXT": 1001, "INTERNAL": 1002, "EXTERNAL": 7}
    assert [str(endpoint) for endpoint in listening.advertise(bound, "machine.example.org")] == [
        "PLAINTEXT://machine.example.org:1001",
        "INTERNAL://[::1]:1002",
        "EXTERNAL://h:7",
    ]


def test_inter_broker_listener_by_name_or_by_protocol_but_not_both() -> None:
    base = {"listeners": "PLAINTEXT://:1,INTERNAL://:2", **MAP}
    assert listening_of(NetOptions.parse(base)).inter_broker_listener == "PLAINTEXT"
    named = {**base, "inter.broker.listener.name": "internal"}
    assert listening_of(NetOptions.parse(named)).inter_broker_listener == "INTERNAL"
    with pytest.raises(ConfigError, match=r"Only one of inter.broker.listener.name and security.inter.broker.protocol"):
        listening_of(NetOptions.parse({**named, "security.inter.broker.protocol": "PLAINTEXT"}))
    with pytest.raises(ConfigError, match=r"inter.broker.listener.name: advertised.listeners has no EXTERNAL"):
        listening_of(NetOptions.parse({**base, "inter.broker.listener.name": "EXTERNAL"}))
    with pytest.raises(ConfigError, match=r"security.inter.broker.protocol: advertised.listeners has no SSL"):
        listening_of(NetOptions.parse({**base, "security.inter.broker.protocol": "SSL"}))


def test_the_control_plane_has_a_listener_of_its_own() -> None:
    base = {"listeners": "PLAINTEXT://:1,INTERNAL://:2", **MAP}
    listening = listening_of(NetOptions.parse({**base, "control.plane.listener.name": "internal"}))
    assert listening.control_plane_listener == "INTERNAL"
    for name, complaint in (("EXTERNAL", "has no EXTERNAL"), ("PLAINTEXT", "inter-broker listener already")):
        with pytest.raises(ConfigError, match=f"control.plane.listener.name: .*{complaint}"):
            listening_of(NetOptions.parse({**base, "control.plane.listener.name": name}))
