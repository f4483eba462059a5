"""Log lines of a decision as values; executor.py logs them under the name of the deciding module."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from kafka_py.controller.decisions.plan import Step


class LogLevel(IntEnum):
    """Log levels, as the logging module numbers them."""

    INFO = 20
    WARNING = 30
    ERROR = 40


@dataclass(frozen=True, slots=True)
class LogLine(Step[None]):
    """One log line. source: the logger's name. text, arguments: as logging formats them. error: with its traceback."""

    source: str
    level: LogLevel
    text: str
    arguments: tuple[object, ...] = ()
    error: BaseException | None = None

    def __str__(self) -> str:
        return self.text % self.arguments if self.arguments else self.text


class LogLines:
    """Makes the log lines of one module."""

    def __init__(self, source: str) -> None:
        self._source = source

    def info(self, text: str, *arguments: object) -> LogLine:
        return LogLine(self._source, LogLevel.INFO, text, arguments)

    def warning(self, text: str, *arguments: object) -> LogLine:
        return LogLine(self._source, LogLevel.WARNING, text, arguments)

    def error(self, text: str, *arguments: object, error: BaseException | None = None) -> LogLine:
        """error: an unexpected one, which is logged with its traceback."""
        return LogLine(self._source, LogLevel.ERROR, text, arguments, error)
