"""The figures of the two performance tests, and their options."""

import math
import re

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.cli.common.command import CommandFailed, UsageError
from kafka_py.cli.java_compat.java_dates import DatePattern
from kafka_py.cli.perf import consumer_perf_test, producer_perf_test
from kafka_py.cli.perf.metric_table import Metric, metric_lines, metrics_of
from kafka_py.cli.perf.producer_perf_test import Latencies, throttled
from kafka_py.clients.consumer.configs import ConsumerOptions
from kafka_py.clients.errors import AuthenticationError
from kafka_py.clients.metrics import MetricName

PRODUCE = ["--topic", "t", "--num-records", "10", "--throughput", "-1", "--producer-props", "bootstrap.servers=b:1"]
CONSUME = ["--topic", "t", "--messages", "10", "--bootstrap-server", "b:1"]


class Clock:
    def __init__(self):
        self.ms = 1000.0

    def __call__(self):
        return self.ms

    def sleep(self, seconds):
        self.ms += seconds * 1000


def test_metric_lines_are_aligned_and_sorted():
    metrics = [Metric("g", "long-name", {"client-id": "c", "topic": "t"}, 1.5), Metric("g", "a", {}, "text")]
    width = len("g:long-name:{client-id=c, topic=t}")
    assert list(metric_lines(metrics)) == [
        "",
        "Metric Name".ljust(width) + "   Value",
        "g:a:{}".ljust(width) + " : text",
        "g:long-name:{client-id=c, topic=t} : 1.500",
    ]
    assert list(metric_lines([])) == []


