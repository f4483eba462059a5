"""Replicas of one partition on brokers without network: real logs, real fetchers, real leaders, virtual time.

    async def story() -> None:
        a, b = Replica(1, world), Replica(2, world)
        b.lead(epoch=0, isr=(1, 2)); a.follow(b, epoch=0)
        b.append(b"m1"); await a.caught_up(b)

For the scenarios of replication: what is lost, cut or kept when leaders change. Runs under run_virtual.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from kafka_py.base.chance import Chance
from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.meters import MetricRegistry
from kafka_py.base.purgatory import Purgatory
from kafka_py.base.timers import Timers
from kafka_py.broker.requests.fetch_contexts import open_context
from kafka_py.broker.requests.fetch_session_cache import SessionCache
from kafka_py.log.state.epochs import EpochEnd
from kafka_py.replication.follower.fetcher_manager import FetcherKey, FetcherManager
from kafka_py.replication.follower.following import Following
from kafka_py.replication.follower.leader_link import EpochQuery, EpochReply, LinkFailed, OffsetReply
from kafka_py.replication.leader.offset_queries import end_of_epoch, offset_for_timestamp
from kafka_py.replication.leader.purgatories import Parked
from kafka_py.replication.leader.replica_manager import ReplicaManager
from kafka_py.replication.state.configs import ReplicationOptions
from kafka_py.replication.state.hosted import HostedPartitions
from kafka_py.replication.state.metrics import ReplicaMetrics
from kafka_py.replication.state.partition import Partition
from kafka_py.replication.state.reads import FetchEntry, FetchParams, FetchResults, Isolation, PartitionRead
from kafka_py.replication.state.throttle import Throttle
from kafka_py.testing.fakes.stored_logs import LogWorld, batch, slice_bytes
from kafka_py.testing.virtual_time import virtual_clock
from kafka_py.wire.messages.fetch import (
    EpochEndOffset,
    FetchablePartitionResponse,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
)
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrPartitionState
from kafka_py.wire.protocol_versions import InterBrokerVersion

T0 = TopicPartition("t", 0)
DEADLINE_S = 3600
"""Virtual; far beyond all time-outs of replication."""


class CopyingWorld:
    """The brokers that can reach each other. version: the inter-broker protocol. settings: of all brokers."""

    def __init__(self, version: str = "2.6", settings: Mapping[str, str] | None = None) -> None:
        self.version = InterBrokerVersion(version)
        self.options = ReplicationOptions.parse(dict(settings or {}))
        self.replicas: dict[int, Replica] = {}


class Replica:
    """One broker with its replica of T0.

    fetched: every request that it answered as a leader. on_isr_pending: called with the partition when it leads and
    wants another in-sync set.
    """

    def __init__(
        self,
        broker_id: int,
        world: CopyingWorld,
        settings: dict[str, object] | None = None,
        *,
        leader_throttle: Throttle | None = None,
        follower_throttle: Throttle | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.world = world
        self.disk = LogWorld(settings)
        self.is_up = True
        self.fetched: list[FetchRequest] = []
        self.controller_epoch = 1
        self.leader_throttle = leader_throttle
        self.follower_throttle = follower_throttle
        self.on_isr_pending: Callable[[Partition], None] = lambda _partition: None
        world.replicas[broker_id] = self
        self._boot()

    def _boot(self) -> None:
        clock = self.clock = virtual_clock()
        timers = Timers(clock, asyncio.get_running_loop().call_later)
        registry = MetricRegistry(clock)
        options = self.world.options
        self.hosted = HostedPartitions(self.broker_id, lambda _known: True, options.replica_lag_time_max_ms)
        self.metrics = ReplicaMetrics(registry, self.hosted)
        self.manager = ReplicaManager(
            self.hosted,
            None,  # type: ignore[arg-type]  # roles are given out here, not by RoleChanges
            clock,
            parked=Parked(
                Purgatory("Produce", timers),
                Purgatory("Fetch", timers),
                Purgatory("DeleteRecords", timers),
                asyncio.get_running_loop().call_soon,
            ),
            metrics=self.metrics,
            rng=Chance(1).generator(),
            on_isr_pending=lambda partition: self.on_isr_pending(partition),
            throttle=self.leader_throttle,
        )
        self.partition: Partition = self.hosted.new_partition(T0)
        self.hosted.partitions[T0] = self.partition
        self.sessions = SessionCache(100, iter(range(1, 1 << 31)).__next__, registry)
        self.fetchers = FetcherManager(
            self.broker_id,
            options=lambda: self.world.options,
            version=self.world.version,
            find_broker=lambda broker: ("host", broker),
            following=Following(self.manager.parked, clock, self.metrics.all_topics, self.follower_throttle),
            clock=clock,
            registry=registry,
            connect=lambda key: DirectLeader(self, key),
        )

    @property
    def others(self) -> Mapping[int, Replica]:
        return self.world.replicas

    @property
    def log(self) -> Any:
        return self.disk.log

    @property
    def offsets(self) -> tuple[int, int]:
        """(log end offset, high watermark)."""
        return self.log.log_end_offset, self.log.high_watermark

    @property
    def values(self) -> list[bytes | None]:
        """What its log holds."""
        return [record.value for record in self.disk.read_all()]

    # ---- roles

    def lead(self, epoch: int, isr: Sequence[int], replicas: Sequence[int] | None = None) -> None:
        self.fetchers.stop([T0])
        state = self._state(self.broker_id, epoch, isr, replicas)
        self.partition.become_leader(state, self.log, self.clock.monotonic_ms())
        self.manager.parked.note_change(self.partition, watermark_raised=True)

    def follow(self, leader: Replica, epoch: int, isr: Sequence[int] = ()) -> None:
        self.fetchers.stop([T0])
        self.partition.become_follower(self._state(leader.broker_id, epoch, isr, None), self.log)
        self.manager.parked.complete(T0, self.partition)
        self.fetchers.start([self.partition])
        self.fetchers.end_idle()

    def _state(
        self, leader: int, epoch: int, isr: Sequence[int], replicas: Sequence[int] | None
    ) -> LeaderAndIsrPartitionState:
        return LeaderAndIsrPartitionState(
            partition_index=0, controller_epoch=self.controller_epoch, leader=leader, leader_epoch=epoch,
            isr=list(isr), zk_version=0, replicas=list(replicas or self.world.replicas), is_new=False,
        )  # fmt: skip

    # ---- what happens to it

    def append(self, *values: bytes, acks: int = 1, timeout_ms: int = 1000) -> list[Any]:
        """One batch for each value; the list that the answers will be in."""
        answers: list[Any] = []
        for value in values:
            self.manager.appends.append([(T0, batch([value]))], acks, timeout_ms, answers.extend)
        return answers

    async def crash(self, high_watermark: int | None = None) -> None:
        """kill -9: what was written is there again, the high watermark is that of its checkpoint."""
        self.is_up = False
        kept = self.log.high_watermark if high_watermark is None else high_watermark
        await self.fetchers.close()
        self.manager.close()
        self.disk.open(is_clean=False).update_high_watermark(kept)

    def restart(self) -> None:
        self.is_up = True
        self._boot()

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not condition():  # noqa: ASYNC110  # nothing tells of every state a test may wait for
                await asyncio.sleep(0.01)

    async def caught_up(self, leader: Replica) -> None:
        """Waits until it has the leader's log and high watermark."""
        await self.until(lambda: self.offsets == leader.offsets and self.values == leader.values)


