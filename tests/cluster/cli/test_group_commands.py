"""The tools that read in a group or look at groups, as processes, against a real broker."""

import itertools
import json
import re
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafka_py.clients import Producer
from kafka_py.testing.processes import wait_until

BIN = Path(__file__).resolve().parents[3] / "bin"
TIMEOUT_S = 60
RECORDS = 30

_numbers = itertools.count(1)


@pytest.fixture
def topic(module_broker):
    """A topic of one partition with records in it; its name is that of a group too."""
    name = f"groups-{next(_numbers)}"
    module_broker.create_topic(name)
    with Producer({"bootstrap.servers": module_broker.bootstrap}) as producer:
        for number in range(RECORDS):
            producer.send(name, b"%d" % number)
    return name


def run(script, *arguments):
    done = subprocess.run([BIN / script, *arguments], capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    assert done.returncode == 0, done
    return done


def described(bootstrap, group, *arguments):
    """The rows of a description, each as its words."""
    done = run("kafka-consumer-groups.sh", "--bootstrap-server", bootstrap, "--describe", "--group", group, *arguments)
    return [line.split() for line in done.stdout.splitlines()[2:]]


def consume(bootstrap, topic, *arguments):
    done = run("kafka-console-consumer.sh", "--bootstrap-server", bootstrap, "--topic", topic, *arguments)
    return done.stdout.split()


@contextmanager
def started(script, *arguments):
    """A command that runs beside the test, and not past its end."""
    process = subprocess.Popen([BIN / script, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process:
        try:
            yield process
        finally:
            process.kill()


def test_a_group_goes_on_after_what_was_printed(bootstrap, topic):
    """S3-061 and its neighbours: what is committed is what was printed, not what was fetched."""
    group = ("--group", topic, "--from-beginning")
    assert consume(bootstrap, topic, *group, "--max-messages", "7") == [str(number) for number in range(7)]
    assert described(bootstrap, topic) == [[topic, topic, "0", "7", "30", "23", "-", "-", "-"]]
    assert consume(bootstrap, topic, *group, "--max-messages", "23") == [str(number) for number in range(7, 30)]
    assert described(bootstrap, topic)[0][3:6] == ["30", "30", "0"]


def test_a_group_that_is_made_up_leaves_no_offsets(bootstrap, topic):
    assert len(consume(bootstrap, topic, "--from-beginning", "--max-messages", str(RECORDS))) == RECORDS
    listed = run("kafka-consumer-groups.sh", "--bootstrap-server", bootstrap, "--list").stdout.split()
    made_up = [group for group in listed if re.fullmatch(r"console-consumer-\d{1,5}", group)]
    assert made_up and all(described(bootstrap, group) == [] for group in made_up)


def test_a_member_is_seen_while_it_reads_and_gone_after_a_signal(bootstrap, topic):
    command = ["--bootstrap-server", bootstrap, "--topic", topic, "--group", topic, "--from-beginning",
               "--consumer-property", "client.id=reader"]  # fmt: skip
    with started("kafka-console-consumer.sh", *command) as process:
        [row] = wait_until(
            lambda: [row for row in described(bootstrap, topic, "--members", "--verbose") if row[-1] != "-"],
            TIMEOUT_S, "a member with partitions",
        )  # fmt: skip
        assert row[0] == topic and row[1].startswith("reader-") and row[2:] == ["/127.0.0.1", "reader", "1",
                                                                                f"{topic}(0)"]  # fmt: skip
        assert [process.stdout.readline() for _ in range(RECORDS)][-1] == "29\n"
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, errors) == (128 + signal.SIGTERM, f"Processed a total of {RECORDS} messages\n")
    assert described(bootstrap, topic, "--members") == []
    assert described(bootstrap, topic)[0][3:7] == ["30", "30", "0", "-"]


def test_a_pattern_finds_topics_but_not_the_brokers_own(bootstrap, topic):
    command = ["--bootstrap-server", bootstrap, "--whitelist", f"{topic}|__consumer.*", "--from-beginning"]
    done = run("kafka-console-consumer.sh", *command, "--max-messages", str(RECORDS))
    assert sorted(map(int, done.stdout.split())) == list(range(RECORDS))
    formatter = ["--formatter", "kafka.coordinator.group.GroupMetadataManager$GroupMetadataMessageFormatter"]
    all_topics = ["--consumer-property", "exclude.internal.topics=false", "--timeout-ms", "3000"]
    command[3] = "__consumer.*"
    assert run("kafka-console-consumer.sh", *command, *formatter, "--timeout-ms", "1000").stdout == ""
    assert "::GroupMetadata(groupId=" in run("kafka-console-consumer.sh", *command, *formatter, *all_topics).stdout


def test_commits_and_members_are_read_from_the_offsets_topic(bootstrap, topic):
    """S3-061, S3-062, W7.20a: the formatter shows the commit."""
    consume(bootstrap, topic, "--group", topic, "--from-beginning", "--max-messages", "7")
    internal = ["__consumer_offsets", "--partition", "0", "--offset", "earliest", "--timeout-ms", "3000", "--formatter"]
    classes = "kafka.coordinator.group.GroupMetadataManager$"
    done = run("kafka-console-consumer.sh", "--bootstrap-server", bootstrap, "--topic", *internal,
               f"{classes}OffsetsMessageFormatter")  # fmt: skip
    [commit] = [line for line in done.stdout.splitlines() if line.startswith(f"[{topic},")]
    assert re.fullmatch(re.escape(f"[{topic},{topic},0]::OffsetAndMetadata(offset=7, leaderEpoch=") + r"\S+ metadata=, "
                        r"commitTimestamp=\d{13}, expireTimestamp=None\)", commit)  # fmt: skip
    done = run("kafka-console-consumer.sh", "--bootstrap-server", bootstrap, "--topic", *internal,
               f"{classes}GroupMetadataMessageFormatter")  # fmt: skip
    groups = [line for line in done.stdout.splitlines() if line.startswith(f"{topic}::")]
    assert "currentState=Stable, members=HashMap(" in groups[0]
    assert groups[-1].endswith("currentState=Empty, members=HashMap())")


def test_offsets_are_reset_by_a_plan_that_was_exported(bootstrap, topic, tmp_path):
    tool = ["kafka-consumer-groups.sh", "--bootstrap-server", bootstrap, "--group", topic]
    consume(bootstrap, topic, "--group", topic, "--from-beginning", "--max-messages", "7")
    plan = tmp_path / "plan.csv"
    plan.write_text(run(*tool, "--reset-offsets", "--all-topics", "--to-current", "--export", "--dry-run").stdout)
    assert plan.read_text() == f"{topic},0,7\n\n"
    run(*tool, "--reset-offsets", "--topic", topic, "--to-latest", "--execute")
    assert described(bootstrap, topic)[0][3:6] == ["30", "30", "0"]
    run(*tool, "--reset-offsets", "--from-file", str(plan), "--execute")
    assert consume(bootstrap, topic, "--group", topic, "--max-messages", "1") == ["7"]
    assert run(*tool, "--delete-offsets", "--topic", topic).stdout.startswith("Request succeed")
    assert run(*tool, "--describe").stdout == f"\nError: Consumer group '{topic}' does not exist.\n"


def test_a_static_verifiable_consumer_keeps_its_place(bootstrap, topic):
    command = ["--bootstrap-server", bootstrap, "--topic", topic, "--group-id", topic, "--group-instance-id", "one"]
    with started("kafka-verifiable-consumer.sh", *command, "--session-timeout", "20000") as process:
        said = []
        while "offsets_committed" not in [event["name"] for event in said]:
            said.append(json.loads(process.stdout.readline()))
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=TIMEOUT_S)
    said += [json.loads(line) for line in rest.splitlines()]
    assert [event["name"] for event in said] == [
        "startup_complete", "partitions_assigned", "records_consumed", "offsets_committed", "partitions_revoked",
        "shutdown_complete",
    ]  # fmt: skip
    assert said[3]["offsets"] == [{"topic": topic, "partition": 0, "offset": RECORDS}]
    [row] = described(bootstrap, topic, "--members")
    assert (row[1].startswith("one-"), row[2], row[-1]) == (True, "one", "1")


def test_the_performance_test_counts_the_time_until_it_has_partitions(bootstrap, topic):
    done = run("kafka-consumer-perf-test.sh", "--bootstrap-server", bootstrap, "--topic", topic, "--messages",
               str(RECORDS), "--group", topic, "--hide-header", "--print-metrics")  # fmt: skip
    figures = done.stdout.splitlines()[0].split(", ")
    assert (len(figures), figures[4]) == (10, str(RECORDS)) and int(figures[6]) >= 0
    assert re.search(r"consumer-coordinator-metrics:rebalance-total:\{client-id=\S+\} +: 1\.000\n", done.stdout)
    assert described(bootstrap, topic)[0][3:6] == ["30", "30", "0"]


def test_a_streams_application_begins_anew(bootstrap, topic, module_broker):
    module_broker.create_topic(f"{topic}-store-changelog")
    consume(bootstrap, topic, "--group", topic, "--from-beginning", "--max-messages", "7")
    done = run("kafka-streams-application-reset.sh", "--bootstrap-servers", bootstrap, "--application-id", topic,
               "--input-topics", topic)  # fmt: skip
    assert f"Topic: {topic} Partition: 0 Offset: 0" in done.stdout.splitlines()
    assert described(bootstrap, topic)[0][3:6] == ["0", "30", "30"]
    assert f"{topic}-store" not in run("kafka-topics.sh", "--bootstrap-server", bootstrap, "--list").stdout
