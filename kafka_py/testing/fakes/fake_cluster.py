"""A cluster of pretend brokers in one process: enough of the protocol to test clients against, and scripted failures.

Speaks the real wire format over real sockets on 127.0.0.1, keeps batches in lists, and answers at once. What a broker
must check (sequences of idempotent producers, offsets out of range) is checked in the simplest way that is right.
A test scripts trouble with `fail`: the next requests of an API are answered with an error, not at all, or by a cut
connection. Not a broker: no files, no replication, no ZooKeeper.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.records.batch import BatchHeader, decode_records, read_header, stamp_offset
from kafka_py.testing.fakes.fake_answers import ANSWERS
from kafka_py.testing.fakes.fake_groups import FakeGroup
from kafka_py.testing.fakes.fake_transactions import FakeTransactions
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.compiler import decode
from kafka_py.wire.frames import encode_response, read_request_header, split_frames

HANG = "hang"
"""The request is done, but never answered."""
CUT = "cut"
"""The connection is closed instead of doing the request."""
CUT_AFTER = "cut after"
"""The request is done, and the connection is closed instead of answering."""

Trouble = ErrorCode | str | Callable[[Any], Any]
"""An error for every item of the answer, one of the words above, or a function from the request to the answer."""


@dataclass
class FakeProducerState:
    """What a leader remembers of an idempotent producer: its epoch, the next sequence, its last five batches."""

    epoch: int
    next_sequence: int
    recent: deque[tuple[int, int, int]] = field(default_factory=lambda: deque(maxlen=5))

    def check(self, header: BatchHeader, base_offset: int) -> tuple[ErrorCode, int | None]:
        """(error, None) for a batch to append or refuse, (NONE, its offset) for one that is there already."""
        for first, last, offset in self.recent:
            if (header.base_sequence, header.last_sequence) == (first, last):
                return ErrorCode.NONE, offset
        if header.producer_epoch < self.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH, None
        if header.base_sequence != self.next_sequence:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, None
        self.next_sequence = (header.last_sequence + 1) & 0x7FFFFFFF
        self.recent.append((header.base_sequence, header.last_sequence, base_offset))
        return ErrorCode.NONE, None


@dataclass
class FakePartition:
    """One log: stamped batches, where it begins and ends, and what it remembers of producers."""

    leader: int
    leader_epoch: int = 0
    start_offset: int = 0
    end_offset: int = 0
    batches: list[bytes] = field(default_factory=list)
    producers: dict[int, FakeProducerState] = field(default_factory=dict)
    aborted: list[tuple[int, int]] = field(default_factory=list)
    last_stable_offset: int | None = None
    open: dict[int, int] = field(default_factory=dict)
    """Where the open transaction of each producer begins."""

    def append(self, records: Any) -> tuple[ErrorCode, int]:
        """(error, base offset) of one produced batch."""
        batch = bytearray(records)
        header = read_header(batch)
        base_offset = self.end_offset
        if header.has_producer_id and header.base_sequence >= 0:
            state = self.producers.get(header.producer_id)
            if state is None or header.producer_epoch > state.epoch:
                first = header.base_sequence if state is None else 0
                state = self.producers[header.producer_id] = FakeProducerState(header.producer_epoch, first)
            error, old_offset = state.check(header, base_offset)
            if error is not ErrorCode.NONE or old_offset is not None:
                return error, -1 if old_offset is None else old_offset
        stamp_offset(batch, 0, base_offset, self.leader_epoch)
        self.batches.append(bytes(batch))
        self.end_offset = base_offset + header.last_offset_delta + 1
        if header.is_transactional and not header.is_control:
            self.open.setdefault(header.producer_id, base_offset)
        return ErrorCode.NONE, base_offset

    def end_transaction(self, marker: bytes, producer_id: int, *, committed: bool) -> None:
        """Appends a marker; what is aborted is known from then on."""
        self.append(marker)
        header = read_header(marker)
        state = self.producers.get(producer_id)
        if state is not None and state.epoch < header.producer_epoch:
            self.producers[producer_id] = FakeProducerState(header.producer_epoch, 0)
        first = self.open.pop(producer_id, None)
        if first is not None and not committed:
            self.aborted.append((producer_id, first))

    @property
    def stable_offset(self) -> int:
        """Where the first open transaction begins, or the end; what a test has set comes before that."""
        if self.last_stable_offset is not None:
            return self.last_stable_offset
        return min(self.open.values(), default=self.end_offset)

    def read(self, offset: int, max_bytes: int, up_to_offset: int | None = None) -> bytes:
        """Whole batches from the one that holds `offset` on, at least one, and before `up_to_offset`."""
        out = b""
        for batch in self.batches:
            header = read_header(batch)
            if up_to_offset is not None and header.base_offset >= up_to_offset:
                break
            if header.last_offset >= offset:
                if out and len(out) + len(batch) > max_bytes:
                    break
                out += batch
        return out

    def values(self) -> list[bytes | None]:
        """The values of all records, for comparisons."""
        return [record.value for batch in self.batches for record in decode_records(batch)]


class FakeCluster:
    """`brokers` pretend brokers in a thread of their own. Use it as a context manager.

    requests: what came in: (node id, request). versions: newest version to offer, by API, where it is not ours.
    """

    def __init__(self, brokers: int = 1, versions: dict[ApiKey, int] | None = None) -> None:
        self.cluster_id = "fake-cluster"
        self.controller_id = 0
        self.partitions: dict[TopicPartition, FakePartition] = {}
        self.topic_ids: dict[str, uuid.UUID] = {}
        self.groups: dict[str, FakeGroup] = {}
        self.transactions = FakeTransactions()
        self.requests: list[tuple[int, Any]] = []
        self.auto_create_partitions = 0
        self.versions = versions or {}
        self.ports: dict[int, int] = {}
        self._brokers = brokers
        self._troubles: dict[ApiKey, deque[Trouble]] = defaultdict(deque)
        self._next_producer_id = 1000
        self._appended = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._servers: dict[int, asyncio.Server] = {}
        self._open: dict[int, set[asyncio.StreamWriter]] = defaultdict(set)
        self._thread = threading.Thread(target=self._run, name="fake-cluster", daemon=True)
        self.configs: dict[tuple[int, str], dict[str, str]] = defaultdict(dict)

    # ---- the world around it

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    def __enter__(self) -> FakeCluster:
        self._thread.start()
        for node_id in range(self._brokers):
            self.start_broker(node_id)
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def _call(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10)

    async def _stop(self) -> None:
        for node_id in list(self._servers):
            await self._stop_broker(node_id)
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def start_broker(self, node_id: int) -> None:
        """Begins to listen, on the port the broker had before if it had one."""
        self._call(self._start_broker(node_id))

    async def _start_broker(self, node_id: int) -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._serve(node_id, reader, writer)

        server = await asyncio.start_server(serve, "127.0.0.1", self.ports.get(node_id, 0))
        self._servers[node_id] = server
        self.ports[node_id] = server.sockets[0].getsockname()[1]

    def stop_broker(self, node_id: int) -> None:
        """Stops listening and cuts the broker's connections."""
        self._call(self._stop_broker(node_id))

    async def _stop_broker(self, node_id: int) -> None:
        server = self._servers.pop(node_id)
        server.close()
        for writer in list(self._open[node_id]):
            writer.transport.abort()

    def is_up(self, node_id: int) -> bool:
        return node_id in self._servers

    def create_topic(self, name: str, partitions: int = 1) -> None:
        """A topic whose leaders go round the brokers."""
        self.topic_ids.setdefault(name, uuid.uuid4())
        for number in range(partitions):
            self.partitions.setdefault(TopicPartition(name, number), FakePartition(leader=number % self._brokers))

    def move_leader(self, topic: str, partition: int, leader: int) -> None:
        """Another broker leads from now on, under the next leader epoch."""
        state = self.partitions[TopicPartition(topic, partition)]
        state.leader = leader
        state.leader_epoch += 1

    def group_for(self, name: str, node_id: int, error: ErrorCode) -> tuple[ErrorCode, FakeGroup]:
        """(error, group), which is made when there is none."""
        group = self.groups.setdefault(name, FakeGroup(protocol_type="", coordinator=node_id))
        return error or (ErrorCode.NONE if group.coordinator == node_id else ErrorCode.NOT_COORDINATOR), group

    def fail(self, api: ApiKey, *troubles: Trouble) -> None:
        """The next requests of an API meet these troubles, one each."""
        self._troubles[api].extend(troubles)

    def next_trouble(self, api: ApiKey) -> Trouble | None:
        """What the next request of an API meets."""
        troubles = self._troubles[api]
        return troubles.popleft() if troubles else None

    def log(self, topic: str, partition: int = 0) -> FakePartition:
        return self.partitions[TopicPartition(topic, partition)]

    def count(self, request: type) -> int:
        """How many requests of a class came in."""
        return sum(isinstance(each, request) for _, each in self.requests)

    # ---- serving

    async def _serve(self, node_id: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received = bytearray()
        self._open[node_id].add(writer)
        try:
            while data := await reader.read(1 << 16):
                received += data
                for frame in split_frames(received):
                    if not await self._answer(node_id, frame, writer):
                        return
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._open[node_id].discard(writer)
            writer.close()

    async def _answer(self, node_id: int, frame: bytearray, writer: asyncio.StreamWriter) -> bool:
        """Does one request; False when the connection is to be closed."""
        header, position = read_request_header(frame)
        api, version = APIS[header.api_key], header.api_version
        error = ErrorCode.NONE
        if api.key is ApiKey.API_VERSIONS and version > self.max_version(api.key):
            error, version = ErrorCode.UNSUPPORTED_VERSION, 0
            request: Any = api.request()
        else:
            request = decode(api.request, version, frame, position)
        self.requests.append((node_id, request))
        trouble = self.next_trouble(api.key) or error
        if trouble == CUT:
            return False
        if callable(trouble):
            response = trouble(request)
        else:
            error = trouble if isinstance(trouble, ErrorCode) else ErrorCode.NONE
            if api.key is ApiKey.FETCH and error is ErrorCode.NONE:
                await self._wait_for_data(request)
            response = ANSWERS[api.key](self, node_id, request, error)
        if trouble == CUT_AFTER:
            return False
        if trouble == HANG or (api.key is ApiKey.PRODUCE and request.acks == 0):
            return True
        writer.write(b"".join(encode_response(response, version, header.correlation_id)))  # type: ignore[arg-type]
        return True

    def max_version(self, key: ApiKey) -> int:
        return self.versions.get(key, APIS[key].max_version)

    async def _wait_for_data(self, request: Any) -> None:
        """The long poll of a fetch: until something can be read, or max_wait_ms."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + request.max_wait_ms / 1000
        while not self.has_news(request):
            remaining = deadline - loop.time()
            if remaining <= 0 or not request.topics:
                return
            self._appended.clear()
            try:
                async with asyncio.timeout(remaining):
                    await self._appended.wait()
            except TimeoutError:
                return

    def has_news(self, request: Any) -> bool:
        """Whether a fetch has something to say of a partition: records, or an error."""
        for topic in request.topics:
            for each in topic.partitions:
                state = self.partitions.get(TopicPartition(topic.topic, each.partition))
                end = -1 if state is None else state.stable_offset if request.isolation_level else state.end_offset
                if each.fetch_offset != end:
                    return True
        return False

    def note_append(self) -> None:
        """Wakes the fetches that wait."""
        self._appended.set()

    def next_producer_id(self) -> int:
        self._next_producer_id += 1
        return self._next_producer_id
