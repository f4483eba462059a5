"""How fast the controller is: topics made, another controller, leaders of a broker that died.

    python -m benchmarks.controller [--topics N] [--partitions N] [--brokers N] [--profile FILE] [--only STEP,...]

The controllers are real and so is ZooKeeper; the brokers only take the controller's requests, encoded as for the wire
and decoded again by nobody. So this is the controller's own share, with ZooKeeper's: what brokers do about a request
comes on top. All of it runs in this one process, ZooKeeper beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import gc
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from kafka_py.base.chance import Chance
from kafka_py.base.clock import SystemClock
from kafka_py.controller.controller import Controller
from kafka_py.controller.decisions.steps import Address
from kafka_py.testing.fakes.controllers import ControllerWorld, NotedConnection
from kafka_py.testing.processes import ZookeeperServer
from kafka_py.wire.frames import encode_request
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrRequest
from kafka_py.zk.access import pipelined, raise_first
from kafka_py.zk.kazoo_session import KazooSession
from kafka_py.zk.session import WatchEvent
from kafka_py.zk.topics import TopicAssignment

CREATED, LED = 1000, 1000
STEPS = ("elect", "create", "fail over")
LIMITS_S = {"create": 10.0, "fail over": 5.0, "elect": 0.3}
SESSION_TIMEOUT_MS = 6000


class Took(NamedTuple):
    """Seconds on the clock, and of this process's CPU (all controllers; ZooKeeper's come on top)."""

    wall: float
    cpu: float


class Stopwatch:
    """Counts from where it is made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def took(self) -> Took:
        return Took(time.perf_counter() - self._wall, time.process_time() - self._cpu)


class EncodingConnection(NotedConnection):
    """Requests are encoded, and counted instead of kept."""

    async def send(self, request: Any, version: int) -> Any:
        parts = encode_request(request, version, 1, "0")
        world = self._world
        assert isinstance(world, World)
        world.sent_bytes += len(parts)
        return await super().send(request, version)


