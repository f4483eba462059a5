"""Throughput and latency second by second: as lines of CSV and as a picture. Used by both performance tests.

A picture needs matplotlib, which is an extra and is imported only then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from kafka_py.cli.common.command import CommandFailed

INTERVAL_MS = 1000
MIB = 1024 * 1024
PERCENTILES = (0.5, 0.95, 0.99, 0.999)

CSV_HEADER = (
    "elapsed.s,records,records.per.sec,mb.per.sec,avg.latency.ms,max.latency.ms,p50.latency.ms,p95.latency.ms,"
    "p99.latency.ms,p99.9.latency.ms"
)


class Interval(NamedTuple):
    """One stretch of time, which ended `end_s` after the start. The latencies are None where nothing was measured."""

    end_s: float
    duration_s: float
    records: int
    size_bytes: int
    average_ms: float | None
    max_ms: float | None
    percentiles_ms: tuple[float, ...] | None

    @property
    def records_per_s(self) -> float:
        return self.records / self.duration_s

    @property
    def mib_per_s(self) -> float:
        return self.size_bytes / MIB / self.duration_s

    def csv(self) -> str:
        """The interval under CSV_HEADER."""
        latencies = ["" if one is None else f"{one:.2f}" for one in (self.average_ms, self.max_ms)]
        latencies += [f"{one:g}" for one in self.percentiles_ms] if self.percentiles_ms else [""] * len(PERCENTILES)
        return (
            f"{self.end_s:.3f},{self.records},{self.records_per_s:.1f},{self.mib_per_s:.4f},{','.join(latencies)}"
        )  # fmt: skip


def percentiles_of(samples: Iterable[float]) -> list[float]:
    """The samples at PERCENTILES; zeroes where there are none."""
    ordered = sorted(samples)
    return [ordered[min(len(ordered) - 1, int(rank * len(ordered)))] if ordered else 0 for rank in PERCENTILES]


class Timeline:
    """Collects what happens into intervals of a second each, from `start_ms` on; times are of any one clock in ms.

    on_interval: called with each interval when it is over.
    """

    def __init__(self, start_ms: float, on_interval: Callable[[Interval], None] = lambda _interval: None) -> None:
        self.intervals: list[Interval] = []
        self._start_ms = self._begun_ms = start_ms
        self._on_interval = on_interval
        self._begin(start_ms)

    def _begin(self, at_ms: float) -> None:
        self._begun_ms = at_ms
        self._count = self._size_bytes = 0
        self._max_ms = 0.0
        self._samples: list[float] = []

    def add(self, now_ms: float, count: int, size_bytes: int, samples: Sequence[float], max_ms: float) -> None:
        """What came since the last call. samples: latencies, all or a selection; max_ms: the largest of all."""
        self._count += count
        self._size_bytes += size_bytes
        self._samples.extend(samples)
        self._max_ms = max(self._max_ms, max_ms)
        while now_ms - self._begun_ms >= INTERVAL_MS:
            self._close(self._begun_ms + INTERVAL_MS)

    def finish(self, now_ms: float) -> None:
        """The last interval, which may be shorter."""
        if self._count and now_ms > self._begun_ms:
            self._close(now_ms)

    def _close(self, end_ms: float) -> None:
        samples = self._samples
        made = Interval(
            (end_ms - self._start_ms) / 1000,
            (end_ms - self._begun_ms) / 1000,
            self._count,
            self._size_bytes,
            sum(samples) / len(samples) if samples else None,
            self._max_ms if samples else None,
            tuple(percentiles_of(samples)) if samples else None,
        )
        self._begin(end_ms)
        self.intervals.append(made)
        self._on_interval(made)


# ---- the picture


def check_plot(path: str) -> None:
    """Whether a picture can be written there, before the work begins. Raises CommandFailed."""
    if find_spec("matplotlib") is None:
        raise CommandFailed("--plot needs matplotlib; install it with: pip install 'kafka_py[plot]'")
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path) or not os.access(folder, os.W_OK):
        raise CommandFailed(f"--plot cannot write {path}: {folder} is no folder to write to")


def write_plot(path: str, intervals: Sequence[Interval], title: str, latency_label: str) -> None:
    """Throughput above, latency below, over the same time, as a PNG. Raises CommandFailed."""
    figure: Any = import_module("matplotlib.figure").Figure(figsize=(10, 6), layout="constrained")
    import_module("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    figure.suptitle(title)
    throughput, latency = figure.subplots(2, 1, sharex=True)
    _draw_throughput(throughput, intervals)
    _draw_latency(latency, intervals, latency_label)
    try:
        figure.savefig(path, format="png", dpi=100)
    except OSError as error:
        raise CommandFailed(f"Cannot write {path}: {error.strerror}") from None


def _draw_throughput(axes: Any, intervals: Sequence[Interval]) -> None:
    times = [one.end_s for one in intervals]
    axes.grid(alpha=0.3)
    for side, unit, color, line, values in (
        (axes, "MB/s", "tab:blue", "-", [one.mib_per_s for one in intervals]),
        (axes.twinx(), "records/s", "tab:orange", "--", [one.records_per_s for one in intervals]),
    ):
        side.plot(times, values, color=color, linestyle=line)
        side.set_ylabel(unit, color=color)
        side.set_ylim(0, 1.1 * max([*values, 1e-9]))


def _draw_latency(axes: Any, intervals: Sequence[Interval], label: str) -> None:
    measured = [one for one in intervals if one.percentiles_ms is not None]
    times = [one.end_s for one in measured]
    axes.plot(times, [one.average_ms for one in measured], label="average")
    for number, rank in enumerate(PERCENTILES):
        values = [one.percentiles_ms[number] for one in measured if one.percentiles_ms is not None]
        axes.plot(times, values, label=f"{100 * rank:g}th")
    axes.plot(times, [one.max_ms for one in measured], label="maximum", linestyle=":")
    axes.set_ylabel(label)
    axes.set_xlabel("seconds")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    if measured:
        axes.legend(loc="upper right", ncols=3)
