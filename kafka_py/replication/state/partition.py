"""One partition on this broker: its role, its leader epoch, its in-sync set and its high watermark.

Synchronous. Knows its log and, on the leader, the followers' progress; nothing of requests, sockets or other
partitions.
Source: docs/reference/replication.md, sections 1 to 6; docs/reference/controller.md, section 13 (leader epochs).
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import NO_LEADER, TopicId, TopicPartition
from kafka_py.log.model.answers import AppendInfo, Origin
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.log.validation.format_work import FormatWork, PreparedSet
from kafka_py.log.validation.header_trust import HeaderTrust
from kafka_py.log.validation.record_work import Prepared, RecordWork
from kafka_py.records.batch import NO_LEADER_EPOCH
from kafka_py.replication.state.divergence import diverging_end
from kafka_py.replication.state.high_watermark import committed_end
from kafka_py.replication.state.isr import (
    NO_MEMBERS,
    CommittedIsr,
    Isr,
    PendingExpandIsr,
    PendingShrinkIsr,
    may_join,
    out_of_sync_members,
)
from kafka_py.replication.state.progress import NEVER, FollowerProgress
from kafka_py.replication.state.reads import (
    ChangeListener,
    FetchEntry,
    Isolation,
    PartitionRead,
)
from kafka_py.replication.state.roles import DELETED, FOLLOWER, LEADER, MOVES, NONE, OFFLINE, Role, RoleState

_new = tuple.__new__

RECENT_FETCH_MS = 2000
"""A follower that has fetched within this time is taken to be alive: it fetches every replica.fetch.wait.max.ms."""


class Partition:
    """The state of one hosted partition, changed only by appends, fetches, role changes, ISR updates and moves.

    role: changed only by `_become`. is_leader: whether the role is LEADER; read by every append and fetch.
    leader_epoch: that of the last accepted LeaderAndIsr; -1 before the first, so that epoch 0 is accepted.
    leader_epoch_start: the start offset of this leader's epoch; None on a follower.
    isr: used on the leader only.
    """

    __slots__ = (
        "_lag_max_ms",
        "_noted_log_start",
        "adding_replicas",
        "controller_epoch",
        "followers",
        "is_leader",
        "isr",
        "leader_epoch",
        "leader_epoch_start",
        "leader_id",
        "listeners",
        "local_id",
        "log",
        "removing_replicas",
        "replicas",
        "role",
        "topic_id",
        "topic_partition",
        "zk_version",
    )

    def __init__(self, topic_partition: TopicPartition, local_id: int, lag_max_ms: int) -> None:
        self.topic_partition = topic_partition
        self.local_id = local_id
        self.log: PartitionLog | None = None
        self.role = NONE
        self.leader_id = NO_LEADER
        self.is_leader = False
        self.leader_epoch = NO_LEADER_EPOCH
        self.leader_epoch_start: int | None = None
        self.controller_epoch = 0
        self.zk_version = -1
        self.replicas: tuple[int, ...] = ()
        self.adding_replicas: tuple[int, ...] = ()
        self.removing_replicas: tuple[int, ...] = ()
        self.isr: Isr = NO_MEMBERS
        self.followers: dict[int, FollowerProgress] = {}
        self.topic_id: TopicId | None = None
        self.listeners: dict[ChangeListener, None] = {}
        """A dict, so that the order of calls is the same in every simulated run."""
        self._noted_log_start = 0
        self._lag_max_ms = lag_max_ms

    def learn_topic_id(self, topic_id: TopicId | None) -> None:
        """Takes the first topic id that the controller names; None if it names none."""
        if self.topic_id is None:
            self.topic_id = topic_id

    # ---- roles

    def become_leader(self, state: RoleState, log: PartitionLog, now_ms: float) -> bool:
        """Takes the leader role; returns whether this broker was not the leader before.

        Also for a leader the epoch is new, and its followers get another replica.lag.time.max.ms to be in sync.
        """
        newly_elected = not self.is_leader
        self._take_assignment(state, log)
        self.isr = CommittedIsr(frozenset(state.isr))
        self.leader_epoch_start = log.log_end_offset
        log.assign_epoch(state.leader_epoch, log.log_end_offset)
        self._become(LEADER)
        self._reset_followers(now_ms, log.log_end_offset, forget_offsets=newly_elected)
        self.maybe_raise_high_watermark(now_ms)
        return newly_elected

    def become_follower(self, state: RoleState, log: PartitionLog) -> bool:
        """Takes the follower role; returns whether leader or epoch changed, so that fetching has to start."""
        changed = (state.leader, state.leader_epoch) != (self.leader_id, self.leader_epoch)
        self._take_assignment(state, log)
        self.isr = NO_MEMBERS
        self._become(FOLLOWER)
        self.leader_epoch_start = None
        self.followers.clear()
        return changed

    def replace_log(self, log: PartitionLog) -> None:
        """Changes to the log in another directory, which has the same records; the role stays."""
        self.log = log

    def leave(self, role: Role) -> None:
        """Ends the role: DELETED or OFFLINE. Later calls fail with NOT_LEADER_OR_FOLLOWER."""
        assert role in (DELETED, OFFLINE)
        self._become(role)
        self.leader_epoch_start = None
        self.isr = NO_MEMBERS
        self.log = None

    def _become(self, role: Role) -> None:
        """Changes the role. Raises IllegalMove when it is DELETED or OFFLINE."""
        self.role = MOVES.after(self.role, role)
        self.is_leader = role is LEADER

    def _take_assignment(self, state: RoleState, log: PartitionLog) -> None:
        self.log = log
        self.controller_epoch = state.controller_epoch
        self.leader_id = state.leader
        self.leader_epoch = state.leader_epoch
        self.zk_version = state.zk_version
        self.replicas = tuple(state.replicas)
        self.adding_replicas = tuple(state.adding_replicas)
        self.removing_replicas = tuple(state.removing_replicas)

    def _reset_followers(self, now_ms: float, end_offset: int, *, forget_offsets: bool) -> None:
        members = self.isr.members
        followers = {}
        for broker_id in self.replicas:
            if broker_id == self.local_id:
                continue
            progress = self.followers.get(broker_id) or FollowerProgress(broker_id)
            caught_up_ms = now_ms if broker_id in members else NEVER
            progress.reset(caught_up_ms, end_offset, forget_offsets=forget_offsets)
            followers[broker_id] = progress
        self.followers = followers

    # ---- checks

    def leader_log(self) -> PartitionLog:
        """The log, if this broker is the leader. Raises KafkaError(NOT_LEADER_OR_FOLLOWER)."""
        if not self.is_leader or self.log is None:
            raise KafkaError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER, f"broker {self.local_id} does not lead {self.topic_partition}"
            )
        return self.log

    def readable_log(self, current_leader_epoch: int, *, leader_only: bool) -> PartitionLog:
        """The log for a reader whose metadata has `current_leader_epoch` (-1: not checked).

        Raises KafkaError(FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH) before NOT_LEADER_OR_FOLLOWER: the wrong epoch is
        reported first.
        """
        if current_leader_epoch >= 0 and current_leader_epoch != self.leader_epoch:
            older = current_leader_epoch < self.leader_epoch
            raise KafkaError(
                ErrorCode.FENCED_LEADER_EPOCH if older else ErrorCode.UNKNOWN_LEADER_EPOCH,
                f"{self.topic_partition}: the request has leader epoch {current_leader_epoch}, not {self.leader_epoch}",
            )
        if (leader_only and not self.is_leader) or self.log is None:
            raise KafkaError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER, f"broker {self.local_id} does not lead {self.topic_partition}"
            )
        return self.log

    # ---- produce

    def append(
        self,
        records: memoryview,
        required_acks: int,
        now_ms: int,
        origin: Origin = Origin.CLIENT,
        trust: HeaderTrust | None = None,
    ) -> AppendInfo | RecordWork | FormatWork:
        """Appends as the leader, or returns work to be done on the records before (PartitionLog.begin_append).

        Raises KafkaError(NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS) and what the log's validation raises.
        """
        log = self.log
        if log is None or not self.is_leader or required_acks == -1:
            log = self._log_to_append(required_acks)
        return log.begin_append(records, self.leader_epoch, now_ms, origin, trust)

    def finish_append(
        self, prepared: Prepared | PreparedSet, required_acks: int, now_ms: int, origin: Origin = Origin.CLIENT
    ) -> AppendInfo:
        """Appends prepared records as the leader. Raises what `append` raises."""
        log = self._log_to_append(required_acks)
        return log.finish_append(prepared, self.leader_epoch, now_ms, origin=origin)

    def _log_to_append(self, required_acks: int) -> PartitionLog:
        log = self.log
        if log is None or not self.is_leader:
            log = self.leader_log()
        if required_acks == -1 and len(self.isr.members) < log.config.min_insync_replicas:
            raise KafkaError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{self.topic_partition}: {len(self.isr.members)} replicas are in sync, "
                f"min.insync.replicas is {log.config.min_insync_replicas}",
            )
        return log

    def acks_all_outcome(self, required_offset: int) -> ErrorCode | None:
        """The outcome of an acks=-1 append that ends at `required_offset` (exclusive); None until it is replicated."""
        if not self.is_leader or self.log is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if self.log.high_watermark < required_offset:
            return None
        if len(self.isr.maximal) < self.log.config.min_insync_replicas:
            return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return ErrorCode.NONE

    # ---- high watermark

    def maybe_raise_high_watermark(self, now_ms: float) -> bool:
        """Raises the leader's high watermark to the offset that all in-sync replicas have; returns whether it moved."""
        log = self.log
        if log is None:
            return False
        candidate = log.log_end_offset if log.held_end is None else log.held_end
        if self.followers:
            candidate = committed_end(candidate, self.followers, self.isr.maximal, now_ms, self._lag_max_ms)
        if candidate <= log.high_watermark:
            return False
        log.update_high_watermark(candidate)
        return True

    def record_follower_fetch(self, broker_id: int, entry: FetchEntry, end_offset: int, now_ms: float) -> bool:
        """Updates a follower's progress by its fetch; returns whether the high watermark moved.

        Ignores a broker that is not assigned; the caller logs a warning.
        """
        progress = self.followers.get(broker_id)
        if progress is None:
            return False
        before = progress.log_end_offset
        progress.record_fetch(entry, end_offset, now_ms)
        if broker_id not in self.isr.members and self._may_join(progress):
            self.isr = PendingExpandIsr(self.isr.members, broker_id)
        return progress.log_end_offset != before and self.maybe_raise_high_watermark(now_ms)

    # ---- in-sync set

    def _may_join(self, progress: FollowerProgress) -> bool:
        log = self.log
        return log is not None and may_join(
            self.isr, progress.log_end_offset, log.high_watermark, self.leader_epoch_start
        )

    def shrink_isr(self, now_ms: float) -> bool:
        """Starts to remove members that lag for over replica.lag.time.max.ms or are not assigned; whether any do."""
        log, isr = self.log, self.isr
        if not self.is_leader or log is None:
            return False
        late = out_of_sync_members(isr, self.local_id, self.followers, log.log_end_offset, now_ms, self._lag_max_ms)
        if late:
            self.isr = PendingShrinkIsr(isr.members, late)
        return bool(late)

    def commit_isr(self, written: PendingExpandIsr | PendingShrinkIsr, zk_version: int, now_ms: float) -> bool:
        """Commits a written change; returns whether the high watermark moved. Ignored after a change of role.

        The next change may be pending afterwards, which the caller has to have written.
        """
        if self.isr is not written:
            return False
        self.isr = CommittedIsr(written.intended)
        self.zk_version = zk_version
        raised = self.maybe_raise_high_watermark(now_ms)
        self._begin_waiting_expansion(now_ms)
        return raised

    def _begin_waiting_expansion(self, now_ms: float) -> None:
        """Starts to add a replica that caught up while another change was pending.

        A fetch session does not name a partition again that has no changes, so its next fetch may never be recorded.
        """
        for broker_id, progress in self.followers.items():
            is_caught_up = now_ms - progress.caught_up_ms() <= RECENT_FETCH_MS
            if is_caught_up and broker_id not in self.isr.members and self._may_join(progress):
                self.isr = PendingExpandIsr(self.isr.members, broker_id)
                return

    def ordered(self, members: Iterable[int]) -> list[int]:
        """Members of an in-sync set in the order of the assignment; those that are not assigned come last."""
        wanted = set(members)
        assigned = [broker_id for broker_id in self.replicas if broker_id in wanted]
        return assigned + sorted(wanted.difference(assigned))

    # ---- reads

    def end_offset(self, isolation: Isolation) -> int:
        """The offset (exclusive) up to which a reader sees the log."""
        assert self.log is not None
        if isolation is Isolation.READ_UNCOMMITTED:
            return self.log.high_watermark
        if isolation is Isolation.READ_COMMITTED:
            return self.log.last_stable_offset
        return self.log.log_end_offset

    def read(
        self, entry: FetchEntry, max_bytes: int, isolation: Isolation, *, leader_only: bool, min_one_batch: bool
    ) -> PartitionRead:
        """Finds the bytes that a fetch gets; the offsets in the result are taken before the data is looked up.

        Raises KafkaError(FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, NOT_LEADER_OR_FOLLOWER, OFFSET_OUT_OF_RANGE).
        """
        log = self.log
        if log is None or not self.is_leader or entry.current_leader_epoch not in (NO_LEADER_EPOCH, self.leader_epoch):
            log = self.readable_log(entry.current_leader_epoch, leader_only=leader_only)
        high_watermark, log_start_offset, stable = log.high_watermark, log.log_start_offset, log.last_stable_offset
        end_offset = high_watermark if isolation is Isolation.READ_UNCOMMITTED else self.end_offset(isolation)
        diverging = None
        if entry.last_fetched_epoch >= 0:
            end = log.epochs.end_offset_for(entry.last_fetched_epoch, log.log_end_offset)
            diverging = diverging_end(entry, end, log_start_offset)
        if diverging is not None:
            return PartitionRead(
                ErrorCode.NONE, high_watermark, stable, log_start_offset,
                end_offset=end_offset, diverging=diverging, partition=self,
            )
        data = log.read(entry.fetch_offset, max_bytes, up_to_offset=end_offset, min_one_batch=min_one_batch)
        aborted = None
        if isolation is Isolation.READ_COMMITTED:
            aborted = log.lookups.aborted_transactions(entry.fetch_offset, data) if data.size else []
        return _new(  # faster than the constructor, as all fields are given
            PartitionRead,
            (
                ErrorCode.NONE, high_watermark, stable, log_start_offset,
                data.slice, data.size, end_offset, None, aborted, -1, self,
            ),
        )  # fmt: skip

    def has_new_log_start(self) -> bool:
        """Whether the log start offset has moved since the last call."""
        before, log = self._noted_log_start, self.log
        if log is not None:
            self._noted_log_start = log.log_start_offset
        return self._noted_log_start != before

    # ---- gauges

    @property
    def is_under_replicated(self) -> bool:
        """Whether it leads and fewer replicas are in sync than assigned (those being added do not count)."""
        return self.is_leader and len(self.replicas) - len(self.adding_replicas) > len(self.isr.members)

    def isr_against_minimum(self) -> int | None:
        """In-sync members minus min.insync.replicas; None unless this broker leads."""
        if not self.is_leader or self.log is None:
            return None
        return len(self.isr.members) - int(self.log.config.min_insync_replicas)