class World(ControllerWorld):
    """Controllers on a real ZooKeeper. sent_bytes: of all requests so far."""

    def __init__(self, connect: str) -> None:
        super().__init__(
            new_session=lambda: KazooSession(connect, create_chroot=True, session_timeout_ms=SESSION_TIMEOUT_MS),
            clock=SystemClock(),
        )
        self.sent_bytes = 0

    async def connect(self, address: Address) -> NotedConnection:
        plain = await super().connect(address)
        return EncodingConnection(self, plain._broker)

    def active(self) -> Controller | None:
        found = [broker.controller for broker in self.brokers.values() if broker.controller.is_active]
        return found[0] if len(found) == 1 else None

    def has_told(self, brokers: Iterable[int], partitions: int) -> bool:
        """Whether each of these brokers was told of so many partitions since the last `forget`."""
        counts = dict.fromkeys(brokers, 0)
        for told in self.told:
            if isinstance(told.message, LeaderAndIsrRequest) and told.broker in counts:
                counts[told.broker] += sum(len(topic.partition_states) for topic in told.message.topic_states)
        return sum(counts.values()) >= partitions

    async def make_topics(self, prefix: str, topics: int, partitions: int, replicas: int, brokers: int) -> None:
        """The znodes, written side by side."""
        store = await self.store()
        made = {
            f"{prefix}-{number}": TopicAssignment.of(
                {p: [(number + p + k) % brokers + 1 for k in range(replicas)] for p in range(partitions)},
                Chance().new_topic_id(),
            )
            for number in range(topics)
        }
        raise_first(await pipelined(store.topics.create(name, assignment) for name, assignment in made.items()))

    async def wait(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(120):
            while not condition():  # noqa: ASYNC110  # what is awaited is in many places
                await asyncio.sleep(0.001)


async def create(world: World, brokers: int) -> Took:
    """100 topics of 10 partitions, three replicas: from the first znode to the last LeaderAndIsr."""
    watch = Stopwatch()
    await world.make_topics("created", CREATED // 10, 10, 3, brokers)
    await world.wait(lambda: world.has_told(range(1, brokers + 1), CREATED * 3))
    return watch.took()


async def fail_over(world: World, brokers: int) -> Took:
    """The seat of the controller is emptied: until another one has told every broker its part."""
    before = world.active()
    assert before is not None and before.cluster is not None
    partitions = before.cluster.partition_count
    replicas = sum(1 for _ in before.cluster.replicas())
    world.forget()
    watch = Stopwatch()
    await (await world.store()).session.delete("/controller")
    await world.wait(lambda: world.active() is not None and world.has_told(range(1, brokers + 1), replicas))
    after = world.active()
    assert after is not None
    await after.list_reassignments([])  # in its turn, so when all else is done
    assert after.cluster is not None and after.cluster.partition_count == partitions
    return watch.took()


async def elect(world: World, brokers: int) -> Took:
    """A broker that leads 1,000 partitions dies: from the end of its session to the last LeaderAndIsr."""
    controller = world.active()
    assert controller is not None
    victim = next(id_ for id_ in world.brokers if id_ != controller.broker_id)
    store = await world.store()
    others = [id_ for id_ in range(1, brokers + 1) if id_ != victim]
    assignment = {p: [victim, others[p % len(others)]] for p in range(LED)}
    world.forget()
    await store.topics.create("led", TopicAssignment.of(assignment, Chance().new_topic_id()))
    await world.wait(lambda: world.has_told(range(1, brokers + 1), LED * 2))
    broker = world.brokers.pop(victim)
    world.down.add(victim)
    world.forget()
    gone = asyncio.Event()
    loop = asyncio.get_running_loop()

    def is_gone(_event: WatchEvent) -> None:
        loop.call_soon(gone.set)

    await store.session.exists(f"/brokers/ids/{victim}", is_gone)
    closing = asyncio.ensure_future(broker.session.close())
    await gone.wait()
    watch = Stopwatch()
    await world.wait(lambda: world.has_told(others, LED))
    took = watch.took()
    await closing
    await broker.controller.shutdown()
    await world.start(victim)
    return took


RUNS: dict[str, Callable[[World, int], Awaitable[Took]]] = {"create": create, "fail over": fail_over, "elect": elect}


async def measure(connect: str, options: argparse.Namespace) -> dict[str, Took]:
    """How long each step took."""
    world = World(connect)
    try:
        await world.start(*range(1, options.brokers + 1))
        await world.wait(
            lambda: (one := world.active()) and one.cluster and len(one.cluster.brokers) == options.brokers
        )
        took: dict[str, Took] = {}
        for step in options.only:
            if step == "fail over":
                world.forget()
                await world.make_topics("t", options.topics, options.partitions, 2, options.brokers)
                await world.wait(
                    lambda: world.has_told(range(1, options.brokers + 1), options.topics * options.partitions * 2)
                )
            world.forget()
            gc.collect()
            profile = cProfile.Profile(time.process_time) if options.profile else None
            if profile is not None:
                profile.enable()
            took[step] = await RUNS[step](world, options.brokers)
            if profile is not None:
                profile.disable()
                profile.dump_stats(f"{options.profile}.{step.replace(' ', '-')}")
        return took
    finally:
        await world.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="Times the controller.")
    parser.add_argument("--topics", type=int, default=1000)
    parser.add_argument("--partitions", type=int, default=10)
    parser.add_argument("--brokers", type=int, default=3)
    parser.add_argument("--profile", help="write cProfile's statistics to FILE.<step>")
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(STEPS), help="steps, comma separated")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ZookeeperServer(Path(folder) / "zookeeper") as zookeeper:
        zookeeper.wait_serving(60)
        took = asyncio.run(measure(f"{zookeeper.connect}/benchmark", options))
    print("| step | took | CPU | limit |")
    print("|---|---|---|---|")
    for step, seconds in took.items():
        print(f"| {step} | {seconds.wall:.3f} s | {seconds.cpu:.3f} s | {LIMITS_S[step]} s |")


if __name__ == "__main__":
    main()
