"""Our commands beside Apache's own, on one broker: the same arguments give the same output and exit code.

`@` in an argument stands for a letter of the side, so that each makes topics of its own; it is taken out again before
the outputs are compared. Messages that are in our own words are left out here.
"""

import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

BIN = Path(__file__).resolve().parents[3] / "bin"

CLASSES = {
    "kafka-topics.sh": "kafka.admin.TopicCommand",
    "kafka-console-producer.sh": "kafka.tools.ConsoleProducer",
    "kafka-console-consumer.sh": "kafka.tools.ConsoleConsumer",
}

TOPICS = [
    "",
    "--list",
    "{boot} --create --topic @-a --partitions 2 --config segment.bytes=1048576 --config cleanup.policy=compact,delete",
    "{boot} --create --topic @-a",
    "{boot} --create --topic @-a --if-not-exists",
    "{boot} --create --topic @-b --replica-assignment 0,0,0",
    "{boot} --create --topic @-c --partitions 0",
    "{boot} --create --topic @-c --replication-factor 0",
    "{boot} --create --topic @-c --replication-factor 2",
    "{boot} --create --topic @-c --config nope=1",
    "{boot} --create --topic @-c --replica-assignment 0:0",
    "{boot} --alter --topic @-a --partitions 3",
    "{boot} --alter --topic @-a --partitions 3",
    "{boot} --alter --topic @-nope --partitions 3",
    "{boot} --alter --topic @-nope --partitions 3 --if-exists",
    "{boot} --describe --topic @-a",
    "{boot} --describe --topic @-b",
    "{boot} --describe --topic @-[ab] --topics-with-overrides",
    "{boot} --describe --topic @-a --at-min-isr-partitions",
    "{boot} --describe --topic @-a --under-replicated-partitions",
    "{boot} --list --topic @-b,@-a,@-nope",
    "{boot} --delete --topic @-a",
    "{boot} --delete --topic @-a",
    "{boot} --describe --if-exists",
    "{zk} --create --topic @-z --partitions 1 --replication-factor 1 --config flush.ms=5",
    "{zk} --alter --topic @-z --partitions 2 --config retention.ms=7 --delete-config flush.ms",
    "{zk} --describe --topic @-z",
    "{zk} --describe --topic @-z --unavailable-partitions",
    "{zk} --create --topic @-z --partitions 0 --replication-factor 1 --if-exists",
    "{zk} --delete --topic @-z,@-b",
]

CONSOLE = [
    ("kafka-console-producer.sh", "{boot} --topic @-lines", "one\ntwo\n\nk\tv\nlast"),
    ("kafka-console-producer.sh", "{boot} --topic @-lines --property parse.key=true --property key.separator==",
     "a=1\nb=2=3\n"),
    ("kafka-console-producer.sh", "{boot} --topic @-lines --property parse.key=true", "nokey\n"),
    ("kafka-console-producer.sh", "{boot} --topic @-lines --compression-codec --sync", "packed\n"),
    ("kafka-console-consumer.sh", "{boot} --topic @-lines --partition 0 --from-beginning --max-messages 8", ""),
    ("kafka-console-consumer.sh", "{boot} --topic @-lines --partition 0 --offset 4 --max-messages 3 "
     "--property print.key=true --property print.offset=true --property print.partition=true "
     "--property print.headers=true --property null.literal=NIL --property line.separator=;", ""),
    ("kafka-console-consumer.sh", "{boot} --topic @-lines --partition 0 --from-beginning --max-messages 1 "
     "--formatter kafka.tools.NoOpMessageFormatter --enable-systest-events", ""),
    ("kafka-console-consumer.sh", "{boot} --topic @-lines --partition 0 --from-beginning --max-messages 1 "
     "--value-deserializer org.apache.kafka.common.serialization.LongDeserializer", ""),
    ("kafka-console-consumer.sh", "{boot} --topic @-lines --partition 0 --offset -3", ""),
]  # fmt: skip


class Both:
    """The two sides on one broker."""

    def __init__(self, broker, apache_kafka):
        self.broker = broker
        self.apache_kafka = apache_kafka

    def check(self, script, line, stdin=""):
        line = line.format(
            boot=f"--bootstrap-server {self.broker.bootstrap}",
            zk=f"--zookeeper {self.broker.properties['zookeeper.connect']}",
        )
        theirs = self.apache_kafka.run(CLASSES[script], *line.replace("@", "j").split(), stdin=stdin)
        ours = subprocess.run(
            [BIN / script, *line.replace("@", "p").split()],
            input=stdin, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert ours.returncode == theirs.exit_code, (ours, theirs)
        rows, expected = _comparable(ours.stdout, "p"), _comparable(theirs.stdout, "j")
        if "[" in line:  # of several topics, which theirs describe in the order of a hash table
            rows, expected = sorted(rows, key=str), sorted(expected, key=str)
        assert rows == expected, (line, ours.stderr, theirs.stderr)


def _comparable(output, side):
    return [_comparable_line(line) for line in output.replace(f"{side}-", "@-").splitlines()]


def _comparable_line(line):
    if line.startswith("WARNING: Due to limitations"):
        return "WARNING"  # what follows is in our own words
    fields = [field for field in line.split("\t") if not field.startswith("TopicId: ")]
    # Theirs come in the order of a hash table.
    return [sorted(field.removeprefix("Configs: ").split(",")) if "Configs: " in field else field for field in fields]


def test_the_topics_command(module_broker, apache_kafka):
    both = Both(module_broker, apache_kafka)
    for line in TOPICS:
        both.check("kafka-topics.sh", line)


def test_the_console_commands(module_broker, apache_kafka):
    both = Both(module_broker, apache_kafka)
    for script, line, stdin in CONSOLE:
        both.check(script, line, stdin)
