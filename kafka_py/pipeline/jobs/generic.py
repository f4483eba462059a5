"""The generic pipeline: a source, SQL steps, a sink; as a batch or as a stream.

Every step reads the view `input`: the source, then what the step before it gave. A sink to a topic takes the columns
key, value, topic, partition, headers; without a column `value` the whole row becomes JSON.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kafka_py.pipeline.jobs.decoding import AVRO, FORMATS, WITH_SCHEMA, avro_schema, dead_letters, decoded
from kafka_py.pipeline.jobs.spec import Section
from kafka_py.pipeline.jobs.stopping import Stop

FILE_FORMATS = ("text", "csv", "json", "parquet", "orc")
TOPIC_COLUMNS = ("key", "value", "topic", "partition", "headers")


@dataclass
class GenericSource:
    """Where rows come from. kind: topic, files or segments."""

    kind: str
    options: dict[str, str] = field(repr=False)
    format: str
    schema: str | None
    watermark: tuple[str, str] | None
    path: str = ""


@dataclass
class Sink:
    """Where rows go. kind: topic, console or a file format."""

    kind: str
    options: dict[str, str] = field(repr=False)
    path: str
    partition_by: list[str]
    mode: str
    files: int | None


@dataclass
class Pipeline:
    name: str
    source: GenericSource
    steps: list[str]
    sink: Sink
    trigger: str
    checkpoint: str | None
    dead_letter_topic: str | None


def read_pipeline(spec: Section, name: str) -> Pipeline:
    """Raises ConfigError naming the key."""
    kafka = {f"kafka.{key}": value for key, value in spec.settings("kafka").items()}
    source = read_source(spec.section("source"), kafka)
    sink = _read_sink(spec.section("sink"), kafka, name)
    trigger = spec.text("trigger", "batch")
    pipeline = Pipeline(
        name, source, spec.texts("steps"), sink, trigger, spec.maybe_text("checkpoint"),
        spec.maybe_text("dead_letter_topic"),
    )  # fmt: skip
    if trigger != "batch" and pipeline.checkpoint is None and sink.kind != "console":
        raise spec.error("checkpoint", "is missing: a stream needs a folder to remember where it is")
    if pipeline.dead_letter_topic is not None and (source.kind != "topic" or source.format not in WITH_SCHEMA):
        raise spec.error("dead_letter_topic", "goes with a topic whose values are JSON or Avro only")
    if trigger != "batch" and source.kind == "segments":
        raise spec.error("trigger", "must be batch: segment files are not streamed")
    return pipeline


def read_source(section: Section, kafka: dict[str, str]) -> GenericSource:
    kinds = [kind for kind in ("topic", "pattern", "assign", "files", "segments") if section.has(kind)]
    if len(kinds) != 1:
        raise section.error("topic", "must be given, or else one of pattern, assign, files, segments: where to read")
    place = section.text(kinds[0])
    options = section.settings("options")
    schema = section.maybe_text("schema")
    watermark = _read_watermark(section)
    if kinds[0] == "files":
        form = section.choice("format", *FILE_FORMATS, default="text")
        source = GenericSource("files", options, form, schema, watermark, place)
    elif kinds[0] == "segments":
        topics = section.maybe_text("topics")
        chosen = {**options, **({"subscribe": topics} if topics else {})}
        form = section.choice("format", *FORMATS, default="raw")
        source = GenericSource("segments", chosen, form, schema, watermark, place)
    else:
        name = {"topic": "subscribe", "pattern": "subscribePattern", "assign": "assign"}[kinds[0]]
        own = {f"kafka.{key}": value for key, value in section.settings("kafka").items()}
        form = section.choice("format", *FORMATS, default="raw")
        source = GenericSource("topic", {**kafka, **own, name: place, **options}, form, schema, watermark)
    if source.kind != "files" and schema is None and source.format in WITH_SCHEMA:
        raise section.error("schema", f"is missing: {WITH_SCHEMA[source.format]}")
    if source.format in AVRO:
        avro_schema(schema or "")
    section.finish()
    return source


def _read_watermark(section: Section) -> tuple[str, str] | None:
    if not section.has("watermark"):
        return None
    part = section.section("watermark")
    found = part.text("column", "timestamp"), part.text("delay")
    part.finish()
    return found


def _read_sink(section: Section, kafka: dict[str, str], name: str) -> Sink:
    kind = section.choice("kind", "topic", "console", *FILE_FORMATS, default="topic" if section.has("topic") else None)
    options = section.settings("options")
    path = ""
    if kind == "topic":
        own = {f"kafka.{key}": value for key, value in section.settings("kafka").items()}
        topic = section.maybe_text("topic")
        options = {**kafka, **own, **options, **({"topic": topic} if topic else {})}
        if section.flag("exactly_once", False):
            options = {"transactionalIdPrefix": name, **options, "exactlyOnce": "true"}
    elif kind != "console":
        path = section.text("path")
    mode = section.choice("mode", "append", "update", "complete", "overwrite", default="append")
    files = int(section.number("files")) if section.has("files") else None
    sink = Sink(kind, options, path, section.texts("partition_by"), mode, files)
    section.finish()
    return sink


def run_pipeline(pipeline: Pipeline, session: Any, stop: Stop) -> None:
    """Runs to its end; a stream with a processing-time trigger ends when it is stopped."""
    streaming = pipeline.trigger != "batch"
    frame = source_frame(pipeline.source, session, streaming)
    source = pipeline.source
    kind = "raw" if source.kind == "files" else source.format
    rows, bad = decoded(frame, kind, source.schema, keep_bad=pipeline.dead_letter_topic is not None)
    if source.watermark is not None:
        rows = rows.withWatermark(*source.watermark)
    for step in pipeline.steps:
        rows.createOrReplaceTempView("input")
        rows = session.sql(step)
    if pipeline.sink.kind == "topic":
        rows = _as_records(rows)
    letters = _letters(pipeline)
    if streaming:
        queries = [_start(rows, pipeline.sink, pipeline, "")]
        if bad is not None:
            queries.append(_start(dead_letters(bad), letters, pipeline, "-dead-letters"))
        _await_all(queries, stop)
    else:
        if bad is not None:
            _save(dead_letters(bad), letters)
        _save(rows, pipeline.sink)


def _letters(pipeline: Pipeline) -> Sink:
    """Where values go that cannot be decoded: the source's cluster, exactly once where the sink is."""
    options = {"topic": pipeline.dead_letter_topic or ""}
    options |= {name: value for name, value in pipeline.source.options.items() if name == "kafka.bootstrap.servers"}
    given = pipeline.sink.options
    if given.get("exactlyOnce") == "true" and "transactionalIdPrefix" in given:
        options |= {"exactlyOnce": "true", "transactionalIdPrefix": f"{given['transactionalIdPrefix']}-dead-letters"}
        options |= {name: given[name] for name in ("tornBatch", "decisionTopic") if name in given}
    return Sink("topic", options, "", [], "append", None)


