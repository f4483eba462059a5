"""What panels of consumer groups show where the exporter has several clusters, and where nothing is written."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from kafka_py.operations.dashboards.groups_board import dashboard
from kafka_py.operations.dashboards.scopes import DASHBOARD, resolved
from kafka_py.testing.peers import promtool

VALUES = {"$exporter": "e", "$cluster": ".*", "$topic": ".+", "$group": ".+", "$__rate_interval": "5m"}


def expression(title: str) -> str:
    [found] = [
        panel.queries[0].expression for row in dashboard("e").rows for panel in row.panels if panel.title == title
    ]
    text = resolved(found, DASHBOARD)
    for name, value in VALUES.items():
        text = text.replace(name, value)
    return text


@pytest.mark.skipif(promtool.program() is None, reason="promtool is not installed")
def test_clusters_are_apart_and_a_silent_topic_is_not_infinitely_behind(tmp_path: Path) -> None:
    series, lags = [], []
    for cluster, lag in (("a", 600), ("b", 1800), ("silent", 5)):
        labels = f'job="e",cluster="{cluster}",topic="t",partition="0"'
        ends = "7x10" if cluster == "silent" else "0+60x10"
        series += [
            {"series": f"kafka_topic_partition_current_offset{{{labels}}}", "values": ends},
            {"series": f'kafka_consumergroup_lag{{{labels},consumergroup="g"}}', "values": f"{lag}x10"},
        ]
        lags.append({"labels": f'{{cluster="{cluster}",consumergroup="g",topic="t"}}', "value": lag})
    asked = [("Largest lag of a partition", lags), ("Behind", lags[:2])]  # one record a second is written
    tests = [{"expr": expression(title), "eval_time": "10m", "exp_samples": found} for title, found in asked]
    path = tmp_path / "tests.yml"
    path.write_text(json.dumps({"tests": [{"interval": "1m", "input_series": series, "promql_expr_test": tests}]}))
    done = subprocess.run(["promtool", "test", "rules", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
