"""The consumer itself, on an event loop: assignment, positions, polling, look-ups. See consumer.py for its faces."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Collection, Mapping
from types import TracebackType
from typing import Any, Self

from kafka_py.base.clock import Clock, SystemClock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.connections import Connect
from kafka_py.clients.consumer.configs import EARLIEST, NONE, ConsumerOptions
from kafka_py.clients.consumer.fetched import Decoding
from kafka_py.clients.consumer.fetcher import Fetcher
from kafka_py.clients.consumer.offsets import OffsetLookup
from kafka_py.clients.consumer.records import ConsumerRecord, ConsumerRecords, OffsetAndTimestamp
from kafka_py.clients.consumer.subscriptions import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    AssignedPartition,
    Subscriptions,
)
from kafka_py.clients.errors import ClientTimeout, IllegalState, NoOffsetForPartition, WakeupError
from kafka_py.clients.loop import wait_until_set
from kafka_py.clients.metadata import PartitionInfo
from kafka_py.clients.serialization import deserializer

_log = logging.getLogger(__name__)
_numbers = itertools.count(1)


class AsyncConsumer:
    """Reads partitions on the running loop. Start it with `async with`, or by `start`."""

    def __init__(
        self, configs: Mapping[str, Any], *, clock: Clock | None = None, connect: Connect | None = None
    ) -> None:
        self.options = ConsumerOptions.load(configs)
        self.client_id = self.options.client_id or f"consumer-{next(_numbers)}"
        self._clock = clock or SystemClock()
        self._connect = connect
        self._subscriptions = Subscriptions()
        self._decoding = Decoding(
            deserializer("key.deserializer", self.options.key_deserializer, configs),
            deserializer("value.deserializer", self.options.value_deserializer, configs),
            check_crcs=self.options.check_crcs,
            reads_committed=self.options.reads_committed,
        )
        self._also_wanted: dict[str, int] = {}
        self._all_wanted = 0
        self._news = asyncio.Event()
        self._woken = False
        self._started = False
        self._closed = False
        self._resets: set[asyncio.Task[None]] = set()
        self._reset_error: KafkaError | None = None
        self._cluster: Cluster
        self._lookup: OffsetLookup
        self._fetcher: Fetcher

    async def start(self) -> None:
        """Begins to look for the cluster; other calls do so too."""
        self._ensure_started()

    def _ensure_started(self) -> None:
        if self._closed:
            raise IllegalState("This consumer has already been closed.")
        if self._started:
            return
        self._started = True
        self._cluster = Cluster(
            self.options,
            self.client_id,
            wanted=self._wanted_topics,
            auto_create=self.options.allow_auto_create_topics,
            clock=self._clock,
            connect=self._connect,
        )
        self._lookup = OffsetLookup(self.options, self._cluster)
        self._fetcher = Fetcher(
            self.options, self._cluster, self._subscriptions, self._decoding, self._news.set, self._reset_by_policy
        )
        self._cluster.on_update(lambda _view: self._fetcher.step())
        self._cluster.start()

    def _wanted_topics(self) -> Collection[str] | None:
        return None if self._all_wanted else self._subscriptions.topics() | self._also_wanted.keys()

    # What to read

    async def assign(self, partitions: Collection[TopicPartition]) -> None:
        """Reads exactly these partitions from now on; none of them is as `unsubscribe`."""
        self._ensure_started()
        partitions = [TopicPartition(*partition) for partition in partitions]
        for partition in partitions:
            if not partition.topic or partition.partition < 0:
                raise ValueError(f"not a partition to read: {partition!r}")
        before = self._subscriptions.topics()
        self._subscriptions.assign(partitions)
        if self._subscriptions.topics() - before:
            self._cluster.request_refresh(at_once=True)
        self._fetcher.step()

    async def unsubscribe(self) -> None:
        """Reads nothing any more."""
        self._subscriptions.unsubscribe()

    def assignment(self) -> set[TopicPartition]:
        """The partitions being read."""
        return self._subscriptions.partitions()

    async def pause(self, partitions: Collection[TopicPartition]) -> None:
        """Returns no records of these until `resume`."""
        for partition in partitions:
            self._subscriptions.of(partition).paused = True

    async def resume(self, partitions: Collection[TopicPartition]) -> None:
        """Undoes `pause`."""
        for partition in partitions:
            self._subscriptions.of(partition).paused = False
        self._fetcher.step()
        self._news.set()

    def paused(self) -> set[TopicPartition]:
        """The paused partitions."""
        return self._subscriptions.paused()

    # Reading

    async def poll(self, timeout: float = 0.0) -> ConsumerRecords:
        """Records that are there, at most max.poll.records; waits `timeout` seconds for the first ones.

        Raises KafkaError where reading cannot go on by itself, WakeupError after `wakeup`, IllegalState when nothing
        is assigned.
        """
        self._ensure_started()
        self._subscriptions.check_not_empty()
        deadline_ms = self._clock.monotonic_ms() + timeout * 1000
        while True:
            self._news.clear()
            self._raise_what_waits()
            self._begin_resets()
            records = self._fetcher.collect(self.options.max_poll_records)
            self._fetcher.step()
            if records:
                await asyncio.sleep(0)  # a busy reader must not keep the loop from reading on
                return records
            left_ms = deadline_ms - self._clock.monotonic_ms()
            if left_ms <= 0:
                return records
            await wait_until_set(self._news, left_ms)

    def _raise_what_waits(self) -> None:
        if self._woken:
            self._woken = False
            raise WakeupError
        if self._reset_error is not None:
            error, self._reset_error = self._reset_error, None
            raise error

    async def __aiter__(self) -> AsyncIterator[ConsumerRecord]:
        """All records, waiting for new ones forever."""
        while True:
            for record in await self.poll(1.0):
                yield record

    def wakeup(self) -> None:
        """Makes a poll that waits, or the next one, raise WakeupError. On this loop only."""
        self._woken = True
        self._news.set()

    # Positions

    async def seek(self, partition: TopicPartition, offset: int) -> None:
        """Goes on at `offset`. Raises IllegalState for a partition that is not assigned."""
        if offset < 0:
            raise ValueError("seek offset must not be a negative number")
        self._subscriptions.of(partition).seek(offset)
        self._fetcher.step()

    async def seek_to_beginning(self, partitions: Collection[TopicPartition] = ()) -> None:
        """Goes on at the first record of these partitions (of all when none is named)."""
        self._reset_all(partitions, EARLIEST_TIMESTAMP)

    async def seek_to_end(self, partitions: Collection[TopicPartition] = ()) -> None:
        """Goes on after the last record of these partitions (of all when none is named)."""
        self._reset_all(partitions, LATEST_TIMESTAMP)

    def _reset_all(self, partitions: Collection[TopicPartition], timestamp: int) -> None:
        states = [self._subscriptions.of(partition) for partition in partitions or self.assignment()]
        for state in states:
            state.reset(timestamp)

    async def position(self, partition: TopicPartition, timeout: float | None = None) -> int:
        """The offset of the next record that poll returns; waits for it where it has to be looked up.

        Raises IllegalState for a partition that is not assigned, ClientTimeout, NoOffsetForPartition.
        """
        self._ensure_started()
        deadline_ms = self._clock.monotonic_ms() + self._timeout_ms(timeout)
        while True:
            state = self._subscriptions.of(partition)
            if state.position is not None:
                return state.position
            self._raise_what_waits()
            self._news.clear()
            self._begin_resets()
            if not await wait_until_set(self._news, deadline_ms - self._clock.monotonic_ms()):
                raise ClientTimeout(
                    f"Timeout of {self._timeout_ms(timeout):.0f} ms expired before the position for partition "
                    f"{partition} could be determined"
                )

    def _begin_resets(self) -> None:
        """Starts to look up the positions that are missing."""
        missing = [state for state in self._subscriptions if state.position is None and not state.resetting]
        without = [state for state in missing if state.reset_to is None]
        if without and self.options.auto_offset_reset == NONE:
            raise NoOffsetForPartition([state.topic_partition for state in without])
        for state in without:
            self._reset_by_policy(state)
        if missing:
            for state in missing:
                state.resetting = True
            task = asyncio.get_running_loop().create_task(self._reset_now(missing))
            self._resets.add(task)
            task.add_done_callback(self._resets.discard)

    def _reset_by_policy(self, state: AssignedPartition) -> None:
        earliest = self.options.auto_offset_reset == EARLIEST
        state.reset(EARLIEST_TIMESTAMP if earliest else LATEST_TIMESTAMP)

    async def _reset_now(self, states: list[AssignedPartition]) -> None:
        asked = {state.topic_partition: state.reset_to for state in states if state.reset_to is not None}
        generations = {state.topic_partition: state.generation for state in states}
        try:
            found = await self._lookup.lookup(asked, self.options.default_api_timeout_ms)
            for state in states:
                partition = state.topic_partition
                answer = found.get(partition)
                if answer is None or state.generation != generations[partition]:
                    continue
                _log.info("Resetting offset for partition %s to offset %d.", partition, answer.offset)
                state.seek(answer.offset)
                state.offset_epoch = answer.leader_epoch
        except ClientTimeout as error:
            _log.warning("%s", error)
        except KafkaError as error:
            self._reset_error = error
        finally:
            for state in states:
                state.resetting = False
            self._news.set()
        self._fetcher.step()

    # Look-ups

    def _timeout_ms(self, timeout: float | None) -> float:
        return self.options.default_api_timeout_ms if timeout is None else timeout * 1000

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Per partition the first record at or after a time (ms UTC); None where there is none."""
        for partition, timestamp in timestamps.items():
            if timestamp < 0:
                raise ValueError(
                    f"The target time for partition {partition} is {timestamp}. The target time cannot be negative."
                )
        return await self._look_up(timestamps, timeout)

    async def beginning_offsets(
        self, partitions: Collection[TopicPartition], timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """The offset of the first record still there."""
        return await self._ends(partitions, EARLIEST_TIMESTAMP, timeout)

    async def end_offsets(
        self, partitions: Collection[TopicPartition], timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """The offset of the record to come next; with read_committed, of the first that is not yet stable."""
        return await self._ends(partitions, LATEST_TIMESTAMP, timeout)

    async def _ends(
        self, partitions: Collection[TopicPartition], timestamp: int, timeout: float | None
    ) -> dict[TopicPartition, int]:
        found = await self._look_up(dict.fromkeys(partitions, timestamp), timeout)
        return {partition: answer.offset for partition, answer in found.items() if answer is not None}

    async def _look_up(
        self, timestamps: Mapping[TopicPartition, int], timeout: float | None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        self._ensure_started()
        topics = {partition.topic for partition in timestamps}
        self._want(topics)
        try:
            return await self._lookup.lookup(timestamps, self._timeout_ms(timeout))
        finally:
            self._unwant(topics)

    def _want(self, topics: Collection[str]) -> None:
        for topic in topics:
            self._also_wanted[topic] = self._also_wanted.get(topic, 0) + 1

    def _unwant(self, topics: Collection[str]) -> None:
        for topic in topics:
            self._also_wanted[topic] -= 1
            if not self._also_wanted[topic]:
                del self._also_wanted[topic]

    async def partitions_for(self, topic: str, timeout: float | None = None) -> list[PartitionInfo]:
        """The topic's partitions; empty when there is no such topic.

        Raises KafkaError for a topic that may not be seen or has an impossible name, ClientTimeout.
        """
        self._ensure_started()
        deadline_ms = self._clock.monotonic_ms() + self._timeout_ms(timeout)
        self._want([topic])
        try:
            at_once = True
            while True:
                info = self._cluster.view.topics.get(topic)
                if info is not None and info.error is ErrorCode.NONE:
                    return list(info.partitions)
                left_ms = max(0.0, deadline_ms - self._clock.monotonic_ms())
                view = await self._cluster.refresh(left_ms, at_once=at_once)
                at_once = False
                info = view.topics.get(topic)
                if info is None or info.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    return []
                if info.error is not ErrorCode.NONE and not info.error.retriable:
                    raise KafkaError(info.error, f"topic {topic}: {info.error.meaning}")
        finally:
            self._unwant([topic])

    async def list_topics(self, timeout: float | None = None) -> dict[str, list[PartitionInfo]]:
        """All topics and their partitions."""
        self._ensure_started()
        self._all_wanted += 1
        try:
            view = await self._cluster.refresh(self._timeout_ms(timeout), at_once=True)
        finally:
            self._all_wanted -= 1
        return {name: list(info.partitions) for name, info in view.topics.items() if info.error is ErrorCode.NONE}

    def lag(self, partition: TopicPartition) -> int | None:
        """Records between the position and the end, as of the last fetch; None before the first."""
        state = self._subscriptions.of(partition)
        end = state.last_stable_offset if self.options.reads_committed else state.high_watermark
        return None if end is None or state.position is None else max(0, end - state.position)

    # End

    async def close(self) -> None:
        """Lets go of everything; may be called again."""
        if self._closed:
            return
        self._closed = True
        if self._started:
            self._fetcher.close()
            for task in list(self._resets):
                task.cancel()
            await self._cluster.close()

    async def __aenter__(self) -> Self:
        self._ensure_started()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
