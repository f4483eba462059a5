"""The performance tests as worked examples (WE4-38, WE4-39): 1,024-byte records, one partition, acks=1.

Fewer records than the example's million: `python -m benchmarks.partitions` takes that many.
"""

import re
import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from kafka_py.cli.perf.consumer_perf_test import HEADER
from kafka_py.testing.topics import create_topic

BIN = Path(__file__).resolve().parents[3] / "bin"
TOPIC = "topic-1"
RECORDS = 30_000
SIZE = 1024
TIMEOUT_S = 120


def run(script, *arguments):
    command = [BIN / script, "--topic", TOPIC, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.fixture
def produce(bootstrap):
    create_topic([bootstrap], TOPIC, 1)

    def run_producer(records, throughput, *more):
        return run(
            "kafka-producer-perf-test.sh", "--num-records", records, "--record-size", SIZE, "--throughput", throughput,
            "--producer-props", f"bootstrap.servers={bootstrap}", "acks=1", *more,
        )  # fmt: skip

    return run_producer


def rate(line, records):
    found = re.match(rf"{records} records sent, (\d+\.\d+) records/sec", line)
    assert found, line
    return float(found[1])


def test_the_producer_with_and_without_a_limit_and_with_its_metrics_then_the_consumer(produce, bootstrap):
    """WE4-38: no limit, then 100 records/s, then the metrics; WE4-39: all of it is read, the columns fit together."""
    [*_, summary] = produce(RECORDS, -1)
    assert rate(summary, RECORDS) > 100
    [*intervals, summary] = produce(300, 100)
    assert rate(summary, 300) < 115, "the limit, and what may be sent at the start"
    assert all(float(line.split(", ")[1].split()[0]) < 115 for line in intervals)
    printed = produce(1000, -1, "--print-metrics")
    rate(next(line for line in printed if "records sent" in line), 1000)
    assert any(re.match(r"producer-metrics:record-send-total:\{.*\} +: 1000\.000$", line) for line in printed)

    sent = RECORDS + 300 + 1000
    header, row = run("kafka-consumer-perf-test.sh", "--bootstrap-server", bootstrap, "--messages", sent)
    assert header == HEADER
    figures = dict(zip(header.split(", "), row.split(", "), strict=True))
    assert int(figures["data.consumed.in.nMsg"]) == sent
    assert float(figures["data.consumed.in.MB"]) == pytest.approx(sent * SIZE / (1 << 20), abs=1e-4)
    pattern = "%Y-%m-%d %H:%M:%S:%f"
    took = datetime.strptime(figures["end.time"], pattern) - datetime.strptime(figures["start.time"], pattern)
    took_ms = took.total_seconds() * 1000
    assert int(figures["fetch.time.ms"]) == pytest.approx(took_ms - int(figures["rebalance.time.ms"]), abs=1)
