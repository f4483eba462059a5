"""What a stream does, one line per micro-batch: rows, rates, and the lag that is left.

    orders-to-parquet: batch 12, 10,000 rows in 0.8 s (12,500/s), lag 3,200 (orders-1: 3,000)
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from kafka_py.base.ids import TopicPartition
from kafka_py.pipeline.offsets import from_nested

WORST = 3
"""Partitions whose lag is named."""


def lag(latest: dict[str, Any] | None, end: dict[str, Any] | None) -> dict[TopicPartition, int]:
    """Offsets between the end of a micro-batch and the ends of the partitions, as Spark reports both."""
    there, done = from_nested(latest or {}), from_nested(end or {})
    return {each: max(0, at - done.get(each, 0)) for each, at in there.items()}


def lag_text(lags: dict[TopicPartition, int]) -> str:
    """`lag 12 (t-0: 10, t-1: 2)`, the worst partitions first."""
    worst = sorted(((size, each) for each, size in lags.items() if size), key=lambda pair: (-pair[0], pair[1]))
    named = ", ".join(f"{each}: {size:,}" for size, each in worst[:WORST])
    more = ", ..." if len(worst) > WORST else ""
    return f"lag {sum(lags.values()):,}" + (f" ({named}{more})" if named else "")


def line(name: str, batch_id: int, rows: int, seconds: float, lags: dict[TopicPartition, int] | None) -> str:
    """One micro-batch for people."""
    rate = f" ({rows / seconds:,.0f}/s)" if seconds > 0 else ""
    text = f"{name}: batch {batch_id}, {rows:,} rows in {seconds:.1f} s{rate}"
    return text if lags is None else f"{text}, {lag_text(lags)}"


def line_of(progress: dict[str, Any]) -> str:
    """The line of a progress report of Spark's, parsed from its JSON."""
    seconds = progress.get("durationMs", {}).get("triggerExecution", 0) / 1000
    lags: dict[TopicPartition, int] | None = None
    for source in progress.get("sources", ()):
        latest, end = _offsets(source.get("latestOffset")), _offsets(source.get("endOffset"))
        if latest is not None and end is not None:
            lags = {**(lags or {}), **lag(latest, end)}
    name = progress.get("name") or progress.get("id", "stream")
    return line(str(name), int(progress.get("batchId", -1)), int(progress.get("numInputRows", 0)), seconds, lags)


def _offsets(given: Any) -> dict[str, Any] | None:
    """Offsets of a topic; None for those of another kind of source."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            return None
    try:
        from_nested(given)
    except (ValueError, TypeError):
        return None
    return dict(given)


def show_progress(session: Any, out: Callable[[str], object] | None = None) -> Any:
    """Has every stream of the session print its lines from now on; returns the listener."""
    from pyspark.sql.streaming.listener import StreamingQueryListener

    write = out or (lambda text: print(text, file=sys.stderr, flush=True))

    class Lines(StreamingQueryListener):
        def onQueryStarted(self, event: Any) -> None:
            pass

        def onQueryProgress(self, event: Any) -> None:
            write(line_of(json.loads(event.progress.json)))

        def onQueryTerminated(self, event: Any) -> None:
            pass

    listener = Lines()
    session.streams.addListener(listener)
    return listener