def source_frame(source: GenericSource, session: Any, streaming: bool) -> Any:
    reader = session.readStream if streaming else session.read
    if source.kind == "topic":
        return reader.format("kafka_py").options(**source.options).load()
    if source.kind == "segments":
        return reader.format("kafka_py_log").options(**source.options).load(source.path)
    reader = reader.format(source.format).options(**source.options)
    schema = source.schema or ("value STRING" if source.format == "text" else None)
    if schema is None and streaming:  # a stream of files must know its columns beforehand
        schema = session.read.format(source.format).options(**source.options).load(source.path).schema
    return (reader.schema(schema) if schema is not None else reader).load(source.path)


def _as_records(rows: Any) -> Any:
    if "value" in rows.columns:
        return rows.select(*[name for name in TOPIC_COLUMNS if name in rows.columns])
    beside = [name for name in TOPIC_COLUMNS if name in rows.columns and name in ("topic", "partition", "headers")]
    whole = ", ".join(f"`{name}`" for name in rows.columns if name not in beside)
    return rows.selectExpr(f"to_json(struct({whole})) as value", *beside)


def _save(rows: Any, sink: Sink) -> None:
    if sink.kind == "console":
        rows.show(100, truncate=False)
        return
    if sink.files is not None:
        rows = rows.coalesce(sink.files)
    mode = "overwrite" if sink.mode in ("overwrite", "complete") and sink.kind != "topic" else "append"
    writer = rows.write.format("kafka_py" if sink.kind == "topic" else sink.kind).options(**sink.options).mode(mode)
    if sink.partition_by:
        writer = writer.partitionBy(*sink.partition_by)
    writer.save(sink.path) if sink.path else writer.save()


def _start(rows: Any, sink: Sink, pipeline: Pipeline, suffix: str) -> Any:
    if sink.files is not None:
        rows = rows.coalesce(sink.files)
    writer = rows.writeStream.format("kafka_py" if sink.kind == "topic" else sink.kind).options(**sink.options)
    mode = "append" if sink.mode == "overwrite" else sink.mode
    writer = writer.queryName(f"{pipeline.name}{suffix}").outputMode(mode)
    if pipeline.checkpoint is not None:
        writer = writer.option("checkpointLocation", f"{pipeline.checkpoint}{suffix}")
    if sink.partition_by:
        writer = writer.partitionBy(*sink.partition_by)
    if pipeline.trigger == "available-now":
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=pipeline.trigger)
    return writer.start(sink.path) if sink.path else writer.start()


def _await_all(queries: list[Any], stop: Stop) -> None:
    """Waits until all have ended, one has failed, or the pipeline is to end, and stops them. Raises a failure."""
    try:
        while not stop.asked and any(query.isActive for query in queries):
            for query in queries:
                query.awaitTermination(1)
        for query in queries if not stop.asked else ():
            query.awaitTermination()
    finally:
        for query in queries:
            query.stop()
