"""What a span needs of a request and its response: names of topics, partitions, error codes. Pure.

Messages are walked over by their declarations, up to a fixed number of elements, so that a message of very
many costs no more.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, NamedTuple

from kafka_py.broker.observe.request_log import Finished
from kafka_py.wire.schema import Message, schema_of

MOST_ELEMENTS = 128
"""So many elements of a message are looked at; of more a span names no topic, because there may be others."""
MOST_CHARACTERS = 256
"""Of a name that a client chose, that of a topic too: a request may name one of any length, though none is created."""
_TOPICS = ("topics", "topic_data", "responses", "results")
_PARTITION = ("partition_index", "partition", "index")
_PARTITIONS = ("partitions", "partition_indexes")


class _FieldPlan(NamedTuple):
    """What is looked at in one struct. topic, partition: its fields, "" for none. arrays: of structs, with plans."""

    topic: str
    partition: str
    has_error: bool
    arrays: tuple[tuple[str, _FieldPlan], ...]
    numbers: tuple[str, ...]
    names: tuple[str, ...]


class TracedRequest:
    """One request in a trace. topics, partitions, errors: in the order of the messages, each once.

    is_partial: the messages had more elements than were looked at. The fields after `moments` are those of its context.
    """

    __slots__ = (
        "api_key", "client_id", "client_software", "connection_id", "correlation_id", "errors", "group", "is_partial",
        "kind", "listener", "moments", "name", "partitions", "peer", "principal", "response_bytes",
        "security_protocol", "throttle_time_ms", "topics", "version",
    )  # fmt: skip

    def __init__(self, request: Any) -> None:
        self.topics: dict[str, None] = {}
        self.partitions: dict[int, None] = {}
        self.errors: dict[int, None] = {}
        self.is_partial = False
        self.response_bytes = 0
        self.throttle_time_ms = 0
        self.group: str | None = cut(getattr(request, "group_id", None))
        self._note(request)
        self.moments: Finished
        self.name = self.kind = self.connection_id = self.listener = self.security_protocol = ""
        self.client_id: str | None = None
        self.principal: str | None = None
        self.client_software = self.peer = ("", "")
        self.api_key = self.version = self.correlation_id = 0

    def note_response(self, response: Any, size_bytes: int) -> None:
        """Takes error codes and throttle time of the response; those of one that was encoded before are not known."""
        self.response_bytes = size_bytes
        self.throttle_time_ms = getattr(response, "throttle_time_ms", 0)
        self._note(response)

    def _note(self, message: Any) -> None:
        if isinstance(message, Message) and self._walk(message, _plan_of(type(message)), MOST_ELEMENTS) < 0:
            self.is_partial = True

    def _walk(self, item: Any, plan: _FieldPlan, left: int) -> int:
        """left: how many further elements may be looked at; returned as it is after this one, negative: too many."""
        if plan.topic and (topic := getattr(item, plan.topic)):
            self.topics[topic[:MOST_CHARACTERS]] = None
        if plan.partition:
            self.partitions[getattr(item, plan.partition)] = None
        if plan.has_error and (code := item.error_code):
            self.errors[code] = None
        for name in plan.numbers:
            left = self._take(getattr(item, name), self.partitions, left)
        for name in plan.names:
            topics: dict[str, None] = {}
            left = self._take(getattr(item, name), topics, left)
            self.topics.update(dict.fromkeys(topic[:MOST_CHARACTERS] for topic in topics))
        for name, nested in plan.arrays:
            for element in getattr(item, name) or ():
                if left <= 0:
                    return -1
                left = self._walk(element, nested, left - 1)
        return left

    @staticmethod
    def _take(values: list[Any] | None, into: dict[Any, None], left: int) -> int:
        if not values or left < 0:
            return left
        into.update(dict.fromkeys(islice(values, left)))
        return left - len(values)


_known: dict[tuple[type, str], _FieldPlan] = {}


def _plan_of(cls: type[Message], array: str = "") -> _FieldPlan:
    """The plan of a class, made on first use. array: the field that holds its elements; "" for a whole message."""
    plan = _known.get((cls, array))
    if plan is None:
        plan = _known[cls, array] = _make_plan(cls, array)
    return plan


def _make_plan(cls: type[Message], array: str) -> _FieldPlan:
    fields = {field.name: field for field in schema_of(cls).fields}
    topic = next((name for name in ("topic", "topic_name") if name in fields), "")
    if not topic and array in _TOPICS and "name" in fields:
        topic = "name"
    structs, numbers, names = [], [], []
    for name, field in fields.items():
        if not field.is_array:
            continue
        if isinstance(field.element, type):
            plan = _plan_of(field.element, name)
            if any(plan):
                structs.append((name, plan))
        elif name in _PARTITIONS:
            numbers.append(name)
        elif name == "topic_names":
            names.append(name)
    partition = next((name for name in _PARTITION if array and name in fields and not fields[name].is_array), "")
    return _FieldPlan(topic, partition, "error_code" in fields, tuple(structs), tuple(numbers), tuple(names))


def cut(text: str | None) -> str | None:
    """A name that a client chose, of bounded length."""
    return text if text is None else text[:MOST_CHARACTERS]
