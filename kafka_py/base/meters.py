"""Engine of the metric tables: counted by plain integers on the loop, named as Kafka's JMX beans.

A table is a class of rows; an instance measures one thing (the broker, a topic, a partition) and is dropped with it:

    class TopicMetrics(MetricTable, group="kafka.server:type=BrokerTopicMetrics"):
        bytes_in = Rate("BytesInPerSec", unit="bytes", tags=("topic",), about="Appended by producers, as compressed.")

    metrics = TopicMetrics(registry, topic="t")
    metrics.bytes_in += 512

On the hot path a Rate or Counter is an int in the instance's own `__dict__`, and exists from its first use; all that
takes time (moving averages, percentiles) happens when someone ticks or reads the registry.
Knows no metric by name, and no output format. How histograms and averages are computed: histograms.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar, overload

from kafka_py.base.clock import Clock
from kafka_py.base.histograms import EventRates, Histogram, Samples

TICK_MS = 5_000
"""How often `MetricRegistry.tick` wants to be called; the moving averages are defined by it."""

Value = int | float | str | bool
_PLAIN = re.compile(r"[\w\-%. \t]*")

R = TypeVar("R", bound="Row")


class Row:
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
        """Every five seconds: move the averages on."""


class _IntegerRow(Row):
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
    """A number that only grows, or goes up and down. `table.x += 1`."""

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


class Gauge(Row):
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


class _ObjectRow(Row):
    """A row whose values go to an object of its own, made on first use."""

    def __init__(self, name: str, make: Callable[[], Any], **described: Any) -> None:
        super().__init__(name, **described)
        self._make = make

    def _of(self, table: MetricTable) -> Any:
        made = table.__dict__[self.attribute] = self._make()
        return made

    def _is_unused(self, table: MetricTable) -> bool:
        """Of things that come in numbers (tagged) those without a value yet are not shown."""
        return bool(table.tags) and self.attribute not in table.__dict__

    def tick(self, table: MetricTable, now_ms: float) -> None:
        measured = table.__dict__.get(self.attribute)
        if measured is not None:
            measured.tick(now_ms)


class Distribution(_ObjectRow):
    """How a number is spread (JMX histogram: Count, Min, Max, Mean, StdDev, percentiles). `table.x.update(n)`."""

    kind = "histogram"

    def __init__(self, name: str, *, unit: str = "", tags: tuple[str, ...] | None = None, about: str = "") -> None:
        super().__init__(name, Histogram, unit=unit, tags=tags, about=about)

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
    """For `attributes` tables: a running total, and the rate it gives over the last half minute. `table.x += n`.

    name: the attribute with the total, or "" for none; rate: the attribute with the rate per second, or "" for none.
    """

    kind = "total"

    def __init__(
        self, name: str = "", *, rate: str = "", unit: str = "", tags: tuple[str, ...] | None = None, about: str = ""
    ) -> None:
        super().__init__(name, unit=unit, tags=tags, about=about)
        self.rate = rate

    def read(self, table: MetricTable) -> dict[str, Value]:
        count = table.__dict__.get(self.attribute, 0)
        values: dict[str, Value] = {}
        if self.rate:
            values[self.rate] = table.rates_of(self).window_rate(count, table.registry.clock.monotonic_ms())
        if self.name:
            values[self.name] = count
        return values

    def tick(self, table: MetricTable, now_ms: float) -> None:
        if self.rate:
            table.rates_of(self).tick(table.__dict__.get(self.attribute, 0), now_ms)


class Sampled(_ObjectRow):
    """For `attributes` tables: average and greatest of what came in the last half minute. `table.x.update(n)`."""

    kind = "samples"

    def __init__(
        self, *, avg: str = "", max: str = "", unit: str = "", tags: tuple[str, ...] | None = None, about: str = ""
    ) -> None:
        super().__init__(avg or max, Samples, unit=unit, tags=tags, about=about)
        self.avg = avg
        self.max = max

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
        return values


class Reading(NamedTuple):
    """One JMX bean: its object name, its attributes, and what they came from (no row: a bean of many attributes)."""

    mbean: str
    attributes: dict[str, Value]
    group: str
    tags: dict[str, str]
    row: Row | None


class MetricTable:
    """The metrics of one thing. Subclass with rows; `group` is the JMX domain and type.

    group: as in "kafka.server:type=BrokerTopicMetrics". attributes: False makes each row a bean of its own with
        `name=` in its object name (Kafka's yammer metrics), True makes the rows attributes of one bean.
    tags: of the rows that name none themselves.
    An instance without tags has every row; one with tags has the rows whose tags are exactly these.
    """

    GROUP: ClassVar[str] = ""
    ONE_BEAN: ClassVar[bool] = False
    ROWS: ClassVar[dict[str, Row]] = {}
    _rows_by_tags: ClassVar[dict[tuple[str, ...], tuple[Row, ...]]] = {}

    def __init_subclass__(
        cls, group: str = "", attributes: bool | None = None, tags: tuple[str, ...] = (), **kwargs: object
    ) -> None:
        super().__init_subclass__(**kwargs)
        cls.GROUP = group or cls.GROUP
        cls.ONE_BEAN = cls.ONE_BEAN if attributes is None else attributes
        cls.ROWS = {
            **cls.ROWS,
            **{attribute: row for attribute, row in vars(cls).items() if isinstance(row, Row)},
        }
        for row in cls.ROWS.values():
            row.tags = tags if row.tags is None else row.tags
        cls._rows_by_tags = {}

    def __init__(self, registry: MetricRegistry, owner: object = None, **tags: str) -> None:
        self.registry = registry
        self.owner = owner
        self.tags = tags
        self.created_ms = registry.clock.monotonic_ms()
        registry.add(self)

    def rows(self) -> tuple[Row, ...]:
        """The rows that this instance has."""
        names = tuple(self.tags)
        found = self._rows_by_tags.get(names)
        if found is None:
            found = tuple(row for row in self.ROWS.values() if not names or set(row.tags or ()) == set(names))
            self._rows_by_tags[names] = found
        return found

    def how_many(self) -> int:
        """How many metrics these are."""
        return len(self.rows())

    def rates_of(self, row: Row) -> EventRates:
        """The averages of one row, kept apart from the integer that the hot path counts."""
        rates: dict[Row, EventRates] = self.__dict__.setdefault("_rates", {})
        found = rates.get(row)
        if found is None:
            found = rates[row] = EventRates(self.created_ms)
        return found

    def settle(self) -> None:
        """What was only noted down on the hot path is counted now; called before a tick and before a reading."""

    def tick(self, now_ms: float) -> None:
        self.settle()
        for row in self.rows():
            row.tick(self, now_ms)

    def read(self) -> Iterator[Reading]:
        """The beans of this table, each with the values it has now."""
        self.settle()
        if self.ONE_BEAN:
            attributes: dict[str, Value] = {}
            for row in self.rows():
                attributes.update(row.read(self))
            yield Reading(mbean_name(self.GROUP, "", self.tags), attributes, self.GROUP, self.tags, None)
            return
        for row in self.rows():
            values = row.read(self)
            if values:
                yield Reading(mbean_name(self.GROUP, row.name, self.tags), values, self.GROUP, self.tags, row)

    def close(self) -> None:
        """The measured thing is gone: so are its metrics."""
        self.registry.remove(self)


class Fleet(MetricTable):
    """Gauges of many things of one kind, such as partitions: nothing is kept per thing, all is asked for when read.

    The rows are Gauges with `of=`; `tags` of the class are the names whose values tell the things apart.
    things: the things there are now, each with the values of its tags in that order.
    """

    TAGS: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, tags: tuple[str, ...] = (), **kwargs: Any) -> None:
        super().__init_subclass__(tags=tags, **kwargs)
        cls.TAGS = tags

    def __init__(self, registry: MetricRegistry, things: Callable[[], Iterable[tuple[Sequence[str], Any]]]) -> None:
        super().__init__(registry)
        self.things = things

    def how_many(self) -> int:
        return sum(1 for _ in self.things()) * len(self.ROWS)

    def gauges(self) -> list[Gauge]:
        """The rows."""
        return [row for row in self.ROWS.values() if isinstance(row, Gauge)]

    def tick(self, now_ms: float) -> None:
        pass

    def read(self) -> Iterator[Reading]:
        gauges = self.gauges()
        for values, thing in self.things():
            tags = dict(zip(self.TAGS, values, strict=True))
            for row in gauges:
                assert row.of is not None
                mbean = mbean_name(self.GROUP, row.name, tags)
                yield Reading(mbean, {"Value": row.of(thing)}, self.GROUP, tags, row)


class MetricRegistry:
    """All tables that measure something now. One per broker, handed in, so that many brokers fit in one process."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._tables: dict[MetricTable, None] = {}

    def add(self, table: MetricTable) -> None:
        self._tables[table] = None

    def remove(self, table: MetricTable) -> None:
        """Forget a table; one that is not there is no error."""
        self._tables.pop(table, None)

    def tables(self) -> list[MetricTable]:
        return list(self._tables)

    def count(self, *, one_bean: bool) -> int:
        """How many metrics there are: beans of their own, or attributes of shared beans."""
        return sum(table.how_many() for table in self._tables if table.ONE_BEAN is one_bean)

    def settle(self) -> None:
        """Has all tables count what they only noted down; that may bring new tables about."""
        for table in self.tables():
            table.settle()

    def tick(self) -> None:
        """Move all averages on; to be called every TICK_MS."""
        for _ in self.ticking():
            pass

    def ticking(self) -> Iterator[None]:
        """`tick` table by table, for those who have something else to do in between."""
        now_ms = self.clock.monotonic_ms()
        for table in self.tables():
            table.tick(now_ms)
            yield

    def read(self) -> Iterator[Reading]:
        """Every bean with its present values."""
        self.settle()
        for table in self.tables():
            yield from table.read()


def mbean_name(group: str, name: str, tags: dict[str, str]) -> str:
    """The JMX object name, `kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec,topic=t`; no empty tags."""
    parts = [group]
    if name:
        parts.append(f"name={name}")
    parts += [f"{key}={quote_value(value)}" for key, value in tags.items() if value]
    return ",".join(parts)


def quote_value(value: str) -> str:
    """A tag's value as JMX allows it: quoted when it holds more than letters, digits, `_-%.`, blanks and tabs."""
    if _PLAIN.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("*", "\\*").replace("?", "\\?")
    return '"' + escaped.replace("\n", "\\n") + '"'
