"""The messages of a topic: browsed, filtered, exported, followed live."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote

from starlette.responses import Response

from kafka_py.base.clock import Clock
from kafka_py.clients.consumer.async_consumer import AsyncConsumer
from kafka_py.manager.messages.browsing import (
    BrowsePage,
    BrowseProgress,
    BrowseRequest,
    browse,
    look_up_logs,
    spans_for,
)
from kafka_py.manager.messages.exports import MEDIA_TYPES, MOST_EXPORTED, ExportFormat, export
from kafka_py.manager.messages.message import MessageField, TopicMessage
from kafka_py.manager.messages.positions import BrowseStart, InvalidPosition, OffsetSpan, StartKind
from kafka_py.manager.messages.scanning import SCAN_CONFIGS, ScanBudget, ScanLimits
from kafka_py.manager.messages.tailing import MessageTail, TailLimits, TooManyTails
from kafka_py.manager.pages.message_parts import (
    FORM_PARAMETERS,
    PATH,
    MessagesForm,
    checked,
    form_of,
    parts_of,
)
from kafka_py.manager.web.answers import Page
from kafka_py.manager.web.requests import BadParameter, PageRequest
from kafka_py.manager.web.routes import RouteParameter, reads
from kafka_py.manager.web.streaming import StreamedAnswer

BROWSE_LIMITS = ScanLimits()
EXPORT_LIMITS = ScanLimits(records=2_000_000, size_bytes=2 * 1024**3, time_ms=10 * 60_000)
TAIL_LIMITS = TailLimits()
EXPORTED = 10_000
STOPPED = {
    "records": "so many records were looked through",
    "bytes": "so many bytes were read",
    "time": "the time for one page was over",
    "pattern": "the pattern took too long to search for",
}
"""Why a scan ended early, for readers."""


class FieldRow(NamedTuple):
    """A key, a value or the value of a header as it is shown. size: stored bytes, -1 for null."""

    kind: str
    text: str
    size: int
    is_cut: bool
    problem: str | None


class HeaderRow(NamedTuple):
    """A header of a message."""

    name: str
    field: FieldRow


class MessageRow(NamedTuple):
    """One message. timestamp: ms UTC, -1 where it has none. more_headers: those that are not shown."""

    partition: int
    offset: int
    timestamp: int
    timestamp_type: str
    key: FieldRow
    value: FieldRow
    headers: list[HeaderRow]
    more_headers: int


@dataclass(frozen=True, slots=True)
class MessagesPage:
    """Some messages. next_query: the query of the page that continues; null when all is read.

    stopped_by: records, bytes, time or pattern: what was spent before the end.
    """

    topic: str
    form: MessagesForm
    messages: list[MessageRow]
    progress: list[BrowseProgress]
    next_query: str | None
    form_query: str
    is_backward: bool
    scanned_records: int
    scanned_bytes: int
    took_ms: int
    stopped_by: str | None
    leaderless: list[int]
    problem: str = ""

    @property
    def stopped_text(self) -> str:
        return STOPPED.get(self.stopped_by or "", "")


def field_row(field: MessageField) -> FieldRow:
    """A field as a row."""
    return FieldRow(field.kind, field.text, field.size, field.is_cut, field.problem)


def message_row(message: TopicMessage) -> MessageRow:
    """A message as a row."""
    return MessageRow(
        message.partition, message.offset, message.timestamp, message.timestamp_type, field_row(message.key),
        field_row(message.value), [HeaderRow(each.name, field_row(each.field)) for each in message.headers],
        message.more_headers,
    )  # fmt: skip


def clock_of(request: PageRequest) -> Clock:
    return request.services.environment.clock


def consumer_configs(form: MessagesForm) -> dict[str, object]:
    """The settings of the consumer of one request."""
    return {**SCAN_CONFIGS, "isolation.level": form.isolation}


async def messages(request: PageRequest) -> Page:
    """Messages of the topic; a form that cannot be used is shown again with the reason."""
    topic, form = request.path["topic"], form_of(request)
    title = f"Messages of {topic}"
    try:
        start, numbers, view = checked(form, parts_of(request), topic)
        asked = BrowseRequest(topic, numbers, start, form.limit)
        async with request.cluster.consumer(**consumer_configs(form)) as consumer:
            found = await browse(consumer, asked, view, BROWSE_LIMITS, clock_of(request))
    except (BadParameter, InvalidPosition) as error:
        return Page("messages/list.html", empty_page(topic, form, str(error)), title, 400)
    return Page("messages/list.html", shown_page(topic, form, found), title)


def empty_page(topic: str, form: MessagesForm, problem: str) -> MessagesPage:
    """The page without messages."""
    return MessagesPage(topic, form, [], [], None, form.query(), False, 0, 0, 0, None, [], problem)


def shown_page(topic: str, form: MessagesForm, found: BrowsePage) -> MessagesPage:
    """The page of what was found."""
    following = None
    if found.next_places is not None:
        kind = StartKind.BEFORE if found.is_backward else StartKind.PLACES
        following = form.query(start=kind.value, at=found.next_places)
    return MessagesPage(
        topic,
        form,
        [message_row(message) for message in found.messages],
        list(found.progress),
        following,
        form.query(),
        found.is_backward,
        found.scanned_records,
        found.scanned_bytes,
        found.took_ms,
        None if found.stopped_by is None else found.stopped_by.value,
        list(found.leaderless),
    )


# ---- streams


async def _opened(request: PageRequest, form: MessagesForm) -> tuple[AsyncExitStack, AsyncConsumer]:
    """A consumer for a stream, and what closes it. Raises BadParameter when too many are open."""
    stack = AsyncExitStack()
    try:
        stack.enter_context(parts_of(request).streams.one_more())
    except TooManyTails as error:
        raise BadParameter(str(error)) from None
    try:
        consumer = await stack.enter_async_context(request.cluster.consumer(**consumer_configs(form)))
    except BaseException:
        await stack.aclose()
        raise
    return stack, consumer


async def export_messages(request: PageRequest) -> Response:
    """The messages as a file, read while it is sent."""
    topic, form = request.path["topic"], form_of(request, limit=EXPORTED, most=MOST_EXPORTED)
    kind = ExportFormat(request.choice("format", tuple(ExportFormat), ExportFormat.JSON_LINES))
    start, numbers, view = checked(form, parts_of(request), topic)
    stack, consumer = await _opened(request, form)
    try:
        spans = await _spans_to_export(consumer, topic, start, numbers, form.limit)
    except InvalidPosition as error:
        await stack.aclose()
        raise BadParameter(str(error)) from None
    except BaseException:
        await stack.aclose()
        raise
    budget = ScanBudget(EXPORT_LIMITS, clock_of(request))
    name = quote(f"{topic}.{kind}", safe="")
    return StreamedAnswer(
        export(consumer, topic, spans, view, kind, budget, most=form.limit, tells_most=not request.many("limit")),
        stack.aclose,
        media_type=MEDIA_TYPES[kind],
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{name}"},
    )


async def _spans_to_export(
    consumer: AsyncConsumer, topic: str, start: BrowseStart, numbers: tuple[int, ...], limit: int
) -> dict[int, OffsetSpan]:
    """What is exported: backward the last `limit` offsets of each partition."""
    logs = (await look_up_logs(consumer, topic, numbers)).spans
    spans = await spans_for(consumer, topic, start, logs)
    if not start.is_backward:
        return spans
    return {number: span.clipped(span.end - limit, span.end) for number, span in spans.items()}


async def tail(request: PageRequest) -> Response:
    """New messages as server-sent events: message, skipped, end."""
    topic, form = request.path["topic"], form_of(request)
    _, numbers, view = checked(form, parts_of(request), topic)
    stack, consumer = await _opened(request, form)
    try:
        logs = (await look_up_logs(consumer, topic, numbers)).spans
    except InvalidPosition as error:
        await stack.aclose()
        raise BadParameter(str(error)) from None
    except BaseException:
        await stack.aclose()
        raise
    events: AsyncIterator[bytes] = MessageTail(consumer, view, TAIL_LIMITS, clock_of(request)).events(
        topic, {number: span.end for number, span in logs.items()}
    )
    return StreamedAnswer(
        events, stack.aclose, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"}
    )


ROUTES = (
    reads(PATH, messages, "Messages of a topic.", MessagesPage, *FORM_PARAMETERS, under="Topics"),
    reads(f"{PATH}/export", export_messages, "Messages as a file: JSON lines or CSV.", MessagesPage,
          RouteParameter("format", "jsonl or csv."), *FORM_PARAMETERS, under="Topics"),
    reads(f"{PATH}/tail", tail, "New messages as server-sent events.", MessagesPage, *FORM_PARAMETERS,
          under="Topics"),
)  # fmt: skip
