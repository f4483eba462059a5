"""Logging configuration in the format of log4j 1."""

import logging
import time

import pytest

from kafka_py.base.properties import parse_properties, read_properties
from kafka_py.broker.settings.loggers import OFF, TRACE
from kafka_py.cli.java_compat.log4j import ISO8601, MILLISECONDS, LineFormat, line_format, parse_logging, strftime_of
from kafka_py.testing.processes import ROOT

CLASSIC = """
log4j.rootLogger=INFO, stdout, kafkaAppender
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.Target=System.err
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.appender.kafkaAppender=org.apache.log4j.DailyRollingFileAppender
log4j.appender.kafkaAppender.DatePattern='.'yyyy-MM-dd-HH
log4j.appender.kafkaAppender.File=${kafka.logs.dir}/server.log
log4j.appender.kafkaAppender.Threshold=WARN
log4j.appender.rolling=org.apache.log4j.RollingFileAppender
log4j.appender.rolling.File=/var/log/x.log
log4j.appender.rolling.MaxFileSize=10MB
log4j.appender.rolling.MaxBackupIndex=7
log4j.logger.kafka=${kafka.level}
log4j.logger.kafka.controller=TRACE, rolling
log4j.additivity.kafka.controller=false
log4j.logger.quiet=OFF
log4j.logger.plain=INHERITED, rolling
"""


def test_a_classic_file_is_understood() -> None:
    config = parse_logging(parse_properties(CLASSIC), {"kafka.logs.dir": "/logs", "kafka.level": "DEBUG"})
    assert config.complaints == []
    assert config.loggers[""].appenders == ["stdout", "kafkaAppender"]
    assert config.loggers[""].level == logging.INFO
    assert config.loggers["kafka"].level == logging.DEBUG
    controller = config.loggers["kafka.controller"]
    assert (controller.level, controller.appenders, controller.additive) == (TRACE, ["rolling"], False)
    assert config.loggers["quiet"].level == OFF
    assert (config.loggers["plain"].level, config.loggers["plain"].additive) == (logging.NOTSET, True)
    daily, rolling = config.appenders["kafkaAppender"], config.appenders["rolling"]
    assert (daily.kind, daily.file, daily.threshold) == ("daily", "/logs/server.log", logging.WARNING)
    assert (rolling.kind, rolling.max_bytes, rolling.backups) == ("rolling", 10 << 20, 7)
    assert config.appenders["stdout"].target == "System.err"


def test_what_is_not_understood_is_a_complaint_and_the_rest_holds() -> None:
    config = parse_logging(
        parse_properties(
            "log4j.rootLogger=LOUD, stdout, mail, lost\n"
            "log4j.appender.stdout=org.apache.log4j.ConsoleAppender\n"
            "log4j.appender.mail=org.apache.log4j.net.SMTPAppender\n"
            "log4j.appender.nowhere=org.apache.log4j.FileAppender\n"
        ),
        {},
    )
    assert config.loggers[""].appenders == ["stdout"]
    assert [line.split(" ")[0:2] for line in config.complaints] == [
        ["LOUD", "of"],
        ["appender", "mail"],
        ["appender", "nowhere"],
        ["logger", "root"],
    ]


def test_variables_that_name_each_other_in_a_circle_end() -> None:
    parse_logging({"log4j.rootLogger": "${a}", "a": "${b}", "b": "${a}"}, {})


def test_the_file_that_is_shipped_names_every_log_of_a_broker() -> None:
    config = parse_logging(read_properties(ROOT / "config" / "log4j.properties"), {"kafka.logs.dir": "/l"})
    assert config.complaints == []
    assert {appender.file for appender in config.appenders.values()} == {
        "", "/l/server.log", "/l/controller.log", "/l/state-change.log", "/l/kafka-request.log",
        "/l/kafka-authorizer.log",
    }  # fmt: skip
    assert config.loggers["kafka.request.logger"].level == logging.WARNING
    assert all(not row.additive for row in config.loggers.values() if row.appenders and row is not config.loggers[""])


@pytest.mark.parametrize(
    ("java", "python"),
    [
        ("'.'yyyy-MM-dd-HH", ".%Y-%m-%d-%H"),
        ("'.'yyyy-MM-dd", ".%Y-%m-%d"),
        ("HH:mm:ss.SSS", f"%H:%M:%S.{MILLISECONDS}"),
        ("'100%'yyyy", "100%%%Y"),
    ],
)
def test_java_dates_in_strftimes_letters(java: str, python: str) -> None:
    assert strftime_of(java) == python
    time.strftime(python)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("[%d] %p %m (%c)%n", LineFormat("[{date}] {level} {message} ({name})", ISO8601)),
        (
            "%d{ISO8601} %-5p [%t] {%c} 100%% %m%n",
            LineFormat("{date} {level:<5} [{threadName}] {{{name}}} 100% {message}", ISO8601),
        ),
        ("%d{HH:mm} %20.30c{1}: %m %x", LineFormat("{date} {name:>20}: {message} ", "%H:%M")),
        ("%d{ABSOLUTE} %m", LineFormat("{date} {message}", f"%H:%M:%S,{MILLISECONDS}")),
    ],
)
def test_conversion_patterns(pattern: str, expected: LineFormat) -> None:
    assert line_format(pattern) == expected
