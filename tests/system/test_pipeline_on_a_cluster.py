"""The source and the sink on a Spark cluster with two workers, kafka_py shipped as --py-files would ship it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

import pyspark

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.processes import ROOT
from kafka_py.testing.topics import create_topic

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PROGRAM = """
import sys
bootstrap, package, folder = sys.argv[1:]
sys.path.insert(0, package)
from kafka_py.pipeline.session import spark_session
spark = spark_session("two workers", master="local-cluster[2,1,512]", settings={
    "spark.submit.pyFiles": package, "spark.local.dir": folder, "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "512m", "spark.sql.shuffle.partitions": "2", "spark.executorEnv.PYTHONPATH": ""})
spark.range(0, 1000, 1, 4).selectExpr("cast(id as string) as value").write.format("kafka_py").option(
    "kafka.bootstrap.servers", bootstrap).option("topic", "spread").mode("append").save()
frame = spark.read.format("kafka_py").option("kafka.bootstrap.servers", bootstrap).option("subscribe", "spread").load()
values = sorted(int(bytes(row.value)) for row in frame.select("value").collect())
print("RESULT", values == list(range(1000)), spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1)
spark.stop()
"""


def test_two_workers_share_a_topic(module_broker: BrokerProcess, tmp_path: Path) -> None:
    create_topic([module_broker.bootstrap], "spread", 4)
    package = tmp_path / "kafka_py.zip"
    with zipfile.ZipFile(package, "w") as packed:
        for path in sorted((ROOT / "kafka_py").rglob("*")):
            if path.suffix in (".py", ".properties") or path.name == "py.typed":
                packed.write(path, path.relative_to(ROOT))
    environment = {**os.environ, "SPARK_HOME": str(Path(pyspark.__file__).parent), "SPARK_SCALA_VERSION": "2.13"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, module_broker.bootstrap, str(package), str(tmp_path)], cwd=tmp_path,
        capture_output=True, text=True, timeout=850, env=environment, check=False,
    )  # fmt: skip
    assert "RESULT True 2" in done.stdout, done.stdout[-2000:] + done.stderr[-4000:]
