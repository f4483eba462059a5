"""Regular expressions as users type them, parsed into a tree of plain values.

The part of Python's syntax that an automaton can search for in linear time: characters, `.`, classes, groups,
alternatives, repetitions with bounds, `^`, `$` and a leading `(?i)`. Look-around, back-references and word boundaries
are refused with their position.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

MOST_PATTERN_CHARACTERS = 300
MOST_REPETITIONS = 100
DEEPEST_PATTERN_GROUPS = 20
UNBOUNDED = -1


class InvalidPattern(ValueError):
    """A pattern that is malformed, too large, or uses what cannot be searched for in linear time."""


class CharacterSet(NamedTuple):
    """One character: of the ranges (first, last; inclusive), or, negated, of none of them."""

    ranges: tuple[tuple[str, str], ...]
    negated: bool = False

    def holds(self, forms: Iterable[str]) -> bool:
        """Whether it is the character, given in the forms that count as the same."""
        return any(first <= form <= last for form in forms for first, last in self.ranges) is not self.negated


class Succession(NamedTuple):
    """One part after the other."""

    parts: tuple[PatternNode, ...]


class Alternatives(NamedTuple):
    """Any one of the parts."""

    parts: tuple[PatternNode, ...]


class Repetition(NamedTuple):
    """A part `least` to `most` times; `most` may be UNBOUNDED."""

    part: PatternNode
    least: int
    most: int


class TextStart(NamedTuple):
    """The start of the text."""


class TextEnd(NamedTuple):
    """The end of the text."""


PatternNode = CharacterSet | Succession | Alternatives | Repetition | TextStart | TextEnd


class ParsedPattern(NamedTuple):
    """A tree, and whether upper and lower case are the same."""

    tree: PatternNode
    ignores_case: bool


ANY = CharacterSet((("\n", "\n"),), negated=True)
_DIGITS = (("0", "9"),)
_WORD = (("0", "9"), ("A", "Z"), ("_", "_"), ("a", "z"))
_SPACE = ((" ", " "), ("\t", "\r"))
_CLASSES = {"d": _DIGITS, "w": _WORD, "s": _SPACE}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_HEX_DIGITS = {"x": 2, "u": 4}


def parse_pattern(text: str) -> ParsedPattern:
    """The tree of a pattern. Raises InvalidPattern."""
    if len(text) > MOST_PATTERN_CHARACTERS:
        raise InvalidPattern(f"the pattern has {len(text)} characters, at most {MOST_PATTERN_CHARACTERS} are taken")
    ignores_case = text.startswith("(?i)")
    parser = _PatternParser(text, 4 if ignores_case else 0)
    tree = parser.alternatives(0)
    if parser.position < len(text):
        raise parser.refusal("a closing parenthesis has no opening one")
    return ParsedPattern(tree, ignores_case)


class _PatternParser:
    def __init__(self, text: str, position: int) -> None:
        self.text = text
        self.position = position

    def refusal(self, reason: str) -> InvalidPattern:
        return InvalidPattern(f"{reason}, at character {self.position + 1} of the pattern")

    def peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def take(self, token: str) -> bool:
        if not self.text.startswith(token, self.position):
            return False
        self.position += len(token)
        return True

    def alternatives(self, depth: int) -> PatternNode:
        if depth > DEEPEST_PATTERN_GROUPS:
            raise self.refusal("groups are nested too deeply")
        parts = [self.sequence(depth)]
        while self.take("|"):
            parts.append(self.sequence(depth))
        return parts[0] if len(parts) == 1 else Alternatives(tuple(parts))

    def sequence(self, depth: int) -> PatternNode:
        parts: list[PatternNode] = []
        while self.peek() not in ("", "|", ")"):
            parts.append(self.repeated(self.atom(depth)))
        return parts[0] if len(parts) == 1 else Succession(tuple(parts))

    def atom(self, depth: int) -> PatternNode:
        if self.take("("):
            return self.group(depth)
        if self.take("["):
            return self.character_class()
        if self.take("\\"):
            return self.escape()
        for token, node in ((".", ANY), ("^", TextStart()), ("$", TextEnd())):
            if self.take(token):
                return node
        if self.peek() in "*+?":
            raise self.refusal("there is nothing to repeat")
        character = self.peek()
        self.position += 1
        return _one(character)

    def group(self, depth: int) -> PatternNode:
        if self.take("?P<"):
            end = self.text.find(">", self.position)
            if end < 0:
                raise self.refusal("the name of a group has no end")
            self.position = end + 1
        elif self.peek() == "?" and not self.take("?:"):
            raise self.refusal("look-around and other extensions are not searched for")
        node = self.alternatives(depth + 1)
        if not self.take(")"):
            raise self.refusal("a group has no closing parenthesis")
        return node

    def repeated(self, node: PatternNode) -> PatternNode:
        least, most = 1, 1
        if self.take("*"):
            least, most = 0, UNBOUNDED
        elif self.take("+"):
            least, most = 1, UNBOUNDED
        elif self.take("?"):
            least, most = 0, 1
        elif (bounds := self.bounds()) is not None:
            least, most = bounds
        else:
            return node
        if isinstance(node, TextStart | TextEnd):
            raise self.refusal("an anchor cannot be repeated")
        self.take("?")  # lazy or not, the same texts match
        if self.peek() in ("*", "+", "?") and self.peek():
            raise self.refusal("a repetition is repeated")
        return Repetition(node, least, most)

    def bounds(self) -> tuple[int, int] | None:
        """`{m}`, `{m,}`, `{,n}` or `{m,n}`; None where the brace stands for itself."""
        end = self.text.find("}", self.position)
        if self.peek() != "{" or end < 0:
            return None
        least, comma, most = self.text[self.position + 1 : end].partition(",")
        if not all(part == "" or (part.isascii() and part.isdecimal()) for part in (least, most)) or not least + most:
            return None
        self.position = end + 1
        low = int(least or 0) if len(least) < 5 else MOST_REPETITIONS + 1
        high = low if not comma else UNBOUNDED if not most else int(most) if len(most) < 5 else MOST_REPETITIONS + 1
        if low > MOST_REPETITIONS or high > MOST_REPETITIONS:
            raise self.refusal(f"a part is repeated more than {MOST_REPETITIONS} times")
        if high != UNBOUNDED and high < low:
            raise self.refusal("the bounds of a repetition are the wrong way round")
        return low, high

    def escape(self) -> CharacterSet:
        letter = self.peek()
        if not letter:
            raise self.refusal("the pattern ends with a backslash")
        self.position += 1
        if letter.lower() in _CLASSES:
            return CharacterSet(_CLASSES[letter.lower()], negated=letter.isupper())
        if letter in _HEX_DIGITS:
            digits = self.text[self.position : self.position + _HEX_DIGITS[letter]]
            if len(digits) < _HEX_DIGITS[letter] or not set(digits) <= set("0123456789abcdefABCDEF"):
                raise self.refusal(f"\\{letter} needs {_HEX_DIGITS[letter]} hexadecimal digits")
            self.position += len(digits)
            return _one(chr(int(digits, 16)))
        if letter in _CONTROLS:
            return _one(_CONTROLS[letter])
        if letter.isascii() and letter.isalnum():
            raise self.refusal(f"\\{letter} is not searched for")
        return _one(letter)

    def character_class(self) -> CharacterSet:
        negated = self.take("^")
        ranges: list[tuple[str, str]] = []
        first = True
        while first or self.peek() != "]":
            first = False
            if not self.peek():
                raise self.refusal("a character class has no end")
            low = self.class_member()
            if len(low.ranges) > 1 or low.negated or low.ranges[0][0] != low.ranges[0][1]:
                ranges += _outside(low.ranges) if low.negated else low.ranges
                continue
            start = end = low.ranges[0][0]
            if self.peek() == "-" and self.text[self.position + 1 : self.position + 2] not in ("]", ""):
                self.position += 1
                high = self.class_member()
                end = high.ranges[0][1]
                if len(high.ranges) > 1 or high.negated or end < start:
                    raise self.refusal("a range of characters is the wrong way round")
            ranges.append((start, end))
        self.position += 1
        return CharacterSet(tuple(ranges), negated)

    def class_member(self) -> CharacterSet:
        if self.take("\\"):
            return self.escape()
        character = self.peek()
        self.position += 1
        return _one(character)


def _one(character: str) -> CharacterSet:
    return CharacterSet(((character, character),))


def _outside(ranges: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    """All characters that the ranges, which are in order, leave out."""
    found, start = [], 0
    for first, last in ranges:
        if start < ord(first):
            found.append((chr(start), chr(ord(first) - 1)))
        start = ord(last) + 1
    return [*found, (chr(start), chr(0x10FFFF))]
