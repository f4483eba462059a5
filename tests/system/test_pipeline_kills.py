"""Spark killed at random points: drivers with all they have, and the Python workers of executors.

A stream into Parquet repeats nothing, the sink loses nothing, and the transactional sink and the pipelines
topic-to-parquet and mirror do neither.
KAFKA_PY_KILLS sets how many times each is killed; the seed is printed, and how many runs had begun to work.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")
pytest.importorskip("psutil")

import psutil
import pyarrow.parquet as pa_parquet

from kafka_py.clients import Consumer, Producer, TopicPartition
from kafka_py.pipeline.options import DECISION_TOPIC
from kafka_py.testing import guard
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.processes import ROOT
from kafka_py.testing.topics import create_topic

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]

BEFORE_WORK = 0.15
"""The part of the kills that come at any moment from the start of the program."""
MOST_STEPS = 20
"""After fewer steps than these a run is killed that works; a micro-batch has about seven."""
WORKERS_KILLED = 0.15
"""How often a worker is killed after a step."""
KILLS = int(os.environ.get("KAFKA_PY_KILLS", "1"))
PER_RUN = 1500
PARTITIONS = 2

STREAM = """
import sys
from kafka_py.pipeline.session import spark_session
bootstrap, topic, sink, target, folder = sys.argv[1:]
spark = spark_session("killed", master="local[2,4]", settings={"spark.local.dir": folder + "/local",
    "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"})
stream = (spark.readStream.format("kafka_py").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic)
    .option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", "500").load().select("key", "value"))
writer = stream.writeStream.format(sink).option("checkpointLocation", folder + "/checkpoint")
if sink == "parquet":
    writer = writer.option("path", target)
else:
    once = sink == "exactly once"
    writer = writer.format("kafka_py").option("exactlyOnce", once)
    writer = writer.option("kafka.bootstrap.servers", bootstrap).option("topic", target)
writer.trigger(availableNow=True).start().awaitTermination()
print("DONE", flush=True)
spark.stop()
"""

JOB = """
import sys
from kafka_py.pipeline.jobs.run import main
code = main(sys.argv[1:])
if code == 0:
    print("DONE", flush=True)
