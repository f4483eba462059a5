"""What the clients' own work costs with few and with many partitions: CPU per record sent, and per fetch answered.

    python -m benchmarks.many_partitions [--partitions 1,10,1000,10000] [--rounds N] [--only produce,fetch]

Producer and consumer run in this process on a wire that answers at once and does next to nothing, so the figures are
the clients' own. The producer sends single records to the partitions in turn; the consumer reads answers that carry one
batch of one record for ten of its partitions, as a broker with fetch sessions (KIP-227) gives them. The figures should
not grow with the number of partitions. Best of the rounds counts.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import struct
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import ZERO_UUID, TopicPartition
from kafka_py.clients import AsyncConsumer, AsyncProducer
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.clients.metadata import Node
from kafka_py.records.builder import BatchBuilder
from kafka_py.wire.apis import APIS
from kafka_py.wire.messages.fetch import FetchablePartitionResponse, FetchableTopicResponse, FetchRequest, FetchResponse
from kafka_py.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kafka_py.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_py.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)

TOPIC = "t"
NEWS = 10
"""Partitions with records in one answer to a fetch."""
RECORDS = 60_000
FETCHES = 2_000


def _one_record() -> bytes:
    builder = BatchBuilder()
    builder.append(1, None, b"x" * 100, ())
    return builder.build()


class Broker:
    """Answers what the two clients ask. It keeps one fetch session: the partitions asked for and their offsets."""

    def __init__(self, partitions: int) -> None:
        self.partitions = partitions
        self.offsets: dict[int, int] = {}
        self.in_turn: deque[int] = deque()
        self.fetches = 0
        self._record = _one_record()

    def answer(self, request: Any) -> Any:
        if isinstance(request, ProduceRequest):
            return self._produced(request)
        if isinstance(request, FetchRequest):
            return self._fetched(request)
        if isinstance(request, MetadataRequest):
            return self._metadata()
        answers = [
            ListOffsetsPartitionResponse(
                partition_index=each.partition_index, error_code=0, offset=0, timestamp=-1, leader_epoch=0
            )
            for each in request.topics[0].partitions
        ]
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name=TOPIC, partitions=answers)])

    def _metadata(self) -> MetadataResponse:
        partitions = [
            MetadataResponsePartition(
                error_code=0, partition_index=number, leader_id=0, leader_epoch=0, replica_nodes=[0], isr_nodes=[0]
            )
            for number in range(self.partitions)
        ]
        topic = MetadataResponseTopic(
            error_code=0, name=TOPIC, topic_id=ZERO_UUID, is_internal=False, partitions=partitions
        )
        broker = MetadataResponseBroker(node_id=0, host="h", port=1)
        return MetadataResponse(brokers=[broker], cluster_id="c", controller_id=0, topics=[topic])

    def _produced(self, request: ProduceRequest) -> ProduceResponse:
        return ProduceResponse(
            responses=[
                TopicProduceResponse(
                    name=topic.name,
                    partition_responses=[
                        PartitionProduceResponse(index=each.index, error_code=0, base_offset=0)
                        for each in topic.partition_data
                    ],
                )
                for topic in request.topic_data
            ]
        )

    def _fetched(self, request: FetchRequest) -> FetchResponse:
        self.fetches += 1
        for topic in request.topics:
            for each in topic.partitions:
                if each.partition not in self.offsets:
                    self.in_turn.append(each.partition)
                self.offsets[each.partition] = each.fetch_offset
        answers: list[FetchablePartitionResponse] = []
        forgotten = {number for topic in request.forgotten_topics_data for number in topic.partitions}
        for number in forgotten:
            self.offsets.pop(number, None)
        while self.in_turn and len(answers) < min(NEWS, len(self.offsets)):
            number = self.in_turn.popleft()
            if number in self.offsets:
                answers.append(self._news_of(number))
        self.in_turn.extend(each.partition for each in answers)
        response = FetchableTopicResponse(topic=TOPIC, partition_responses=answers)
        return FetchResponse(error_code=ErrorCode.NONE, session_id=7, responses=[response])

    def _news_of(self, number: int) -> FetchablePartitionResponse:
        offset = self.offsets[number]
        records = bytearray(self._record)
        struct.pack_into(">q", records, 0, offset)
        return FetchablePartitionResponse(
            partition=number, error_code=0, high_watermark=offset + 5, last_stable_offset=offset + 5,
            log_start_offset=0, record_set=memoryview(records),
        )  # fmt: skip


class Wire:
    """One connection to the broker, as the clients use it; answers come a turn of the loop later."""

    def __init__(self, broker: Broker) -> None:
        self.closed = False
        self.versions = dict.fromkeys(APIS, (0, 100))
        self.unsent_bytes = self.last_request_size = self.bytes_received = self.in_flight = 0
        self._broker = broker

    def send_nowait(self, request: Any, version: int) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self.in_flight += 1
        loop.call_soon(self._answer, request, future)
        return future

    def _answer(self, request: Any, future: asyncio.Future[Any]) -> None:
        self.in_flight -= 1
        if not future.done():
            future.set_result(self._broker.answer(request))

    def close(self, reason: str = "") -> None:
        self.closed = True


def _environment(broker: Broker) -> ClientEnvironment:
    """Of a client that is connected to the broker, whichever node it looks for."""

    async def connect(_node: Node, _timeout_ms: float) -> Any:
        return Wire(broker)

    return ClientEnvironment(connect=connect)


async def produce(partitions: int) -> float:
    """Microseconds of CPU per record sent and acknowledged."""
    settings = {"bootstrap.servers": "h:1", "linger.ms": 5, "buffer.memory": 1 << 30, "enable.idempotence": "false"}
    async with AsyncProducer(settings, environment=_environment(Broker(partitions))) as producer:
        await producer.partitions_for(TOPIC)
        value = b"x" * 100
        begun = time.process_time()
        for number in range(RECORDS):
            await producer.send(TOPIC, value, partition=number % partitions)
        await producer.flush()
        return (time.process_time() - begun) / RECORDS * 1e6


async def fetch(partitions: int) -> float:
    """Microseconds of CPU per fetch answered and handed out."""
    broker = Broker(partitions)
    settings = {"bootstrap.servers": "h:1", "auto.offset.reset": "earliest"}
    async with AsyncConsumer(settings, environment=_environment(broker)) as consumer:
        await consumer.assign([TopicPartition(TOPIC, number) for number in range(partitions)])
        while broker.fetches < 20:
            await consumer.poll(1.0)
        begun, first = time.process_time(), broker.fetches
        while broker.fetches < first + FETCHES:
            await consumer.poll(1.0)
        return (time.process_time() - begun) / FETCHES * 1e6


CASES: dict[str, Callable[[int], Coroutine[Any, Any, float]]] = {"produce": produce, "fetch": fetch}
UNITS = {"produce": "record", "fetch": "answer"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", default="1,10,1000,10000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="produce,fetch")
    options = parser.parse_args()
    print("| client | partitions | CPU µs | per |\n|---|---:|---:|---|")
    for name in options.only.split(","):
        for partitions in map(int, options.partitions.split(",")):
            best = float("inf")
            for _ in range(options.rounds):
                gc.collect()
                best = min(best, asyncio.run(CASES[name](partitions)))
            print(f"| {name} | {partitions:,} | {best:.2f} | {UNITS[name]} |", flush=True)


if __name__ == "__main__":
    main()
