"""What each option of the readers does to one small set of topics, whoever reads: our source or Spark's connector.

ONE holds the numbers 0 to 19, n in partition n % 2, at 1,000 + n ms, each with a header; TWO 100 to 104 in one
partition; GONE 200 to 209, of which the first four are deleted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_py.clients import AdminClient, TopicPartition
from kafka_py.pipeline.committed import commit_offsets
from kafka_py.pipeline.links import Link
from kafka_py.testing.topics import create_topic

from .conftest import Topic

BOTH = ("batch", "stream")
ONE = list(range(20))
TWO = list(range(100, 105))
LEFT = list(range(204, 210))
SPLIT = '{"ONE":{"0":8,"1":-2}}'


@dataclass(frozen=True)
class Case:
    """numbers: what is read, sorted, or None where it fails, for which `error` is a pattern of ours.

    least_tasks: in how many tasks. batches: rows of each micro-batch. ours: Spark's connector has no such option.
    """

    option: str
    given: Mapping[str, str]
    numbers: list[int] | None = None
    error: str = ""
    where: tuple[str, ...] = BOTH
    least_tasks: int = 1
    batches: tuple[int, ...] = ()
    ours: bool = False

    @property
    def id(self) -> str:
        return f"{self.option}={self.given[self.option]}"

    def options(self, names: Mapping[str, str]) -> dict[str, str]:
        """What Spark is given. names: what SERVER stands for."""
        options = {"kafka.bootstrap.servers": "SERVER", **self.given}
        if not {"subscribe", "subscribePattern", "assign"} & set(options):
            options["subscribe"] = "ONE"
        if not any(name.startswith("starting") for name in options):
            options["startingOffsets"] = "earliest"
        for token, name in names.items():
            options = {option: text.replace(token, name) for option, text in options.items()}
        return options


def odd_from(first: int) -> list[int]:
    return list(range(first, 20, 2))


CASES = [
    Case("kafka.bootstrap.servers", {"kafka.bootstrap.servers": "127.0.0.1:1,SERVER"}, ONE),
    Case("subscribe", {"subscribe": "ONE,TWO"}, ONE + TWO),
    Case("subscribePattern", {"subscribePattern": "^ON|WO$"}, ONE + TWO),
    Case("assign", {"assign": '{"ONE":[1],"TWO":[0]}'}, odd_from(1) + TWO),
    Case("startingTimestamp", {"startingTimestamp": "1015"}, ONE[15:]),
    Case("startingTimestamp", {"startingTimestamp": "9999"}, error="no record at or after 9999"),
    Case("startingOffsetsByTimestamp", {"startingOffsetsByTimestamp": '{"ONE":{"0":1018,"1":1017}}'}, [17, 18, 19]),
    Case("startingOffsetsByTimestampStrategy",
         {"startingOffsetsByTimestampStrategy": "latest", "startingTimestamp": "9999"}, [], least_tasks=0),
    Case("startingOffsets", {"startingOffsets": SPLIT}, sorted([16, 18, *odd_from(1)])),
    Case("startingOffsets", {"startingOffsets": "latest"}, [], where=("stream",), least_tasks=0),
    Case("startingOffsets", {"startingOffsets": "latest"}, error="must not be 'latest'", where=("batch",)),
    Case("endingTimestamp", {"endingTimestamp": "1003"}, [0, 1, 2], where=("batch",)),
    Case("endingOffsetsByTimestamp", {"endingOffsetsByTimestamp": '{"ONE":{"0":1003,"1":1002}}'}, [0, 1, 2],
         where=("batch",)),
    Case("endingOffsets", {"endingOffsets": '{"ONE":{"0":2,"1":-1}}'}, sorted([0, 2, *odd_from(1)]), where=("batch",)),
    Case("failOnDataLoss", {"failOnDataLoss": "true", "subscribe": "GONE", "startingOffsets": '{"GONE":{"0":2}}'},
         error="holds offsets 4 to 10, not 2"),
    Case("failOnDataLoss", {"failOnDataLoss": "false", "subscribe": "GONE", "startingOffsets": '{"GONE":{"0":2}}'},
         LEFT),
    Case("kafkaConsumer.pollTimeoutMs", {"kafkaConsumer.pollTimeoutMs": "20000"}, ONE),
    Case("fetchOffset.numRetries", {"fetchOffset.numRetries": "1"}, ONE),
    Case("fetchOffset.retryIntervalMs", {"fetchOffset.retryIntervalMs": "10"}, ONE),
    Case("maxOffsetsPerTrigger", {"maxOffsetsPerTrigger": "6"}, ONE, where=("stream",), batches=(6, 6, 6, 2)),
    Case("minOffsetsPerTrigger", {"minOffsetsPerTrigger": "3"}, ONE, where=("stream",)),
    Case("maxTriggerDelay", {"maxTriggerDelay": "20s", "minOffsetsPerTrigger": "3"}, ONE, where=("stream",)),
    Case("minPartitions", {"minPartitions": "5"}, ONE, least_tasks=5),
    Case("maxRecordsPerPartition", {"maxRecordsPerPartition": "4"}, ONE, least_tasks=6),
    Case("groupIdPrefix", {"groupIdPrefix": "prefix-of-mine"}, ONE),
    Case("kafka.group.id", {"kafka.group.id": "group-of-mine"}, ONE),
    Case("includeHeaders", {"includeHeaders": "true"}, ONE),
    Case("startingGroup", {"startingGroup": "before", "startingOffsets": "committed"}, sorted([*odd_from(1), 18]),
         ours=True),
    Case("startingGroupFallback",
         {"startingGroupFallback": "latest", "startingGroup": "before", "startingOffsets": "committed"}, [18],
         ours=True),
    Case("commitGroup", {"commitGroup": "after"}, ONE, where=("stream",), ours=True),
    Case("pushFilters", {"pushFilters": "true"}, ONE, where=("batch",), ours=True),
    Case("fetchBytes", {"fetchBytes": "1"}, ONE, ours=True),
    Case("kafka.fetch.max.wait.ms", {"kafka.fetch.max.wait.ms": "7"}, ONE),
]  # fmt: skip
"""`before` has committed 9 in ONE-0 and nothing in ONE-1."""


def fill(bootstrap: str) -> dict[str, str]:
    """Makes the topics; returns what the tokens stand for."""
    for name, partitions in (("ONE", 2), ("TWO", 1), ("GONE", 1)):
        create_topic([bootstrap], name, partitions, configs={"retention.ms": "-1"})
    Topic(bootstrap, "ONE").feed(
        {"value": b"%d" % n, "partition": n % 2, "timestamp": 1000 + n, "headers": [("h", b"%d" % n)]} for n in ONE
    )
    Topic(bootstrap, "TWO").number(TWO[0], TWO[-1] + 1)
    Topic(bootstrap, "GONE").number(200, 210)
    with AdminClient({"bootstrap.servers": bootstrap}) as admin:
        admin.delete_records({TopicPartition("GONE", 0): 4}).all()
    link = Link({"bootstrap.servers": bootstrap})
    try:
        commit_offsets(link, "before", {TopicPartition("ONE", 0): 9})
    finally:
        link.close()
    return {"SERVER": bootstrap}


def each_way() -> Iterator[tuple[str, Case]]:
    for case in CASES:
        for where in case.where:
            yield where, case


def read(spark: Any, kind: str, where: str, options: Mapping[str, str], folder: str) -> dict[str, Any]:
    """What Spark reads with a source: numbers, sorted, in how many tasks, and the rows of each micro-batch."""
    number = "cast(cast(value as string) as int)"
    columns = [f"{number} as number", "spark_partition_id() as task"]
    if options.get("includeHeaders") == "true":
        columns[0] = "if(headers[0].key = 'h', cast(cast(headers[0].value as string) as int), -1) as number"
    if where == "batch":
        rows = spark.read.format(kind).options(**options).load().selectExpr(*columns).collect()
        return {"numbers": sorted(row.number for row in rows), "tasks": len({row.task for row in rows}), "batches": []}
    found: list[list[tuple[int, int]]] = []

    def take(frame: Any, _batch: int) -> None:
        found.append([(row.number, row.task) for row in frame.collect()])

    stream = spark.readStream.format(kind).options(**options).load().selectExpr(*columns)
    writer = stream.writeStream.foreachBatch(take).option("checkpointLocation", folder)
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    finally:
        query.stop()
    return {
        "numbers": sorted(number for batch in found for number, _ in batch),
        "tasks": max((len({task for _, task in batch}) for batch in found), default=0),
        "batches": [len(batch) for batch in found if batch],
    }
