"""Apache's 2.8.2 command line tools work on our broker, and say what they say on Apache's own; so do our tools.

One scenario of commands is played three times: Apache's tools on our broker, Apache's tools on an Apache broker, and
our tools of the same names on that Apache broker. What is the machine's or the moment's (addresses, folders, ids,
times, rates) is blanked; the rest is compared line by line.
"""

import contextlib
import json
import re
import shlex
import subprocess
from typing import NamedTuple

import pytest

from kafka_py.cli.run_class import CLASSES
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers.apache import LEAST_CLEANER_BYTES, ApacheBroker, Result
from kafka_py.testing.processes import ROOT, NotReady, wait_until

BROKER_ID = 3
SETTINGS = {
    "log.cleaner.dedupe.buffer.size": LEAST_CLEANER_BYTES,
    "zookeeper.connection.timeout.ms": "60000",
    "zookeeper.session.timeout.ms": "6000",
}
TOPICS = "kafka.admin.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
OFFSETS = "kafka.tools.GetOffsetShell"


class Step(NamedTuple):
    """A command; {boot}, {zk} and {folder} are filled in. until: repeated until this appears in its output."""

    name: str
    main_class: str
    arguments: str
    stdin: str = ""
    until: str = ""


class Said(NamedTuple):
    """How a command ended; errors: its messages on stderr, without stack traces."""

    exit_code: int
    lines: list[str]
    errors: list[str]