class Copier(Protocol):
    """A broker that copies without network, and is copied from. fetched: every request that it answered as a leader."""

    broker_id: int
    is_up: bool
    fetched: list[FetchRequest]

    @property
    def clock(self) -> Clock: ...

    @property
    def hosted(self) -> HostedPartitions: ...

    @property
    def manager(self) -> ReplicaManager: ...

    @property
    def sessions(self) -> SessionCache: ...

    @property
    def others(self) -> Mapping[int, Copier]: ...


class DirectLeader:
    """The way to another replica, without network: its manager and sessions answer, as its broker's handlers would."""

    def __init__(self, follower: Copier, key: FetcherKey) -> None:
        self._follower = follower
        self._key = key

    def _leader(self) -> Copier:
        leader = self._follower.others[self._key.leader]
        if not leader.is_up or not self._follower.is_up:
            raise LinkFailed(f"broker {self._key.leader} is down")
        return leader

    async def fetch(self, request: FetchRequest) -> FetchResponse:
        leader = self._leader()
        leader.fetched.append(request)
        gone = [TopicPartition(one.topic, number) for one in request.forgotten_topics_data for number in one.partitions]
        try:
            session = open_context(
                leader.sessions, request.session_id, request.session_epoch, _entries(request), gone,
                is_privileged=True, now_ms=leader.clock.monotonic_ms(),
            )  # fmt: skip
        except KafkaError as error:
            return FetchResponse(error_code=error.code, session_id=0, responses=[])
        answer: asyncio.Future[FetchResults] = asyncio.get_running_loop().create_future()
        params = FetchParams(
            request.replica_id, request.max_wait_ms, request.min_bytes, request.max_bytes, Isolation.LOG_END
        )

        def on_fetched(results: FetchResults) -> None:
            if not answer.done():
                answer.set_result(results)

        leader.manager.fetches.fetch(params, session, on_fetched)
        results = await answer
        self._leader()
        session_id, changed = session.finish(results)
        partitions = [_answer(entry, read) for entry, read in changed]
        topics = [FetchableTopicResponse(topic="t", partition_responses=partitions)] if partitions else []
        return FetchResponse(session_id=session_id, responses=topics)

    async def epoch_ends(self, questions: Mapping[TopicPartition, EpochQuery]) -> dict[TopicPartition, EpochReply]:
        leader = self._leader()
        replies = {}
        for topic_partition, question in questions.items():
            try:
                partition = leader.hosted.partition(topic_partition)
                end = end_of_epoch(partition, question.epoch, question.current_leader_epoch)
                replies[topic_partition] = EpochReply(ErrorCode.NONE, end)
            except KafkaError as error:
                replies[topic_partition] = EpochReply(error.code, EpochEnd(-1, -1))
        return replies

    async def offsets(
        self, timestamp: int, current_leader_epochs: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetReply]:
        leader = self._leader()
        replies = {}
        for topic_partition, epoch in current_leader_epochs.items():
            try:
                found = offset_for_timestamp(
                    leader.hosted.partition(topic_partition), timestamp, Isolation.LOG_END, epoch,
                    leader_only=True, replica_id=self._follower.broker_id,
                )
                assert found is not None
                replies[topic_partition] = OffsetReply(ErrorCode.NONE, found.offset)
            except KafkaError as error:
                replies[topic_partition] = OffsetReply(error.code, -1)
        return replies

    def disconnect(self) -> None:
        """There is nothing to close."""


def _entries(request: FetchRequest) -> list[FetchEntry]:
    return [
        FetchEntry(
            TopicPartition(topic.topic, one.partition), one.fetch_offset, one.partition_max_bytes,
            one.current_leader_epoch, one.last_fetched_epoch, one.log_start_offset,
        )
        for topic in request.topics
        for one in topic.partitions
    ]  # fmt: skip


def _answer(entry: FetchEntry, read: PartitionRead) -> FetchablePartitionResponse:
    made = FetchablePartitionResponse(
        partition=entry.topic_partition.partition, error_code=read.error, high_watermark=read.high_watermark,
        last_stable_offset=read.last_stable_offset, log_start_offset=read.log_start_offset,
        aborted_transactions=None, record_set=slice_bytes(read.records),
    )  # fmt: skip
    if read.diverging is not None:
        made.diverging_epoch = EpochEndOffset(epoch=read.diverging.epoch, end_offset=read.diverging.end_offset)
    return made
