"""Expressions over one message: nothing of what a user typed is run, and no message makes one raise.

A field stands for all values that it leads to, and a comparison holds if it holds for one of them (`!=`: if `==` holds
for none). Values of different types are never equal, above or below one another.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from kafka_py.manager.messages.matching.expression_syntax import (
    Comparing,
    ConstantOperand,
    Existing,
    ExpressionNode,
    FieldOperand,
    InvalidExpression,
    JoinedParts,
    ListOperand,
    Negation,
    Operand,
    parse_expression,
)
from kafka_py.manager.messages.matching.pattern_syntax import InvalidPattern
from kafka_py.manager.messages.matching.patterns import SafePattern
from kafka_py.manager.messages.message import NO_DOCUMENT, MessageField, TopicMessage

Predicate = Callable[[TopicMessage], bool]

MOST_SEARCHED_CHARACTERS = 65_536
"""A pattern is searched for in so much of a text."""

_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compile_expression(text: str) -> Predicate:
    """The predicate that an expression stands for. Raises InvalidExpression."""
    return _compiled(parse_expression(text))


def _compiled(node: ExpressionNode) -> Predicate:
    match node:
        case JoinedParts(parts, all=True):
            every = [_compiled(part) for part in parts]
            return lambda message: all(part(message) for part in every)
        case JoinedParts(parts):
            some = [_compiled(part) for part in parts]
            return lambda message: any(part(message) for part in some)
        case Negation(part):
            negated = _compiled(part)
            return lambda message: not negated(message)
        case Existing(operand):
            return lambda message: any(value is not None and value is not False for value in _values(operand, message))
        case Comparing():
            return _comparison(node)


def _comparison(node: Comparing) -> Predicate:
    left, right = node.left, node.right
    if node.operator == "!=":
        return lambda message: not _holds_for_one(_equal, _values(left, message), _values(right, message))
    if node.operator == "matches":
        return _search(node)
    test = _TESTS[node.operator]
    return lambda message: _holds_for_one(test, _values(left, message), _values(right, message))


def _search(node: Comparing) -> Predicate:
    assert isinstance(node.right, ConstantOperand)
    try:
        pattern = SafePattern(str(node.right.value))
    except InvalidPattern as error:
        raise InvalidExpression(str(error)) from None
    left = node.left
    return lambda message: any(
        isinstance(value, str) and pattern.found_in(value[:MOST_SEARCHED_CHARACTERS])
        for value in _values(left, message)
    )


def _holds_for_one(test: Callable[[Any, Any], bool], left: list[Any], right: list[Any]) -> bool:
    return any(test(one, other) for one in left for other in right)


# ---- the values of an operand


def _values(operand: Operand, message: TopicMessage) -> list[Any]:
    if isinstance(operand, ConstantOperand):
        return [operand.value]
    if isinstance(operand, ListOperand):
        return list(operand.values)
    return _FIELDS[operand.name](operand, message)


def _of_document(field: MessageField, operand: FieldOperand) -> list[Any]:
    if operand.path is not None:
        return [] if field.document is NO_DOCUMENT else operand.path.values(field.document)
    if field.document is NO_DOCUMENT or isinstance(field.document, dict | list | str):
        return [field.text]
    return [field.document] if field.document is None else [field.document, field.text]


def _of_headers(message: TopicMessage, operand: FieldOperand) -> list[Any]:
    if operand.path is None:
        return [f"{header.name}: {header.field.text}" for header in message.headers]
    by_name: dict[str, list[Any]] = {}
    for header in message.headers:
        by_name.setdefault(header.name, []).append(None if header.field.kind == "null" else header.field.text)
    found = operand.path.values(by_name)
    return [value for each in found for value in (each if isinstance(each, list) else [each])]


_FIELDS: dict[str, Callable[[FieldOperand, TopicMessage], list[Any]]] = {
    "key": lambda operand, message: _of_document(message.key, operand),
    "value": lambda operand, message: _of_document(message.value, operand),
    "headers": lambda operand, message: _of_headers(message, operand),
    "partition": lambda _, message: [message.partition],
    "offset": lambda _, message: [message.offset],
    "timestamp": lambda _, message: [message.timestamp],
    "key_size": lambda _, message: [message.key.size],
    "value_size": lambda _, message: [message.value.size],
}


# ---- comparisons of two values


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _equal(one: Any, other: Any) -> bool:
    if _is_number(one) and _is_number(other):
        return bool(one == other)
    return type(one) is type(other) and bool(one == other)


def _ordered(name: str) -> Callable[[Any, Any], bool]:
    compare = _ORDERS[name]

    def test(one: Any, other: Any) -> bool:
        comparable = (_is_number(one) and _is_number(other)) or (isinstance(one, str) and isinstance(other, str))
        return comparable and compare(one, other)

    return test


def _contains(one: Any, other: Any) -> bool:
    if isinstance(one, str):
        return isinstance(other, str) and other in one
    if isinstance(one, dict):
        return isinstance(other, str) and other in one
    return isinstance(one, list) and any(_equal(each, other) for each in one)


_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "==": _equal,
    "in": _equal,
    "contains": _contains,
    "startswith": lambda one, other: isinstance(one, str) and isinstance(other, str) and one.startswith(other),
    "endswith": lambda one, other: isinstance(one, str) and isinstance(other, str) and one.endswith(other),
    **{name: _ordered(name) for name in _ORDERS},
}