STEPS = [
    Step("create", TOPICS, "--bootstrap-server {boot} --create --topic orders --partitions 3 "
         "--config segment.bytes=100000 --config retention.ms=100000000000"),
    Step("create again", TOPICS, "--bootstrap-server {boot} --create --topic orders"),
    Step("create if not exists", TOPICS, "--bootstrap-server {boot} --create --topic orders --if-not-exists"),
    Step("create by zookeeper", TOPICS, "--zookeeper {zk} --create --topic by.zookeeper --partitions 2 "
         "--replication-factor 1 --config cleanup.policy=compact"),
    Step("create as assigned", TOPICS, "--bootstrap-server {boot} --create --topic lines --replica-assignment 3"),
    Step("create with too many replicas", TOPICS, "--bootstrap-server {boot} --create --topic no "
         "--replication-factor 3"),
    Step("create with an unknown config", TOPICS, "--bootstrap-server {boot} --create --topic no --config nope=1"),
    Step("alter partitions", TOPICS, "--bootstrap-server {boot} --alter --topic orders --partitions 4"),
    Step("alter partitions by zookeeper", TOPICS, "--zookeeper {zk} --alter --topic by.zookeeper --partitions 3"),
    Step("alter config by zookeeper", TOPICS, "--zookeeper {zk} --alter --topic by.zookeeper "
         "--config max.message.bytes=5000"),
    Step("list", TOPICS, "--bootstrap-server {boot} --list"),
    Step("list by zookeeper", TOPICS, "--zookeeper {zk} --list"),
    Step("describe", TOPICS, "--bootstrap-server {boot} --describe", until="max.message.bytes=5000"),
    Step("describe by zookeeper", TOPICS, "--zookeeper {zk} --describe"),
    Step("describe by pattern", TOPICS, "--bootstrap-server {boot} --describe --topic o.*"),
    Step("describe overrides", TOPICS, "--bootstrap-server {boot} --describe --topics-with-overrides"),
    Step("describe under-replicated", TOPICS, "--bootstrap-server {boot} --describe --under-replicated-partitions"),
    Step("describe what is not there", TOPICS, "--bootstrap-server {boot} --describe --topic nope"),
    Step("configs of a topic", CONFIGS, "--bootstrap-server {boot} --describe --topic orders"),
    Step("configs of a broker", CONFIGS, "--bootstrap-server {boot} --describe --broker 3"),
    Step("configs by zookeeper", CONFIGS, "--zookeeper {zk} --describe --entity-type topics --entity-name orders"),
    Step("all configs of a topic", CONFIGS, "--bootstrap-server {boot} --describe --all --topic orders"),
    Step("all configs of a broker", CONFIGS, "--bootstrap-server {boot} --describe --all --broker 3"),
    Step("api versions", "kafka.admin.BrokerApiVersionsCommand", "--bootstrap-server {boot}"),
    Step("produce", "kafka.tools.ConsoleProducer", "--bootstrap-server {boot} --topic lines --compression-codec gzip "
         "--property parse.key=true --property key.separator=:", stdin="k1:one\nk2:two\nk3:\n:four\n"),
    Step("log dirs", "kafka.admin.LogDirsCommand", "--bootstrap-server {boot} --describe"),
    Step("log dirs of a topic", "kafka.admin.LogDirsCommand", "--bootstrap-server {boot} --describe "
         "--topic-list orders --broker-list 3"),
    Step("consume", "kafka.tools.ConsoleConsumer", "--bootstrap-server {boot} --topic lines --partition 0 "
         "--offset earliest --max-messages 4 --property print.key=true --property print.offset=true "
         "--property print.partition=true --property print.timestamp=true --property print.headers=true"),
    Step("consume from an offset", "kafka.tools.ConsoleConsumer", "--bootstrap-server {boot} --topic lines "
         "--partition 0 --offset 2 --max-messages 2 --isolation-level read_committed"),
    Step("verifiable producer", "org.apache.kafka.tools.VerifiableProducer", "--bootstrap-server {boot} "
         "--topic lines --max-messages 5 --value-prefix 7 --acks -1"),
    Step("producer perf", "org.apache.kafka.tools.ProducerPerformance", "--topic lines --num-records 1000 "
         "--record-size 100 --throughput -1 --producer-props bootstrap.servers={boot} acks=all"),
    Step("latest offsets", OFFSETS, "--broker-list {boot} --topic lines"),
    Step("earliest offsets", OFFSETS, "--broker-list {boot} --topic orders --time -2"),
    Step("offsets by time", OFFSETS, "--broker-list {boot} --topic lines --time 1000"),
    Step("offsets of some partitions", OFFSETS, "--broker-list {boot} --topic orders --partitions 0,2"),
    Step("offsets of an unknown topic", OFFSETS, "--broker-list {boot} --topic nope"),
    Step("delete records", "kafka.admin.DeleteRecordsCommand", "--bootstrap-server {boot} "
         "--offset-json-file {folder}/delete-records.json"),
    Step("offsets after the deletion", OFFSETS, "--broker-list {boot} --topic lines --time -2"),
    Step("delete", TOPICS, "--bootstrap-server {boot} --delete --topic orders|lines"),
    Step("delete by zookeeper", TOPICS, "--zookeeper {zk} --delete --topic by.zookeeper"),
    Step("delete what is not there", TOPICS, "--bootstrap-server {boot} --delete --topic nope"),
    Step("list the rest", TOPICS, "--bootstrap-server {boot} --list"),
]  # fmt: skip
ALL_STEPS = frozenset(step.name for step in STEPS)
DELETE_RECORDS = {"partitions": [{"topic": "lines", "partition": 0, "offset": 3}], "version": 1}

BLANKS = [
    (re.compile(r"(?<=TopicId: )\S{22}"), "ID"),
    (re.compile(r'(?<="timestamp":)\d+'), "TIME"),
    (re.compile(r"(?<=CreateTime:)\d{13}"), "TIME"),
    (re.compile(r'(?<="avg_throughput":)[\d.E]+'), "RATE"),
    (re.compile(r'(?<="size":)[1-9]\d*'), "1"),  # every compressor has its own idea
    (re.compile(r"(?<=records sent, ).*"), "RATES"),
    (re.compile(r"^\[[\d :,-]+\] "), ""),
    (re.compile(r"(?<=^WARNING: Due to limitations in metric names).*"), "..."),
]


CORE = {
    "create", "create by zookeeper", "create as assigned", "describe by pattern", "configs of a topic", "api versions",
    "produce", "log dirs", "consume", "verifiable producer", "producer perf", "latest offsets", "delete records",
    "delete",
}  # fmt: skip
"""The steps of every day; all of them are the slow tests'."""


