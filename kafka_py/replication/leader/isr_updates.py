"""Writes the in-sync sets of leaders to ZooKeeper, and notifies the controller of them in batches (I/O).

A change is first pending in the partition, then written on condition of the znode version that this leader knows, and
committed when that succeeds. After a refusal it stays pending until the controller sends the next role.
Source: docs/reference/replication.md, section 4; docs/reference/zookeeper.md, sections 9 and 11.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from kafka_py.base.clock import Clock
from kafka_py.base.ids import TopicPartition
from kafka_py.base.supervision import Supervisor
from kafka_py.base.texts import listed
from kafka_py.replication.state.isr import PendingExpandIsr, PendingShrinkIsr
from kafka_py.replication.state.metrics import ReplicaManagerMetrics
from kafka_py.replication.state.partition import Partition
from kafka_py.zk.partitions import LeaderAndIsr
from kafka_py.zk.session import ZkError

_log = logging.getLogger(__name__)

NOTICE_CHECK_MS = 2_500
"""How often `announce_if_due` is called."""
QUIET_MS = 5_000
"""The controller is notified when the last change is older than this..."""
LONGEST_SILENCE_MS = 60_000
"""...or when the last notification is older than this."""
RETRY_MS = 1_000


WriteIsr = Callable[[TopicPartition, LeaderAndIsr], Awaitable[int | None]]
"""Writes a changed state to ZooKeeper; returns the new version, None if the version differs; see zk/partitions.py."""

AnnounceIsrs = Callable[[Iterable[TopicPartition]], Awaitable[None]]
"""Notifies the controller of the partitions whose sets were written."""


@dataclass(slots=True)
class _Change:
    """A pending change and the state to be written. is_answered: it was written or refused."""

    partition: Partition
    isr: PendingExpandIsr | PendingShrinkIsr
    state: LeaderAndIsr
    is_answered: bool = False

    @property
    def is_over(self) -> bool:
        """Whether nothing remains to be done: it was answered, or the role has changed."""
        return self.is_answered or self.partition.isr is not self.isr


class IsrUpdates:
    """The pending changes of a broker's partitions.

    on_committed: called with a partition whose set has changed, and whether its high watermark moved.
    """

    def __init__(
        self,
        write_isr: WriteIsr,
        announce: AnnounceIsrs,
        clock: Clock,
        metrics: ReplicaManagerMetrics,
        on_committed: Callable[[Partition, bool], None],
        supervisor: Supervisor | None = None,
    ) -> None:
        self._write_isr = write_isr
        self._announce_isrs = announce
        self._clock = clock
        self._metrics = metrics
        self._on_committed = on_committed
        self._supervisor = (supervisor or Supervisor(clock)).child()
        self._unannounced: dict[TopicPartition, None] = {}
        self._last_change_ms = self._last_notice_ms = clock.monotonic_ms()
        self._is_announcing = False

    # ---- changes

    def submit(self, partition: Partition) -> None:
        """Writes the partition's pending change."""
        isr = partition.isr
        if not isinstance(isr, PendingExpandIsr | PendingShrinkIsr):
            return
        members = tuple(partition.ordered(isr.intended))
        _log.info(
            "%s: in-sync set %s -> %s",
            partition.topic_partition, listed(partition.ordered(isr.members)), listed(members),
        )  # fmt: skip
        state = LeaderAndIsr(
            partition.local_id, partition.leader_epoch, members, partition.controller_epoch, partition.zk_version
        )
        change = _Change(partition, isr, state)
        self._supervisor.loop(
            lambda: self._write(change), "in-sync sets", partition.topic_partition, until=lambda: change.is_over
        )

    async def _write(self, change: _Change) -> None:
        """Makes one attempt; the supervisor repeats it after any error, until the change is over."""
        try:
            zk_version = await self._write_isr(change.partition.topic_partition, change.state)
        except ZkError as error:
            _log.warning("%s: in-sync set not written, retrying: %s", change.partition.topic_partition, error)
            await asyncio.sleep(RETRY_MS / 1000.0)
            return
        if not change.is_over:
            change.is_answered = True
            self._settle(change, zk_version)

    def _settle(self, change: _Change, zk_version: int | None) -> None:
        partition = change.partition
        if zk_version is None:
            self._metrics.failed_isr_updates += 1
            _log.info(
                "%s: the in-sync set was refused, waiting for the controller; leader epoch %d, version %d",
                partition.topic_partition, partition.leader_epoch, partition.zk_version,
            )  # fmt: skip
            return
        now_ms = self._clock.monotonic_ms()
        raised = partition.commit_isr(change.isr, zk_version, now_ms)
        if isinstance(change.isr, PendingExpandIsr):
            self._metrics.isr_expands += 1
        else:
            self._metrics.isr_shrinks += 1
        self._unannounced[partition.topic_partition] = None
        self._last_change_ms = now_ms
        self.submit(partition)
        self._on_committed(partition, raised)

    # ---- notification of the controller

    def announce_if_due(self) -> None:
        """Notifies the controller of changes, unless the last one is recent; called every NOTICE_CHECK_MS."""
        now_ms = self._clock.monotonic_ms()
        is_due = self._last_change_ms + QUIET_MS < now_ms or self._last_notice_ms + LONGEST_SILENCE_MS < now_ms
        if self._unannounced and is_due and not self._is_announcing:
            self._is_announcing = True
            self._last_notice_ms = now_ms
            changed, self._unannounced = self._unannounced, {}
            self._supervisor.spawn(self._announce(changed), "announcement of in-sync sets")

    async def _announce(self, changed: dict[TopicPartition, None]) -> None:
        try:
            await self._announce_isrs(changed)
        except BaseException as error:
            self._unannounced = {**changed, **self._unannounced}
            if not isinstance(error, ZkError):
                raise
            _log.warning("The controller was not notified of changed in-sync sets, retrying: %s", error)
        finally:
            self._is_announcing = False

    # ---- end

    def close(self) -> None:
        """Cancels the writes; changes that were not written are dropped."""
        self._supervisor.cancel()
