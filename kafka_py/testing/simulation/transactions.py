"""Transactional workers in a simulated cluster: each reads one input partition, writes and commits in transactions.

Every input record becomes one record of the output topic and one of the audit topic, and its offset is committed in the
same transaction (consume, transform, produce). Workers abort some transactions on purpose, give up a producer that has
failed, and are now and then replaced by a second incarnation of the same transactional id while the first still runs.
What must hold (KIP-98): a reader with isolation.level=read_committed sees each input record exactly once and in order;
of each transaction it sees all records or none; what was reported as committed is there, what was reported as aborted
is not; the committed offset of an input partition is the one after its last visible record; no transaction stays open.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import GROUP_METADATA_TOPIC, TopicPartition
from kafka_py.clients.consumer.async_consumer import AsyncConsumer
from kafka_py.clients.producer.producer import AsyncProducer
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.records.batch import decode_records, iter_headers
from kafka_py.records.control import ControlType, read_control_type
from kafka_py.testing.simulation.cluster import SimulatedBroker, SimulatedCluster
from kafka_py.testing.simulation.invariants import log_bytes
from kafka_py.testing.simulation.workload import SETTINGS as PRODUCER_SETTINGS
from kafka_py.testing.simulation.znodes import partition_state

INPUT, OUTPUT, AUDIT = "i", "o", "a"
GROUP = "w"
SETTINGS = {
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.min.isr": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}
TRANSACTION_TIMEOUT_MS = 6_000
ABORTED_ON_PURPOSE = 0.15
REPLACED = 0.05
"""The part of a worker's transactions after which a second incarnation starts while this one continues."""
PAUSE_S = 0.25
"""Between a worker's transactions."""
CLIENT_SETTINGS = {
    "request.timeout.ms": "3000", "default.api.timeout.ms": "8000", "retry.backoff.ms": "50",
    "metadata.max.age.ms": "5000", "reconnect.backoff.ms": "20", "reconnect.backoff.max.ms": "500",
}  # fmt: skip


