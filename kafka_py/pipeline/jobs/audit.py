"""Counts of two places compared, by producer, topic and time: did everything that was sent arrive there, too?

A place is a topic of a cluster, segment files, or Parquet files of to_parquet. The producer is known by a header of the
record, by its key, or not at all; the time is the record's own. What differs is printed, and may be kept as Parquet.
The idea is LinkedIn's audit trail: producers and consumers report counts per topic and time window, and differences
are investigated. Source: docs/pipeline.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kafka_py.pipeline.jobs.generic import GenericSource, read_source, source_frame
from kafka_py.pipeline.jobs.spec import Section
from kafka_py.pipeline.jobs.stopping import Stop


@dataclass
class AuditJob:
    """What the file says. producer: header:NAME, key or none."""

    name: str
    left: GenericSource
    right: GenericSource
    producer: str
    bucket: str
    settled_before: str | None
    path: str | None


def read_audit(spec: Section, name: str) -> AuditJob:
    """Raises ConfigError naming the key."""
    producer = spec.text("producer", "none")
    if producer not in ("none", "key") and not producer.startswith("header:"):
        raise spec.error("producer", f"must be none, key or header:NAME, not {producer!r}")
    kafka = {f"kafka.{key}": value for key, value in spec.settings("kafka").items()}
    left, right = (read_source(spec.section(side), kafka) for side in ("left", "right"))
    for place in (left, right):
        if place.kind != "files" and producer.startswith("header:"):
            place.options["includeHeaders"] = "true"
    return AuditJob(
        name, left, right, producer, spec.text("bucket", "10 minutes"), spec.maybe_text("settled_before"),
        spec.maybe_text("report"),
    )  # fmt: skip


def run_audit(job: AuditJob, session: Any, stop: Stop) -> int:
    """Prints what differs, and returns how many counts do."""
    for side, place in (("left", job.left), ("right", job.right)):
        source_frame(place, session, False).createOrReplaceTempView(f"{side}_rows")
    who = _producer(job.producer)
    until = f"WHERE timestamp < timestamp'{job.settled_before}'" if job.settled_before else ""
    counts = """SELECT {who} AS producer, topic, window(timestamp, '{bucket}').start AS bucket, count(*) AS {side}
        FROM {side}_rows {until} GROUP BY 1, 2, 3"""
    for side in ("left", "right"):
        text = counts.format(who=who, bucket=job.bucket, side=f"{side}", until=until)
        session.sql(text).createOrReplaceTempView(f"{side}_counts")
    differences = session.sql(
        """SELECT coalesce(l.producer, r.producer) AS producer, coalesce(l.topic, r.topic) AS topic,
        coalesce(l.bucket, r.bucket) AS bucket, coalesce(l.left, 0) AS left, coalesce(r.right, 0) AS right
        FROM left_counts l FULL OUTER JOIN right_counts r
        ON l.producer <=> r.producer AND l.topic = r.topic AND l.bucket = r.bucket"""
    ).cache()
    totals = differences.selectExpr("sum(left) AS left", "sum(right) AS right", "count(*) AS buckets").first()
    wrong = differences.where("left <> right").orderBy("topic", "bucket", "producer")
    count = int(wrong.count())
    print(f"{job.name}: {totals.left or 0:,} records left, {totals.right or 0:,} right, "
          f"{count} of {totals.buckets} counts differ", flush=True)  # fmt: skip
    if count:
        wrong.show(50, truncate=False)
    if job.path is not None:
        differences.coalesce(1).write.mode("overwrite").parquet(job.path)
    differences.unpersist()
    return count


def _producer(kind: str) -> str:
    if kind == "none":
        return "cast(null AS string)"
    if kind == "key":
        return "cast(key AS string)"
    name = kind.partition(":")[2].replace("'", "''")
    return f"cast(element_at(filter(headers, each -> each.key = '{name}'), -1).value AS string)"