# The producer's


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--topic", "t"], "required"),
        ([*PRODUCE], "--record-size --payload-file"),
        ([*PRODUCE, "--record-size", "1", "--payload-file", "f"], "not allowed with"),
        ([*PRODUCE[:6], "--record-size", "1"], "Either --producer-props or --producer.config"),
        ([*PRODUCE, "--record-size", "x"], "invalid int value"),
        ([*PRODUCE, "noequals", "--record-size", "1"], "Invalid property: noequals"),
        ([*PRODUCE, "--record-size", "1", "--bogus"], "--bogus"),
        ([*PRODUCE, "--record-size", "-1"], "negative"),
        (["--topic", "t", "--num-records", "1", "--throughput", "0", "--record-size", "1", "--producer-props", "a=b"],
         "throughput"),
    ],
)  # fmt: skip
def test_bad_arguments_exit_with_1_and_one_line(arguments, message, capsys):
    with pytest.raises(SystemExit) as caught:
        producer_perf_test.main(arguments)
    assert caught.value.code == 1
    assert message in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_goes_to_stdout_with_exit_0(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        producer_perf_test.main(arguments)
    assert caught.value.code == 0
    assert "--payload-delimiter" in capsys.readouterr().out


def test_options_may_be_abbreviated():
    options = producer_perf_test.parser().parse(["--top", "t", "--num", "5", "--thr", "1", "--record-s", "1"])
    assert (options.topic, options.num_records, options.throughput, options.record_size) == ("t", 5, 1, 1)


class TransactionalProducer:
    """Notes calls; each of its sends takes 4 ms."""

    def __init__(self, clock):
        self.calls = []
        self.clock = clock

    def begin_transaction(self):
        self.calls.append("begin")

    def commit_transaction(self):
        self.calls.append("commit")

    def send(self, topic, payload, callback):
        self.calls.append(payload.decode())
        self.clock.ms += 4


@pytest.mark.parametrize(
    ("records", "calls"),
    [
        (0, []),
        (3, ["begin", "x", "x", "x", "commit"]),
        (4, ["begin", "x", "x", "x", "x", "commit"]),
        (6, ["begin", "x", "x", "x", "x", "commit", "begin", "x", "x", "commit"]),
    ],
)
def test_a_transaction_ends_with_the_first_record_after_its_duration(records, calls):
    clock = Clock()
    producer = TransactionalProducer(clock)
    arguments = [*PRODUCE, "--record-size", "1", "--transaction-duration-ms", "12"]
    options = producer_perf_test.parser().parse(arguments)
    options.num_records = records
    producer_perf_test.send_all(producer, options, [b"x"], Latencies(records, clock, None), clock)
    assert producer.calls == calls


class RefusedProducer:
    """One whose login fails, each time after a while."""

    def __init__(self, clock):
        self.clock = clock
        self.calls = 0

    def send(self, _topic, _value, callback):
        self.calls += 1
        self.clock.ms += 1000
        raise AuthenticationError("a wrong password")


def test_a_producer_that_brokers_refuse_does_not_try_every_record():
    clock = Clock()
    producer = RefusedProducer(clock)
    options = producer_perf_test.parser().parse([*PRODUCE, "--record-size", "1"])
    with pytest.raises(AuthenticationError, match="a wrong password"):
        producer_perf_test.send_all(producer, options, [b"x"], Latencies(10, clock, None), clock)
    assert producer.calls == 1


def test_a_refusal_after_the_last_record_counts_too():
    class LateProducer:
        def send(self, _topic, _value, callback):
            self.callback = callback

        def flush(self):
            self.callback(None, AuthenticationError("a wrong password"))

    options = producer_perf_test.parser().parse([*PRODUCE, "--record-size", "1"])
    with pytest.raises(AuthenticationError, match="a wrong password"):
        producer_perf_test.measure(LateProducer(), options, [b"x"])


def test_a_payload_is_random_capitals():
    options = producer_perf_test.parser().parse([*PRODUCE, "--record-size", "50"])
    (payload,) = producer_perf_test.payloads_of(options)
    assert re.fullmatch(rb"[A-Z]{50}", payload)


def test_payloads_of_a_file(tmp_path, capsys):
    file = tmp_path / "payloads"
    file.write_bytes(b"one\n\ntwo\n\n")
    options = producer_perf_test.parser().parse([*PRODUCE, "--payload-file", str(file)])
    assert producer_perf_test.payloads_of(options) == [b"one", b"", b"two"]
    options = producer_perf_test.parser().parse([*PRODUCE, "--payload-file", str(file), "--payload-delimiter", "[nw]"])
    assert producer_perf_test.payloads_of(options) == [b"o", b"e\n\nt", b"o\n\n"]
    assert "Number of messages read: 3" in capsys.readouterr().out
    file.write_bytes(b"")
    with pytest.raises(CommandFailed, match="empty"):
        producer_perf_test.payloads_of(options)


def test_the_totals_and_percentiles():
    clock = Clock()
    latencies = Latencies(100, clock, print)
    callbacks = [latencies.callback(clock.ms, 1024 * 1024) for _ in range(100)]
    for number, callback in enumerate(callbacks):
        clock.ms = 1000.0 + number + 1
        callback(None, None)
    clock.ms = 3000.0
    assert latencies.total_line() == (
        "100 records sent, 50.000000 records/sec (50.00 MB/sec), 50.50 ms avg latency, 100.00 ms max latency, "
        "51 ms 50th, 96 ms 95th, 100 ms 99th, 100 ms 99.9th."
    )


def test_every_five_seconds_a_line():
    clock, reported = Clock(), []
    latencies = Latencies(10, clock, reported.append)
    for _ in range(10):
        callback = latencies.callback(clock.ms, 1_048_576)
        clock.ms += 1000
        callback(None, None)
    line = "5 records sent, 1.0 records/sec (1.00 MB/sec), 1000.0 ms avg latency, 1000.0 ms max latency."
    assert reported == [line, line]


def test_nothing_sent_is_no_division_by_zero():
    assert Latencies(0, Clock(), print).total_line().startswith("0 records sent, 0.000000 records/sec")


def test_failures_are_told_once(capsys):
    latencies = Latencies(2, Clock(), print)
    for _ in range(2):
        latencies.callback(0, 1)(None, KafkaError(ErrorCode.REQUEST_TIMED_OUT, "late"))
    assert latencies.failed == 2 and capsys.readouterr().err.count("late") == 1


def test_throughput_is_kept():
    clock = Clock()
    assert list(throttled(101, 50, clock, clock.sleep)) == list(range(101))
    assert clock.ms == pytest.approx(3000)
    assert list(throttled(3, -1, clock, clock.sleep)) == [0, 1, 2] and clock.ms == pytest.approx(3000)


# The consumer's


def consume_options(*arguments):
    options = consumer_perf_test.parser().parse([*CONSUME, *arguments])
    consumer_perf_test.check(options)
    return options


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (CONSUME[:2], r"\[messages\]"),
        (CONSUME[2:], r"\[topic\]"),
        (CONSUME[:4], r"\[bootstrap-server\]"),
        ([*CONSUME, "--reporting-interval", "0"], "Reporting interval"),
    ],
)
def test_what_the_consumer_test_needs(arguments, message):
    with pytest.raises(UsageError, match=message):
        consumer_perf_test.check(consumer_perf_test.parser().parse(arguments))


