"""The smaller tools, as processes, against a real broker: output, exit codes, and what comes of it."""

import itertools
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
import yaml

from kafka_py.cli.perf.timeline import CSV_HEADER

BIN = Path(__file__).resolve().parents[3] / "bin"
TIMEOUT_S = 60
NOBODY = "127.0.0.1:1"

_numbers = itertools.count(1)


def run(script, *arguments, fails=False):
    done = subprocess.run([BIN / script, *arguments], capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    assert done.returncode == (1 if fails else 0), done
    return done


def produce(bootstrap, topic, count):
    lines = run("kafka-verifiable-producer.sh", "--bootstrap-server", bootstrap, "--topic", topic, "--max-messages",
                str(count)).stdout.splitlines()  # fmt: skip
    return [json.loads(line) for line in lines]


@pytest.fixture
def topic(module_broker):
    """A topic of three partitions."""
    name = f"tools-{next(_numbers)}"
    module_broker.create_topic(name, 3)
    return name


def offsets_of(bootstrap, topic, *arguments):
    done = run("kafka-get-offsets.sh", "--bootstrap-server", bootstrap, "--topic", topic, *arguments)
    return [tuple(line.split(":")) for line in done.stdout.splitlines()]


def test_offsets_before_and_after_records(bootstrap, topic):
    empty = [(topic, str(number), "0") for number in range(3)]
    assert offsets_of(bootstrap, topic) == empty
    produce(bootstrap, topic, 50)
    latest = offsets_of(bootstrap, topic)
    assert sum(int(offset) for _, _, offset in latest) == 50
    assert offsets_of(bootstrap, topic, "--time", "-2") == empty
    assert offsets_of(bootstrap, topic, "--time", "9999999999999") == [(topic, str(number), "") for number in range(3)]
    assert offsets_of(bootstrap, topic, "--partitions", "2,0") == [latest[0], latest[2]]
    gone = run("kafka-get-offsets.sh", "--broker-list", bootstrap, "--topic", "no-such-topic", fails=True)
    assert gone.stderr == "Topic no-such-topic does not exist\n"
    assert "no-such-topic" not in run("kafka-topics.sh", "--bootstrap-server", bootstrap, "--list").stdout


def test_records_are_deleted(bootstrap, topic, tmp_path):
    produce(bootstrap, topic, 30)
    ends = {int(number): int(offset) for _, number, offset in offsets_of(bootstrap, topic)}
    rows = [(topic, 0, -1), (topic, 1, 0), (topic, 2, 10**6), (topic, 9, 1), ("no-such-topic", 0, 1)]
    fields = [dict(zip(("topic", "partition", "offset"), row, strict=True)) for row in rows]
    file = tmp_path / "offsets.json"
    file.write_text(json.dumps({"partitions": fields, "version": 1}))
    command = ["kafka-delete-records.sh", "--bootstrap-server", bootstrap, "--offset-json-file", str(file)]
    lines = run(*command).stdout.splitlines()
    assert lines[:4] == [
        "Executing records delete operation", "Records delete operation completed:",
        f"partition: {topic}-0\tlow_watermark: {ends[0]}", f"partition: {topic}-1\tlow_watermark: 0",
    ]  # fmt: skip
    errors = [line.split(": ")[2].rpartition(".")[2] for line in lines[4:]]
    assert errors == ["OffsetOutOfRangeException", "LeaderNotAvailableException", "UnknownTopicOrPartitionException"]
    earliest = offsets_of(bootstrap, topic, "--time", "-2")
    assert [int(offset) for _, _, offset in earliest] == [ends[0], 0, 0]


def test_the_broker_is_described(bootstrap, topic, module_broker):
    produce(bootstrap, topic, 5)
    first, last, text = run("kafka-log-dirs.sh", "--bootstrap-server", bootstrap, "--describe", "--topic-list",
                            topic).stdout.splitlines()  # fmt: skip
    broker_id = module_broker.broker_id
    assert first == "Querying brokers for log directories information"
    assert last == f"Received log directory information from brokers {broker_id}"
    [broker] = json.loads(text)["brokers"]
    [log_dir] = broker["logDirs"]
    assert (broker["broker"], log_dir["logDir"], log_dir["error"]) == (broker_id, str(module_broker.log_dirs[0]), None)
    sizes = {each["partition"]: each["size"] for each in log_dir["partitions"]}
    assert set(sizes) == {f"{topic}-{number}" for number in range(3)}
    assert sum(sizes.values()) > 0
    versions = run("kafka-broker-api-versions.sh", "--bootstrap-server", bootstrap).stdout.splitlines()
    assert versions[0] == f"{bootstrap} (id: {broker_id} rack: null) -> ("
    assert versions[1:3] == ["\tProduce(0): 0 to 9 [usable: 9],", "\tFetch(1): 0 to 12 [usable: 12],"]
    assert versions[-1] == ")"
    cluster_id = run("kafka-cluster.sh", "cluster-id", "-b", bootstrap).stdout
    assert re.fullmatch(r"Cluster ID: \S{22}\n", cluster_id)
    unregistered = run("kafka-cluster.sh", "unregister", "--bootstrap-server", bootstrap, "--id", "7").stdout
    assert unregistered == "The target cluster does not support the broker unregistration API.\n"


def test_what_is_produced_is_verified_and_consumed(bootstrap, topic):
    events = produce(bootstrap, topic, 20)
    assert [event["name"] for event in events[:2]] == ["startup_complete", "producer_send_success"]
    assert sorted(int(event["value"]) for event in events[1:-2]) == list(range(20))
    assert events[-2]["name"] == "shutdown_complete"
    assert (events[-1]["sent"], events[-1]["acked"]) == (20, 20)
    done = run("kafka-verifiable-consumer.sh", "--bootstrap-server", bootstrap, "--topic", topic, "--group-id", "g",
               "--max-messages", "20", "--verbose")  # fmt: skip
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["name"] for event in said[:2]] == ["startup_complete", "partitions_assigned"]
    assert sorted(int(event["value"]) for event in said if event["name"] == "record_data") == list(range(20))
    assert [event["name"] for event in said[-2:]] == ["partitions_revoked", "shutdown_complete"]
    assert said[-3]["name"] == "offsets_committed" and said[-3]["success"]
    described = run("kafka-consumer-groups.sh", "--bootstrap-server", bootstrap, "--describe", "--group", "g").stdout
    lags = [line.split()[5] for line in described.splitlines() if line.startswith("g ")]
    assert set(lags) == {"0"}  # a partition that no batch went to has no offset


