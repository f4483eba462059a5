"""Tools for clusters (reassignment, elections, views of topics, settings of brokers): Apache's 2.8.2 beside ours.

One play of commands on three brokers is played three times: Apache's tools on our cluster, Apache's tools on an Apache
cluster, and our tools on that Apache cluster. What is the machine's or chance's is blanked, the rest compared line by
line. Every play makes its own topics and deletes them.
"""

import contextlib
import json
import re
import shlex
import subprocess
from typing import NamedTuple

import pytest

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers.apache import ApacheBroker, Result
from kafka_py.testing.processes import ROOT, NotReady, wait_until
from kafka_py.testing.topics import ask_metadata

BROKERS = 3
SETTINGS = {
    "auto.leader.rebalance.enable": "false",
    "inter.broker.protocol.version": "2.6",
    "log.cleaner.dedupe.buffer.size": "2000000",
    "replica.fetch.wait.max.ms": "100",
    "zookeeper.connection.timeout.ms": "60000",
    "zookeeper.session.timeout.ms": "6000",
}
TOPICS = "kafka.admin.TopicCommand"
REASSIGN = "kafka.admin.ReassignPartitionsCommand"
ELECT = "kafka.admin.LeaderElectionCommand"
PREFERRED = "kafka.admin.PreferredReplicaLeaderElectionCommand"
CONFIGS = "kafka.admin.ConfigCommand"
MERGER = "kafka.tools.StateChangeLogMerger"


def plan(*rows):
    """A reassignment file: (topic, partition, replicas[, log_dirs]) rows."""
    names = ("topic", "partition", "replicas", "log_dirs")
    return {"version": 1, "partitions": [dict(zip(names, row, strict=False)) for row in rows]}


FILES = {
    "topics": {"version": 1, "topics": [{"topic": "t1"}, {"topic": "t2"}]},
    "topic": {"version": 1, "topics": [{"topic": "t2"}]},
    "no-topics": {"version": 1, "topics": []},
    "unknown-topic": {"version": 1, "topics": [{"topic": "nope"}]},
    "same-topic": {"version": 1, "topics": [{"topic": "t1"}, {"topic": "t1"}]},
    "plan": plan(("t1", 0, [1, 2]), ("t1", 1, [2, 0]), ("t2", 0, [2, 1])),
    "back": plan(("t1", 0, [0, 1]), ("t1", 1, [1, 2]), ("t2", 0, [0, 1])),
    "zk-other": plan(("t1", 0, [2, 1])),
    "same-replica": plan(("t1", 0, [1, 1])),
    "same-partition": plan(("t1", 0, [1, 2]), ("t1", 0, [2])),
    "empty": plan(),
    "no-replicas": plan(("t1", 0, [])),
    "unknown": plan(("nope", 0, [1])),
    "unknown-partition": plan(("t1", 9, [1])),
    "unknown-broker": plan(("t1", 0, [1, 9])),
    "version": {"version": 2, "partitions": []},
    "no-list": {"version": 1},
    "log-dirs-count": plan(("t1", 0, [1, 2], ["any"])),
    "log-dirs": plan(("t1", 0, [0, 1], ["{b0d2}", "any"])),
    "log-dirs-nowhere": plan(("t1", 0, [0, 1], ["/nowhere", "any"])),
    "election": {"partitions": [{"topic": "t1", "partition": 0}, {"topic": "t1", "partition": 1}]},
    "election-twice": {"partitions": [{"topic": "t1", "partition": 0}, {"topic": "t1", "partition": 0}]},
    "election-none": {"partitions": []},
    "election-nothing": {},
    "election-unknown": {"partitions": [{"topic": "t1", "partition": 0}, {"topic": "nope", "partition": 0}]},
}
LOGS = {
    "l1.log": "[2021-01-01 10:00:00,000] INFO [t1,0] first (x)\n[2021-01-01 10:00:02,000] TRACE [B=1] on [t1, 1] (x)\n"
    "no date [t1,0]\n[2021-01-01 10:00:03,000] INFO nothing\n",
    "l2.log": "[2021-01-01 10:00:01,000] INFO [t1,0] second (x)\n[2021-01-01 10:00:01,500] INFO [t2,0] other\n",
}


