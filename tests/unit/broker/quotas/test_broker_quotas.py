"""Quotas as ZooKeeper has them: read at the start, taken over entity by entity."""

import asyncio
from typing import Any

import pytest

from kafka_py.base.supervision import Supervisor
from kafka_py.broker.quotas.broker_quotas import BrokerQuotas
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.net.principal import Principal
from kafka_py.testing.clock import ManualClock

ALICE = Principal("User", "al ice")


class Stored:
    """The settings of entities by the folder that has them."""

    def __init__(self, **folders: dict[str, dict[str, str]]) -> None:
        self.folders = folders

    async def of_all(self, folder: str) -> dict[str, dict[str, str]]:
        return self.folders.get(folder.replace("/", "_").replace("%20", "_"), {})


def fresh() -> BrokerQuotas:
    return BrokerQuotas(BrokerConfig.parse({"zookeeper.connect": "z"}), ManualClock())


def test_all_quotas_are_read_at_the_start() -> None:
    quotas = fresh()
    stored: Any = Stored(
        users_al_ice_clients={"c 1": {"producer_byte_rate": "7"}, "<default>": {"producer_byte_rate": "6"}},
        clients={"c2": {"consumer_byte_rate": "5"}},
        ips={"10.1.2.3": {"connection_creation_rate": "0"}},
    )
    asyncio.run(quotas.load(stored, {"al ice": {}}))
    produce, fetch = quotas.clients.produce, quotas.clients.fetch
    limits = [produce.budget_of((ALICE, client)).limit for client in ("c 1", "x")]
    assert (limits, fetch.budget_of((ALICE, "c2")).limit) == ([7, 6], 5)
    assert (quotas.addresses.record("10.1.2.3", 0.0), quotas.addresses.record("10.1.2.4", 0.0)) == (1000.0, 0.0)


@pytest.mark.parametrize("value", ["-5", "many"])
def test_an_invalid_rate_of_an_address_is_ignored(value: str, caplog: pytest.LogCaptureFixture) -> None:
    quotas = fresh()
    asyncio.run(quotas.apply("ips/10.1.2.3", {"connection_creation_rate": value}))
    assert quotas.addresses.record("10.1.2.3", 0.0) == 0.0
    assert "10.1.2.3" in caplog.text


def test_rates_of_all_addresses_and_of_single_ones() -> None:
    quotas = fresh()
    addresses = quotas.addresses

    def applied(entity: str, rate: str | None) -> None:
        settings = {} if rate is None else {"connection_creation_rate": rate}
        asyncio.run(quotas.apply(f"ips/{entity}", settings))

    applied("<default>", "0")
    assert addresses.record("10.1.2.3", 0.0) == 1000.0
    applied("10.1.2.3", "1000")
    assert addresses.record("10.1.2.3", 0.0) == 0.0
    applied("2001%3Adb8%3A%3A1", "1000")
    assert (addresses.record("2001:db8::1", 0.0), addresses.record("2001:db8::2", 0.0)) == (0.0, 1000.0)
    applied("<default>", "2147483647")  # as good as none
    addresses.rates.clear()
    assert addresses.record("10.1.2.4", 0.0) == 0.0
    assert addresses.rates == {}
    applied("10.1.2.3", None)
    assert addresses.record("10.1.2.3", 0.0) == 0.0
    assert addresses.rates == {}


@pytest.mark.parametrize(
    "stored, connects",
    [
        ("2001:DB8::A", "2001:db8::a"), ("0:0:0:0:0:0:0:1", "::1"), ("::ffff:10.1.2.3", "10.1.2.3"),
        ("2001%3ADB8%3A%3AB", "2001:db8::b"),
    ],
)  # fmt: skip
def test_an_address_may_be_written_in_any_way(stored: str, connects: str) -> None:
    """A connection's address is in one form only; a limit of another form would be ignored."""
    quotas = fresh()
    asyncio.run(quotas.apply(f"ips/{stored}", {"connection_creation_rate": "0"}))
    assert quotas.addresses.record(connects, 0.0) == 1000.0
    asyncio.run(quotas.apply(f"ips/{stored}", {}))
    assert quotas.addresses.record(connects, 0.0) == 0.0


def test_idle_budgets_and_addresses_are_removed_by_a_scan() -> None:
    clock = ManualClock()
    quotas = BrokerQuotas(BrokerConfig.parse({"zookeeper.connect": "z"}), clock)
    scans: list[Any] = []

    async def scenario() -> None:
        await quotas.apply("clients/c", {"producer_byte_rate": "5"})
        await quotas.apply("ips/10.1.2.3", {"connection_creation_rate": "5"})
        quotas.clients.produce.budget_of((ALICE, "c")).charge(1, clock.monotonic_ms())
        quotas.addresses.record("10.1.2.3", clock.monotonic_ms())
        supervisor = Supervisor(clock)
        quotas.start(lambda interval_ms, work, _name: scans.append((interval_ms, work)), supervisor)
        [(interval_ms, scan)] = scans
        assert interval_ms == 30_000
        for wait_ms, left in ((0, 1), (3_602_000, 0)):
            clock.advance(wait_ms)
            scan()
            await asyncio.sleep(0)
            assert (len(quotas.clients.produce.budgets), len(quotas.addresses.rates)) == (left, left)
        await supervisor.close()

    asyncio.run(scenario())
