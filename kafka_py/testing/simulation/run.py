"""One schedule from start to verdict.

Source of the invariants: docs/architecture.md (Tests); what they mean is in invariants.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from kafka_py.base.ids import TopicPartition
from kafka_py.testing.simulation.cluster import SimulatedCluster
from kafka_py.testing.simulation.invariants import Watch, check_logs
from kafka_py.testing.simulation.nodes import NodeLoop
from kafka_py.testing.simulation.randomness import seeded
from kafka_py.testing.simulation.schedule import Trouble, carry_out, draw
from kafka_py.testing.simulation.workload import Load, Reader
from kafka_py.zk.store import ZkStore
from kafka_py.zk.topics import TopicAssignment

TOPIC = "t"
HEAL_DEADLINE_S = 180.0
CALM_BEFORE_S = 1.0


@dataclass
class Verdict:
    """What came of one seed. faults: empty when every invariant held."""

    seed: int
    troubles: list[Trouble]
    faults: list[str] = field(default_factory=list)
    acknowledged: int = 0
    simulated_s: float = 0.0

    def __str__(self) -> str:
        lines = [f"seed {self.seed}: {self.acknowledged} records acknowledged, {self.simulated_s:.0f} s simulated"]
        lines += [f"  {trouble}" for trouble in self.troubles]
        lines += [f"  FAULT {fault}" for fault in self.faults]
        return "\n".join(lines)


def run_seed(seed: int, *, brokers: int = 3, partitions: int = 3, troubles: int = 8) -> Verdict:
    """Runs the schedule that the seed stands for."""
    loop = NodeLoop()
    with seeded(seed) as rng, _as_running(loop):
        verdict = Verdict(seed, draw(rng, brokers, troubles))
        loop.run_until_complete(_run(loop, rng, verdict, brokers, partitions))
    verdict.simulated_s = loop.time()
    return verdict


@contextlib.contextmanager
def _as_running(loop: NodeLoop) -> Iterator[None]:
    """What is left on the loop at the end belongs to dead nodes: it is dropped without a word."""
    loop.set_exception_handler(lambda _loop, _context: None)
    asyncio.set_event_loop(loop)
    try:
        yield
    finally:
        asyncio.set_event_loop(None)
        loop.close()


async def _run(loop: NodeLoop, rng: random.Random, verdict: Verdict, brokers: int, partitions: int) -> None:
    cluster = SimulatedCluster(loop, rng, brokers, {})
    names = [TopicPartition(TOPIC, number) for number in range(partitions)]
    watch = Watch(cluster, verdict.faults)
    reader = Reader(cluster, names, verdict.faults.append)
    load = Load(cluster, names, pause_s=0.05)
    try:
        await cluster.start_all()
        await _create_topic(cluster, brokers, partitions)
        watch.start()
        load.start()
        reader.start()
        await asyncio.sleep(CALM_BEFORE_S)
        await carry_out(cluster, verdict.troubles, rng)
        await _heal(cluster, names)
        await load.finish()
        await cluster.until(lambda: _quiet(cluster, names), HEAL_DEADLINE_S, "high watermarks at the ends of all logs")
        await asyncio.sleep(1)
        verdict.faults += check_logs(cluster, names, load.acknowledged, reader)
        verdict.faults += [f"not sent: {each}" for each in load.acknowledged.failed[:3]]
    except (AssertionError, TimeoutError) as error:
        verdict.faults.append(f"{type(error).__name__}: {error}\n{_state(cluster, names)}")
    finally:
        verdict.acknowledged = load.acknowledged.count
        await watch.stop()
        await reader.stop()
        cluster.close()


async def _create_topic(cluster: SimulatedCluster, brokers: int, partitions: int) -> None:
    """Written to ZooKeeper as kafka-topics.sh --zookeeper does; replicas in turn."""
    session = cluster.zookeeper.session()
    await session.connect()
    assignment = {
        number: [(number + place) % brokers + 1 for place in range(brokers)] for number in range(partitions)
    }
    await ZkStore(session).create_topic(TOPIC, TopicAssignment.of(assignment))
    names = [TopicPartition(TOPIC, number) for number in range(partitions)]
    await cluster.until(lambda: _in_sync(cluster, names), 60, "the topic is there")


def _in_sync(cluster: SimulatedCluster, names: list[TopicPartition]) -> bool:
    """Each partition has one leader, and everybody in its in-sync set."""
    count = len(cluster.brokers)
    for name in names:
        leading = [each.partitions()[name] for each in cluster.servers() if name in each.partitions()]
        leaders = [partition for partition in leading if partition.is_leader]
        if len(leading) != count or len(leaders) != 1 or len(leaders[0].isr.members) != count:
            return False
    return True


def _quiet(cluster: SimulatedCluster, names: list[TopicPartition]) -> bool:
    """In sync, and every replica knows all of its log as committed."""
    if not _in_sync(cluster, names):
        return False
    logs = [each.log(name) for each in cluster.brokers for name in names]
    ends = {(log.topic_partition, log.log_end_offset) for log in logs if log is not None}
    return len(ends) == len(names) and all(log is not None and log.high_watermark == log.log_end_offset for log in logs)


async def _heal(cluster: SimulatedCluster, names: list[TopicPartition]) -> None:
    cluster.heal()
    for _ in range(3):  # one that failed while starting is started again, as an operator would
        with contextlib.suppress(AssertionError):
            await cluster.until(lambda: _in_sync(cluster, names), HEAL_DEADLINE_S / 3, "in sync")
            return
        cluster.heal()
    await cluster.until(lambda: _in_sync(cluster, names), HEAL_DEADLINE_S, "the cluster heals")


def _state(cluster: SimulatedCluster, names: list[TopicPartition]) -> str:
    """What everybody believes, for the one who looks for the cause."""
    lines = []
    for broker in cluster.brokers:
        up = "up" if broker.server is not None else f"down ({broker.failure!r})"
        lines.append(f"    {broker.name} {up}")
        for name in names:
            partition = broker.partitions().get(name)
            if partition is not None:
                log = broker.log(name)
                ends = (log.high_watermark, log.log_end_offset) if log is not None else None
                role = f"leads, in sync {sorted(partition.isr.members)}" if partition.is_leader else "follows"
                lines.append(f"      {name} {role} epoch {partition.leader_epoch} {ends}")
    return "\n".join(lines)
