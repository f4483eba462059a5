"""How many connections are taken, from whom, and how fast."""

from collections.abc import Generator

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.base.meters import MetricRegistry
from kafka_py.base.quota_rates import Window
from kafka_py.net import address_rates
from kafka_py.net.address_rates import AddressRates
from kafka_py.net.configs import NetOptions, parse_overrides
from kafka_py.net.limits import Admission, ConnectionLimits, overrides_of
from kafka_py.net.metrics import AddressMetrics
from kafka_py.testing.clock import ManualClock


def limits(
    settings: dict[str, str], *names: str, addresses: AddressRates | None = None
) -> ConnectionLimits:
    rates = addresses or AddressRates(Window(11, 1000.0))
    return ConnectionLimits(NetOptions.parse(settings), list(names or ("PLAINTEXT",)), "PLAINTEXT", rates)


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


def test_the_only_listener_is_not_protected() -> None:
    own = {f"listener.name.plaintext.{name}": "1000" for name in ("max.connections", "max.connection.creation.rate")}
    counts = limits({"max.connections": "1", "max.connection.creation.rate": "1", **own})
    counts.opened("PLAINTEXT", "h")
    assert counts.admission("PLAINTEXT") is Admission.WAIT
    for _ in range(20):
        counts.record("PLAINTEXT", "h", 0.0)
    assert counts.delay_ms("PLAINTEXT", 0.0) > 0


def test_a_listener_may_have_its_own_limit() -> None:
    counts = limits({"listener.name.external.max.connections": "1"}, "PLAINTEXT", "EXTERNAL")
    counts.opened("EXTERNAL", "h")
    counts.opened("PLAINTEXT", "h")
    assert counts.admission("EXTERNAL") is Admission.WAIT
    assert counts.admission("PLAINTEXT") is Admission.OPEN
    assert counts.open_connections("EXTERNAL") == 1


def test_per_address_with_overrides() -> None:
    counts = limits({"max.connections.per.ip": "1"})
    counts.override(overrides_of("one:2,[::1]:0,four:2,10.0.0.9:0", looked_up))
    counts.opened("PLAINTEXT", "10.0.0.2")
    counts.opened("PLAINTEXT", "10.0.0.1")
    assert not counts.allows_host("10.0.0.2")
    assert counts.allows_host("10.0.0.1")
    assert not counts.allows_host("::1")
    assert not counts.allows_host("10.0.0.9")
    assert counts.allows_host("1.2.3.4")
    counts.opened("PLAINTEXT", "1.2.3.4")
    assert counts.allows_host("1.2.3.4")
    counts.opened("PLAINTEXT", "1.2.3.4")
    assert not counts.allows_host("1.2.3.4")
    counts.closed("PLAINTEXT", "10.0.0.2")
    assert counts.allows_host("10.0.0.2")


def test_a_host_without_address_is_named() -> None:
    for host in ("nowhere", "bad"):
        with pytest.raises(ConfigError, match=f"max.connections.per.ip.overrides: '{host}' is no address"):
            overrides_of(f"one:2,{host}:5", looked_up)


def looked_up(host: str) -> str:
    if host == "bad":
        raise UnicodeError("label too long")
    if host == "nowhere":
        raise OSError("unknown")
    return {"one": "10.0.0.1", "four": "::ffff:1.2.3.4"}.get(host, host)


def test_a_listener_that_accepts_too_fast_is_delayed_for_a_sample_at_most() -> None:
    counts = limits({"max.connection.creation.rate": "2"})
    for _ in range(20):  # what ten samples allow
        assert counts.record("PLAINTEXT", "h", 10_300) == 0
        assert counts.delay_ms("PLAINTEXT", 10_300) == 0
    counts.record("PLAINTEXT", "h", 10_300)
    assert counts.delay_ms("PLAINTEXT", 10_300) == 500
    assert counts.delay_ms("PLAINTEXT", 10_800) == 0
    for _ in range(10):
        counts.record("PLAINTEXT", "h", 10_800)
    assert counts.delay_ms("PLAINTEXT", 10_800) == 1000


@pytest.mark.parametrize("broker, listener", [("1", "2"), ("2", "1")])
def test_the_longer_delay_of_broker_and_listener_counts(broker: str, listener: str) -> None:
    settings = {"max.connection.creation.rate": broker, "listener.name.external.max.connection.creation.rate": listener}
    counts = limits(settings, "PLAINTEXT", "EXTERNAL")
    for _ in range(21):
        counts.record("EXTERNAL", "h", 0.0)
    assert counts.delay_ms("EXTERNAL", 0.0) == 1000  # the other rate asks for 500


def test_over_time_no_more_are_accepted_than_the_rate_allows() -> None:
    counts = limits({"listener.name.plaintext.max.connection.creation.rate": "50"})
    accepted, now_ms = 0, 0.0
    while now_ms < 60_000:
        counts.record("PLAINTEXT", "h", now_ms)
        accepted += 1
        now_ms += counts.delay_ms("PLAINTEXT", now_ms)
        now_ms += 0.01
    assert 50 * 60 <= accepted <= 50 * 70 + 1


