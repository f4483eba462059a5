"""A topic into partitioned Parquet files, exactly once: the offsets are stored with the data (ledger.py).

Needs no checkpoint: a rerun, on any machine, continues where the folder's last entry ends. Every row keeps its
topic, partition and offset, so anybody can check.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any

from kafka_py.base.ids import TopicPartition
from kafka_py.pipeline.jobs.decoding import decoded
from kafka_py.pipeline.jobs.folders import Folder
from kafka_py.pipeline.jobs.ledger import Entry, Ledger
from kafka_py.pipeline.jobs.spec import Section
from kafka_py.pipeline.jobs.stopping import Stop
from kafka_py.pipeline.links import Link
from kafka_py.pipeline.offsets import Offsets, limited, to_json
from kafka_py.pipeline.options import Options, Where
from kafka_py.pipeline.planning import Planner
from kafka_py.pipeline.progress import line

DATE = "date"


@dataclass
class ToParquet:
    """What the file says. every_s: pause between batches; None: until all is there, then end."""

    name: str
    options: dict[str, str] = field(repr=False)
    format: str
    schema: str | None
    steps: list[str]
    path: str
    partition_by: list[str]
    most: int
    every_s: float | None


def read_to_parquet(spec: Section, name: str) -> ToParquet:
    """Raises ConfigError naming the key."""
    kafka = {f"kafka.{key}": value for key, value in spec.settings("kafka").items()}
    source, sink = spec.section("source"), spec.section("sink")
    kind = "pattern" if source.has("pattern") else "topic"
    subscribe = "subscribePattern" if kind == "pattern" else "subscribe"
    options = {**kafka, "startingOffsets": "earliest", subscribe: source.text(kind), **source.settings("options")}
    every = spec.number("every_s") if spec.has("every_s") else None
    job = ToParquet(
        name, options, source.choice("format", "raw", "text", "json", default="raw"), source.maybe_text("schema"),
        spec.texts("steps"), sink.text("path"), sink.texts("partition_by") or [DATE],
        int(spec.number("max_records_per_batch", 5_000_000)), every,
    )  # fmt: skip
    if job.format == "json" and job.schema is None:
        raise source.error("schema", "is missing: the fields of the JSON, such as 'id INT, name STRING'")
    source.finish()
    sink.finish()
    return job


def run_to_parquet(job: ToParquet, session: Any, stop: Stop) -> int:
    """Runs batches until all is written (or forever, with every_s); returns the rows written now."""
    ledger = Ledger(Folder(session, job.path))
    options = Options(job.options, Where.STREAM)
    link = Link(options.client_settings("driver"))
    total = 0
    try:
        planner = Planner(link, options)
        last = ledger.recover()
        while not stop.asked:
            batch = 0 if last is None else last.batch + 1
            entry = _next(planner, last, batch, job.most)
            if entry is None:
                if job.every_s is None:
                    break
                stop.wait(job.every_s)
                continue
            begun = time.monotonic()
            _write(job, session, ledger, entry)
            lags = _lags(planner, entry.end)
            print(line(job.name, batch, entry.rows, time.monotonic() - begun, lags), flush=True)
            total, last = total + entry.rows, entry
    finally:
        link.close()
    return total


def _lags(planner: Planner, end: Offsets) -> dict[TopicPartition, int]:
    latest = planner.latest(list(end))
    return {each: max(0, latest[each] - at) for each, at in end.items()}


def _next(planner: Planner, last: Entry | None, batch: int, most: int) -> Entry | None:
    """The next batch's offsets; None when there is nothing new."""
    partitions = planner.partitions()
    done = {} if last is None else last.end
    fresh = [each for each in partitions if each not in done]
    start = {**done, **(planner.starts(fresh) if last is None else planner.earliest(fresh) if fresh else {})}
    latest = planner.latest(partitions)
    for each in partitions:
        if latest[each] < start[each]:
            planner.ends_early(each, latest[each], start[each])
            start[each] = planner.earliest([each])[each]
    end = limited({each: start[each] for each in partitions}, latest, most)
    return None if all(end[each] == start[each] for each in partitions) else Entry(batch, start, {**start, **end})


def _write(job: ToParquet, session: Any, ledger: Ledger, entry: Entry) -> None:
    wanted = {each: at for each, at in entry.end.items() if at > entry.start[each]}
    options = {name: value for name, value in job.options.items() if name.lower() not in _PLACES}
    topics: dict[str, list[int]] = {}
    for topic, number in wanted:
        topics.setdefault(topic, []).append(number)
    frame = (
        session.read.format("kafka_py").options(**options)
        .option("assign", json.dumps(topics))
        .option("startingOffsets", to_json({each: entry.start[each] for each in wanted}))
        .option("endingOffsets", to_json(wanted)).load()
    )  # fmt: skip
    rows, _ = decoded(frame, job.format, job.schema, keep_bad=False)
    if DATE in job.partition_by and DATE not in rows.columns:
        rows = rows.selectExpr("*", f"to_date(timestamp) as {DATE}")
    for step in job.steps:
        rows.createOrReplaceTempView("input")
        rows = session.sql(step)
    staging = ledger.staging(entry)
    rows.write.mode("overwrite").partitionBy(*job.partition_by).parquet(staging)
    entry.rows = sum(at - entry.start[each] for each, at in wanted.items())
    ledger.commit(entry)


_PLACES = ("subscribe", "subscribepattern", "assign", "startingoffsets", "startingtimestamp",
           "startingoffsetsbytimestamp", "maxoffsetspertrigger", "minoffsetspertrigger")  # fmt: skip
"""Options that say where to begin: a batch has offsets of its own."""
