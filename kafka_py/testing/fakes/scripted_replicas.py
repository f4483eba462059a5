"""The brokers of replication transcripts: each with its log directory, its roles, its fetchers and its in-sync sets.

Everything between LeaderAndIsr and the files is the broker's own code; the network is DirectLeader, the disk is in
memory, and what ZooKeeper answers is up to the transcript. Runs in virtual time. One partition: t-0.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import EARLIEST_TIMESTAMP, TopicPartition
from kafka_py.base.meters import MetricRegistry
from kafka_py.base.purgatory import Purgatory
from kafka_py.base.supervision import Supervisor
from kafka_py.base.timers import Timers
from kafka_py.broker.requests.fetch_session_cache import SessionCache
from kafka_py.log.log_manager import LogManager
from kafka_py.log.model.broker_options import LogOptions
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.replication.follower.fetch_state import PartitionFetchState
from kafka_py.replication.follower.fetcher_manager import FetcherKey, FetcherManager
from kafka_py.replication.follower.following import Following
from kafka_py.replication.follower.leader_link import EpochQuery, EpochReply, OffsetReply
from kafka_py.replication.leader.isr_updates import IsrUpdates
from kafka_py.replication.leader.purgatories import Parked
from kafka_py.replication.leader.replica_manager import ReplicaManager
from kafka_py.replication.role_changes import RoleCallbacks, RoleChanges
from kafka_py.replication.state.configs import ReplicationOptions
from kafka_py.replication.state.hosted import HostedPartitions
from kafka_py.replication.state.metrics import ReplicaMetrics
from kafka_py.replication.state.partition import Partition
from kafka_py.testing.fakes.copying import T0, DirectLeader
from kafka_py.testing.fakes.files import FakeFiles, Fault, Loss
from kafka_py.testing.fakes.stored_logs import records_of, slice_bytes
from kafka_py.testing.virtual_time import virtual_clock
from kafka_py.wire.messages.fetch import FetchRequest, FetchResponse
from kafka_py.wire.protocol_versions import InterBrokerVersion
from kafka_py.zk.partitions import LeaderAndIsr
from kafka_py.zk.session import ZkError
from kafka_py.zk.topics import TopicIdentity

DIRECTORY = "/logs"


class ScriptedCluster:
    """The brokers, and ZooKeeper as far as leaders use it. note: adds a line to the transcript.

    zookeeper: "answers", "refuses" (another has written), "fails" or "waits". identity: of the topic.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        self.note = note
        self.version = InterBrokerVersion("2.6")
        self.options = ReplicationOptions.parse({})
        self.topic_settings: dict[str, object] = {}
        self.replicas: dict[int, ScriptedBroker] = {}
        self.zookeeper = "answers"
        self.zk_version = 0
        self.identity: TopicIdentity | None = None
        self._changed = asyncio.Event()

    def is_live(self, broker_id: int) -> bool:
        broker = self.replicas.get(broker_id)
        return broker is not None and broker.is_up

    async def write_isr(self, _topic_partition: TopicPartition, state: LeaderAndIsr) -> int | None:
        """As PartitionStore.write_isr."""
        members = ",".join(map(str, state.isr))
        self.note(f"{state.leader} writes the in-sync set {members}, expecting version {state.zk_version}")
        while self.zookeeper == "waits":
            self._changed.clear()
            await self._changed.wait()
        if self.zookeeper == "fails":
            raise ZkError("connection lost")
        if self.zookeeper == "refuses" or state.zk_version != self.zk_version:
            return None
        self.zk_version += 1
        return self.zk_version

    def switch(self, zookeeper: str) -> None:
        self.zookeeper = zookeeper
        self._changed.set()

    async def announce(self, _topic_partitions: Iterable[TopicPartition]) -> None:
        """The controller is not there to be notified."""

    async def topic_identity(self, _topic: str) -> TopicIdentity | None:
        return self.identity