def test_the_inter_broker_listener_has_its_own_rate_alone() -> None:
    settings = {"max.connection.creation.rate": "1", "listener.name.plaintext.max.connection.creation.rate": "100"}
    counts = limits(settings, "PLAINTEXT", "EXTERNAL")
    for _ in range(100):
        counts.record("PLAINTEXT", "h", 0.0)
        assert counts.delay_ms("PLAINTEXT", 0.0) == 0
    for _ in range(11):
        counts.record("EXTERNAL", "h", 0.0)
    assert counts.delay_ms("EXTERNAL", 0.0) == 1000
    assert counts.delay_ms("PLAINTEXT", 0.0) == 0


def test_an_address_over_its_rate_is_turned_away_and_not_counted() -> None:
    addresses = AddressRates(Window(11, 1000.0))
    addresses.set_limit(None, 1)
    addresses.set_limit("fast", 100)
    counts = limits({"max.connection.creation.rate": "1000"}, addresses=addresses)
    assert [counts.record("PLAINTEXT", "slow", 0.0) for _ in range(12)] == [0.0] * 10 + [1000.0] * 2
    assert addresses.rates["slow"].total == 10
    assert all(counts.record("PLAINTEXT", "fast", 0.0) == 0 for _ in range(1000))
    addresses.set_limit("fast", None)
    assert counts.record("PLAINTEXT", "fast", 0.0) > 0
    addresses.set_limit(None, None)
    assert counts.record("PLAINTEXT", "fast", 0.0) == 0
    run(addresses.removing_idle(3_600_000 + 999))
    assert addresses.rates.keys() == {"slow", "fast"}
    run(addresses.removing_idle(3_600_000 + 1_001))
    assert addresses.rates == {}


def run(steps: Generator[None, None, None]) -> int:
    """Runs all steps; returns how many stops they made."""
    return sum(1 for _ in steps)


def test_of_very_many_addresses_those_that_were_quiet_for_a_window_are_forgotten_in_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(address_rates, "MOST_ADDRESSES", 1000)
    addresses = AddressRates(Window(11, 1000.0))
    addresses.set_limit(None, 1)
    for number in range(3000):
        addresses.record(f"2001:db8::{number:x}", 0.0 if number < 1500 else 5_000.0)
    assert run(addresses.removing_idle(12_001.0)) == 3000 // 256
    assert len(addresses.rates) == 1500  # the others have connected within the window
    run(addresses.removing_idle(17_001.0))
    assert len(addresses.rates) == 1000  # these are not too many


def test_addresses_that_come_or_go_while_their_rates_are_read_do_not_end_that() -> None:
    addresses = AddressRates(Window(11, 1000.0))
    addresses.set_limit(None, 1)
    counts = limits({"max.connection.creation.rate": "1000"}, addresses=addresses)
    for address in ("a", "b"):
        counts.record("PLAINTEXT", address, 0.0)
    things = iter(AddressMetrics(MetricRegistry(ManualClock()), addresses).things())
    assert next(things)[0] == ("a",)
    counts.record("PLAINTEXT", "c", 0.0)
    assert [labels for labels, _ in things] == [("b",)]


def test_a_limit_of_all_listeners_counts_for_each_without_its_own() -> None:
    counts = limits({"max.connections": "2", "listener.name.external.max.connections": "1"}, "PLAINTEXT", "EXTERNAL")
    counts.opened("EXTERNAL", "h")
    assert counts.admission("EXTERNAL") is Admission.WAIT
    counts.opened("PLAINTEXT", "h")
    counts.opened("PLAINTEXT", "h")
    assert counts.admission("PLAINTEXT") is Admission.WAIT
    assert counts.is_exceeded


def test_limits_change_while_running_and_a_bad_change_changes_nothing() -> None:
    counts = limits({"max.connections": "1"})
    counts.opened("PLAINTEXT", "h")
    bad = {"max.connections": "5", "listener.name.plaintext.max.connections": "0"}
    with pytest.raises(ConfigError, match=r"listener\.name\.plaintext\.max\.connections"):
        counts.configure(NetOptions.parse(bad))
    assert counts.admission("PLAINTEXT") is Admission.WAIT
    counts.configure(NetOptions.parse({"max.connections": "2"}))
    assert counts.admission("PLAINTEXT") is Admission.OPEN


@pytest.mark.parametrize("text", ["h", "h:x", ":5", "h:-1"])
def test_broken_overrides_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="overrides"):
        parse_overrides(text)


@pytest.mark.parametrize("value", ["many", "0", "-1"])
def test_a_broken_listener_limit_names_its_setting(value: str) -> None:
    with pytest.raises(ConfigError, match=r"listener\.name\.plaintext\.max\.connections"):
        limits({"listener.name.plaintext.max.connections": value})
