"""The SQLite file of the history: its schema, and what is done with a file that cannot be used.

One connection has the file for itself (`locking_mode`), so a second manager on the same file is refused. The
write-ahead log is kept within a part of the limit.
Layout: `series` names what has samples; `samples` has rows (resolution, block, series, time_ms, value); a value is
a number or the bytes of a column (columns.py); `events` has the timeline.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from pathlib import Path

SCHEMA_VERSION = 1
PAGE_BYTES = 4096
SIDE_FILES = ("-wal", "-shm", "-journal")

_SCHEMA = """
CREATE TABLE series (
    id INTEGER PRIMARY KEY, cluster TEXT NOT NULL, metric TEXT NOT NULL, entity TEXT NOT NULL, fold TEXT NOT NULL,
    UNIQUE (cluster, metric, entity));
CREATE TABLE samples (
    resolution INTEGER NOT NULL, block INTEGER NOT NULL, series INTEGER NOT NULL, time_ms INTEGER NOT NULL,
    value NOT NULL, PRIMARY KEY (resolution, block, series, time_ms)) WITHOUT ROWID;
CREATE TABLE events (
    id INTEGER PRIMARY KEY, cluster TEXT NOT NULL, time_ms INTEGER NOT NULL, kind TEXT NOT NULL,
    subject TEXT NOT NULL, changes TEXT NOT NULL);
CREATE INDEX events_by_time ON events (time_ms);
"""

_log = logging.getLogger(__name__)


class HistoryInUse(Exception):
    """Another process has the file of the history open."""


def open_database(path: Path, limit_bytes: int, now_ms: int) -> sqlite3.Connection:
    """The file of that path, created if there is none; a damaged one is set aside, and so is one of a newer schema.

    The connection belongs to the calling thread. Raises HistoryInUse, and OSError if the file cannot be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return _opened(path, limit_bytes)
    except sqlite3.OperationalError as error:
        if is_locked(error):
            raise HistoryInUse(f"{path} is in use by another process") from error
        raise OSError(f"the history {path} cannot be opened: {error}") from error
    except sqlite3.DatabaseError as error:
        set_aside(path, str(error), now_ms)
        return _opened(path, limit_bytes)


def is_locked(error: sqlite3.Error) -> bool:
    """Whether another process has the file."""
    return getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file's content is unusable, rather than a statement or the disk at fault."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def set_aside(path: Path, reason: str, now_ms: int) -> Path:
    """Renames a file that cannot be used, so that a new one can be started; returns its new path."""
    target = path.with_name(f"{path.name}.damaged-{now_ms}")
    path.rename(target)
    for suffix in SIDE_FILES:
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(target.with_name(target.name + suffix))
    _log.warning("The history %s cannot be used (%s): it is kept as %s, and a new one is started", path, reason, target)
    return target


def stored_bytes(path: Path) -> int:
    """The size of the file and of those beside it."""
    total = 0
    for suffix in ("", *SIDE_FILES):
        with contextlib.suppress(FileNotFoundError):
            total += path.with_name(path.name + suffix).stat().st_size
    return total


def _opened(path: Path, limit_bytes: int) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=1.0, isolation_level=None)
    try:
        _prepare(connection, limit_bytes)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, limit_bytes: int) -> None:
    log_bytes = limit_bytes // 16
    connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
    connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
    connection.execute("PRAGMA locking_mode=EXCLUSIVE")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute(f"PRAGMA wal_autocheckpoint={max(8, log_bytes // PAGE_BYTES // 2)}")
    connection.execute(f"PRAGMA journal_size_limit={log_bytes}")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == 0:
        connection.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version={SCHEMA_VERSION}; COMMIT;")
    elif version != SCHEMA_VERSION:
        raise sqlite3.DatabaseError(f"its schema has version {version}, this program knows {SCHEMA_VERSION}")
    found = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found is None or found[0] != "ok":
        raise sqlite3.DatabaseError(f"damaged: {found[0] if found else 'no result'}")
