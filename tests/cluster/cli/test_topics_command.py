"""bin/kafka-topics.sh against a real broker and a real ZooKeeper: output, exit codes, and what comes of it."""

import itertools
import re
import subprocess
from pathlib import Path

import pytest

from kafka_py.testing.processes import wait_until

BIN = Path(__file__).resolve().parents[3] / "bin"

_numbers = itertools.count(1)


@pytest.fixture
def topic():
    return f"cli-{next(_numbers)}"


def run(*arguments, folder=None):
    return subprocess.run(
        [BIN / "kafka-topics.sh", *arguments], capture_output=True, text=True, check=False, cwd=folder, timeout=60
    )


@pytest.fixture
def topics(bootstrap):
    """Runs the command on the brokers; returns its output if it went well, else its exit code and output."""

    def call(*arguments, fails=False):
        done = run("--bootstrap-server", bootstrap, *arguments)
        assert done.returncode == (1 if fails else 0), done
        assert done.stderr == ""
        return done.stdout

    return call


@pytest.fixture
def on_zookeeper(module_broker):
    def call(*arguments, fails=False):
        done = run("--zookeeper", module_broker.properties["zookeeper.connect"], *arguments)
        assert done.returncode == (1 if fails else 0), done
        return done.stdout

    return call


def test_the_life_of_a_topic_through_a_broker(topics, topic):
    assert topics("--create", "--topic", topic, "--partitions", "2", "--replication-factor", "1", "--config",
                  "retention.ms=77000") == f"Created topic {topic}.\n"  # fmt: skip
    assert topic in topics("--list").split()
    head, first, second = topics("--describe", "--topic", topic).splitlines()
    assert head.startswith(f"Topic: {topic}\tTopicId: ") and head.endswith(
        "\tPartitionCount: 2\tReplicationFactor: 1\tConfigs: retention.ms=77000"
    )
    leader = first.split("\t")[3].removeprefix("Leader: ")
    for number, line in enumerate((first, second)):
        assert line == f"\tTopic: {topic}\tPartition: {number}\tLeader: {leader}\tReplicas: {leader}\tIsr: {leader}"
    assert topics("--alter", "--topic", topic, "--partitions", "4") == ""
    assert "PartitionCount: 4" in topics("--describe", "--topic", topic)
    assert topics("--describe", "--topic", topic, "--topics-with-overrides").splitlines() == [
        head.replace("PartitionCount: 2", "PartitionCount: 4")
    ]
    for report in ("under-replicated", "unavailable", "under-min-isr"):
        assert topics("--describe", "--topic", topic, f"--{report}-partitions") == ""
    assert len(topics("--describe", "--topic", topic, "--at-min-isr-partitions").splitlines()) == 4
    assert topics("--delete", "--topic", topic) == ""
    assert topic not in topics("--list").split()


def test_failures_are_one_line_on_standard_output(topics, topic):
    topics("--create", "--topic", topic)
    error = "Error while executing topic command : "
    assert topics("--create", "--topic", topic, fails=True) == f"{error}Topic '{topic}' already exists.\n"
    assert topics("--create", "--topic", topic, "--if-not-exists") == ""
    assert topics("--describe", "--topic", "no-such", fails=True) == (
        f"{error}Topic 'no-such' does not exist as expected\n"
    )
    assert topics("--describe", "--topic", "no-such", "--if-exists") == ""
    assert topics("--delete", "--topic", "no-such", fails=True).startswith(error)
    assert topics("--alter", "--topic", topic, "--partitions", "1", fails=True).startswith(error)
    assert topics("--create", "--topic", "bad name", fails=True).startswith(error)
    assert topics("--create", "--topic", f"{topic}-2", "--replication-factor", "9", fails=True).startswith(error)


def test_names_that_collide_are_warned_of(topics, topic):
    dotted = topic.replace("-", ".")
    created = topics("--create", "--topic", dotted)
    assert created.startswith("WARNING: Due to limitations in metric names")
    assert created.endswith(f"Created topic {dotted}.\n")
    assert "collide" in topics("--create", "--topic", dotted.replace(".", "_"), fails=True)


def test_the_life_of_a_topic_through_zookeeper(on_zookeeper, topics, topic):
    assert on_zookeeper("--create", "--topic", topic, "--partitions", "1", "--replication-factor", "1") == (
        f"Created topic {topic}.\n"
    )
    wait_until(lambda: "Leader: none" not in topics("--describe", "--topic", topic), 10, "a leader")
    altered = on_zookeeper("--alter", "--topic", topic, "--partitions", "2", "--config", "flush.messages=9")
    assert altered.splitlines()[-1] == "Adding partitions succeeded!"
    assert f"Updated config for topic {topic}.\n" in altered and altered.startswith("WARNING: ")
    described = on_zookeeper("--describe", "--topic", topic)
    assert "PartitionCount: 2\tReplicationFactor: 1\tConfigs: flush.messages=9\n" in described
    wait_until(lambda: topics("--describe", "--topic", topic).count("Isr: ") == 2, 10, "the new partition")
    wait_until(lambda: "flush.messages=9" in topics("--describe", "--topic", topic), 10, "the new config")
    assert on_zookeeper("--delete", "--topic", topic).startswith(f"Topic {topic} is marked for deletion.\nNote: ")
    wait_until(lambda: topic not in on_zookeeper("--list"), 10, "the deletion")
    assert topic not in topics("--list").split()


def test_a_chroot_that_is_not_there_has_no_topics_and_no_brokers(zookeeper):
    nobody = f"{zookeeper.connect}/nobody"
    done = run("--zookeeper", nobody, "--list")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = run("--zookeeper", nobody, "--create", "--topic", "t", "--partitions", "1", "--replication-factor", "1")
    assert (done.returncode, done.stderr) == (1, "")
    assert re.fullmatch("Error while executing topic command : .*\n", done.stdout)


def test_wrong_usage_shows_the_options_on_standard_error(tmp_path):
    done = run("--list", folder=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Only one of --bootstrap-server or --zookeeper")
    assert "--replica-assignment" in done.stderr


def test_files_in_the_users_folder_do_not_get_in_the_way(tmp_path):
    for name in ("random.py", "kafka_py.py", "logging.py"):
        (tmp_path / name).write_text("raise SystemExit('shadowed')\n")
    done = run("--version", folder=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("2.8.2 (Commit:")
