"""Charts of a cluster, a broker, a topic or a group over time, and the series that they are drawn from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlencode

from kafka_py.manager.history import metrics
from kafka_py.manager.history.background import SECTION
from kafka_py.manager.history.collector import ClusterCollector
from kafka_py.manager.history.metrics import Belongs, HistoryMetric, group_topic, metric_named, parts_of_group_topic
from kafka_py.manager.history.queries import SeriesQuery
from kafka_py.manager.history.series import TrendDirection, greatest, total
from kafka_py.manager.history.service import HistoryService
from kafka_py.manager.history.settings import DAY_MS, HOUR_MS, MINUTE_MS
from kafka_py.manager.history.store import HistorySeries
from kafka_py.manager.web.answers import Page
from kafka_py.manager.web.formats import part
from kafka_py.manager.web.requests import BadParameter, NotFound, PageRequest
from kafka_py.manager.web.routes import CLUSTER, RouteParameter, reads

RANGES = {
    "15min": 15 * MINUTE_MS,
    "1h": HOUR_MS,
    "6h": 6 * HOUR_MS,
    "1d": DAY_MS,
    "3d": 3 * DAY_MS,
    "7d": 7 * DAY_MS,
}
USUAL_RANGE = "1h"
MOST_LINES = 12
"""Of one chart by partition: those with the greatest values."""
MOST_GROUPS = 20


class LineRow(NamedTuple):
    """One line of a chart. values: one per time of the series; null where nothing is known."""

    label: str
    values: list[float | None]


@dataclass(frozen=True, slots=True)
class SeriesPage:
    """One or more lines over the same times, in seconds since the epoch. trend: of the only line."""

    metric: str
    entity: str
    unit: str
    times: list[float]
    lines: list[LineRow]
    trend: TrendDirection
    change_per_second: float


class ChartRow(NamedTuple):
    """A chart. data: the path of its series as JSON; table: of the same as a page."""

    title: str
    unit: str
    data: str
    table: str


class LagRow(NamedTuple):
    """How far a group is behind, and whether that grows."""

    group: str
    lag: float
    lag_ms: float | None
    members: float | None
    trend: TrendDirection
    path: str


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """is_on: false where the manager keeps no history. problem: why there is nothing new of the cluster."""

    kind: Belongs
    name: str
    range: str
    ranges: list[str]
    charts: list[ChartRow]
    groups: list[LagRow] = field(default_factory=list)
    is_on: bool = True
    problem: str = ""


class _Chart(NamedTuple):
    title: str
    metric: HistoryMetric
    is_rate: bool = False
    by_partition: bool = False


_CHARTS = {
    Belongs.CLUSTER: (
        _Chart("Records per second", metrics.RECORDS_RATE),
        _Chart("Size of all replicas", metrics.CLUSTER_SIZE),
        _Chart("Under-replicated partitions", metrics.UNDER_REPLICATED),
        _Chart("Partitions without leader", metrics.OFFLINE),
        _Chart("Brokers", metrics.BROKERS),
        _Chart("Partitions", metrics.PARTITIONS),
    ),
    Belongs.BROKER: (
        _Chart("Records per second, of partitions it leads", metrics.BROKER_RECORDS_RATE),
        _Chart("Size of its replicas", metrics.BROKER_SIZE),
        _Chart("Partitions led", metrics.BROKER_LEADERS),
        _Chart("Replicas", metrics.BROKER_REPLICAS),
    ),
    Belongs.TOPIC: (
        _Chart("Records per second", metrics.TOPIC_END, is_rate=True),
        _Chart("Size", metrics.TOPIC_SIZE),
        _Chart("Records per second by partition", metrics.TOPIC_END, is_rate=True, by_partition=True),
        _Chart("Size by partition", metrics.TOPIC_SIZE, by_partition=True),
    ),
    Belongs.GROUP: (
        _Chart("Lag in records", metrics.GROUP_LAG),
        _Chart("Lag in time", metrics.GROUP_LAG_MS),
        _Chart("Members", metrics.GROUP_MEMBERS),
    ),
}
_OF_GROUP_TOPIC = (
    _Chart("lag by partition", metrics.LAG, by_partition=True),
    _Chart("lag in time by partition", metrics.LAG_MS, by_partition=True),
    _Chart("records consumed per second", metrics.COMMITTED, is_rate=True),
)


def history_of(request: PageRequest) -> HistoryService | None:
    """The history of the manager; None if it keeps none."""
    found = request.services.parts.get(SECTION)
    return found if isinstance(found, HistoryService) else None


def problem_of(collector: ClusterCollector | None) -> str:
    """Why there is nothing new of a cluster; empty if there is."""
    if collector is None or (collector.last is None and collector.failure is None):
        return "The cluster has not been observed yet: the first values come within a minute."
    return f"The cluster cannot be reached: {collector.failure}" if collector.failure else ""


async def show(request: PageRequest) -> Page:
    """The charts of one thing: of the cluster unless another is named."""
    kind = Belongs(request.choice("kind", [each.value for each in _CHARTS], Belongs.CLUSTER))
    name = "" if kind is Belongs.CLUSTER else request.text("name")
    chosen = request.choice("range", list(RANGES), USUAL_RANGE)
    service = history_of(request)
    cluster = request.cluster.name
    title = "History" if kind is Belongs.CLUSTER else f"History of {kind} {name}"
    if service is None:
        model = HistoryPage(kind, name, chosen, list(RANGES), [], is_on=False)
        return Page("history/charts.html", model, title)
    charts = [chart_row(cluster, each, name, chosen, each.title) for each in _CHARTS[kind]]
    groups: list[LagRow] = []
    if kind is Belongs.GROUP:
        charts += await _charts_of_group(service, cluster, name, chosen)
    if kind is Belongs.CLUSTER:
        groups = await _lagging_groups(service, cluster, chosen)
    problem = problem_of(service.collector(cluster))
    model = HistoryPage(kind, name, chosen, list(RANGES), charts, groups, True, problem)
    return Page("history/charts.html", model, title)


async def series(request: PageRequest) -> Page:
    """One series, or one line per partition."""
    service = history_of(request)
    if service is None:
        raise NotFound("The manager keeps no history")
    try:
        metric = metric_named(request.text("metric"))
    except ValueError as error:
        raise BadParameter(str(error)) from None
    now_ms = service.clock.wall_ms()
    end_ms = request.number("end", now_ms)
    start_ms = request.number("start", end_ms - RANGES[request.choice("range", list(RANGES), USUAL_RANGE)])
    if start_ms >= end_ms:
        raise BadParameter("start is before end")
    query = SeriesQuery(
        request.cluster.name, metric, _entity(request, metric), start_ms, end_ms,
        as_rate=request.flag("rate"), count=request.number("points", 300, least=2, greatest=5_000),
    )  # fmt: skip
    if request.flag("by_partition"):
        found = await service.store.by_partition(query, MOST_LINES)
        model = series_page(query, {f"partition {number}": each for number, each in found.items()})
    else:
        model = series_page(query, {metric.name: await service.store.series(query)})
    return Page("history/series.html", model, f"{metric.name} {query.entity}".replace("\0", " "))


def series_page(query: SeriesQuery, found: dict[str, HistorySeries]) -> SeriesPage:
    """The lines over the times of the first; all have the same ones."""
    points = next(iter(found.values())).points if found else []
    lines = [LineRow(label, [point.value for point in each.points]) for label, each in found.items()]
    only = next(iter(found.values())).trend if len(found) == 1 else None
    metric = query.metric
    unit = f"{metric.unit}/s" if query.as_rate else metric.unit
    times = [point.time_ms / 1000 for point in points]
    trend = TrendDirection.UNKNOWN if only is None else only.direction
    change = 0.0 if only is None else only.per_second
    return SeriesPage(metric.name, query.entity, unit, times, lines, trend, change)


def chart_row(cluster: str, chart: _Chart, entity: str, chosen: str, title: str) -> ChartRow:
    """A chart with the paths of its data."""
    fields = {"metric": chart.metric.name, "range": chosen}
    if chart.metric.of is Belongs.GROUP_TOPIC:
        fields["group"], fields["topic"] = parts_of_group_topic(entity)
    elif entity:
        fields["entity"] = entity
    if chart.is_rate:
        fields["rate"] = "true"
    if chart.by_partition:
        fields["by_partition"] = "true"
    path = f"/clusters/{part(cluster)}/history/series?{urlencode(fields)}"
    unit = f"{chart.metric.unit}/s" if chart.is_rate else chart.metric.unit
    return ChartRow(title, unit, f"/api{path}", path)


def history_path(cluster: str, kind: Belongs, name: str, chosen: str = USUAL_RANGE) -> str:
    """The path of the charts of one thing."""
    return f"/clusters/{part(cluster)}/history?{urlencode({'kind': kind.value, 'name': name, 'range': chosen})}"


def _entity(request: PageRequest, metric: HistoryMetric) -> str:
    if metric.of is Belongs.GROUP_TOPIC:
        return group_topic(request.text("group"), request.text("topic"))
    return "" if metric.of is Belongs.CLUSTER else request.text("entity")


async def _charts_of_group(service: HistoryService, cluster: str, group: str, chosen: str) -> list[ChartRow]:
    entities = await service.store.entities(cluster, metrics.LAG)
    own = [entity for entity in entities if parts_of_group_topic(entity)[0] == group]
    return [
        chart_row(cluster, chart, entity, chosen, f"{parts_of_group_topic(entity)[1]}: {chart.title}")
        for entity in own[:MOST_GROUPS]
        for chart in _OF_GROUP_TOPIC
    ]


async def _lagging_groups(service: HistoryService, cluster: str, chosen: str) -> list[LagRow]:
    """The groups with the greatest lag, with their trends."""
    store = service.store
    found = await store.latest(cluster, metrics.GROUP_LAG)
    ages = await store.latest(cluster, metrics.GROUP_LAG_MS)
    members = await store.latest(cluster, metrics.GROUP_MEMBERS)
    newest = max((row.time_ms for row in found.values()), default=0)
    lags = {group: total(row.value) or 0.0 for group, row in found.items() if row.time_ms == newest}
    rows = []
    for group in _first(sorted(lags, key=lambda each: (-lags[each], each)), MOST_GROUPS):
        end_ms = service.clock.wall_ms()
        query = SeriesQuery(cluster, metrics.GROUP_LAG, group, end_ms - RANGES[chosen], end_ms)
        trend = (await store.series(query)).trend
        age = None if group not in ages else greatest(ages[group].value)
        count = None if group not in members else total(members[group].value)
        path = history_path(cluster, Belongs.GROUP, group, chosen)
        rows.append(LagRow(group, lags[group], age, count, trend.direction, path))
    return rows


def _first(names: Iterable[str], most: int) -> list[str]:
    return list(names)[:most]


_RANGE = RouteParameter("range", f"How far back: one of {', '.join(RANGES)}.")

ROUTES = (
    reads(
        f"{CLUSTER}/history", show, "Charts of a cluster, a broker, a topic or a group.", HistoryPage,
        RouteParameter("kind", "cluster, broker, topic or group."),
        RouteParameter("name", "Of a broker its id."),
        _RANGE,
        menu="History",
    ),
    reads(
        f"{CLUSTER}/history/series", series, "Values over time.", SeriesPage,
        RouteParameter("metric", f"One of {', '.join(metrics.METRICS)}.", is_required=True),
        RouteParameter("entity", "The id of a broker, or the name of a topic or group."),
        RouteParameter("group", "Of what belongs to a topic of a group."),
        RouteParameter("topic", "Of what belongs to a topic of a group."),
        RouteParameter("rate", "How fast it grows, per second.", "boolean"),
        RouteParameter("by_partition", "One line per partition.", "boolean"),
        _RANGE,
        RouteParameter("start", "Milliseconds since the epoch, instead of a range.", "integer"),
        RouteParameter("end", "Milliseconds since the epoch.", "integer"),
        RouteParameter("points", "How many at most.", "integer"),
        under="History",
    ),
)  # fmt: skip
