"""One schedule from start to verdict.

Source of the invariants: docs/architecture.md (Tests); what they mean is in invariants.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field

from kafka_py.base.ids import TopicPartition
from kafka_py.testing.simulation import operations
from kafka_py.testing.simulation.cluster import SimulatedCluster
from kafka_py.testing.simulation.group import SimulatedGroup
from kafka_py.testing.simulation.invariants import check_logs, promised
from kafka_py.testing.simulation.nodes import NodeLoop
from kafka_py.testing.simulation.operations import Administrator, SimulatedOperation, draw_operations
from kafka_py.testing.simulation.reader import Reader
from kafka_py.testing.simulation.scenario import TOPIC, Scenario, scenario_of
from kafka_py.testing.simulation.schedule import Trouble, carry_out, draw
from kafka_py.testing.simulation.transactions import Transactions
from kafka_py.testing.simulation.watch import Watch
from kafka_py.testing.simulation.workload import KeyedLoad, Promise, SimulatedLoad
from kafka_py.testing.simulation.znodes import replicas_of
from kafka_py.testing.virtual_time import Busy
from kafka_py.zk.config_znodes import DEFAULT_ENTITY, ConfigZNode, entity_path
from kafka_py.zk.store import ZkStore
from kafka_py.zk.topics import TopicAssignment

HEAL_DEADLINE_S = 180.0
CALM_BEFORE_S = 1.0
TOMBSTONES_GO_MS = 3 * 3_600_000
"""More than delete.retention.ms of the compacted topics."""
CLEANERS_LOOK_S = 2.5
"""More than log.cleaner.backoff.ms."""
MOST_FAULTS = 12
MOST_TURNS = 1_000_000
"""Of the loop in one schedule; the usual one has 5,000 to 40,000."""


@dataclass
class SeedResult:
    """What came of one seed. faults: empty when every invariant held."""

    seed: int
    scenario: Scenario
    troubles: list[Trouble]
    operations: list[SimulatedOperation]
    faults: list[str] = field(default_factory=list)
    acknowledged: int = 0
    """Records."""
    delivered: int = 0
    """Chunks of bytes that arrived."""
    digest: int = 0
    """Of all these chunks, and when they arrived: equal for every run of the seed."""
    carried_out: int = 0
    """Operations that were not refused."""
    commits: int = 0
    transactions: int = 0
    """Those whose commit was acknowledged."""
    simulated_s: float = 0.0

    def __str__(self) -> str:
        lines = [f"seed {self.seed} ({self.scenario}): {self.acknowledged} records acknowledged, "
                 f"{self.simulated_s:.0f} s simulated"]  # fmt: skip
        lines += [f"  {each}" for each in (*self.troubles, *self.operations)]
        lines += [f"  FAULT {fault}" for fault in self.faults]
        return "\n".join(lines)


def run_seed(seed: int, *, brokers: int = 3, partitions: int = 3, troubles: int = 8) -> SeedResult:
    """Runs the schedule of the seed."""
    loop = NodeLoop()
    rng = random.Random(seed)
    with _as_running(loop):
        scenario = scenario_of(seed, brokers, partitions)
        drawn = draw(rng, scenario.brokers, troubles)
        verdict = SeedResult(seed, scenario, drawn, _operations(rng, scenario))
        loop.limit_turns(MOST_TURNS)
        try:
            run = _RunningSchedule(loop, rng, verdict)
            with run.cluster.history.listening():
                loop.run_until_complete(run.run())
        except Busy as busy:
            verdict.faults.append(f"the loop never comes to rest: {busy}")
    verdict.simulated_s = loop.time()
    return verdict


def _operations(rng: random.Random, scenario: Scenario) -> list[SimulatedOperation]:
    return draw_operations(rng, scenario.operations, scenario.operation_kinds, scenario.paces_s)


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


class _RunningSchedule:
    """One schedule under way."""

    def __init__(self, loop: NodeLoop, rng: random.Random, verdict: SeedResult) -> None:
        scenario = verdict.scenario
        self.rng = rng
        self.verdict = verdict
        self.cluster = cluster = SimulatedCluster(loop, rng, scenario.brokers, scenario.settings)
        cluster.topics_stay = not scenario.operations
        self.watch = Watch(cluster, self._report, operations.PASSING)
        racks = ["", scenario.rack] if scenario.rack else [""]
        self.readers = [
            Reader(cluster, scenario.partitions, self._report, rng, deleting=scenario.deleting, rack=rack)
            for rack in racks
        ]
        pause_s = 0.05 * len(scenario.producers)
        self.loads = [
            SimulatedLoad(cluster, kind, f"p{number}", scenario.partitions, pause_s, scenario.compression)
            for number, kind in enumerate(scenario.producers)
        ]
        self.keyed = KeyedLoad(cluster, scenario.keyed, rng) if scenario.keyed else None
        self.administrator: Administrator | None = None
        self.group: SimulatedGroup | None = None
        self.transactions: Transactions | None = None

    def _report(self, fault: str) -> None:
        """Notes a fault; one that is seen again and again says enough after some times."""
        if len(self.verdict.faults) < MOST_FAULTS:
            self.verdict.faults.append(f"at {self.cluster.loop.time():.3f} s: {fault}")

    async def run(self) -> None:
        """From start to verdict."""
        verdict = self.verdict
        try:
            await self._begin()
            await asyncio.sleep(CALM_BEFORE_S)
            acts = [carry_out(self.cluster, verdict.troubles, self.rng)]
            if self.administrator is not None:
                acts.append(self.administrator.carry_out(verdict.operations))
            await asyncio.gather(*acts)
            await self._heal()
            await self._finish()
        except (AssertionError, TimeoutError) as error:
            verdict.faults.append(f"{type(error).__name__}: {error}\n{_state(self.cluster)}")
        except Exception:  # a check that fails for another reason than what it checks has not passed
            verdict.faults.append(traceback.format_exc())
        finally:
            await self._end()

    async def _begin(self) -> None:
        cluster, scenario = self.cluster, self.verdict.scenario
        session = cluster.zookeeper.session()
        await session.connect()
        store = ZkStore(session)
        if scenario.changes:
            path = ConfigZNode.path(entity_path(("brokers", DEFAULT_ENTITY)))
            await store.znodes.set_or_create(path, ConfigZNode(dict(scenario.changes)).encode())
        await cluster.start_all()
        for topic, replicas in scenario.topics.items():  # as kafka-topics.sh --zookeeper does
            await store.topics.create(topic, TopicAssignment.of(replicas), scenario.configs.get(topic))
        await cluster.until(lambda: is_in_sync(cluster), 60, "the topics are there")
        if scenario.operations:
            configs = scenario.configs.get(operations.PASSING[0])
            self.administrator = Administrator(
                cluster, store, scenario.partitions, self._grown, configs, scenario.keyed
            )
        if scenario.members:
            partitions = [each for each in scenario.partitions if each.topic == TOPIC]
            self.group = SimulatedGroup(cluster, TOPIC, partitions, self._report)
            self.group.start(scenario.members, scenario.member_kind)
        if scenario.workers:
            self.transactions = Transactions(cluster, scenario.workers, self.rng, self._report)
            self.transactions.start()
        self.watch.start()
        for load in self.loads:
            load.start()
        for reader in self.readers:
            reader.start()
        if self.keyed is not None:
            self.keyed.start()

    def _grown(self, topic_partition: TopicPartition) -> None:
        for load in self.loads:
            load.add(topic_partition)
        for reader in self.readers:
            reader.add(topic_partition)

    async def _heal(self) -> None:
        cluster = self.cluster
        cluster.heal()
        for _ in range(3):  # one that failed while starting is started again, as an operator would
            with contextlib.suppress(AssertionError):
                await cluster.until(lambda: is_in_sync(cluster), HEAL_DEADLINE_S / 3, "in sync")
                return
            cluster.heal()
        await cluster.until(lambda: is_in_sync(cluster), HEAL_DEADLINE_S, "the cluster heals")

    async def _finish(self) -> None:
        """Everybody comes to an end, and all that must hold is looked at."""
        cluster, faults = self.cluster, self.verdict.faults
        for load in self.loads:
            await load.finish()
        if self.keyed is not None:
            await self.keyed.pause()
        told = [load.acknowledged for load in self.loads]
        if self.administrator is not None:
            try:
                await cluster.until(self.administrator.is_over, HEAL_DEADLINE_S, "the operations end")
            except AssertionError:
                faults += self.administrator.left_over()
            faults += self.administrator.faults()
        if self.group is not None:
            try:
                await cluster.until(self.group.is_settled, HEAL_DEADLINE_S, "the group has read everything")
            except AssertionError:
                faults += [f"the group is {self.group.state}", *self.group.behind()]
            faults += self.group.faults(self._promised())
            await self.group.stop()
        if self.transactions is not None:
            await self._finish_transactions(self.transactions)
        await self._quiet()
        if self.keyed is not None:
            await self._let_tombstones_go(self.keyed)
        await cluster.until(lambda: not self._behind(), HEAL_DEADLINE_S, "the readers have read everything")
        faults += check_logs(cluster, told, self.readers)
        faults += [
            f"not sent: {each[0]}" for acknowledged in told for name, each in acknowledged.failed.items()
            if acknowledged.kind.promise is not Promise.NEVER and not cluster.history.had_unclean_election(name)
        ]  # fmt: skip

    async def _finish_transactions(self, transactions: Transactions) -> None:
        """Compares when high watermarks are at the ends: a leader that has restarted knows less to be committed."""
        try:
            await self.cluster.until(
                lambda: transactions.is_settled() and is_quiet(self.cluster), HEAL_DEADLINE_S, "all input is processed"
            )
        except AssertionError:
            self.verdict.faults += transactions.behind()
        self.verdict.faults += transactions.faults()
        await transactions.stop()

    async def _quiet(self) -> None:
        await self.cluster.until(
            lambda: is_quiet(self.cluster), HEAL_DEADLINE_S, "high watermarks at the ends of all logs"
        )

    def _behind(self) -> list[str]:
        return [each for reader in self.readers for each in reader.behind()]

    def _promised(self) -> dict[TopicPartition, list[int]]:
        """The offsets of acknowledged records that have to be there still."""
        offsets: dict[TopicPartition, list[int]] = {}
        for broker in self.cluster.servers():
            for name, partition in broker.partitions().items():
                if partition.is_leader and partition.log is not None:
                    offsets[name] = [
                        each.offset for load in self.loads
                        for each in promised(self.cluster.history, partition.log, load.acknowledged)
                    ]  # fmt: skip
        return offsets

    async def _let_tombstones_go(self, keyed: KeyedLoad) -> None:
        """delete.retention.ms passes, and compacted logs are compacted twice, with all that was sent before."""
        for broker in self.cluster.brokers:
            broker.clock.jump_wall(TOMBSTONES_GO_MS)
        for _ in range(2):
            for topic in self.verdict.scenario.keyed:
                await keyed.fill(topic)
            await keyed.flush()
            await asyncio.sleep(CLEANERS_LOOK_S)
        await self._quiet()

    async def _end(self) -> None:
        verdict = self.verdict
        verdict.acknowledged = sum(load.acknowledged.count for load in self.loads)
        verdict.delivered = self.cluster.network.delivered
        verdict.digest = self.cluster.network.digest
        if self.administrator is not None:
            verdict.carried_out = self.administrator.carried_out
            await self.administrator.close()
        if self.group is not None:
            verdict.commits = self.group.commits
            await self.group.stop()
        if self.transactions is not None:
            verdict.transactions = self.transactions.account.committed
            await self.transactions.stop()
        await self.watch.stop()
        for reader in self.readers:
            await reader.stop()
        if self.keyed is not None:
            await self.keyed.close()
        self.cluster.close()


def is_in_sync(cluster: SimulatedCluster) -> bool:
    """Each partition has one leader, and all its replicas in its in-sync set."""
    for name, replicas in replicas_of(cluster.zookeeper).items():
        hosted = [each.partitions()[name] for each in cluster.servers()
                  if each.broker_id in replicas and name in each.partitions()]  # fmt: skip
        leaders = [partition for partition in hosted if partition.is_leader]
        if len(hosted) != len(replicas) or len(leaders) != 1 or leaders[0].isr.members != set(replicas):
            return False
    return True


def is_quiet(cluster: SimulatedCluster) -> bool:
    """In sync, and every replica knows all of its log as committed."""
    if not is_in_sync(cluster):
        return False
    by_id = {broker.broker_id: broker for broker in cluster.brokers}
    for name, replicas in replicas_of(cluster.zookeeper).items():
        logs = [by_id[each].log(name) for each in replicas]
        ends = {end for log in logs if log is not None for end in (log.log_end_offset, log.high_watermark)}
        if len(ends) != 1:
            return False
    return True


def _state(cluster: SimulatedCluster) -> str:
    """The state of every broker, for whoever looks for the cause of a fault."""
    lines = []
    for broker in cluster.brokers:
        up = "up" if broker.server is not None else f"down ({broker.failure!r})"
        lines.append(f"    {broker.name} {up}")
        for name, partition in broker.partitions().items():
            log = broker.log(name)
            ends = (log.high_watermark, log.log_end_offset) if log is not None else None
            role = f"leads, in sync {sorted(partition.isr.members)}" if partition.is_leader else "follows"
            lines.append(f"      {name} {role} epoch {partition.leader_epoch} {ends}")
    return "\n".join(lines)
