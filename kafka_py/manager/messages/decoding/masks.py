"""Rules that hide parts of messages, applied before anything is searched, shown, sent or exported.

A rule that names a path into a document hides the whole field where that is no object and no list (it is binary,
malformed, too large, or was asked for as text or hex): otherwise another decoder would show what the rule hides.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from kafka_py.manager.messages.decoding.documents import json_text
from kafka_py.manager.messages.matching.json_paths import InvalidPath, JsonPath, parse_path
from kafka_py.manager.messages.message import MessageField, MessageHeader, TopicMessage

MASK = "[masked]"
_PARTS = ("key", "value", "header")


class InvalidMask(ValueError):
    """Rules that cannot be used; the text says which one."""


class MaskRule(NamedTuple):
    """One rule. topics: a pattern with `*` and `?`.

    part: key, value or header. path: into the document of key or value; None for the whole field.
    header: the pattern of a header's name, in any case. keep_last: so many last characters of a text stay.
    """

    topics: str
    part: str
    path: JsonPath | None = None
    header: str = "*"
    keep_last: int = 0

    def concerns(self, topic: str) -> bool:
        return fnmatchcase(topic, self.topics)


class Masks(NamedTuple):
    """All rules."""

    rules: tuple[MaskRule, ...] = ()

    def of(self, topic: str) -> Masks:
        """The rules about one topic."""
        return Masks(tuple(rule for rule in self.rules if rule.concerns(topic)))

    def applied(self, message: TopicMessage) -> TopicMessage:
        """The message as it may leave the server."""
        for rule in self.rules:
            if rule.concerns(message.topic):
                message = _apply(rule, message)
        return message


def masks_of(tables: Sequence[Any]) -> Masks:
    """Rules from tables such as {"topics": "pay*", "value": "$.card", "keep_last": 4}, {"topics": "*", "header":
    "authorization"} or {"topics": "users", "key": True}. Raises InvalidMask.
    """
    return Masks(tuple(_rule(number, each) for number, each in enumerate(tables, 1)))


def _rule(number: int, given: Any) -> MaskRule:
    def refusal(reason: str) -> InvalidMask:
        return InvalidMask(f"masking rule {number}: {reason}")

    if not isinstance(given, dict) or not isinstance(given.get("topics"), str):
        raise refusal('it needs "topics", a pattern of names')
    unknown = set(given) - {"topics", "keep_last", *_PARTS}
    parts = [part for part in _PARTS if part in given]
    if unknown or len(parts) != 1:
        raise refusal(f'it needs exactly one of "key", "value" and "header", and knows no {sorted(unknown) or "other"}')
    keep_last = given.get("keep_last", 0)
    if not isinstance(keep_last, int) or isinstance(keep_last, bool) or keep_last < 0:
        raise refusal('"keep_last" is a number of characters')
    part, what = parts[0], given[parts[0]]
    if part == "header":
        if not isinstance(what, str) or not what:
            raise refusal('"header" is a pattern of names')
        return MaskRule(given["topics"], part, None, what.lower(), keep_last)
    if what is True:
        return MaskRule(given["topics"], part, None, "*", keep_last)
    try:
        path = parse_path(what) if isinstance(what, str) else None
    except InvalidPath as error:
        raise refusal(str(error)) from None
    if path is None:
        raise refusal(f'"{part}" is true or a JSON path')
    return MaskRule(given["topics"], part, path if path.steps else None, "*", keep_last)


def _apply(rule: MaskRule, message: TopicMessage) -> TopicMessage:
    if rule.part == "key":
        return message._replace(key=_masked(rule, message.key))
    if rule.part == "value":
        return message._replace(value=_masked(rule, message.value))
    headers: Sequence[MessageHeader] = [
        MessageHeader(header.name, _masked(rule, header.field))
        if fnmatchcase(header.name.lower(), rule.header)
        else header
        for header in message.headers
    ]
    return message._replace(headers=tuple(headers))


def _masked(rule: MaskRule, field: MessageField) -> MessageField:
    if field.kind == "null":
        return field
    if rule.path is None or not isinstance(field.document, dict | list):
        kept = rule.keep_last if rule.path is None and field.kind == "text" and not field.is_cut else 0
        return MessageField("masked", _hidden(field.text, kept), field.size)
    document = rule.path.replaced(field.document, lambda value: _hidden(value, rule.keep_last))
    if document == field.document and not rule.path.values(field.document):
        return field if field.kind != "json" else field._replace(text=json_text(field.document))
    return field._replace(document=document, text=json_text(document), problem=None)


def _hidden(value: Any, keep_last: int) -> str:
    """The mask, with the end of a text that is at least twice as long as what is kept of it."""
    text = value if isinstance(value, str) else str(value) if isinstance(value, int) else ""
    return MASK + text[-keep_last:] if keep_last and len(text) >= 2 * keep_last else MASK