class Step(NamedTuple):
    """A command; {boot}, {zk} and the files' names are filled in. until: repeated until its output has this.

    stop, start: a broker that is stopped, or started again, in place of a command.
    """

    name: str
    main_class: str = ""
    arguments: str = ""
    until: str = ""
    stop: int | None = None
    start: int | None = None


class Said(NamedTuple):
    """How a command ended; errors: its messages on stderr, without stack traces."""

    exit_code: int
    lines: list[str]
    errors: list[str]


PLAN = "--reassignment-json-file"
STEPS = [
    Step("create", TOPICS, "{boot} --create --topic t1 --replica-assignment 0:1,1:2,2:0 "
         "--config min.insync.replicas=2"),
    Step("create another", TOPICS, "{boot} --create --topic t2 --replica-assignment 0:1"),
    Step("create one of lone replicas", TOPICS, "{boot} --create --topic lone --replica-assignment 0,2"),
    # reassignment
    Step("generate", REASSIGN, "{boot} --generate --topics-to-move-json-file {topics} --broker-list 1,2"),
    Step("generate by zookeeper", REASSIGN, "{zk} --generate --topics-to-move-json-file {topics} --broker-list 1,2"),
    Step("generate of nothing", REASSIGN, "{boot} --generate --topics-to-move-json-file {no-topics} --broker-list 1"),
    Step("generate twice", REASSIGN, "{boot} --generate --topics-to-move-json-file {same-topic} --broker-list 1,2"),
    Step("generate on brokers twice", REASSIGN, "{boot} --generate --topics-to-move-json-file {topic} "
         "--broker-list 1,2,2"),
    Step("generate on too few", REASSIGN, "{boot} --generate --topics-to-move-json-file {topic} --broker-list 1,9"),
    Step("generate of the unknown", REASSIGN, "{boot} --generate --topics-to-move-json-file {unknown-topic} "
         "--broker-list 1,2"),
    Step("list nothing", REASSIGN, "{boot} --list"),
    Step("verify before", REASSIGN, f"{{boot}} --verify {PLAN} {{plan}}"),
    Step("execute throttled", REASSIGN, f"{{boot}} --execute {PLAN} {{plan}} --throttle 1000000"),
    Step("describe brokers throttled", CONFIGS, "{boot} --describe --entity-type brokers --entity-name 1"),
    Step("describe topics throttled", CONFIGS, "{boot} --describe --entity-type topics --entity-name t1",
         until="follower.replication.throttled.replicas=0:2,1:0"),
    Step("verify and preserve", REASSIGN, f"{{boot}} --verify {PLAN} {{plan}} --preserve-throttles",
         until="t2-0 is complete."),
    Step("verify", REASSIGN, f"{{boot}} --verify {PLAN} {{plan}}", until="Clearing topic-level"),
    Step("describe brokers unthrottled", CONFIGS, "{boot} --describe --entity-type brokers --entity-name 1"),
    Step("describe after the move", TOPICS, "{boot} --describe"),
    Step("cancel what is over", REASSIGN, f"{{boot}} --cancel {PLAN} {{plan}}"),
    Step("execute additionally", REASSIGN, f"{{boot}} --execute {PLAN} {{back}} --additional"),
    Step("verify back", REASSIGN, f"{{boot}} --verify {PLAN} {{back}}", until="Clearing topic-level"),
    *(Step(f"execute {name}", REASSIGN, f"{{boot}} --execute {PLAN} {{{name}}}")
      for name in ("same-replica", "same-partition", "empty", "no-replicas", "unknown", "unknown-partition",
                   "unknown-broker", "version", "no-list", "log-dirs-count")),
    Step("verify the unknown", REASSIGN, f"{{boot}} --verify {PLAN} {{unknown}}"),
    Step("execute an unknown broker by zookeeper", REASSIGN, f"{{zk}} --execute {PLAN} {{unknown-broker}}"),
    Step("execute by zookeeper", REASSIGN, f"{{zk}} --execute {PLAN} {{plan}} --throttle 500000"),
    Step("verify by zookeeper", REASSIGN, f"{{zk}} --verify {PLAN} {{plan}}", until="Clearing topic-level"),
    Step("verify another by zookeeper", REASSIGN, f"{{zk}} --verify {PLAN} {{zk-other}}"),
    Step("execute back by zookeeper", REASSIGN, f"{{zk}} --execute {PLAN} {{back}}"),
    Step("verify back by zookeeper", REASSIGN, f"{{zk}} --verify {PLAN} {{back}}", until="Clearing topic-level"),
    Step("verify log dirs before", REASSIGN, f"{{boot}} --verify {PLAN} {{log-dirs}}"),
    Step("move to another log dir", REASSIGN, f"{{boot}} --execute {PLAN} {{log-dirs}} "
         "--replica-alter-log-dirs-throttle 1000000"),
    Step("verify log dirs", REASSIGN, f"{{boot}} --verify {PLAN} {{log-dirs}}", until="completed successfully"),
    Step("log dirs by zookeeper", REASSIGN, f"{{zk}} --execute {PLAN} {{log-dirs}}"),
    Step("log dirs nowhere", REASSIGN, f"{{boot}} --execute {PLAN} {{log-dirs-nowhere}}"),
    Step("verify log dirs nowhere", REASSIGN, f"{{boot}} --verify {PLAN} {{log-dirs-nowhere}}"),
    # wrong usage
    Step("no action", REASSIGN, f"{{boot}} {PLAN} {{plan}}"),
    Step("two actions", REASSIGN, f"{{boot}} --verify --execute {PLAN} {{plan}}"),
    Step("no plan", REASSIGN, "{boot} --execute"),
    Step("an option of another action", REASSIGN, f"{{boot}} --verify {PLAN} {{plan}} --broker-list 1"),
    Step("cancel by zookeeper", REASSIGN, f"{{zk}} --cancel {PLAN} {{plan}}"),
    Step("additional by zookeeper", REASSIGN, f"{{zk}} --execute {PLAN} {{plan}} --additional"),
    Step("list of no cluster", REASSIGN, "--list"),
    Step("verify of no cluster", REASSIGN, f"--verify {PLAN} {{plan}}"),
    # elections
    *(Step(f"elect {name}", ELECT, f"{{boot}} {arguments}") for name, arguments in (
        ("without a type", ""), ("without partitions", "--election-type preferred"),
        ("without a number", "--election-type preferred --topic t1"),
        ("a number alone", "--election-type preferred --partition 1 --all-topic-partitions"),
        ("two ways", "--election-type preferred --topic t1 --all-topic-partitions"),
        ("needlessly", "--election-type Preferred --topic t1 --partition 0"),
        ("all needlessly", "--election-type unclean --all-topic-partitions"),
        ("the unknown", "--election-type PREFERRED --topic t1 --partition 9"),
        ("twice", "--election-type preferred --path-to-json-file {election-twice}"),
        ("none", "--election-type preferred --path-to-json-file {election-none}"),
        ("nothing", "--election-type preferred --path-to-json-file {election-nothing}"),
    )),
    Step("prefer twice", PREFERRED, "{boot} --path-to-json-file {election-twice}"),
    Step("prefer nothing", PREFERRED, "{boot} --path-to-json-file {election-nothing}"),
    Step("prefer needlessly", PREFERRED, "{boot} --path-to-json-file {election}"),
    Step("prefer in two clusters", PREFERRED, "{boot} {zk}"),
    Step("prefer by zookeeper", PREFERRED, "{zk} --path-to-json-file {election-unknown}"),
    # a broker is down
    Step("stop 0", stop=0),
    Step("describe without 0", TOPICS, "{boot} --describe"),
    Step("describe by zookeeper without 0", TOPICS, "{zk} --describe"),
    *(Step(f"{view} {how}", TOPICS, f"{{{how}}} --describe --{view}-partitions --exclude-internal")
      for view in ("under-replicated", "unavailable", "under-min-isr", "at-min-isr") for how in ("boot", "zk")
      if how == "boot" or "min" not in view),
    Step("elect all without 0", ELECT, "{boot} --election-type preferred --all-topic-partitions"),
    Step("elect two without 0", ELECT, "{boot} --election-type preferred --path-to-json-file {election}"),
    Step("prefer all without 0", PREFERRED, "{boot}"),
    Step("elect uncleanly without 0", ELECT, "{boot} --election-type unclean --topic lone --partition 0"),
    Step("move to 0 that is not there", REASSIGN, f"{{boot}} --execute {PLAN} {{back}}"),
    Step("start 0", start=0),
    Step("describe with 0", TOPICS, "{boot} --describe --topic t1", until="Isr: 0,2"),
    Step("elect all", ELECT, "{boot} --election-type preferred --all-topic-partitions"),
    Step("elect all again", ELECT, "{boot} --election-type preferred --all-topic-partitions"),
    Step("describe balanced", TOPICS, "{boot} --describe"),
    # logs
    Step("merge", MERGER, "--logs {l1.log},{l2.log}"),
    Step("merge a topic", MERGER, "--logs {l1.log},{l2.log} --topic t1"),
    Step("merge a partition", MERGER, "--logs {l1.log},{l2.log} --topic t1 --partitions 0"),
    Step("merge a time", MERGER, "--logs {l1.log},{l2.log} --start-time '2021-01-01 10:00:01,000' "
         "--end-time '2021-01-01 10:00:02,000'"),
    Step("merge without a topic", MERGER, "--logs {l1.log} --partitions 1"),
    Step("merge a partition twice", MERGER, "--logs {l1.log} --topic t --partitions 1,1"),
    Step("merge two ways", MERGER, "--logs {l1.log} --logs-regex {l1.log}"),
    Step("delete", TOPICS, "{boot} --delete --topic t1|t2|lone"),
    Step("list", TOPICS, "{boot} --list"),
]  # fmt: skip
ALL_STEPS = frozenset(step.name for step in STEPS)

