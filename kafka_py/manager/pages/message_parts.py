"""What all pages about messages share: masks, Avro schemas, open streams; and the form that says what is shown.

    [messages]
    schemas = "schemas"     # a folder of Avro schemas: <id>.avsc

    [[mask]]
    topics = "payments-*"
    value = "$..card"
    keep_last = 4

Rules that cannot be used keep the manager from starting: it shows nothing rather than what was to be hidden.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from kafka_py.base.errors import ConfigError
from kafka_py.manager.messages.browsing import MessageView
from kafka_py.manager.messages.decoding.avro_schemas import NO_SCHEMAS, AvroSchemas, load_schemas
from kafka_py.manager.messages.decoding.decoders import AUTO, DECODERS, RecordDecoder
from kafka_py.manager.messages.decoding.masks import InvalidMask, Masks, masks_of
from kafka_py.manager.messages.matching.filters import FilterForm, InvalidFilter, compile_filter
from kafka_py.manager.messages.positions import (
    BrowseStart,
    InvalidPosition,
    StartKind,
    parse_partitions,
    parse_start,
)
from kafka_py.manager.messages.tailing import OpenStreams
from kafka_py.manager.services import ManagerServices
from kafka_py.manager.settings import ManagerSettings
from kafka_py.manager.web.requests import BadParameter, PageRequest
from kafka_py.manager.web.routes import CLUSTER, RouteParameter

PART = "messages"
PATH = f"{CLUSTER}/topics/{{topic}}/messages"


@dataclass(slots=True)
class MessageParts:
    """For the manager's life. streams: tails and exports that are open."""

    masks: Masks = field(default_factory=Masks)
    schemas: AvroSchemas = NO_SCHEMAS
    streams: OpenStreams = field(default_factory=OpenStreams)


@asynccontextmanager
async def message_parts(services: ManagerServices) -> AsyncIterator[None]:
    """Reads the rules and schemas of the settings. Raises ConfigError."""
    services.parts[PART] = parts_of_settings(services.settings)
    yield


def parts_of_settings(settings: ManagerSettings) -> MessageParts:
    """The rules and schemas of the settings. Raises ConfigError."""
    try:
        masks = masks_of(settings.masks)
    except InvalidMask as error:
        raise ConfigError(f"[[mask]]: {error}") from None
    section = settings.extra.get(PART, {})
    for name in section:
        if name != "schemas":
            raise ConfigError(f"[{PART}] has no setting {name}; it has schemas")
    return MessageParts(masks, _schemas(section.get("schemas")))


def _schemas(folder: object) -> AvroSchemas:
    if folder is None:
        return NO_SCHEMAS
    if not isinstance(folder, str):
        raise ConfigError("messages.schemas is the name of a folder")
    if not Path(folder).is_dir():
        raise ConfigError(f"messages.schemas: {folder} is no folder")
    try:
        return load_schemas({path.name: path.read_text(encoding="utf-8") for path in Path(folder).glob("*.avsc")})
    except (OSError, ValueError) as error:
        raise ConfigError(f"messages.schemas: {error}") from None
    except ImportError:
        raise ConfigError("messages.schemas needs the package fastavro (extra formats)") from None


def parts_of(request: PageRequest) -> MessageParts:
    """The parts of this manager."""
    parts: MessageParts = request.services.parts[PART]
    return parts


@dataclass(frozen=True, slots=True)
class MessagesForm:
    """What is asked for, as typed. start: a StartKind; at: its offset, time or places. committed: whether records of
    open and aborted transactions are left out.
    """

    partitions: str = ""
    start: str = StartKind.LATEST.value
    at: str = ""
    limit: int = 50
    key: str = ""
    value: str = ""
    header: str = ""
    pattern: bool = False
    json_path: str = ""
    json_value: str = ""
    expression: str = ""
    key_as: str = AUTO
    value_as: str = AUTO
    committed: bool = False

    def query(self, **changes: object) -> str:
        """The form as the query of an address; what is as by default is left out."""
        default = MessagesForm()
        fields = {name: changes.get(name, getattr(self, name)) for name in self.__dataclass_fields__}
        given = {name: value for name, value in fields.items() if value != getattr(default, name)}
        given |= {name: value for name, value in changes.items() if name not in fields}
        return urlencode({name: "true" if value is True else str(value) for name, value in given.items()})

    @property
    def filter(self) -> FilterForm:
        return FilterForm(
            self.key, self.value, self.header, self.pattern, self.json_path, self.json_value, self.expression
        )

    def start_at(self) -> BrowseStart:
        """Raises InvalidPosition."""
        return parse_start(self.start, self.at)

    def partition_numbers(self) -> tuple[int, ...]:
        """Raises InvalidPosition."""
        return parse_partitions(self.partitions)

    def view(self, parts: MessageParts, topic: str) -> MessageView:
        """What may be seen. Raises InvalidFilter."""
        predicate = None if self.filter.is_empty else compile_filter(self.filter)
        return MessageView(RecordDecoder(self.key_as, self.value_as, parts.schemas), parts.masks.of(topic), predicate)

    @property
    def isolation(self) -> str:
        return "read_committed" if self.committed else "read_uncommitted"


FORM_PARAMETERS = (
    RouteParameter("partitions", "Numbers and ranges such as 0,3-5; empty for all."),
    RouteParameter("start", f"Where to start: {', '.join(StartKind)}."),
    RouteParameter("at", "The offset, the time (ISO 8601, UTC), or places such as 0:120,1:7."),
    RouteParameter("limit", "How many messages.", "integer"),
    RouteParameter("key", "A part of the key, or a pattern."),
    RouteParameter("value", "A part of the value, or a pattern."),
    RouteParameter("header", "A part of a header as `name: value`, or a pattern."),
    RouteParameter("pattern", "Whether key, value and header are regular expressions.", "boolean"),
    RouteParameter("json_path", "A path into the value."),
    RouteParameter("json_value", "What the path leads to."),
    RouteParameter("expression", "An expression such as value.total > 100 and key startswith \"a\"."),
    RouteParameter("key_as", f"How keys are decoded: {', '.join(DECODERS)}."),
    RouteParameter("value_as", f"How values are decoded: {', '.join(DECODERS)}."),
    RouteParameter("committed", "Whether open and aborted transactions are left out.", "boolean"),
)


def form_of(request: PageRequest, *, limit: int = 50, most: int = 500) -> MessagesForm:
    """The form as it was sent. Raises BadParameter for what is no choice or number."""
    return MessagesForm(
        request.text("partitions", ""),
        request.choice("start", tuple(StartKind), StartKind.LATEST),
        request.text("at", ""),
        request.number("limit", limit, least=1, greatest=most),
        request.text("key", ""),
        request.text("value", ""),
        request.text("header", ""),
        request.flag("pattern"),
        request.text("json_path", ""),
        request.text("json_value", ""),
        request.text("expression", ""),
        request.choice("key_as", DECODERS, AUTO),
        request.choice("value_as", DECODERS, AUTO),
        request.flag("committed"),
    )


def checked(form: MessagesForm, parts: MessageParts, topic: str) -> tuple[BrowseStart, tuple[int, ...], MessageView]:
    """Where to start, which partitions, and what may be seen. Raises BadParameter."""
    try:
        return form.start_at(), form.partition_numbers(), form.view(parts, topic)
    except (InvalidPosition, InvalidFilter) as error:
        raise BadParameter(str(error)) from None
