"""What happened in a cluster: leaders, in-sync sets, brokers, topics, settings, groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlencode

from kafka_py.manager.history.metrics import Belongs
from kafka_py.manager.history.queries import EventQuery
from kafka_py.manager.history.timeline import ClusterEvent, EventKind, ValueChange
from kafka_py.manager.pages.history import history_of, history_path, problem_of
from kafka_py.manager.web.answers import Page
from kafka_py.manager.web.formats import part
from kafka_py.manager.web.requests import PageRequest
from kafka_py.manager.web.routes import CLUSTER, RouteParameter, reads

MOST_EVENTS = 500

_HISTORIES = {"broker": Belongs.BROKER, "topic": Belongs.TOPIC, "partit": Belongs.TOPIC, "group": Belongs.GROUP}


class EventRow(NamedTuple):
    """One event. path: of the history of its subject, empty without one."""

    id: int
    time_ms: int
    kind: EventKind
    subject: str
    changes: list[ValueChange]
    path: str


@dataclass(frozen=True, slots=True)
class TimelinePage:
    """Events, newest first. older: the path of those before them, empty at the end."""

    events: list[EventRow]
    kinds: list[str]
    kind: str
    subject: str
    older: str = ""
    is_on: bool = True
    problem: str = ""


async def timeline(request: PageRequest) -> Page:
    """The events of a cluster that fit."""
    service = history_of(request)
    kinds = [each.value for each in EventKind]
    kind = request.choice("kind", ["", *kinds], "")
    subject = request.text("subject", "")
    if service is None:
        return Page("timeline/list.html", TimelinePage([], kinds, kind, subject, is_on=False), "Timeline")
    limit = request.number("size", 50, least=1, greatest=MOST_EVENTS)
    before = request.number("before", 0)
    cluster = request.cluster.name
    query = EventQuery(
        cluster, request.number("start", 0), request.number("end", (1 << 62)),
        (EventKind(kind),) if kind else (), subject, limit + 1, before or None,
    )  # fmt: skip
    found = await service.store.events(query)
    rows = [_row(cluster, number, event) for number, event in found[:limit]]
    older = ""
    if len(found) > limit:
        fields = {"kind": kind, "subject": subject, "size": limit, "before": rows[-1].id}
        older = f"/clusters/{part(cluster)}/timeline?{urlencode(fields)}"
    problem = problem_of(service.collector(cluster))
    return Page("timeline/list.html", TimelinePage(rows, kinds, kind, subject, older, True, problem), "Timeline")


def _row(cluster: str, number: int, event: ClusterEvent) -> EventRow:
    return EventRow(number, event.time_ms, event.kind, event.subject, list(event.changes), _path(cluster, event))


def _path(cluster: str, event: ClusterEvent) -> str:
    """The charts of what the event is about, as far as there are any."""
    about, _, name = event.subject.partition(":")
    if event.kind is EventKind.SETTINGS_CHANGED:
        return history_path(cluster, Belongs(about), name) if name else ""
    if event.kind in (EventKind.LEADERS_CHANGED, EventKind.ISR_CHANGED, EventKind.REPLICAS_CHANGED):
        return history_path(cluster, Belongs.TOPIC, event.subject)
    found = next((kind for begin, kind in _HISTORIES.items() if event.kind.value.startswith(begin)), None)
    return "" if found is None else history_path(cluster, found, event.subject)


ROUTES = (
    reads(
        f"{CLUSTER}/timeline", timeline, "What happened in a cluster, newest first.", TimelinePage,
        RouteParameter("kind", f"Only these: one of {', '.join(EventKind)}."),
        RouteParameter("subject", "Part of the name of a broker, topic, group or resource."),
        RouteParameter("start", "Milliseconds since the epoch.", "integer"),
        RouteParameter("end", "Milliseconds since the epoch.", "integer"),
        RouteParameter("before", "Only events after this one in the list.", "integer"),
        RouteParameter("size", "How many.", "integer"),
        menu="Timeline",
    ),
)  # fmt: skip