CORE = {
    "create", "create another", "verify before", "execute throttled", "verify", "elect needlessly", "elect the unknown",
    "prefer by zookeeper", "describe after the move", "execute by zookeeper", "verify by zookeeper",
}  # fmt: skip
"""The steps of every day; all of them are the slow tests'."""


class Stage:
    """Three brokers of one make, and whose tools are used on them."""

    def __init__(self, brokers, zookeeper_connect, folder, apache_kafka=None):
        """apache_kafka: Apache's tools; None: ours."""
        self.brokers = brokers
        self.zookeeper_connect = zookeeper_connect
        self.jars = apache_kafka
        self.words = {"zk": f"--zookeeper {zookeeper_connect}"}
        second_dir = str(brokers[0].log_dirs[1])
        for name, content in {**FILES, **LOGS}.items():
            path = folder / (name if "." in name else f"{name}.json")
            text = content if isinstance(content, str) else json.dumps(content).replace("{b0d2}", second_dir)
            path.write_text(text)
            self.words[name] = str(path)

    def play(self, names=ALL_STEPS):
        """The named steps in order: what was said, by the name of the step."""
        return {step.name: said for step in STEPS if step.name in names and (said := self._take(step)) is not None}

    def _take(self, step):
        if step.stop is not None:
            self.brokers[step.stop].stop()
            wait_until(lambda: self._live() == BROKERS - 1, 60, "the broker to be gone")
            return None
        if step.start is not None:
            self.brokers[step.start].start(60)
            wait_until(lambda: self._live() == BROKERS and self._is_in_sync(), 60, "the broker to be back")
            return None
        said = [self._run(step)]

        def enough():
            if step.until and step.until not in "\n".join(said[-1].lines):
                said.append(self._run(step))
                return None
            return said[-1]

        try:
            return wait_until(enough, 40)
        except NotReady:
            return said[-1]

    def _live(self):
        running = [broker for broker in self.brokers if broker.running]
        known = {len(ask_metadata(broker.bootstrap).brokers) for broker in running}
        return known.pop() if len(known) == 1 else 0

    def _is_in_sync(self):
        topics = ask_metadata(self.brokers[1].bootstrap, ["t1", "t2", "lone"]).topics
        rows = [row for topic in topics for row in topic.partitions]
        return all(len(row.isr_nodes) == len(row.replica_nodes) and row.leader_id >= 0 for row in rows)

    def _run(self, step):
        running = ",".join(broker.bootstrap for broker in self.brokers if broker.running)
        words = {**self.words, "boot": f"--bootstrap-server {running}"}
        arguments = shlex.split(re.sub(r"{([\w.-]+)}", lambda found: words[found[1]], step.arguments))
        if self.jars:
            result = self.jars.run(step.main_class, *arguments)
        else:
            command = [ROOT / "bin" / "kafka-run-class.sh", step.main_class, *arguments]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
            result = Result(done.returncode, done.stdout, done.stderr)
        return Said(result.exit_code, self._lines(result.stdout), self._errors(result.stderr))

    def _lines(self, text):
        """Without stack traces, and without what the machine or chance decides."""
        for broker in self.brokers:
            for number, path in enumerate(broker.log_dirs):
                text = text.replace(str(path), f"DIR{broker.broker_id}-{number}")
        lines = []
        for line in text.splitlines():
            lines.append(blanked(line))
            if line.startswith("Error: "):
                break  # what follows is the same with a stack trace
        return lines

    @staticmethod
    def _errors(text):
        """The first line that is about what is wrong."""
        lines = [re.sub(r"^Exception in thread \"main\" \S+: ", "", line) for line in text.splitlines()]
        return [line.removeprefix("Error: ") for line in lines if line.strip()][:1]