@pytest.mark.parametrize("script", ["kafka-verifiable-producer.sh", "kafka-verifiable-consumer.sh"])
def test_a_signal_ends_a_verifiable_tool_in_order(bootstrap, topic, script):
    extra = ["--throughput", "50"] if "producer" in script else ["--group-id", "g"]
    command = [BIN / script, "--bootstrap-server", bootstrap, "--topic", topic, *extra]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert '"startup_complete"' in process.stdout.readline()
            process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            rest = process.stdout.read().splitlines()
            assert process.wait(TIMEOUT_S) == 128 + signal.SIGTERM
        finally:
            process.kill()
    names = [json.loads(line)["name"] for line in rest]
    assert names[-2:] == (
        ["shutdown_complete", "tool_data"] if "producer" in script else ["partitions_revoked", "shutdown_complete"]
    )


def test_performance_as_comma_separated_values(bootstrap, topic, tmp_path):
    picture = tmp_path / "p.png"
    made = run("kafka-producer-perf-test.sh", "--topic", topic, "--num-records", "3000", "--record-size", "100",
               "--throughput", "2000", "--producer-props", f"bootstrap.servers={bootstrap}", "--csv", "--plot",
               str(picture))  # fmt: skip
    header, *rows = made.stdout.splitlines()
    assert header == CSV_HEADER
    assert len(rows) == 2
    assert sum(int(row.split(",")[1]) for row in rows) == 3000
    assert made.stderr.startswith("3000 records sent, ")
    assert picture.read_bytes().startswith(b"\x89PNG")
    read = run("kafka-consumer-perf-test.sh", "--topic", topic, "--messages", "3000", "--bootstrap-server", bootstrap,
               "--csv")  # fmt: skip
    header, *rows = read.stdout.splitlines()
    assert header == CSV_HEADER
    assert sum(int(row.split(",")[1]) for row in rows) == 3000
    assert read.stderr.startswith("start.time, end.time, ")


def test_the_brokers_own_files_are_dumped(bootstrap, topic, module_broker):
    produce(bootstrap, topic, 10)
    folders = [module_broker.log_dirs[0] / f"{topic}-{number}" for number in range(3)]
    logs = ",".join(str(folder / f"{0:020d}.log") for folder in folders)
    lines = run("kafka-dump-log.sh", "--files", logs, "--print-data-log", "--skip-record-metadata").stdout.splitlines()
    payloads = [line.removeprefix(" payload: ") for line in lines if line.startswith(" payload: ")]
    assert sorted(map(int, payloads)) == list(range(10))
    batches = [line for line in lines if line.startswith("baseOffset: ")]
    assert batches
    assert all(line.endswith(" isvalid: true") for line in batches)


