"""Looks up offsets by timestamp, log start and end offsets, with ListOffsets requests to the partitions' leaders.

Partitions without leader, or whose leader has changed, are retried until the caller's time-out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import CONSUMER_REPLICA_ID, TopicPartition
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.consumer.configs import ConsumerOptions
from kafka_py.clients.consumer.fetching.records import OffsetAndTimestamp
from kafka_py.clients.errors import ClientTimeout, error_code
from kafka_py.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

Found = dict[TopicPartition, OffsetAndTimestamp | None]
"""None: there is no record at or after the timestamp."""


class ListOffsetsLookup:
    """Looks up the offsets of many partitions with one request per leader."""

    def __init__(self, options: ConsumerOptions, cluster: Cluster) -> None:
        self._options = options
        self._cluster = cluster
        self._isolation = int(options.reads_committed)

    async def lookup(self, timestamps: Mapping[TopicPartition, int], timeout_ms: float) -> Found:
        """The offsets at these timestamps (-1: latest, -2: earliest).

        Raises ClientTimeout that names the missing partitions, KafkaError that is not retriable.
        """
        found: Found = {}
        clock = self._cluster.clock
        deadline_ms = clock.monotonic_ms() + timeout_ms
        problem: KafkaError | None = None
        while True:
            missing = {partition: at for partition, at in timestamps.items() if partition not in found}
            if not missing:
                return found
            by_leader, problem = self._by_leader(missing, problem)
            left_ms = deadline_ms - clock.monotonic_ms()
            if left_ms <= 0:
                names = ", ".join(str(partition) for partition in sorted(missing))
                raise ClientTimeout(f"offsets of {names} were not found within {timeout_ms:.0f} ms: {problem}")
            answers = await asyncio.gather(
                *(self._ask(node_id, part, found, left_ms) for node_id, part in by_leader.items())
            )
            problem = next((each for each in answers if each is not None), problem)
            if len(found) < len(timestamps):
                await self._before_retry(max(0.0, deadline_ms - clock.monotonic_ms()))

    def _by_leader(
        self, missing: Mapping[TopicPartition, int], problem: KafkaError | None
    ) -> tuple[dict[int, dict[TopicPartition, int]], KafkaError | None]:
        by_leader: dict[int, dict[TopicPartition, int]] = {}
        for partition, timestamp in missing.items():
            try:
                leader = self._cluster.leader_of(partition)
            except KafkaError as error:
                problem = error
                self._refuse_fatal_topic(partition)
            else:
                by_leader.setdefault(leader.id, {})[partition] = timestamp
        return by_leader, problem

    def _refuse_fatal_topic(self, partition: TopicPartition) -> None:
        info = self._cluster.view.topics.get(partition.topic)
        if info is not None and info.error is not ErrorCode.NONE and not info.error.retriable:
            raise KafkaError(info.error, f"topic {partition.topic}: {info.error.meaning}")

    async def _before_retry(self, left_ms: float) -> None:
        try:
            await self._cluster.refresh(min(left_ms, self._options.request_timeout_ms))
        except ClientTimeout:
            return

    async def _ask(
        self, node_id: int, timestamps: dict[TopicPartition, int], found: Found, timeout_ms: float
    ) -> KafkaError | None:
        """Adds the offsets that one leader returns to `found`; returns an error that is to be retried."""
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                response = await self._cluster.send(node_id, self._request(timestamps))
        except TimeoutError:
            return KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"broker {node_id} did not respond")
        except KafkaError as error:
            if not error.retriable and error.code is not ErrorCode.BROKER_NOT_AVAILABLE:
                raise
            return error
        problem: KafkaError | None = None
        for topic in response.topics:
            for answer in topic.partitions:
                partition = TopicPartition(topic.name, answer.partition_index)
                code = error_code(answer.error_code)
                if code is ErrorCode.NONE:
                    found[partition] = (
                        OffsetAndTimestamp(answer.offset, answer.timestamp, answer.leader_epoch)
                        if answer.offset >= 0
                        else None
                    )
                elif code.retriable:
                    problem = KafkaError(code, f"{partition}: {code.meaning}")
                else:
                    raise KafkaError(code, f"{partition}: {code.meaning}")
        return problem

    def _request(self, timestamps: dict[TopicPartition, int]) -> ListOffsetsRequest:
        topics: dict[str, list[ListOffsetsPartition]] = {}
        for (topic, number), timestamp in timestamps.items():
            info = self._cluster.view.partition(TopicPartition(topic, number))
            topics.setdefault(topic, []).append(
                ListOffsetsPartition(
                    partition_index=number,
                    current_leader_epoch=info.leader_epoch if info is not None else -1,
                    timestamp=timestamp,
                )
            )
        return ListOffsetsRequest(
            replica_id=CONSUMER_REPLICA_ID,
            isolation_level=self._isolation,
            topics=[ListOffsetsTopic(name=name, partitions=partitions) for name, partitions in topics.items()],
        )
