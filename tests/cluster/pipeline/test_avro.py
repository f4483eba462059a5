"""Avro values in a pipeline, by Spark's own package for them: plain, and as a schema registry's clients write them.

Runs in processes of its own, for a session takes its jars when it starts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pa_parquet
import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.pipeline.jobs.run import JOBS
from kafka_py.pipeline.jobs.spec import read_file
from kafka_py.pipeline.jobs.stopping import Stop
from kafka_py.testing.peers.apache import Unavailable
from kafka_py.testing.peers.spark_connector import avro
from kafka_py.testing.processes import python_environment

from .conftest import Topic

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "int"}, {"name": "name", "type": ["null", "string"], "default": None}],
}
ONE, NOBODY = b"\x02\x02\x02a", b"\x04\x00"
"""{id 1, name "a"} and {id 2, name null}, in Avro's encoding: zig-zag numbers, a branch, a length and text."""
BAD = b"\x02\x08"


def job_file(folder: Path, topic: Topic, form: str, more: str = "") -> Path:
    (folder / "order.avsc").write_text(json.dumps(SCHEMA))
    path = folder / "avro.yaml"
    path.write_text(f"""
kafka: {{bootstrap.servers: "{topic.bootstrap}"}}
source: {{topic: {topic.name}, format: {form}, schema: {folder / "order.avsc"}}}
sink: {{kind: parquet, path: {folder / "out"}}}
spark: {{settings: {{spark.jars: "{",".join(map(str, jars()))}", spark.driver.host: 127.0.0.1}}}}
{more}
""")
    return path


def jars() -> list[Path]:
    try:
        return avro()
    except Unavailable as why:
        pytest.skip(str(why))


def run(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kafka_py.pipeline.jobs.run", str(path), "--master", "local[1]"]
    environment = {**os.environ, **python_environment()}
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=False)


def written(folder: Path) -> list[tuple[Any, ...]]:
    rows = [row for file in (folder / "out").glob("*.parquet") for row in pa_parquet.read_table(file).to_pylist()]
    return sorted((row["offset"], row["id"], row["name"]) for row in rows)


@pytest.mark.parametrize(("form", "prefix"), [("avro", b""), ("confluent-avro", b"\0\0\0\0\7")])
def test_records_become_columns_and_the_rest_dead_letters(
    make_topic: Callable[..., Topic], tmp_path: Path, form: str, prefix: bytes
) -> None:
    topic, dead = make_topic(1), make_topic(1)
    topic.feed([{"value": prefix + ONE}, {"value": prefix + BAD}, {"value": prefix + NOBODY}])
    done = run(job_file(tmp_path, topic, form, f"dead_letter_topic: {dead.name}"))
    assert done.returncode == 0, done.stderr[-3000:]
    assert written(tmp_path) == [(0, 1, "a"), (2, 2, None)]
    [letter] = dead.read()[0]
    assert letter.value == prefix + BAD
    assert dict(letter.headers)["offset"] == b"1"


def test_what_is_not_avro_fails_the_pipeline_naming_its_place(
    make_topic: Callable[..., Topic], tmp_path: Path
) -> None:
    topic = make_topic(1)
    topic.feed([{"value": ONE}, {"value": BAD}])
    done = run(job_file(tmp_path, topic, "avro"))
    assert done.returncode == 1
    assert f"The value of {topic.name}-0 at offset 1 is not Avro of the schema: 0208" in done.stderr


def test_without_the_package_the_pipeline_says_which(
    spark: Any, make_topic: Callable[..., Topic], tmp_path: Path
) -> None:
    path = job_file(tmp_path, make_topic(1), "avro")
    job = JOBS["pipeline"].read(read_file(path), "avro")
    with pytest.raises(ConfigError, match=r"org\.apache\.spark:spark-avro_2\.13:4\."):
        JOBS["pipeline"].run(job, spark, Stop())
