"""Consumer lag and topic sizes over time, kept as Parquet and plotted (report.py).

A sample is one row per partition, with its ends and bytes on disk, and one per group and partition, with what the
group has committed and its lag. `samples` of them are taken `every_s` apart, and the report drawn at the end.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, TopicPartition
from kafka_py.clients.admin.client import AdminClient
from kafka_py.pipeline.committed import committed_offsets
from kafka_py.pipeline.jobs.report import draw
from kafka_py.pipeline.jobs.spec import Section
from kafka_py.pipeline.jobs.stopping import Stop
from kafka_py.pipeline.links import Link

SCHEMA = (
    "at TIMESTAMP, kind STRING, group STRING, topic STRING, partition INT, log_start BIGINT, log_end BIGINT, "
    "size_bytes BIGINT, committed BIGINT, lag BIGINT"
)


@dataclass
class History:
    """What the file says. samples 0: forever. groups: without any name all that the cluster lists."""

    name: str
    kafka: dict[str, str] = field(repr=False)
    topics: list[str]
    groups: list[str]
    path: str
    report: str | None
    samples: int
    every_s: float


def read_history(spec: Section, name: str) -> History:
    """Raises ConfigError naming the key."""
    return History(
        name, spec.settings("kafka"), spec.texts("topics"), spec.texts("groups"), spec.text("path"),
        spec.maybe_text("report"), int(spec.number("samples", 1)), spec.number("every_s", 10),
    )  # fmt: skip


def run_history(job: History, session: Any, stop: Stop) -> int:
    """Takes the samples and draws the report; returns the rows written."""
    link = Link(job.kafka)
    total = taken = 0
    try:
        with AdminClient(job.kafka) as admin:
            while True:
                rows = sample(job, admin, link)
                session.createDataFrame(rows, SCHEMA).coalesce(1).write.mode("append").parquet(job.path)
                total, taken = total + len(rows), taken + 1
                lag = sum(row[-1] or 0 for row in rows)
                size = sum(row[7] or 0 for row in rows)
                print(f"{job.name}: sample {taken}, {len(rows)} rows, {size / 1e6:,.1f} MB in topics, lag {lag:,}",
                      flush=True)  # fmt: skip
                if job.report is not None:
                    draw(session.read.schema(SCHEMA).parquet(job.path).toPandas(), job.report)
                if taken < job.samples:
                    stop.wait(job.every_s)
                if taken == job.samples or stop.asked:
                    return total
    finally:
        link.close()


def sample(job: History, admin: AdminClient, link: Link) -> list[tuple[Any, ...]]:
    """The rows of one moment, in the order of SCHEMA."""
    at = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    topics = job.topics or sorted(admin.list_topics())
    partitions = link.partitions_of(topics) if topics else []
    low, high = link.ends(partitions, EARLIEST_TIMESTAMP), link.ends(partitions, LATEST_TIMESTAMP)
    sizes = _sizes(admin, link, partitions)
    rows: list[tuple[Any, ...]] = [
        (at, "topic", None, each.topic, each.partition, low.get(each), high.get(each), sizes.get(each), None, None)
        for each in sorted(partitions)
    ]
    for group in job.groups or [each.group_id for each in admin.list_consumer_groups()]:
        for each, committed in sorted(committed_offsets(link, group).items()):
            end = high.get(each)
            lag = None if end is None else max(0, end - committed)
            rows.append((at, "group", group, each.topic, each.partition, None, end, None, committed, lag))
    return rows


def _sizes(admin: AdminClient, link: Link, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
    """Bytes on disk, of all replicas together."""
    brokers = list(link.run(link.know(())).nodes)
    sizes: dict[TopicPartition, int] = {}
    wanted = set(partitions)
    for answer in admin.describe_log_dirs(brokers).values():
        if isinstance(answer, KafkaError):
            continue
        for directory in answer.values():
            for each, replica in directory.replicas.items():
                if each in wanted and not replica.is_future:
                    sizes[each] = sizes.get(each, 0) + replica.size_bytes
    return sizes