class ScriptedBroker:
    """One broker. fetched: the requests that it answered."""

    def __init__(self, broker_id: int, cluster: ScriptedCluster) -> None:
        self.broker_id = broker_id
        self.cluster = cluster
        self.files = FakeFiles()
        self.files.make_directory(DIRECTORY)
        self.fetched: list[FetchRequest] = []
        cluster.replicas[broker_id] = self
        self.boot()

    def boot(self) -> None:
        """Starts it on what its disk holds."""
        cluster, loop = self.cluster, asyncio.get_running_loop()
        self.is_up = True
        clock = self.clock = virtual_clock()
        supervisor = self.supervisor = Supervisor(clock)
        timers, registry = Timers(clock, loop.call_later), MetricRegistry(clock)
        parked = Parked(
            Purgatory("Produce", timers), Purgatory("Fetch", timers), Purgatory("DeleteRecords", timers),
            loop.call_soon,
        )  # fmt: skip
        self.log_dirs = self._open_logs()
        self.hosted = HostedPartitions(
            self.broker_id, lambda _topic_partition: True, cluster.options.replica_lag_time_max_ms
        )
        metrics = ReplicaMetrics(registry, self.hosted)
        self.isr_updates = IsrUpdates(
            cluster.write_isr, cluster.announce, clock, metrics.manager, self._isr_committed, supervisor
        )
        self.manager = ReplicaManager(
            self.hosted, self.log_dirs, clock, parked=parked, metrics=metrics, rng=Chance(1).generator(),
            supervisor=supervisor, on_isr_pending=self.isr_updates.submit,
        )  # fmt: skip
        self.sessions = SessionCache(100, iter(range(1, 1 << 31)).__next__, registry)
        self.fetchers = FetcherManager(
            self.broker_id, options=lambda: cluster.options, version=cluster.version,
            find_broker=lambda broker: ("host", broker), following=Following(parked, clock, metrics.all_topics),
            clock=clock, registry=registry, supervisor=supervisor,
            connect=lambda key: NotedLeader(self, key, cluster.note),
        )  # fmt: skip
        fetchers = self.fetchers
        self.roles = RoleChanges(
            self.manager, clock, is_live=cluster.is_live, log_config=lambda _topic: self._log_config(),
            topic_identity=cluster.topic_identity, supervisor=supervisor,
            callbacks=RoleCallbacks((fetchers.start,), (fetchers.end_idle,), (fetchers.stop,)),
        )  # fmt: skip

    def _log_config(self) -> LogConfig:
        return LogConfig.for_topic(None, self.cluster.topic_settings)

    def _open_logs(self) -> LogManager:
        loop = asyncio.get_running_loop()
        log_dirs = LogManager(
            LogOptions.parse({"log.dirs": DIRECTORY}), self.files, self.clock, Chance(1),
            later=lambda ms, call: loop.call_later(ms / 1000, call), on_failure=self._directory_failed,
        )  # fmt: skip
        log_dirs.open()
        log_dirs.load(lambda _topic: self._log_config())
        return log_dirs

    def _isr_committed(self, partition: Partition, raised: bool) -> None:
        if raised:
            self.manager.parked.note_change(partition, watermark_raised=True)

    def _directory_failed(self, _directory: str, _error: Exception, lost: list[TopicPartition]) -> None:
        self.fetchers.stop(lost)
        self.manager.mark_offline(lost)

    # ---- what happens to it

    def fail_disk(self) -> None:
        """From now on nothing can be written."""
        self.files.faults.append(Fault("write", errno.EIO, times=1 << 30))

    async def crash(self) -> int:
        """kill -9; returns the high watermark that it had."""
        self.is_up = False
        log = self.log
        high_watermark = 0 if log is None else log.high_watermark
        self.isr_updates.close()
        await self.fetchers.close()
        self.manager.close()
        self.log_dirs.abandon()
        self.files.crash(Loss.NOTHING)
        return high_watermark

    async def close(self) -> None:
        self.isr_updates.close()
        await self.fetchers.close()

    # ---- how it is shown

    @property
    def others(self) -> Mapping[int, ScriptedBroker]:
        return self.cluster.replicas

    @property
    def log(self) -> PartitionLog | None:
        return self.log_dirs.get(T0)

    def shown(self) -> str:
        """Its role and its records, with a bar behind those that it knows to be committed."""
        partition = self.hosted.partitions.get(T0)
        if not self.is_up:
            return "is down"
        if T0 in self.hosted.offline:
            return "has it on an offline directory"
        if partition is None:
            return "does not host it" + (f": {self._records(self.log)}" if self.log is not None else "")
        if partition.log is None:
            return f"waits for word: {self._records(self.log)}"
        records = self._records(partition.log)
        if not partition.is_leader:
            return f"follows {partition.leader_id} in epoch {partition.leader_epoch}, {self._fetching()}: {records}"
        isr = partition.isr
        in_sync = ",".join(map(str, sorted(isr.members)))
        return f"leads in epoch {partition.leader_epoch}, in sync {in_sync}{_change(isr)}: {records}"

    def _fetching(self) -> str:
        followed: list[PartitionFetchState] = [
            fetcher.followed[T0] for fetcher in self.fetchers.fetchers.values() if T0 in fetcher.followed
        ]
        if followed:
            return followed[0].state.value
        return "failed" if T0 in self.fetchers.failed else "not fetching"

    def _records(self, log: PartitionLog | None) -> str:
        if log is None:
            return "no log"
        parts = [f"from {log.log_start_offset}"] if log.log_start_offset else []
        is_marked = False
        for offset, value in values_of(log):
            if offset >= log.high_watermark and not is_marked:
                parts.append("|")
                is_marked = True
            parts.append(value)
        return " ".join(parts if is_marked else [*parts, "|"])