def test_settings_of_the_consumer(tmp_path):
    file = tmp_path / "c.properties"
    file.write_text("max.partition.fetch.bytes=1\nclient.id=mine\nmax.poll.records=9\n")
    found = consumer_perf_test.consumer_properties(consume_options("--consumer.config", str(file), "--from-latest"))
    assert found["max.partition.fetch.bytes"] == "1048576" and found["receive.buffer.bytes"] == "2097152"
    assert (found["client.id"], found["max.poll.records"], found["auto.offset.reset"]) == ("mine", "9", "latest")
    assert ConsumerOptions.parse(found).unknown == []


def test_the_line_of_figures():
    """WE4-39's formula: fetch.time.ms = end.time - start.time - rebalance.time.ms."""
    figures = consumer_perf_test.Figures(0)
    figures.assigned(500)
    figures.end_ms, figures.count, figures.size_bytes = 2500, 1000, 5 * 1024 * 1024
    text = figures.line(DatePattern("SSS"))
    assert text == "000, 500, 5.0000, 2.0000, 1000, 400.0000, 500, 2000, 2.5000, 500.0000"
    assert len(text.split(", ")) == len(consumer_perf_test.HEADER.split(", "))


def test_the_lines_of_intervals():
    figures = consumer_perf_test.Figures(0)
    figures.assigned(200)
    figures.count, figures.size_bytes = 100, 1024 * 1024
    assert not figures.is_due(999, 1000) and figures.is_due(1000, 1000)
    dates = DatePattern("SSS")
    assert figures.interval_line(1000, dates) == "000, 0, 1.0000, 1.0000, 100, 100.0000, 200, 800, 1.2500, 125.0000"
    assert figures.interval_line(2000, dates) == "000, 0, 1.0000, 0.0000, 100, 0.0000, 0, 1000, 0.0000, 0.0000"
    assert len(consumer_perf_test.DETAILED_HEADER.split(", ")) == 10


def test_every_rebalance_counts_and_one_that_goes_on_as_well():
    figures = consumer_perf_test.Figures(1000)
    figures.end_ms = 1100
    assert figures.rebalance_ms == 100
    figures.assigned(1200)
    figures.revoked(2000)
    figures.revoked(2100)
    figures.end_ms = 2500
    assert figures.rebalance_ms == 700
    figures.assigned(2600)
    figures.assigned(2700)
    assert figures.rebalanced_ms(9000) == 800


class FakeConsumer:
    def __init__(self, clock, *polls):
        self.clock, self.polls = clock, list(polls)

    def poll(self, timeout_s):
        self.clock.ms += 100
        return self.polls.pop(0) if self.polls else []


class Sized:
    serialized_key_size, serialized_value_size = -1, 10


def test_it_ends_with_enough_records_or_when_none_came_for_so_long():
    clock = Clock()
    options = consume_options("--timeout", "1000")

    def figures_of(*polls):
        figures = consumer_perf_test.Figures(int(clock.ms))
        for _ in consumer_perf_test.consume(FakeConsumer(clock, *polls), figures, options, lambda: int(clock.ms)):
            pass
        return figures

    figures = figures_of([Sized()] * 6, [Sized()] * 6)
    assert (figures.count, figures.size_bytes) == (12, 120)
    figures = figures_of([Sized()])
    assert figures.count == 1 and figures.end_ms - figures.start_ms == 1200


def test_a_clients_metrics_are_rows_of_the_table_and_nothing_measured_is_nan_as_java_says_it():
    values = {MetricName("batch-size-avg", "producer-metrics", (("client-id", "c"),)): math.nan}
    assert list(metric_lines(metrics_of(values)))[2:] == ["producer-metrics:batch-size-avg:{client-id=c} : NaN"]
