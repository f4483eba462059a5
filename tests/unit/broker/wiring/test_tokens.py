"""Which secret a broker has for delegation tokens, and when it removes expired ones."""

import asyncio

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.supervision import Supervisor
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.wiring.tokens import BrokerTokens, token_secret
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.zookeeper import FakeZookeeper, on_fake
from kafka_py.zk.session import ConnectionLoss
from kafka_py.zk.store import ZkStore

SECRET, MASTER = "delegation.token.secret.key", "delegation.token.master.key"


def config(settings: dict[str, str]) -> BrokerConfig:
    often = {"delegation.token.expiry.check.interval.ms": "50"}
    return BrokerConfig.parse({"zookeeper.connect": "z:1", **often, **settings})


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({}, ""), ({MASTER: "m"}, "m"), ({SECRET: "s"}, "s"), ({SECRET: "s", MASTER: "m"}, "s"),
     ({SECRET: "", MASTER: "m"}, "")],
)  # fmt: skip
def test_the_newer_name_of_the_secret_counts_if_it_is_there(settings: dict[str, str], expected: str) -> None:
    assert token_secret(config(settings)) == expected


def tokens_of(store: ZkStore, clock: ManualClock, settings: dict[str, str]) -> BrokerTokens:
    return BrokerTokens(config(settings), store.tokens, clock, Chance(1), Supervisor(clock), clock.later)


@on_fake
async def test_without_a_secret_nothing_is_kept_or_removed(store: ZkStore, zk: FakeZookeeper) -> None:
    tokens = tokens_of(store, ManualClock(), {})
    await tokens.start()
    tokens.control(True)
    assert (tokens.keeper, tokens.find_login("SCRAM-SHA-256", "id")) == (None, None)
    await tokens.close()
    assert "/delegation_token" not in zk.tree()


@on_fake
async def test_only_the_controller_removes_tokens_at_once_and_at_intervals(store: ZkStore, zk: FakeZookeeper) -> None:
    clock = ManualClock()
    tokens = tokens_of(store, clock, {SECRET: "s"})
    await tokens.start()
    assert tokens.keeper is not None
    swept: list[float] = []
    going = asyncio.Event()

    async def remove_expired() -> None:
        swept.append(clock.monotonic_ms())
        await going.wait()
        raise ConnectionLoss("/")

    tokens.keeper.remove_expired = remove_expired  # type: ignore[method-assign]

    async def after(ms: int) -> list[float]:
        clock.advance(ms)
        for _ in range(5):
            await asyncio.sleep(0)
        return swept

    assert await after(100) == []
    tokens.control(True)
    assert await after(0) == [100]
    assert await after(60) == [100]  # the first one still waits
    going.set()
    await after(0)
    assert await after(50) == [100, 210]
    tokens.control(False)
    assert await after(500) == [100, 210]
    tokens.control(True)
    tokens.control(True)
    assert await after(0) == [100, 210, 710]
    await tokens.close()
    assert len(await after(500)) == 3
