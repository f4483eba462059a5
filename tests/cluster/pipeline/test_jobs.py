"""The pipelines that are shipped, each run from its file against a broker."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.pipeline.committed import commit_offsets, committed_offsets
from kafka_py.pipeline.jobs import mirror as mirror_job
from kafka_py.pipeline.jobs.folders import Folder
from kafka_py.pipeline.jobs.ledger import Ledger
from kafka_py.pipeline.jobs.run import JOBS
from kafka_py.pipeline.jobs.spec import read_file
from kafka_py.pipeline.jobs.stopping import Stop
from kafka_py.pipeline.links import Link
from kafka_py.testing.processes import ROOT

from .conftest import Topic, load

MakeTopic = Callable[..., Topic]


def job_of(file: str, **variables: str) -> Any:
    """The job that a shipped file describes, and how to run it."""
    spec = read_file(ROOT / "config" / file, variables)
    kind = JOBS[spec.choice("job", *JOBS, default="pipeline")]
    name = spec.text("name")
    spec.section("spark").settings("settings")
    job = kind.read(spec, name)
    spec.finish()
    return job, lambda job, session: kind.run(job, session, Stop())


def run(session: Any, file: str, **variables: str) -> Any:
    job, runner = job_of(file, **variables)
    return runner(job, session)


def test_files_go_to_a_topic_and_new_ones_are_picked_up(spark: Any, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic(2)
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\n")
    variables = {"BOOTSTRAP": topic.bootstrap, "FILES": str(folder), "TOPIC": topic.name,
                 "CHECKPOINT": str(tmp_path / "checkpoint")}  # fmt: skip
    run(spark, "pipeline-files-to-topic.yaml", **variables)
    (folder / "b.txt").write_text("three\n")
    run(spark, "pipeline-files-to-topic.yaml", **variables)
    values = sorted(each.value for records in topic.read().values() for each in records)
    assert values == [b"one", b"three", b"two"]


def test_a_topic_goes_to_parquet_and_reruns_repeat_nothing(
    spark: Any, make_topic: MakeTopic, tmp_path: Path, capsys: Any
) -> None:
    topic = make_topic(2)
    topic.number(0, 60, 2)
    variables = {"BOOTSTRAP": topic.bootstrap, "TOPIC": topic.name, "OUT": str(tmp_path / "out")}
    job, runner = job_of("pipeline-to-parquet.yaml", **variables)
    job.most = 24
    assert runner(job, spark) == 60
    assert re.findall(r"batch \d, \d+ rows", capsys.readouterr().out) == [
        "batch 0, 24 rows", "batch 1, 24 rows", "batch 2, 12 rows",
    ]  # fmt: skip
    assert runner(job, spark) == 0
    topic.number(60, 70, 2)
    assert runner(job, spark) == 10
    frame = spark.read.parquet(str(tmp_path / "out"))
    assert sorted(int(bytes(row.value)) for row in frame.select("value").collect()) == list(range(70))
    assert {"topic", "partition", "offset", "date"} <= set(frame.columns)


@pytest.mark.slow
def test_parquet_is_whole_wherever_a_batch_was_interrupted(
    spark: Any, make_topic: MakeTopic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver that ends before the entry, between entry and move, and within the moves."""
    topic = make_topic(3)
    variables = {"BOOTSTRAP": topic.bootstrap, "TOPIC": topic.name, "OUT": str(tmp_path / "out")}
    job, runner = job_of("pipeline-to-parquet.yaml", **variables)

    class Killed(Exception):
        pass

    def read() -> list[int]:
        frame = spark.read.parquet(str(tmp_path / "out"))
        return sorted(int(bytes(row.value)) for row in frame.select("value").collect())

    def die(*_arguments: object) -> None:
        raise Killed

    expected = 0
    moved: list[str] = []
    real_move = Folder.move

    def die_at_second(folder: Folder, source: str, target: str) -> None:
        if len(moved) == 1:
            raise Killed
        moved.append(target)
        real_move(folder, source, target)

    deaths = ((Ledger, "commit", die), (Ledger, "_place", die), (Folder, "move", die_at_second))
    for place, method, replacement in deaths:
        topic.number(expected, expected + 30, 3)
        expected += 30
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(place, method, replacement)
            runner(job, spark)
        runner(job, spark)
        assert read() == list(range(expected))
    assert moved


