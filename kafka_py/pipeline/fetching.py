"""A range of one partition, read straight from its leader: runs in Spark's executors.

The next fetch is on its way while the last answer is decoded. Whole answers become columns (records/columns.py); a
record never becomes an object. Control records are left out, and for read-committed readers what aborted
transactions wrote.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import CONSUMER_REPLICA_ID, EARLIEST_TIMESTAMP
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.errors import error_code
from kafka_py.net.connection_failures import ConnectionLost
from kafka_py.pipeline.links import Link
from kafka_py.pipeline.planning import DataLoss
from kafka_py.pipeline.ranges import OffsetRange
from kafka_py.records.batch import BatchHeader, Buffer, CorruptBatch, decode_records, iter_headers, verify_crc
from kafka_py.records.columns import Columns, decode_columns
from kafka_py.records.control import ControlType, read_control_type
from kafka_py.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic

_log = logging.getLogger(__name__)

MOST_RECORDS = 65_536
MOST_BYTES = 8 * 1024 * 1024
MOST_COMPRESSED_BYTES = 512 * 1024
"""What is decoded at once: enough to make array operations worth it, little enough for a small executor."""

RETRY_PAUSE_S = 0.1

UNKNOWN_FOR_S = 10.0
"""How long brokers must deny without a break that the partition exists before its records count as lost."""

_UNKNOWN = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})


class RangeReader:
    """Reads one range.

    timeout_ms: how long it keeps trying without getting anything. fail_on_data_loss: what to do where offsets are gone.
    """

    def __init__(
        self, link: Link, wanted: OffsetRange, *, fetch_bytes: int, timeout_ms: int, fail_on_data_loss: bool
    ) -> None:
        self._link = link
        self._wanted = wanted
        self._fetch_bytes = fetch_bytes
        self._timeout_s = timeout_ms / 1000
        self._fail_on_data_loss = fail_on_data_loss
        self._offset = wanted.start
        self._failure: KafkaError | None = None
        self._deadline = 0.0
        self._unknown_since: float | None = None
        self._replica: int | None = None
        self._replica_until = 0.0
        self._aborted: deque[tuple[int, int]] = deque()
        self._aborting: set[int] = set()

    def __iter__(self) -> Iterator[Columns]:
        """The records, in chunks. Raises KafkaError naming the partition and the offset."""
        end = self._wanted.end
        pending: asyncio.Future[Any] | None = None
        self._put_off_deadline()
        while self._offset < end:
            answer = self._take_answer(pending)
            pending = None
            buffer: Buffer = (answer.record_set if answer is not None else None) or b""
            batches = self._batches(buffer)
            if not batches:
                self._check_deadline()
                continue
            first, self._offset = self._offset, max(self._offset, batches[-1][1].next_offset)
            self._note_aborted(answer.aborted_transactions or ())
            if self._offset < end:
                pending = self._ask_ahead()
            yield from self._decoded(buffer, batches, first)
            self._put_off_deadline()

    def _put_off_deadline(self, waited_s: float = 0.0) -> None:
        """Records came, or the broker asked the reader to wait for `waited_s`: the time-out starts again."""
        self._deadline = time.monotonic() + waited_s + self._timeout_s

    # ---- asking

    def _ask_ahead(self) -> asyncio.Future[Any] | None:
        try:
            return self._link.run(self._ask())
        except KafkaError:
            return None  # asked again, and then it counts

    async def _ask(self) -> asyncio.Future[Any]:
        cluster = await self._link.cluster()
        partition = self._wanted.topic_partition
        if cluster.view.partition(partition) is None:
            await self._link.know([partition.topic])
        leader = cluster.leader_of(partition)
        info = cluster.view.partition(partition)
        assert info is not None
        options = self._link.options
        connection = await cluster.connection(self._node(cluster, leader.id))
        request = FetchRequest(
            replica_id=CONSUMER_REPLICA_ID,
            max_wait_ms=options.fetch_max_wait_ms,
            min_bytes=options.fetch_min_bytes,
            max_bytes=max(options.fetch_max_bytes, self._fetch_bytes),
            isolation_level=int(options.reads_committed),
            session_id=0,
            session_epoch=-1,
            topics=[
                FetchTopic(
                    topic=partition.topic,
                    partitions=[
                        FetchPartition(
                            partition=partition.partition,
                            current_leader_epoch=info.leader_epoch,
                            fetch_offset=self._offset,
                            partition_max_bytes=self._fetch_bytes,
                        )
                    ],
                )
            ],
            forgotten_topics_data=[],
            rack_id=options.client_rack,
        )
        return connection.send(request, timeout_ms=options.request_timeout_ms + options.fetch_max_wait_ms)

    def _node(self, cluster: Cluster, leader_id: int) -> int:
        """Whom to ask: the replica that the leader named for this client's rack (KIP-392), else the leader."""
        if self._replica is not None and (
            self._replica not in cluster.view.nodes or time.monotonic() > self._replica_until
        ):
            self._replica = None
        return leader_id if self._replica is None else self._replica

    def _take_answer(self, pending: asyncio.Future[Any] | None) -> Any:
        """The partition's part of an answer; None when it must be asked for again."""
        try:
            answer = self._link.run(self._answered(pending))
        except ConnectionLost as error:
            return self._again(KafkaError(ErrorCode.NETWORK_EXCEPTION, str(error)))
        except KafkaError as error:
            if error.retriable or error.code is ErrorCode.BROKER_NOT_AVAILABLE:
                return self._again(error)
            raise self._named(error.code, error.message) from error
        if answer is None:
            return None
        code = error_code(answer.error_code)
        if code is ErrorCode.NONE:
            self._unknown_since = None
            return self._at_preferred_replica(answer)
        if code is ErrorCode.OFFSET_OUT_OF_RANGE and self._replica is None:
            return self._skip_lost()
        if code is ErrorCode.CORRUPT_MESSAGE or not (code.retriable or self._replica is not None):
            raise self._named(code, code.meaning)
        return self._again(KafkaError(code, code.meaning))

    def _at_preferred_replica(self, answer: Any) -> Any:
        """The answer, or None where the leader names another replica to read from instead of sending records."""
        if answer.preferred_read_replica < 0 or answer.record_set:
            return answer
        self._replica = answer.preferred_read_replica
        self._replica_until = time.monotonic() + self._link.options.metadata_max_age_ms / 1000
        return None

    async def _answered(self, pending: asyncio.Future[Any] | None) -> Any:
        response = await (pending if pending is not None else await self._ask())
        code = error_code(response.error_code)
        if code is not ErrorCode.NONE:
            raise KafkaError(code, code.meaning)
        if response.responses:
            return response.responses[0].partition_responses[0]
        # Above a quota a broker answers without any partition (KIP-219); the connection waits before the next request.
        self._put_off_deadline(response.throttle_time_ms / 1000)
        if response.throttle_time_ms <= 0:
            await asyncio.sleep(RETRY_PAUSE_S)
        return None

    def _again(self, error: KafkaError) -> None:
        """Notes the failure and asks for metadata; the next request is sent to the leader."""
        self._failure = error
        self._replica = None
        if error.code not in _UNKNOWN:
            self._unknown_since = None
        elif self._unknown_since is None:
            self._unknown_since = time.monotonic()
        elif not self._fail_on_data_loss and time.monotonic() - self._unknown_since > UNKNOWN_FOR_S:
            partition = self._wanted.topic_partition
            _log.warning("%s does not exist; its offsets from %d to %d are skipped because failOnDataLoss is false",
                         partition, self._offset, self._wanted.end)  # fmt: skip
            self._offset = self._wanted.end
            return
        self._link.run(self._refreshed())

    async def _refreshed(self) -> None:
        await asyncio.sleep(RETRY_PAUSE_S)
        try:
            await (await self._link.cluster()).refresh(1_000, at_once=True)
        except KafkaError as error:
            self._failure = error

    def _check_deadline(self) -> None:
        if self._offset < self._wanted.end and time.monotonic() > self._deadline:
            because = f": {self._failure}" if self._failure is not None else ""
            code = ErrorCode.REQUEST_TIMED_OUT
            raise self._named(code, f"nothing came within kafkaConsumer.pollTimeoutMs{because}")

    def _named(self, code: ErrorCode, why: str) -> KafkaError:
        where = f"{self._wanted.topic_partition} at offset {self._offset}"
        return KafkaError(code, f"reading {where} (range {self._wanted.start} to {self._wanted.end}): {why}")

    def _skip_lost(self) -> None:
        """Continues at the start of the partition."""
        partition = self._wanted.topic_partition
        first = self._link.ends([partition], EARLIEST_TIMESTAMP).get(partition, self._wanted.end)
        lost = f"{partition}: offsets from {self._offset} on are gone, the first there is is {first}"
        if self._fail_on_data_loss:
            raise DataLoss(lost)
        _log.warning("%s; continued there, because failOnDataLoss is false", lost)
        self._offset = first if first > self._offset else self._wanted.end

    # ---- decoding

    def _batches(self, buffer: Buffer) -> list[tuple[int, BatchHeader]]:
        try:
            return list(iter_headers(buffer))
        except CorruptBatch as error:
            raise self._named(ErrorCode.CORRUPT_MESSAGE, str(error)) from error

    def _decoded(self, buffer: Buffer, batches: list[tuple[int, BatchHeader]], first: int) -> Iterator[Columns]:
        check = self._link.options.check_crcs
        wanted = self._wanted
        try:
            for group in grouped(self._visible(buffer, batches)):
                if check:
                    for position, header in group:
                        verify_crc(buffer, position, header)
                columns = decode_columns(buffer, group).between(first, wanted.end)
                if columns.record_count:
                    yield columns
        except CorruptBatch as error:
            self._offset = first
            raise self._named(ErrorCode.CORRUPT_MESSAGE, str(error)) from error

    def _note_aborted(self, transactions: Iterable[Any]) -> None:
        found = {(each.first_offset, each.producer_id) for each in transactions}
        self._aborted = deque(sorted(found))
        self._aborting = set()  # each answer names all it needs; a marker may be in offsets that were skipped

    def _visible(
        self, buffer: Buffer, batches: list[tuple[int, BatchHeader]]
    ) -> Iterator[tuple[int, BatchHeader]]:
        """Batches with records for the reader."""
        committed = self._link.options.reads_committed
        for position, header in batches:
            if committed and header.has_producer_id and self._is_aborted(buffer, position, header):
                continue
            if not header.is_control and header.record_count and header.base_offset < self._wanted.end:
                yield position, header

    def _is_aborted(self, buffer: Buffer, position: int, header: BatchHeader) -> bool:
        """Whether an aborted transaction wrote the batch; keeps track of which producers are in one."""
        while self._aborted and self._aborted[0][0] <= header.last_offset:
            self._aborting.add(self._aborted.popleft()[1])
        if header.is_control:
            marker = next(iter(decode_records(buffer, position, header=header)), None)
            if marker is not None and read_control_type(marker) is ControlType.ABORT:
                self._aborting.discard(header.producer_id)
            return False
        return header.is_transactional and header.producer_id in self._aborting


def grouped(batches: Iterable[tuple[int, BatchHeader]]) -> Iterator[list[tuple[int, BatchHeader]]]:
    """Batches in groups of a size that is good to decode at once."""
    group: list[tuple[int, BatchHeader]] = []
    records = size = 0
    for each in batches:
        header = each[1]
        group.append(each)
        records += max(1, header.record_count)
        size += header.batch_length * (MOST_BYTES // MOST_COMPRESSED_BYTES if header.codec_id else 1)
        if records >= MOST_RECORDS or size >= MOST_BYTES:
            yield group
            group, records, size = [], 0, 0
    if group:
        yield group
