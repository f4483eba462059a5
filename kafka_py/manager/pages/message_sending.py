"""A message is sent to a topic from a form."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_py.base.ids import INTERNAL_TOPICS
from kafka_py.manager.messages.producing import (
    ENCODINGS,
    InvalidInput,
    NewMessage,
    encode_field,
    line_ends,
    parse_headers,
    parse_partition,
)
from kafka_py.manager.pages.commands import command
from kafka_py.manager.pages.looks import seen
from kafka_py.manager.pages.message_parts import PATH
from kafka_py.manager.pages.topics import existing
from kafka_py.manager.web.answers import Effect, Page, PlannedChange
from kafka_py.manager.web.formats import part, size
from kafka_py.manager.web.requests import BadParameter, PageRequest
from kafka_py.manager.web.routes import RouteParameter, changes, reads
from kafka_py.operations.cluster_view.snapshot import ViewPart

PRODUCER_CONFIGS = {
    "acks": "all",
    "linger.ms": 0,
    "delivery.timeout.ms": 10_000,
    "request.timeout.ms": 5_000,
    "max.block.ms": 10_000,
    "max.request.size": 16 * 1024 * 1024,
    "buffer.memory": 16 * 1024 * 1024,
}


@dataclass(frozen=True, slots=True)
class NewMessagePage:
    """The form of a message. problem: why it cannot be sent."""

    topic: str
    partition: str = ""
    key: str = ""
    key_as: str = "text"
    value: str = ""
    value_as: str = "text"
    headers: str = ""
    problem: str = ""
    encodings: tuple[str, ...] = ENCODINGS


def raw(request: PageRequest, name: str) -> str:
    """The text of a field, blanks at its ends included; of a form with the line ends of a text."""
    values = request.many(name)
    text = values[-1] if values else ""
    return text if request.is_api else line_ends(text)


async def new_message(request: PageRequest) -> Page:
    """The form."""
    topic = request.path["topic"]
    return Page("messages/new.html", NewMessagePage(topic), f"Send a message to {topic}")


def message_of(form: NewMessagePage, partitions: int) -> NewMessage:
    """What the form asks for. Raises InvalidInput."""
    partition = parse_partition(form.partition)
    if partition is not None and partition >= partitions:
        raise InvalidInput(f"partition: the topic has {partitions}, counted from 0")
    if form.topic in INTERNAL_TOPICS:
        raise InvalidInput("Brokers keep their own records in this topic, and nothing is sent to it from here")
    return NewMessage(
        encode_field("key", form.key, form.key_as),
        encode_field("value", form.value, form.value_as),
        parse_headers(form.headers),
        partition,
    )


async def send_message(request: PageRequest) -> Page | PlannedChange:
    """Shows what would be sent, and sends it."""
    topic = request.path["topic"]
    form = NewMessagePage(
        topic, request.text("partition", ""), raw(request, "key"), request.choice("key_as", ENCODINGS, "text"),
        raw(request, "value"), request.choice("value_as", ENCODINGS, "text"), raw(request, "headers"),
    )  # fmt: skip
    info = existing(await seen(request.cluster, ViewPart.TOPICS, topics=[topic]), topic)
    try:
        message = message_of(form, len(info.partitions))
    except InvalidInput as error:
        if request.is_api:
            raise BadParameter(str(error)) from None
        refused = NewMessagePage(**{**{name: getattr(form, name) for name in form.__dataclass_fields__},
                                    "problem": str(error)})  # fmt: skip
        return Page("messages/new.html", refused, f"Send a message to {topic}", 422)

    async def apply() -> str:
        async with request.cluster.producer(**PRODUCER_CONFIGS) as producer:
            sent = await producer.send(
                topic, message.value, message.key, message.partition, headers=list(message.headers) or None
            )
            metadata = await sent
        return f"The message was sent: partition {metadata.partition}, offset {metadata.offset}"

    where = "chosen by the key" if message.partition is None else str(message.partition)
    return PlannedChange(
        f"Send a message to {topic}",
        _command_of(request, topic),
        apply,
        f"/clusters/{part(request.cluster.name)}/topics/{part(topic)}/messages",
        [
            Effect("partition", "", where),
            Effect("key", "", _size_text(message.key)),
            Effect("value", "", _size_text(message.value)),
            *(Effect(f"header {name}", "", _size_text(value)) for name, value in message.headers),
        ],
    )


def _command_of(request: PageRequest, topic: str) -> str:
    """Without the content, which the audit log is not to keep."""
    line = command(request.cluster, "kafka-console-producer.sh", "--topic", topic)
    return line.replace("--command-config", "--producer.config") + " < message.txt"


def _size_text(data: bytes | None) -> str:
    return "null" if data is None else size(len(data))


ROUTES = (
    reads(f"{PATH}/new", new_message, "The form of a message.", NewMessagePage, under="Topics", in_api=False),
    changes(
        PATH, send_message, "Sends a message.",
        RouteParameter("partition", "The partition; empty: chosen by the key."),
        RouteParameter("key", "The key."),
        RouteParameter("key_as", f"What the key is given as: {', '.join(ENCODINGS)}."),
        RouteParameter("value", "The value."),
        RouteParameter("value_as", f"What the value is given as: {', '.join(ENCODINGS)}."),
        RouteParameter("headers", "A header a line, as name: value."),
        under="Topics",
    ),
)  # fmt: skip