class Ended(Enum):
    """What a worker knows of how a transaction ended."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


class VisibleRecord(NamedTuple):
    """One visible record. attempt: the number of the transaction among all."""

    attempt: int
    input_offset: int


@dataclass
class Account:
    """The responses that the workers received. ended: by number of the transaction."""

    ended: dict[int, Ended] = field(default_factory=dict)

    @property
    def committed(self) -> int:
        """The number of transactions whose commit was acknowledged."""
        return sum(each is Ended.COMMITTED for each in self.ended.values())


class Worker:
    """Every incarnation of one transactional id: reads one partition of INPUT, writes the same one of the others."""

    def __init__(self, cluster: SimulatedCluster, partition: int, account: Account, rng: random.Random) -> None:
        self.partition = partition
        self.source = TopicPartition(INPUT, partition)
        self.position = 0  # after the last input record whose transaction was reported as committed
        self.deleted: set[int] = set()  # input offsets that were below the start of the log when it was read
        self._cluster = cluster
        self._account = account
        self._rng = rng
        self._incarnations: list[asyncio.Task[None]] = []
        self._clients: list[AsyncProducer | AsyncConsumer] = []

    def start(self) -> None:
        """Starts an incarnation."""
        self._incarnations.append(asyncio.get_running_loop().create_task(self._live()))

    async def stop(self, report: Callable[[str], None]) -> None:
        """Ends all incarnations, and reports those that ended by an error that is none of the protocol's."""
        for task in self._incarnations:
            task.cancel()
        if self._incarnations:
            await asyncio.wait(self._incarnations)
        for task in self._incarnations:
            if not task.cancelled() and task.exception() is not None:
                report(f"worker {self.partition} ended: {task.exception()!r}")
        self._incarnations.clear()
        for client in self._clients:
            await client.close(0)
        self._clients.clear()

    async def _live(self) -> None:
        """One incarnation: a new producer after each failure, until another incarnation has fenced it."""
        me = asyncio.current_task()
        while True:
            producer, consumer = self._producer(), self._consumer()
            try:
                await producer.init_transactions()
                await self._begin_reading(consumer)
                while True:
                    await self._transact(producer, consumer)
                    await asyncio.sleep(PAUSE_S)
                    if self._rng.random() < REPLACED and self._incarnations[-1] is me:
                        self.start()
            except KafkaError:
                if self._incarnations[-1] is not me:  # fenced, or as good as that
                    return
                await asyncio.sleep(0.2)
            finally:
                await self._abandon(producer, consumer)

    async def _abandon(self, *clients: AsyncProducer | AsyncConsumer) -> None:
        for client in clients:
            self._clients.remove(client)
            await client.close(0)

    async def _begin_reading(self, consumer: AsyncConsumer) -> None:
        """Seeks to the committed offset.

        A group coordinator that was deposed and does not know it yet returns an older one, here as in Apache Kafka:
        OffsetFetch is not fenced. Groups that subscribe are safe, because their commits name a generation that the new
        coordinator refuses (KIP-447); this worker, which assigns, asks again until the present coordinator agrees.
        """
        await consumer.assign([self.source])
        while True:
            found = (await consumer.committed([self.source])).get(self.source)
            committed = found.offset if found is not None else 0
            if committed == _coordinated_offset(self._cluster, self.source):
                break
            await asyncio.sleep(PAUSE_S)
        start = (await consumer.beginning_offsets([self.source]))[self.source]  # an administrator may have deleted some
        self.deleted.update(range(committed, start))
        await consumer.seek(self.source, max(committed, start))

    async def _transact(self, producer: AsyncProducer, consumer: AsyncConsumer) -> None:
        """One transaction over what one poll gives. Raises KafkaError when this producer cannot continue."""
        records = list(await consumer.poll(0.3))
        if not records:
            return
        ended = self._account.ended
        attempt = len(ended)
        ended[attempt] = Ended.ABORTED  # until its commit is asked for, nothing can commit it
        await producer.begin_transaction()
        for record in records:
            value = b"%d:%d" % (attempt, record.offset)
            for topic in (OUTPUT, AUDIT):
                await producer.send(topic, value, partition=self.partition)
        if self._rng.random() < ABORTED_ON_PURPOSE:
            await producer.abort_transaction()
            await self._begin_reading(consumer)
            return
        following = records[-1].offset + 1
        await producer.send_offsets_to_transaction({self.source: following}, GROUP)
        ended[attempt] = Ended.UNKNOWN
        await producer.commit_transaction()
        ended[attempt] = Ended.COMMITTED
        self.position = max(self.position, following)

    def _producer(self) -> AsyncProducer:
        producer = AsyncProducer(
            {
                "bootstrap.servers": self._cluster.bootstrap, "client.id": f"worker{self.partition}",
                **PRODUCER_SETTINGS, **CLIENT_SETTINGS, "delivery.timeout.ms": "6000", "max.block.ms": "6000",
                "transactional.id": f"worker{self.partition}", "transaction.timeout.ms": str(TRANSACTION_TIMEOUT_MS),
            },
            environment=self._cluster.client_environment(),
        )  # fmt: skip
        self._clients.append(producer)
        return producer

    def _consumer(self) -> AsyncConsumer:
        consumer = AsyncConsumer(
            {
                "bootstrap.servers": self._cluster.bootstrap, "client.id": f"worker{self.partition}",
                "group.id": GROUP, "enable.auto.commit": "false", "auto.offset.reset": "none",
                "isolation.level": "read_committed", "max.poll.records": "50", "fetch.max.wait.ms": "300",
                **CLIENT_SETTINGS,
            },
            environment=self._cluster.client_environment(),
        )  # fmt: skip
        self._clients.append(consumer)
        return consumer


