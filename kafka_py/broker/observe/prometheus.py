"""The metrics in the format of Prometheus, named as by the usual rules of its JMX exporter for Kafka's beans.

    kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec,topic=t   Count
    -> kafka_server_brokertopicmetrics_bytesin_total{topic="t"} 512

`render` is a generator that yields at intervals, so that its caller can yield to the event loop among thousands of
partitions. Pure: knows registry and text.
Source: docs/operations.md, "Metrics"; the text exposition format 0.0.4 of Prometheus; the example rules of its JMX
exporter (kafka-2_0_0.yml) and those of Strimzi for percentages and attributes.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from kafka_py.base.histograms import Histogram
from kafka_py.base.meters import Fleet, MetricRegistry, MetricTable
from kafka_py.base.metric_rows import Counter, Distribution, Gauge, MetricRow, Rate, Sampled, Timing, Total, Value
from kafka_py.net.scraping.exposition import MetricFamilies, escaped, fit_name, number_text

_log = logging.getLogger(__name__)

_THINGS_PER_TURN = 100
"""`render` yields after this many tables, or members of a fleet."""
_QUANTILES = {
    "50thPercentile": "0.50", "75thPercentile": "0.75", "95thPercentile": "0.95", "98thPercentile": "0.98",
    "99thPercentile": "0.99", "999thPercentile": "0.999",
}  # fmt: skip
_GROUP = re.compile(r"(?:kafka[._])?([\w.]+):type=(.+)")


class Exposition:
    """One scrape: take the samples with `render`, then read `text`."""

    def __init__(self) -> None:
        self.families = MetricFamilies()

    def render(self, registry: MetricRegistry) -> Iterator[None]:
        """Takes every sample; yields where other work may run."""
        registry.settle()
        yield
        for number, table in enumerate(registry.tables(), 1):
            if isinstance(table, Fleet):
                yield from self._take_fleet(table)
            else:
                self._take(table)
            if number % _THINGS_PER_TURN == 0:
                yield

    @property
    def text(self) -> str:
        """The text of all samples, by family."""
        return self.families.text

    def _take_fleet(self, fleet: Fleet) -> Iterator[None]:
        gauges: list[tuple[list[str], str, Callable[[Any], Value]]] = []
        for row in fleet.gauges():
            assert row.of is not None
            family = self.families.of(metric_name(fleet.GROUP, row.name), "gauge", row.about)
            gauges.append((family.lines, family.name, row.of))
        names = [fit_name(tag) for tag in fleet.TAGS]
        for number, (values, thing) in enumerate(fleet.things(), 1):
            labels = "{" + ",".join([f'{name}="{escaped(value)}"' for name, value in zip(names, values, strict=True)])
            try:
                for lines, name, read in gauges:
                    lines.append(f"{name}{labels}}} {read(thing)}")
            except Exception as error:  # it may have been removed since `things` listed it
                _log.debug("%s%s}: %r", fleet.GROUP, labels, error)
            if number % _THINGS_PER_TURN == 0:
                yield

    def _take(self, table: MetricTable) -> None:
        labels = [f'{fit_name(tag)}="{escaped(value)}"' for tag, value in table.tags.items() if value]
        for row in table.rows():
            try:
                samples = list(_SAMPLES[type(row)](table, row))
            except Exception as error:  # one failing metric must not hide the others
                _log.warning("The metric %s,name=%s cannot be read: %r", table.GROUP, row.name, error)
                continue
            for sample in samples:
                family = self.families.of(sample.name, sample.kind, row.about)
                own = [*labels, *([sample.label] if sample.label else ())]
                text = "{" + ",".join(own) + "}" if own else ""
                family.lines.append(f"{family.name}{text} {number_text(sample.value)}")


class Sample(NamedTuple):
    """One value. label: an additional label, formatted."""

    name: str
    kind: str
    value: int | float
    label: str = ""


# ---- names


def metric_name(group: str, name: str) -> str:
    """`kafka.server:type=BrokerTopicMetrics` and `BytesIn` -> kafka_server_brokertopicmetrics_bytesin."""
    found = _GROUP.fullmatch(group)
    domain, kind = found.groups() if found else ("", group)
    prefix = "" if group.startswith("kafka_py") else "kafka_"
    parts = [kind, name] if domain == "py" else [domain, kind, name]
    return prefix + fit_name("_".join(part for part in parts if part)).lower()


# ---- samples of one row


def _of_gauge(table: MetricTable, row: MetricRow) -> Iterable[Sample]:
    value = getattr(table, row.attribute)
    if callable(value):
        value = value()
    name = metric_name(table.GROUP, row.name)
    if isinstance(value, str):
        return [Sample(f"{name}_info", "gauge", 1, f'value="{escaped(value)}"')]
    kind = "counter" if name.endswith("_total") else "gauge"
    samples = [Sample(name, kind, int(value) if isinstance(value, bool) else value)]
    if "Percent" in row.name:  # the two usual rule files name these differently
        samples.append(Sample(_percent_name(table, row), "gauge", value))
    return samples


def _percent_name(table: MetricTable, row: MetricRow) -> str:
    return metric_name(table.GROUP, row.name.partition("Percent")[0]) + "_percent"


def _of_rate(table: MetricTable, row: MetricRow) -> Iterable[Sample]:
    assert isinstance(row, Rate)
    values = row.read(table)
    if not values:
        return []
    count = values["Count"]
    assert isinstance(count, int)
    if row.per_ns:
        share = values["OneMinuteRate"] or values["MeanRate"]  # the former is 0 until the first tick
        assert isinstance(share, float)
        return [
            Sample(metric_name(table.GROUP, row.name) + "_count", "counter", count),
            Sample(_percent_name(table, row), "gauge", share),
        ]
    return [Sample(metric_name(table.GROUP, row.name.partition("PerSec")[0]) + "_total", "counter", count)]


def _of_counter(table: MetricTable, row: MetricRow) -> Iterable[Sample]:
    values = row.read(table)
    count = values.get("Count")
    return [Sample(metric_name(table.GROUP, row.name) + "_total", "counter", count)] if isinstance(count, int) else []


def _of_distribution(table: MetricTable, row: MetricRow) -> Iterable[Sample]:
    histogram = vars(table).get(row.attribute)
    if not isinstance(histogram, Histogram):
        if table.tags:
            return []
        histogram = getattr(table, row.attribute)
    name = metric_name(table.GROUP, row.name)
    values = histogram.read()
    samples = [Sample(f"{name}_count", "counter", int(values["Count"]))]
    samples += [
        Sample(name, "gauge", values[attribute], f'quantile="{share}"') for attribute, share in _QUANTILES.items()
    ]
    return samples


def _of_attributes(table: MetricTable, row: MetricRow) -> Iterable[Sample]:
    for attribute, value in row.read(table).items():
        name = metric_name(table.GROUP, attribute)
        if not isinstance(value, str):
            yield Sample(name, "counter" if name.endswith("_total") else "gauge", value)


_SAMPLES: dict[type[MetricRow], Callable[[MetricTable, MetricRow], Iterable[Sample]]] = {
    Counter: _of_counter,
    Distribution: _of_distribution,
    Gauge: _of_gauge,
    Rate: _of_rate,
    Sampled: _of_attributes,
    Timing: _of_distribution,
    Total: _of_attributes,
}
