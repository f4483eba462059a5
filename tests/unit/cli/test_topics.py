"""Rules between the options of kafka-topics.sh."""

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.cli import topics
from kafka_py.cli.common.command import CommandFailed, UsageError
from kafka_py.cli.topic_admin.topic_requests import request_of

BOOTSTRAP = ["--bootstrap-server", "b:1"]
ZOOKEEPER = ["--zookeeper", "z:1"]


def checked(*arguments):
    options = topics.parser().parse(arguments)
    topics.check(options)
    return options


@pytest.mark.parametrize(
    "arguments",
    [
        [*BOOTSTRAP, "--list"],
        [*BOOTSTRAP, "--list", "--exclude-internal", "--topic", "a.*"],
        [*BOOTSTRAP, "--describe"],
        [*BOOTSTRAP, "--describe", "--under-min-isr-partitions", "--exclude-internal"],
        [*BOOTSTRAP, "--create", "--topic", "t"],
        [*BOOTSTRAP, "--create", "--topic", "t", "--replica-assignment", "0:1,1:0", "--config", "a=b"],
        [*BOOTSTRAP, "--alter", "--topic", "t", "--partitions", "3", "--replica-assignment", "0,0,0", "--if-exists"],
        [*BOOTSTRAP, "--delete", "--topic", "t", "--if-exists", "--force"],
        [*BOOTSTRAP, "--command-config", "f", "--list"],
        [*ZOOKEEPER, "--create", "--topic", "t", "--partitions", "1", "--replication-factor", "1"],
        [*ZOOKEEPER, "--create", "--topic", "t", "--replica-assignment", "0", "--disable-rack-aware"],
        [*ZOOKEEPER, "--alter", "--topic", "t", "--config", "a=b", "--delete-config", "c"],
        [*ZOOKEEPER, "--describe", "--unavailable-partitions"],
    ],
)
def test_sensible_command_lines_pass(arguments):
    checked(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (BOOTSTRAP, "exactly one action"),
        ([*BOOTSTRAP, "--list", "--create"], "exactly one action"),
        (["--list"], "Only one of --bootstrap-server or --zookeeper"),
        ([*BOOTSTRAP, *ZOOKEEPER, "--list"], "Only one of --bootstrap-server or --zookeeper"),
        ([*BOOTSTRAP, "--create"], r'Missing required argument "\[topic\]"'),
        ([*BOOTSTRAP, "--alter", "--partitions", "1"], r'"\[topic\]"'),
        ([*BOOTSTRAP, "--delete"], r'"\[topic\]"'),
        ([*BOOTSTRAP, "--describe", "--if-exists"], r'"\[topic\]"'),
        ([*ZOOKEEPER, "--create", "--topic", "t"], r'"\[partitions\]"'),
        ([*ZOOKEEPER, "--create", "--topic", "t", "--partitions", "1"], r'"\[replication-factor\]"'),
        ([*BOOTSTRAP, "--alter", "--topic", "t"], r'"\[partitions\]"'),
        ([*BOOTSTRAP, "--alter", "--topic", "t", "--partitions", "1", "--config", "a=b"], "kafka-configs.sh"),
        ([*BOOTSTRAP, "--alter", "--topic", "t", "--partitions", "1", "--delete-config", "a"], "delete-config"),
        ([*BOOTSTRAP, "--list", "--config", "a=b"], r'"\[config\]" can\'t be used with option "\[list\]"'),
        ([*BOOTSTRAP, "--list", "--partitions", "1"], "partitions"),
        ([*ZOOKEEPER, "--alter", "--topic", "t", "--replication-factor", "1"], "replication-factor"),
        ([*BOOTSTRAP, "--create", "--topic", "t", "--replica-assignment", "0", "--partitions", "1"], "replica-ass"),
        ([*BOOTSTRAP, "--list", "--under-replicated-partitions"], "under-replicated"),
        ([*BOOTSTRAP, "--describe", "--under-replicated-partitions", "--unavailable-partitions"], "under-replicated"),
        ([*BOOTSTRAP, "--describe", "--at-min-isr-partitions", "--topics-with-overrides"], "at-min-isr"),
        ([*ZOOKEEPER, "--describe", "--under-min-isr-partitions"], "under-min-isr"),
        ([*ZOOKEEPER, "--describe", "--at-min-isr-partitions"], "at-min-isr"),
        ([*BOOTSTRAP, "--create", "--topic", "t", "--if-exists"], "if-exists"),
        ([*BOOTSTRAP, "--delete", "--topic", "t", "--if-not-exists"], "if-not-exists"),
        ([*BOOTSTRAP, "--delete", "--topic", "t", "--exclude-internal"], "exclude-internal"),
        ([*BOOTSTRAP, "--create", "--topic", "t", "--partitions", "two"], "two"),
    ],
)
def test_contradictions_are_wrong_usage(arguments, message):
    with pytest.raises(UsageError, match=message):
        checked(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--config", "no.such=1"], "Unknown topic config name: no.such"),
        (["--config", "retention.ms"], "key=value"),
        (["--config", "retention.ms=soon"], "retention.ms"),
        (["--config", "cleanup.policy=shred"], "cleanup.policy"),
        (["--replica-assignment", "1:2,x"], "not a list of broker ids"),
        (["--replica-assignment", "1:1"], "duplicate entries: 1"),
        (["--replica-assignment", "1:2,1"], "different replication factor: 1"),
    ],
)
def test_values_that_make_no_sense_are_refused_before_anything_is_connected(arguments, message, capsys):
    command = [*BOOTSTRAP, "--create", "--topic", "t", *arguments]
    with pytest.raises(CommandFailed, match=message):
        request_of(checked(*command))
    assert topics.main(command) == 1
    printed = capsys.readouterr()
    assert printed.out.startswith("Error while executing topic command : ") and printed.err == ""


def test_the_request_says_what_the_options_say():
    request = request_of(
        checked(*ZOOKEEPER, "--alter", "--topic", "t", "--config", "retention.ms=5", "--delete-config", "flush.ms",
                "--config", "cleanup.policy=compact,delete", "--disable-rack-aware")
    )  # fmt: skip
    assert request.action == "alter" and request.configs == {"retention.ms": "5", "cleanup.policy": "compact,delete"}
    assert request.delete_configs == ("flush.ms",) and not request.rack_aware and request.partitions is None


def test_a_failure_is_one_line_on_standard_output_with_exit_1(monkeypatch, capsys):
    def fail(_request, _options):
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 't' already exists.")

    monkeypatch.setattr(topics, "carry_out", fail)
    assert topics.main([*BOOTSTRAP, "--create", "--topic", "t"]) == 1
    assert capsys.readouterr().out == "Error while executing topic command : Topic 't' already exists.\n"


def test_bootstrap_server_wins_over_the_property_file(monkeypatch, tmp_path):
    file = tmp_path / "admin.properties"
    file.write_text("bootstrap.servers=other:1\nclient.id=me\n")
    seen = {}
    run_on_brokers = "kafka_py.cli.topic_admin.topics_admin.run_on_brokers"
    monkeypatch.setattr(run_on_brokers, lambda given, _request: seen.update(given))
    assert topics.main([*BOOTSTRAP, "--list", "--command-config", str(file)]) == 0
    assert seen == {"bootstrap.servers": "b:1", "client.id": "me"}
