"""What must hold in a simulated cluster at every moment, looked at while it runs.

One leader in an epoch; a controller epoch that only grows; nothing is committed, nor handed to a reader, that a replica
in sync does not hold; the high watermark and the start of a log go back only where Apache Kafka lets them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import NamedTuple

from kafka_py.base.ids import TopicPartition
from kafka_py.replication.state.partition import Partition
from kafka_py.testing.simulation.cluster import SimulatedBroker, SimulatedCluster
from kafka_py.zk.session import NoNode

WATCH_EVERY_S = 0.05


class _Offsets(NamedTuple):
    """What one replica said at the last look. life: of its broker, so that a restart is noticed."""

    life: object
    leader_epoch: int
    is_leader: bool
    high_watermark: int
    log_start_offset: int
    fell_in: int
    """The last epoch in which the high watermark was seen to fall, as it may once."""


class Watch:
    """Looks at the brokers all the time.

    passing: topics that are deleted and re-created, whose epochs and offsets then restart.
    """

    def __init__(self, cluster: SimulatedCluster, report: Callable[[str], None], passing: Collection[str]) -> None:
        self._cluster = cluster
        self._passing = passing
        self._report = report
        self._leaders: dict[tuple[TopicPartition, int], int] = {}
        self._lives: dict[tuple[TopicPartition, int], object] = {}  # of the leader in an epoch
        self._offsets: dict[tuple[TopicPartition, int], _Offsets] = {}
        self._controller_epoch = 0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._look_on())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _look_on(self) -> None:
        while True:
            self.look()
            await asyncio.sleep(WATCH_EVERY_S)

    def look(self) -> None:
        """One look."""
        held: dict[TopicPartition, int | None] = {}
        for broker in self._cluster.servers():
            for name, partition in broker.partitions().items():
                if partition.is_leader and name.topic not in self._passing:
                    self._note_leader(broker, name, partition.leader_epoch)
        for broker in self._cluster.servers():
            for name, partition in broker.partitions().items():
                if name.topic in self._passing:
                    continue
                if name not in held:
                    held[name] = self._cluster.held_in_sync(name)
                self._look_at(broker, name, partition, held[name])
        epoch = self._controller_epoch_now()
        if epoch < self._controller_epoch:
            self._report(f"the controller epoch went from {self._controller_epoch} to {epoch}")
        self._controller_epoch = max(epoch, self._controller_epoch)

    def _note_leader(self, broker: SimulatedBroker, name: TopicPartition, epoch: int) -> None:
        """After its restart a leader, if it still leads in its epoch, knows less to be committed; followers follow."""
        leader = self._leaders.setdefault((name, epoch), broker.broker_id)
        if leader != broker.broker_id:
            self._report(f"{name}: {leader} and {broker.broker_id} lead in epoch {epoch}")
        if self._lives.setdefault((name, epoch), broker.server) is not broker.server:
            self._lives[name, epoch] = broker.server
            for where, offsets in self._offsets.items():
                if where[0] == name:
                    self._offsets[where] = offsets._replace(fell_in=-1)

    def _look_at(
        self, broker: SimulatedBroker, name: TopicPartition, partition: Partition, held: int | None
    ) -> None:  # fmt: skip
        log = partition.log
        if log is None:
            return
        before = self._offsets.get((name, broker.broker_id))
        now = _Offsets(
            broker.server, partition.leader_epoch, partition.is_leader, log.high_watermark, log.log_start_offset,
            before.fell_in if before is not None else -1,
        )  # fmt: skip
        if held is not None and now.high_watermark > held:
            self._report(
                f"{name}: {broker.name} takes {now.high_watermark} for committed, a replica in sync ends at {held}"
            )
        if before is not None and before.life is now.life and not self._cluster.history.had_unclean_election(name):
            now = self._compare(f"{name} on {broker.name}", before, now)
        self._offsets[name, broker.broker_id] = now

    def _compare(self, where: str, before: _Offsets, now: _Offsets) -> _Offsets:
        """A follower takes over what its leader knows to be committed, once in each epoch also when that is less."""
        if now.log_start_offset < before.log_start_offset:
            self._report(f"{where}: the log start went from {before.log_start_offset} to {now.log_start_offset}")
        if now.log_start_offset > now.high_watermark:
            self._report(f"{where}: the log starts at {now.log_start_offset}, above {now.high_watermark}")
        if now.high_watermark >= before.high_watermark:
            return now
        for each in (now, before):
            if not each.is_leader and now.fell_in != each.leader_epoch:
                return now._replace(fell_in=each.leader_epoch)
        if now.leader_epoch <= before.leader_epoch + 1:
            self._report(f"{where}: the high watermark went from {before.high_watermark} to {now.high_watermark}")
        return now

    def _controller_epoch_now(self) -> int:
        try:
            return int(self._cluster.zookeeper.node("/controller_epoch").data or b"0")
        except NoNode:
            return 0
