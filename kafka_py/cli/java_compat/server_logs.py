"""The log files of a broker: server.log, controller.log, state-change.log and the rest, and the console.

`set_up` reads the file that KAFKA_LOG4J_OPTS names, or else config/log4j.properties of a checkout. Files are
written where LOG_DIR says, and only when it is set (`-daemon` sets it); without it all goes to the console.
Lines look as those of Apache Kafka's broker. A file that cannot be written is reported once and costs nothing else.
Source: docs/reference/tools.md, sections 22 and 24.
"""

from __future__ import annotations

import logging
import logging.handlers
import os
import shlex
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kafka_py.base.errors import ConfigError
from kafka_py.base.properties import read_properties
from kafka_py.broker.settings import loggers
from kafka_py.cli.java_compat.log4j import (
    MILLISECONDS,
    Appender,
    Logger,
    LoggingConfig,
    line_format,
    parse_logging,
    strftime_of,
)

LOGS_DIR = "kafka.logs.dir"
CONFIGURATION = "log4j.configuration"
_UNKNOWN = -1
_FILES = ("file", "rolling", "daily")
_LEVEL_WORDS = {logging.WARNING: "WARN", logging.CRITICAL: "FATAL"}

FALLBACK = {
    "log4j.rootLogger": "INFO, stdout, server",
    "log4j.appender.stdout": "ConsoleAppender",
    "log4j.appender.server": "DailyRollingFileAppender",
    "log4j.appender.server.File": f"${{{LOGS_DIR}}}/server.log",
    "log4j.appender.server.DatePattern": "'.'yyyy-MM-dd-HH",
    "log4j.logger.org.apache.zookeeper": "WARN",
}
"""What holds where no file is named and there is none: for a broker that was installed, not checked out."""

SHIPPED = Path(__file__).resolve().parents[3] / "config" / "log4j.properties"


class BrokerLine(logging.Formatter):
    """A record as a line of Apache Kafka's broker: its level words, its logger names, `[Controller id=0] ` in front."""

    def __init__(self, pattern: str) -> None:
        super().__init__()
        self._format = line_format(pattern)
        self._broker_id: Callable[[], int] = lambda: _UNKNOWN
        self._known: dict[str, tuple[str, str]] = {}

    def set_broker(self, broker_id: Callable[[], int]) -> None:
        """Where the broker's number is found, which some lines begin with; below 0 while it has none."""
        self._broker_id = broker_id

    def format(self, record: logging.LogRecord) -> str:
        name, prefix = self._known.get(record.name) or self._learn(record.name)
        message = record.getMessage()
        if prefix and not message.startswith("[") and self._broker_id() >= 0:
            message = prefix.format(self._broker_id()) + message
        fields = {**record.__dict__, "message": message, "name": name, "date": self._date(record)}
        fields["level"] = _LEVEL_WORDS.get(record.levelno, record.levelname)
        line = self._format.template.format_map(fields)
        if record.exc_info and not record.exc_text:
            record.exc_text = self.formatException(record.exc_info)
        return f"{line}\n{record.exc_text}" if record.exc_text else line

    def _learn(self, ours: str) -> tuple[str, str]:
        name = loggers.classic_name(ours)
        known = self._known[ours] = name, "" if name == ours else loggers.prefix_of(name)
        return known

    def _date(self, record: logging.LogRecord) -> str:
        text = time.strftime(self._format.date, time.localtime(record.created))
        return text.replace(MILLISECONDS, f"{int(record.msecs):03d}")


class _Patient:
    """A handler that says once that it cannot write, and says so again only after it could."""

    _has_failed = False
    _is_reported = False

    def emit(self, record: logging.LogRecord) -> None:
        self._has_failed = False
        try:
            super().emit(record)  # type: ignore[misc]
        except OSError:  # FileHandler opens its file outside of its own guard
            self.handleError(record)
        if not self._has_failed:
            self._is_reported = False

    def handleError(self, record: logging.LogRecord) -> None:
        self._has_failed = True
        if self._is_reported:
            return
        self._is_reported = True
        where = getattr(self, "baseFilename", "the console")
        try:
            sys.stderr.write(f"log4j:ERROR {where} cannot be written: {sys.exc_info()[1]!r}\n")
        except (OSError, ValueError):
            pass  # there is nowhere left to report it


class Console(_Patient, logging.StreamHandler[Any]):
    """Standard output or error."""


class PlainFile(_Patient, logging.FileHandler):
    """A file that grows."""


class RollingFile(_Patient, logging.handlers.RotatingFileHandler):
    """A file that is renamed to `name.1` and so on when it is full."""


