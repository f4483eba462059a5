"""Engine of the metric tables: counted by plain integers on the loop, named as Kafka's JMX beans.

A table is a class of rows; an instance measures one thing (the broker, a topic, a partition) and is dropped with it:

    class TopicMetrics(MetricTable, group="kafka.server:type=BrokerTopicMetrics"):
        bytes_in = Rate("BytesInPerSec", unit="bytes", tags=("topic",), about="Appended by producers, as compressed.")

    metrics = TopicMetrics(registry, topic="t")
    metrics.bytes_in += 512

On the hot path a Rate or Counter is an int in the instance's own `__dict__`, and exists from its first use; all that
takes time (moving averages, percentiles) happens when someone ticks or reads the registry.
Knows no metric by name, and no output format. The kinds of rows: metric_rows.py. How histograms and averages are
computed: histograms.py, samples.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from kafka_py.base.clock import Clock
from kafka_py.base.histograms import EventRates
from kafka_py.base.metric_rows import Gauge, MetricRow, Value
from kafka_py.base.samples import HALF_A_MINUTE, RecentRate, Sampling

TICK_MS = 5_000
"""How often `MetricRegistry.tick` wants to be called; the moving averages are defined by it."""

_PLAIN = re.compile(r"[\w\-%. \t]*")


class Reading(NamedTuple):
    """One JMX bean: its object name, its attributes, and what they came from (no row: a bean of many attributes)."""

    mbean: str
    attributes: dict[str, Value]
    group: str
    tags: dict[str, str]
    row: MetricRow | None


class MetricTable:
    """The metrics of one thing. Subclass with rows; `group` is the JMX domain and type.

    group: as in "kafka.server:type=BrokerTopicMetrics". attributes: False makes each row a bean of its own with
        `name=` in its object name (Kafka's yammer metrics), True makes the rows attributes of one bean.
    tags: of the rows that name none themselves.
    An instance without tags has every row; one with tags has the rows whose tags are exactly these.
    """

    GROUP: ClassVar[str] = ""
    ONE_BEAN: ClassVar[bool] = False
    ROWS: ClassVar[dict[str, MetricRow]] = {}
    _rows_by_tags: ClassVar[dict[tuple[str, ...], tuple[MetricRow, ...]]] = {}

    def __init_subclass__(
        cls, group: str = "", attributes: bool | None = None, tags: tuple[str, ...] = (), **kwargs: object
    ) -> None:
        super().__init_subclass__(**kwargs)
        cls.GROUP = group or cls.GROUP
        cls.ONE_BEAN = cls.ONE_BEAN if attributes is None else attributes
        cls.ROWS = {
            **cls.ROWS,
            **{attribute: row for attribute, row in vars(cls).items() if isinstance(row, MetricRow)},
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

    def rows(self) -> tuple[MetricRow, ...]:
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

    def rates_of(self, row: MetricRow) -> EventRates:
        """The averages of one row, kept apart from the integer that the hot path counts."""
        rates: dict[MetricRow, EventRates] = self.__dict__.setdefault("_rates", {})
        found = rates.get(row)
        if found is None:
            found = rates[row] = EventRates(self.created_ms)
        return found

    def recent_rate_of(self, row: MetricRow) -> RecentRate:
        """The same for a rate over the last windows."""
        rates: dict[MetricRow, RecentRate] = self.__dict__.setdefault("_recent_rates", {})
        found = rates.get(row)
        if found is None:
            found = rates[row] = RecentRate(self.created_ms, self.registry.sampling.past)
        return found

    def settle(self) -> None:
        """What was only noted down on the hot path is counted now; called before a tick and before a reading."""

    def ticking(self) -> Iterator[None]:
        """A window is over: moves the averages on, row by row, for those who have something else to do in between."""
        self.settle()
        clock = self.registry.clock
        for row in self.rows():
            yield
            row.tick(self, clock.monotonic_ms())

    def counting(self) -> Generator[None, None, Mapping[str, Value]]:
        """Counts what a gauge would count by a look at all of very many things.

        In steps, for those who have something else to do in between. Returns the values by the attributes of their
        rows; the other rows are read one by one, as all are by those who do not call this.
        """
        yield from ()
        return {}

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
    things: the things there are now, each with the values of its tags in that order; one by one, for those who do
        something else in between. count: how many there are; None: they are counted.
    """

    TAGS: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, tags: tuple[str, ...] = (), **kwargs: Any) -> None:
        super().__init_subclass__(tags=tags, **kwargs)
        cls.TAGS = tags

    def __init__(
        self,
        registry: MetricRegistry,
        things: Callable[[], Iterable[tuple[Sequence[str], Any]]],
        count: Callable[[], int] | None = None,
    ) -> None:
        super().__init__(registry)
        self.things = things
        self._count = count

    def how_many(self) -> int:
        count = sum(1 for _ in self.things()) if self._count is None else self._count()
        return count * len(self.ROWS)

    def gauges(self) -> list[Gauge]:
        """The rows."""
        return [row for row in self.ROWS.values() if isinstance(row, Gauge)]

    def ticking(self) -> Iterator[None]:
        yield from ()

    def read(self) -> Iterator[Reading]:
        gauges = self.gauges()
        for values, thing in self.things():
            tags = dict(zip(self.TAGS, values, strict=True))
            if self.ONE_BEAN:
                attributes = {row.name: row.of(thing) for row in gauges if row.of is not None}
                yield Reading(mbean_name(self.GROUP, "", tags), attributes, self.GROUP, tags, None)
                continue
            for row in gauges:
                assert row.of is not None
                mbean = mbean_name(self.GROUP, row.name, tags)
                yield Reading(mbean, {"Value": row.of(thing)}, self.GROUP, tags, row)


class MetricRegistry:
    """All tables that measure something now. One per broker or client, handed in, so that many fit in one process.

    sampling: the windows of Total and Sampled; `tick` is to be called whenever one is over.
    """

    def __init__(self, clock: Clock, sampling: Sampling = HALF_A_MINUTE) -> None:
        self.clock = clock
        self.sampling = sampling
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
        for _ in self.settling():
            pass

    def settling(self) -> Iterator[None]:
        """`settle` table by table, for those who have something else to do in between."""
        for table in self.tables():
            table.settle()
            yield

    def tick(self) -> None:
        """Move all averages on: a window is over."""
        for table in self.tables():
            for _ in table.ticking():
                pass

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
