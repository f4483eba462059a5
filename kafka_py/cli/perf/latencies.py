"""Counts, sizes and latencies of answered records: since the start, since the last report, and second by second.

What is done per record is as little as there can be; everything else happens a few times a second.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.cli.perf.timeline import MIB, Timeline, percentiles_of

if TYPE_CHECKING:
    from kafka_py.clients.producer.batches import Callback, RecordMetadata

REPORT_EVERY_MS = 5000
TICK_MS = 200
MAX_SAMPLES = 500_000
"""Latencies kept for the percentiles; of more records only every n-th is."""


class _Mark(NamedTuple):
    """How things stood at a moment."""

    at_ms: float
    records: int
    size_bytes: int
    total_ms: int
    samples: int


class Latencies:
    """What a producer's answers add up to.

    expected: how many records there will be. now_ms: a clock in ms. report: gets a line every five seconds; None for
    no such lines. timeline: gets everything, a few times a second. on_tick: called as often with the count.
    """

    def __init__(
        self,
        expected: int,
        now_ms: Callable[[], float],
        report: Callable[[str], None] | None,
        *,
        timeline: Timeline | None = None,
        on_tick: Callable[[int], None] | None = None,
    ) -> None:
        self.count = self.size_bytes = self.failed = 0
        self.refusal: KafkaError | None = None
        """Why brokers do not accept the producer; other records would only meet the same."""
        self._total = 0
        self._now_ms = now_ms
        self._report = report
        self._timeline = timeline
        self._on_tick = on_tick
        self._start_ms = now_ms()
        self._end_ms: float | None = None
        self._next_tick_ms = self._start_ms + TICK_MS
        self._window = self._last_tick = _Mark(self._start_ms, 0, 0, 0, 0)
        self._max = self._window_max = self._tick_max = 0
        self._every = max(1, expected // MAX_SAMPLES)
        self._samples = array("q")
        self._errors: set[str] = set()

    def callback(self, start_ms: float, size: int) -> Callback:
        """What to hand to `send` for a record that starts now; it runs on the producer's thread."""

        def answered(_metadata: RecordMetadata | None, error: KafkaError | None) -> None:
            now_ms = self._now_ms()
            if error is not None:
                self._note_failure(error)
            latency = int(now_ms - start_ms)
            count = self.count
            if count % self._every == 0:
                self._samples.append(latency)
            self.count = count + 1
            self.size_bytes += size
            self._total += latency
            if latency > self._tick_max:
                self._tick_max = latency
            if now_ms >= self._next_tick_ms:
                self._tick(now_ms)

        return answered

    def _note_failure(self, error: KafkaError) -> None:
        self.failed += 1
        if error.code is ErrorCode.SASL_AUTHENTICATION_FAILED:
            self.refusal = error
        if str(error) not in self._errors:
            self._errors.add(str(error))
            print(f"A record was not sent: {error}", file=sys.stderr, flush=True)

    def _tick(self, now_ms: float) -> None:
        self._next_tick_ms = now_ms + TICK_MS
        self._fold(now_ms)
        if self._report is not None and now_ms - self._window.at_ms >= REPORT_EVERY_MS:
            self._report(self.window_line(now_ms))
        if self._on_tick is not None:
            self._on_tick(self.count)

    def _fold(self, now_ms: float) -> None:
        """Takes over what came since the last tick."""
        mark, last = self._mark(now_ms), self._last_tick
        self._last_tick = mark
        tick_max, self._tick_max = self._tick_max, 0
        self._window_max = max(self._window_max, tick_max)
        self._max = max(self._max, tick_max)
        if self._timeline is not None:
            self._timeline.add(
                now_ms,
                mark.records - last.records,
                mark.size_bytes - last.size_bytes,
                self._samples[last.samples :],
                tick_max,
            )

    def _mark(self, now_ms: float) -> _Mark:
        return _Mark(now_ms, self.count, self.size_bytes, self._total, len(self._samples))

    def finish(self) -> None:
        """All answers are in: the clock stops here."""
        now_ms = self._end_ms = self._now_ms()
        self._fold(now_ms)
        if self._timeline is not None:
            self._timeline.finish(now_ms)

    def window_line(self, now_ms: float) -> str:
        """The report of the time since the last one; the next one begins here."""
        before, self._window = self._window, self._mark(now_ms)
        longest, self._window_max = max(self._window_max, self._tick_max), 0
        elapsed_ms = max(1.0, now_ms - before.at_ms)
        count = self.count - before.records
        size = (self.size_bytes - before.size_bytes) / MIB
        average_ms = (self._total - before.total_ms) / max(1, count)
        return (
            f"{count} records sent, {1000 * count / elapsed_ms:.1f} records/sec "
            f"({1000 * size / elapsed_ms:.2f} MB/sec), {average_ms:.1f} ms avg latency, "
            f"{float(longest):.1f} ms max latency."
        )

    def total_line(self) -> str:
        """The report at the end, with percentiles."""
        elapsed_ms = self.elapsed_ms
        ranks = [int(rank) for rank in percentiles_of(self._samples)]
        return (
            f"{self.count} records sent, {1000 * self.count / elapsed_ms:f} records/sec "
            f"({1000 * self.size_bytes / elapsed_ms / MIB:.2f} MB/sec), {self.average_ms:.2f} ms avg latency, "
            f"{self.max_ms:.2f} ms max latency, {ranks[0]} ms 50th, {ranks[1]} ms 95th, {ranks[2]} ms 99th, "
            f"{ranks[3]} ms 99.9th."
        )

    @property
    def elapsed_ms(self) -> float:
        end_ms = self._now_ms() if self._end_ms is None else self._end_ms
        return max(1.0, end_ms - self._start_ms)

    @property
    def average_ms(self) -> float:
        return self._total / max(1, self.count)

    @property
    def max_ms(self) -> int:
        return max(self._max, self._tick_max)
