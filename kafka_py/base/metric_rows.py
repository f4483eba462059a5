"""The kinds of metric: what a row of a metric table counts, and which JMX attributes it shows.

Rate, Counter and Total are plain integers on the instance of a table; Distribution, Timing and Sampled are objects made
on first use; a Gauge is asked when it is read. Source: JmxReporter; Meter, Histogram and Timer of yammer metrics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, overload

from kafka_py.base.histograms import Histogram
from kafka_py.base.samples import Samples

if TYPE_CHECKING:
    from kafka_py.base.meters import MetricTable

Value = int | float | str | bool


class MetricRow:
    """What all kinds of metric share.

    tags: what tells this metric of one thing from that of another; left out, the table's own `tags`.
    """

    kind = ""

    def __init__(self, name: str, *, unit: str = "", tags: tuple[str, ...] | None = None, about: str = "") -> None:
        self.name = name
        self.unit = unit
        self.tags = tags
        self.about = about
        self.attribute = ""

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.attribute = attribute

    def read(self, table: MetricTable) -> dict[str, Value]:
        """The JMX attributes of this metric and their present values; empty when it was not used yet."""
        raise TypeError(f"{type(self).__name__} cannot be read")

    def tick(self, table: MetricTable, now_ms: float) -> None:
        """A window is over: move the averages on."""


class _IntegerRow(MetricRow):
    """A row that is a plain integer on the instance."""

    @overload
    def __get__(self, table: None, owner: type) -> Self: ...
    @overload
    def __get__(self, table: MetricTable, owner: type) -> int: ...
    def __get__(self, table: MetricTable | None, owner: type) -> Self | int:
        return self if table is None else 0  # until the instance has its own

    if TYPE_CHECKING:  # at run time it must not be a data descriptor, or the instance's integer would be hidden

        def __set__(self, table: MetricTable, value: int) -> None: ...


class Counter(_IntegerRow):
    """A number that only grows, or rises and falls. `table.x += 1`."""

    kind = "counter"

    def read(self, table: MetricTable) -> dict[str, Value]:
        if self.attribute not in table.__dict__ and table.tags:
            return {}
        return {"Count": table.__dict__.get(self.attribute, 0)}


class Rate(_IntegerRow):
    """Events and how fast they come (JMX meter: Count, MeanRate, 1, 5 and 15 minute rates). `table.x += n`.

    per_ns: the count is of nanoseconds, and so the rates are shares of the time that passes, 0 to 1.
    """

    kind = "rate"

    def __init__(
        self, name: str, *, unit: str = "", tags: tuple[str, ...] | None = None, about: str = "", per_ns: bool = False
    ) -> None:
        super().__init__(name, unit=unit, tags=tags, about=about)
        self.per_ns = per_ns

    def read(self, table: MetricTable) -> dict[str, Value]:
        if self.attribute not in table.__dict__ and table.tags:
            return {}
        count = table.__dict__.get(self.attribute, 0)
        rates = table.rates_of(self).read(count, table.registry.clock.monotonic_ms())
        values: dict[str, Value] = {"Count": count, "EventType": self.unit}
        if self.per_ns:
            return {**values, "RateUnit": "NANOSECONDS", **{name: rate / 1e9 for name, rate in rates.items()}}
        return {**values, "RateUnit": "SECONDS", **rates}

    def tick(self, table: MetricTable, now_ms: float) -> None:
        count = table.__dict__.get(self.attribute, 0)
        if count or self in table.__dict__.get("_rates", ()):
            table.rates_of(self).tick(count, now_ms)


class Gauge(MetricRow):
    """A value as it is now: assigned (`table.x = 3`), a function assigned, or `of=` a function of the table's owner."""

    kind = "gauge"

    def __init__(
        self,
        name: str,
        *,
        of: Callable[[Any], Value] | None = None,
        unit: str = "",
        tags: tuple[str, ...] | None = None,
        about: str = "",
    ) -> None:
        super().__init__(name, unit=unit, tags=tags, about=about)
        self.of = of

    @overload
    def __get__(self, table: None, owner: type) -> Self: ...
    @overload
    def __get__(self, table: MetricTable, owner: type) -> Any: ...
    def __get__(self, table: MetricTable | None, owner: type) -> Any:
        if table is None:
            return self
        return 0 if self.of is None else self.of(table.owner)

    if TYPE_CHECKING:

        def __set__(self, table: MetricTable, value: Value | Callable[[], Value]) -> None: ...

    def read(self, table: MetricTable) -> dict[str, Value]:
        value = getattr(table, self.attribute)
        return {self.name if table.ONE_BEAN else "Value": value() if callable(value) else value}