NO_TOOLS = ("kafka-server-start.sh", "kafka-server-stop.sh", "kafka-run-class.sh")
SLOW_TO_IMPORT = ("asyncio", "kafka_py.clients", "kafka_py.records", "kafka_py.wire.messages",
                  "kazoo", "numpy", "pyspark", "ssl")  # fmt: skip


def imported_by(script, *arguments):
    """The names of all modules that the command imports."""
    done = subprocess.run([BIN / script, *arguments], env={**os.environ, "PYTHONPROFILEIMPORTTIME": "1"},
                          capture_output=True, text=True, check=False, timeout=TIMEOUT_S)  # fmt: skip
    rows = [line.rpartition("|") for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {name.strip() for _, _, name in rows}


@pytest.mark.parametrize("script", sorted({path.name for path in BIN.glob("kafka-*.sh")} - {*NO_TOOLS}))
def test_help_imports_nothing_that_takes_long(script):
    """What --help costs is measured by benchmarks; here: that nothing is loaded for it that it does not need."""
    imported = imported_by(script, "--help")
    assert any(name.startswith(("kafka_py.cli", "kafka_py.pipeline")) for name in imported)
    assert [name for name in sorted(imported) if name.startswith(SLOW_TO_IMPORT)] == []


@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        ("kafka-get-offsets.sh", ["--topic", "t"]),
        ("kafka-broker-api-versions.sh", []),
        ("kafka-log-dirs.sh", ["--describe"]),
        ("kafka-delete-records.sh", ["--offset-json-file", "FILE"]),
        ("kafka-cluster.sh", ["cluster-id"]),
    ],
)
def test_without_a_broker_there_is_a_readable_end(script, arguments, tmp_path):
    """The admin client gives up after default.api.timeout.ms."""
    file = tmp_path / "offsets.json"
    file.write_text('{"partitions": [{"topic": "t", "partition": 0, "offset": 1}]}')
    config = tmp_path / "client.properties"
    config.write_text("default.api.timeout.ms=300\nrequest.timeout.ms=200\n")
    arguments = [str(file) if word == "FILE" else word for word in arguments]
    option = "--config" if "cluster" in script else "--command-config"
    done = run(script, *arguments, "--bootstrap-server", NOBODY, option, str(config), fails=True)
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("Error: REQUEST_TIMED_OUT: ")
    assert NOBODY in last or "node -1" in last


def document(script, *arguments, form="json"):
    text = run(script, *arguments, "--output", form).stdout
    return json.loads(text) if form == "json" else yaml.safe_load(text)


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_what_is_listed_and_described_is_a_document_where_one_is_asked_for(bootstrap, topic, form):
    servers = ("--bootstrap-server", bootstrap)
    produce(bootstrap, topic, 30)
    group = f"of-{topic}"
    run("kafka-console-consumer.sh", *servers, "--topic", topic, "--group", group, "--from-beginning", "--max-messages",
        "30")  # fmt: skip
    assert topic in document("kafka-topics.sh", *servers, "--list", form=form)
    [described] = document("kafka-topics.sh", *servers, "--describe", "--topic", topic, form=form)
    assert [(each["partition"], each["leader"], each["isr"]) for each in described["partitions"]] == [
        (number, 0, [0]) for number in range(3)
    ]
    offsets = document("kafka-get-offsets.sh", *servers, "--topic", topic, form=form)
    assert sum(each["offset"] for each in offsets) == 30
    assert {"group": group, "state": "Empty"} in document("kafka-consumer-groups.sh", *servers, "--list", form=form)
    [shown] = document("kafka-consumer-groups.sh", *servers, "--describe", "--group", group, form=form)
    assert (shown["group"], shown["state"], shown["members"]) == (group, "Empty", [])
    assert sum(each["current_offset"] for each in shown["offsets"]) == 30
    assert {each["lag"] for each in shown["offsets"]} == {0}
    [entity] = document("kafka-configs.sh", *servers, "--describe", "--topic", topic, "--all", form=form)
    segment = next(each for each in entity["configs"] if each["name"] == "segment.bytes")
    assert (entity["type"], entity["name"], segment["value"], segment["source"]) == (
        "topics", topic, "1073741824", "DEFAULT_CONFIG",
    )  # fmt: skip
    [broker] = document("kafka-log-dirs.sh", *servers, "--describe", "--topic-list", topic, form=form)["brokers"]
    assert len(broker["logDirs"][0]["partitions"]) == 3
    refused = run("kafka-topics.sh", *servers, "--create", "--topic", "x", "--output", "json", fails=True)
    assert refused.stderr.startswith('Option "[output]" can\'t be used with option "[create]"')