"""


class Killed:
    """A program that is started and, sooner or later, killed with all that it has started.

    progress: a value that changes when a run begins to work, and with what it does.
    """

    def __init__(self, progress: Callable[[], object], program: str, *arguments: str) -> None:
        self._command = [sys.executable, "-c", program, *arguments]
        self._progress = progress
        self.worked = 0
        """Runs that were killed after they had begun to work."""

    def run(self, draw: random.Random | None) -> bool:
        """Whether it came to its end; without `draw` nobody kills it."""
        err = subprocess.DEVNULL if draw is not None else subprocess.PIPE  # nobody reads what a killed one says
        process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=err, text=True, start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        guard.watch(process.pid)
        try:
            if draw is None:
                out, said = process.communicate(timeout=1500)
                if "DONE" not in out:
                    print(said[-4000:])
                return "DONE" in out
            if draw.random() < BEFORE_WORK:
                self._wait(process, lambda: False, draw.uniform(1.0, 25.0))
            else:
                self._let_work(process, draw, draw.randrange(1, MOST_STEPS))
                self._wait(process, lambda: False, draw.uniform(0.0, 1.0))
            return process.poll() == 0
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()

    def _let_work(self, process: subprocess.Popen[str], draw: random.Random, steps: int) -> None:
        """Until so many steps are made: how long one takes depends on how busy the machine is."""
        for number in range(steps):
            before = self._progress()
            self._wait(process, lambda before=before: self._progress() != before, 300)
            if process.poll() is not None:
                return
            self.worked += not number
            if draw.random() < WORKERS_KILLED:
                self._kill_a_worker(process.pid, draw)

    @staticmethod
    def _wait(process: subprocess.Popen[str], until: Callable[[], bool], longest_s: float) -> None:
        """Until the process has ended, the time is over, or `until`."""
        deadline = time.monotonic() + longest_s
        while time.monotonic() < deadline and process.poll() is None and not until():
            time.sleep(0.05)

    @staticmethod
    def _kill_a_worker(pid: int, draw: random.Random) -> None:
        """One of the Python processes that run tasks: children of the daemon below the JVM."""
        with contextlib.suppress(psutil.Error):
            workers = [
                child for child in psutil.Process(pid).children(recursive=True)
                if "pyspark.daemon" in " ".join(child.cmdline()) and "daemon" in " ".join(child.parent().cmdline())
            ]  # fmt: skip
            if workers:
                draw.choice(workers).send_signal(signal.SIGKILL)


def feed(bootstrap: str, topic: str, first: int, count: int) -> None:
    with Producer({"bootstrap.servers": bootstrap, "acks": "all"}) as producer:
        for n in range(first, first + count):
            producer.send(topic, b"%d" % n, b"k%d" % n, n % PARTITIONS)
        producer.flush()


def values_of(bootstrap: str, topic: str, isolation: str = "read_uncommitted") -> Iterator[tuple[int, int]]:
    """(partition, value), in the order of each partition."""
    settings = {"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest", "isolation.level": isolation}
    with Consumer(settings) as consumer:
        partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        while any(consumer.position(each) < ends[each] for each in partitions):
            for record in consumer.poll(timeout=10.0):
                yield record.partition, int(record.value)


def survive(program: Killed, bootstrap: str, topic: str) -> int:
    """Feeds and kills, KILLS times, then lets it end; returns how many records there are."""
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    draw = random.Random(seed)
    total = 0
    for _ in range(KILLS):
        feed(bootstrap, topic, total, PER_RUN)
        total += PER_RUN
        program.run(draw)
    # Spark gives up where the machine is so busy that a worker does not start within ten seconds: then again.
    assert any(program.run(None) for _ in range(3))
    print(f"{program.worked} of {KILLS} runs were killed while they worked")
    return total


def files_in(folder: Path) -> Callable[[], object]:
    """The names of all files, but for Spark's own temporary ones."""
    return lambda: {path for path in folder.rglob("*") if "local" not in path.parts}


@contextlib.contextmanager
def decisions_of(bootstrap: str) -> Iterator[Callable[[], object]]:
    """Gives the end of the decision log: every batch begins with a record there."""
    partition = TopicPartition(DECISION_TOPIC, 0)
    with Consumer({"bootstrap.servers": bootstrap}) as consumer:
        yield lambda: partition.topic in consumer.list_topics() and consumer.end_offsets([partition])[partition]


def parquet_values(folder: Path) -> list[int]:
    """By what readers see: Spark's log of finished files where there is one, else all files not hidden."""
    log = folder / "_spark_metadata"
    if log.exists():
        names: set[str] = set()
        for path in log.iterdir():
            if path.name.isdigit() or path.suffix == ".compact":
                lines = path.read_text().splitlines()[1:]
                names |= {json.loads(line)["path"].removeprefix("file://") for line in lines}
        files = [Path(name) for name in names]
    else:
        hidden = ("_", ".")
        files = [
            path for path in folder.rglob("*.parquet")
            if not any(part.startswith(hidden) for part in path.relative_to(folder).parts)
        ]  # fmt: skip
    return sorted(int(value) for path in files for value in pa_parquet.ParquetFile(path).read()["value"].to_pylist())


@pytest.fixture
def topic(module_broker: BrokerProcess, request: pytest.FixtureRequest) -> str:
    name = f"killed-{request.node.name.removeprefix('test_').replace('_', '-')[:40]}"
    create_topic([module_broker.bootstrap], name, PARTITIONS)
    return name


