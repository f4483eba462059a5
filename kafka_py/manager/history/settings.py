"""How often clusters are observed, how much is kept and for how long."""

from __future__ import annotations

from dataclasses import dataclass

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

LEAST_LIMIT_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class HistorySettings:
    """Intervals and bounds of the history.

    interval_ms: between two observations. retention_ms: how long the coarsest resolution is kept.
    limit_bytes: bound of the file, its write-ahead log included; at least LEAST_LIMIT_BYTES.
    parallel: requests in flight per cluster. request_timeout_ms: per request. longest_backoff_ms: between two attempts
    on a cluster that is unreachable.
    """

    interval_ms: int = 30 * SECOND_MS
    retention_ms: int = 7 * DAY_MS
    limit_bytes: int = 512 * 1024 * 1024
    parallel: int = 8
    request_timeout_ms: int = 15 * SECOND_MS
    longest_backoff_ms: int = 5 * MINUTE_MS

    def __post_init__(self) -> None:
        if self.limit_bytes < LEAST_LIMIT_BYTES:
            raise ValueError(f"the history needs at least {LEAST_LIMIT_BYTES} bytes")
        if min(self.interval_ms, self.retention_ms, self.parallel, self.request_timeout_ms) < 1:
            raise ValueError("the intervals and bounds of the history are positive")
