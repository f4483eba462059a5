"""Spark's own Kafka connector with kafka.isolation.level=read_committed on our broker: exact rows, batch and streaming.

The topic has committed and aborted transactions, records of no transaction, and an open transaction at its end; so its
offsets have gaps, of markers and of aborted records, some at the end of what a micro-batch reads. `KAFKA_PY_LONG` has
many more transactions. Spark runs in a process of its own, for a session takes its jars when it starts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

pytest.importorskip("pyspark")

from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.peers.apache import Unavailable
from kafka_py.testing.peers.spark_connector import connector
from kafka_py.testing.processes import ROOT

TRANSACTIONS = 300 if "KAFKA_PY_LONG" in os.environ else 24
PARTITIONS, PER_TRANSACTION = 2, 6
TIMEOUT_S = 60.0

pytestmark = [pytest.mark.slow, pytest.mark.core, pytest.mark.timeout(1200)]

PROGRAM = """
import json, sys
from kafka_py.pipeline.session import spark_session
bootstrap, topic, jars, folder, per_trigger = sys.argv[1:]
spark = spark_session("read committed", master="local[2]", settings={
    "spark.jars": jars, "spark.driver.host": "127.0.0.1", "spark.local.dir": folder + "/local",
    "spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2", "spark.log.level": "ERROR"})
options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
columns = ["partition", "offset", "cast(value as string) as value"]

def batch(isolation):
    frame = spark.read.format("kafka").options(**options).option("kafka.isolation.level", isolation).load()
    return sorted([list(row) for row in frame.selectExpr(*columns).collect()])

def stream():
    frame = spark.readStream.format("kafka").options(**options).option("kafka.isolation.level", "read_committed")
    query = (frame.option("maxOffsetsPerTrigger", per_trigger).load().selectExpr(*columns)
             .writeStream.format("parquet").option("path", folder + "/out")
             .option("checkpointLocation", folder + "/checkpoint").trigger(availableNow=True).start())
    query.awaitTermination()
    return sorted([list(row) for row in spark.read.parquet(folder + "/out").collect()])

for line in sys.stdin:
    step = line.strip()
    found = stream() if step == "stream" else batch(step)
    print("RESULT" + json.dumps(found), flush=True)
spark.stop()
"""


class Spark:
    """A Spark process that reads the topic as it is asked to."""

    def __init__(self, *arguments: str, log: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self._log = log
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, *arguments],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment,
            )  # fmt: skip

    def read(self, step: str) -> list[tuple[int, int, str]]:
        """The rows, sorted. step: an isolation level for a batch, or `stream` for all that a stream has written."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(step + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("RESULT"):
                return [(row[0], row[1], row[2]) for row in json.loads(line.removeprefix("RESULT"))]
        raise AssertionError(self._log.read_text()[-4000:])

    def end(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


class Writer:
    """Writes to all partitions. committed, aborted: (partition, offset, value) of each record."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.committed: list[tuple[int, int, str]] = []
        self.aborted: list[tuple[int, int, str]] = []
        self.open: list[tuple[int, int, str]] = []
        self._topic = topic
        self._number = 0
        self.producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "transactional.id": "spark"})
        self._plain = confluent_kafka.Producer({"bootstrap.servers": bootstrap})
        self.producer.init_transactions(TIMEOUT_S)

    def _send(self, producer: confluent_kafka.Producer, into: list[tuple[int, int, str]]) -> None:
        def delivered(error: object, message: Any) -> None:
            assert error is None, error
            into.append((message.partition(), message.offset(), message.value().decode()))

        for _ in range(PER_TRANSACTION):
            self._number += 1
            producer.produce(self._topic, f"value {self._number}", partition=self._number % PARTITIONS,
                             on_delivery=delivered)  # fmt: skip
        producer.flush(TIMEOUT_S)

    def write(self, transactions: int) -> None:
        """One in four is aborted, and one in four steps is no transaction; the last one is aborted."""
        for number in range(transactions):
            if number % 4 == 1:
                self._send(self._plain, self.committed)
                continue
            self.producer.begin_transaction()
            if number % 4 == 3:
                self._send(self.producer, self.aborted)
                self.producer.abort_transaction(TIMEOUT_S)
            else:
                self._send(self.producer, self.committed)
                self.producer.commit_transaction(TIMEOUT_S)

    def leave_open(self) -> None:
        self.producer.begin_transaction()
        self._send(self.producer, self.open)

    def commit_open(self) -> None:
        self.producer.commit_transaction(TIMEOUT_S)
        self.committed += self.open


def test_only_committed_rows_come_and_all_of_them(
    kafka_cluster_factory: Callable[..., KafkaCluster], tmp_path: Path
) -> None:
    try:
        jars = ",".join(map(str, connector()))
    except Unavailable as why:
        pytest.skip(str(why))
    with kafka_cluster_factory(settings={"transaction.state.log.num.partitions": 3}) as cluster:
        topic = cluster.create_topic(partitions=PARTITIONS)
        writer = Writer(cluster.bootstrap_servers, topic)
        writer.write(TRANSACTIONS)
        spark = Spark(cluster.bootstrap_servers, topic, jars, str(tmp_path), str(TRANSACTIONS), log=tmp_path / "log")
        try:
            assert spark.read("read_committed") == sorted(writer.committed)
            assert spark.read("stream") == sorted(writer.committed)
            writer.leave_open()
            assert spark.read("read_committed") == sorted(writer.committed)
            assert spark.read("read_uncommitted") == sorted(writer.committed + writer.aborted + writer.open)
            assert spark.read("stream") == sorted(writer.committed)
            writer.commit_open()
            assert spark.read("stream") == sorted(writer.committed)
            assert spark.read("read_committed") == sorted(writer.committed)
        finally:
            spark.end()
