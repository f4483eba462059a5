"""The rows of the history: written, read, rolled up to coarser resolutions, removed. For the thread that owns the file.

Synchronous; knows SQL, nothing of clusters. What is kept and removed is decided in resolutions.py.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kafka_py.manager.history.columns import pack_column, unpack_column
from kafka_py.manager.history.metrics import COLLECTED, Fold, HistoryMetric, PastSample
from kafka_py.manager.history.queries import EventQuery
from kafka_py.manager.history.resolutions import (
    RESOLUTIONS,
    Cut,
    FinishedInterval,
    Span,
    block_of,
    expired,
    finished_intervals,
    is_keyframe,
    next_cut,
)
from kafka_py.manager.history.series import StoredRow, Value
from kafka_py.manager.history.settings import HOUR_MS
from kafka_py.manager.history.timeline import ClusterEvent, EventKind, ValueChange

EVENTS = len(RESOLUTIONS)
"""The timeline's place among the resolutions, when space is short."""

_Stored = float | bytes

_FOLDED = {
    Fold.LAST: "value",  # beside max() alone SQLite takes the other columns from the row that has it
    Fold.MEAN: "avg(value)",
    Fold.MAX: "max(value)",
}


class HistoryTables:
    """The tables of one file.

    limit_bytes: for the file and its write-ahead log. What is stored gets a part of it: a round is first written, then
    others are removed, and both pass through the log.
    """

    def __init__(self, connection: sqlite3.Connection, limit_bytes: int, retention_ms: int) -> None:
        self._connection = connection
        self._limit_bytes = limit_bytes * 5 // 8
        self._log_path = Path(connection.execute("PRAGMA database_list").fetchone()[2] + "-wal")
        self._retention_ms = retention_ms
        self._ids: dict[tuple[str, str, str], int] = {}
        self._written: dict[int, _Stored] = {}
        self._seen_ms: dict[int, int] = {}
        self._previous_ms: dict[str, int] = {}
        self._now_ms: int | None = None
        self._load()

    def _load(self) -> None:
        """Reads the names of series and when each cluster had its last round.

        What was written last is forgotten, so everything is written in the next round.
        """
        rows = self._connection.execute("SELECT id, cluster, metric, entity FROM series")
        self._ids = {(cluster, metric, entity): number for number, cluster, metric, entity in rows}
        self._written.clear()
        for (cluster, metric, _), number in self._ids.items():
            if metric == COLLECTED.name:
                sql = "SELECT max(time_ms) FROM samples WHERE resolution = 0 AND series = ?"
                newest = self._connection.execute(sql, (number,)).fetchone()[0]
                if newest is not None:
                    self._previous_ms[cluster] = newest

    # ---- writing

    def record(self, cluster: str, time_ms: int, samples: Iterable[PastSample], events: Sequence[ClusterEvent]) -> None:
        """Writes one round of a cluster, in one transaction.

        A time that is not after the last one is ignored, unless the clock was put back by more than an hour.
        """
        previous_ms = self._previous_ms.get(cluster)
        if previous_ms is not None and time_ms <= previous_ms - HOUR_MS:
            previous_ms = None
        if previous_ms is not None and time_ms <= previous_ms:
            return
        try:
            with _HistoryTransaction(self._connection):
                self._write(cluster, previous_ms, time_ms, samples)
                self._add_events(cluster, events)
        except BaseException:
            self._load()
            raise
        self._previous_ms[cluster] = self._now_ms = time_ms
        self._make_room()
        self._shorten_log()

    def note(self, cluster: str, events: Sequence[ClusterEvent]) -> None:
        """Writes events that belong to no round."""
        with _HistoryTransaction(self._connection):
            self._add_events(cluster, events)
        self._make_room()

    def _write(self, cluster: str, previous_ms: int | None, time_ms: int, samples: Iterable[PastSample]) -> None:
        for interval in finished_intervals(previous_ms, time_ms):
            self._roll_up(cluster, interval)
        rows = self._changed(cluster, time_ms, samples, is_keyframe(previous_ms, time_ms))
        self._connection.executemany("INSERT OR REPLACE INTO samples VALUES (0, ?, ?, ?, ?)", rows)
        for resolution in (0, 1):
            if previous_ms is None or block_of(resolution, previous_ms) != block_of(resolution, time_ms):
                self._expire(time_ms)
                if resolution:
                    self._forget_series()

    def _changed(
        self, cluster: str, time_ms: int, samples: Iterable[PastSample], everything: bool
    ) -> list[tuple[int, int, int, _Stored]]:
        """The rows of those samples that differ from the ones written before, or of all."""
        block = block_of(0, time_ms)
        rows = []
        for metric, entity, value in samples:
            number = self._series(cluster, metric, entity)
            stored = pack_column(value) if isinstance(value, tuple) else value
            self._seen_ms[number] = time_ms
            # A mean is that of all rounds, so of such metrics every round is written.
            if everything or metric.fold is Fold.MEAN or self._written.get(number) != stored:
                self._written[number] = stored
                rows.append((block, number, time_ms, stored))
        return rows

    def _series(self, cluster: str, metric: HistoryMetric, entity: str) -> int:
        key = (cluster, metric.name, entity)
        number = self._ids.get(key)
        if number is None:
            sql = "INSERT INTO series (cluster, metric, entity, fold) VALUES (?, ?, ?, ?)"
            number = self._connection.execute(sql, (*key, metric.fold)).lastrowid or 0
            self._ids[key] = number
        return number

    def _add_events(self, cluster: str, events: Sequence[ClusterEvent]) -> None:
        self._connection.executemany(
            "INSERT INTO events (cluster, time_ms, kind, subject, changes) VALUES (?, ?, ?, ?, ?)",
            [(cluster, each.time_ms, each.kind, each.subject, json.dumps(each.changes)) for each in events],
        )

    def _roll_up(self, cluster: str, interval: FinishedInterval) -> None:
        """Writes one row per series for an interval of a coarser resolution, from the next finer one."""
        finer = interval.resolution - 1
        for fold, folded in _FOLDED.items():
            self._connection.execute(
                f"INSERT OR REPLACE INTO samples SELECT ?, time_ms / ?, series, time_ms, value FROM ("
                f" SELECT s.series, {folded} AS value, max(s.time_ms) AS time_ms"
                f" FROM samples s JOIN series ON series.id = s.series"
                f" WHERE s.resolution = ? AND s.block = ? AND series.cluster = ? AND series.fold = ?"
                f" GROUP BY s.series)",
                (
                    interval.resolution, RESOLUTIONS[interval.resolution].block_ms,
                    finer, block_of(finer, interval.start_ms), cluster, fold,
                ),
            )  # fmt: skip

    # ---- removing

    def spans(self) -> dict[int, Span]:
        """What is stored at each resolution that has samples."""
        spans = {resolution: self.span(resolution) for resolution in range(len(RESOLUTIONS))}
        return {resolution: span for resolution, span in spans.items() if span is not None}

    def span(self, resolution: int) -> Span | None:
        """What is stored at one resolution; None without samples."""
        oldest, newest = (self._edge(resolution, edge) for edge in ("min", "max"))
        return Span(oldest, newest) if oldest is not None and newest is not None else None

    def _edge(self, resolution: int, edge: str) -> int | None:
        """The oldest or newest time of a resolution: of its first or last block."""
        sql = (
            f"SELECT {edge}(time_ms) FROM samples WHERE resolution = ?1 AND block ="
            f" (SELECT {edge}(block) FROM samples WHERE resolution = ?1)"
        )
        found: int | None = self._connection.execute(sql, (resolution,)).fetchone()[0]
        return found

    def used_bytes(self) -> int:
        """Bytes of the pages that hold something."""
        pages, free, size = (
            self._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)

    def _make_room(self) -> None:
        """Removes the oldest rows until what is left fits; then once more the names of series without samples."""
        if self.used_bytes() <= self._limit_bytes:
            return
        with _HistoryTransaction(self._connection):
            while self.used_bytes() > self._limit_bytes * 9 // 10:
                cut = next_cut(self._all_spans(), self._shares())
                if cut is None:
                    break
                self._cut(cut)
            self._forget_series()
        self._connection.execute("PRAGMA incremental_vacuum").fetchall()

    def _shorten_log(self) -> None:
        """Moves the write-ahead log into the file, and gives its space back, if it is large."""
        if self._log_path.exists() and self._log_path.stat().st_size > self._limit_bytes // 8:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _all_spans(self) -> dict[int, Span]:
        spans = self.spans()
        oldest, newest = self._connection.execute("SELECT min(time_ms), max(time_ms) FROM events").fetchone()
        if oldest is not None:
            spans[EVENTS] = Span(oldest, newest)
        return {resolution: self._until_now(span) for resolution, span in spans.items()}

    def _until_now(self, span: Span) -> Span:
        """The span without rounds that are yet to come: a tenth of a span of years would be all that there is.

        They are of a clock that was ahead once.
        """
        if self._now_ms is None or not span.oldest_ms <= self._now_ms < span.newest_ms:
            return span
        return Span(span.oldest_ms, self._now_ms)

    def _shares(self) -> Mapping[int, float]:
        return {**{index: each.share for index, each in enumerate(RESOLUTIONS)}, EVENTS: 1.0}

    def _cut(self, cut: Cut) -> None:
        if cut.resolution == EVENTS:
            self._connection.execute("DELETE FROM events WHERE time_ms < ?", (cut.before_ms,))
            return
        block = block_of(cut.resolution, cut.before_ms)
        sql = "DELETE FROM samples WHERE resolution = ? AND block < ?"
        self._connection.execute(sql, (cut.resolution, block))
        sql = "DELETE FROM samples WHERE resolution = ? AND block = ? AND time_ms < ?"
        self._connection.execute(sql, (cut.resolution, block, cut.before_ms))

    def _expire(self, now_ms: int) -> None:
        """Removes what is older than it is kept."""
        for cut in (*expired(now_ms, self._retention_ms), Cut(EVENTS, now_ms - self._retention_ms)):
            self._cut(cut)

    def _forget_series(self) -> None:
        """Removes the names of series without samples."""
        self._connection.execute("DELETE FROM series WHERE id NOT IN (SELECT series FROM samples)")
        left = {number for (number,) in self._connection.execute("SELECT id FROM series")}
        self._ids = {key: number for key, number in self._ids.items() if number in left}
        self._written = {number: value for number, value in self._written.items() if number in left}
        self._seen_ms = {number: time_ms for number, time_ms in self._seen_ms.items() if number in left}

    # ---- reading

    def rows(
        self, cluster: str, metric: str, entity: str, resolution: int, start_ms: int, end_ms: int
    ) -> list[StoredRow]:
        """The stored rows of a series at one resolution, in [start_ms, end_ms], by time."""
        number = self._ids.get((cluster, metric, entity))
        span = self.span(resolution)
        if number is None or span is None:
            return []
        start_ms, end_ms = max(start_ms, span.oldest_ms), min(end_ms, span.newest_ms)
        blocks = ",".join(map(str, range(block_of(resolution, start_ms), block_of(resolution, end_ms) + 1)))
        found = self._connection.execute(
            f"SELECT time_ms, value FROM samples WHERE resolution = ? AND block IN ({blocks}) AND series = ?"
            " AND time_ms BETWEEN ? AND ? ORDER BY time_ms",
            (resolution, number, start_ms, end_ms),
        )
        return [StoredRow(time_ms, _value(stored)) for time_ms, stored in found]

    def entities(self, cluster: str, metric: str) -> list[str]:
        """The entities with samples of a metric."""
        return sorted(entity for known, name, entity in self._ids if (known, name) == (cluster, metric))

    def latest(self, cluster: str, metric: str) -> dict[str, StoredRow]:
        """The last sample of each entity since the process began, with the time of the last round that had it."""
        return {
            entity: StoredRow(self._seen_ms[number], _value(stored))
            for (known, name, entity), number in self._ids.items()
            if (known, name) == (cluster, metric) and (stored := self._written.get(number)) is not None
        }

    def events(self, query: EventQuery) -> list[tuple[int, ClusterEvent]]:
        """Events with their ids, newest first."""
        conditions = ["cluster = ?", "time_ms BETWEEN ? AND ?"]
        arguments: list[object] = [query.cluster, query.start_ms, query.end_ms]
        if query.kinds:
            conditions.append(f"kind IN ({', '.join('?' * len(query.kinds))})")
            arguments += query.kinds
        if query.subject:
            conditions.append("instr(subject, ?) > 0")
            arguments.append(query.subject)
        if query.before_id is not None:
            conditions.append("id < ?")
            arguments.append(query.before_id)
        sql = f"SELECT id, time_ms, kind, subject, changes FROM events WHERE {' AND '.join(conditions)}"
        rows = self._connection.execute(f"{sql} ORDER BY id DESC LIMIT ?", (*arguments, query.limit))
        return [
            (number, ClusterEvent(time_ms, EventKind(kind), about, _changes(changes)))
            for number, time_ms, kind, about, changes in rows
        ]


class _HistoryTransaction:
    """A context: what is written in it is written as a whole, or not at all."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN")

    def __exit__(self, kind: type[BaseException] | None, _error: object, _trace: object) -> None:
        try:
            if kind is None:
                self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:  # SQLite itself may have rolled back, and a commit may fail
                self._connection.execute("ROLLBACK")


def _changes(text: str) -> tuple[ValueChange, ...]:
    return tuple(ValueChange(*each) for each in json.loads(text))


def _value(stored: _Stored) -> Value:
    return unpack_column(stored) if isinstance(stored, bytes) else float(stored)