class DatedFile(_Patient, logging.FileHandler):
    """A file that gets the date in its name when its period is over: server.log becomes server.log.2021-01-01-10.

    date_format: for strftime; its finest letter is the period.
    """

    def __init__(self, path: str, date_format: str, *, mode: str = "a") -> None:
        self._date_format = date_format
        try:
            written_s = os.stat(path).st_mtime
        except OSError:
            written_s = time.time()
        self._minute = -1
        self._suffix = self._suffix_at(written_s)
        super().__init__(path, mode, encoding="utf-8", delay=True)

    def _suffix_at(self, seconds: float) -> str:
        return time.strftime(self._date_format, time.localtime(seconds))

    def emit(self, record: logging.LogRecord) -> None:
        minute = int(record.created // 60)
        if minute != self._minute:
            self._minute = minute
            suffix = self._suffix_at(record.created)
            if suffix != self._suffix:
                self._roll()
                self._suffix = suffix
        super().emit(record)

    def _roll(self) -> None:
        """Another broker that writes the same file may have done it already."""
        if self.stream is not None:
            self.stream.close()
            self.stream = None  # opened again by the next line, as FileHandler does it with delay
        target = self.baseFilename + self._suffix
        try:
            if not os.path.exists(target):
                os.rename(self.baseFilename, target)
        except OSError:
            pass  # the same file is continued


def java_options(environment: Mapping[str, str]) -> dict[str, str]:
    """The `-Dname=value` options of KAFKA_LOG4J_OPTS and KAFKA_OPTS; the latter win."""
    found = {}
    for name in ("KAFKA_LOG4J_OPTS", "KAFKA_OPTS"):
        try:
            words = shlex.split(environment.get(name, ""))
        except ValueError:
            continue
        for word in words:
            key, equals, value = word.removeprefix("-D").partition("=")
            if word.startswith("-D") and equals:
                found[key] = value
    return found


def log_directory(environment: Mapping[str, str]) -> str | None:
    """Where log files go; None for nowhere."""
    return java_options(environment).get(LOGS_DIR) or environment.get("LOG_DIR") or None


def read_configuration(environment: Mapping[str, str]) -> LoggingConfig:
    """The logging that the environment asks for. A file that cannot be read is a complaint, and FALLBACK holds."""
    options = java_options(environment)
    directory = log_directory(environment)
    variables = {**options, **({LOGS_DIR: directory} if directory else {})}
    path = options.get(CONFIGURATION) or (str(SHIPPED) if SHIPPED.exists() else "")
    complaints = []
    properties: Mapping[str, str] = FALLBACK
    if path:
        try:
            properties = read_properties(path.removeprefix("file:").replace("//", "/"))
        except ConfigError as error:
            complaints.append(error.detail)
    config = parse_logging(properties, variables)
    config.complaints = complaints + config.complaints
    if directory is None:
        _leave_out_files(config, properties)
    return config


def _leave_out_files(config: LoggingConfig, properties: Mapping[str, str]) -> None:
    """Files that would lie in the log directory are not written: their loggers' lines join those of the root.

    They keep their level only where it is no louder than the root's, for they were not meant for the console.
    """
    in_directory = {
        name
        for name, appender in config.appenders.items()
        if appender.kind in _FILES and f"${{{LOGS_DIR}}}" in properties.get(f"log4j.appender.{name}.File", "")
    }
    root = config.loggers.setdefault("", Logger(level=logging.INFO))
    for logger in config.loggers.values():
        kept = [name for name in logger.appenders if name not in in_directory]
        if logger is not root and kept != logger.appenders and not kept:
            logger.additive = True
            logger.level = max(logger.level, root.level) if logger.level else logger.level
        logger.appenders = kept
    for name in in_directory:
        del config.appenders[name]


class ServerLogs:
    """The handlers that are in place."""

    def __init__(self, handlers: Mapping[str, logging.Handler]) -> None:
        self.handlers = dict(handlers)

    def set_broker(self, broker_id: Callable[[], int]) -> None:
        """Where the broker's number is found; below 0 while it has none."""
        for handler in self.handlers.values():
            if isinstance(handler.formatter, BrokerLine):
                handler.formatter.set_broker(broker_id)


def set_up(environment: Mapping[str, str]) -> ServerLogs:
    """Puts the logging of a broker process in place, in this process's one tree of loggers."""
    loggers.link()
    config = read_configuration(environment)
    handlers: dict[str, logging.Handler] = {}
    for name, appender in config.appenders.items():
        try:
            made = _handler(appender)
        except OSError as error:
            config.complaints.append(f"appender {name} is left out: {error}")
            continue
        made.setFormatter(BrokerLine(appender.pattern))
        made.setLevel(appender.threshold)
        handlers[name] = made
    for name, row in config.loggers.items():
        logger = logging.getLogger(name or None)
        for known in list(logger.handlers):
            logger.removeHandler(known)
        for appender_name in row.appenders:
            if appender_name in handlers:
                logger.addHandler(handlers[appender_name])
        logger.propagate = row.additive
        if row.level:
            logger.setLevel(row.level)
    if "" not in config.loggers:
        logging.getLogger().setLevel(logging.INFO)
    for complaint in config.complaints:
        print(f"log4j:WARN {complaint}", file=sys.stderr)
    return ServerLogs(handlers)


def _handler(appender: Appender) -> logging.Handler:
    """Raises OSError when the file's folder cannot be made or the file not be opened."""
    mode = "a" if appender.append else "w"
    if appender.kind in _FILES:
        Path(appender.file).parent.mkdir(parents=True, exist_ok=True)
        Path(appender.file).open("ab").close()
    match appender.kind:
        case "console":
            return Console(sys.stderr if appender.target == "System.err" else sys.stdout)
        case "file":
            return PlainFile(appender.file, mode, encoding="utf-8", delay=True)
        case "rolling":
            return RollingFile(
                appender.file, mode, appender.max_bytes, appender.backups, encoding="utf-8", delay=True
            )
        case "daily":
            return DatedFile(appender.file, strftime_of(appender.date_pattern), mode=mode)
    return logging.NullHandler()
