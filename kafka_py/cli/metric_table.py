"""The table that --print-metrics prints. Source: reference tools, section 19 (end)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple


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


def metric_lines(metrics: Iterable[Metric]) -> Iterator[str]:
    """An empty line, the header, and one line per metric in the order of names; nothing where there is none."""
    rows = sorted(((metric.full_name, metric.value) for metric in metrics), key=lambda row: row[0])
    if not rows:
        return
    width = max(len(name) for name, _ in rows)
    yield ""
    yield f"{'Metric Name':<{width}}   Value"
    for name, value in rows:
        yield f"{name:<{width}} : {f'{value:.3f}' if isinstance(value, float) else value}"
