"""The history's file: bounds, resolutions, damage."""

import asyncio
import logging
import random
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_py.base.clock import SYSTEM_CLOCK
from kafka_py.manager.history import database
from kafka_py.manager.history.history_tables import HistoryTables
from kafka_py.manager.history.metrics import (
    CLUSTER_ENTITY,
    COLLECTED,
    GROUP_LAG,
    RECORDS_RATE,
    TOPIC_END,
    TOPIC_SIZE,
    PastSample,
)
from kafka_py.manager.history.queries import EventQuery, SeriesQuery
from kafka_py.manager.history.series import StoredRow
from kafka_py.manager.history.settings import DAY_MS, HOUR_MS, LEAST_LIMIT_BYTES, MINUTE_MS, HistorySettings
from kafka_py.manager.history.store import HistoryStore, read_rows
from kafka_py.manager.history.timeline import ClusterEvent, EventKind, ValueChange

START_MS = 1_700_000_000_000 // DAY_MS * DAY_MS


def tables_of(path: Path, limit_bytes: int = 64 * 1024 * 1024, retention_ms: int = 7 * DAY_MS) -> HistoryTables:
    connection = database.open_database(path, limit_bytes, START_MS)
    return HistoryTables(connection, limit_bytes, retention_ms)


def one_round(*samples: PastSample) -> list[PastSample]:
    return [PastSample(COLLECTED, CLUSTER_ENTITY, 1.0), *samples]


def asked(metric: object, entity: str, start_ms: int, end_ms: int, count: int = 300) -> SeriesQuery:
    return SeriesQuery("c", metric, entity, start_ms, end_ms, count=count)  # type: ignore[arg-type]