def values_of(log: PartitionLog) -> list[tuple[int, str]]:
    """(offset, value) of every record."""
    offset, found = log.log_start_offset, []
    while offset < log.log_end_offset:
        data = log.read(offset, 1 << 20, up_to_offset=log.log_end_offset, min_one_batch=True)
        records = records_of(slice_bytes(data.slice))
        if not records:
            break
        found += [(each.offset, (each.value or b"").decode()) for each in records if each.offset >= offset]
        offset = records[-1].offset + 1
    return found


def _change(isr: Any) -> str:
    if hasattr(isr, "adding"):
        return f" (adding {isr.adding})"
    return f" (removing {','.join(map(str, sorted(isr.removing)))})" if hasattr(isr, "removing") else ""


class NotedLeader(DirectLeader):
    """The way to a leader; what it is asked besides fetches, and what it refuses, is told in the transcript."""

    def __init__(self, follower: ScriptedBroker, key: FetcherKey, note: Callable[[str], None]) -> None:
        super().__init__(follower, key)
        self._add = note

    async def fetch(self, request: FetchRequest) -> FetchResponse:
        response = await super().fetch(request)
        for topic in response.responses:
            for row in topic.partition_responses:
                if row.error_code:
                    self._note(f"fetch answered {ErrorCode(row.error_code).name}")
                if row.diverging_epoch.epoch >= 0:
                    end = row.diverging_epoch
                    self._note(f"fetch answered: epoch {end.epoch} ends at {end.end_offset}")
        return response

    async def epoch_ends(self, questions: Mapping[TopicPartition, EpochQuery]) -> dict[TopicPartition, EpochReply]:
        replies = await super().epoch_ends(questions)
        for topic_partition, reply in replies.items():
            asked = questions[topic_partition].epoch
            known = f"epoch {reply.end.epoch} ends at {reply.end.end_offset}"
            self._note(
                f"asked where epoch {asked} ends: {known if reply.error is ErrorCode.NONE else reply.error.name}"
            )
        return replies

    async def offsets(
        self, timestamp: int, current_leader_epochs: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetReply]:
        replies = await super().offsets(timestamp, current_leader_epochs)
        for reply in replies.values():
            side = "begins" if timestamp == EARLIEST_TIMESTAMP else "ends"
            found = str(reply.offset) if reply.error is ErrorCode.NONE else reply.error.name
            self._note(f"asked where the log {side}: {found}")
        return replies

    def _note(self, what: str) -> None:
        self._add(f"{self._follower.broker_id} from {self._key.leader}: {what}")