class Follower:
    """A consumer with isolation.level=read_committed that reads OUTPUT and AUDIT from the beginning all the time."""

    def __init__(self, cluster: SimulatedCluster, partitions: list[TopicPartition]) -> None:
        self.seen: dict[TopicPartition, list[VisibleRecord]] = {each: [] for each in partitions}
        self._consumer = AsyncConsumer(
            {
                "bootstrap.servers": cluster.bootstrap, "client.id": "committed", "enable.auto.commit": "false",
                "auto.offset.reset": "earliest", "isolation.level": "read_committed", "fetch.max.wait.ms": "300",
                **CLIENT_SETTINGS,
            },
            environment=cluster.client_environment(),
        )  # fmt: skip
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._read_on())

    async def _read_on(self) -> None:
        await self._consumer.assign(list(self.seen))
        while True:
            try:
                for record in await self._consumer.poll(0.3):
                    self.seen[record.topic_partition].append(_written(record.value))
            except KafkaError:
                await asyncio.sleep(0.1)

    async def stop(self, report: Callable[[str], None]) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            if not self._task.cancelled() and self._task.exception() is not None:
                report(f"the reader of committed records ended: {self._task.exception()!r}")
        await self._consumer.close(0)


class Transactions:
    """All workers of a cluster, the reader of what they commit, and what is wrong in the end."""

    def __init__(
        self, cluster: SimulatedCluster, partitions: int, rng: random.Random, report: Callable[[str], None]
    ) -> None:
        self.account = Account()
        self._cluster = cluster
        self._report = report
        self._workers = [Worker(cluster, number, self.account, rng) for number in range(partitions)]
        self._follower = Follower(
            cluster, [TopicPartition(topic, number) for topic in (OUTPUT, AUDIT) for number in range(partitions)]
        )

    def start(self) -> None:
        for worker in self._workers:
            worker.start()
        self._follower.start()

    async def stop(self) -> None:
        for worker in self._workers:
            await worker.stop(self._report)
        await self._follower.stop(self._report)

    def is_settled(self) -> bool:
        """Whether all input has been processed and all that is visible has been read."""
        return not self.behind()

    def behind(self) -> list[str]:
        """What is still to be done."""
        late = []
        for worker in self._workers:
            source = _leader_log(self._cluster, worker.source)
            if source is None or worker.position < source.high_watermark:
                late.append(f"worker {worker.partition} is at {worker.position} of {source and source.high_watermark}")
        if late:
            return late
        for name, seen in self._follower.seen.items():
            log = _leader_log(self._cluster, name)
            if log is None or log.last_stable_offset < log.high_watermark:
                late.append(f"{name} has an open transaction at {log and log.last_stable_offset}")
            elif len(seen) < (there := len(list(visible(log)))):
                late.append(f"{name}: {len(seen)} of {there} committed records have been read")
        return late

    def faults(self) -> list[str]:
        """What is wrong with the logs of a cluster that has healed and in which everything has been processed."""
        faults = []
        seen_attempts: set[int] = set()
        for worker in self._workers:
            logs = [_leader_log(self._cluster, TopicPartition(topic, worker.partition)) for topic in (OUTPUT, AUDIT)]
            source = _leader_log(self._cluster, worker.source)
            if source is None or logs[0] is None or logs[1] is None:
                faults.append(f"partition {worker.partition}: no leader")
                continue
            written, audited = list(visible(logs[0])), list(visible(logs[1]))
            if written != audited:
                faults.append(f"partition {worker.partition}: {_difference(written, audited)} only in one topic")
            seen_attempts |= {each.attempt for each in written}
            faults += _order_faults(worker.partition, written, source, worker.deleted)
            committed = _coordinated_offset(self._cluster, worker.source)
            if written and committed != written[-1].input_offset + 1:
                faults.append(f"partition {worker.partition}: {committed} is committed, the last visible record has "
                              f"input offset {written[-1].input_offset}")  # fmt: skip
        faults += self._account_faults(seen_attempts)
        for name, seen in self._follower.seen.items():
            log = _leader_log(self._cluster, name)
            if log is not None and seen != list(visible(log)):
                faults.append(f"{name}: a reader of committed records saw {_difference(seen, list(visible(log)))}")
        return faults

    def _account_faults(self, visible_attempts: set[int]) -> list[str]:
        """Transactions that ended otherwise than the responses to their workers say."""
        ended = self.account.ended
        wrong = [each for each, how in ended.items()
                 if (how is Ended.COMMITTED and each not in visible_attempts)
                 or (how is Ended.ABORTED and each in visible_attempts)]  # fmt: skip
        return [f"transaction {each} is reported as {ended[each].value}, and its records say otherwise"
                for each in wrong[:5]]  # fmt: skip


