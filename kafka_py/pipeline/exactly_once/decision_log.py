"""The decision log: a compacted topic of one partition, read whole and appended to by an explicit producer epoch.

A record in a transaction counts when the transaction's commit marker follows it. The log is read up to the high
watermark, not the last stable offset, and markers are evaluated here: so open transactions of other prefixes do not
delay a reader. Kinds of records and their layout are in decisions.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import CONSUMER_REPLICA_ID, EARLIEST_TIMESTAMP, TopicPartition
from kafka_py.clients.admin.client import AdminClient
from kafka_py.clients.admin.topics import NewTopic
from kafka_py.clients.errors import error_code
from kafka_py.pipeline.exactly_once.decisions import Driver
from kafka_py.pipeline.links import Link
from kafka_py.records.batch import Buffer, decode_records, iter_headers, verify_crc
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.control import ControlType, read_control_type
from kafka_py.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

FETCH_BYTES = 4 * 1024 * 1024
FETCH_WAIT_MS = 500
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
ALL_REPLICAS = -1

TOPIC_CONFIGS = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.1",
    "segment.bytes": str(1024 * 1024),
    "segment.ms": str(3_600_000),
}
"""A log that stays small, for every batch reads it whole and adds a claim per task."""

Keyed = tuple[bytes | None, bytes | None]


def create_topic(settings: dict[str, str], topic: str) -> None:
    """Creates the topic, with the brokers' default number of replicas, unless it exists."""
    with AdminClient(settings) as admin:
        try:
            admin.create_topics([NewTopic(topic, 1, configs=TOPIC_CONFIGS)]).all()
        except KafkaError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise KafkaError(error.code, f"the decision log {topic} cannot be created: {error.message}") from error