class Stage:
    """A cluster of one and whose tools are used on it."""

    def __init__(self, broker, zookeeper_connect, folder, apache_kafka=None):
        """apache_kafka: Apache's tools; None: ours."""
        self.broker = broker
        self.jars = apache_kafka
        self.words = {"boot": broker.bootstrap, "zk": zookeeper_connect, "folder": str(folder)}
        (folder / "delete-records.json").write_text(json.dumps(DELETE_RECORDS))

    def play(self, names=ALL_STEPS):
        """The named steps in order: what was said, by the name of the step."""
        can = [step for step in STEPS if step.name in names and (self.jars or step.main_class in CLASSES)]
        return {step.name: self._take(step) for step in can}

    def _take(self, step):
        said = [self._run(step)]

        def enough():
            if step.until and step.until not in "\n".join(said[-1].lines):
                said.append(self._run(step))
                return None
            return said[-1]

        try:
            return wait_until(enough, 30)
        except NotReady:
            return said[-1]

    def _run(self, step):
        arguments = shlex.split(step.arguments.format(**self.words))
        if self.jars:
            result = self.jars.run(step.main_class, *arguments, stdin=step.stdin)
        else:
            command = [ROOT / "bin" / "kafka-run-class.sh", step.main_class, *arguments]
            done = subprocess.run(command, input=step.stdin, capture_output=True, text=True, timeout=60, check=False)
            result = Result(done.returncode, done.stdout, done.stderr)
        errors = [line for line in self._blanked(result.stderr) if line.strip() and not line.startswith("\tat ")]
        return Said(result.exit_code, self._blanked(result.stdout), errors)

    def _blanked(self, text):
        for own, blank in (
            (str(self.broker.log_dirs[0]), "DIR"), (self.words["zk"], "ZK"), (self.broker.bootstrap, "BOOT"),
        ):  # fmt: skip
            text = text.replace(own, blank)
        lines = text.splitlines()
        for pattern, blank in BLANKS:
            lines = [pattern.sub(blank, line) for line in lines]
        return lines


@contextlib.contextmanager
def our_stage(apache_kafka, zookeeper, folder):
    connect = f"{zookeeper.connect}/{folder.name}"
    with BrokerProcess(folder / "broker", connect, broker_id=BROKER_ID, settings=SETTINGS) as broker:
        yield Stage(broker, connect, folder, apache_kafka)


@pytest.fixture(scope="module")
def core(apache_kafka, zookeeper, tmp_path_factory):
    """What Apache's tools say on our broker, in short."""
    with our_stage(apache_kafka, zookeeper, tmp_path_factory.mktemp("core")) as stage:
        yield stage.play(CORE)


@pytest.fixture(scope="module")
def ours(apache_kafka, zookeeper, tmp_path_factory):
    """What Apache's tools say on our broker."""
    with our_stage(apache_kafka, zookeeper, tmp_path_factory.mktemp("tools-on-ours")) as stage:
        yield stage.play()