def test_a_mirror_keeps_partitions_order_and_maps_offsets(
    spark: Any, make_topic: MakeTopic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within one cluster, by a prefix. The target begins with records of an earlier life."""
    topic = make_topic(2)
    copy = Topic(topic.bootstrap, f"copy.{topic.name}")
    link = Link({"bootstrap.servers": topic.bootstrap})
    topic.feed(
        {"value": b"%d" % n, "key": b"k%d" % n, "partition": n % 2, "timestamp": 1000 + n, "headers": [("n", b"x")]}
        for n in range(100)
    )
    variables = {"SOURCE": topic.bootstrap, "TARGET": topic.bootstrap, "TOPIC": topic.name, "PREFIX": "copy.",
                 "STATE": str(tmp_path / "state")}  # fmt: skip
    job, runner = job_of("pipeline-mirror.yaml", **variables)
    job.groups, job.most = ["readers"], 60
    commit_offsets(link, "readers", {TopicPartition(topic.name, 0): 20})
    # The driver is lost after the tasks have copied, before it writes that down.
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        real = mirror_job._carry_out

        def lost(*arguments: Any) -> int:
            real(*arguments)
            raise KeyboardInterrupt

        patch.setattr(mirror_job, "_carry_out", lost)
        runner(job, spark)
    assert sum(map(len, copy.read().values())) == 60
    runner(job, spark)
    topic.number(100, 110, 2)
    runner(job, spark)
    assert runner(job, spark) == 0

    def seen(records: list[Any]) -> list[tuple[Any, ...]]:
        return [(each.key, each.value, each.timestamp, each.headers) for each in records]

    originals, copies = topic.read(), copy.read()
    assert {number: seen(records) for number, records in copies.items()} == {
        number: seen(records) for number, records in originals.items()
    }
    rounds = list(mirror_job.rounds_of(spark, job.state))
    for offset in (0, 7, 54):
        assert mirror_job.translate(rounds, TopicPartition(topic.name, 0), offset) == offset
    assert committed_offsets(link, "readers")[TopicPartition(copy.name, 0)] == 20
    link.close()


@pytest.mark.slow
def test_windows_count_late_records_until_the_watermark_passes(
    spark: Any, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic = make_topic(1)

    def click(user: str, second: int) -> dict[str, Any]:
        at = f"2026-01-01T00:{second // 60:02d}:{second % 60:02d}Z"
        return {"value": f'{{"user":"{user}","at":"{at}"}}'.encode()}

    variables = {"BOOTSTRAP": topic.bootstrap, "TOPIC": topic.name, "OUT": str(tmp_path / "out"),
                 "CHECKPOINT": str(tmp_path / "checkpoint")}  # fmt: skip
    topic.feed([click("a", 5), click("b", 50), click("a", 130)])
    run(spark, "pipeline-windows.yaml", **variables)
    topic.feed([click("a", 40), click("c", 600)])  # late, and within the watermark
    run(spark, "pipeline-windows.yaml", **variables)
    topic.feed([click("z", 10), click("c", 1200)])  # too late
    run(spark, "pipeline-windows.yaml", **variables)
    rows = spark.read.json(str(tmp_path / "out")).collect()
    first = [row for row in rows if row.begins.startswith("2026-01-01T00:00:00")]
    assert {(row.user, row.clicks) for row in first} == {("a", 2), ("b", 1)}


@pytest.mark.slow
def test_values_that_cannot_be_decoded_fail_or_go_to_the_dead_letters(
    spark: Any, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic, dead = make_topic(1), make_topic(1)
    topic.feed([{"value": b'{"id": 1, "name": "a"}'}, {"value": b"not json"}, {"value": b'{"id": 2, "name": "b"}'}])
    text = f"""
kafka: {{bootstrap.servers: "{topic.bootstrap}"}}
source: {{topic: {topic.name}, format: json, schema: "id INT, name STRING", options: {{startingOffsets: earliest}}}}
sink: {{kind: json, path: {tmp_path / "out"}}}
"""
    (tmp_path / "p.yaml").write_text(text)
    job = JOBS["pipeline"].read(read_file(tmp_path / "p.yaml"), "strict")
    with pytest.raises(Exception, match=f"The value of {topic.name}-0 at offset 1 is not JSON of the schema: not json"):
        JOBS["pipeline"].run(job, spark, Stop())
    shutil.rmtree(tmp_path / "out", ignore_errors=True)
    job.dead_letter_topic = dead.name
    JOBS["pipeline"].run(job, spark, Stop())
    rows = spark.read.json(str(tmp_path / "out")).orderBy("id").collect()
    assert [(row.id, row.name, row.offset) for row in rows] == [(1, "a", 0), (2, "b", 2)]
    letter = dead.read()[0][0]
    assert letter.value == b"not json"
    assert dict(letter.headers) == {"topic": topic.name.encode(), "partition": b"0", "offset": b"1"}


@pytest.mark.slow
def test_an_audit_finds_what_did_not_arrive(spark: Any, make_topic: MakeTopic, capsys: Any) -> None:
    left, right = make_topic(2), make_topic(1)
    sent = [
        {"value": b"%d" % n, "timestamp": 1_700_000_000_000 + n * 60_000, "headers": [("producer", b"p%d" % (n % 2))]}
        for n in range(60)
    ]
    left.feed(sent)
    variables = {"LEFT": left.bootstrap, "RIGHT": right.bootstrap, "LEFT_TOPIC": left.name, "RIGHT_TOPIC": left.name}
    assert run(spark, "pipeline-audit.yaml", **variables) == 0
    job, runner = job_of("pipeline-audit.yaml", **{**variables, "RIGHT_TOPIC": right.name})
    right.feed(sent[:-3])
    assert runner(job, spark) > 0
    assert "60 records left, 57 right" in capsys.readouterr().out


@pytest.mark.slow
def test_history_is_kept_and_plotted(spark: Any, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic(2)
    topic.number(0, 100, 2)
    link = Link({"bootstrap.servers": topic.bootstrap})
    commit_offsets(link, "slow", {TopicPartition(topic.name, 0): 10})
    link.close()
    variables = {"BOOTSTRAP": topic.bootstrap, "OUT": str(tmp_path / "out"), "REPORT": str(tmp_path / "report.html")}
    job, runner = job_of("pipeline-history.toml", **variables)
    job.topics, job.groups, job.samples, job.every_s = [topic.name], ["slow"], 2, 0.1
    assert runner(job, spark) == 6
    rows = spark.read.parquet(str(tmp_path / "out"))
    assert {row.lag for row in rows.where("kind = 'group'").collect()} == {40}
    assert all(row.size_bytes > 0 and row.log_end == 50 for row in rows.where("kind = 'topic'").collect())
    assert "data:image/png" in (tmp_path / "report.html").read_text()


def test_segment_files_hold_what_the_broker_serves(spark: Any, cluster: Any, make_topic: MakeTopic) -> None:
    """One Spark partition per segment; every column equal, live."""
    topic = make_topic(2, segment_bytes=16_384)
    topic.feed(({"value": bytes(100), "key": b"%d" % n, "partition": n % 2, "headers": [("h", b"%d" % n)]}
                for n in range(2000)), compression_type="gzip", batch_size=2000)  # fmt: skip
    topic.feed(({"value": bytes(100), "partition": n % 2} for n in range(1000)), batch_size=4000)
    directory = next((cluster.folder / "broker-0").rglob(f"{topic.name}-0")).parent
    options = {"subscribe": topic.name, "includeHeaders": "true"}
    served = load(spark, {**topic.options, **options}).orderBy("partition", "offset").collect()
    segments = load(spark, {**options, "path": str(directory)}, "kafka_py_log")
    assert segments.rdd.getNumPartitions() == len(list(directory.glob(f"{topic.name}-*/*.log"))) > 4
    assert segments.orderBy("partition", "offset").collect() == served
    few = load(spark, {**options, "path": str(directory), "pushFilters": "true"}, "kafka_py_log")
    assert few.where("partition = 1 and offset >= 1400").count() == 100
