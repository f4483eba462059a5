"""Spark's own Kafka connector against our broker, batch and streaming: its options beside ours, and its checkpoints.

Runs in a process of its own, for a session takes its jars when it starts, and a test run has one session.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from kafka_py.clients import Producer
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers.apache import Unavailable
from kafka_py.testing.peers.spark_connector import connector
from kafka_py.testing.processes import ROOT
from kafka_py.testing.topics import create_topic

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PROGRAM = """
import json, sys
from kafka_py.pipeline.session import spark_session
from tests.cluster.pipeline.option_cases import each_way, fill, read
bootstrap, topic, copy, jars, folder = sys.argv[1:]
spark = spark_session("connector", master="local[2]", settings={
    "spark.jars": jars, "spark.driver.host": "127.0.0.1", "spark.local.dir": folder + "/local",
    "spark.sql.shuffle.partitions": "2"})
options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "startingOffsets": "earliest",
           "includeHeaders": "true"}

def rows(kind, **more):
    frame = spark.read.format(kind).options(**{**options, **more}).load()
    found = frame.orderBy("partition", "offset").collect()
    return frame.schema.simpleString(), [[repr(value) for value in row] for row in found]

def stream(kind, target):
    query = (spark.readStream.format(kind).options(**options).option("maxOffsetsPerTrigger", "40").load()
             .select("value").writeStream.format("parquet").option("path", f"{folder}/{target}")
             .option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start())
    query.awaitTermination()
    return spark.read.parquet(f"{folder}/{target}").count()

theirs, ours = rows("kafka"), rows("kafka_py")
by_time = {"startingTimestamp": "1700000000050", "endingTimestamp": "1700000000060"}
result = {"schemas": [theirs[0], ours[0]], "equal": theirs[1] == ours[1], "rows": len(ours[1]),
          "by_time": [len(rows(kind, **by_time)[1]) for kind in ("kafka", "kafka_py")]}
def attempt(*arguments):
    try:
        return read(spark, *arguments)
    except Exception as error:
        return {"numbers": str(error)[:500], "batches": []}

names = fill(bootstrap)
result["options"] = []
for number, (where, case) in enumerate(each_way()):
    if case.ours or case.numbers is None:
        continue
    options_of_case = case.options(names)
    both = [attempt(kind, where, options_of_case, f"{folder}/{kind}-{number}") for kind in ("kafka", "kafka_py")]
    result["options"].append([f"{where} {case.id}", *both])
result["streamed"] = stream("kafka", "theirs")
spark.range(50).selectExpr("cast(id as string) as key", "cast(id as string) as value").write.format("kafka").option(
    "kafka.bootstrap.servers", bootstrap).option("topic", copy).save()
result["written"] = spark.read.format("kafka_py").options(**{**options, "subscribe": copy}).load().count()
from pathlib import Path
offsets = sorted(Path(folder, "checkpoint", "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
result["offsets"] = json.loads(offsets[-1].read_text().splitlines()[-1])
print("RESULT" + json.dumps(result))
spark.stop()
"""


def test_the_connector_and_our_source_read_the_same(module_broker: BrokerProcess, tmp_path: Path) -> None:
    try:
        jars = ",".join(map(str, connector()))
    except Unavailable as why:
        pytest.skip(str(why))
    for name in ("seen", "written"):
        create_topic([module_broker.bootstrap], name, 2, configs={"retention.ms": "-1"})
    with Producer({"bootstrap.servers": module_broker.bootstrap, "compression.type": "lz4"}) as producer:
        for n in range(100):
            headers = [("h", b"%d" % n), ("empty", None)] if n % 3 else None
            value = None if n % 10 == 9 else b"%d" % n
            producer.send("seen", value, b"k%d" % n, n % 2, 1_700_000_000_000 + n, headers)
    result = _run(module_broker.bootstrap, "seen", "written", jars, str(tmp_path))
    assert result["schemas"][0] == result["schemas"][1]
    assert result["equal"]
    assert result["rows"] == result["streamed"] == 100
    assert result["by_time"] == [10, 10]
    assert result["written"] == 50
    assert len(result["options"]) > 30
    for what, theirs, ours in result["options"]:
        assert theirs["numbers"] == ours["numbers"], what
        assert theirs["batches"] == ours["batches"], what
    assert result["offsets"] == {"seen": {"0": 50, "1": 50}}


def _run(*arguments: str) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, timeout=850,
                          env=environment, check=False)  # fmt: skip
    found = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    assert found, done.stdout[-2000:] + done.stderr[-4000:]
    answer: dict[str, Any] = json.loads(found[0].removeprefix("RESULT"))
    return answer
