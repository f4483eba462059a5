"""What is asked of the history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kafka_py.manager.history.metrics import HistoryMetric
from kafka_py.manager.history.timeline import EventKind


@dataclass(frozen=True, slots=True)
class SeriesQuery:
    """A series in [start_ms, end_ms]. partition: None for all of a vector. count: the most points."""

    cluster: str
    metric: HistoryMetric
    entity: str
    start_ms: int
    end_ms: int
    partition: int | None = None
    as_rate: bool = False
    count: int = 300


class EventQuery(NamedTuple):
    """Events in [start_ms, end_ms]. subject: a part of it. before_id: only those after it in the list."""

    cluster: str
    start_ms: int
    end_ms: int
    kinds: tuple[EventKind, ...] = ()
    subject: str = ""
    limit: int = 100
    before_id: int | None = None
