"""Searches for a regular expression in time linear in the text, whatever the pattern: an automaton, made while it runs.

Python's `re` may take exponential time for a pattern such as `(a+)+$`, and cannot be stopped while it does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kafka_py.manager.messages.matching.pattern_syntax import (
    UNBOUNDED,
    Alternatives,
    CharacterSet,
    InvalidPattern,
    PatternNode,
    Repetition,
    Succession,
    TextEnd,
    TextStart,
    parse_pattern,
)

MOST_AUTOMATON_NODES = 1_000
MOST_KEPT_STATES = 500
MOST_WORK = 300_000
"""Nodes looked at while states are made, in one search: some tens of milliseconds at the very most."""


class PatternTooCostly(Exception):
    """A search that was ended because the pattern made too many states of this text."""


class _AutomatonNode(NamedTuple):
    """One position in the pattern: reads a character, is an anchor, or (neither) only leads on."""

    reads: CharacterSet | None
    anchor: type[TextStart] | type[TextEnd] | None
    next: tuple[int, ...]


class _AutomatonState:
    """A set of nodes that read, as one state; `moves` is filled as characters come."""

    __slots__ = ("matched", "matched_at_end", "moves", "nodes")

    def __init__(self, nodes: tuple[int, ...], matched: bool, matched_at_end: bool) -> None:
        self.nodes = nodes
        self.matched = matched
        self.matched_at_end = matched_at_end
        self.moves: dict[str, _AutomatonState] = {}


class SafePattern:
    """A pattern to search with. Raises InvalidPattern."""

    def __init__(self, text: str) -> None:
        parsed = parse_pattern(text)
        self.text = text
        self._ignores_case = parsed.ignores_case
        self._nodes: list[_AutomatonNode] = [_AutomatonNode(None, None, ())]  # node 0: the match
        self._start = self._compile(parsed.tree, 0)
        self._work = 0
        self._states: dict[tuple[int, ...], _AutomatonState] = {}
        self._first = self._state_of([self._start], at_start=True)

    def found_in(self, text: str) -> bool:
        """Whether some part of the text matches. Raises PatternTooCostly."""
        self._work = 0
        state = self._first
        last = len(text) - 1
        for position, character in enumerate(text):
            if state.matched:
                return True
            if position == last and character == "\n" and state.matched_at_end:
                return True  # as in Python, `$` is also in front of a last line end
            state = state.moves.get(character) or self._move(state, character)
        return state.matched or state.matched_at_end

    # ---- the automaton

    def _compile(self, node: PatternNode, then: int) -> int:
        """The number of the first node of those that read `node` and lead to `then`."""
        match node:
            case CharacterSet():
                return self._add(_AutomatonNode(node, None, (then,)))
            case TextStart() | TextEnd():
                return self._add(_AutomatonNode(None, type(node), (then,)))
            case Succession(parts):
                for part in reversed(parts):
                    then = self._compile(part, then)
                return then
            case Alternatives(parts):
                return self._add(_AutomatonNode(None, None, tuple(self._compile(part, then) for part in parts)))
            case Repetition(part, least, most):
                return self._compile_repetition(part, least, most, then)

    def _compile_repetition(self, part: PatternNode, least: int, most: int, then: int) -> int:
        if most == UNBOUNDED:
            loop = self._add(_AutomatonNode(None, None, ()))
            self._nodes[loop] = _AutomatonNode(None, None, (self._compile(part, loop), then))
            then = loop
        else:
            end = then
            for _ in range(most - least):
                then = self._add(_AutomatonNode(None, None, (self._compile(part, then), end)))
        for _ in range(least):
            then = self._compile(part, then)
        return then

    def _add(self, node: _AutomatonNode) -> int:
        if len(self._nodes) >= MOST_AUTOMATON_NODES:
            raise InvalidPattern(f"with its repetitions the pattern has more than {MOST_AUTOMATON_NODES} parts")
        self._nodes.append(node)
        return len(self._nodes) - 1

    def _move(self, state: _AutomatonState, character: str) -> _AutomatonState:
        self._work += len(state.nodes) + 1
        if self._work > MOST_WORK:
            raise PatternTooCostly(f"the pattern {self.text!r} takes too long to search for in this text")
        forms: tuple[str, ...] = (character,)
        if self._ignores_case:
            forms = tuple(form for form in (character, character.lower(), character.upper()) if len(form) == 1)
        reached = [
            self._nodes[number].next[0]
            for number in state.nodes
            if self._nodes[number].reads.holds(forms)  # type: ignore[union-attr]
        ]
        moved = self._state_of([*reached, self._start], at_start=False)
        if len(state.moves) < MOST_KEPT_STATES:
            state.moves[character] = moved
        return moved

    def _state_of(self, numbers: Iterable[int], *, at_start: bool) -> _AutomatonState:
        reading, matched, _ = self._led_to(numbers, at_start=at_start, at_end=False)
        self._work += len(reading)
        _, matched_at_end, _ = self._led_to(numbers, at_start=at_start, at_end=True)
        key = (*reading, -1 if matched else -2, -1 if matched_at_end else -2)
        state = self._states.get(key)
        if state is None:
            if len(self._states) >= MOST_KEPT_STATES:
                self._states.clear()
            state = self._states[key] = _AutomatonState(reading, matched, matched_at_end)
        return state

    def _led_to(self, numbers: Iterable[int], *, at_start: bool, at_end: bool) -> tuple[tuple[int, ...], bool, int]:
        """The reading nodes that these lead to without a character, and whether the match is among them."""
        seen: set[int] = set()
        waiting = list(numbers)
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            node = self._nodes[number]
            if node.reads is None and (
                node.anchor is None or (at_start if node.anchor is TextStart else at_end)
            ):  # fmt: skip
                waiting += node.next
        self._work += len(seen)
        reading = tuple(sorted(number for number in seen if self._nodes[number].reads is not None))
        return reading, 0 in seen, len(seen)
