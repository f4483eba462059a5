"""Where panels are on Grafana's grid of 24 columns: from left to right, rows below each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kafka_py.operations.dashboards.panels import Panel, Row

COLUMNS = 24


class GridPlace(NamedTuple):
    """In columns and rows of the grid, from the top left corner."""

    x: int
    y: int
    width: int
    height: int


class Placed(NamedTuple):
    """A panel, or the heading of a row, and its place."""

    place: GridPlace
    thing: Panel | Row


def arranged(rows: Sequence[Row]) -> Iterator[Placed]:
    """Headings and panels in the order of reading. A line is as high as its highest panel."""
    y = 0
    for row in rows:
        yield Placed(GridPlace(0, y, COLUMNS, 1), row)
        y += 1
        x = height = 0
        for panel in row.panels:
            if x + panel.width > COLUMNS:
                x, y, height = 0, y + height, 0
            yield Placed(GridPlace(x, y, panel.width, panel.height), panel)
            x += panel.width
            height = max(height, panel.height)
        y += height
