"""LeaderAndIsr and StopReplica: the controller assigns this broker its roles in partitions (I/O).

Carries out what role_orders.py decides. One change at a time: LeaderAndIsr, StopReplica and UpdateMetadata share one
lock and one highest controller epoch. Knows the replica manager and the logs; followers' fetching, coordinators and
the metadata cache are notified through RoleCallbacks.
Source: docs/reference/replication.md, section 5; docs/reference/controller.md, section 13.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import EPOCH_DURING_DELETE, ZERO_UUID, TopicPartition
from kafka_py.base.state_changes import LOG, named
from kafka_py.base.supervision import Supervisor
from kafka_py.base.texts import listed
from kafka_py.base.turns import Turn, sliced
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.records.batch import NO_LEADER_EPOCH
from kafka_py.replication import stale_logs
from kafka_py.replication.leader.replica_manager import ReplicaManager
from kafka_py.replication.role_orders import (
    LocalReplica,
    RoleRequest,
    StopRequest,
    by_role,
    check_role,
    check_stop,
    once_each,
    role_to_take,
)
from kafka_py.replication.state.partition import Partition
from kafka_py.replication.state.roles import DELETED, NONE
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.session import ZkError
from kafka_py.zk.topics import TopicIdentity

_log = logging.getLogger(__name__)

_ACTIVITY = "change of role"


@dataclass(slots=True, frozen=True)
class RoleCallbacks:
    """The listeners of role changes, called in order; none by default.

    on_become_follower: partitions whose fetching has to start; many partitions come in several calls.
    on_following_settled: called at the end of every LeaderAndIsr, when all of these have started.
    on_stop_following: partitions whose fetching has to stop.
    on_roles_changed: (new leaders, new followers), for the coordinators of the internal topics; in several calls.
    on_stopped: partitions that this broker no longer hosts, and whether their data is deleted.
    """

    on_become_follower: Sequence[Callable[[list[Partition]], None]] = ()
    on_following_settled: Sequence[Callable[[], None]] = ()
    on_stop_following: Sequence[Callable[[list[TopicPartition]], None]] = ()
    on_roles_changed: Sequence[Callable[[list[Partition], list[Partition]], None]] = ()
    on_stopped: Sequence[Callable[[list[tuple[TopicPartition, bool]]], None]] = ()


class RoleChanges:
    """Carries out the controller's requests in the order of arrival.

    is_live: whether a broker is alive according to the metadata cache. log_config: the present settings of a topic's
    logs. topic_identity: the topic id in ZooKeeper under a topic's name (TopicStore.identity).
    """

    def __init__(
        self,
        replicas: ReplicaManager,
        clock: Clock,
        *,
        is_live: Callable[[int], bool],
        log_config: Callable[[str], LogConfig],
        topic_identity: Callable[[str], Awaitable[TopicIdentity | None]],
        callbacks: RoleCallbacks,
        supervisor: Supervisor | None = None,
    ) -> None:
        self.lock = asyncio.Lock()
        self.controller_epoch = 0
        """The highest one in any of the three requests; 0 after a restart, as it is not read from ZooKeeper."""
        self.heard_from_controller = False
        self._callbacks = callbacks
        self._replicas = replicas
        self._hosted = replicas.hosted
        self._clock = clock
        self._is_live = is_live
        self._log_config = log_config
        self._topic_identity = topic_identity
        self._supervisor = supervisor or Supervisor(clock)

    def accept_controller(self, controller_id: int, controller_epoch: int) -> None:
        """Notes a request's controller epoch. Raises KafkaError(STALE_CONTROLLER_EPOCH) if a newer one was seen."""
        if controller_epoch < self.controller_epoch:
            raise KafkaError(
                ErrorCode.STALE_CONTROLLER_EPOCH,
                f"controller {controller_id} has epoch {controller_epoch}, epoch {self.controller_epoch} was seen",
            )
        self.controller_epoch = controller_epoch

    # ---- LeaderAndIsr

    async def become(
        self, controller_id: int, controller_epoch: int, requests: list[RoleRequest]
    ) -> dict[TopicPartition, ErrorCode]:
        """Takes the roles of one LeaderAndIsr; returns one error code per partition, in order.

        Raises KafkaError(STALE_CONTROLLER_EPOCH) for the request as a whole.
        """
        async with self.lock:
            self.accept_controller(controller_id, controller_epoch)
            requests = once_each(requests)
            outcome: dict[TopicPartition, ErrorCode] = {}
            async for some in sliced(requests):
                outcome.update({request.topic_partition: self._check(request) for request in some})
            await self._delete_stale(requests, outcome)
            accepted = [request for request in requests if outcome[request.topic_partition] is ErrorCode.NONE]
            leading, following = by_role(accepted, self._hosted.broker_id)
            await self._stop_following(leading)
            leaders = await self._each(leading, self._make_leader, outcome)
            followers = await self._make_followers(following, outcome)
            self._log_roles(controller_id, controller_epoch, leaders, followers)
            self.heard_from_controller = True
            async for now_leading in sliced(leaders):
                self._call(self._callbacks.on_roles_changed, now_leading, [])
            async for now_following in sliced(followers):
                self._call(self._callbacks.on_roles_changed, [], now_following)
            return outcome

    async def _stop_following(self, requests: Sequence[RoleRequest | StopRequest]) -> None:
        async for some in sliced(requests):
            self._call(self._callbacks.on_stop_following, [request.topic_partition for request in some])

    def _log_roles(
        self, controller_id: int, controller_epoch: int, leaders: list[Partition], followers: list[Partition]
    ) -> None:
        if not LOG.isEnabledFor(logging.INFO):
            return
        broker = self._hosted.broker_id
        who = f"[Broker id={broker}] Controller {controller_id} epoch {controller_epoch}: this broker now"
        for verb, partitions in (("leads", leaders), ("follows", followers)):
            if partitions:
                names = named([partition.topic_partition for partition in partitions])
                LOG.info("%s %s %d partitions: %s", who, verb, len(partitions), names)
                for partition in partitions if LOG.isEnabledFor(logging.DEBUG) else ():
                    LOG.debug(
                        "[Broker id=%d] %s %s: leader epoch %d, log end %d, high watermark %d",
                        broker, verb, partition.topic_partition, partition.leader_epoch,
                        -1 if partition.log is None else partition.log.log_end_offset,
                        -1 if partition.log is None else partition.log.high_watermark,
                    )  # fmt: skip

    def _check(self, request: RoleRequest) -> ErrorCode:
        code = check_role(request, self._local_replica(request.topic_partition), self._hosted.broker_id)
        if code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            assigned = listed(request.state.replicas)
            _log.warning("%s is assigned to %s, not to this broker", request.topic_partition, assigned)
        return code

    def _local_replica(self, topic_partition: TopicPartition) -> LocalReplica:
        partition = self._hosted.partitions.get(topic_partition)
        partition_log = self._replicas.log_dirs.get(topic_partition)
        topic_id = None if partition is None else partition.topic_id
        if topic_id is None and partition_log is not None:
            topic_id = partition_log.topic_id
        return LocalReplica(
            is_offline=topic_partition in self._hosted.offline,
            is_hosted=partition is not None,
            leader_epoch=NO_LEADER_EPOCH if partition is None else partition.leader_epoch,
            topic_id=topic_id,
        )

    # ---- stale logs of deleted topics

    async def _delete_stale(self, requests: list[RoleRequest], outcome: dict[TopicPartition, ErrorCode]) -> None:
        """Deletes logs with these names that belong to deleted topics, and checks their requests again.

        A log that may belong to the present topic is kept, and its request gets INCONSISTENT_TOPIC_ID.
        """
        identities: dict[str, TopicIdentity | None] = {}
        turn = Turn(self._clock)
        for request in requests:
            topic_partition = request.topic_partition
            if outcome[topic_partition] is not ErrorCode.INCONSISTENT_TOPIC_ID:
                continue
            if topic_partition.topic not in identities:
                identities[topic_partition.topic] = await self._present_identity(topic_partition.topic)
            outcome[topic_partition] = await self._replace(request, identities[topic_partition.topic])
            await turn.maybe_yield()

    async def _present_identity(self, topic: str) -> TopicIdentity | None:
        """The topic's identity; None also if it cannot be read: the controller sends the roles again after that."""
        try:
            return await self._topic_identity(topic)
        except (ZkError, MalformedZNode) as error:
            _log.error("the id of topic %s cannot be read: %s", topic, error)
            return None

    async def _replace(self, request: RoleRequest, present: TopicIdentity | None) -> ErrorCode:
        """Deletes the log of another topic if it is stale; returns NONE if the role can be taken, else the error."""
        topic_partition, named = request.topic_partition, request.topic_id
        held, found = self._local_replica(topic_partition).topic_id, self._replicas.log_dirs.get(topic_partition)
        end_offset = None if found is None else found.log_end_offset
        if not stale_logs.is_stale(end_offset, named, present, request.state, self._hosted.broker_id):
            _log.error("%s has topic id %s, not %s", topic_partition, held, named)
            return ErrorCode.INCONSISTENT_TOPIC_ID
        _log.warning(
            "%s: deleting %s, which belongs to the deleted topic %s: the topic of that name is %s now",
            topic_partition, found.directory if found is not None else "its state", held, named,
        )  # fmt: skip
        await self._stop_following([request])
        code = self._stop(StopRequest(topic_partition, EPOCH_DURING_DELETE, delete=True))
        self._call(self._callbacks.on_stopped, [(topic_partition, True)])
        return self._check(request) if code is ErrorCode.NONE else code

    async def _each(
        self,
        requests: Iterable[RoleRequest],
        change: Callable[[RoleRequest], Partition],
        outcome: dict[TopicPartition, ErrorCode],
    ) -> list[Partition]:
        """Runs `change` for each, and yields to other work in between; an error concerns its partition only."""
        changed = []
        turn = Turn(self._clock)
        for request in requests:
            try:
                changed.append(change(request))
            except Exception as error:
                outcome[request.topic_partition] = self._error_of(request.topic_partition, error)
            await turn.maybe_yield()
        return changed

    def _make_leader(self, request: RoleRequest) -> Partition:
        partition, partition_log = self._with_log(request)
        partition.become_leader(request.state, partition_log, self._clock.monotonic_ms())
        self._hosted.partitions[request.topic_partition] = partition
        self._replicas.parked.note_change(partition, watermark_raised=True)
        self._replicas.appends.sync_owed(partition)
        return partition

    async def _make_followers(
        self, requests: list[RoleRequest], outcome: dict[TopicPartition, ErrorCode]
    ) -> list[Partition]:
        """Makes followers: fetching stops first, and parked operations are answered before logs are truncated."""
        started: list[Partition] = []

        def make_follower(request: RoleRequest) -> Partition:
            partition, partition_log = self._with_log(request)
            state = request.state
            if role_to_take(state, self._hosted.broker_id, self._is_live) is NONE:
                _log.error("%s: its leader %d is not alive; it has no role", request.topic_partition, state.leader)
                self._hosted.partitions[request.topic_partition] = partition
                return partition
            changed = partition.become_follower(state, partition_log)
            self._hosted.partitions[request.topic_partition] = partition
            self._replicas.parked.complete(request.topic_partition, partition)
            if changed:
                started.append(partition)
            return partition

        await self._stop_following(requests)
        followers = await self._each(requests, make_follower, outcome)
        hosted = self._hosted.partitions
        async for some in sliced(started):  # a directory may have failed since
            here = [one for one in some if hosted.get(one.topic_partition) is one]
            self._call(self._callbacks.on_become_follower, here)
        self._call(self._callbacks.on_following_settled)
        return followers

    def _with_log(self, request: RoleRequest) -> tuple[Partition, PartitionLog]:
        """The partition, created if it is not hosted, and its log, created if it is missing."""
        topic_partition = request.topic_partition
        partition = self._hosted.partitions.get(topic_partition) or self._hosted.new_partition(topic_partition)
        topic_id = request.topic_id if request.topic_id != ZERO_UUID else None
        partition.learn_topic_id(topic_id)
        if partition.log is not None and topic_id in (None, partition.log.topic_id):
            return partition, partition.log
        partition_log = self._replicas.log_dirs.get_or_create(
            topic_partition, self._log_config(topic_partition.topic), is_new=request.state.is_new, topic_id=topic_id
        )
        return partition, partition_log

    # ---- StopReplica

    async def stop(
        self, controller_id: int, controller_epoch: int, requests: list[StopRequest]
    ) -> dict[TopicPartition, ErrorCode]:
        """Carries out a StopReplica; returns one error code per partition.

        Raises KafkaError(STALE_CONTROLLER_EPOCH) for the request as a whole.
        """
        async with self.lock:
            self.accept_controller(controller_id, controller_epoch)
            outcome: dict[TopicPartition, ErrorCode] = {}
            async for some in sliced(requests):
                for one in some:
                    outcome[one.topic_partition] = check_stop(one, self._local_replica(one.topic_partition))
            stopping = [request for request in requests if outcome[request.topic_partition] is ErrorCode.NONE]
            await self._stop_following(stopping)
            turn = Turn(self._clock)
            for request in stopping:
                outcome[request.topic_partition] = self._stop(request)
                await turn.maybe_yield()
            if stopping:
                LOG.info(
                    "[Broker id=%d] Stopped %d replicas: %s", self._hosted.broker_id, len(stopping),
                    named([request.topic_partition for request in stopping]),
                )  # fmt: skip
            self._drop_metrics({request.topic_partition.topic for request in stopping if request.delete})
            async for some in sliced(stopping):
                self._call(self._callbacks.on_stopped, [(request.topic_partition, request.delete) for request in some])
            return outcome

    def _drop_metrics(self, topics: set[str]) -> None:
        """Removes the metrics of topics without partitions here; last, as reads are counted until the stop."""
        if topics:
            for topic in sorted(topics.difference(one.topic for one in self._hosted.partitions)):
                self._replicas.metrics.drop_topic(topic)

    def _stop(self, request: StopRequest) -> ErrorCode:
        """Stops one partition; an error concerns this partition only."""
        try:
            self._stop_or_raise(request)
        except Exception as error:
            return self._error_of(request.topic_partition, error)
        return ErrorCode.NONE

    def _stop_or_raise(self, request: StopRequest) -> None:
        """delete=false only stops the fetching; delete=true removes the partition and its files."""
        topic_partition = request.topic_partition
        if not request.delete:
            self._replicas.parked.complete(topic_partition, self._hosted.partitions.get(topic_partition))
            return
        partition = self._hosted.partitions.pop(topic_partition, None)
        if partition is not None:
            partition.leave(DELETED)
        self._replicas.parked.complete(topic_partition, partition)
        if self._replicas.log_dirs.get(topic_partition) is not None:
            self._replicas.log_dirs.delete(topic_partition)

    # ---- errors

    def _error_of(self, topic_partition: TopicPartition, error: Exception) -> ErrorCode:
        """The error code of an exception of one partition; an unexpected one is reported with its traceback."""
        if isinstance(error, KafkaError):
            _log.error("%s: %s", topic_partition, error)
            return error.code
        if isinstance(error, OSError):
            self._hosted.on_storage_error(topic_partition, error)
            return ErrorCode.KAFKA_STORAGE_ERROR
        self._supervisor.report(_ACTIVITY, error, topic_partition)
        return ErrorCode.UNKNOWN_SERVER_ERROR

    def _call(self, listeners: Iterable[Callable[..., None]], *changed: object) -> None:
        """Calls listeners; the role stays changed if one raises."""
        for listener in listeners:
            self._supervisor.call(_ACTIVITY, partial(listener, *changed))
