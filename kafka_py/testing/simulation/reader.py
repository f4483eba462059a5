"""A consumer without a group: reads every partition, remembers what it saw, and reports what no consumer may see.

It asks whichever broker it believes to lead, and with a rack the replica that the leader names instead (KIP-392). The
bare protocol, so that nothing is forgiven on the way.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.net.client import BrokerConnection
from kafka_py.net.connection_failures import ConnectionLost
from kafka_py.records.batch import decode_records, iter_headers
from kafka_py.testing.simulation.cluster import PORT, SimulatedCluster
from kafka_py.wire.messages.fetch import (
    FetchablePartitionResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

FETCH_VERSION = 11
METADATA_VERSION = 9
PAUSE_S = (0.02, 0.3)
CALL_TIMEOUT_S = 2


class Reader:
    """Reads all the time.

    deleting: whether records may be removed at the start of logs. rack: its own; empty to ask leaders only.
    seen: by partition and offset the value of each record.
    """

    def __init__(
        self,
        cluster: SimulatedCluster,
        partitions: Iterable[TopicPartition],
        report: Callable[[str], None],
        rng: random.Random,
        *,
        deleting: bool = False,
        rack: str = "",
    ) -> None:
        self.seen: dict[TopicPartition, dict[int, bytes | None]] = {each: {} for each in partitions}
        self._cluster = cluster
        self._positions: dict[TopicPartition, int] = dict.fromkeys(self.seen, 0)
        self._leaders: dict[TopicPartition, str] = {}
        self._epochs: dict[TopicPartition, int] = {}
        """The newest known, sent along: a broker that led before, and does not know better, then refuses."""
        self._preferred: dict[TopicPartition, str] = {}
        self._high_watermarks: dict[TopicPartition, tuple[object, int, int]] = {}
        """(life of the leader's broker, leader epoch, high watermark) of the last answer."""
        self._wires: dict[str, BrokerConnection] = {}
        self._report = report
        self._rng = rng
        self._deleting = deleting
        self._rack = rack
        self._task: asyncio.Task[None] | None = None
        self._asked = 0

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._read_on())

    def add(self, topic_partition: TopicPartition) -> None:
        """Reads it as well from now on."""
        self.seen[topic_partition] = {}
        self._positions[topic_partition] = 0

    async def stop(self) -> None:
        """Reports why it ended, if it did so by itself."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            if not self._task.cancelled() and self._task.exception() is not None:
                self._report(f"a reader ended: {self._task.exception()!r}")
        for wire in self._wires.values():
            wire.close()

    def behind(self) -> list[str]:
        """Partitions that are not read up to their ends."""
        ends: dict[TopicPartition, tuple[int, int]] = {}  # by leader epoch: a former leader may not know that it is one
        for broker in self._cluster.servers():
            for each in self._positions:
                partition = broker.partitions().get(each)
                if partition is not None and partition.is_leader and partition.log is not None:
                    found = partition.leader_epoch, partition.log.high_watermark
                    ends[each] = max(ends.get(each, found), found)
        return [
            f"{each}: a reader is at {position} of {ends.get(each, (-1, -1))[1]}"
            for each, position in self._positions.items()
            if position != ends.get(each, (-1, -1))[1]
        ]

    async def _read_on(self) -> None:
        while True:
            by_host: dict[str, list[TopicPartition]] = {}
            for each in self._positions:
                host = self._preferred.get(each) or self._leaders.get(each)
                if host is not None:
                    by_host.setdefault(host, []).append(each)
            for host, asked in by_host.items():
                if not await self._is_answered(self._read(host, asked)):
                    for each in asked:
                        self._forget(each)
            if not self._positions.keys() <= self._leaders.keys():
                await self._is_answered(self._look_up())
            await asyncio.sleep(self._rng.uniform(*PAUSE_S))

    @staticmethod
    async def _is_answered(call: Coroutine[Any, Any, None]) -> bool:
        try:
            async with asyncio.timeout(CALL_TIMEOUT_S):
                await call
        except (ConnectionLost, TimeoutError, OSError):
            return False
        return True

    def _forget(self, topic_partition: TopicPartition) -> None:
        """Where to read it is to be looked up."""
        self._leaders.pop(topic_partition, None)
        self._preferred.pop(topic_partition, None)

    async def _read(self, host: str, asked: list[TopicPartition]) -> None:
        topics: dict[str, FetchTopic] = {}
        for each in asked:
            topic = topics.setdefault(each.topic, FetchTopic(topic=each.topic, partitions=[]))
            topic.partitions.append(
                FetchPartition(
                    partition=each.partition,
                    current_leader_epoch=self._epochs[each],
                    fetch_offset=self._positions[each],
                    partition_max_bytes=1 << 20,
                )
            )
        request = FetchRequest(
            replica_id=-1, max_wait_ms=0, min_bytes=0, topics=list(topics.values()), rack_id=self._rack
        )
        wire = await self._wire(host)
        response: FetchResponse = await wire.send(request, FETCH_VERSION)
        for answered in response.responses:
            for answer in answered.partition_responses:
                self._take(TopicPartition(answered.topic, answer.partition), answer, host)

    def _take(self, name: TopicPartition, answer: FetchablePartitionResponse, host: str) -> None:
        """One partition's answer."""
        if answer.error_code:
            if answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                self._out_of_range(name, host)
            self._forget(name)
            return
        if answer.preferred_read_replica >= 0:
            self._preferred[name] = f"broker{answer.preferred_read_replica}"
            return
        self._check_high_watermark(name, answer.high_watermark, host)
        records = answer.record_set
        if not isinstance(records, bytes | bytearray | memoryview) or not records:
            return
        seen, forgives = self.seen[name], self._cluster.history.had_unclean_election(name)
        for position, header in iter_headers(records):
            for record in decode_records(records, position):
                if seen.setdefault(record.offset, record.value) != record.value:
                    if not forgives:
                        self._report(f"{name}: offset {record.offset} changed its record")
                    seen[record.offset] = record.value
            self._positions[name] = max(self._positions[name], header.next_offset)
        held, position = self._cluster.held_in_sync(name), self._positions[name]
        if held is not None and position > held:
            self._report(f"{name}: {host} let a reader have up to {position}, committed is up to {held}")

    def _out_of_range(self, name: TopicPartition, host: str) -> None:
        """A follower may not know yet that a record is committed; records may have been deleted, or lost uncleanly."""
        position = self._positions[name]
        if self._preferred.get(name) == host:
            return
        log = self._cluster.broker(host).log(name)
        if self._cluster.history.had_unclean_election(name):
            self._positions[name] = log.log_start_offset if log is not None else 0
        elif self._deleting and log is not None and position < log.log_start_offset:
            self._positions[name] = log.log_start_offset
        else:
            self._report(f"{name}: {host} says that position {position} is out of range")

    def _check_high_watermark(self, name: TopicPartition, high_watermark: int, host: str) -> None:
        """It never decreases while the same broker leads in the same epoch."""
        broker = self._cluster.broker(host)
        partition = broker.partitions().get(name)
        if partition is None or not partition.is_leader:
            return
        life, epoch, known = self._high_watermarks.get(name, (None, -1, -1))
        if life is broker.server and epoch == partition.leader_epoch and high_watermark < known:
            self._report(f"{name}: {host} sent a reader high watermark {known}, then {high_watermark}")
        self._high_watermarks[name] = broker.server, partition.leader_epoch, high_watermark

    async def _wire(self, host: str) -> BrokerConnection:
        wire = self._wires.get(host)
        if wire is None or wire.closed:
            wire = self._wires[host] = await self._cluster.connect(host, PORT, 1000, "reader")
        return wire

    async def _look_up(self) -> None:
        brokers = self._cluster.brokers
        self._asked += 1
        wire = await self._wire(brokers[self._asked % len(brokers)].name)
        topics = sorted({each.topic for each in self._positions})
        request = MetadataRequest(topics=[MetadataRequestTopic(name=topic) for topic in topics])
        response: MetadataResponse = await wire.send(request, METADATA_VERSION)
        names = {broker.node_id: broker.host for broker in response.brokers}
        for topic in response.topics:
            for partition in topic.partitions:
                name = TopicPartition(topic.name, partition.partition_index)
                if partition.leader_id in names and partition.leader_epoch >= self._epochs.get(name, 0):
                    self._leaders[name] = names[partition.leader_id]
                    self._epochs[name] = partition.leader_epoch
