"""The history for an event loop: every access to the file is made on one thread of its own.

A file that turns out to be damaged while it is used is set aside, and the work is done with a new one.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from kafka_py.base.clock import Clock
from kafka_py.manager.history import database
from kafka_py.manager.history.history_tables import HistoryTables
from kafka_py.manager.history.metrics import CLUSTER_ENTITY, COLLECTED, Fold, HistoryMetric, PastSample
from kafka_py.manager.history.queries import EventQuery, SeriesQuery
from kafka_py.manager.history.resolutions import RESOLUTIONS, hold_ms, resolution_for
from kafka_py.manager.history.series import PastPoint, StoredRow, Trend, filled, points_of, reduced, trend, with_gaps
from kafka_py.manager.history.settings import HistorySettings
from kafka_py.manager.history.timeline import ClusterEvent

T = TypeVar("T")

TREND_POINTS = 40
"""A trend is that of the newest points of a series."""


class HistorySeries(NamedTuple):
    """Points by time; one without value is a gap."""

    points: list[PastPoint]
    trend: Trend


class HistoryStore:
    """One file of history. Calls may be made from several loops; `open` is the first, `close` the last one."""

    def __init__(self, path: Path, settings: HistorySettings, clock: Clock) -> None:
        self.path = path
        self._settings = settings
        self._clock = clock
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="history")
        self._connection: sqlite3.Connection | None = None
        self._tables: HistoryTables | None = None

    async def open(self) -> None:
        """Opens the file. Raises HistoryInUse or OSError."""
        await self._on_thread(self._open)

    async def close(self) -> None:
        """Closes the file; may be called repeatedly."""
        await self._on_thread(self._close)
        self._thread.shutdown(wait=False)

    async def record(
        self, cluster: str, time_ms: int, samples: Sequence[PastSample], events: Sequence[ClusterEvent] = ()
    ) -> None:
        """Writes one round of a cluster, if its time is after that of the one before. Raises sqlite3.Error."""
        await self._on_tables(lambda tables: tables.record(cluster, time_ms, samples, events))

    async def note(self, cluster: str, events: Sequence[ClusterEvent]) -> None:
        """Writes events that belong to no round. Raises sqlite3.Error."""
        await self._on_tables(lambda tables: tables.note(cluster, events))

    async def series(self, query: SeriesQuery) -> HistorySeries:
        """A series with its gaps, reduced to the points asked for, and its trend."""
        return await self._on_tables(lambda tables: self._read_series(tables, query))

    async def by_partition(self, query: SeriesQuery, most: int) -> dict[int, HistorySeries]:
        """The series of single partitions: those with the greatest values now, if there are more than `most`."""
        return await self._on_tables(lambda tables: self._read_partitions(tables, query, most))

    async def vectors(
        self, cluster: str, metric: HistoryMetric, entity: str, start_ms: int, end_ms: int
    ) -> list[StoredRow]:
        """The values at each round, as fine as they are stored."""
        return await self._on_tables(
            lambda tables: read_rows(tables, SeriesQuery(cluster, metric, entity, start_ms, end_ms, count=1 << 30))
        )

    async def latest(self, cluster: str, metric: HistoryMetric) -> dict[str, StoredRow]:
        """The last sample of each entity since the store was opened."""
        return await self._on_tables(lambda tables: tables.latest(cluster, metric.name))

    async def entities(self, cluster: str, metric: HistoryMetric) -> list[str]:
        """The entities with samples of a metric."""
        return await self._on_tables(lambda tables: tables.entities(cluster, metric.name))

    async def events(self, query: EventQuery) -> list[tuple[int, ClusterEvent]]:
        """Events with their ids, newest first."""
        return await self._on_tables(lambda tables: tables.events(query))

    # ---- on the thread

    async def _on_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.wrap_future(self._thread.submit(call))

    async def _on_tables(self, call: Callable[[HistoryTables], T]) -> T:
        return await self._on_thread(lambda: self._guarded(call))

    def _open(self) -> None:
        limit_bytes = self._settings.limit_bytes
        self._connection = database.open_database(self.path, limit_bytes, self._clock.wall_ms())
        self._tables = HistoryTables(self._connection, limit_bytes, self._settings.retention_ms)

    def _close(self) -> None:
        self._tables = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _guarded(self, call: Callable[[HistoryTables], T]) -> T:
        if self._tables is None:
            raise sqlite3.ProgrammingError("the history is closed")
        try:
            return call(self._tables)
        except sqlite3.DatabaseError as error:
            if not database.is_damage(error):
                raise
            self._close()
            database.set_aside(self.path, str(error), self._clock.wall_ms())
            self._open()
        return call(self._tables)

    def _read_series(self, tables: HistoryTables, query: SeriesQuery) -> HistorySeries:
        return self._series_of(read_rows(tables, query), query)

    def _read_partitions(self, tables: HistoryTables, query: SeriesQuery, most: int) -> dict[int, HistorySeries]:
        rows = read_rows(tables, query)
        last = rows[-1].value if rows else ()
        if not isinstance(last, tuple):
            return {}
        chosen = sorted(sorted(range(len(last)), key=lambda number: -last[number])[:most])
        return {number: self._series_of(rows, replace(query, partition=number)) for number in chosen}

    def _series_of(self, rows: list[StoredRow], query: SeriesQuery) -> HistorySeries:
        points = points_of(query.metric, rows, query.partition, query.as_rate)
        fold = Fold.MEAN if query.as_rate else query.metric.fold
        few = reduced(points, query.start_ms, query.end_ms, query.count, fold)
        return HistorySeries(with_gaps(few, gap_ms(query, self._settings.interval_ms)), trend(points[-TREND_POINTS:]))


def gap_ms(query: SeriesQuery, interval_ms: int) -> int:
    """Points further apart than this have a gap between them."""
    reach_ms = query.end_ms - query.start_ms
    finest = next((each.width_ms for each in RESOLUTIONS if each.width_ms * 16 >= reach_ms // query.count), 0)
    return 3 * max(interval_ms, finest, reach_ms // query.count)


def read_rows(tables: HistoryTables, query: SeriesQuery) -> list[StoredRow]:
    """The values at each round: at the finest resolution that reaches back far enough, and finer since its last row."""
    spans = tables.spans()
    first = resolution_for(spans, query.start_ms, (query.end_ms - query.start_ms) // query.count)
    found: list[StoredRow] = []
    since_ms = query.start_ms
    for resolution in range(first, -1, -1):
        held_ms = hold_ms(resolution)
        rounds = tables.rows(query.cluster, COLLECTED.name, CLUSTER_ENTITY, resolution, since_ms, query.end_ms)
        if not rounds:
            continue
        rows = tables.rows(
            query.cluster, query.metric.name, query.entity, resolution, since_ms - held_ms, query.end_ms
        )
        found += filled(rows, [each.time_ms for each in rounds], held_ms)
        since_ms = rounds[-1].time_ms + 1
    return found
