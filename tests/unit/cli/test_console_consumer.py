"""Options and settings of the console consumer, and when it ends."""

import io

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.cli import console_consumer
from kafka_py.cli.common.command import CommandFailed, UsageError
from kafka_py.cli.console.message_formatters import formatter_named
from kafka_py.cli.console_consumer import Printer
from kafka_py.clients.consumer.configs import ConsumerOptions
from kafka_py.clients.consumer.fetching.records import ConsumerRecord
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
def test_the_offsets_of_a_group_that_is_named_are_committed(arguments):
    found = settings(*arguments)
    assert (found["group.id"], found.get("enable.auto.commit")) == ("g", None)
    with pytest.raises(UsageError, match="group and partition cannot be specified together"):
        settings(*arguments, "--partition", "0")


def test_a_made_up_group_commits_only_if_asked_to():
    assert settings("--consumer-property", "enable.auto.commit=true")["enable.auto.commit"] == "true"
    assert settings("--partition", "0")["group.id"].startswith("console-consumer-")


class Standing:
    """A consumer that has partitions 0 and 1 of `t`, and remembers where it was told to go and what to read."""

    def __init__(self):
        self.calls = []

    def assignment(self):
        return {TopicPartition("t", 0), TopicPartition("t", 1)}

    def seek(self, partition, offset):
        self.calls.append((str(partition), offset))

    def subscribe(self, topics=(), *, pattern=None):
        self.calls.append((list(topics), pattern and pattern.pattern))

    def assign(self, partitions):
        self.calls.append([str(each) for each in partitions])

    def partitions_for(self, topic, timeout):
        return []

    def seek_to_end(self, partitions):
        self.calls.append(("end", [str(each) for each in partitions]))


def test_a_topic_or_a_pattern_is_subscribed_to_and_a_partition_assigned(caplog):
    consumer = Standing()
    for arguments in (BASE, ["--bootstrap-server", "b:1", "--whitelist", "a|b"], [*BASE, "--partition", "1"],
                      [*BASE, "--partition", "1", "--offset", "7"]):  # fmt: skip
        console_consumer.open_source(consumer, checked(*arguments))
    assert [record.getMessage() for record in caplog.records] == ["Topic t does not exist; waiting for it"]
    assert consumer.calls == [(["t"], None), ([], "a|b"), ["t-1"], ("end", ["t-1"]), ["t-1"], ("t-1", 7)]


def test_what_was_not_printed_is_read_again_by_whoever_comes_next():
    consumer = Standing()
    unprinted = [record._replace(partition=partition, offset=offset) for record in records(b"x")
                 for partition, offset in ((1, 7), (0, 4), (1, 8), (2, 1))]  # fmt: skip
    console_consumer.rewind(consumer, unprinted)
    assert sorted(consumer.calls) == [("t-0", 4), ("t-1", 7)]


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
    assert [record.value for record in printer.unprinted] == [b"c"]


def test_or_is_left_out_if_asked_to(capsys):
    assert printed(FakeSource([b"a", b"bad", b"c"]), Picky(), limit=3, skip_errors=True) == (b"a\nc\n", 3)
    assert "skipping this message: offset 1 of t-0" in capsys.readouterr().err


def test_the_rest_of_a_poll_is_known_when_there_is_enough():
    source = FakeSource([b"a", b"b", b"c"])
    printer = Printer(formatter_named("kafka.tools.DefaultMessageFormatter", {}), io.BytesIO(), limit=1)
    printer.print_from(source)
    assert [record.value for record in printer.unprinted] == [b"b", b"c"]


class Closed(io.BytesIO):
    def write(self, data):
        raise BrokenPipeError


def test_nothing_of_a_poll_counts_as_printed_when_it_cannot_be_written():
    printer = Printer(formatter_named("kafka.tools.DefaultMessageFormatter", {}), Closed())
    with pytest.raises(BrokenPipeError):
        printer.print_from(FakeSource([b"a", b"b"]))
    assert len(printer.unprinted) == 2


def test_it_ends_without_printing_what_came_with_the_signal():
    out = io.BytesIO()
    printer = Printer(formatter_named("kafka.tools.DefaultMessageFormatter", {}), out, is_over=lambda: True)
    printer.print_from(FakeSource([b"a", b"b"]))
    assert (out.getvalue(), printer.count, len(printer.unprinted)) == (b"", 0, 2)
