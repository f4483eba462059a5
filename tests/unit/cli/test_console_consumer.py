"""Options and settings of the console consumer, and when it ends."""

import io

import pytest

from kafka_py.cli import console_consumer
from kafka_py.cli.command import CommandFailed, UsageError
from kafka_py.cli.console_consumer import Printer
from kafka_py.cli.message_formatters import formatter_named
from kafka_py.clients.consumer.configs import ConsumerOptions
from kafka_py.clients.consumer.records import ConsumerRecord
from kafka_py.records.batch import TimestampType

BASE = ["--bootstrap-server", "b:1", "--topic", "t"]


def checked(*arguments):
    options = console_consumer.parser().parse(arguments)
    console_consumer.check(options)
    return options


def settings(*arguments):
    return console_consumer.consumer_properties(checked(*BASE, *arguments))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bootstrap-server", "b:1"], "Exactly one of --whitelist/--topic"),
        ([*BASE, "--whitelist", "t.*"], "Exactly one of --whitelist/--topic"),
        (["--topic", "t"], r'Missing required argument "\[bootstrap-server\]"'),
        (["--bootstrap-server", "b:1", "--whitelist", "t", "--partition", "0"], "topic is required when partition"),
        ([*BASE, "--offset", "1"], "partition is required when offset"),
        ([*BASE, "--partition", "0", "--offset", "1", "--from-beginning"], "from-beginning and offset"),
        ([*BASE, "--partition", "0", "--offset", "-1"], "offset value '-1' is incorrect"),
        ([*BASE, "--partition", "0", "--offset", "soon"], "offset value 'soon' is incorrect"),
        ([*BASE, "--partition", "0", "--group", "g"], "group and partition"),
        ([*BASE, "--isolation-level", "dirty"], "dirty"),
        ([*BASE, "--max-messages", "many"], "many"),
    ],
)
def test_contradictions_are_wrong_usage(arguments, message):
    with pytest.raises(UsageError, match=message):
        checked(*arguments)


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        ([], "latest"),
        (["--from-beginning"], "earliest"),
        (["--offset", "12"], 12),
        (["--offset", "Earliest"], "earliest"),
    ],
)
def test_where_a_partition_starts(arguments, start):
    assert console_consumer.start_of(checked(*BASE, "--partition", "0", *arguments)) == start


def test_defaults_without_a_group():
    found = settings()
    assert found["auto.offset.reset"] == "latest" and found["isolation.level"] == "read_uncommitted"
    assert found["enable.auto.commit"] == "false" and found["group.id"].startswith("console-consumer-")
    assert ConsumerOptions.parse(found).unknown == []


def test_property_then_file(tmp_path):
    file = tmp_path / "consumer.properties"
    file.write_text("auto.offset.reset=earliest\nclient.id=file\nbootstrap.servers=other:1\nmax.poll.records=7\n")
    found = settings("--consumer.config", str(file), "--consumer-property", "client.id=property")
    assert (found["client.id"], found["auto.offset.reset"]) == ("property", "earliest")
    assert (found["bootstrap.servers"], found["max.poll.records"]) == ("b:1", "7")


def test_from_beginning_contradicts_another_reset():
    assert settings("--from-beginning")["auto.offset.reset"] == "earliest"
    assert settings("--from-beginning", "--consumer-property", "auto.offset.reset=earliest")
    with pytest.raises(UsageError, match=r"auto\.offset\.reset=latest"):
        settings("--from-beginning", "--consumer-property", "auto.offset.reset=latest")


def test_an_isolation_level_that_is_given_wins():
    property_ = ["--consumer-property", "isolation.level=read_committed"]
    assert settings(*property_)["isolation.level"] == "read_committed"
    assert settings(*property_, "--isolation-level", "read_uncommitted")["isolation.level"] == "read_uncommitted"


def test_group_ids_must_agree():
    with pytest.raises(UsageError, match="Detected group ids: 'a', 'b'"):
        settings("--group", "a", "--consumer-property", "group.id=b")


@pytest.mark.parametrize("arguments", [["--group", "g"], ["--consumer-property", "group.id=g"]])
def test_a_group_that_cannot_be_joined_is_one_clear_line(arguments):
    with pytest.raises(CommandFailed, match="no consumer groups yet"):
        settings(*arguments)


def test_deserializer_options_win_over_properties():
    options = checked(*BASE, "--property", "key.deserializer=a", "--property", "print.key=true", "--property",
                      "key.separator==", "--key-deserializer", "b")  # fmt: skip
    assert console_consumer.formatter_properties(options) == {
        "key.deserializer": "b", "print.key": "true", "key.separator": "=",
    }  # fmt: skip


def records(*values):
    return [
        ConsumerRecord("t", 0, offset, 0, TimestampType.CREATE_TIME, -1, len(value), None, value, (), 0)
        for offset, value in enumerate(values)
    ]


class FakeSource:
    """Gives its polls one after another; then nothing, while a clock goes on by what poll may wait."""

    def __init__(self, *polls):
        self.polls = list(polls)
        self.now = 0.0

    def poll(self, timeout_s):
        if self.polls:
            return records(*self.polls.pop(0))
        self.now += timeout_s or 0.001
        return []


def printed(source, formatter=None, **how):
    out = io.BytesIO()
    formatter = formatter or formatter_named("kafka.tools.DefaultMessageFormatter", {})
    printer = Printer(formatter, out, now=lambda: source.now, **how)
    try:
        printer.print_from(source)
    finally:
        assert out.getvalue().count(b"\n") <= printer.count
    return out.getvalue(), printer.count


def test_max_messages_ends_it_in_the_middle_of_a_poll():
    assert printed(FakeSource([b"a"], [b"b", b"c", b"d"]), limit=3) == (b"a\nb\nc\n", 3)
    assert printed(FakeSource([b"a"]), limit=0) == (b"", 0)


def test_it_ends_when_no_record_came_for_so_long(capsys):
    source = FakeSource([b"a"], [], [b"b"])
    assert printed(source, timeout_s=2.5) == (b"a\nb\n", 2)
    assert 2.5 <= source.now < 2.6
    assert "No record came for 2.5 s" in capsys.readouterr().err


class Picky:
    """A formatter that cannot show `bad`."""

    def format(self, record):
        if record.value == b"bad":
            raise ValueError("cannot be shown")
        return record.value + b"\n"


def test_a_record_that_cannot_be_printed_ends_it_after_those_before():
    source = FakeSource([b"a", b"bad", b"c"])
    out = io.BytesIO()
    printer = Printer(Picky(), out, now=lambda: source.now)
    with pytest.raises(CommandFailed, match="offset 1 of t-0 cannot be printed: cannot be shown"):
        printer.print_from(source)
    assert (out.getvalue(), printer.count) == (b"a\n", 2)


def test_or_is_left_out_if_asked_to(capsys):
    assert printed(FakeSource([b"a", b"bad", b"c"]), Picky(), limit=3, skip_errors=True) == (b"a\nc\n", 3)
    assert "skipping this message: offset 1 of t-0" in capsys.readouterr().err
