"""A consumer group in a simulated cluster: members that read and commit, an auditor that asks what is committed.

The members are our own consumers. What must hold: a committed offset that was acknowledged is never seen to go back by
one who asks its coordinator; every acknowledged record reaches a member; in the end the group is stable and has read
and committed all there is. A coordinator that has been replaced and does not know it yet may say anything, as in the
classic: an answer counts only if its broker was leader in an epoch no older than the commit's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.async_consumer import AsyncConsumer
from kafka_py.clients.consumer.listener import RebalanceListener
from kafka_py.net.client import BrokerConnection
from kafka_py.net.connection_failures import ConnectionLost
from kafka_py.testing.simulation.cluster import PORT, SimulatedBroker, SimulatedCluster
from kafka_py.testing.simulation.znodes import partition_state
from kafka_py.wire.messages.describe_groups import DescribeGroupsRequest
from kafka_py.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic

GROUP = "g"
OFFSETS = TopicPartition("__consumer_offsets", 0)
SETTINGS = {
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "300",
    "group.min.session.timeout.ms": "1000",
}
OFFSET_FETCH_VERSION = 5
DESCRIBE_VERSION = 4
NO_EPOCH = -1


@dataclass(frozen=True)
class MemberKind:
    """How the members of a group take part. is_static: each keeps an instance id (KIP-345)."""

    name: str
    settings: Mapping[str, str] = field(default_factory=dict)
    is_static: bool = False

    @property
    def commits_itself(self) -> bool:
        """Whether the consumer commits, not its user."""
        return self.settings.get("enable.auto.commit") == "true"


USUAL = MemberKind("usual members")
_AUTOMATIC = {"enable.auto.commit": "true", "auto.commit.interval.ms": "300"}
_COOPERATIVE = {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"}
MEMBER_KINDS = (
    USUAL,
    MemberKind("automatic commits", _AUTOMATIC),
    MemberKind("static members", is_static=True),
    MemberKind("cooperative members", _COOPERATIVE),
    MemberKind("cooperative members with automatic commits", {**_AUTOMATIC, **_COOPERATIVE}),
)


@dataclass
class AcknowledgedCommit:
    """The furthest commit of a partition that was acknowledged. epoch: of the coordinator, or a later one."""

    offset: int = -1
    epoch: int = NO_EPOCH


class _Uncommitted(RebalanceListener):
    """What a member has read of its partitions without a response that it is committed: offsets to commit."""

    def __init__(self) -> None:
        self.offsets: dict[TopicPartition, int] = {}

    def on_partitions_revoked(self, partitions: Collection[TopicPartition]) -> None:
        for each in partitions:
            self.offsets.pop(each, None)


class SimulatedMember:
    """One consumer of the group: reads, commits after each round, comes back when the group has thrown it out."""

    def __init__(self, group: SimulatedGroup, number: int, kind: MemberKind = USUAL) -> None:
        self._group = group
        self._commits_itself = kind.commits_itself
        instance = {"group.instance.id": f"instance{number}"} if kind.is_static else {}
        self._consumer = AsyncConsumer(
            {
                "bootstrap.servers": group.cluster.bootstrap, "group.id": GROUP, "client.id": f"member{number}",
                "auto.offset.reset": "earliest", "enable.auto.commit": "false", "session.timeout.ms": "3000",
                "heartbeat.interval.ms": "500", "request.timeout.ms": "3000", "default.api.timeout.ms": "8000",
                "retry.backoff.ms": "50", "metadata.max.age.ms": "5000", "reconnect.backoff.ms": "20",
                "reconnect.backoff.max.ms": "500", "max.poll.interval.ms": "60000", "fetch.max.wait.ms": "300",
                **kind.settings, **instance,
            },
            environment=group.cluster.client_environment(),
        )  # fmt: skip

    async def run(self) -> None:
        """Until cancelled."""
        pending = _Uncommitted()
        await self._consumer.subscribe([self._group.topic], listener=pending)
        while True:
            try:
                records = await self._consumer.poll(0.3)
                for record in records:
                    self._group.read.setdefault(record.topic_partition, set()).add(record.offset)
                if not self._commits_itself:
                    for each in sorted(records.partitions()):
                        pending.offsets[each] = records.records(each)[-1].offset + 1
                    await self._commit(pending)
            except KafkaError:  # removed, or not answered: what was read is committed later, or is read again
                await asyncio.sleep(0.1)

    async def _commit(self, pending: _Uncommitted) -> None:
        """A cooperative member keeps partitions through a rebalance: what it has read of them does not come again."""
        offsets = dict(pending.offsets)
        if offsets:
            await self._consumer.commit(offsets)
            self._group.acknowledged(offsets)
            pending.offsets = {each: offset for each, offset in pending.offsets.items() if offsets.get(each) != offset}

    async def close(self) -> None:
        await self._consumer.close(0)


class SimulatedGroup:
    """The group, its auditor, and the responses that they received. report: receives violations."""

    def __init__(
        self, cluster: SimulatedCluster, topic: str, partitions: list[TopicPartition], report: Callable[[str], None]
    ) -> None:
        self.cluster = cluster
        self.topic = topic
        self.partitions = partitions
        self.read: dict[TopicPartition, set[int]] = {}
        self.commits = 0
        """How many commits of a partition were acknowledged."""
        self.state = ""
        self.seen: dict[TopicPartition, int] = {}
        """What the last answer of a coordinator said."""
        self._committed = {each: AcknowledgedCommit() for each in partitions}
        self._report = report
        self._wires: dict[str, BrokerConnection] = {}
        self._members: list[SimulatedMember] = []
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, members: int, kind: MemberKind = USUAL) -> None:
        self._members = [SimulatedMember(self, number, kind) for number in range(members)]
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(member.run()) for member in self._members]
        self._tasks.append(loop.create_task(self._audit()))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        for task in self._tasks:
            if not task.cancelled() and task.exception() is not None:
                self._report(f"a member or the auditor ended: {task.exception()!r}")
        for member in self._members:
            await member.close()
        for wire in self._wires.values():
            wire.close()

    def acknowledged(self, offsets: dict[TopicPartition, int]) -> None:
        """A commit was answered: whatever coordinator took it, its epoch is not above the newest one now."""
        newest = self._newest_epoch()
        for topic_partition, offset in offsets.items():
            self.commits += 1
            self._committed[topic_partition] = AcknowledgedCommit(offset, newest)

    def _newest_epoch(self) -> int:
        """The epoch in ZooKeeper: the coordinator that has it may have been killed since its last answer."""
        state = partition_state(self.cluster.zookeeper, OFFSETS)
        return state.leader_epoch if state is not None else NO_EPOCH

    @staticmethod
    def _epoch(broker: SimulatedBroker) -> int:
        """In which epoch the broker believes to lead the group's partition."""
        partition = broker.partitions().get(OFFSETS)
        return partition.leader_epoch if partition is not None and partition.is_leader else NO_EPOCH

    async def _audit(self) -> None:
        while True:
            for broker in self.cluster.brokers:
                try:
                    async with asyncio.timeout(2):
                        await self._ask(broker)
                except (ConnectionLost, TimeoutError, OSError):
                    pass
            await asyncio.sleep(0.2)

    async def _ask(self, broker: SimulatedBroker) -> None:
        wire = self._wires.get(broker.name)
        if wire is None or wire.closed:
            wire = self._wires[broker.name] = await self.cluster.connect(broker.name, PORT, 1000, "auditor")
        epoch = self._epoch(broker)
        before = dict(self._committed)
        topic = OffsetFetchRequestTopic(name=self.topic, partition_indexes=[each.partition for each in before])
        response = await wire.send(OffsetFetchRequest(group_id=GROUP, topics=[topic]), OFFSET_FETCH_VERSION)
        if response.error_code:
            return
        for answer in response.topics[0].partitions:
            name = TopicPartition(self.topic, answer.partition_index)
            self.seen[name] = answer.committed_offset
            delivered = max(self.read.get(name, ()), default=-1) + 1
            if answer.committed_offset > delivered:
                self._report(f"{name}: {answer.committed_offset} is committed, members have read up to {delivered}")
            known = before[name]
            if epoch >= known.epoch and not answer.error_code and answer.committed_offset < known.offset:
                self._report(
                    f"{name}: {known.offset} was committed in epoch {known.epoch}, {broker.name} in epoch {epoch} "
                    f"says {answer.committed_offset}"
                )
        described = await wire.send(DescribeGroupsRequest(groups=[GROUP]), DESCRIBE_VERSION)
        if not described.groups[0].error_code:
            self.state = f"{described.groups[0].group_state} with {len(described.groups[0].members)}"

    def is_settled(self) -> bool:
        """Stable with all its members, and everything read and committed."""
        return self.state == f"Stable with {len(self._members)}" and not self.behind()

    def behind(self) -> list[str]:
        """Partitions that are not committed up to their ends."""
        ends = {
            each: log.log_end_offset
            for broker in self.cluster.servers()
            for each in self.partitions
            if (partition := broker.partitions().get(each)) is not None and partition.is_leader
            if (log := broker.log(each)) is not None
        }
        return [f"{each}: {self.seen.get(each)} of {end} committed" for each, end in ends.items()
                if self.seen.get(each) != end]  # fmt: skip

    def faults(self, promised: Mapping[TopicPartition, Iterable[int]]) -> list[str]:
        """Acknowledged records that reached no member. promised: by partition the offsets of records that stay."""
        faults = []
        for each in self.partitions:
            missing = [offset for offset in promised.get(each, ()) if offset not in self.read.get(each, ())]
            if missing:
                faults.append(f"{each}: no member has read {len(missing)} acknowledged records, at {missing[:5]}")
        return faults
