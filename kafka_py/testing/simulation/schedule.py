"""What goes wrong in a simulation and when, drawn from a seed before anything runs.

Knows kinds of trouble; carrying one out is a few calls on the cluster.
"""

from __future__ import annotations

import asyncio
import errno
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from kafka_py.testing.simulation.cluster import SimulatedBroker, SimulatedCluster
from kafka_py.testing.simulation.network import USUAL_DELAY_MS
from kafka_py.testing.simulation.power import forget, has_stopped_clean, lose_power

MOST_WRONG_CLOCK_MS = 14 * 60_000
LAG_MAX_S = 2.0
"""replica.lag.time.max.ms of the brokers."""


@dataclass(frozen=True)
class Trouble:
    """One thing that goes wrong `after_s` seconds after the one before, and is over `lasts_s` later.

    broker, other: places in the cluster's list. amount: what the kind makes of it.
    """

    after_s: float
    kind: str
    broker: int
    other: int
    lasts_s: float
    amount: float

    def __str__(self) -> str:
        return f"+{self.after_s:.2f} s {self.kind} broker{self.broker + 1}/{self.other + 1} for {self.lasts_s:.2f} s"


Carry = Callable[[SimulatedCluster, Trouble, random.Random], Awaitable[None]]


async def _kill(cluster: SimulatedCluster, trouble: Trouble, rng: random.Random) -> None:
    broker = cluster.brokers[trouble.broker]
    broker.kill()
    await asyncio.sleep(trouble.lasts_s)
    _start(broker)


async def _lose_power(cluster: SimulatedCluster, trouble: Trouble, rng: random.Random) -> None:
    broker = cluster.brokers[trouble.broker]
    await lose_power(cluster, broker, trouble.lasts_s, rng)
    _start(broker)


async def _restart(cluster: SimulatedCluster, trouble: Trouble, rng: random.Random) -> None:
    """After some of the clean stops the machine fails as well."""
    broker = cluster.brokers[trouble.broker]
    await broker.stop()
    await asyncio.sleep(trouble.lasts_s / 4)
    if trouble.amount < 0.3 and has_stopped_clean(broker):
        forget(cluster, broker, rng)
    _start(broker)


async def _pause(cluster: SimulatedCluster, trouble: Trouble, rng: random.Random) -> None:
    broker = cluster.brokers[trouble.broker]
    broker.pause()
    await asyncio.sleep(trouble.lasts_s)
    broker.resume()


async def _cut(cluster: SimulatedCluster, trouble: Trouble, rng: random.Random) -> None:
    pair = _names(cluster, trouble)
    cluster.network.cut(*pair)
    await asyncio.sleep(trouble.lasts_s)
    cluster.network.mend(*pair)


async def _reset(cluster: SimulatedCluster, trouble: Trouble, rng: random.Random) -> None:
    cluster.network.reset(*_names(cluster, trouble))


async def _isolate(cluster: SimulatedCluster, trouble: Trouble, rng: random.Random) -> None:
    """Cut off from the other brokers and from ZooKeeper, not from clients: a zombie leader."""
    broker = cluster.brokers[trouble.broker]
    others = [each.name for each in cluster.brokers if each is not broker]
    for other in others:
        cluster.network.cut(broker.name, other)
    broker.cut_zookeeper()
    await asyncio.sleep(trouble.lasts_s)
    broker.mend_zookeeper()
    for other in others:
        cluster.network.mend(broker.name, other)


async def _lose_zookeeper(cluster: SimulatedCluster, trouble: Trouble, rng: random.Random) -> None:
    broker = cluster.brokers[trouble.broker]
    broker.cut_zookeeper()
    await asyncio.sleep(trouble.lasts_s)
    broker.mend_zookeeper()


