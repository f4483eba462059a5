"""Periodic reports of metrics: as CSV files, on the console, or by a plug-in class.

`kafka.metrics.reporters` and `metric.reporters` name classes: Apache Kafka's CSV reporter, the console reporter, or the
dotted path of a Python class with the methods of MetricsReporter. The reporters run in a thread; reporting.py takes the
readings and calls them. Source: docs/reference/configs.tsv; KafkaCSVMetricsReporter (column heads).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TextIO

from kafka_py.base.meters import Reading
from kafka_py.base.metric_rows import Value
from kafka_py.base.plugins import find_class
from kafka_py.broker.settings.java_classes import REPORTER_METHODS

CSV_ENABLED = "kafka.csv.metrics.reporter.enabled"
CSV_DIRECTORY = "kafka.csv.metrics.dir"


class MetricsReporter(Protocol):
    """Interface of a reporter class; created without arguments, once per broker. Only `configure` runs on the loop."""

    def configure(self, configs: Mapping[str, object]) -> None:
        """Receives the broker's original properties."""
        ...

    def report(self, readings: Sequence[Reading], now_ms: int) -> None:
        """Reports all metrics. now_ms: wall clock."""
        ...

    def close(self) -> None:
        """Called when the broker stops."""
        ...


_COLUMNS: dict[str, dict[str, str]] = {
    "Value": {"value": "Value"},
    "OneMinuteRate": {
        "count": "Count", "1 min rate": "OneMinuteRate", "mean rate": "MeanRate", "5 min rate": "FiveMinuteRate",
        "15 min rate": "FifteenMinuteRate",
    },
    "Min": {
        "min": "Min", "max": "Max", "mean": "Mean", "median": "50thPercentile", "stddev": "StdDev",
        "95%": "95thPercentile", "99%": "99thPercentile", "99.9%": "999thPercentile",
    },
}  # fmt: skip
"""An attribute that identifies the kind of a metric -> Apache Kafka's column heads and their attributes."""


def columns_of(attributes: Mapping[str, Value]) -> dict[str, str]:
    """Column head -> attribute, for a metric with these attributes; a bean of many attributes has all of them."""
    for tell in ("Min", "OneMinuteRate", "Value"):
        if tell in attributes:
            return _COLUMNS[tell]
    return {name: name for name in attributes}


class CsvReporter:
    """Writes one file per metric in kafka.csv.metrics.dir: a line per report, with columns for the tags.

    `kafka.log.Log.Size-topic-partition.csv` has the sizes of all logs. The time is in seconds since the first line.
    Files of an earlier run are overwritten.
    """

    def __init__(self) -> None:
        self.directory = Path("kafka_metrics")
        self.is_enabled = False
        self._began_ms: int | None = None
        self._heads: dict[str, list[str]] = {}

    def configure(self, configs: Mapping[str, object]) -> None:
        self.is_enabled = str(configs.get(CSV_ENABLED, "false")).strip().lower() == "true"
        self.directory = Path(str(configs.get(CSV_DIRECTORY) or "kafka_metrics").strip())

    def report(self, readings: Sequence[Reading], now_ms: int) -> None:
        if not self.is_enabled:
            return
        if self._began_ms is None:
            self._began_ms = now_ms
            self.directory.mkdir(parents=True, exist_ok=True)
        seconds = (now_ms - self._began_ms) // 1000
        files: dict[str, list[str]] = {}
        heads: dict[str, list[str]] = {}
        for reading in readings:
            columns = columns_of(reading.attributes)
            name = file_name(reading)
            heads.setdefault(name, [*reading.tags, *columns])
            values = [reading.attributes.get(attribute, "") for attribute in columns.values()]
            cells = [str(seconds), *map(_cell, reading.tags.values()), *map(_cell, values)]
            files.setdefault(name, []).append(",".join(cells))
        for name, lines in files.items():
            self._append(name, heads[name], lines)

    def _append(self, name: str, head: list[str], lines: list[str]) -> None:
        is_new = name not in self._heads
        known = self._heads.setdefault(name, head)
        if known != head:  # the bean has new attributes: its lines no longer fit the file
            return
        with (self.directory / name).open("w" if is_new else "a", encoding="utf-8") as file:
            if is_new:
                file.write("# " + ",".join(["time", *head]) + "\n")
            file.write("\n".join(lines) + "\n")

    def close(self) -> None:
        pass


def file_name(reading: Reading) -> str:
    """`kafka.server.BrokerTopicMetrics.BytesInPerSec-topic.csv`; a bean of many attributes has no name of its own."""
    name = reading.group.replace(":type=", ".")
    if reading.row is not None:
        name += f".{reading.row.name}"
    return "-".join([name, *reading.tags]).replace("/", "_") + ".csv"


def _cell(value: Value) -> str:
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\n') else text


class ConsoleReporter:
    """Prints all metrics that were used: the bean's name, and its values below."""

    def __init__(self, out: Callable[[], TextIO] = lambda: sys.stdout) -> None:
        self._out = out

    def configure(self, configs: Mapping[str, object]) -> None:
        pass

    def report(self, readings: Sequence[Reading], now_ms: int) -> None:
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now_ms / 1000))
        lines = [f"{stamp} {'=' * 60}"]
        for reading in sorted(readings, key=lambda each: each.mbean):
            if reading.attributes.get("Count", 1) == 0:
                continue
            shown = ", ".join(f"{head} = {_shown(reading.attributes.get(attribute, ''))}"
                              for head, attribute in columns_of(reading.attributes).items())  # fmt: skip
            lines += [reading.mbean, f"    {shown}"]
        out = self._out()
        out.write("\n".join(lines) + "\n")
        out.flush()

    def close(self) -> None:
        pass


def _shown(value: Value) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


# ---- known reporters

KNOWN: dict[str, Callable[[], MetricsReporter] | None] = {
    "kafka.metrics.KafkaCSVMetricsReporter": CsvReporter,
    "com.yammer.metrics.reporting.ConsoleReporter": ConsoleReporter,
    "org.apache.kafka.common.metrics.JmxReporter": None,
}
"""Reporters of Apache Kafka 2.8.2; None for those without a function here."""


def load_reporters(names: Sequence[str], configs: Mapping[str, object]) -> list[MetricsReporter]:
    """The reporters in the settings; unknown Java classes are left out (java_classes.py warns of them)."""
    made: list[MetricsReporter] = []
    for name in dict.fromkeys(filter(None, names)):
        make = KNOWN[name] if name in KNOWN else find_class(name, REPORTER_METHODS)
        if make is not None:
            reporter = make()
            reporter.configure(configs)
            made.append(reporter)
    return made