@pytest.fixture(scope="module")
def apache_stage(apache_kafka, zookeeper, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tools-on-apache")
    connect = f"{zookeeper.connect}/tools-on-apache"
    with ApacheBroker(folder / "broker", connect, broker_id=BROKER_ID, settings=SETTINGS) as broker:
        yield Stage(broker, connect, folder, apache_kafka), Stage(broker, connect, folder)


@pytest.fixture(scope="module")
def theirs(apache_stage):
    """What Apache's tools say on an Apache broker."""
    return apache_stage[0].play()


@pytest.fixture(scope="module")
def ours_on_theirs(theirs, apache_stage):
    """What our tools say on the same Apache broker, afterwards."""
    return apache_stage[1].play()


def as_set(said):
    """For what comes in the order of a hash map: lines in order, and settings in order on a line."""
    lines = [line.partition("Configs: ") for line in said.lines]
    return said._replace(lines=sorted((start, sorted(settings.split(","))) for start, _, settings in lines))


LATER = ("\tUNKNOWN(65): 0", "\tUNKNOWN(66): 0 to 1")
UNORDERED = ("all configs of a topic", "all configs of a broker", "describe", "describe by zookeeper")


def comparable(said, name):
    if name.startswith("log dirs"):
        *lines, told = said.lines
        told = json.loads(told)
        for log_dir in told["brokers"][0]["logDirs"]:
            log_dir["partitions"].sort(key=lambda entry: entry["partition"])
        return said._replace(lines=[*lines, told])
    if name == "api versions":  # ours has two APIs more, which are unknown to tools of 2.8.2
        return said._replace(lines=[line.rstrip(",") for line in said.lines if not line.startswith(LATER)])
    if name == "verifiable producer":  # Java finds the members of an object in any order
        return said._replace(lines=[json.loads(line) for line in _valid_json(said.lines)])
    return as_set(said) if name in UNORDERED else said


def _valid_json(lines):
    """The lines of the verifiable tools, with numbers where blanks took the place of times and rates."""
    return [line.replace(":TIME", ":0").replace(":RATE", ":0") for line in lines]


def test_topics_are_made_described_and_deleted(core):
    assert core["create"] == Said(0, ["Created topic orders."], [])
    assert core["create by zookeeper"].lines[1:] == ["Created topic by.zookeeper."]
    assert core["create as assigned"] == Said(0, ["Created topic lines."], [])
    assert core["describe by pattern"].lines == [
        "Topic: orders\tTopicId: ID\tPartitionCount: 3\tReplicationFactor: 1\t"
        "Configs: segment.bytes=100000,retention.ms=100000000000",
        *(f"\tTopic: orders\tPartition: {number}\tLeader: 3\tReplicas: 3\tIsr: 3" for number in range(3)),
    ]
    assert core["delete"] == Said(0, [], [])


def test_configs_and_api_versions_are_described(core):
    assert core["configs of a topic"].lines == [
        "Dynamic configs for topic orders are:",
        "  segment.bytes=100000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:segment.bytes=100000, "
        "DEFAULT_CONFIG:log.segment.bytes=1073741824}",
        "  retention.ms=100000000000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=100000000000}",
    ]
    lines = core["api versions"].lines
    assert lines[0] == "BOOT (id: 3 rack: null) -> ("
    assert "\tFetch(1): 0 to 12 [usable: 12]," in lines
    assert "UNSUPPORTED" not in "".join(lines)


def test_records_go_in_and_out(core):
    assert core["produce"].exit_code == 0
    assert core["consume"] == Said(
        0,
        [
            "CreateTime:TIME\tPartition:0\tOffset:0\tNO_HEADERS\tk1\tone",
            "CreateTime:TIME\tPartition:0\tOffset:1\tNO_HEADERS\tk2\ttwo",
            "CreateTime:TIME\tPartition:0\tOffset:2\tNO_HEADERS\tk3\t",
            "CreateTime:TIME\tPartition:0\tOffset:3\tNO_HEADERS\t\tfour",
        ],
        ["Processed a total of 4 messages"],
    )
    lines = _valid_json(core["verifiable producer"].lines)
    verified = [json.loads(line) for line in lines]
    sent = [line for line in verified if line["name"] == "producer_send_success"]
    assert [(line["value"], line["offset"]) for line in sent] == [(f"7.{number}", 4 + number) for number in range(5)]
    assert verified[-1]["acked"] == 5
    assert core["producer perf"].lines[-1] == "1000 records sent, RATES"


def test_offsets_and_log_dirs_are_told(core):
    assert core["latest offsets"].lines == ["lines:0:1009"]
    [broker] = json.loads(core["log dirs"].lines[-1])["brokers"]
    [log_dir] = broker["logDirs"]
    sizes = {entry["partition"]: entry["size"] for entry in log_dir["partitions"]}
    assert (broker["broker"], log_dir["logDir"], log_dir["error"]) == (3, "DIR", None)
    assert len(sizes) == 6
    assert sizes["orders-0"] == 0 < sizes["lines-0"]


def test_records_are_deleted(core):
    assert core["delete records"].lines[-1] == "partition: lines-0\tlow_watermark: 3"


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", [step.name for step in STEPS])
def test_apaches_tools_say_the_same_on_both_brokers(ours, theirs, name):
    assert comparable(ours[name], name) == comparable(theirs[name], name)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", [step.name for step in STEPS if step.main_class in CLASSES])
def test_our_tools_say_what_apaches_say_on_the_same_cluster(ours_on_theirs, theirs, name):
    mine, classic = comparable(ours_on_theirs[name], name), comparable(theirs[name], name)
    assert (mine.exit_code, mine.lines) == (classic.exit_code, classic.lines)
