"""How many connections are taken, from whom, and how fast."""

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.net.configs import NetOptions
from kafka_py.net.limits import Admission, ConnectionLimits, parse_overrides


def limits(settings: dict[str, str], *names: str) -> ConnectionLimits:
    return ConnectionLimits(NetOptions.parse(settings), list(names or ("PLAINTEXT",)), "PLAINTEXT")


def test_a_full_broker_lets_new_connections_wait_until_one_closes() -> None:
    counts = limits({"max.connections": "2"})
    for _ in range(2):
        assert counts.admission("PLAINTEXT") is Admission.OPEN
        counts.opened("PLAINTEXT", "h")
    assert counts.admission("PLAINTEXT") is Admission.WAIT
    counts.closed("PLAINTEXT", "h")
    assert counts.admission("PLAINTEXT") is Admission.OPEN


def test_the_inter_broker_listener_goes_first_when_there_is_another() -> None:
    counts = limits({"max.connections": "1"}, "PLAINTEXT", "EXTERNAL")
    counts.opened("EXTERNAL", "h")
    assert counts.admission("EXTERNAL") is Admission.WAIT
    assert counts.admission("PLAINTEXT") is Admission.MAKE_ROOM


def test_a_listener_may_have_its_own_limit() -> None:
    counts = limits({"listener.name.external.max.connections": "1"}, "PLAINTEXT", "EXTERNAL")
    counts.opened("EXTERNAL", "h")
    counts.opened("PLAINTEXT", "h")
    assert counts.admission("EXTERNAL") is Admission.WAIT
    assert counts.admission("PLAINTEXT") is Admission.OPEN
    assert counts.open_connections("EXTERNAL") == 1


def test_per_address_with_overrides() -> None:
    counts = limits({"max.connections.per.ip": "1", "max.connections.per.ip.overrides": "10.0.0.1:2,[::1]:0"})
    counts.opened("PLAINTEXT", "10.0.0.2")
    counts.opened("PLAINTEXT", "10.0.0.1")
    assert not counts.allows_host("10.0.0.2")
    assert counts.allows_host("10.0.0.1")
    assert not counts.allows_host("::1")
    counts.closed("PLAINTEXT", "10.0.0.2")
    assert counts.allows_host("10.0.0.2")


def test_the_creation_rate_holds_until_the_next_second() -> None:
    counts = limits({"max.connection.creation.rate": "2"})
    for _ in range(2):
        assert counts.delay_ms("PLAINTEXT", 10_300) == 0
        counts.opened("PLAINTEXT", "h")
    assert counts.delay_ms("PLAINTEXT", 10_300) == 700
    assert counts.delay_ms("PLAINTEXT", 11_000) == 0


def test_limits_change_while_running_and_a_bad_change_changes_nothing() -> None:
    counts = limits({"max.connections": "1"})
    counts.opened("PLAINTEXT", "h")
    with pytest.raises(ConfigError, match=r"max.connections.per.ip.overrides"):
        counts.configure(NetOptions.parse({"max.connections": "5", "max.connections.per.ip.overrides": "h"}))
    assert counts.admission("PLAINTEXT") is Admission.WAIT
    counts.configure(NetOptions.parse({"max.connections": "2"}))
    assert counts.admission("PLAINTEXT") is Admission.OPEN


@pytest.mark.parametrize("text", ["h", "h:x", ":5", "h:-1"])
def test_broken_overrides_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="overrides"):
        parse_overrides(text)


def test_a_broken_listener_limit_names_its_setting() -> None:
    with pytest.raises(ConfigError, match=r"listener\.name\.plaintext\.max\.connections"):
        limits({"listener.name.plaintext.max.connections": "many"})
