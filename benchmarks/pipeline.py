"""Topics in and out of Spark: ours beside Spark's own Kafka connector, in one run, on one broker of ours.

    .venv/bin/python -m benchmarks.pipeline                       # 10 million 100-byte records, 4 partitions, local[2]
    .venv/bin/python -m benchmarks.pipeline --records 1000000

Prints a table: records/s into a count and into an aggregate over all bytes, records/s out by the sink, the time to plan
a micro-batch over idle partitions, and the most memory a Python worker of Spark took. Spark's connector comes by its
Maven coordinates (mvn, or Spark's own resolver); where it cannot be had its column stays empty.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.peers.spark_connector import connector_jars
from kafka_py.testing.processes import ROOT

IDLE_PARTITIONS = 100


class Peak:
    """The largest resident size that a Python worker of Spark has had, in MB, looked at ten times a second."""

    def __init__(self) -> None:
        self.megabytes = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        import psutil

        me = psutil.Process()
        while not self._stop.wait(0.1):
            for process in me.children(recursive=True):
                try:
                    if "pyspark" in " ".join(process.cmdline()) and process.name().startswith("python"):
                        self.megabytes = max(self.megabytes, process.memory_info().rss / 1e6)
                except psutil.Error:
                    continue

    def stop(self) -> float:
        self._stop.set()
        self._thread.join()
        return self.megabytes


def best(work: Callable[[], Any], times: int) -> float:
    """Seconds of the fastest run."""
    seconds = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begun)
    return min(seconds)


@contextmanager
def session(jars: list[Path], folder: Path) -> Iterator[Any]:
    from kafka_py.pipeline.session import spark_session

    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    settings = {"spark.driver.memory": "2g", "spark.local.dir": str(folder), "spark.driver.host": "127.0.0.1"}
    if jars:
        settings["spark.jars"] = ",".join(map(str, jars))
    spark = spark_session("benchmark", master="local[2]", settings=settings)
    try:
        yield spark
    finally:
        spark.stop()


def rows(spark: Any, count: int) -> Any:
    """`count` rows with values of 100 bytes, in two Spark partitions."""
    return spark.range(0, count, 1, 2).selectExpr("cast(lpad(cast(id as string), 100, 'x') as binary) as value")


class Measure:
    """One data source against one broker."""

    def __init__(self, spark: Any, kind: str, bootstrap: str) -> None:
        self._spark, self._kind, self._options = spark, kind, {"kafka.bootstrap.servers": bootstrap}

    def read(self, topic: str) -> Any:
        options = {**self._options, "subscribe": topic, "startingOffsets": "earliest"}
        return self._spark.read.format(self._kind).options(**options).load()

    def count(self, topic: str) -> None:
        self.read(topic).count()

    def sum_bytes(self, topic: str) -> None:
        self.read(topic).selectExpr("sum(length(value))", "max(offset)", "max(timestamp)").collect()

    def write(self, topic: str, count: int, **options: str) -> None:
        frame = rows(self._spark, count)
        frame.write.format(self._kind).options(**self._options, topic=topic, **options).mode("append").save()

    def write_once(self, topic: str, count: int) -> None:
        """In transactions."""
        self.write(topic, count, exactlyOnce="true", transactionalIdPrefix="benchmark")


def shown(figure: float | None) -> str:
    """Of the table's columns; Spark's connector has no transactions."""
    return f"{'' if figure is None else format(figure, ',.0f'):>14}"


def plan_seconds(bootstrap: str, topic: str) -> float:
    """A micro-batch over idle partitions: what Spark asks of the reader before every one."""
    from kafka_py.pipeline.options import Options, Where
    from kafka_py.pipeline.source import StreamReader

    reader = StreamReader(Options({"kafka.bootstrap.servers": bootstrap, "subscribe": topic}, Where.STREAM), None)
    limit = reader.getDefaultReadLimit()
    start = reader.initialOffset()

    def plan() -> None:
        reader.partitions(start, reader.latestOffset(start, limit))
        reader.reportLatestOffset()

    try:
        return best(plan, 5)
    finally:
        reader.stop()


def run(count: int, times: int) -> None:
    jars = connector_jars()
    with tempfile.TemporaryDirectory() as folder, KafkaCluster() as cluster, session(jars, Path(folder)) as spark:
        bootstrap = cluster.bootstrap_servers
        print(f"{count:,} records of 100 bytes, 4 partitions, local[2], best of {times}", flush=True)
        ours = Measure(spark, "kafka_py", bootstrap)
        measures = {"kafka_py": ours, **({"Spark's": Measure(spark, "kafka", bootstrap)} if jars else {})}
        topic = cluster.create_topic("read", 4)
        ours.write(topic, count)
        for measure in measures.values():  # classes loaded, workers started
            measure.count(topic)
        peak = Peak()
        results = [
            ("read into a count",
             {name: count / best(lambda m=m: m.count(topic), times) for name, m in measures.items()}),
            ("read, all bytes summed",
             {name: count / best(lambda m=m: m.sum_bytes(topic), times) for name, m in measures.items()}),
            ("written",
             {name: count / best(lambda m=m: m.write(cluster.create_topic(partitions=4), count), 1)
              for name, m in measures.items()}),
            ("written exactly once",
             {"kafka_py": count / best(lambda: ours.write_once(cluster.create_topic(partitions=4), count), 1)}),
        ]  # fmt: skip
        memory = peak.stop()
        print(f"{'records/s':<26}" + "".join(f"{name:>14}" for name in measures))
        for label, figures in results:
            print(f"{label:<26}" + "".join(shown(figures.get(name)) for name in measures))
        idle = cluster.create_topic("idle", IDLE_PARTITIONS)
        planned_ms = plan_seconds(bootstrap, idle) * 1000
        print(f"micro-batch over {IDLE_PARTITIONS} idle partitions planned in {planned_ms:.0f} ms")
        print(f"largest Python worker {memory:.0f} MB")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--times", type=int, default=3)
    given = parser.parse_args()
    run(given.records, given.times)
    return 0


if __name__ == "__main__":
    sys.exit(main())
