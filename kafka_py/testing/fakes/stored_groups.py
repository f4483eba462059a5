"""Groups kept in one real log on a disk in memory, appended to by an offset keeper and read back by a new store.

    world = StoredGroups().own()
    world.commit((P0, commit(5)))
    world.reload().get(GROUP)        # what another coordinator finds
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.configs import CoordinatorOptions
from kafka_py.coordinator.groups.coordinator import Membership
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.member import Member
from kafka_py.coordinator.groups.metadata_store import TOPIC, GroupStore
from kafka_py.coordinator.groups.offset_keeper import OffsetKeeper
from kafka_py.coordinator.groups.offsets import CommittedOffset, CommittingProducer, TxnEnd
from kafka_py.coordinator.groups.records import ValueVersions
from kafka_py.coordinator.groups.requests import CommitRequest
from kafka_py.coordinator.groups.states import STABLE
from kafka_py.coordinator.runtime import Appended, RuntimeServices
from kafka_py.log.model.answers import Origin
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.records.batch import Record
from kafka_py.records.control import ControlType
from kafka_py.testing.fakes.groups import FakeGroupConfig
from kafka_py.testing.fakes.replicas import timers_of
from kafka_py.testing.fakes.stored_logs import LogWorld

GROUP = "consumerGroupId"
PARTITION = 20
"""Of 50, the one that keeps GROUP."""


def commit(offset: int, at_ms: int = 0, metadata: str = "") -> CommittedOffset:
    return CommittedOffset(offset, 2, metadata, at_ms)


class StoredGroups:
    """A store over one real log.

    error: what appends fail with. waiting: acknowledgements that the test gives, None for all of them at once.
    asked: (partition, acks, time-out) of the appends.
    """

    def __init__(self, **settings: object) -> None:
        self.disk = LogWorld({"cleanup.policy": "compact"}, topic_partition=TopicPartition(TOPIC, PARTITION))
        given = {name.replace("_", "."): str(value) for name, value in settings.items()}
        self.options = CoordinatorOptions.parse(given)
        self.versions = ValueVersions()
        self.error = ErrorCode.NONE
        self.waiting: list[Callable[[], None]] | None = None
        self.asked: list[tuple[int, int, int]] = []
        self.settled = 0
        self.tasks: list[Coroutine[Any, Any, None]] = []
        self.store = self.new_store()

    def new_store(self) -> GroupStore:
        def settle() -> None:
            self.settled += 1

        around = RuntimeServices(
            append=self._append,
            log_of=self._log_of,
            in_thread=self._in_thread,
            spawn=self.tasks.append,
            clock=self.disk.clock,
            settle=settle,
        )
        store = GroupStore(lambda: self.options, lambda: self.versions, 50, around)
        membership = Membership(store, self.disk.clock, timers_of(self.disk.clock), FakeGroupConfig, new_id=lambda: "x")
        self.offsets = OffsetKeeper(store, membership.sessions, self.disk.clock, lambda: self.options)
        return store

    def _append(self, partition: int, batch: bytes, acks: int, timeout_ms: int, on_done: Appended) -> None:
        assert partition == PARTITION
        self.asked.append((partition, acks, timeout_ms))
        if self.error is not ErrorCode.NONE:
            on_done(self.error, -1)
            return
        try:
            info = self.disk.append(memoryview(bytearray(batch)), origin=Origin.COORDINATOR)
        except KafkaError as error:
            on_done(error.code, -1)
            return
        if self.waiting is None:
            on_done(ErrorCode.NONE, info.first_offset)
        else:
            self.waiting.append(lambda: on_done(ErrorCode.NONE, info.first_offset))

    def _log_of(self, partition: int) -> PartitionLog | None:
        return self.disk.log if partition == PARTITION else None

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        return work()

    def run(self) -> None:
        """Lets everything spawned come to its end."""
        while self.tasks:
            asyncio.run(self.tasks.pop(0))

    def own(self) -> StoredGroups:
        self.store.runtime.elected(PARTITION, 0)
        self.run()
        return self

    def reload(self) -> GroupStore:
        """A new broker that leads the same log."""
        self.store = self.new_store()
        self.own()
        return self.store

    def commit(self, *rows: tuple[TopicPartition, CommittedOffset], group: str = GROUP) -> ErrorCode:
        codes: list[ErrorCode] = []
        self.offsets.commit(group, CommitRequest(-1, "", None, dict(rows)), codes.append)
        return codes[0] if codes else ErrorCode.REQUEST_TIMED_OUT

    def commit_in_transaction(
        self,
        *rows: tuple[TopicPartition, CommittedOffset],
        producer: tuple[int, int] = (7, 0),
        group: str = GROUP,
        generation: int = -1,
        member_id: str = "",
    ) -> ErrorCode:
        """producer: its id and epoch."""
        codes: list[ErrorCode] = []
        request = CommitRequest(generation, member_id, None, dict(rows), CommittingProducer(*producer))
        self.offsets.commit(group, request, codes.append)
        return codes[0] if codes else ErrorCode.REQUEST_TIMED_OUT

    def end_transaction(self, is_commit: bool, producer: tuple[int, int] = (7, 0)) -> None:
        """The marker is appended, and acknowledged."""
        control = ControlType.COMMIT if is_commit else ControlType.ABORT
        offset = self.disk.mark(*producer, control).first_offset
        self.store.complete_txn(PARTITION, TxnEnd(producer[0], offset, is_commit))

    def records(self) -> list[Record]:
        return self.disk.read_all()

    def stable_group(self) -> Group:
        group = self.store.get_or_create(GROUP)
        group.protocol_type, group.protocol, group.generation = "consumer", "range", 3
        group.add(Member("m", None, "client", "/127.0.0.1", 60_000, 10_000, (("range", b"sub"), ("x", b"y"))))
        group.state = STABLE
        return group

    def persist(self, group: Group) -> ErrorCode:
        codes: list[ErrorCode] = []
        self.store.persist(group, {"m": b"work"}, codes.append)
        return codes[0]