class DecisionLog:
    """One partition. patience_s: how long a request is retried."""

    def __init__(self, link: Link, topic: str, *, patience_s: float) -> None:
        self._link = link
        self._partition = TopicPartition(topic, 0)
        self._patience_s = patience_s

    @property
    def partition(self) -> TopicPartition:
        return self._partition

    def is_known(self) -> bool:
        """Whether the broker that is asked has the topic in its metadata, as one that has just started has not."""
        topic = self._partition.topic
        info = self._link.run(self._link.know([topic])).topics.get(topic)
        return info is not None and info.error is ErrorCode.NONE

    def exists(self) -> bool:
        """Whether the topic is there, also where brokers do not know it for some seconds."""
        try:
            self._link.partitions_of([self._partition.topic])
        except KafkaError as error:
            if error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                return False
            raise
        return True

    def append(
        self, record: tuple[bytes, bytes | None], timestamp: int, driver: Driver | None = None,
        transactional_id: str | None = None,
    ) -> int:  # fmt: skip
        """The offset of the record, once all in-sync replicas have it.

        driver: whose epoch and sequence the record bears; None for a record of a task. transactional_id: of the
        driver's open transaction, where the record takes part in it.
        """
        builder = BatchBuilder(transactional=transactional_id is not None)
        if driver is not None:
            builder.producer_id, builder.producer_epoch, builder.base_sequence = driver
        builder.append(timestamp, *record)
        data = PartitionProduceData(index=self._partition.partition, records=builder.build())
        request = ProduceRequest(
            transactional_id=transactional_id, acks=ALL_REPLICAS, timeout_ms=self._link.options.request_timeout_ms,
            topic_data=[TopicProduceData(name=self._partition.topic, partition_data=[data])],
        )  # fmt: skip

        def offset_of(answer: Any) -> tuple[int, int]:
            part = answer.responses[0].partition_responses[0]
            return part.error_code, part.base_offset

        # A marker of this driver's last transaction may still be on its way: until then the record is refused.
        busy = frozenset({ErrorCode.INVALID_TXN_STATE}) if transactional_id is None else frozenset()
        return int(self._link.run(self._at_leader(self._partition, request, offset_of, busy)))

    def records(self, last: int, first: int | None = None) -> Iterator[Keyed]:
        """The records that count, from the offset `first` (None: the log's start) up to the offset `last`, in the order
        in which they came to count. Where the log's start moves past the offset that is to be read next, it continues
        there.
        """
        offset = self._start() if first is None else first
        committed = Committed()
        while offset <= last:
            try:
                answer = self._fetch(self._partition, offset, READ_UNCOMMITTED)
            except KafkaError as error:
                if error.code is not ErrorCode.OFFSET_OUT_OF_RANGE or (start := self._start()) <= offset:
                    raise
                offset = start
                continue
            yield from committed.of(answer.record_set)
            offset = max(header.next_offset for _, header in iter_headers(answer.record_set))

    def _start(self) -> int:
        """The log start offset."""
        return self._link.ends([self._partition], EARLIEST_TIMESTAMP)[self._partition]

    def was_committed(self, partition: TopicPartition, offset: int, producer_id: int) -> bool:
        """Whether the producer's record at this offset is there for read-committed consumers.

        Waits while other open transactions keep those from it. Raises KafkaError where the record is deleted.
        """
        unknown = f"whether the record at offset {offset} of {partition} was committed cannot be known: "
        try:
            answer = self._fetch(partition, offset, READ_COMMITTED)
        except KafkaError as error:
            raise KafkaError(error.code, f"{unknown}{error.message}") from error
        _, header = next(iter_headers(answer.record_set))
        if header.base_offset > offset or header.producer_id != producer_id:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"{unknown}it is deleted")
        aborted = answer.aborted_transactions or ()
        return not any(each.producer_id == producer_id and each.first_offset <= offset for each in aborted)

    def _fetch(self, partition: TopicPartition, offset: int, isolation: int) -> Any:
        """The partition's part of an answer that holds records."""
        wanted = FetchPartition(partition=partition.partition, fetch_offset=offset, partition_max_bytes=FETCH_BYTES)
        request = FetchRequest(
            replica_id=CONSUMER_REPLICA_ID, max_wait_ms=FETCH_WAIT_MS, min_bytes=1, max_bytes=FETCH_BYTES,
            isolation_level=isolation, session_id=0, session_epoch=-1,
            topics=[FetchTopic(topic=partition.topic, partitions=[wanted])], forgotten_topics_data=[],
        )  # fmt: skip

        def part_of(answer: Any) -> tuple[int, Any]:
            if answer.error_code or not answer.responses:
                return answer.error_code or int(ErrorCode.REQUEST_TIMED_OUT), None
            part = answer.responses[0].partition_responses[0]
            return part.error_code or (0 if part.record_set else int(ErrorCode.REQUEST_TIMED_OUT)), part

        return self._link.run(self._at_leader(partition, request, part_of))

    async def _at_leader(
        self, partition: TopicPartition, request: Any, result_of: Callable[[Any], tuple[int, Any]],
        busy: frozenset[ErrorCode] = frozenset(),
    ) -> Any:  # fmt: skip
        """The result of a request to the partition's leader, retried. result_of: from the answer to (code, result)."""

        async def once() -> Any:
            cluster = await self._link.cluster()
            if cluster.view.partition(partition) is None:
                await self._link.know([partition.topic])
            answer = await cluster.send(cluster.leader_of(partition).id, request)
            number, result = result_of(answer)
            code = error_code(number)
            if code is not ErrorCode.NONE:
                raise KafkaError(code, f"{partition}: {code.meaning}")
            return result

        async def refresh() -> None:
            await self._link.know([partition.topic])

        return await retried(once, refresh, busy, self._patience_s)


async def retried(
    once: Callable[[], Awaitable[Any]],
    refresh: Callable[[], Awaitable[object]],
    busy: frozenset[ErrorCode],
    patience_s: float,
    pause_s: float = 0.05,
) -> Any:
    """The result of `once`, called again after retriable errors and those of `busy`, so long."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience_s
    while True:
        try:
            return await once()
        except KafkaError as error:
            retriable = error.retriable or error.code in busy or error.code is ErrorCode.BROKER_NOT_AVAILABLE
            if not retriable or loop.time() > deadline:
                raise
            if error.code not in busy:
                await refresh()
        await asyncio.sleep(pause_s)


class Committed:
    """Takes batches of a log in their order, and gives the records that count: the others wait for their marker."""

    def __init__(self) -> None:
        self._open: dict[int, list[Keyed]] = {}

    def of(self, buffer: Buffer) -> Sequence[Keyed]:
        """The records that came to count with these batches."""
        found: list[Keyed] = []
        for position, header in iter_headers(buffer):
            verify_crc(buffer, position, header)
            records = decode_records(buffer, position, header=header)
            if header.is_control:
                waiting = self._open.pop(header.producer_id, []) if records else []
                if records and read_control_type(records[0]) is ControlType.COMMIT:
                    found += waiting
            else:
                keyed = [(each.key, each.value) for each in records]
                if header.is_transactional:
                    self._open.setdefault(header.producer_id, []).extend(keyed)
                else:
                    found += keyed
        return found
