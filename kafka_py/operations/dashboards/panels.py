"""Dashboards as values: what is shown and by which expressions, nothing of Grafana's JSON."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class PanelKind(StrEnum):
    """How a panel shows its values, as Grafana names it."""

    SERIES = "timeseries"
    STAT = "stat"
    TABLE = "table"


class Unit(StrEnum):
    """Units by Grafana's ids."""

    NONE = "short"
    BYTES = "bytes"
    BYTES_PER_S = "Bps"
    REQUESTS_PER_S = "reqps"
    RECORDS_PER_S = "cps"
    MS = "ms"
    S = "s"
    SHARE = "percentunit"
    PER_S = "ops"


class Query(NamedTuple):
    """expression: with placeholders (scopes.py). legend: of its series; in a table the title of its column."""

    expression: str
    legend: str


class Threshold(NamedTuple):
    """From this value on the colour changes."""

    value: float
    color: str


class Panel(NamedTuple):
    """about: what the reader learns, and when to worry. width: of the 24 columns. height: in rows of the grid.

    thresholds: rising; below the first one the colour is `base_color`.
    """

    title: str
    about: str
    queries: tuple[Query, ...]
    unit: Unit = Unit.NONE
    kind: PanelKind = PanelKind.SERIES
    width: int = 8
    height: int = 7
    stacked: bool = False
    thresholds: tuple[Threshold, ...] = ()
    base_color: str = "green"


class Row(NamedTuple):
    """Panels below a heading."""

    title: str
    panels: tuple[Panel, ...]


class Variable(NamedTuple):
    """What is chosen at the top of a dashboard. metric, tag: its values are those of this label of the metric.

    expected: the value that is chosen at first, "" for all of them. many: several values may be chosen.
    optional: metrics without the label are part of all of them.
    """

    name: str
    label: str
    metric: str
    tag: str
    expected: str = ""
    many: bool = False
    optional: bool = False


class Dashboard(NamedTuple):
    """name: of its file, and its uid in Grafana."""

    name: str
    title: str
    about: str
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]

    def panels(self) -> list[Panel]:
        return [panel for row in self.rows for panel in row.panels]


BAD_ABOVE_0 = (Threshold(1, "red"),)
WARN_ABOVE_0 = (Threshold(1, "orange"),)


def series(title: str, about: str, *queries: Query, unit: Unit = Unit.NONE, stacked: bool = False) -> Panel:
    """A chart of three in a line."""
    return Panel(title, about, queries, unit, stacked=stacked)


def stat(
    title: str, about: str, expression: str, *thresholds: Threshold, unit: Unit = Unit.NONE, base_color: str = "green"
) -> Panel:
    """One large number, six in a line."""
    query = Query(expression, "")
    return Panel(title, about, (query,), unit, PanelKind.STAT, 4, 4, thresholds=thresholds, base_color=base_color)
