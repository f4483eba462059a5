"""What a handler returns: a page, or a change that can be looked at before it is made.

The model of a page is a dataclass. It is rendered by a template, or as JSON under /api; the OpenAPI description has its
fields. A change says what it would do, and the command that does the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class Page:
    """template: a file below templates/. model: a dataclass; the template has it as `model`."""

    template: str
    model: Any
    title: str = ""
    status: int = 200


class Effect(NamedTuple):
    """One thing that a change changes; empty texts for what was, or will be, nothing."""

    what: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """Something that was asked for and not done yet.

    command_line: the same with the tools, one command per line; no secrets. apply: makes the change, and returns a
    sentence that says what was done. back: the path of the page to show afterwards. is_dangerous: data may be lost.
    basis: what must be as it was shown for the change to be made; None: the command and the effects. pins: fields of
    the form that makes the change, in place of those that were sent.
    """

    summary: str
    command_line: str
    apply: Callable[[], Awaitable[str]]
    back: str
    effects: Sequence[Effect] = ()
    warnings: Sequence[str] = ()
    is_dangerous: bool = False
    basis: Sequence[object] | None = None
    pins: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """The same for a change that comes to the same."""
        basis = (self.summary, self.command_line, *self.effects) if self.basis is None else tuple(self.basis)
        return hashlib.sha256(repr(basis).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ChangeAnswer:
    """A change as JSON, and the model of its preview. is_done: false for a dry run. message: what was done."""

    summary: str
    command_line: str
    effects: list[Effect]
    warnings: list[str]
    is_dangerous: bool
    is_done: bool
    message: str


class MadeChange(NamedTuple):
    """A change that was made. back: the path of the page to show."""

    answer: ChangeAnswer
    back: str


def answer_of(change: PlannedChange, message: str | None = None) -> ChangeAnswer:
    """The change as a model; message: None for a dry run."""
    return ChangeAnswer(
        change.summary, change.command_line, list(change.effects), list(change.warnings), change.is_dangerous,
        message is not None, message or "",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class PageList:
    """Which part of a long list is shown; page counts from 1."""

    page: int
    size: int
    total: int

    @property
    def pages(self) -> int:
        return max(1, -(-self.total // self.size))

    @property
    def start(self) -> int:
        """The index of the first item shown."""
        return (min(self.page, self.pages) - 1) * self.size

    @property
    def end(self) -> int:
        """The index after the last item shown."""
        return min(self.start + self.size, self.total)


class ProblemRow(NamedTuple):
    """What could not be found out, and why; the page shows the rest."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Failure:
    """The model of an error page."""

    code: str
    message: str
    hints: list[str] = field(default_factory=list)
