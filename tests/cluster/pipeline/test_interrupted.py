"""A pipeline that goes on for ever ends by Ctrl-C as if it had come to its end, and goes on where it was."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pa_parquet
import pytest

from kafka_py.testing.processes import ROOT, Process, python_environment

from .conftest import Topic

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

STREAM = """
kafka: {{bootstrap.servers: "{bootstrap}"}}
source: {{topic: {topic}, format: text, options: {{startingOffsets: earliest}}}}
sink: {{kind: parquet, path: {folder}/out}}
checkpoint: {folder}/checkpoint
trigger: 1 second
name: interrupted
"""


def numbers(folder: Path) -> list[int]:
    files = list(folder.rglob("*.parquet"))
    return sorted(int(value) for path in files for value in pa_parquet.ParquetFile(path).read()["value"].to_pylist())


@pytest.mark.parametrize("kind", ["topic-to-parquet", "pipeline"])
def test_ctrl_c_ends_it_without_complaints(make_topic: Callable[..., Topic], tmp_path: Path, kind: str) -> None:
    topic = make_topic(2)
    if kind == "pipeline":
        file = tmp_path / "stream.yaml"
        file.write_text(STREAM.format(bootstrap=topic.bootstrap, topic=topic.name, folder=tmp_path))
        settings = []
    else:
        file = ROOT / "config" / "pipeline-to-parquet.yaml"
        settings = [f"BOOTSTRAP={topic.bootstrap}", f"TOPIC={topic.name}", f"OUT={tmp_path / 'out'}", "EVERY_S=1"]
    command = [sys.executable, "-m", "kafka_py.pipeline.jobs.run", str(file), "--master", "local[1]"]
    command += [word for each in settings for word in ("--set", each)]
    for turn in (0, 1):
        topic.number(turn * 20, turn * 20 + 20, 2)
        log = tmp_path / f"{turn}.log"
        with Process(command, log, environment=python_environment()) as process:
            process.wait_for_output(", 20 rows in ", 240)
            process.signal(signal.SIGINT)
            assert process.wait(120) == 0, log.read_text()[-3000:]
        said = log.read_text()
        assert "kafka-pipeline: stopping" in said
        assert "Traceback" not in said
        assert "KeyboardInterrupt" not in said
    assert numbers(tmp_path / "out") == list(range(40))
