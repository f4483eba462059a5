"""Options and settings of the console producer, and what becomes of failed sends."""

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.cli import console_producer
from kafka_py.cli.common.command import UsageError
from kafka_py.clients.errors import AuthenticationError
from kafka_py.clients.producer.configs import ProducerOptions

BASE = ["--bootstrap-server", "b:1", "--topic", "t"]


def settings(*arguments):
    options = console_producer.parser().parse([*BASE, *arguments])
    console_producer.check(options)
    return console_producer.producer_properties(options)


def test_defaults_are_those_of_the_reference():
    assert settings() == {
        "bootstrap.servers": "b:1",
        "client.id": "console-producer",
        "compression.type": "none",
        "retries": "3",
        "retry.backoff.ms": "100",
        "linger.ms": "1000",
        "acks": "1",
        "request.timeout.ms": "1500",
        "metadata.max.age.ms": "300000",
        "max.block.ms": "60000",
        "buffer.memory": "33554432",
        "batch.size": "16384",
        "send.buffer.bytes": "102400",
    }
    assert ProducerOptions.parse(settings()).unknown == []


def test_option_then_property_then_file_then_default(tmp_path):
    file = tmp_path / "producer.properties"
    file.write_text("acks=0\nlinger.ms=7\nretries=9\nclient.id=mine\nbootstrap.servers=other:1\n")
    found = settings("--producer.config", str(file), "--producer-property", "acks=all", "--producer-property",
                     "linger.ms=8", "--timeout", "5")  # fmt: skip
    assert (found["acks"], found["linger.ms"], found["retries"]) == ("all", "5", "9")
    assert (found["client.id"], found["bootstrap.servers"], found["batch.size"]) == ("mine", "b:1", "16384")


def test_an_option_that_is_given_wins_even_with_its_default_value():
    assert settings("--producer-property", "acks=all", "--request-required-acks", "1")["acks"] == "1"


def test_the_codec_option_may_stand_alone():
    assert settings("--compression-codec")["compression.type"] == "gzip"
    assert settings("--compression-codec", "zstd")["compression.type"] == "zstd"
    assert settings("--compression-codec=lz4")["compression.type"] == "lz4"
    with pytest.raises(UsageError, match="brotli"):
        settings("--compression-codec", "brotli")


@pytest.mark.parametrize("given", [["--topic", "t"], ["--bootstrap-server", "b:1"]])
def test_topic_and_servers_are_required(given):
    with pytest.raises(UsageError, match="Missing required argument"):
        console_producer.check(console_producer.parser().parse(given))


def test_the_old_name_of_the_servers_works():
    options = console_producer.parser().parse(["--broker-list", "old:1", "--topic", "t"])
    console_producer.check(options)
    assert console_producer.producer_properties(options)["bootstrap.servers"] == "old:1"


class FakeProducer:
    """Takes records; fails for values that say so."""

    def __init__(self):
        self.sent = []

    def send(self, topic, value, key=None, callback=None):
        if value == b"too large":
            raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, "big")
        error = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "late") if value == b"late" else None
        if value == b"refused":
            error = AuthenticationError("a wrong password")
        self.sent.append((topic, key, value))
        if callback is not None:
            callback(None, error)
        self.error = error
        return self

    def result(self):
        if self.error is not None:
            raise self.error


class Reader:
    def __init__(self, *values):
        self.values = values

    def records(self):
        return iter([(b"k", value) for value in self.values])


def test_without_sync_failures_are_reported_once_per_kind_and_the_rest_goes_on(capsys):
    producer, failures = FakeProducer(), console_producer.Failures("t")
    console_producer.send_all(Reader(b"too large", b"late", b"ok", b"late", b"too large"), producer, "t", failures)
    assert [value for _, _, value in producer.sent] == [b"late", b"ok", b"late"]
    failures.report_counts()
    reported = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in reported[:2]] == ["Error when sending message to topic t"] * 2
    assert [line[:10] for line in reported[2:]] == ["2 messages", "2 messages"]


def test_a_producer_that_brokers_refuse_does_not_try_every_line(capsys):
    producer, failures = FakeProducer(), console_producer.Failures("t")
    with pytest.raises(AuthenticationError, match="a wrong password"):
        console_producer.send_all(Reader(b"ok", b"refused", b"ok"), producer, "t", failures)
    assert [value for _, _, value in producer.sent] == [b"ok", b"refused"]


class LateProducer:
    """Brokers refuse it when it is closed: what waits fails then."""

    def __init__(self, _properties):
        self.callbacks = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for callback in self.callbacks:
            callback(None, AuthenticationError("a wrong password"))

    def send(self, _topic, _value, _key=None, callback=None):
        self.callbacks.append(callback)


def test_a_refusal_after_the_last_line_counts_too(monkeypatch, capsys):
    monkeypatch.setattr("kafka_py.clients.producer.producer.Producer", LateProducer)
    options = console_producer.parser().parse(BASE)
    with pytest.raises(AuthenticationError, match="a wrong password"):
        console_producer.produce({}, options, Reader(b"1", b"2"))
    assert "2 messages to topic t were not sent: a wrong password" in capsys.readouterr().err


def test_with_sync_the_first_failure_ends_it():
    producer = FakeProducer()
    with pytest.raises(KafkaError, match="late"):
        console_producer.send_one_by_one(Reader(b"ok", b"late", b"ok"), producer, "t")
    assert producer.sent == [("t", b"k", b"ok"), ("t", b"k", b"late")]
