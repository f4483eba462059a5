"""Logging as operators configure it: property files in the format of log4j 1, read into one value.

    log4j.rootLogger=INFO, stdout
    log4j.appender.stdout=org.apache.log4j.ConsoleAppender
    log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c)%n
    log4j.logger.kafka.controller=TRACE, controllerAppender
    log4j.additivity.kafka.controller=false

What a broker's file says is understood: console, plain, rolling and daily rolling files, thresholds, conversion
patterns, `${...}`. What is not becomes a complaint, and the rest holds. Pure; server_logs.py puts it to work.
Source: PropertyConfigurator, PatternLayout of log4j 1.2.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_py.broker.settings.loggers import LEVELS, OFF, TRACE

KINDS = {"ConsoleAppender": "console", "FileAppender": "file", "RollingFileAppender": "rolling",
         "DailyRollingFileAppender": "daily", "NullAppender": "null"}  # fmt: skip
LEVEL_WORDS = {**LEVELS, "OFF": OFF, "ALL": TRACE, "WARNING": logging.WARNING}
INHERITED = ("INHERITED", "NULL")
DEFAULT_PATTERN = "[%d] %p %m (%c)%n"
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_SIZE = re.compile(r"(\d+)\s*([KMG]?B?)", re.IGNORECASE)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass
class Appender:
    """Where lines go. file: for the file kinds. date_pattern: as Java writes dates, daily files only.

    max_bytes, backups: rolling files only. threshold: nothing below it is taken.
    """

    kind: str
    pattern: str = DEFAULT_PATTERN
    file: str = ""
    target: str = "System.out"
    date_pattern: str = "'.'yyyy-MM-dd"
    max_bytes: int = 10 << 20
    backups: int = 1
    threshold: int = logging.NOTSET
    append: bool = True


@dataclass
class Logger:
    """What one logger does. level: NOTSET for that of the logger above. additive: lines are passed to those above."""

    level: int = logging.NOTSET
    appenders: list[str] = field(default_factory=list)
    additive: bool = True


@dataclass
class LoggingConfig:
    """A whole file. loggers: by name, "" is the root. complaints: what was not understood, one line each."""

    appenders: dict[str, Appender] = field(default_factory=dict)
    loggers: dict[str, Logger] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)


def parse_logging(properties: Mapping[str, str], variables: Mapping[str, str]) -> LoggingConfig:
    """Reads a file's properties; `${name}` is looked up in `variables` first, then among the properties."""
    config = LoggingConfig()
    rows = {name: _expand(value, {**properties, **variables}) for name, value in properties.items()}
    for name, value in rows.items():
        if name in ("log4j.rootLogger", "log4j.rootCategory"):
            _read_logger(config, "", value)
        elif name.startswith(("log4j.logger.", "log4j.category.")):
            _read_logger(config, name.split(".", 2)[2], value)
        elif name.startswith("log4j.appender.") and name.count(".") == 2:
            _read_appender(config, name.removeprefix("log4j.appender."), value, rows)
    for name, value in rows.items():
        if name.startswith("log4j.additivity."):
            logger = config.loggers.setdefault(name.removeprefix("log4j.additivity."), Logger())
            logger.additive = value.strip().lower() != "false"
    _check_appenders(config)
    return config


def _expand(value: str, variables: Mapping[str, str]) -> str:
    for _ in range(8):  # values may name variables in turn; eight deep is a circle
        expanded = _VARIABLE.sub(lambda found: variables.get(found[1], ""), value)
        if expanded == value:
            break
        value = expanded
    return value


def _read_logger(config: LoggingConfig, name: str, value: str) -> None:
    level, *appenders = (word.strip() for word in value.split(","))
    logger = config.loggers.setdefault(name, Logger())
    logger.appenders = [word for word in appenders if word]
    if level and level.upper() not in INHERITED:
        logger.level = _level(config, level, f"logger {name or 'root'}")


def _level(config: LoggingConfig, word: str, whose: str) -> int:
    found = LEVEL_WORDS.get(word.strip().upper())
    if found is None:
        config.complaints.append(f"{word} of {whose} is no level; taken as DEBUG")
        return logging.DEBUG
    return found


