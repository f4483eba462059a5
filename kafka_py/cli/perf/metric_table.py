"""The table that --print-metrics prints. Source: docs/reference/tools.md, section 15 (end)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kafka_py.clients.metrics import MetricName


class Metric(NamedTuple):
    """One value under its name; floats are shown with three decimals."""

    group: str
    name: str
    tags: Mapping[str, str]
    value: float | str

    @property
    def full_name(self) -> str:
        tags = ", ".join(f"{key}={value}" for key, value in self.tags.items())
        return f"{self.group}:{self.name}:{{{tags}}}"


def metrics_of(values: Mapping[MetricName, float]) -> list[Metric]:
    """What a client has counted."""
    return [Metric(name.group, name.name, dict(name.tags), value) for name, value in values.items()]


def metric_lines(metrics: Iterable[Metric]) -> Iterator[str]:
    """An empty line, the header, and one line per metric in the order of names; nothing where there is none."""
    rows = sorted(((metric.full_name, metric.value) for metric in metrics), key=lambda row: row[0])
    if not rows:
        return
    width = max(len(name) for name, _ in rows)
    yield ""
    yield f"{'Metric Name':<{width}}   Value"
    for name, value in rows:
        yield f"{name:<{width}} : {_shown(value)}"


def _shown(value: float | str) -> str:
    if not isinstance(value, float):
        return value
    return "NaN" if math.isnan(value) else f"{value:.3f}"