def test_every_round_is_read_although_unchanged_values_are_not_written(tmp_path: Path) -> None:
    tables = tables_of(tmp_path / "h.db")
    times = [START_MS + each * 30_000 for each in range(40)]
    for index, time_ms in enumerate(times):
        tables.record("c", time_ms, one_round(PastSample(TOPIC_END, "t", (index // 33, 7))), ())
    rows = read_rows(tables, asked(TOPIC_END, "t", START_MS, times[-1]))
    assert rows == [StoredRow(time_ms, (index // 33, 7)) for index, time_ms in enumerate(times)]
    written = tables.rows("c", "log_end_offset", "t", 0, START_MS, times[-1])
    assert len(written) == 5  # one per interval of five minutes, and the change


def test_clusters_and_entities_do_not_mix(tmp_path: Path) -> None:
    tables = tables_of(tmp_path / "h.db")
    tables.record("c", START_MS, one_round(PastSample(GROUP_LAG, "g", 1), PastSample(GROUP_LAG, "h", 2)), ())
    tables.record("d", START_MS, one_round(PastSample(GROUP_LAG, "g", 3)), ())
    assert read_rows(tables, asked(GROUP_LAG, "g", START_MS, START_MS)) == [StoredRow(START_MS, 1.0)]
    assert tables.entities("c", "group_lag") == ["g", "h"]
    assert tables.latest("d", "group_lag") == {"g": StoredRow(START_MS, 3.0)}
    assert read_rows(tables, asked(GROUP_LAG, "none", START_MS, START_MS)) == []


def test_coarser_resolutions_keep_the_last_offset_the_mean_rate_and_the_greatest_lag(tmp_path: Path) -> None:
    tables = tables_of(tmp_path / "h.db")
    for each in range(61):
        samples = (
            PastSample(TOPIC_END, "t", (each,)),
            PastSample(RECORDS_RATE, CLUSTER_ENTITY, each % 5),
            PastSample(GROUP_LAG, "g", 1000 if each == 3 else 5),
        )
        tables.record("c", START_MS + each * MINUTE_MS, one_round(*samples), ())

    def at(resolution: int, metric: str, entity: str) -> list[StoredRow]:
        return tables.rows("c", metric, entity, resolution, START_MS, START_MS + DAY_MS)

    assert at(1, "log_end_offset", "t")[:2] == [
        StoredRow(START_MS + 4 * MINUTE_MS, (4,)),
        StoredRow(START_MS + 9 * MINUTE_MS, (9,)),
    ]
    assert [row.value for row in at(1, "records_per_second", "")] == [2.0] * 12
    assert [row.value for row in at(1, "group_lag", "g")][:2] == [1000.0, 5.0]
    assert at(2, "group_lag", "g") == [StoredRow(START_MS + 55 * MINUTE_MS, 1000.0)]
    assert at(2, "log_end_offset", "t") == [StoredRow(START_MS + 59 * MINUTE_MS, (59,))]


def test_a_mean_counts_the_rounds_in_which_nothing_changed(tmp_path: Path) -> None:
    tables = tables_of(tmp_path / "h.db")
    for each in range(11):
        sample = PastSample(RECORDS_RATE, CLUSTER_ENTITY, 50.0 if each == 4 else 0.0)
        tables.record("c", START_MS + each * 30_000, one_round(sample), ())
    end_ms = START_MS + 5 * MINUTE_MS
    assert [row.value for row in tables.rows("c", RECORDS_RATE.name, CLUSTER_ENTITY, 1, START_MS, end_ms)] == [5.0]


def test_after_a_commit_that_failed_the_next_round_is_written(tmp_path: Path) -> None:
    tables = tables_of(tmp_path / "h.db")
    connection = tables._connection

    class FullDisk:
        in_transaction = property(lambda _: connection.in_transaction)

        def __getattr__(self, name: str) -> object:
            return getattr(connection, name)

        def execute(self, sql: str, *arguments: object) -> object:
            if sql == "COMMIT":
                raise sqlite3.OperationalError("database or disk is full")
            return connection.execute(sql, *arguments)  # type: ignore[arg-type]

    tables._connection = FullDisk()  # type: ignore[assignment]
    with pytest.raises(sqlite3.OperationalError, match="disk is full"):
        tables.record("c", START_MS, one_round(PastSample(GROUP_LAG, "g", 1)), ())
    with pytest.raises(sqlite3.OperationalError, match="disk is full"):
        tables.note("c", ())
    tables._connection = connection
    tables.record("c", START_MS + 30_000, one_round(PastSample(GROUP_LAG, "g", 2)), ())
    assert [row.value for row in tables.rows("c", "group_lag", "g", 0, START_MS, START_MS + 60_000)] == [2.0]


def test_a_long_range_is_read_coarsely_and_ends_with_the_newest_round(tmp_path: Path) -> None:
    tables = tables_of(tmp_path / "h.db")
    last = 3 * 24 * 60 + 7
    for each in range(last + 1):
        tables.record("c", START_MS + each * MINUTE_MS, one_round(PastSample(TOPIC_END, "t", (each,))), ())
    end_ms = START_MS + last * MINUTE_MS
    rows = read_rows(tables, asked(TOPIC_END, "t", START_MS, end_ms, count=100))
    assert rows[-1] == StoredRow(end_ms, (last,))
    assert len(rows) < 1000
    assert [row.time_ms for row in rows] == sorted({row.time_ms for row in rows})
    assert all(row.value == ((row.time_ms - START_MS) // MINUTE_MS,) for row in rows)
    assert tables.spans()[0].oldest_ms >= end_ms - 12 * HOUR_MS - 5 * MINUTE_MS


def test_what_is_older_than_the_retention_is_removed_and_so_are_its_names(tmp_path: Path) -> None:
    tables = tables_of(tmp_path / "h.db", retention_ms=DAY_MS)
    event = ClusterEvent(START_MS, EventKind.TOPIC_DELETED, "old")
    tables.record("c", START_MS, one_round(PastSample(TOPIC_END, "old", (1,))), [event])
    for each in range(1, 30):
        tables.record("c", START_MS + each * HOUR_MS, one_round(PastSample(TOPIC_END, "t", (each,))), ())
    assert tables.entities("c", "log_end_offset") == ["t"]
    assert tables.events(EventQuery("c", 0, START_MS * 2)) == []


@settings(max_examples=6)
@given(st.integers(0, 1 << 32))
def test_the_file_never_outgrows_its_bound(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    path = tmp_path_factory.mktemp("bound") / "h.db"
    tables = tables_of(path, LEAST_LIMIT_BYTES)
    time_ms = START_MS
    numbers = random.Random(seed)
    for _ in range(numbers.randrange(20, 150)):
        time_ms += numbers.choice((1_000, 30_000, MINUTE_MS, HOUR_MS))
        sizes = [tuple(numbers.randrange(1 << 40) for _ in range(20)) for _ in range(numbers.randrange(120))]
        samples = [PastSample(TOPIC_SIZE, f"topic-{numbers.randrange(400)}", each) for each in sizes]
        changes = tuple(ValueChange(str(each), "0", "1") for each in range(numbers.randrange(100)))
        events = [ClusterEvent(time_ms, EventKind.ISR_CHANGED, "t", changes)] * numbers.randrange(5)
        tables.record("c", time_ms, one_round(*samples), events)
        assert database.stored_bytes(path) <= LEAST_LIMIT_BYTES
    assert tables.spans()[0].newest_ms == time_ms


def test_rounds_before_the_last_one_are_ignored_unless_the_clock_was_put_back(tmp_path: Path) -> None:
    tables = tables_of(tmp_path / "h.db")
    tables.record("c", START_MS, one_round(), ())
    tables.record("c", START_MS - 1000, one_round(), ())
    assert tables.spans()[0].oldest_ms == START_MS
    for earlier_ms in (START_MS - 2 * HOUR_MS, START_MS - DAY_MS):
        tables.record("c", earlier_ms, one_round(), ())
        assert tables.spans()[0].oldest_ms == earlier_ms


def test_rounds_of_a_clock_that_was_far_ahead_do_not_cost_the_others_their_place(tmp_path: Path) -> None:
    tables = tables_of(tmp_path / "h.db", LEAST_LIMIT_BYTES)
    chance = random.Random(7)
    tables.record("c", START_MS + 20 * 365 * DAY_MS, one_round(), ())
    times = [START_MS + each * 30_000 for each in range(200)]
    for time_ms in times:
        ends = tuple(chance.randrange(1 << 60) for _ in range(1000))
        tables.record("c", time_ms, one_round(PastSample(TOPIC_END, "t", ends)), ())
        assert tables.used_bytes() <= LEAST_LIMIT_BYTES
    left = tables.rows("c", TOPIC_END.name, "t", 0, START_MS, times[-1])
    assert len(left) > 30
    assert left[-1].time_ms == times[-1]


def test_after_a_restart_the_interval_that_was_begun_is_rolled_up(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    connection = database.open_database(path, LEAST_LIMIT_BYTES, START_MS)
    HistoryTables(connection, LEAST_LIMIT_BYTES, DAY_MS).record(
        "c", START_MS, one_round(PastSample(TOPIC_END, "t", (5,))), ()
    )
    connection.close()
    tables = tables_of(path)
    tables.record("c", START_MS + 20 * MINUTE_MS, one_round(PastSample(TOPIC_END, "t", (9,))), ())
    assert tables.rows("c", "log_end_offset", "t", 1, START_MS, START_MS + DAY_MS) == [StoredRow(START_MS, (5,))]


def test_events_are_listed_newest_first_by_kind_subject_and_page(tmp_path: Path) -> None:
    tables = tables_of(tmp_path / "h.db")
    made = [
        ClusterEvent(START_MS + each, EventKind.TOPIC_CREATED if each % 2 else EventKind.BROKER_LEFT, f"<b>{each}")
        for each in range(10)
    ]
    tables.note("c", made)
    listed = tables.events(EventQuery("c", START_MS, START_MS + 100, limit=4))
    assert [event for _, event in listed] == made[:5:-1]
    after = tables.events(EventQuery("c", START_MS, START_MS + 100, limit=4, before_id=listed[-1][0]))
    assert [event for _, event in after] == made[5:1:-1]
    left = tables.events(EventQuery("c", START_MS, START_MS + 100, kinds=(EventKind.BROKER_LEFT,), subject=">4"))
    assert [event.subject for _, event in left] == ["<b>4"]


@pytest.mark.parametrize("content", [b"this is no database" * 400, b"SQLite format 3\0" + b"\xff" * 9000])
def test_a_damaged_file_is_set_aside_with_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    path = tmp_path / "h.db"
    path.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        tables = tables_of(path)
    tables.record("c", START_MS, one_round(), ())
    assert [path.name + f".damaged-{START_MS}" in record.getMessage() for record in caplog.records] == [True]
    assert (tmp_path / f"h.db.damaged-{START_MS}").read_bytes() == content


@pytest.mark.parametrize(
    ("code", "is_damage"),
    [
        (sqlite3.SQLITE_CORRUPT, True), (sqlite3.SQLITE_CORRUPT_INDEX, True), (sqlite3.SQLITE_NOTADB, True),
        (sqlite3.SQLITE_FULL, False), (sqlite3.SQLITE_IOERR_READ, False), (sqlite3.SQLITE_BUSY, False),
    ],
)  # fmt: skip
def test_only_unusable_content_is_damage(code: int, is_damage: bool) -> None:
    error = sqlite3.DatabaseError()
    error.sqlite_errorcode = code
    assert database.is_damage(error) is is_damage


def test_a_file_of_a_newer_schema_is_set_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "h.db"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version=99")
    connection.close()
    tables_of(path)
    assert "its schema has version 99" in caplog.text


def test_a_file_that_another_process_uses_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    tables = tables_of(path)
    tables.record("c", START_MS, one_round(), ())
    with pytest.raises(database.HistoryInUse):
        tables_of(path)


def test_damage_found_while_the_history_is_used_starts_a_new_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "h.db"

    async def use() -> list[int]:
        store = HistoryStore(path, HistorySettings(), SYSTEM_CLOCK)
        await store.open()
        await store.record("c", START_MS, one_round(PastSample(TOPIC_END, "t", (5,))))

        def fails(_tables: HistoryTables) -> None:
            if not list(tmp_path.glob("*.damaged-*")):
                error = sqlite3.DatabaseError("database disk image is malformed")
                error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
                raise error

        await store._on_tables(fails)
        await store.record("c", START_MS + 1, one_round(PastSample(TOPIC_END, "t", (6,))))
        series = await store.series(asked(TOPIC_END, "t", START_MS, START_MS + 10))
        latest = await store.latest("c", TOPIC_END)
        await store.close()
        assert latest == {"t": StoredRow(START_MS + 1, (6,))}
        return [point.time_ms for point in series.points]

    assert asyncio.run(use()) == [START_MS + 1]
    assert len(list(tmp_path.glob("*.damaged-*"))) == 1


def test_a_series_shows_the_pause_of_the_manager_as_a_gap(tmp_path: Path) -> None:
    async def use() -> list[float | None]:
        store = HistoryStore(tmp_path / "h.db", HistorySettings(), SYSTEM_CLOCK)
        await store.open()
        for minute in (0, 1, 2, 50, 51, 52):
            await store.record("c", START_MS + minute * MINUTE_MS, one_round(PastSample(GROUP_LAG, "g", minute)))
        series = await store.series(asked(GROUP_LAG, "g", START_MS, START_MS + HOUR_MS))
        await store.close()
        return [point.value for point in series.points]

    assert asyncio.run(use()) == [0, 1, 2, None, 50, 51, 52]


def test_a_closed_history_says_so(tmp_path: Path) -> None:
    async def use() -> None:
        store = HistoryStore(tmp_path / "h.db", HistorySettings(), SYSTEM_CLOCK)
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            await store.entities("c", TOPIC_END)
        await store.close()

    asyncio.run(use())
