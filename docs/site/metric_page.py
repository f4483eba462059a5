"""The page of metrics, made of the tables of metrics: JMX names, names for Prometheus, and what is missing."""

import csv
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path

from page_text import cell, code, page, table

import kafka_py
from kafka_py.base.meters import MetricTable
from kafka_py.base.metric_rows import Counter, Gauge, MetricRow, Rate, Sampled, Total
from kafka_py.broker.observe.jmx_rules import USUAL, BeanAttribute, names_of

MISSING = Path(__file__).parents[1] / "reference" / "missing-metrics.tsv"
LEFT_OUT = ("testing", "pipeline", "cli", "manager", "operations")
"""Packages without metrics of brokers and clients, some of which need more than is installed everywhere."""


def tables() -> list[type[MetricTable]]:
    """All tables of metrics, with their packages in alphabetical order."""
    for module in pkgutil.walk_packages(kafka_py.__path__, "kafka_py."):
        if module.name.split(".")[1] not in LEFT_OUT and "metric" in module.name + read(module.name):
            importlib.import_module(module.name)
    found, waiting = [], list(MetricTable.__subclasses__())
    while waiting:
        each = waiting.pop()
        waiting += each.__subclasses__()
        if each.ROWS and each.GROUP and each.__module__.startswith("kafka_py."):
            found.append(each)
    return sorted(found, key=lambda each: (each.GROUP, each.__name__))


def read(module: str) -> str:
    """The source of a module."""
    path = Path(kafka_py.__path__[0]).joinpath(*module.split(".")[1:])
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()


def attributes(row: MetricRow) -> list[str]:
    """The JMX names of a row of a bean with many attributes."""
    if isinstance(row, Total):
        return [name for name in (row.name, row.rate) if name]
    if isinstance(row, Sampled):
        return [name for name in (row.avg, row.max) if name]
    return [row.name]


def jmx_attributes(row: MetricRow) -> list[str]:
    """The attributes of a bean of its own that a scrape may show; see broker/observe/prometheus.py."""
    if isinstance(row, Gauge):
        return ["Value"]
    if isinstance(row, Counter):
        return ["Total"]
    if isinstance(row, Rate):
        return ["Count", "MeanRate"] if row.per_ns else ["Count"]
    return ["99thPercentile", "Count"]


def prometheus_names(each: type[MetricTable], row: MetricRow) -> list[str]:
    """What a scrape calls the values of a row."""
    tags = tuple(getattr(each, "TAGS", ()) or row.tags or ())
    if each.ONE_BEAN:
        beans = [BeanAttribute(each.GROUP, "", tags, name) for name in attributes(row)]
    else:
        beans = [BeanAttribute(each.GROUP, row.name, tags, name) for name in jmx_attributes(row)]
    return list(dict.fromkeys(name.name for bean in beans for name in names_of(bean, USUAL)))


def lines(each: type[MetricTable], *, is_brokers: bool) -> Iterator[tuple[str, ...]]:
    """The rows of a table, each once."""
    told = (inspect.getdoc(each) or "").partition("\n")[0]
    for row in each.ROWS.values():
        tags = ", ".join(code(tag) for tag in getattr(each, "TAGS", ()) or row.tags or ())
        names = " ".join(map(code, attributes(row)))
        scraped = [" ".join(map(code, prometheus_names(each, row)))] if is_brokers else []
        yield (names, row.kind, tags, *scraped, cell(row.about or told))


def grouped(*, is_brokers: bool) -> str:
    """Sections of the groups of brokers, or of clients."""
    groups: dict[str, list[tuple[str, ...]]] = {}
    for each in tables():
        if (":" in each.GROUP) is is_brokers:
            found = groups.setdefault(each.GROUP, [])
            found += [line for line in lines(each, is_brokers=is_brokers) if line not in found]
    head = ("name", "kind", "tags", *(["Prometheus"] if is_brokers else []), "what it tells")
    return "\n".join(f"### {group}\n\n{table(head, rows)}" for group, rows in groups.items())


def missing() -> str:
    with MISSING.open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    reasons: dict[str, list[str]] = {}
    for row in rows:
        reasons.setdefault(row["why"], []).append(code(row["begins"]))
    return table(("metrics that begin with", "why they are missing"),
                 [("<br>".join(names), cell(why)) for why, names in reasons.items()])  # fmt: skip


def metric_page() -> str:
    return page(
        "Metrics",
        "Every metric of brokers and clients. Names, groups and tags are those of Apache Kafka 2.8.2; "
        "[operations](../operations.md#metrics) says how they are read.",
        "## Brokers",
        "Each name is a bean `group,name=...`; in small letters it is an attribute of the bean `group`.",
        grouped(is_brokers=True),
        "## Clients",
        "As `metrics()` of a producer, consumer or admin client gives them.",
        grouped(is_brokers=False),
        "## Metrics of Apache Kafka 2.8.2 that are not there",
        missing(),
    )
