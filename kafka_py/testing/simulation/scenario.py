"""What a seed means: a cluster, its topics, and the clients that use it, drawn from tables.

What is at the centre follows from the seed's last digit; the rest (replication, producers, compression, log
directories, unclean elections, reading from followers, kinds of members) is drawn, each in some of the seeds.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kafka_py.base.ids import TopicPartition
from kafka_py.testing.simulation import group, operations, transactions, workload
from kafka_py.testing.simulation.cluster import LOG_DIR
from kafka_py.testing.simulation.operations import USUAL_PACES_S

TOPIC = "t"
KEYED = "c"
"""A compacted topic."""
CENTRES = ("troubles", "troubles", "compaction", "operations", "group", "troubles", "retention", "compaction",
           "operations", "group")  # fmt: skip
ONE_OF_EACH = (0, 2, 3, 4, 6)
"""Seeds of every centre."""

REPLICATION = ((3, 2),) * 6 + ((3, 1), (2, 1), (2, 2), (1, 1), (4, 3), (5, 3))
"""(replicas, min.insync.replicas) of the topic."""
PRODUCERS = (
    *(("idempotent",),) * 4,
    ("idempotent", "one at a time"),
    ("idempotent", "leader"),
    ("all", "leader"),
    ("one at a time",),
    ("leader", "nobody"),
)
TWO_DIRS = {"compaction": 0.6}
"""The part of a centre's seeds in which brokers have two log directories; 0.3 for the others."""
UNCLEAN = {"troubles": 0.3, "compaction": 0.5}
"""The part of a centre's seeds in which elections may be unclean; 0 for the others."""
TRANSACTIONS = 1 / 3
"""The part of all seeds in which workers read, write and commit in transactions."""
COMPRESSION = ("none", "none", "none", "gzip", "snappy", "lz4", "zstd")
SECOND_DIR = f"{LOG_DIR}-2"
FETCH_FROM_FOLLOWER = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}
COMPACTION = {
    "log.cleaner.backoff.ms": "2000",
    "log.segment.delete.delay.ms": "1000",
}
COMPACTED = {
    "cleanup.policy": "compact", "segment.bytes": "1500", "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "7200000",
}  # fmt: skip
SLOW_MOVES = {"replica.alter.log.dirs.io.max.bytes.per.second": "2500"}
"""So slow that a log is compacted while it is copied, if the broker allows that. It needs SMALL_PIECES: the first fetch
of a move is never throttled, and a long window allows many bytes at first."""
SMALL_PIECES = {"replica.fetch.max.bytes": "500", "alter.log.dirs.replication.quota.window.num": "2"}
RETENTION = {"log.retention.check.interval.ms": "700", "log.segment.delete.delay.ms": "500"}
RETAINED = {"segment.bytes": "2048", "retention.bytes": "6000"}
DELETED_BY_HAND = {"segment.bytes": "2048"}


@dataclass(frozen=True)
class Scenario:
    """A cluster and who is at work on it.

    topics: by name the replicas of each partition. configs: of topics. operations: how many, and of which kinds.
    members: of the group; 0 for no group. keyed: topics that get keys and values, the others get numbered records.
    rack: of a second reader, which so reads from a follower; empty for none. deleting: records go at the start of logs.
    workers: that read, write and commit in transactions; 0 for none.
    """

    name: str
    brokers: int
    topics: Mapping[str, Mapping[int, list[int]]]
    settings: Mapping[str, str] = field(default_factory=dict)
    configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    operations: int = 0
    operation_kinds: tuple[str, ...] = ()
    paces_s: tuple[float, ...] = USUAL_PACES_S
    members: int = 0
    member_kind: group.MemberKind = group.USUAL
    producers: tuple[workload.ProducerKind, ...] = (workload.KINDS["idempotent"],)
    compression: str = "none"
    keyed: tuple[str, ...] = ()
    rack: str = ""
    deleting: bool = False
    workers: int = 0
    changes: Mapping[str, str] = field(default_factory=dict)
    """Settings of all brokers that stand in ZooKeeper."""

    @property
    def partitions(self) -> list[TopicPartition]:
        """Those that are written and read: not the ones of topics that come and go, or are compacted."""
        special = {*operations.PASSING, *self.keyed, transactions.OUTPUT, transactions.AUDIT}
        return [
            TopicPartition(topic, number) for topic, rows in self.topics.items() if topic not in special
            for number in rows
        ]  # fmt: skip

    def __str__(self) -> str:
        traits = [self.name, *(kind.name for kind in self.producers), self.compression]
        traits += [f"{len(rows[0])} replicas of {topic}" for topic, rows in self.topics.items()]
        traits += [f"{topic}: {name}={value}" for topic, row in self.configs.items() for name, value in row.items()
                   if name in ("min.insync.replicas", "unclean.leader.election.enable")]  # fmt: skip
        traits += ["two directories"] if "log.dirs" in self.settings else []
        traits += [f"a reader in {self.rack}"] if self.rack else []
        traits += [self.member_kind.name] if self.members else []
        traits += ["transactions"] if self.workers else []
        return ", ".join(traits)


def centre_of(seed: int) -> str:
    """What a seed is about."""
    return CENTRES[seed % len(CENTRES)]


