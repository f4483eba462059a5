"""The metrics of a broker in the format of Prometheus, under the names of one or more sets of rules.

    kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec,topic=t   Count
    -> kafka_server_brokertopicmetrics_bytesin_total{topic="t"} 512

`render` is a generator that yields at intervals, so that its caller can yield to the event loop among thousands of
partitions. Pure: knows registry and text; jmx_rules.py has the names.
Source: docs/operations.md, "Metrics"; the text exposition format 0.0.4 of Prometheus.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from kafka_py.base.histograms import Histogram
from kafka_py.base.meters import Fleet, MetricRegistry, MetricTable
from kafka_py.base.metric_rows import Counter, Distribution, Gauge, MetricRow, Rate, Sampled, Timing, Total, Value
from kafka_py.broker.observe.jmx_rules import BeanAttribute, MetricNames, RuleSet, SampleName
from kafka_py.net.scraping.exposition import MetricFamilies, escaped, number_text

_log = logging.getLogger(__name__)

_THINGS_PER_STEP = 25
"""`render` yields after this many members of a fleet, which take some tenths of a millisecond, and after each table."""
_QUANTILES = (
    "50thPercentile", "75thPercentile", "95thPercentile", "98thPercentile", "99thPercentile", "999thPercentile"
)  # fmt: skip

_FleetGauge = tuple[list[str], str, Callable[[Any], Value]]
"""The lines of a family, the name of its samples, and how to read one."""


class Exposition:
    """One scrape: take the samples with `render`, then read `text`."""

    def __init__(self, names: MetricNames | None = None) -> None:
        self.families = MetricFamilies()
        self._names = names or MetricNames()
        self._escaped = _EscapedValues()

    def render(self, registry: MetricRegistry) -> Iterator[None]:
        """Takes every sample; yields where other work may run."""
        yield from registry.settling()
        for table in registry.tables():
            if isinstance(table, Fleet):
                yield from self._take_fleet(table)
            else:
                yield from self._take(table)
            yield

    @property
    def text(self) -> str:
        """The text of all samples, by family."""
        return self.families.text

    def _take_fleet(self, fleet: Fleet) -> Iterator[None]:
        by_form: dict[str, list[_FleetGauge]] = {}
        for row in fleet.gauges():
            assert row.of is not None
            for named in self._names_of(fleet, row, fleet.TAGS, "Value"):
                family = self.families.of(named.name, named.kind, row.about)
                form = _labels_form(named.labels, named.fixed)
                by_form.setdefault(form, []).append((family.lines, named.name, row.of))
        things = iter(fleet.things())
        while some := list(islice(things, _THINGS_PER_STEP)):
            for form, gauges in by_form.items():
                texts = [form % tuple([self._escaped[value] for value in values]) for values, _ in some]
                for lines, name, read in gauges:
                    try:
                        lines += [f"{name}{text} {read(thing)}" for text, (_, thing) in zip(texts, some, strict=True)]
                    except Exception:  # one of them may have been removed since `things` listed it
                        lines += _lines_of_present(name, read, texts, [thing for _, thing in some])
            yield

    def _take(self, table: MetricTable) -> Iterator[None]:
        tags = {tag: value for tag, value in table.tags.items() if value}
        tag_names, tag_values = tuple(tags), tuple(tags.values())
        texts: dict[tuple[tuple[str, ...], str], str] = {}
        counted: Mapping[str, Value] = {}
        if not tags:  # each of these may look at all partitions
            counted = yield from self._counting(table)
        for row in table.rows():
            if not tags:
                yield
            try:
                if row.attribute in counted:
                    found: list[tuple[str, Value]] = [("Value", counted[row.attribute])]
                else:
                    found = list(_ATTRIBUTES[type(row)](table, row))
            except Exception as error:  # one failing metric must not hide the others
                _log.warning("The metric %s,name=%s cannot be read: %r", table.GROUP, row.name, error)
                continue
            for attribute, value in found:
                if isinstance(value, str):
                    self._add_text(table, row, tags, value)
                    continue
                for name in self._names_of(table, row, tag_names, attribute):
                    key = (name.labels, name.fixed)
                    text = texts.get(key)
                    if text is None:
                        text = texts[key] = _labels_text(name.labels, tag_values, name.fixed)
                    self._add(name, row, text, value)

    def _counting(self, table: MetricTable) -> Generator[None, None, Mapping[str, Value]]:
        """What the table counts in steps; nothing where that fails: then its rows are read one by one."""
        try:
            return (yield from table.counting())
        except Exception as error:
            _log.warning("The metrics %s cannot be counted: %r", table.GROUP, error)
            return {}

    def _names_of(
        self, table: MetricTable, row: MetricRow, tags: tuple[str, ...], attribute: str
    ) -> tuple[SampleName, ...]:
        if table.ONE_BEAN:
            return self._names.of(BeanAttribute(table.GROUP, "", tags, row.name if attribute == "Value" else attribute))
        return self._names.of(BeanAttribute(table.GROUP, row.name, tags, attribute))

    def _add(self, name: SampleName, row: MetricRow, labels: str, value: float) -> None:
        family = self.families.of(name.name, name.kind, row.about)
        family.lines.append(f"{name.name}{labels} {number_text(int(value) if isinstance(value, bool) else value)}")

    def _add_text(self, table: MetricTable, row: MetricRow, tags: dict[str, str], text: str) -> None:
        """A text is a label of a sample that says so; no file of rules has such names."""
        if RuleSet.OWN in self._names.sets:
            named = self._names_of(table, row, tuple(tags), "Value")[0]
            family = self.families.of(f"{named.name}_info", "gauge", row.about)
            labels = _labels_text((*named.labels, "value"), (*tags.values(), text), named.fixed)
            family.lines.append(f"{family.name}{labels} 1")


def _lines_of_present(
    name: str, read: Callable[[Any], Value], texts: Sequence[str], things: Sequence[object]
) -> Iterator[str]:
    """The samples of those things that can be read."""
    for text, thing in zip(texts, things, strict=True):
        try:
            yield f"{name}{text} {read(thing)}"
        except Exception as error:
            _log.debug("%s%s: %r", name, text, error)


class _EscapedValues(dict[str, str]):
    """Values of labels as they are written, each made once: a topic has many partitions, a number many topics."""

    def __missing__(self, value: str) -> str:
        text = self[value] = escaped(value)
        return text


def _labels_form(labels: Sequence[str], fixed: str) -> str:
    """What `_labels_text` has, with %s for the values."""
    return _labels_text(labels, ["%s"] * len(labels), fixed.replace("%", "%%"))


def _labels_text(labels: Iterable[str], values: Iterable[str], fixed: str) -> str:
    """The labels in braces; empty if there are none."""
    texts = [f'{label}="{escaped(value)}"' for label, value in zip(labels, values, strict=True)]
    if fixed:
        texts.append(fixed)
    return "{" + ",".join(texts) + "}" if texts else ""


# ---- attributes of one row: those that some set of rules has a name for


def _of_gauge(table: MetricTable, row: MetricRow) -> Iterable[tuple[str, Value]]:
    value = getattr(table, row.attribute)
    return [("Value", value() if callable(value) else value)]


def _of_rate(table: MetricTable, row: MetricRow) -> Iterable[tuple[str, Value]]:
    assert isinstance(row, Rate)
    values = row.read(table)
    if not values:
        return []
    if row.per_ns:
        share = values["OneMinuteRate"] or values["MeanRate"]  # the former is 0 until the first tick
        return [("Count", values["Count"]), ("MeanRate", share), ("OneMinuteRate", share)]
    return [("Count", values["Count"])]


def _of_counter(table: MetricTable, row: MetricRow) -> Iterable[tuple[str, Value]]:
    return [("Total", value) for value in row.read(table).values()]  # only our own beans have such rows


def _of_distribution(table: MetricTable, row: MetricRow) -> Iterable[tuple[str, Value]]:
    histogram = vars(table).get(row.attribute)
    if not isinstance(histogram, Histogram):
        if table.tags:
            return []
        histogram = getattr(table, row.attribute)
    values = histogram.read()
    return [("Count", int(values["Count"])), *((each, values[each]) for each in _QUANTILES)]


def _of_attributes(table: MetricTable, row: MetricRow) -> Iterable[tuple[str, Value]]:
    return [(attribute, value) for attribute, value in row.read(table).items() if not isinstance(value, str)]


_ATTRIBUTES: dict[type[MetricRow], Callable[[MetricTable, MetricRow], Iterable[tuple[str, Value]]]] = {
    Counter: _of_counter,
    Distribution: _of_distribution,
    Gauge: _of_gauge,
    Rate: _of_rate,
    Sampled: _of_attributes,
    Timing: _of_distribution,
    Total: _of_attributes,
}
