"""kafka-replica-verification.sh: compares what the replicas of topics hold, batch by batch, until it is stopped.

Every replica is read as such, by its own broker (replica id -2, a debugging consumer). Offsets and checksums of the
batches below the high watermark must agree. Checksums are computed from what is read as well: Apache Kafka's tool
compares the stored ones, which remain equal where a disk has changed the records.
Source: docs/reference/tools.md, section 19.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import DEBUGGING_REPLICA_ID, LATEST_TIMESTAMP, TopicPartition
from kafka_py.cli.common.command import CommandFailed, CommandParser, UsageError, log_warnings, require, run
from kafka_py.cli.java_compat.java_dates import DatePattern

if TYPE_CHECKING:
    from kafka_py.clients.admin.client import AsyncAdminClient
    from kafka_py.records.batch import BatchHeader

DATES = DatePattern("yyyy-MM-dd HH:mm:ss,SSS")
CLIENT_ID = "replicaVerificationTool"
PAUSE_AFTER_FAILURE_S = 0.5


def parser() -> CommandParser:
    table = CommandParser("kafka-replica-verification.sh", "Check that all replicas of topics have the same data.")
    table.option("--broker-list", "REQUIRED: the brokers to connect to, host:port,host:port.",
                 metavar="String: hostname:port,...,hostname:port")  # fmt: skip
    table.option("--fetch-size", "The most bytes of a partition that one request asks for.", kind=int,
                 metavar="Integer: bytes", default=1_048_576)  # fmt: skip
    table.option("--max-wait-ms", "How long a request waits for data.", kind=int, metavar="Integer: ms", default=1000)
    table.option("--topic-white-list", "The topics, as a regular expression that matches their whole names.",
                 metavar="String: Java regex (String)", default=".*")  # fmt: skip
    table.option("--time", "Where to begin: -1 at the end, -2 at the start, or at a time in ms.", kind=int,
                 metavar="Long: timestamp/-1(latest)/-2(earliest)", default=LATEST_TIMESTAMP)  # fmt: skip
    table.option("--report-interval-ms", "How often to report the progress.", kind=int, metavar="Long: ms",
                 default=30_000)  # fmt: skip
    return table


class FetchedBatch(NamedTuple):
    """A header, which has the stored checksum, and the checksum that was computed."""

    header: BatchHeader
    computed: int


class Fetched(NamedTuple):
    """What one replica answered."""

    high_watermark: int
    batches: Sequence[FetchedBatch]


class Compared(NamedTuple):
    """The result of comparing one partition. next_offset: to continue from; lag: of the slowest replica, in records.

    unmatched: lines about batches that differ. broken: the line about offsets that do, "" when all is well.
    """

    next_offset: int
    lag: int
    unmatched: list[str]
    broken: str = ""


def compare(partition: TopicPartition, offset: int, replicas: Mapping[int, Fetched]) -> Compared:
    """Goes through the batches of all replicas side by side, as far as every one has them below its watermark."""
    unmatched: list[str] = []
    for together in zip(*map(_below, replicas.values()), strict=False):
        (first_id, (first, expected)), *others = zip(replicas, together, strict=True)
        for replica, (batch, computed) in others:
            if batch.last_offset != first.last_offset:
                broken = (f"partition {partition}: replica {first_id}'s offset {first.last_offset} doesn't match "
                          f"replica {replica}'s offset {batch.last_offset}")  # fmt: skip
                return Compared(offset, 0, unmatched, broken)
            if (batch.crc, computed) != (first.crc, expected):
                one, other = (expected, computed) if computed != expected else (first.crc, batch.crc)
                unmatched.append(
                    f"partition {partition} has unmatched checksum at offset {batch.last_offset}; replica {first_id}'s "
                    f"checksum {one}; replica {replica}'s checksum {other}"
                )
        offset = first.next_offset
    return Compared(offset, max(one.high_watermark for one in replicas.values()) - offset, unmatched)


def _below(fetched: Fetched) -> list[FetchedBatch]:
    """The batches up to the high watermark."""
    return [batch for batch in fetched.batches if batch.header.last_offset < fetched.high_watermark]


class Verification:
    """The running comparison. replicas: the brokers of each partition. offsets: where each partition is at."""

    def __init__(
        self,
        admin: AsyncAdminClient,
        replicas: Mapping[TopicPartition, Sequence[int]],
        offsets: Mapping[TopicPartition, int],
        options: argparse.Namespace,
    ) -> None:
        self._admin = admin
        self._replicas = replicas
        self._offsets = dict(offsets)
        self._options = options
        self._reported_ms = _now_ms()

    async def run(self) -> None:
        """Compares until something does not match in its offsets. Raises CommandFailed then."""
        print(f"{DATES.format_ms(_now_ms())}: verification process is started.", flush=True)
        while True:
            await self.round()

    async def round(self) -> None:
        """Reads from every replica once and compares. Raises CommandFailed for offsets that differ."""
        from asyncio import gather

        brokers = dict.fromkeys(broker for ids in self._replicas.values() for broker in ids)
        answers = await gather(*(self._fetch(broker) for broker in brokers))
        by_broker = dict(zip(brokers, answers, strict=True))
        worst: tuple[int, TopicPartition, int] | None = None
        for partition, ids in self._replicas.items():
            found = {broker: by_broker[broker][partition] for broker in ids if partition in by_broker[broker]}
            if len(found) < len(ids):
                continue  # a broker is down or the partition moves: the next round may tell
            result = compare(partition, self._offsets[partition], found)
            for line in filter(None, (*result.unmatched, result.broken)):
                print(f"{DATES.format_ms(_now_ms())}: {line}", flush=True)
            if result.broken:
                raise CommandFailed(result.broken)
            self._offsets[partition] = result.next_offset
            if worst is None or result.lag > worst[0]:
                worst = result.lag, partition, result.next_offset
        if worst is not None:
            self._report(*worst)

    def _report(self, lag: int, partition: TopicPartition, offset: int) -> None:
        now_ms = _now_ms()
        if now_ms - self._reported_ms > self._options.report_interval_ms:
            print(
                f"{DATES.format_ms(now_ms)}: max lag is {lag} for partition {partition} at offset {offset} among "
                f"{len(self._replicas)} partitions", flush=True,
            )  # fmt: skip
            self._reported_ms = now_ms

    async def _fetch(self, broker: int) -> dict[TopicPartition, Fetched]:
        """What one broker's replicas hold from where we are; nothing while it cannot be reached."""
        from asyncio import sleep

        from kafka_py.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic

        options = self._options
        topics: dict[str, list[FetchPartition]] = {}
        for (topic, number), ids in self._replicas.items():
            if broker in ids:
                offset = self._offsets[TopicPartition(topic, number)]
                asked = FetchPartition(partition=number, fetch_offset=offset, partition_max_bytes=options.fetch_size)
                topics.setdefault(topic, []).append(asked)
        request = FetchRequest(
            replica_id=DEBUGGING_REPLICA_ID, max_wait_ms=options.max_wait_ms, min_bytes=1,
            topics=[FetchTopic(topic=topic, partitions=rows) for topic, rows in topics.items()],
        )  # fmt: skip
        try:
            await self._admin.know(broker)
            response = await self._admin.cluster.send(broker, request)
        except KafkaError:
            await sleep(PAUSE_AFTER_FAILURE_S)
            return {}
        fetched: dict[TopicPartition, Fetched] = {}
        for topic in response.responses:
            for one in topic.partition_responses:
                partition = TopicPartition(topic.topic, one.partition)
                if one.error_code == ErrorCode.NONE:
                    fetched[partition] = read_fetched(partition, broker, one.high_watermark, one.record_set or b"")
                elif one.error_code == ErrorCode.CORRUPT_MESSAGE:
                    raise CommandFailed(f"partition {partition}: replica {broker} says that its records are damaged at "
                                        f"offset {self._offsets[partition]} or after it")  # fmt: skip
        return fetched