def blanked(line):
    line = re.sub(r"\tTopicId: \S{22}", "", line)
    line = re.sub(r"(?<=Isr: )[\d,]+", lambda isr: ",".join(sorted(isr[0].split(","))), line)
    line = re.sub(r"(?<=partitions )(HashSet|Set)(?=\()", "Set", line)
    line = re.sub(r"(?<=Exception: )This server does not host this topic-partition\.", "...", line)
    return re.sub(r"(?<=Exception: )unknown: .*|(?<=Exception: )topic or partition .*|(?<=Exception: )\S+: topic or .*",
                  "...", line)  # fmt: skip


@contextlib.contextmanager
def cluster(make, zookeeper, folder):
    """Three brokers of one make, started together."""
    connect = f"{zookeeper.connect}/{folder.name}"
    brokers = [
        make(
            folder / f"broker-{number}", connect, broker_id=number, settings=SETTINGS,
            log_dirs=[folder / f"broker-{number}" / name for name in ("d1", "d2")],
        )
        for number in range(BROKERS)
    ]  # fmt: skip
    try:
        for broker in brokers:
            broker.launch()
        for broker in brokers:
            broker.wait_started(120)
        wait_until(lambda: all(len(ask_metadata(one.bootstrap).brokers) == BROKERS for one in brokers), 60, "a cluster")
        yield brokers, connect
    finally:
        for broker in brokers:
            broker.kill()


