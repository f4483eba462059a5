"""One producer on one event loop: puts cluster, accumulator and sender together, and waits for metadata and memory.

Producer and AsyncProducer (producer.py) are thin wrappers of this: they call `append`, from any thread, in the usual
case, and `send_waiting`, on the loop, when metadata or memory is missing.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Mapping
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.consumer.assignors.assignor import GroupMetadata
from kafka_py.clients.environment import SYSTEM, ClientEnvironment
from kafka_py.clients.errors import BufferExhausted, ClientTimeout, IllegalState
from kafka_py.clients.metadata import PartitionInfo
from kafka_py.clients.metrics import PRODUCER, ClientMetrics, MetricValues
from kafka_py.clients.offsets import OffsetAndMetadata
from kafka_py.clients.producer.accumulator import Accumulator
from kafka_py.clients.producer.arguments import as_bytes, as_headers, as_partition, as_timestamp
from kafka_py.clients.producer.batches import Callback, RecordFuture, settle
from kafka_py.clients.producer.buffer_pool import MemoryWaiter
from kafka_py.clients.producer.configs import ProducerOptions
from kafka_py.clients.producer.interceptors import ProducerRecord, interceptors_of
from kafka_py.clients.producer.metrics import ProducerMetrics
from kafka_py.clients.producer.sender import Sender
from kafka_py.clients.producer.transactions.appends import TransactionalAccumulator
from kafka_py.clients.producer.transactions.driver import PreparedTransaction, ProducerTransactionDriver
from kafka_py.clients.producer.transactions.identity import TransactionalIdentity
from kafka_py.clients.producer.transactions.manager import ProducerTransactions
from kafka_py.clients.serialization import closer, serializer
from kafka_py.records.builder import Data

_log = logging.getLogger(__name__)
_numbers = itertools.count(1)


class ProducerCore:
    """A producer without its public calls.

    threaded: records are appended from other threads than the loop's.
    """

    def __init__(
        self, properties: Mapping[str, Any], *, threaded: bool, environment: ClientEnvironment = SYSTEM
    ) -> None:
        self.options = ProducerOptions.load(properties)
        self.client_id = self.options.client_id or f"producer-{next(_numbers)}"
        self.key_serializer = serializer("key.serializer", self.options.key_serializer, properties)
        self.value_serializer = serializer("value.serializer", self.options.value_serializer, properties)
        self._environment = environment
        self.clock = environment.clock
        self._metrics = ClientMetrics(self.options, self.client_id, self.clock, PRODUCER)
        self._counts = ProducerMetrics(self._metrics, owner=self)
        self.interceptors = interceptors_of(self.options.interceptor_classes, properties, self.client_id)
        self._threaded = threaded
        self._closed = False
        self._asked_for: dict[str, float] = {}
        self.wake_pending = False
        self._loop: asyncio.AbstractEventLoop | None = None
        observer = None if self.interceptors is None else self.interceptors.on_answer
        make = Accumulator if self.options.transactional_id is None else TransactionalAccumulator
        self.accumulator = make(self.options, self.clock, environment.chance.generator(), self._wake, observer)
        self._identity: TransactionalIdentity | None = None
        self._transactions: ProducerTransactions | None = None
        self._driver: ProducerTransactionDriver | None = None
        if isinstance(self.accumulator, TransactionalAccumulator):
            self._prepare_transactions(self.accumulator)
        self.append = self.accumulator.append
        self.cluster: Cluster
        self.sender: Sender

    def _prepare_transactions(self, accumulator: TransactionalAccumulator) -> None:
        transactional_id = self.options.transactional_id
        assert transactional_id is not None
        identity = self._identity = TransactionalIdentity()
        self._transactions = identity.transactions = ProducerTransactions(
            transactional_id, self.options.transaction_timeout_ms, identity, self._wake_driver
        )
        accumulator.check = self._transactions.check_sending

    def _wake_driver(self) -> None:
        if self._driver is not None:
            self._driver.wake()

    def start(self) -> None:
        """Starts the producer on the running loop; later calls do nothing."""
        if self._loop is not None:
            return
        self._loop = asyncio.get_running_loop()
        self.cluster = Cluster(
            self.options,
            self.client_id,
            self._environment,
            wanted=self._wanted_topics,
            auto_create=True,
            metrics=self._metrics,
        )
        self.sender = Sender(self.options, self.cluster, self.accumulator, self._counts, self._identity)
        if self._transactions is not None:
            self._driver = ProducerTransactionDriver(self.options, self.cluster, self.sender, self._transactions)
        self.cluster.start()

    @property
    def requests_in_flight(self) -> int:
        """Produce requests that await their response."""
        return self.sender.requests_in_flight if self._loop is not None else 0

    @property
    def metadata_age_s(self) -> float:
        """Age of the metadata in use, in seconds; 0 before there is any."""
        fetched_ms = self.accumulator.view.fetched_ms
        return 0.0 if fetched_ms is None else (self.clock.monotonic_ms() - fetched_ms) / 1000

    def metrics(self) -> MetricValues:
        """The values of this producer's metrics, under Kafka's names."""
        return self._metrics.values()

    def note_refused(self) -> None:
        """Counts a record for which `send` raised; callable from any thread."""
        with self.accumulator.lock:
            self._counts.errors += 1

    def _wanted_topics(self) -> list[str]:
        now_ms = self.clock.monotonic_ms()
        for topic in self.accumulator.idle_topics(now_ms, self.options.metadata_max_idle_ms):
            if now_ms - self._asked_for.get(topic, now_ms) > self.options.metadata_max_idle_ms:
                del self._asked_for[topic]
                self.accumulator.topics.pop(topic, None)
        return list(self._asked_for)

    def _wake(self) -> None:
        if self.wake_pending or self._loop is None:
            return
        self.wake_pending = True
        call: Callable[..., object] = self._loop.call_soon_threadsafe if self._threaded else self._loop.call_soon
        try:
            call(self._step)
        except RuntimeError:
            raise IllegalState("the producer is closed") from None

    def _step(self) -> None:
        self.wake_pending = False
        self.sender.step()

    async def send_waiting(
        self, record: ProducerRecord, key: Data | None, value: Data | None, callback: Callback | None
    ) -> RecordFuture:
        """As `append`, but waits for metadata and memory, together up to max.block.ms.

        record: as the application passed it. key, value: its serialized key and value.
        Raises ClientTimeout or BufferExhausted after max.block.ms, KafkaError for a topic that cannot be written to,
        and immediately what `append` raises.
        """
        if self._transactions is not None:
            self._transactions.check_sending()
        key = None if key is None else as_bytes("key", key)
        value = None if value is None else as_bytes("value", value)
        topic = record.topic
        partition = None if record.partition is None else as_partition(record.partition)
        timestamp = None if record.timestamp is None else as_timestamp(record.timestamp)
        headers = None if record.headers is None else as_headers(record.headers)
        deadline_ms = self.clock.monotonic_ms() + self.options.max_block_ms
        grant: MemoryWaiter | None = None
        try:
            while True:
                await self.wait_for_topic(topic, partition, deadline_ms)
                chosen = partition
                if chosen is None and self.accumulator.has_own_partitioner:
                    chosen = self.accumulator.choose(topic, record.key, key, record.value, value)
                future = self.append(topic, key, value, chosen, timestamp, headers, callback, grant)
                if future is not None:
                    return future
                if grant is None and topic in self.accumulator.topics:
                    size = self.accumulator.memory_for(topic, key, value, headers)
                    grant = await self._wait_for_memory(size, deadline_ms)
        finally:
            if grant is not None:
                self.accumulator.withdraw(grant)

    async def _wait_for_memory(self, size: int, deadline_ms: float) -> MemoryWaiter:
        granted = asyncio.get_running_loop().create_future()
        began_ms = self.clock.monotonic_ms()
        waiter = self.accumulator.wait_for_memory(size, lambda: settle(granted))
        self.sender.step()
        try:
            async with asyncio.timeout(max(0.0, deadline_ms - self.clock.monotonic_ms()) / 1000):
                await granted
        except BaseException as error:
            self.accumulator.withdraw(waiter)
            if isinstance(error, TimeoutError):
                self._counts.exhausted += 1
                raise BufferExhausted(
                    f"{size} of the {self.options.buffer_memory} bytes of buffer.memory did not become free within "
                    f"max.block.ms, {self.options.max_block_ms} ms"
                ) from None
            raise
        finally:
            self._counts.memory_wait += int((self.clock.monotonic_ms() - began_ms) * 1e6)
        return waiter

    async def wait_for_topic(self, topic: str, partition: int | None, deadline_ms: float) -> None:
        """Waits until the metadata of the topic (and of the partition, if one is named) is known.

        Raises ClientTimeout at the deadline, KafkaError immediately for a topic that is invalid or not authorized,
        TypeError for a name that is not a string.
        """
        if not isinstance(topic, str):
            raise TypeError(f"the topic is a {type(topic).__name__}, not a str")
        started_ms = self.clock.monotonic_ms()
        is_new = topic not in self._asked_for
        if is_new:
            self._asked_for[topic] = started_ms
        while True:
            if self.accumulator.stopped is not None:
                raise self.accumulator.stopped
            topic_lanes = self.accumulator.topics.get(topic)
            if topic_lanes is not None and (partition is None or partition < topic_lanes.count):
                return
            info = self.cluster.view.topics.get(topic)
            if info is not None and info.error is not ErrorCode.NONE and not info.error.retriable:
                self._asked_for.pop(topic, None)
                raise KafkaError(info.error, f"topic {topic}: {info.error.meaning}")
            now_ms = self.clock.monotonic_ms()
            try:
                await self.cluster.refresh(max(0.0, deadline_ms - now_ms), at_once=is_new)
                is_new = False
            except ClientTimeout as error:
                waited_ms = self.clock.monotonic_ms() - started_ms
                if topic_lanes is not None:
                    missing = f"topic {topic} has {topic_lanes.count} partitions, and no partition {partition},"
                else:
                    missing = f"topic {topic} is still unknown"
                raise ClientTimeout(f"{missing} after {waited_ms:.0f} ms: {error}") from error

    async def partitions_for(self, topic: str) -> list[PartitionInfo]:
        """The topic's partitions and their leaders. Waits for metadata as `send` does, and raises the same errors."""
        self.start()
        await self.wait_for_topic(topic, None, self.clock.monotonic_ms() + self.options.max_block_ms)
        return list(self.cluster.view.topics[topic].partitions)

    # ---- transactions

    def _transactional(self) -> tuple[ProducerTransactionDriver, ProducerTransactions]:
        if self._transactions is None:
            raise IllegalState("the setting transactional.id is missing, without which there are no transactions")
        if self._closed:
            raise IllegalState("the producer is closed")
        self.start()
        assert self._driver is not None
        return self._driver, self._transactions

    async def init_transactions(self) -> None:
        """Registers the transactional id, once before all transactions (KIP-98).

        Fences older producers with the same transactional.id, and waits until a transaction of theirs has ended.
        Raises ClientTimeout after max.block.ms, TransactionFailed for what no repeat can cure, IllegalState without
        transactional.id.
        """
        await self._transactional()[0].init()

    async def resume_transactions(self, producer_id: int, epoch: int) -> None:
        """In place of init_transactions: takes the producer id and epoch that another process has had for this
        transactional.id, and fences nobody, also later on. At most one producer may do so with the same epoch, under
        which nobody may have written: sequences begin at 0, so a broker would take new records for repeated ones.

        Raises IllegalState without transactional.id, or after init_transactions.
        """
        self._transactional()[1].resume(producer_id, epoch)

    async def begin_transaction(self) -> None:
        """Opens a transaction: what is sent from now on takes effect with its commit, or never.

        Raises IllegalState before init_transactions or while one is open, ProducerFenced, TransactionFailed.
        """
        self._transactional()[1].begin()

    async def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int], group: GroupMetadata | str
    ) -> None:
        """Commits a group's offsets with the transaction: those of the next records to read.

        group: what `group_metadata` of the consumer returns, so that only its present member can commit (KIP-447), or
        the id of the group alone. The consumer itself must not commit: enable.auto.commit=false.
        Raises ClientTimeout after max.block.ms, TransactionFailed when the transaction has to be aborted.
        """
        made = {
            TopicPartition(*partition): each if isinstance(each, OffsetAndMetadata) else OffsetAndMetadata(each)
            for partition, each in offsets.items()
        }
        for partition, each in made.items():
            if each.offset < 0:
                raise ValueError(f"Invalid negative offset {each.offset} for {partition}")
        metadata = GroupMetadata(group) if isinstance(group, str) else group
        if metadata.generation_id > 0 and not metadata.member_id:
            raise ValueError(f"generation {metadata.generation_id} of group {metadata.group_id} without a member id")
        await self._transactional()[0].send_offsets(made, metadata)

    async def commit_transaction(self) -> None:
        """Waits until everything sent in the transaction is stored, and makes all of it visible.

        Raises TransactionFailed when a record or a request failed: then nothing is visible, and abort_transaction comes
        next if the error is `abortable`. Raises ClientTimeout after max.block.ms: then the commit is still under way,
        and another call waits for its end. Raises ProducerFenced, IllegalState.
        """
        await self._transactional()[0].commit()

    async def abort_transaction(self) -> None:
        """Ends the transaction with nothing of it visible; records not sent yet fail with TransactionAborted.

        Raises ClientTimeout as commit_transaction, TransactionFailed (such as ProducerFenced) after a fatal error.
        """
        await self._transactional()[0].abort()

    async def prepare_transaction(self) -> PreparedTransaction:
        """Stores all that was sent in the transaction and leaves it open, to be ended elsewhere; close() comes next.

        Whoever knows the id and the epoch can commit or abort it, until transaction.timeout.ms after its beginning.
        Raises TransactionFailed when a record or a request failed, IllegalState.
        """
        driver, transactions = self._transactional()
        assert self._identity is not None
        await driver.prepare()
        return PreparedTransaction(
            transactions.transactional_id, self._identity.producer_id, self._identity.epoch
        )

    # ---- the end

    async def close(self, timeout_s: float | None) -> None:
        """Sends what is queued, for up to `timeout_s` seconds (None: without limit), then stops."""
        if self._closed:
            return
        self._closed = True
        self.accumulator.stop(IllegalState("the producer is closed"))
        if self._loop is None:
            self._close_plugins()
            return
        deadline_ms = None if timeout_s is None else self.clock.monotonic_ms() + timeout_s * 1000
        try:
            if self._driver is not None:
                await self._driver.finish(timeout_s)
            if deadline_ms is not None:
                timeout_s = (deadline_ms - self.clock.monotonic_ms()) / 1000
            if timeout_s is None or timeout_s > 0:
                async with asyncio.timeout(timeout_s):
                    await self.sender.flush()
        except TimeoutError:
            pass
        finally:
            if self._driver is not None:
                self._driver.close()
            self.sender.close(KafkaError(ErrorCode.NETWORK_EXCEPTION, "the producer was closed before the response"))
            await self.cluster.close()
            self._close_plugins()

    def _close_plugins(self) -> None:
        """Closes interceptors, serializers and partitioner; what they raise is only logged."""
        if self.interceptors is not None:
            self.interceptors.close()
        for close in (
            closer(self.key_serializer),
            closer(self.value_serializer),
            getattr(self.accumulator.partitioner, "close", None),
        ):
            try:
                if close is not None:
                    close()
            except Exception:
                _log.warning("%r failed", close, exc_info=True)