def read_fetched(partition: TopicPartition, broker: int, high_watermark: int, record_set: bytes) -> Fetched:
    """The batches of an answer. Raises CommandFailed where a header is damaged."""
    from kafka_py.records.batch import CorruptBatch, computed_crc, iter_headers

    try:
        batches = [
            FetchedBatch(header, computed_crc(record_set, position, header))
            for position, header in iter_headers(record_set)
        ]
    except CorruptBatch as corrupt:
        raise CommandFailed(f"partition {partition}: replica {broker} has a damaged batch: {corrupt}") from corrupt
    return Fetched(high_watermark, batches)


def _now_ms() -> int:
    return int(time.time() * 1000)


async def verify(options: argparse.Namespace, pattern: re.Pattern[str]) -> None:
    """Looks the topics up and compares. Raises CommandFailed, KafkaError."""
    from kafka_py.clients.admin.client import AsyncAdminClient

    async with AsyncAdminClient({"bootstrap.servers": options.broker_list, "client.id": CLIENT_ID}) as admin:
        names = sorted(name for name in await admin.list_topics(list_internal=True) if pattern.fullmatch(name))
        if not names:
            raise CommandFailed("No topics found. [topic-white-list] if specified, is either filtering out all topics "
                                "or there is no topic.")  # fmt: skip
        described = (await admin.describe_topics(names)).all()
        replicas = {
            TopicPartition(name, one.partition): [node.id for node in one.replicas]
            for name, topic in described.items()
            for one in topic.partitions
        }
        leaders = {
            TopicPartition(name, one.partition): one.leader.id
            for name, topic in described.items()
            for one in topic.partitions
            if one.leader is not None
        }
        offsets = await first_offsets(admin, leaders, options.time)
        await Verification(admin, {tp: replicas[tp] for tp in offsets}, offsets, options).run()


async def first_offsets(
    admin: AsyncAdminClient, leaders: Mapping[TopicPartition, int], timestamp: int
) -> dict[TopicPartition, int]:
    """Where the leaders say that a moment (-1: the end, -2: the start) is; partitions without such a place are left
    out. Raises KafkaError.
    """
    from kafka_py.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

    found = {}
    for broker in dict.fromkeys(leaders.values()):
        topics: dict[str, list[ListOffsetsPartition]] = {}
        for (topic, number), leader in leaders.items():
            if leader == broker:
                topics.setdefault(topic, []).append(ListOffsetsPartition(partition_index=number, timestamp=timestamp))
        request = ListOffsetsRequest(
            replica_id=-1,
            topics=[ListOffsetsTopic(name=topic, partitions=rows) for topic, rows in topics.items()],
        )
        await admin.know(broker)
        response = await admin.cluster.send(broker, request)
        for topic_answer in response.topics:
            for one in topic_answer.partitions:
                if one.error_code == ErrorCode.NONE and one.offset >= 0:
                    found[TopicPartition(topic_answer.name, one.partition_index)] = one.offset
    return found


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    require(options, "broker-list")
    servers = options.broker_list.split(",")
    if not all(server.rpartition(":")[0] and server.rpartition(":")[2].isdigit() for server in servers):
        raise UsageError("Please provide valid host:port like host1:9091,host2:9092")
    try:
        pattern = re.compile(options.topic_white_list.strip().replace(",", "|").strip("\"'"))
    except re.error:
        raise CommandFailed(f"{options.topic_white_list} is an invalid regex.") from None
    log_warnings()
    import asyncio

    asyncio.run(verify(options, pattern))
    return 0


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()
