"""The console producer and consumer and the performance tests, as processes, against a real broker."""

import itertools
import os
import pty
import re
import select
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafka_py.cli.perf.consumer_perf_test import HEADER

BIN = Path(__file__).resolve().parents[3] / "bin"
TIMEOUT_S = 60

_numbers = itertools.count(1)


@pytest.fixture
def topic():
    return f"console-{next(_numbers)}"


class Console:
    """The commands on one broker and topic."""

    def __init__(self, bootstrap, topic):
        self.base = ["--bootstrap-server", bootstrap, "--topic", topic]

    def produce(self, data, *arguments):
        return self._run("kafka-console-producer.sh", data, *arguments)

    def consume(self, *arguments):
        return self._run("kafka-console-consumer.sh", b"", *arguments)

    def _run(self, script, data, *arguments):
        return subprocess.run(
            [BIN / script, *self.base, *arguments], input=data, capture_output=True, check=False, timeout=TIMEOUT_S
        )

    @contextmanager
    def start(self, script, *arguments):
        """A command that runs beside the test, and not past its end."""
        process = subprocess.Popen(
            [BIN / script, *self.base, *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        with process:
            try:
                yield process
            finally:
                process.kill()


def next_line(process):
    """The next line that the process prints; none if it takes too long."""
    ready, _, _ = select.select([process.stdout], [], [], TIMEOUT_S / 2)
    return process.stdout.readline() if ready else b""


@pytest.fixture
def console(bootstrap, topic):
    return Console(bootstrap, topic)


def test_lines_come_back_byte_for_byte(console):
    data = b"one\n\n\xff\x00binary\r\nlast without end"
    assert console.produce(data).returncode == 0
    done = console.consume("--from-beginning", "--max-messages", "4")
    assert done.stdout == b"one\n\n\xff\x00binary\nlast without end\n"
    assert (done.returncode, done.stderr) == (0, b"Processed a total of 4 messages\n")


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_every_codec(console, codec):
    assert console.produce(b"".join(b"line %d\n" % number for number in range(100)), "--compression-codec", codec,
                           "--request-required-acks", "all").returncode == 0  # fmt: skip
    done = console.consume("--from-beginning", "--max-messages", "100")
    assert done.stdout.splitlines()[99] == b"line 99"


def test_keys_and_all_printed_fields(console):
    assert console.produce(b"k1=v1\nk2=v=2\n", "--property", "parse.key=true", "--property", "key.separator==",
                           "--sync").returncode == 0  # fmt: skip
    properties = [f"print.{name}=true" for name in ("timestamp", "partition", "offset", "headers", "key")]
    done = console.consume("--partition", "0", "--offset", "1", "--max-messages", "1",
                           *itertools.chain(*(("--property", each) for each in properties)))  # fmt: skip
    assert re.fullmatch(rb"CreateTime:\d{13}\tPartition:0\tOffset:1\tNO_HEADERS\tk2\tv=2\n", done.stdout)


def test_a_line_without_key_ends_the_producer(console):
    done = console.produce(b"k\tv\nplain\n", "--property", "parse.key=true")
    assert done.returncode == 1
    assert done.stderr == b"Error: No key found on line 2: plain\n"
    assert console.consume("--from-beginning", "--max-messages", "1").stdout == b"v\n"


def test_time_out_and_system_test_event(console):
    assert console.produce(b"one\n").returncode == 0
    done = console.consume("--from-beginning", "--timeout-ms", "1500", "--enable-systest-events")
    assert (done.returncode, done.stdout) == (0, b"one\nshutdown_complete\n")
    assert done.stderr.endswith(b"Processed a total of 1 messages\n")


def test_topics_by_pattern(bootstrap, topic):
    for name in ("a", "b"):
        assert Console(bootstrap, f"{topic}-pattern-{name}").produce(name.encode()).returncode == 0
    done = subprocess.run(
        [BIN / "kafka-console-consumer.sh", "--bootstrap-server", bootstrap, "--whitelist", f"{topic}-pattern-.",
         "--from-beginning", "--max-messages", "2"],
        capture_output=True, check=False, timeout=TIMEOUT_S,
    )  # fmt: skip
    assert sorted(done.stdout.split()) == [b"a", b"b"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_lines_flow_one_by_one_and_a_signal_ends_both_in_order(console, number, code):
    with (
        console.start("kafka-console-consumer.sh", "--from-beginning") as consumer,
        console.start("kafka-console-producer.sh", "--timeout", "10") as producer,
    ):
        for line in (b"first\n", b"second\n"):
            producer.stdin.write(line)
            producer.stdin.flush()
            assert next_line(consumer) == line, (consumer.poll(), producer.poll())
        producer.stdin.write(b"begun")
        producer.stdin.flush()
        producer.send_signal(number)
        assert producer.wait(TIMEOUT_S) == code
        consumer.send_signal(number)
        assert consumer.wait(TIMEOUT_S) == code
        assert b"Processed a total of 2 messages\n" in consumer.stderr.read()


def test_we1_5_a_greeting_goes_from_one_console_to_the_other(bootstrap, console, topic):
    """WE1-5: the consumer prints nothing, then the greeting; the producer shows its prompt and shows it again."""
    ours, theirs = pty.openpty()
    with console.start("kafka-console-consumer.sh", "--from-beginning") as consumer:
        command = [BIN / "kafka-console-producer.sh", "--broker-list", bootstrap, "--topic", topic]
        with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE) as producer:
            os.close(theirs)
            try:
                assert read_until(ours, b">").endswith(b">")
                assert not select.select([consumer.stdout], [], [], 0)[0]
                os.write(ours, b"Hello, Kafka!\n")
                assert next_line(consumer) == b"Hello, Kafka!\n"
                assert read_until(ours, b">").endswith(b">")
            finally:
                producer.kill()
                os.close(ours)


def read_until(terminal, wanted):
    """What is shown on a terminal up to `wanted`, or what came before it took too long."""
    shown = b""
    while wanted not in shown and select.select([terminal], [], [], TIMEOUT_S / 2)[0]:
        shown += os.read(terminal, 1024)
    return shown


def test_a_reader_that_goes_away_is_no_traceback(console):
    assert console.produce(b"line\n" * 100_000).returncode == 0
    with console.start("kafka-console-consumer.sh", "--from-beginning") as consumer:
        assert consumer.stdout.readline() == b"line\n"
        consumer.stdout.close()
        errors = consumer.stderr.read()
        assert consumer.wait(TIMEOUT_S) == 0
    assert errors.startswith(b"Unable to write to standard out, closing consumer.\nProcessed a total of ")


def test_failures_are_one_line(bootstrap, topic):
    done = Console("127.0.0.1:1", topic).produce(b"x\n", "--max-block-ms", "300")
    assert done.returncode == 0 and b"Error when sending message to topic" in done.stderr.splitlines()[-1]
    done = Console("nonsense", topic).consume()
    assert done.returncode == 1 and done.stderr == b"Error: Invalid url in bootstrap.servers: nonsense\n"
    done = Console(bootstrap, topic).consume("--formatter", "no.such.Formatter")
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1


def test_the_performance_tests(bootstrap, topic):
    produced = subprocess.run(
        [BIN / "kafka-producer-perf-test.sh", "--topic", topic, "--num-records", "20000", "--record-size", "100",
         "--throughput", "-1", "--producer-props", f"bootstrap.servers={bootstrap}", "linger.ms=5", "--print-metrics"],
        capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
    )  # fmt: skip
    assert (produced.returncode, produced.stderr) == (0, "")
    number = r"\d+\.\d\d"
    assert re.match(rf"20000 records sent, \d+\.\d{{6}} records/sec \({number} MB/sec\), {number} ms avg latency, "
                    rf"{number} ms max latency, \d+ ms 50th, \d+ ms 95th, \d+ ms 99th, \d+ ms 99.9th\.\n",
                    produced.stdout)  # fmt: skip
    assert re.search(r"producer-metrics:record-send-total:\{client-id=producer-1\} +: 20000\.000\n", produced.stdout)
    consumed = subprocess.run(
        [BIN / "kafka-consumer-perf-test.sh", "--topic", topic, "--messages", "20000", "--broker-list", bootstrap],
        capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
    )  # fmt: skip
    assert (consumed.returncode, consumed.stderr) == (0, "")
    header, line = consumed.stdout.splitlines()
    assert header == HEADER
    figures = line.split(", ")
    assert len(figures) == 10 and figures[2] == f"{20000 * 100 / 1024 / 1024:.4f}" and figures[4] == "20000"


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_topic_goes_through_a_file_and_comes_back_as_it_was(bootstrap, topic, form):
    """Keys, nulls, bytes that are no text, headers and timestamps; the other topic's export is the same file."""
    first, second = Console(bootstrap, topic), Console(bootstrap, f"{topic}-copy")
    lines = [
        b'{"key": "k", "value": "one", "timestamp": 1600000000000, "headers": [["h", "x"], ["h", null]]}',
        b'{"key": null, "value": {"base64": "/wA="}, "timestamp": 1600000000001}',
        b'{"key": "k", "value": null, "timestamp": 1600000000002}',
        '{"value": "zwei\\nZeilen: ü", "timestamp": 1600000000003}'.encode(),
    ]
    done = first.produce(b"\n".join(lines), "--input", "json")
    assert (done.returncode, done.stderr) == (0, b"")
    limits = ("--from-beginning", "--max-messages", "4", "--output", form)
    exported = first.consume(*limits).stdout
    assert second.produce(exported, "--input", form, "--property", "keep.partition=true", "--sync").returncode == 0
    again = second.consume(*limits).stdout
    assert again == exported.replace(topic.encode(), f"{topic}-copy".encode())
    assert b"1600000000003" in again


def test_a_file_that_is_malformed_ends_the_import_at_its_line(bootstrap, topic):
    done = Console(bootstrap, topic).produce(b'{"value": "a"}\n{"value"}\n', "--input", "json")
    assert done.returncode == 1
    assert done.stderr.startswith(b"Error: Line 2 is not a record in JSON: ")
    refused = Console(bootstrap, topic).consume("--output", "json", "--property", "print.key=true")
    assert refused.returncode == 1
    assert refused.stderr.startswith(b"Option output can't be used with options formatter and property")
