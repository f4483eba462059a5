"""Apache's tools for consumer groups and ours say the same, on Apache's broker and on ours.

On each broker one scenario of groups is set up with librdkafka's consumers: a live group of two, a static member,
groups without members. Every command is played by both tools; where it changes something, each has a group of its own
whose name is as long. Partitions, groups and members come in the order of hash maps from the classic, so lines are
compared without their order.
"""

import contextlib
import re
import shlex
import subprocess
from typing import NamedTuple

import pytest
from live_groups import commit, readers

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers.apache import ApacheBroker, Result
from kafka_py.testing.processes import ROOT

GROUPS = "kafka.admin.ConsumerGroupCommand"
CONSOLE = "kafka.tools.ConsoleConsumer"
VERIFIABLE = "org.apache.kafka.tools.VerifiableConsumer"
STREAMS = "kafka.tools.StreamsResetter"
FORMATTERS = "kafka.coordinator.group.GroupMetadataManager$"
BROKER_ID = 3
LONG_TOPIC = "a-topic-whose-name-is-longer-than-a-column"
TOPICS = {"one": 2, "two": 3, LONG_TOPIC: 1}
"""How many partitions each has."""
FIRST_COUNT = 10
COUNTS = {(topic, each): FIRST_COUNT + each for topic, partitions in TOPICS.items() for each in range(partitions)}
"""Records in partition 0, and one more in each that follows."""
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r'(?<="timestamp":)\d+')
SECOND_MS = 1000
FIRST_MS = 1_600_000_000_000
OLD_CSV = "one,0,4\ntwo,1,999\n"
NEW_CSV = "{me}-csv,one,0,1\nother,one,0,2\n"


class Step(NamedTuple):
    """A command line of a tool; {me} and {folder} are filled in. said: what both must have in their output."""

    arguments: str
    said: str = ""
    tool: str = GROUPS


LIVE = [
    Step("--describe --group live", "live            one             0"),
    Step("--describe --group live --offsets --verbose"),
    Step("--describe --group live --members", "#PARTITIONS"),
    Step("--describe --group live --members --verbose", ", two("),
    Step("--describe --group live --state", "Stable          2"),
    Step("--describe --group static --members --verbose", "GROUP-INSTANCE-ID"),
    Step("--describe --group live --group nobody", "Error: Consumer group 'nobody' does not exist."),
    Step("--describe --group nobody --members"),
    Step("--describe --group nobody --state"),
    Step("--list --state Stable", "STATE"),
    Step("--delete --group live", "GroupNotEmptyException: The group is not empty."),
    Step("--delete --group live --group nobody", "GroupIdNotFoundException"),
    Step("--delete-offsets --group live --topic one", "GroupSubscribedToTopicException"),
    Step("--delete-offsets --group live --topic nowhere"),
    Step("--reset-offsets --group live --to-earliest --topic one --execute", "but the current state is Stable."),
]  # fmt: skip
"""While the groups have members."""

RESETS = [
    "--to-earliest --topic one", "--to-latest --all-topics", "--to-offset 5 --topic one:0",
    "--to-offset 500 --topic two", "--to-offset -5 --topic one:0,1", "--shift-by -2 --topic one",
    "--shift-by 1 --topic one --topic two", "--to-current --topic one --topic two:2",
    "--to-datetime 2020-09-13T12:26:45.000 --topic one", "--to-datetime 2020-09-13T12:26:45.000+01:00 --topic one",
    "--to-datetime 2020-09-13T12:26:45.500Z --topic one", "--to-datetime 2090-09-13T12:26:45.000 --topic one",
    "--to-datetime 2020-09-13 --topic one", "--to-datetime 2020-09-13T12:26:45 --topic one",
    "--by-duration P1D --topic one", "--by-duration P10000DT1H --topic one", "--by-duration PT-1.5S --topic one",
    "--by-duration P1Y --topic one", "--by-duration PT --topic one", "--from-file {folder}/old.csv",
    "--from-file {folder}/none.csv", "--to-earliest --topic nowhere", "--to-earliest --topic one:77",
    "--to-earliest --topic one:x", "--to-earliest --topic one --export",
    f"--to-earliest --topic {LONG_TOPIC} --export", f"--to-earliest --topic {LONG_TOPIC}",
]  # fmt: skip

