"""Expressions that choose messages, parsed into a tree of plain values.

    value.total > 100 and not (key startswith "test-") or headers["trace"] == "on" or value matches "err(or)?"

Operators: `or`, `and`, `not`, `== != < <= > >=`, `contains`, `startswith`, `endswith`, `matches` and `in [..]`.
Operands: numbers, texts in quotes, `true`, `false`, `null`, and fields: `key`, `value`, `headers`, each alone or with a
JSON path behind it, `partition`, `offset`, `timestamp`, `key_size` and `value_size`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kafka_py.manager.messages.matching.json_paths import InvalidPath, JsonPath, parse_path

MOST_EXPRESSION_CHARACTERS = 1_000
DEEPEST_EXPRESSION = 30

DOCUMENT_FIELDS = ("key", "value", "headers")
NUMBER_FIELDS = ("partition", "offset", "timestamp", "key_size", "value_size")
COMPARISONS = ("==", "!=", "<=", ">=", "<", ">", "contains", "startswith", "endswith", "matches", "in")
CONSTANTS = {"true": True, "false": False, "null": None}

Constant = str | int | float | bool | None


class InvalidExpression(ValueError):
    """An expression that is malformed or too large."""


class FieldOperand(NamedTuple):
    """A field of the message. path: into its document; None for the field itself."""

    name: str
    path: JsonPath | None


class ConstantOperand(NamedTuple):
    """A value that is written in the expression."""

    value: Constant


class ListOperand(NamedTuple):
    """The values after `in`."""

    values: tuple[Constant, ...]


Operand = FieldOperand | ConstantOperand | ListOperand


class Comparing(NamedTuple):
    """Two operands and the operator between them."""

    left: Operand
    operator: str
    right: Operand


class Existing(NamedTuple):
    """An operand alone: whether it is there, and is neither null nor false."""

    operand: Operand


class JoinedParts(NamedTuple):
    """Parts joined by `and` (all) or `or`."""

    parts: tuple[ExpressionNode, ...]
    all: bool


class Negation(NamedTuple):
    """`not` and what follows."""

    part: ExpressionNode


ExpressionNode = Comparing | Existing | JoinedParts | Negation

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>-?\d{1,18}(?:\.\d{1,18})?(?![\w.]))
      | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<word>[A-Za-z_]\w*(?:\.\.?[\w*-]+|\[(?:-?\d{1,9}|\*|'[^']*'|"[^"]*")\])*)
      | (?P<sign>==|!=|<=|>=|<|>|\(|\)|\[|\]|,)
    )""",
    re.VERBOSE | re.ASCII,
)
"""Each alternative begins with another character and repeats nothing that repeats: it reads in one pass."""

_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


class _ExpressionToken(NamedTuple):
    kind: str
    text: str
    position: int


def parse_expression(text: str) -> ExpressionNode:
    """The tree of an expression. Raises InvalidExpression with the position."""
    if len(text) > MOST_EXPRESSION_CHARACTERS:
        raise InvalidExpression(f"the expression has more than {MOST_EXPRESSION_CHARACTERS} characters")
    parser = _ExpressionParser(_tokens(text))
    tree = parser.alternatives(0)
    if parser.peek().kind != "end":
        raise parser.refusal("an operator is missing")
    return tree


def _tokens(text: str) -> list[_ExpressionToken]:
    tokens, position = [], 0
    while text[position:].strip():
        match = _TOKEN.match(text, position)
        if match is None:
            raise InvalidExpression(f"what is written from character {position + 1} on is not understood")
        kind = match.lastgroup or ""
        tokens.append(_ExpressionToken(kind, match[kind], match.start(kind)))
        position = match.end()
    return [*tokens, _ExpressionToken("end", "", len(text))]


class _ExpressionParser:
    def __init__(self, tokens: list[_ExpressionToken]) -> None:
        self._tokens = tokens
        self._number = 0

    def peek(self) -> _ExpressionToken:
        return self._tokens[self._number]

    def next(self) -> _ExpressionToken:
        token = self._tokens[self._number]
        self._number = min(self._number + 1, len(self._tokens) - 1)
        return token

    def take(self, *texts: str) -> bool:
        if self.peek().kind in ("word", "sign") and self.peek().text in texts:
            self.next()
            return True
        return False

    def refusal(self, reason: str) -> InvalidExpression:
        return InvalidExpression(f"{reason}, at character {self.peek().position + 1} of the expression")

    def alternatives(self, depth: int) -> ExpressionNode:
        if depth > DEEPEST_EXPRESSION:
            raise self.refusal("the expression is nested too deeply")
        parts = [self.conjunction(depth)]
        while self.take("or"):
            parts.append(self.conjunction(depth))
        return parts[0] if len(parts) == 1 else JoinedParts(tuple(parts), all=False)

    def conjunction(self, depth: int) -> ExpressionNode:
        parts = [self.negation(depth)]
        while self.take("and"):
            parts.append(self.negation(depth))
        return parts[0] if len(parts) == 1 else JoinedParts(tuple(parts), all=True)

    def negation(self, depth: int) -> ExpressionNode:
        if depth > DEEPEST_EXPRESSION:
            raise self.refusal("the expression is nested too deeply")
        if self.take("not"):
            return Negation(self.negation(depth + 1))
        if self.take("("):
            tree = self.alternatives(depth + 1)
            if not self.take(")"):
                raise self.refusal("a closing parenthesis is missing")
            return tree
        return self.comparison()

    def comparison(self) -> ExpressionNode:
        left = self.operand()
        operator = self.peek().text
        if self.peek().kind not in ("word", "sign") or operator not in COMPARISONS:
            return Existing(left)
        self.next()
        right = self.listed() if operator == "in" else self.operand()
        if operator == "matches" and not (isinstance(right, ConstantOperand) and isinstance(right.value, str)):
            raise self.refusal("matches needs a pattern in quotes")
        return Comparing(left, operator, right)

    def listed(self) -> ListOperand:
        if not self.take("["):
            raise self.refusal("in needs a list in brackets")
        values: list[Constant] = []
        while not self.take("]"):
            if values and not self.take(","):
                raise self.refusal("a comma is missing in a list")
            operand = self.operand()
            if not isinstance(operand, ConstantOperand):
                raise self.refusal("a list holds numbers and texts")
            values.append(operand.value)
        return ListOperand(tuple(values))

    def operand(self) -> Operand:
        token = self.peek()
        if token.kind == "number":
            self.next()
            return ConstantOperand(float(token.text) if "." in token.text else int(token.text))
        if token.kind == "text":
            self.next()
            return ConstantOperand(_unescaped(token.text[1:-1]))
        if token.kind == "word" and token.text in CONSTANTS:
            self.next()
            return ConstantOperand(CONSTANTS[token.text])
        if token.kind == "word":
            return self.field()
        raise self.refusal("a field, a number or a text in quotes is missing")

    def field(self) -> FieldOperand:
        text = self.peek().text
        name = re.split(r"[.\[]", text, maxsplit=1)[0]
        if name not in (*DOCUMENT_FIELDS, *NUMBER_FIELDS):
            raise self.refusal(f"there is no field {name!r}")
        rest = text[len(name) :]
        if rest and name in NUMBER_FIELDS:
            raise self.refusal(f"{name} has no parts")
        try:
            path = parse_path(f"${rest}") if rest else None
        except InvalidPath as error:
            raise self.refusal(str(error)) from None
        self.next()
        return FieldOperand(name, path)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPED.get(match[1], match[1]), text, flags=re.DOTALL)
