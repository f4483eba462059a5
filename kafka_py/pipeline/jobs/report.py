"""The plot of a history: topic sizes and group lags over time, as PNG or, by the name's end, as HTML with the picture.

Takes a pandas frame with the columns of history.SCHEMA; needs matplotlib.
"""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

from kafka_py.base.errors import ConfigError

MOST_LINES = 12


def draw(frame: Any, target: str) -> None:
    """Writes the report. Raises ConfigError where matplotlib is missing."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ConfigError("The report needs matplotlib: pip install 'kafka_py[plot]'") from None
    figure = Figure(figsize=(10, 7), layout="constrained")
    FigureCanvasAgg(figure)
    upper, lower = figure.subplots(2, 1, sharex=True)
    topics = frame[frame.kind == "topic"]
    _lines(upper, topics.assign(value=topics.size_bytes / 1e6, name=topics.topic), "MB on disk")
    groups = frame[frame.kind == "group"]
    _lines(lower, groups.assign(value=groups.lag, name=groups.group + " / " + groups.topic), "lag, records")
    figure.autofmt_xdate()
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110)
    path = Path(target)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix in (".html", ".htm"):
        path.write_text(_page(frame, base64.b64encode(picture.getvalue()).decode()))
    else:
        path.write_bytes(picture.getvalue())


def _lines(axes: Any, rows: Any, label: str) -> None:
    """One line per name, the largest first."""
    axes.set_ylabel(label)
    axes.grid(alpha=0.3)
    sums = rows.groupby(["name", "at"]).value.sum().unstack("name").sort_index()
    largest = sums.max().sort_values(ascending=False).index[:MOST_LINES]
    for name in largest:
        axes.plot(sums.index, sums[name], marker=".", label=name)
    if len(largest):
        axes.legend(fontsize="small")
    axes.set_ylim(bottom=0)


def _page(frame: Any, picture: str) -> str:
    latest = frame[frame["at"] == frame["at"].max()]
    table = latest.drop(columns=["at"]).to_html(index=False, na_rep="", float_format="{:,.0f}".format)
    return (
        "<!doctype html><meta charset=utf-8><title>Topics and lag</title>"
        "<style>body{font-family:sans-serif}td,th{padding:2px 8px;text-align:right}table{border-collapse:collapse}"
        f'</style><h1>Topics and lag</h1><img alt="sizes and lags over time" src="data:image/png;base64,{picture}">'
        f"<h2>Now</h2>{table}\n"
    )
