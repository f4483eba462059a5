"""The code on docs/pipeline.md, run as it stands, but for addresses and paths."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.processes import ROOT

from .conftest import Topic


@pytest.mark.slow
def test_the_page_runs_from_top_to_bottom(spark: Any, cluster: KafkaCluster, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "pipeline.md").read_text()
    orders = Topic(cluster.bootstrap_servers, cluster.create_topic("orders", 2))
    loud = Topic(cluster.bootstrap_servers, cluster.create_topic("loud-orders", 1))
    orders.feed({"value": b"order %d" % n, "partition": n % 2} for n in range(10))
    names: dict[str, Any] = {}
    for code in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        text = code.replace("localhost:9092", cluster.bootstrap_servers).replace("/data/", f"{tmp_path}/")
        exec(text.replace("/var/lib/kafka-logs", str(_log_directory(cluster))), names)
    query = names["query"]
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    assert spark.read.parquet(str(tmp_path / "orders")).count() == 10
    assert sorted(each.value for each in loud.read()[0]) == sorted(b"ORDER %d" % n for n in range(10))
    assert names["old"].count() == 10


def _log_directory(cluster: KafkaCluster) -> Path:
    return next((cluster.folder / "broker-0").rglob("orders-0")).parent
