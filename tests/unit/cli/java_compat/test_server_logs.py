"""The log files of a broker: how lines look, which files there are, what happens when they cannot be written."""

import io
import logging
import os
import sys
import time
from pathlib import Path

import pytest

from kafka_py.cli.java_compat.server_logs import (
    BrokerLine,
    Console,
    DatedFile,
    PlainFile,
    java_options,
    log_directory,
    read_configuration,
)
from kafka_py.testing.processes import ROOT

SHIPPED = f"-Dlog4j.configuration='file:{ROOT}/config/log4j.properties'"
PATTERN = "[%d] %p %m (%c)%n"


def record(
    name: str, message: str, level: int = logging.INFO, at: float = 1609495200.5, **more: object
) -> logging.LogRecord:
    made = logging.LogRecord(name, level, __file__, 1, message, (), None)
    made.created, made.msecs = at, (at % 1) * 1000
    made.__dict__.update(more)
    return made


# ---- lines


def test_a_line_has_the_classic_brokers_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    line = BrokerLine(PATTERN)
    text = line.format(record("kafka_py.broker.server", "[KafkaServer id=0] started"))
    assert text == "[2021-01-01 10:00:00,500] INFO [KafkaServer id=0] started (kafka.server.KafkaServer)"
    assert " WARN x (kafka.log.LogManager)" in line.format(record("kafka_py.log.log_manager", "x", logging.WARNING))
    assert " FATAL x (somebody.else)" in line.format(record("somebody.else", "x", logging.CRITICAL))


def test_lines_of_the_controller_begin_with_its_id_once_that_is_known() -> None:
    ids = [-1]
    line = BrokerLine(PATTERN)
    line.set_broker(lambda: ids[0])
    made = record("kafka_py.controller.topic_changes", "New topics")
    assert "INFO New topics (" in line.format(made)
    ids[0] = 7
    assert "INFO [Controller id=7] New topics (kafka.controller.KafkaController)" in line.format(made)
    own = record("kafka_py.controller.controller", "[Controller id=7 epoch=1] says more")
    assert "[Controller id=7] [" not in line.format(own)


def test_an_exception_follows_its_line() -> None:
    try:
        raise ValueError("why")
    except ValueError:
        made = record("kafka_py.broker.requests.dispatch", "failed", logging.ERROR, exc_info=sys.exc_info())
    lines = BrokerLine(PATTERN).format(made).splitlines()
    assert lines[0].endswith("ERROR failed (kafka.server.KafkaApis)")
    assert (lines[1], lines[-1]) == ("Traceback (most recent call last):", "ValueError: why")


def test_a_percent_or_brace_in_a_message_stays() -> None:
    assert "INFO 100% {x} (a)" in BrokerLine(PATTERN).format(record("a", "100% {x}"))


# ---- files


def test_java_options_are_read_from_both_variables() -> None:
    given = {"KAFKA_LOG4J_OPTS": "-Da=1 -Db=2 -Xmx1G", "KAFKA_OPTS": "-Db=3 '-Dc=with blank'"}
    assert java_options(given) == {"a": "1", "b": "3", "c": "with blank"}
    assert java_options({"KAFKA_OPTS": "-Da='unclosed"}) == {}


def test_the_folder_of_the_logs() -> None:
    assert log_directory({}) is None
    assert log_directory({"LOG_DIR": "/a"}) == "/a"
    assert log_directory({"LOG_DIR": "/a", "KAFKA_OPTS": "-Dkafka.logs.dir=/b"}) == "/b"


def test_with_a_folder_each_log_has_its_file() -> None:
    config = read_configuration({"LOG_DIR": "/a", "KAFKA_LOG4J_OPTS": SHIPPED})
    assert config.appenders["controller"].file == "/a/controller.log"
    assert config.loggers["kafka.controller"].additive is False


def test_without_a_folder_all_lines_go_to_the_console_but_none_that_were_not_meant_for_it() -> None:
    config = read_configuration({"KAFKA_LOG4J_OPTS": SHIPPED})
    assert list(config.appenders) == ["stdout"]
    assert config.loggers[""].appenders == ["stdout"]
    assert all(row.additive for row in config.loggers.values())
    assert config.loggers["kafka.controller"].level == logging.INFO


def test_a_loud_file_is_not_loud_on_the_console(tmp_path: Path) -> None:
    own = tmp_path / "log4j.properties"
    own.write_text(
        "log4j.rootLogger=INFO, out\nlog4j.appender.out=ConsoleAppender\n"
        "log4j.appender.f=FileAppender\nlog4j.appender.f.File=${kafka.logs.dir}/c.log\n"
        "log4j.logger.kafka.controller=TRACE, f\nlog4j.additivity.kafka.controller=false\n"
        "log4j.logger.kafka.cluster=TRACE\n"
    )
    config = read_configuration({"KAFKA_LOG4J_OPTS": f"-Dlog4j.configuration=file:{own}"})
    assert config.loggers["kafka.controller"].level == logging.INFO
    assert config.loggers["kafka.cluster"].level < logging.DEBUG


def test_a_missing_configuration_is_named_and_the_console_still_works() -> None:
    config = read_configuration({"KAFKA_LOG4J_OPTS": "-Dlog4j.configuration=file:/no/such.properties"})
    assert "/no/such.properties" in config.complaints[0]
    assert config.loggers[""].appenders == ["stdout"]


def test_a_dated_file_is_renamed_when_its_hour_is_over(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    handler = DatedFile(str(path), ".%Y-%m-%d-%H")
    now = time.time()
    handler.emit(record("a", "one", at=now))
    handler.emit(record("a", "two", at=now + 3600))
    handler.close()
    assert path.read_text() == "two\n"
    rolled = tmp_path / ("server.log" + time.strftime(".%Y-%m-%d-%H", time.localtime(now)))
    assert rolled.read_text() == "one\n"


def test_a_file_left_by_an_earlier_run_keeps_the_hour_it_was_written_in(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text("old\n")
    os.utime(path, (1609495200, 1609495200))
    handler = DatedFile(str(path), ".%Y-%m-%d-%H")
    handler.emit(record("a", "new", at=time.time()))
    handler.close()
    assert path.read_text() == "new\n"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_file_that_another_broker_has_renamed_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    handler = DatedFile(str(path), ".%Y-%m-%d-%H")
    now = time.time()
    handler.emit(record("a", "one", at=now))
    theirs = tmp_path / ("server.log" + time.strftime(".%Y-%m-%d-%H", time.localtime(now)))
    theirs.write_text("theirs\n")
    handler.emit(record("a", "two", at=now + 3600))
    handler.close()
    assert theirs.read_text() == "theirs\n"
    assert path.read_text() == "one\ntwo\n"


def test_a_file_that_cannot_be_written_is_reported_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handler = PlainFile(str(tmp_path / "gone" / "server.log"), delay=True)
    for _ in range(3):
        handler.handle(record("a", "x"))
    said = capsys.readouterr().err
    assert said.count("log4j:ERROR") == 1 and "server.log" in said
    (tmp_path / "gone").mkdir()
    handler.handle(record("a", "x"))
    handler.close()
    assert (tmp_path / "gone" / "server.log").read_text() == "x\n"


def test_a_closed_console_costs_nothing_but_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    stream.close()
    handler = Console(stream)
    handler.handle(record("a", "x"))
    handler.handle(record("a", "x"))
    assert capsys.readouterr().err.count("log4j:ERROR") == 1