async def _shrink_unwritten(cluster: SimulatedCluster, trouble: Trouble, rng: random.Random) -> None:
    """A leader whose follower is about to fall out of sync cannot write that down."""
    pair = _names(cluster, trouble)
    cluster.network.cut(*pair)
    await asyncio.sleep(LAG_MAX_S * (0.5 + 0.4 * trouble.amount))
    cluster.brokers[trouble.broker].cut_zookeeper()
    await asyncio.sleep(LAG_MAX_S * 0.95)
    cluster.brokers[trouble.broker].mend_zookeeper()
    await asyncio.sleep(trouble.lasts_s / 4)
    cluster.network.mend(*pair)


async def _expire(cluster: SimulatedCluster, trouble: Trouble, rng: random.Random) -> None:
    cluster.brokers[trouble.broker].expire()


async def _lose_reply(cluster: SimulatedCluster, trouble: Trouble, rng: random.Random) -> None:
    """ZooKeeper carries a request out, but its answer is lost with the connection."""
    session = cluster.brokers[trouble.broker].session
    if session is not None:
        session.lose_next_reply()


async def _slow(cluster: SimulatedCluster, trouble: Trouble, rng: random.Random) -> None:
    """Every delay grows, to as much as some hundred milliseconds."""
    cluster.network.delay_ms = USUAL_DELAY_MS[0], trouble.amount * 300
    await asyncio.sleep(trouble.lasts_s)
    cluster.network.delay_ms = USUAL_DELAY_MS


async def _jump(cluster: SimulatedCluster, trouble: Trouble, rng: random.Random) -> None:
    """A wall clock jumps by up to 14 minutes either way.

    A clock a quarter of an hour ahead has its broker delete changes of settings that one which is just starting has not
    read, as in Apache Kafka, which then does without them.
    """
    cluster.brokers[trouble.broker].clock.jump_wall(round((trouble.amount - 0.5) * 2 * MOST_WRONG_CLOCK_MS))


async def _fail_disk(cluster: SimulatedCluster, trouble: Trouble, rng: random.Random) -> None:
    """A write of a log fails half-way: without another directory the broker ends. It is started again later."""
    broker = cluster.brokers[trouble.broker]
    broker.files.fail("write", errno.EIO, path=".log", partial=rng.randrange(200))
    await asyncio.sleep(trouble.lasts_s)
    broker.files.heal()
    if broker.has_failed:
        broker.kill()
        _start(broker)


KINDS: dict[str, Carry] = {
    "kill": _kill,
    "power failure": _lose_power,
    "restart": _restart,
    "pause": _pause,
    "cut": _cut,
    "reset": _reset,
    "isolate": _isolate,
    "lose ZooKeeper": _lose_zookeeper,
    "shrink unwritten": _shrink_unwritten,
    "expire": _expire,
    "lose a reply": _lose_reply,
    "slow network": _slow,
    "clock jump": _jump,
    "disk failure": _fail_disk,
}


def draw(rng: random.Random, brokers: int, troubles: int) -> list[Trouble]:
    """A schedule: some in quick succession, so that they overlap."""
    drawn = []
    for _ in range(troubles):
        broker = rng.randrange(brokers)
        other = (broker + rng.randrange(1, brokers)) % brokers
        drawn.append(
            Trouble(
                after_s=rng.choice((0.01, 0.2, 1.0, 4.0)) * rng.random(),
                kind=rng.choice(sorted(KINDS)),
                broker=broker,
                other=other,
                lasts_s=rng.choice((0.1, 1.0, 3.0, 8.0)) * rng.random(),
                amount=rng.random(),
            )
        )
    return drawn


async def carry_out(cluster: SimulatedCluster, troubles: list[Trouble], rng: random.Random) -> None:
    """All of it, each at its time; returns when the last is over."""
    under_way = []
    for trouble in troubles:
        await asyncio.sleep(trouble.after_s)
        under_way.append(asyncio.ensure_future(KINDS[trouble.kind](cluster, trouble, rng)))
    await asyncio.gather(*under_way)


def _names(cluster: SimulatedCluster, trouble: Trouble) -> tuple[str, str]:
    return cluster.brokers[trouble.broker].name, cluster.brokers[trouble.other].name


def _start(broker: SimulatedBroker) -> None:
    if not broker.is_running:
        broker.start()