def _read_appender(config: LoggingConfig, name: str, class_name: str, rows: Mapping[str, str]) -> None:
    kind = KINDS.get(class_name.strip().rpartition(".")[2])
    if kind is None:
        config.complaints.append(f"appender {name} is left out: there is no {class_name} here")
        return
    options = {
        option.removeprefix(f"log4j.appender.{name}.").lower(): value.strip()
        for option, value in rows.items()
        if option.startswith(f"log4j.appender.{name}.")
    }
    appender = config.appenders[name] = Appender(kind)
    appender.file = options.get("file", "")
    appender.target = options.get("target", appender.target)
    appender.date_pattern = options.get("datepattern", appender.date_pattern)
    appender.append = options.get("append", "true").lower() != "false"
    if "layout.conversionpattern" in options:
        appender.pattern = options["layout.conversionpattern"]
    if "threshold" in options:
        appender.threshold = _level(config, options["threshold"], f"appender {name}")
    if kind == "rolling":
        appender.max_bytes = _size(config, name, options.get("maxfilesize"), appender.max_bytes)
        appender.backups = _size(config, name, options.get("maxbackupindex"), appender.backups)
    if kind in ("file", "rolling", "daily") and not appender.file:
        config.complaints.append(f"appender {name} is left out: it names no file")
        del config.appenders[name]


def _size(config: LoggingConfig, name: str, text: str | None, default: int) -> int:
    if text is None:
        return default
    found = _SIZE.fullmatch(text)
    if found is None:
        config.complaints.append(f"{text} of appender {name} is no size; taken as {default}")
        return default
    return int(found[1]) * _UNITS[found[2].upper().removesuffix("B")]


def _check_appenders(config: LoggingConfig) -> None:
    for name, logger in config.loggers.items():
        for appender in list(logger.appenders):
            if appender not in config.appenders:
                logger.appenders.remove(appender)
                complaint = f"logger {name or 'root'} names the appender {appender}, which is not there"
                if not any(f"appender {appender} is left out" in known for known in config.complaints):
                    config.complaints.append(complaint)


# ---- how a line looks

_CONVERSION = re.compile(r"%(-?\d+)?(?:\.\d+)?([a-zA-Z%])(?:\{([^}]*)\})?")
_JAVA_DATES = re.compile(r"'([^']*)'|yyyy|MM|dd|HH|hh|mm|ss|SSS|a|z|Z|EEE|MMM|.", re.DOTALL)
_STRFTIME = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "hh": "%I", "mm": "%M", "ss": "%S", "a": "%p",
             "z": "%Z", "Z": "%z", "EEE": "%a", "MMM": "%b", "%": "%%"}  # fmt: skip
MILLISECONDS = "\2"
"""Stands in a date format for the three digits that strftime has not."""
ISO8601 = f"%Y-%m-%d %H:%M:%S,{MILLISECONDS}"
_NAMED_DATES = {"": ISO8601, "ISO8601": ISO8601, "ABSOLUTE": f"%H:%M:%S,{MILLISECONDS}",
                "DATE": f"%d %b %Y %H:%M:%S,{MILLISECONDS}"}  # fmt: skip
_FIELDS = {"p": "level", "m": "message", "c": "name", "C": "name", "t": "threadName", "F": "filename",
           "L": "lineno", "M": "funcName"}  # fmt: skip


def strftime_of(java: str) -> str:
    """A Java date pattern in strftime's letters, MILLISECONDS for `SSS`: `'.'yyyy-MM-dd-HH` -> `.%Y-%m-%d-%H`."""
    made = []
    for found in _JAVA_DATES.finditer(java.replace("''", "\1")):
        quoted, whole = found[1], found[0]
        if quoted is not None:
            made.append(quoted.replace("%", "%%"))
        else:
            made.append(MILLISECONDS if whole == "SSS" else _STRFTIME.get(whole, whole))
    return "".join(made).replace("\1", "'")


@dataclass
class LineFormat:
    """A conversion pattern made ready: `template` for str.format with the fields level, message, name, date and the
    attributes of a log record; `date` for strftime.
    """

    template: str
    date: str


def line_format(pattern: str) -> LineFormat:
    """Understands %d %p %m %c %t %F %L %M %n and %%, with widths and {options}; others come out as nothing."""
    date = ISO8601
    made, last = [], 0
    for found in _CONVERSION.finditer(pattern):
        made.append(_braced(pattern[last : found.start()]))
        last = found.end()
        width, letter, option = found[1] or "", found[2], found[3]
        if letter == "%":
            made.append("%")
        elif letter == "n":
            made.append("\n")
        elif letter == "d":
            named = (option or "").upper()
            date = _NAMED_DATES[named] if named in _NAMED_DATES else strftime_of(option or "")
            made.append("{date}")
        elif letter in _FIELDS:
            width = f":<{width[1:]}" if width.startswith("-") else f":>{width}" if width else ""
            made.append("{" + _FIELDS[letter] + width + "}")
        elif option is not None and letter not in "xXrl":
            made.append(_braced("{" + option + "}"))
    made.append(_braced(pattern[last:]))
    template = "".join(made)
    return LineFormat(template.removesuffix("\n"), date)


def _braced(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
