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


def expression(row: str, title: str) -> str:
    [found] = [
        panel.queries[0].expression
        for each in dashboard("e").rows
        for panel in each.panels
        if (each.title, panel.title) == (row, title)
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
        series += [  # two exporters that see the same
            each
            for instance in ("e1", "e2")
            for each in (
                {"series": f'kafka_topic_partition_current_offset{{{labels},instance="{instance}"}}', "values": ends},
                {"series": f'kafka_consumergroup_lag{{{labels},instance="{instance}",consumergroup="g"}}',
                 "values": f"{lag}x10"},
            )
        ]
        lags.append({"labels": f'{{cluster="{cluster}",consumergroup="g",topic="t"}}', "value": lag})
    asked = [  # one record a second is written
        ("Lag", "Largest lag of a partition", lags),
        ("Lag", "Lag", lags),
        ("Lag", "Behind", lags[:2]),
        ("State", "Lag", [{"labels": "{}", "value": 2405}]),
    ]
    tests = [
        {"expr": expression(row, title), "eval_time": "10m", "exp_samples": found} for row, title, found in asked
    ]
    path = tmp_path / "tests.yml"
    path.write_text(json.dumps({"tests": [{"interval": "1m", "input_series": series, "promql_expr_test": tests}]}))
    done = subprocess.run(["promtool", "test", "rules", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
