"""What an administrator does to a simulated cluster while things go wrong, drawn from a seed; and that it all ends.

Replicas are moved (by znode and by API) and moves cancelled, preferred leaders elected, a topic gets partitions,
others are created, deleted and re-created, settings change. A call whose response was lost may or may not have been
carried out, so the set of states is noted in which each thing may be when the cluster is calm again.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ElectionType, TopicPartition
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.clients.admin.log_dirs import TopicPartitionReplica
from kafka_py.clients.admin.resources import AlterConfig, ConfigResource, ConfigResourceType
from kafka_py.clients.admin.topics import NewTopic
from kafka_py.log.disk import filenames
from kafka_py.testing.simulation.cluster import SimulatedCluster
from kafka_py.testing.simulation.znodes import assignments, children_of, data_of, replicas_of
from kafka_py.zk.config_znodes import ConfigZNode, entity_path
from kafka_py.zk.session import NodeExists
from kafka_py.zk.store import ZkStore
from kafka_py.zk.znodes import DeleteTopicsZNode, PreferredReplicaElectionZNode, ReassignPartitionsZNode

GROWING = "u"
"""The topic that gets partitions."""
PASSING = ("d1", "d2")
"""Topics that come and go."""
CALL_TIMEOUT_S = 8.0
MOST_PARTITIONS = 5
BEHIND_S, LEADS_S = 5.0, 3.0
"""At least so long the follower is down while its leader compacts, and at least so long it leads alone."""
SETTINGS = {
    "leader.imbalance.check.interval.seconds": "5",
    "log.segment.delete.delay.ms": "2000",
}
CHANGES: dict[str, Callable[[random.Random], int]] = {
    "segment.bytes": lambda chance: chance.randrange(8192, 32768),
    "flush.messages": lambda chance: chance.choice((1, 7, 1000)),
    "max.message.bytes": lambda chance: chance.randrange(100_000, 2_000_000),
}


@dataclass(frozen=True)
class SimulatedOperation:
    """One act, `after_s` seconds after the one before. seed: of all that is drawn while it is carried out."""

    after_s: float
    kind: str
    seed: int

    def __str__(self) -> str:
        return f"+{self.after_s:.2f} s operation: {self.kind}"


USUAL_PACES_S = (0.05, 0.5, 3.0)


def draw_operations(
    rng: random.Random, count: int, kinds: Sequence[str], paces_s: Sequence[float] = USUAL_PACES_S
) -> list[SimulatedOperation]:
    """Some follow each other at once. paces_s: of which one is drawn, for the longest time between two."""
    return [
        SimulatedOperation(rng.choice(paces_s) * rng.random(), rng.choice(kinds), rng.getrandbits(32))
        for _ in range(count)
    ]


class Administrator:
    """Carries operations out, and says in the end what is not as it should be.

    load: notified of partitions that have been added.
    """

    def __init__(
        self, cluster: SimulatedCluster, store: ZkStore, partitions: Iterable[TopicPartition],
        grown: Callable[[TopicPartition], None], passing_configs: Mapping[str, str] | None = None,
        compacted: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.carried_out = 0
        self.cluster = cluster
        self.store = store
        self.admin = AsyncAdminClient(
            {
                "bootstrap.servers": cluster.bootstrap, "client.id": "admin", "request.timeout.ms": "3000",
                "retry.backoff.ms": "50", "reconnect.backoff.ms": "20", "reconnect.backoff.max.ms": "500",
                "metadata.max.age.ms": "5000",
            },
            environment=cluster.client_environment(),
        )  # fmt: skip
        self.grown = grown
        self.passing_configs = dict(passing_configs or {})
        """Of the topics that come and go."""
        self.compacted = compacted
        self.cancelled: set[str] = set()
        """Topics with a cancelled move: a controller that comes later does not know of replicas that were added."""
        self.deleted_to: dict[tuple[TopicPartition, int], tuple[object, int]] = {}
        """By partition and broker: the life of a broker, and where its log may begin at the earliest in that life."""
        replicas = replicas_of(cluster.zookeeper)
        self.targets = {each: {frozenset(replicas[each])} for each in partitions}
        """By partition: every set of replicas that it was ever to have."""
        self.values: dict[tuple[str, str], set[str]] = {}
        """By topic and setting: what it may be now."""
        self.locks = {topic: asyncio.Lock() for topic in (GROWING, *PASSING)}
        self.count = sum(1 for each in self.targets if each.topic == GROWING)
        """Partitions that the growing topic has for certain."""

    async def carry_out(self, operations: list[SimulatedOperation]) -> None:
        """All of it, each at its time; returns when the last has an answer, or none in time."""
        under_way = []
        for operation in operations:
            await asyncio.sleep(operation.after_s)
            under_way.append(asyncio.ensure_future(self._carry_out(operation)))
        await asyncio.gather(*under_way)

    async def _carry_out(self, operation: SimulatedOperation) -> None:
        try:
            await KINDS[operation.kind](self, random.Random(operation.seed))
            self.carried_out += 1
        except (KafkaError, NodeExists):  # refused, or not answered
            return

    async def close(self) -> None:
        await self.admin.close()

    # ---- the operations

    def _some(self, chance: random.Random) -> list[TopicPartition]:
        known = sorted(self.targets)
        return chance.sample(known, min(chance.randrange(1, 4), len(known)))

    def _new_targets(self, chance: random.Random) -> dict[TopicPartition, list[int]]:
        brokers = [broker.broker_id for broker in self.cluster.brokers]
        wanted = {}
        for topic_partition in self._some(chance):
            replicas = chance.sample(brokers, chance.randrange(2, len(brokers) + 1))
            self.targets[topic_partition].add(frozenset(replicas))
            wanted[topic_partition] = replicas
        return wanted

    async def move_by_znode(self, chance: random.Random) -> None:
        await self.store.admin.request_reassignments(self._new_targets(chance))

    async def move(self, chance: random.Random) -> None:
        wanted = self._new_targets(chance)
        (await self.admin.alter_partition_reassignments(wanted, timeout=CALL_TIMEOUT_S)).all()

    async def call_off(self, chance: random.Random) -> None:
        """A move that has only begun, or one that was begun before."""
        wanted: dict[TopicPartition, list[int] | None] = dict.fromkeys(self._some(chance))
        if chance.random() < 0.7:
            begun = self._new_targets(chance)
            (await self.admin.alter_partition_reassignments(begun, timeout=CALL_TIMEOUT_S)).all()
            await asyncio.sleep(chance.choice((0.02, 0.5)) * chance.random())
            wanted |= dict.fromkeys(begun)
        (await self.admin.alter_partition_reassignments(wanted, timeout=CALL_TIMEOUT_S)).all()

    async def elect_by_znode(self, chance: random.Random) -> None:
        await self.store.admin.request_preferred_elections(self._some(chance))

    async def elect(self, chance: random.Random) -> None:
        (await self.admin.elect_leaders(ElectionType.PREFERRED, self._some(chance), timeout=CALL_TIMEOUT_S)).all()

    async def grow(self, chance: random.Random) -> None:
        async with self.locks[GROWING]:
            if self.count >= MOST_PARTITIONS:
                return
            wanted = self.count + 1
            (await self.admin.create_partitions({GROWING: wanted}, timeout=CALL_TIMEOUT_S)).all()
            self.count = wanted
            self.grown(TopicPartition(GROWING, wanted - 1))

    def _passing(self, chance: random.Random, *, existing: bool) -> str:
        """One of the topics that come and go, if possible one that is (not) there."""
        there = assignments(self.cluster.zookeeper)
        return chance.choice([topic for topic in PASSING if (topic in there) == existing] or PASSING)

    async def make(self, chance: random.Random) -> None:
        topic = self._passing(chance, existing=False)
        async with self.locks[topic]:
            await self._make(topic, chance)

    async def _make(self, topic: str, chance: random.Random) -> None:
        new = NewTopic(topic, chance.randrange(1, 3), chance.randrange(2, 4), configs=self.passing_configs)
        (await self.admin.create_topics([new], timeout=CALL_TIMEOUT_S)).all()

    async def delete(self, chance: random.Random) -> None:
        topic = self._passing(chance, existing=True)
        async with self.locks[topic]:
            (await self.admin.delete_topics([topic], timeout=CALL_TIMEOUT_S)).all()

    async def make_again(self, chance: random.Random) -> None:
        """Deleted, and created again as soon as that is possible."""
        await self._make_again(self._passing(chance, existing=True), chance)

    async def _make_again(self, topic: str, chance: random.Random) -> None:
        async with self.locks[topic]:
            (await self.admin.delete_topics([topic], timeout=CALL_TIMEOUT_S)).all()
            for _ in range(10):
                try:
                    await self._make(topic, chance)
                    return
                except KafkaError as error:
                    if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                        raise
                await asyncio.sleep(0.3)

    async def cancel_and_make_again(self, chance: random.Random) -> None:
        """A topic is moved, the move cancelled; the topic is deleted, re-created, and moved again."""
        topic = self._passing(chance, existing=True)
        async with self.locks[topic]:
            await self._move_all(topic, chance)
            await asyncio.sleep(chance.choice((0.02, 0.5)) * chance.random())
            self.cancelled.add(topic)
            moved: dict[TopicPartition, list[int] | None] = dict.fromkeys(
                each for each in replicas_of(self.cluster.zookeeper) if each.topic == topic
            )
            await self.admin.alter_partition_reassignments(moved, timeout=CALL_TIMEOUT_S)
        await self._make_again(topic, chance)
        async with self.locks[topic]:
            await self._move_all(topic, chance)

    async def _move_all(self, topic: str, chance: random.Random) -> None:
        brokers = [broker.broker_id for broker in self.cluster.brokers]
        wanted: dict[TopicPartition, list[int] | None] = {
            each: chance.sample(brokers, 2) for each in replicas_of(self.cluster.zookeeper) if each.topic == topic
        }
        if wanted:
            await self.admin.alter_partition_reassignments(wanted, timeout=CALL_TIMEOUT_S)

    async def move_to_directory(self, chance: random.Random) -> None:
        """One broker's replicas of a topic go to its other directory, whichever that is."""
        known = replicas_of(self.cluster.zookeeper)
        topic = chance.choice(sorted({each.topic for each in known}))
        moves = {
            TopicPartitionReplica(*each, broker_id): chance.choice(self.cluster.brokers[broker_id - 1].log_dirs)
            for each, replicas in known.items() if each.topic == topic for broker_id in replicas
        }  # fmt: skip
        (await self.admin.alter_replica_log_dirs(moves, timeout=CALL_TIMEOUT_S)).all()

    async def move_compacted(self, chance: random.Random) -> None:
        """Every replica of a compacted topic is moved to another directory of its broker."""
        topic = chance.choice(self.compacted)
        moves = {}
        for each, replicas in replicas_of(self.cluster.zookeeper).items():
            for broker in [self.cluster.brokers[one - 1] for one in replicas if each.topic == topic]:
                log = broker.log(each)
                others = [path for path in broker.log_dirs if log is None or path != log.log_dir]
                moves[TopicPartitionReplica(*each, broker.broker_id)] = chance.choice(others)
        (await self.admin.alter_replica_log_dirs(moves, timeout=CALL_TIMEOUT_S)).all()

    async def elect_follower_behind(self, chance: random.Random) -> None:
        """The follower of a compacted topic is down while the leader compacts, and is elected after the leader's death.

        The former leader returns, is truncated below what it had compacted, and copies other records from there on.
        """
        topic_partition = TopicPartition(self.compacted[0], 0)
        led = [broker for broker in self.cluster.servers()
               if (one := broker.partitions().get(topic_partition)) is not None and one.is_leader]  # fmt: skip
        if not led:
            return
        leader = chance.choice(led)
        replicas = replicas_of(self.cluster.zookeeper)[topic_partition]
        others = [self.cluster.brokers[each - 1] for each in replicas if each != leader.broker_id]
        for other in others:
            other.kill()
        await asyncio.sleep(BEHIND_S * (1 + chance.random()))
        leader.kill()
        for other in others:
            if not other.is_running:
                other.start()
        await asyncio.sleep(LEADS_S * (1 + chance.random()))
        if not leader.is_running:
            leader.start()

    async def delete_records(self, chance: random.Random) -> None:
        """Up to somewhere below what is committed. A broker that dies may forget it, until it is on disk."""
        topic_partition = chance.choice(sorted(self.targets))
        logs = [log for broker in self.cluster.servers() if (log := broker.log(topic_partition)) is not None]
        offset = chance.randrange(max((log.high_watermark for log in logs), default=0) + 1)
        (await self.admin.delete_records({topic_partition: offset}, timeout=CALL_TIMEOUT_S)).all()
        for broker in self.cluster.servers():
            log = broker.log(topic_partition)
            if log is not None and log.log_start_offset >= offset:
                self.deleted_to[topic_partition, broker.broker_id] = broker.server, offset

    async def change(self, chance: random.Random) -> None:
        topic = chance.choice(sorted({each.topic for each in self.targets}))
        name = chance.choice(sorted(CHANGES))
        value = str(CHANGES[name](chance))
        self.values.setdefault((topic, name), set()).add(value)
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        changes = {resource: [AlterConfig(name, value)]}
        (await self.admin.incremental_alter_configs(changes, timeout=CALL_TIMEOUT_S)).all()

    # ---- in the end

    def is_over(self) -> bool:
        """No operation is in progress, and what was deleted no longer exists."""
        return not self.left_over()

    def left_over(self) -> list[str]:
        """Operations that are still in progress, and what was left behind."""
        tree = self.cluster.zookeeper
        left = [
            f"{path}: {data!r}"
            for path in (ReassignPartitionsZNode.path(), PreferredReplicaElectionZNode.path())
            if (data := data_of(tree, path)) is not None
        ]
        left += [f"{each} is to be deleted" for each in children_of(tree, DeleteTopicsZNode.path())]
        existing = assignments(tree)
        left += [
            f"{topic}-{number} is on its way: {row}"
            for topic, assignment in existing.items()
            for number, row in assignment.partitions.items()
            if row.adding or row.removing
        ]
        for broker in self.cluster.servers():
            entries = [entry for path in broker.log_dirs for entry in broker.files.list(path)]
            for entry in entries:
                if entry.is_directory:
                    topic, number = filenames.parse_partition_directory(entry.name).topic_partition
                    is_gone = topic in PASSING and (
                        (topic not in existing and topic not in self.cancelled) or "-delete" in entry.name
                    )
                    row = existing[topic].partitions.get(number) if topic in existing else None
                    # A broker keeps what it was not there to drop, a copy in the making like any log: only where it
                    # is a replica does the copy have to become the log.
                    is_hosted = row is not None and broker.broker_id in row.replicas
                    if is_gone or (is_hosted and entry.name.endswith("-future")):
                        left.append(f"{broker.name} still has {entry.name}")
        return left

    def faults(self) -> list[str]:
        """Replicas and settings that no operation asked for, and settings that a broker does not use."""
        existing = assignments(self.cluster.zookeeper)
        faults = []
        for topic_partition, targets in self.targets.items():
            replicas = existing[topic_partition.topic].partitions[topic_partition.partition].replicas
            if frozenset(replicas) not in targets:
                faults.append(f"{topic_partition}: no operation asked for the replicas {replicas}")
        for (topic_partition, broker_id), (life, offset) in self.deleted_to.items():
            broker = self.cluster.brokers[broker_id - 1]
            log = broker.log(topic_partition)
            if broker.server is life and log is not None and log.log_start_offset < offset:
                faults.append(f"{topic_partition} on {broker.name}: begins at {log.log_start_offset}, not {offset}")
        if self.count and len(existing[GROWING].partitions) < self.count:
            faults.append(f"{GROWING}: {self.count} partitions were made, {len(existing[GROWING].partitions)} are left")
        for (topic, name), values in self.values.items():
            faults += self._setting_faults(topic, name, values)
        return faults

    def _setting_faults(self, topic: str, name: str, values: set[str]) -> list[str]:
        path = ConfigZNode.path(entity_path(("topics", topic)))
        written = ConfigZNode.decode(data_of(self.cluster.zookeeper, path)).config.get(name)
        if written is None:
            return []
        if written not in values:
            return [f"{topic}: no operation set {name} to {written}"]
        return [
            f"{broker.name}: {topic_partition} uses {name}={used}, not {written}"
            for broker in self.cluster.servers()
            for topic_partition in broker.partitions()
            if topic_partition.topic == topic and (log := broker.log(topic_partition)) is not None
            if str(used := getattr(log.config, name.replace(".", "_"))) != written
        ]


USUAL_KINDS: dict[str, Callable[[Administrator, random.Random], Awaitable[None]]] = {
    "move by znode": Administrator.move_by_znode,
    "move": Administrator.move,
    "call a move off": Administrator.call_off,
    "elect by znode": Administrator.elect_by_znode,
    "elect": Administrator.elect,
    "add a partition": Administrator.grow,
    "make a topic": Administrator.make,
    "delete a topic": Administrator.delete,
    "make a topic again": Administrator.make_again,
    "cancel a move, make the topic again": Administrator.cancel_and_make_again,
    "change a setting": Administrator.change,
}
KINDS = {
    **USUAL_KINDS,
    "move to a directory": Administrator.move_to_directory,
    "move a compacted topic": Administrator.move_compacted,
    "elect a follower that is behind": Administrator.elect_follower_behind,
    "delete records": Administrator.delete_records,
}