def scenario_of(seed: int, brokers: int, partitions: int) -> Scenario:
    """Follows from the seed alone."""
    drawn = random.Random(f"scenario {seed}")
    centre = centre_of(seed)
    replicas, in_sync = drawn.choice(REPLICATION)
    brokers = max(brokers, replicas) + (centre == "operations")
    topics = {TOPIC: _in_turn(brokers, partitions, replicas)}
    if centre == "operations":  # which move partitions to as few as two replicas
        in_sync = min(in_sync, 2)
    configs = {TOPIC: {"min.insync.replicas": str(in_sync)}}
    scenario = Scenario(
        centre, brokers, topics, {}, configs,
        producers=tuple(workload.KINDS[name] for name in drawn.choice(PRODUCERS)),
        compression=drawn.choice(COMPRESSION),
    )  # fmt: skip
    if drawn.random() < TWO_DIRS.get(centre, 0.3):
        scenario = _with(scenario, {"log.dirs": f"{LOG_DIR},{SECOND_DIR}"})
    if drawn.random() < 0.25:
        rack = f"rack{drawn.randrange(brokers) + 1}"
        scenario = replace(_with(scenario, FETCH_FROM_FOLLOWER), rack=rack)
    if centre in UNCLEAN and drawn.random() < UNCLEAN[centre]:
        scenario = _with(scenario, {}, {TOPIC: {"unclean.leader.election.enable": "true"}})
    scenario = _CENTRE.get(centre, _plain)(scenario, drawn)
    return _transactions(scenario) if random.Random(f"transactions {seed}").random() < TRANSACTIONS else scenario


def _with(
    scenario: Scenario, settings: Mapping[str, str], configs: Mapping[str, Mapping[str, str]] | None = None
) -> Scenario:
    """With more settings of brokers and topics."""
    merged = {topic: dict(row) for topic, row in scenario.configs.items()}
    for topic, row in (configs or {}).items():
        merged.setdefault(topic, {}).update(row)
    return replace(scenario, settings={**scenario.settings, **settings}, configs=merged)


def _plain(scenario: Scenario, drawn: random.Random) -> Scenario:
    return scenario


def _operations(scenario: Scenario, drawn: random.Random) -> Scenario:
    brokers = scenario.brokers
    passing = {operations.PASSING[0]: _in_turn(brokers, 2, 2)}
    topics = {**scenario.topics, operations.GROWING: _in_turn(brokers, 1, 2), **passing}
    kinds = tuple(sorted(operations.USUAL_KINDS)) + (("move to a directory",) if _has_two_dirs(scenario) else ())
    return replace(_with(scenario, operations.SETTINGS), topics=topics, operations=10, operation_kinds=kinds)


def _group(scenario: Scenario, drawn: random.Random) -> Scenario:
    kind = drawn.choice(group.MEMBER_KINDS)
    return replace(_with(scenario, group.SETTINGS), members=2, member_kind=kind)


def _compaction(scenario: Scenario, drawn: random.Random) -> Scenario:
    """A compacted topic of two replicas next to the usual one, and another that is created and deleted."""
    passing = operations.PASSING[0]
    topics = {TOPIC: _in_turn(scenario.brokers, 1, len(scenario.topics[TOPIC][0])),
              KEYED: _in_turn(scenario.brokers, 1, 2), passing: _in_turn(scenario.brokers, 1, 2)}  # fmt: skip
    unclean = scenario.configs[TOPIC].get("unclean.leader.election.enable", "false")
    compacted = {**COMPACTED, "unclean.leader.election.enable": unclean, "min.insync.replicas": "1"}
    scenario = _with(scenario, {**operations.SETTINGS, **COMPACTION}, {KEYED: compacted, passing: compacted})
    kinds: tuple[str, ...] = ("make a topic again",) * 3
    if _has_two_dirs(scenario):
        scenario = _with(scenario, SMALL_PIECES)
        kinds += ("move a compacted topic",) * 3 + ("move to a directory",)
    if unclean == "true":
        kinds += ("elect a follower that is behind",) * 3
    return replace(
        scenario, topics=topics, keyed=(KEYED, passing), operations=drawn.randrange(1, 7), operation_kinds=kinds,
        paces_s=(1.0, 6.0), changes=SLOW_MOVES if _has_two_dirs(scenario) else {},
    )  # fmt: skip


def _retention(scenario: Scenario, drawn: random.Random) -> Scenario:
    by_hand = drawn.random() < 0.5
    scenario = _with(scenario, RETENTION, {TOPIC: DELETED_BY_HAND if by_hand else RETAINED})
    if not by_hand:
        return replace(scenario, deleting=True)
    return replace(scenario, deleting=True, operations=6, operation_kinds=("delete records",))


def _transactions(scenario: Scenario) -> Scenario:
    """Topics of their own, of three replicas, whose elections are clean."""
    workers = 2
    names = (transactions.INPUT, transactions.OUTPUT, transactions.AUDIT)
    topics = {**scenario.topics, **{name: _in_turn(scenario.brokers, workers, 3) for name in names}}
    configs = {name: {"min.insync.replicas": "2"} for name in names}
    return replace(_with(scenario, transactions.SETTINGS, configs), topics=topics, workers=workers)


_CENTRE = {"operations": _operations, "group": _group, "compaction": _compaction, "retention": _retention}


def _has_two_dirs(scenario: Scenario) -> bool:
    return "log.dirs" in scenario.settings


def _in_turn(brokers: int, partitions: int, replicas: int) -> dict[int, list[int]]:
    return {number: [(number + place) % brokers + 1 for place in range(replicas)] for number in range(partitions)}
