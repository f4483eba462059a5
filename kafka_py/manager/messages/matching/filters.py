"""What the form of the messages page asks for, as one predicate: all that is filled in has to hold.

Filters see messages after they were masked, so that nobody finds out by searching what they are not shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kafka_py.manager.messages.matching.expression_syntax import InvalidExpression
from kafka_py.manager.messages.matching.expressions import MOST_SEARCHED_CHARACTERS, Predicate, compile_expression
from kafka_py.manager.messages.matching.json_paths import InvalidPath, parse_path
from kafka_py.manager.messages.matching.pattern_syntax import InvalidPattern
from kafka_py.manager.messages.matching.patterns import SafePattern
from kafka_py.manager.messages.message import NO_DOCUMENT, TopicMessage

MOST_SEARCHED_FOR = 1_000
"""Characters of a text to search for."""


class InvalidFilter(ValueError):
    """A filter that cannot be used, with the name of the field of the form."""


class FilterForm(NamedTuple):
    """The fields of the form; empty ones ask for nothing.

    key, value, header: texts that are contained, or patterns if `is_pattern`. A header is searched as `name: value`.
    json_path: leads to something in the value; json_value: which is this, as text.
    """

    key: str = ""
    value: str = ""
    header: str = ""
    is_pattern: bool = False
    json_path: str = ""
    json_value: str = ""
    expression: str = ""

    @property
    def is_empty(self) -> bool:
        return not (self.key or self.value or self.header or self.json_path or self.expression.strip())


def compile_filter(form: FilterForm) -> Predicate:
    """The predicate. Raises InvalidFilter."""
    parts: list[Predicate] = []
    for name, text, texts in (
        ("key", form.key, _key_texts),
        ("value", form.value, _value_texts),
        ("header", form.header, _header_texts),
    ):
        if text:
            parts.append(_text_filter(name, text, texts, is_pattern=form.is_pattern))
    if form.json_path:
        parts.append(_json_filter(form.json_path, form.json_value))
    if form.expression.strip():
        try:
            parts.append(compile_expression(form.expression))
        except InvalidExpression as error:
            raise InvalidFilter(f"expression: {error}") from None
    return lambda message: all(part(message) for part in parts)


def _key_texts(message: TopicMessage) -> list[str]:
    return [message.key.text]


def _value_texts(message: TopicMessage) -> list[str]:
    return [message.value.text]


def _header_texts(message: TopicMessage) -> list[str]:
    return [f"{header.name}: {header.field.text}" for header in message.headers]


def _text_filter(name: str, text: str, texts: Callable[[TopicMessage], list[str]], *, is_pattern: bool) -> Predicate:
    if len(text) > MOST_SEARCHED_FOR:
        raise InvalidFilter(f"{name}: a text to search for has at most {MOST_SEARCHED_FOR} characters")
    if not is_pattern:
        return lambda message: any(text in each for each in texts(message))
    try:
        pattern = SafePattern(text)
    except InvalidPattern as error:
        raise InvalidFilter(f"{name}: {error}") from None
    return lambda message: any(pattern.found_in(each[:MOST_SEARCHED_CHARACTERS]) for each in texts(message))


def _json_filter(path_text: str, wanted: str) -> Predicate:
    try:
        path = parse_path(path_text)
    except InvalidPath as error:
        raise InvalidFilter(f"json_path: {error}") from None

    def holds(message: TopicMessage) -> bool:
        document = message.value.document
        if document is NO_DOCUMENT:
            return False
        found = path.values(document)
        return bool(found) if not wanted else any(scalar_text(value) == wanted for value in found)

    return holds


def scalar_text(value: object) -> str | None:
    """A value of a document as users type it; None for objects and lists."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case dict() | list():
            return None
    return str(value)