@pytest.mark.core
def test_a_stream_into_parquet_repeats_nothing(module_broker: BrokerProcess, topic: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    program = Killed(files_in(tmp_path), STREAM, module_broker.bootstrap, topic, "parquet", out, str(tmp_path))
    total = survive(program, module_broker.bootstrap, topic)
    assert parquet_values(tmp_path / "out") == list(range(total))


def test_the_sink_loses_nothing(module_broker: BrokerProcess, topic: str, tmp_path: Path) -> None:
    create_topic([module_broker.bootstrap], f"{topic}-out", PARTITIONS)
    program = Killed(
        files_in(tmp_path), STREAM, module_broker.bootstrap, topic, "kafka_py", f"{topic}-out", str(tmp_path)
    )
    total = survive(program, module_broker.bootstrap, topic)
    assert {value for _, value in values_of(module_broker.bootstrap, f"{topic}-out")} == set(range(total))


def test_the_transactional_sink_loses_and_repeats_nothing(module_broker: BrokerProcess, tmp_path: Path) -> None:
    server = module_broker.bootstrap
    for name in ("once-in", "once-out"):
        module_broker.create_topic(name, PARTITIONS)
    with decisions_of(server) as progress:
        program = Killed(progress, STREAM, server, "once-in", "exactly once", "once-out", str(tmp_path))
        total = survive(program, server, "once-in")
    assert sorted(value for _, value in values_of(server, "once-out", "read_committed")) == list(range(total))


def test_the_mirror_in_transactions_loses_and_repeats_nothing(module_broker: BrokerProcess, tmp_path: Path) -> None:
    server = module_broker.bootstrap
    module_broker.create_topic("mirrored", PARTITIONS)
    variables = {"SOURCE": server, "TARGET": server, "TOPIC": "mirrored", "PREFIX": "copy.",
                 "STATE": str(tmp_path / "s"), "EXACTLY_ONCE": "true"}  # fmt: skip
    with decisions_of(server) as progress:
        job = _job("pipeline-mirror.yaml", tmp_path, {"1000000": "1000"}, variables, progress)
        total = survive(job, server, "mirrored")
    expected = [(n % PARTITIONS, n) for n in range(total)]
    found = sorted(values_of(server, "copy.mirrored", "read_committed"), key=lambda pair: pair[1])
    assert found == expected


def test_topic_to_parquet_loses_and_repeats_nothing(module_broker: BrokerProcess, topic: str, tmp_path: Path) -> None:
    variables = {"BOOTSTRAP": module_broker.bootstrap, "TOPIC": topic, "OUT": str(tmp_path / "out")}
    job = _job("pipeline-to-parquet.yaml", tmp_path, {"5000000": "1000"}, variables)
    total = survive(job, module_broker.bootstrap, topic)
    assert parquet_values(tmp_path / "out") == list(range(total))


@pytest.mark.core
def test_the_mirror_loses_and_repeats_nothing(module_broker: BrokerProcess, topic: str, tmp_path: Path) -> None:
    server = module_broker.bootstrap
    variables = {"SOURCE": server, "TARGET": server, "TOPIC": topic, "PREFIX": "copy.", "STATE": str(tmp_path / "s")}
    job = _job("pipeline-mirror.yaml", tmp_path, {"1000000": "1000"}, variables)
    total = survive(job, server, topic)
    expected = [(n % PARTITIONS, n) for n in range(total)]
    assert sorted(values_of(server, f"copy.{topic}"), key=lambda pair: pair[1]) == expected


def _job(
    file: str, folder: Path, edits: dict[str, str], variables: dict[str, str],
    progress: Callable[[], object] | None = None,
) -> Killed:  # fmt: skip
    """A shipped pipeline with smaller batches. progress: by the files in its folder unless it is given."""
    progress = progress or files_in(folder)
    text = (ROOT / "config" / file).read_text()
    for old, new in edits.items():
        assert old in text
        text = text.replace(old, new)
    path = folder / file
    path.write_text(text)
    settings = [word for name, value in variables.items() for word in ("--set", f"{name}={value}")]
    return Killed(progress, JOB, str(path), "--master", "local[2,4]", *settings)
