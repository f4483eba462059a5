"""Option parsing by Kafka's rules."""

import io
import itertools
import logging
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from kafka_py.cli.common.command import (
    CommandFailed,
    CommandParser,
    SignalSafeHandler,
    UsageError,
    forbid_together,
    require,
    run,
)
from kafka_py.cli.common.termination import Terminated
from kafka_py.testing.interrupts import InterruptAt


def parser() -> CommandParser:
    table = CommandParser("kafka-thing.sh", "Does a thing.")
    table.option("--bootstrap-server", "Where to connect.")
    table.option("--partitions", "How many.", kind=int, metavar="Integer")
    table.repeatable("--config", "A setting.")
    table.flag("--list", "Lists.")
    table.flag("--create", "Creates.")
    return table


def test_both_spellings_of_an_argument():
    assert parser().parse(["--bootstrap-server", "a:1"]).bootstrap_server == "a:1"
    assert parser().parse(["--bootstrap-server=a:1"]).bootstrap_server == "a:1"


def test_repeatable_options_collect():
    assert parser().parse(["--config", "a=1", "--config", "b=2"]).config == ["a=1", "b=2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bootstrap", "a:1"], "bootstrap is not a recognized option"),
        (["--list", "stray"], "Unexpected argument: stray"),
        (["--bootstrap-server", "a", "--bootstrap-server", "b"], "multiple arguments for option bootstrap-server"),
        (["--partitions", "two"], "^Cannot parse argument 'two' of option partitions$"),
        (["--bootstrap-server"], "^Option bootstrap-server requires an argument$"),
    ],
)
def test_wrong_usage_is_named(arguments, message):
    with pytest.raises(UsageError, match=message):
        parser().parse(arguments)


def test_zero_counts_as_given():
    require(parser().parse(["--partitions", "0"]), "partitions")
    with pytest.raises(UsageError):
        forbid_together(parser().parse(["--partitions", "0", "--list"]), "partitions", "list")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["--list", "--help"]])
def test_help_goes_to_stderr_with_exit_1(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        parser().parse(arguments)
    assert caught.value.code == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    for word in ("--bootstrap-server", "--partitions", "--config", "--version", "Does a thing."):
        assert word in captured.err


def test_version_goes_to_stdout_with_exit_0(capsys):
    with pytest.raises(SystemExit) as caught:
        parser().parse(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("2.8.2 (Commit:")


def test_rules_between_options_use_the_classic_words():
    options = parser().parse(["--list", "--create"])
    with pytest.raises(UsageError, match=r'Missing required argument "\[bootstrap-server\]"'):
        require(options, "bootstrap-server")
    with pytest.raises(UsageError, match=r'Option "\[list\]" can\'t be used with option "\[create\]"'):
        forbid_together(options, "list", "create")


def test_an_expected_failure_is_one_line_and_exit_1(capsys, monkeypatch):
    def main(_arguments):
        raise CommandFailed("Topic 't' does not exist as expected")

    monkeypatch.setattr(sys, "argv", ["x"])
    with pytest.raises(SystemExit) as caught:
        run(main)
    assert caught.value.code == 1
    assert capsys.readouterr().err == "Error: Topic 't' does not exist as expected\n"


def test_a_command_that_a_signal_cuts_off_ends_as_the_signal_would_end_it(monkeypatch):
    def main(_arguments):
        raise Terminated(signal.SIGTERM)

    monkeypatch.setattr(sys, "argv", ["x"])
    with pytest.raises(SystemExit) as caught:
        run(main)
    assert caught.value.code == 128 + signal.SIGTERM


def moments_that_leave_the_lock_taken(kind: type[logging.StreamHandler]) -> tuple[int, int]:
    """A warning is interrupted at every moment; how many of them there were, and after how many the lock is taken."""
    taken = 0
    for moment in itertools.count(1):
        handler = kind(io.StringIO())
        assert handler.lock is not None
        logger = logging.Logger("interrupted")
        logger.addHandler(handler)
        logger.warning("the first one fills the cache of levels")
        interrupt = InterruptAt(moment, ("logging/__init__.py", "common/command.py"))
        try:
            with interrupt:
                logger.warning("a warning")
        except KeyboardInterrupt:
            pass
        with ThreadPoolExecutor(1) as other:
            taken += not other.submit(handler.lock.acquire, blocking=False).result()
        if not interrupt.came:
            return moment - 1, taken
    raise AssertionError


def test_a_signal_in_a_warning_leaves_no_lock_taken_at_which_another_thread_would_wait():
    moments, taken = moments_that_leave_the_lock_taken(SignalSafeHandler)
    assert moments > 20
    assert taken == 0
    assert moments_that_leave_the_lock_taken(logging.StreamHandler)[1] > 0  # so the test would see one


def test_only_records_that_the_filters_pass_are_written(capsys: pytest.CaptureFixture[str]):
    handler = SignalSafeHandler(sys.stderr)
    handler.addFilter(lambda record: record.levelno >= logging.WARNING)
    for level in (logging.INFO, logging.WARNING):
        handler.handle(logging.LogRecord("x", level, "", 0, "%s went", ("it",), None))
    assert capsys.readouterr().err == "it went\n"