EMPTY = [
    Step("--describe --group empty", "empty           one             1          11              11              0"),
    Step("--describe --group empty --members"),
    Step("--describe --group empty --state", "Empty           0"),
    Step("--describe --group a-group-with-a-long-name"),
    Step("--describe --group empty --group live"),
    Step("--list --state Empty,Dead"),
    Step("--list --state Dead"),
    Step("--list"),
    *(Step(f"--reset-offsets --group empty --dry-run {scenario}") for scenario in RESETS),
    Step("--reset-offsets --group fresh --to-current --all-topics --dry-run"),
    Step("--reset-offsets --group empty --group {me}-csv --from-file {folder}/{me}.csv --dry-run"),
    Step("--reset-offsets --group empty --group {me}-csv --to-current --all-topics --export --dry-run"),
    Step("--reset-offsets --group {me}-csv --to-earliest --topic one --execute"),
    Step("--describe --group {me}-csv"),
    Step("--reset-offsets --group {me}-csv --to-latest --topic two:1 --execute --export"),
    Step("--reset-offsets --group {me}-new --to-earliest --topic one --execute"),
    Step("--describe --group {me}-new"),
    Step("--delete-offsets --group {me}-new --topic one:0,1 --topic nowhere"),
    Step("--delete-offsets --group {me}-new --topic one"),
    Step("--delete-offsets --group {me}-csv --topic one:0", "one                            0               Success"),
    Step("--describe --group {me}-csv"),
    Step("--delete --group {me}-csv --group nobody", "These consumer groups were deleted successfully: '"),
    Step("--delete --group {me}-del", "was successful."),
    Step("--delete --group {me}-del"),
    Step(f"--topic {LONG_TOPIC} --group {{me}}-con --from-beginning --max-messages 7", tool=CONSOLE),
    Step("--describe --group {me}-con", "7               10              3"),
    Step(f"--topic {LONG_TOPIC} --consumer-property group.id={{me}}-con --max-messages 3", tool=CONSOLE),
    Step("--describe --group {me}-con", "10              10              0"),
    Step(f"--topic {LONG_TOPIC} --group-id {{me}}-ver --max-messages 4 --verbose", '"offset":4', VERIFIABLE),
    Step("--describe --group {me}-ver", "4               10              6"),
    Step(f"--topic {LONG_TOPIC} --group-id {{me}}-ver --max-messages 6 --enable-autocommit", tool=VERIFIABLE),
    Step("--application-id empty --input-topics one,nowhere --intermediate-topics two,gone --to-offset 5 --dry-run",
         "Topic:gone", STREAMS),
    Step("--application-id empty --input-topics two --shift-by 1 --dry-run", tool=STREAMS),
    Step("--application-id empty --input-topics one --from-file {folder}/old-one.csv --dry-run", tool=STREAMS),
    Step("--application-id empty --dry-run", "No input or intermediate topics specified.", STREAMS),
    Step("--application-id {me}-app --input-topics one --intermediate-topics two", "Done.", STREAMS),
    Step("--describe --group {me}-app"),
    *(Step(f"--topic __consumer_offsets --partition 0 --offset earliest --timeout-ms 4000 --formatter {formatter}",
           "live", CONSOLE)
      for formatter in (f"'{FORMATTERS}OffsetsMessageFormatter'", f"'{FORMATTERS}GroupMetadataMessageFormatter'")),
]  # fmt: skip
"""When nobody is a member any more."""

USAGE = [
    Step(arguments)
    for arguments in (
        "", "--list --describe", "--describe", "--describe --group g --members --state",
        "--describe --group g --state Stable", "--delete", "--delete --group g --topic t", "--delete-offsets --group g",
        "--reset-offsets --dry-run", "--reset-offsets --group g --dry-run --execute",
        "--reset-offsets --group g --to-earliest --to-latest --dry-run --topic t",
        "--reset-offsets --group g --to-earliest --dry-run", "--list --group g", "--list --topic t",
        "--describe --group g --all-groups", "--describe --group g --topic t", "--list --state stable",
    )
]  # fmt: skip
"""Wrong, whatever there is on the cluster: the first line on stderr is compared too."""


class Said(NamedTuple):
    exit_code: int
    lines: list[str]
    problem: str


