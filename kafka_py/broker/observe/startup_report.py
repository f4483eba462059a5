"""The start-up report: log lines with the broker's identity, listeners and log directories.

Pure: values in, lines out. Warnings about settings are in configs.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from kafka_py import KAFKA_VERSION, __version__


class LoadedLogDir(Protocol):
    """Result of loading one log directory."""

    @property
    def path(self) -> str: ...
    @property
    def logs(self) -> int: ...
    @property
    def is_clean(self) -> bool: ...
    @property
    def took_ms(self) -> float: ...
    @property
    def error(self) -> OSError | None: ...


class Started(NamedTuple):
    """A started broker. endpoints: as advertised. metrics: URL of the endpoint, None without one."""

    broker_id: int
    cluster_id: str
    endpoints: Sequence[str]
    log_dirs: Sequence[LoadedLogDir]
    metrics: str | None
    took_ms: float


def version_line() -> str:
    """The first line of a broker's log."""
    return f"starting kafka_py {__version__}, a broker as of Kafka {KAFKA_VERSION}"


def loaded_line(report: LoadedLogDir) -> str:
    """One log directory: number of logs, kind of the last stop, duration."""
    if report.error is not None:
        return f"Log directory {report.path} has failed: {report.error}"
    logs = "1 log" if report.logs == 1 else f"{report.logs} logs"
    stop = "a clean" if report.is_clean else "an unclean"
    after = f" after {stop} stop" if report.logs else ""
    return f"Loaded {logs} in {report.took_ms:.0f}ms{after} from {report.path}"


def report_lines(started: Started) -> Iterator[str]:
    """The lines about the broker."""
    yield from map(loaded_line, started.log_dirs)
    yield (
        f"Broker {started.broker_id} of cluster {started.cluster_id}: kafka_py {__version__} (Kafka {KAFKA_VERSION}), "
        f"{_list('listeners', started.endpoints)}, "
        f"{_list('log.dirs', (report.path for report in started.log_dirs if report.error is None))}"
        + (f", metrics at {started.metrics}" if started.metrics else "")
        + f"; up in {started.took_ms:.0f}ms"
    )


def _list(name: str, values: Iterable[str]) -> str:
    return f"{name} {','.join(values)}"
