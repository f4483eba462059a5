"""What a decision has to say to the log, as values; executor.py logs it under the name of the deciding module."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from kafka_py.controller.decisions.plan import Step


class Level(IntEnum):
    """As the logging module numbers them."""

    INFO = 20
    WARNING = 30
    ERROR = 40


@dataclass(frozen=True, slots=True)
class Note(Step[None]):
    """One line for the log. source: the logger. text, arguments: as logging formats them. error: shown as well."""

    source: str
    level: Level
    text: str
    arguments: tuple[object, ...] = ()
    error: BaseException | None = None

    def __str__(self) -> str:
        return self.text % self.arguments if self.arguments else self.text


class Notes:
    """The notes of one module."""

    def __init__(self, source: str) -> None:
        self._source = source

    def info(self, text: str, *arguments: object) -> Note:
        return Note(self._source, Level.INFO, text, arguments)

    def warning(self, text: str, *arguments: object) -> Note:
        return Note(self._source, Level.WARNING, text, arguments)

    def error(self, text: str, *arguments: object, error: BaseException | None = None) -> Note:
        """error: unforeseen, to be logged with its traceback."""
        return Note(self._source, Level.ERROR, text, arguments, error)