@pytest.fixture(scope="module")
def our_cluster(zookeeper, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cluster-of-ours")
    with cluster(BrokerProcess, zookeeper, folder) as (brokers, connect):
        yield brokers, connect, folder


@pytest.fixture(scope="module")
def core(our_cluster, apache_kafka):
    """What Apache's tools say on our cluster, in short."""
    stage = Stage(*our_cluster, apache_kafka)
    said = stage.play(CORE)
    stage.play({"delete"})
    return said


@pytest.fixture(scope="module")
def ours(our_cluster, apache_kafka):
    """What Apache's tools say on our cluster."""
    return Stage(*our_cluster, apache_kafka).play()


@pytest.fixture(scope="module")
def apache_cluster(apache_kafka, zookeeper, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cluster-of-apache")
    with cluster(ApacheBroker, zookeeper, folder) as (brokers, connect):
        yield brokers, connect, folder


@pytest.fixture(scope="module")
def theirs(apache_cluster, apache_kafka):
    """What Apache's tools say on an Apache cluster."""
    return Stage(*apache_cluster, apache_kafka).play()


@pytest.fixture(scope="module")
def ours_on_theirs(theirs, apache_cluster):
    """What our tools say on the same Apache cluster, afterwards."""
    return Stage(*apache_cluster).play()


def test_apaches_tool_moves_partitions_of_our_cluster(core):
    assert core["verify before"].lines[:2] == [
        "Status of partition reassignment:",
        "There is no active reassignment of partition t1-0, but replica set is 0,1 rather than 1,2.",
    ]
    assert core["execute throttled"].lines[-2:] == [
        "The inter-broker throttle limit was set to 1000000 B/s",
        "Successfully started partition reassignments for t1-0,t1-1,t2-0",
    ]
    assert core["verify"].lines == [
        "Status of partition reassignment:",
        "Reassignment of partition t1-0 is complete.",
        "Reassignment of partition t1-1 is complete.",
        "Reassignment of partition t2-0 is complete.",
        "",
        "Clearing broker-level throttles on brokers 0,1,2",
        "Clearing topic-level throttles on topics t1,t2",
    ]
    assert "\tTopic: t1\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2" in core["describe after the move"].lines


def test_apaches_tools_use_the_old_znodes_of_our_cluster(core):
    assert core["execute by zookeeper"].lines[-1] == "Successfully started partition reassignments for t1-0,t1-1,t2-0"
    assert "Reassignment of partition t2-0 is complete." in core["verify by zookeeper"].lines
    assert core["prefer by zookeeper"].lines[-1] == (
        "Skipping preferred replica leader election for partition nope-0 since it doesn't exist."
    )


def test_apaches_tool_elects_leaders_of_our_cluster(core):
    assert core["elect needlessly"] == Said(0, ["Valid replica already elected for partitions "], [])
    assert core["elect the unknown"] == Said(
        1,
        ["Error completing leader election (PREFERRED) for partition: t1-9: "
         "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: The partition does not exist."],
        ["1 replica(s) could not be elected"],
    )  # fmt: skip


COMMANDS = [step.name for step in STEPS if step.main_class]
RANDOM = ("generate", "generate by zookeeper")


def comparable(said, name):
    """Without what may differ: the proposal is drawn by lot, the order of failed elections is a hash map's."""
    lines = said.lines
    if name in RANDOM:
        lines = lines[:-1]
    if name.startswith(("elect", "prefer")):
        lines = sorted(re.sub(r"(?<=for partitions ).*", _sorted_names, line) for line in lines)
    return said._replace(lines=lines)


def _sorted_names(found):
    return ", ".join(sorted(found[0].split(", ")))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", COMMANDS)
def test_apaches_tools_say_the_same_on_both_clusters(ours, theirs, name):
    assert comparable(ours[name], name) == comparable(theirs[name], name)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", COMMANDS)
def test_our_tools_say_what_apaches_say_on_the_same_cluster(ours_on_theirs, theirs, name):
    assert comparable(ours_on_theirs[name], name) == comparable(theirs[name], name)