class _ObjectRow(MetricRow):
    """A row whose values go to an object of its own, made on first use."""

    def _make(self, table: MetricTable) -> Any:
        raise TypeError(f"{type(self).__name__} has no object")

    def _of(self, table: MetricTable) -> Any:
        made = table.__dict__[self.attribute] = self._make(table)
        return made

    def _is_unused(self, table: MetricTable) -> bool:
        """Of things that come in numbers (tagged) those without a value yet are not shown."""
        return bool(table.tags) and self.attribute not in table.__dict__

    def tick(self, table: MetricTable, now_ms: float) -> None:
        measured = table.__dict__.get(self.attribute)
        if measured is not None:
            measured.tick()


class Distribution(_ObjectRow):
    """How a number is spread (JMX histogram: Count, Min, Max, Mean, StdDev, percentiles). `table.x.update(n)`."""

    kind = "histogram"

    def _make(self, table: MetricTable) -> Histogram:
        return Histogram()

    @overload
    def __get__(self, table: None, owner: type) -> Self: ...
    @overload
    def __get__(self, table: MetricTable, owner: type) -> Histogram: ...
    def __get__(self, table: MetricTable | None, owner: type) -> Self | Histogram:
        return self if table is None else self._of(table)

    def read(self, table: MetricTable) -> dict[str, Value]:
        if self._is_unused(table):
            return {}
        histogram: Histogram = getattr(table, self.attribute)
        return {**histogram.read()}


class Timing(Distribution):
    """Durations in ms and how often they occur (JMX timer: a histogram and a meter). `table.x.update(ms)`."""

    kind = "timer"

    def read(self, table: MetricTable) -> dict[str, Value]:
        if self._is_unused(table):
            return {}
        histogram: Histogram = getattr(table, self.attribute)
        values: dict[str, Value] = {**histogram.read(), "LatencyUnit": "MILLISECONDS", "RateUnit": "SECONDS"}
        values.update(table.rates_of(self).read(histogram.count, table.registry.clock.monotonic_ms()))
        return values

    def tick(self, table: MetricTable, now_ms: float) -> None:
        super().tick(table, now_ms)
        histogram = table.__dict__.get(self.attribute)
        if histogram is not None:
            table.rates_of(self).tick(histogram.count, now_ms)


class Total(_IntegerRow):
    """For `attributes` tables: a running total, and the rate it gives over the last windows. `table.x += n`.

    name: the attribute with the total, or "" for none; rate: the attribute with the rate, or "" for none.
    per_s: the rate is per so many seconds, 3600 for one per hour.
    """

    kind = "total"

    def __init__(
        self,
        name: str = "",
        *,
        rate: str = "",
        per_s: float = 1.0,
        unit: str = "",
        tags: tuple[str, ...] | None = None,
        about: str = "",
    ) -> None:
        super().__init__(name, unit=unit, tags=tags, about=about)
        self.rate = rate
        self.per_s = per_s

    def read(self, table: MetricTable) -> dict[str, Value]:
        count = table.__dict__.get(self.attribute, 0)
        values: dict[str, Value] = {}
        if self.rate:
            registry = table.registry
            per_second = table.recent_rate_of(self).read(count, registry.clock.monotonic_ms(), registry.sampling)
            values[self.rate] = per_second * self.per_s
        if self.name:
            values[self.name] = count
        return values

    def tick(self, table: MetricTable, now_ms: float) -> None:
        if self.rate:
            table.recent_rate_of(self).tick(table.__dict__.get(self.attribute, 0), now_ms)


class Sampled(_ObjectRow):
    """For `attributes` tables: average and extremes of what came in the last windows. `table.x.update(n)`.

    avg, max, min, total: the attributes that show these, or "" for none; `total` is that of all time.
    """

    kind = "samples"

    def __init__(
        self,
        *,
        avg: str = "",
        max: str = "",
        min: str = "",
        total: str = "",
        unit: str = "",
        tags: tuple[str, ...] | None = None,
        about: str = "",
    ) -> None:
        super().__init__(avg or max or min or total, unit=unit, tags=tags, about=about)
        self.avg = avg
        self.max = max
        self.min = min
        self.total = total

    def _make(self, table: MetricTable) -> Samples:
        return Samples(table.registry.sampling.past)

    @overload
    def __get__(self, table: None, owner: type) -> Self: ...
    @overload
    def __get__(self, table: MetricTable, owner: type) -> Samples: ...
    def __get__(self, table: MetricTable | None, owner: type) -> Self | Samples:
        return self if table is None else self._of(table)

    def read(self, table: MetricTable) -> dict[str, Value]:
        samples: Samples = getattr(table, self.attribute)
        values: dict[str, Value] = {}
        if self.avg:
            values[self.avg] = samples.average
        if self.max:
            values[self.max] = samples.greatest
        if self.min:
            values[self.min] = samples.least
        if self.total:
            values[self.total] = samples.total
        return values