def visible(log: PartitionLog) -> Iterator[VisibleRecord]:
    """The records of committed transactions in a log, in the order of their offsets; of open ones there are none."""
    data = log_bytes(log, log.log_start_offset, log.high_watermark)
    open_records: dict[int, list[tuple[int, VisibleRecord]]] = {}
    committed: list[tuple[int, VisibleRecord]] = []
    for position, header in iter_headers(data):
        for record in decode_records(data, position):
            if header.is_control:
                ended = open_records.pop(header.producer_id, [])
                committed += ended if read_control_type(record) is ControlType.COMMIT else []
                continue
            open_records.setdefault(header.producer_id, []).append((record.offset, _written(record.value)))
    return iter([each for _offset, each in sorted(committed)])


def _written(value: bytes | None) -> VisibleRecord:
    attempt, offset = (value or b"").split(b":")
    return VisibleRecord(int(attempt), int(offset))


def _order_faults(partition: int, written: list[VisibleRecord], source: PartitionLog, deleted: Set[int]) -> list[str]:
    """Whether the visible records are the input's offsets, each once and in order; of deleted ones some may be there.
    deleted: as the worker saw it. If that leader fails before the others know it, its successor still has them.
    """
    start = source.log_start_offset
    found = [each.input_offset for each in written]
    expected = range(start, source.high_watermark)
    is_in_order = all(one < next_one for one, next_one in pairwise(found))
    missing = sorted(set(expected) - set(found) - deleted)
    invented = sorted(each for each in found if each >= source.high_watermark)
    if is_in_order and not missing and not invented:
        return []
    repeated = [each for each, count in Counter(found).items() if count > 1]
    return [
        f"partition {partition}: of {len(expected)} input records {len(missing)} are missing {missing[:5]}, "
        f"{len(repeated)} are there more than once {repeated[:5]}, {len(invented)} were never written {invented[:5]}; "
        f"in order: {is_in_order}"
    ]


def _difference(one: list[VisibleRecord], other: list[VisibleRecord]) -> str:
    return f"{sorted(set(one) ^ set(other))[:5]} ({len(one)} and {len(other)} records)"


def _coordinated_offset(cluster: SimulatedCluster, source: TopicPartition) -> int | None:
    """The committed offset in the memory of the group's present coordinator, 0 without one; None while it loads."""
    name = TopicPartition(GROUP_METADATA_TOPIC, 0)
    leader, stored = _leader(cluster, name), partition_state(cluster.zookeeper, name)
    if leader is None or leader.server is None or stored is None:
        return None
    if leader.partitions()[name].leader_epoch != stored.leader_epoch:  # deposed, and its successor does not know yet
        return None
    groups = leader.server.node.coordinators.groups
    try:
        groups.check(GROUP)
    except KafkaError:
        return None
    group = groups.get(GROUP)
    committed = group.offsets.committed.get(source) if group is not None else None
    return committed.offset if committed is not None else 0


def _leader_log(cluster: SimulatedCluster, name: TopicPartition) -> PartitionLog | None:
    leader = _leader(cluster, name)
    return leader.partitions()[name].log if leader is not None else None


def _leader(cluster: SimulatedCluster, name: TopicPartition) -> SimulatedBroker | None:
    """The leader with the newest epoch."""
    leaders = [
        (partition.leader_epoch, broker)
        for broker in cluster.servers()
        if (partition := broker.partitions().get(name)) is not None and partition.is_leader
    ]
    return max(leaders, key=lambda each: each[0])[1] if leaders else None