class Stage:
    """A broker on which both tools are played."""

    def __init__(self, broker, folder, jars):
        self.broker = broker
        self.folder = folder
        self.jars = jars
        (folder / "old.csv").write_text(OLD_CSV)
        (folder / "old-one.csv").write_text("one,0,4\none,1,99\n")
        for me in ("ours", "them"):
            (folder / f"{me}.csv").write_text(NEW_CSV.format(me=me))

    def prepare(self):
        """Topics with records a second apart, offsets of groups without members."""
        boot = self.broker.bootstrap
        for topic, partitions in TOPICS.items():
            self.broker.create_topic(topic, partitions, {"retention.ms": "-1"})
        fill(boot)
        commit(boot, "empty", ("one", 0, 3), ("one", 1, 11))
        commit(boot, "a-group-with-a-long-name", (LONG_TOPIC, 0, 3))
        for me in ("ours", "them"):
            commit(boot, f"{me}-csv", ("one", 0, 2), ("two", 1, 0))
            commit(boot, f"{me}-del", ("one", 0, 2))

    def play(self, steps):
        """What each tool says: arguments to (ours, Apache's)."""
        return {step: (self._run(step, "ours"), self._run(step, "them")) for step in steps}

    def _run(self, step, me):
        filled = step.arguments.format(me=me, folder=self.folder)
        option = "--bootstrap-servers" if step.tool == STREAMS else "--bootstrap-server"
        arguments = [option, self.broker.bootstrap, *shlex.split(filled)]
        if me == "them":
            result = self.jars.run(step.tool, *arguments)
        else:
            command = [ROOT / "bin" / "kafka-run-class.sh", step.tool, *arguments]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
            result = Result(done.returncode, done.stdout, done.stderr)
        text = result.stdout.replace(self.broker.bootstrap, "BOOT").replace(str(self.folder), "FOLDER")
        if "{me}" in step.arguments:
            text = text.replace(f"{me}-", "mine-")
        return Said(result.exit_code, text.splitlines(), (result.stderr.splitlines() or [""])[0])


def fill(bootstrap):
    """Records a second apart, as many as COUNTS says."""
    import confluent_kafka

    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap})
    for (topic, partition), count in COUNTS.items():
        for number in range(count):
            producer.produce(topic, b"v", partition=partition, timestamp=FIRST_MS + number * SECOND_MS)
    assert producer.flush(30) == 0


@contextlib.contextmanager
def played(broker, folder, jars):
    """All that is said on a broker, step by step."""
    with broker:
        stage = Stage(broker, folder, jars)
        stage.prepare()
        boot = broker.bootstrap
        two = ({"client_id": "c-1"}, {"client_id": "a-much-longer-client-id"})
        with (
            readers(boot, "live", ["one", "two"], *two) as live,
            readers(boot, "static", ["two"], {"group_instance_id": "instance-1", "client_id": "s"}),
        ):
            for reader in live:
                reader.has_read(COUNTS).commit()
            said = stage.play(LIVE)
        said |= stage.play(EMPTY)
        if isinstance(broker, ApacheBroker):
            said |= stage.play(USAGE)
        yield said


@pytest.fixture(scope="module")
def on_apache(apache_kafka, zookeeper, tmp_path_factory):
    """What both tools say on an Apache broker."""
    folder = tmp_path_factory.mktemp("groups-on-apache")
    connect = f"{zookeeper.connect}/{folder.name}"
    with played(ApacheBroker(folder / "broker", connect, broker_id=BROKER_ID), folder, apache_kafka) as said:
        yield said


@pytest.fixture(scope="module")
def on_ours(apache_kafka, zookeeper, tmp_path_factory):
    """What both tools say on our broker."""
    folder = tmp_path_factory.mktemp("groups-on-ours")
    connect = f"{zookeeper.connect}/{folder.name}"
    with played(BrokerProcess(folder / "broker", connect, broker_id=BROKER_ID), folder, apache_kafka) as said:
        yield said


def unordered(said):
    """The answer without the order of its lines and without what no two runs have in common."""
    lines = [UUID.sub("UUID", line) for line in said.lines]
    return said.exit_code, sorted(TIME.sub("TIME", line) for line in lines)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("step", [*LIVE, *EMPTY], ids=lambda step: step.arguments)
def test_all_say_the_same_whosever_the_tool_and_the_broker_are(on_apache, on_ours, step):
    classic = on_apache[step][1]
    assert step.said in "\n".join(classic.lines)
    for ours, theirs in (on_apache[step], on_ours[step]):
        assert unordered(ours) == unordered(theirs)
        if FORMATTERS in step.arguments:
            assert ours.lines == theirs.lines  # in order, with every time and id
        else:
            assert unordered(theirs) == unordered(classic)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("step", USAGE, ids=lambda step: step.arguments)
def test_both_tools_refuse_wrong_usage_with_the_same_words(on_apache, step):
    ours, theirs = on_apache[step]
    assert (ours.exit_code, ours.lines, ours.problem) == (theirs.exit_code, theirs.lines, theirs.problem) != (0, [], "")
