"""One cluster of kafka_py's and Apache Kafka 2.8.2's brokers: each copies from the other, whoever is the controller.

inter.broker.protocol.version is 2.6, where leaders write in-sync sets to ZooKeeper, and once 2.8, where Apache's ask
the controller to (KIP-497) and followers truncate on fetch (KIP-595).
"""

import contextlib
import io
import json
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import pytest
from acknowledged import Load, Peek, bootstrap_of, check_replica, check_replicas, log_bytes, until
from transactional_load import TransactionalWriter, check_whole, end, read_committed, wait_progress

from kafka_py.cli import dump_log
from kafka_py.clients import AdminClient
from kafka_py.clients.offsets import OffsetAndMetadata
from kafka_py.testing.broker import AnyBroker, BrokerProcess
from kafka_py.testing.peers.apache import ApacheBroker, apache_kafka
from kafka_py.testing.processes import ROOT, ZookeeperServer
from kafka_py.testing.topics import ask_metadata, create_topic

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

KINDS: dict[str, type[BrokerProcess] | type[ApacheBroker]] = {"ours": BrokerProcess, "apache": ApacheBroker}
EVERYBODY = {0, 1, 2}
TOPIC = "copied"
PARTITIONS = 3


class Mixed:
    """Three brokers of both kinds, the first one the first controller; a topic with three partitions, RF 3."""

    def __init__(self, folder: Path, connect: str, kinds: tuple[str, ...], protocol: str) -> None:
        settings = {
            "inter.broker.protocol.version": protocol,
            "replica.lag.time.max.ms": "4000",
            "zookeeper.session.timeout.ms": "4000",
            "num.replica.fetchers": "2",
            "auto.leader.rebalance.enable": "false",
            "auto.create.topics.enable": "false",
            "controlled.shutdown.retry.backoff.ms": "1000",
            "offsets.topic.replication.factor": "3",
            "transaction.state.log.replication.factor": "3",
            "transaction.state.log.min.isr": "2",
            "transaction.state.log.num.partitions": "3",
        }
        self.kinds = kinds
        self.brokers: list[AnyBroker] = [
            KINDS[kind](folder / f"broker-{number}", connect, broker_id=number, settings=settings)
            for number, kind in enumerate(kinds)
        ]
        self.peek: Peek
        self._connect = connect

    def start(self) -> None:
        for broker in self.brokers:
            broker.start(120)
        self.peek = Peek(self._connect)
        until(lambda: all(len(ask_metadata(broker.bootstrap).brokers) == 3 for broker in self.brokers))
        create_topic(
            [broker.bootstrap for broker in self.brokers], TOPIC, PARTITIONS, replication_factor=3,
            configs={"min.insync.replicas": "2"}, timeout_s=60,
        )  # fmt: skip

    def wait_in_sync(self) -> None:
        until(lambda: all(self.peek.isr(TOPIC, number) == EVERYBODY for number in range(PARTITIONS)))

    def wait_led_without(self, broker: AnyBroker) -> None:
        others = EVERYBODY - {broker.broker_id}
        until(lambda: all(self.peek.state(TOPIC, number)["leader"] in others for number in range(PARTITIONS)))
        until(lambda: self.peek.controller() in others)

    def make_controller(self, kind: str) -> None:
        """Has a broker of this kind elected: the others sleep meanwhile, for less than their sessions last."""
        wanted = {number for number, each in enumerate(self.kinds) if each == kind}
        others = [broker for broker in self.brokers if broker.broker_id not in wanted]
        if self.peek.controller() in wanted:
            return
        for broker in others:
            broker.signal(signal.SIGSTOP)
        self.peek.depose_controller()
        until(lambda: self.peek.controller() in wanted)
        for broker in others:
            broker.signal(signal.SIGCONT)

    def stop(self) -> None:
        for broker in self.brokers:
            broker.kill()
        with contextlib.suppress(AttributeError):
            self.peek.close()


@pytest.fixture
def mixed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Mixed]:
    apache_kafka()
    kinds, protocol = request.param
    zookeeper = ZookeeperServer(tmp_path / "zookeeper").start()
    try:
        zookeeper.wait_serving(60)
        made = Mixed(tmp_path, f"{zookeeper.connect}/mixed", kinds, protocol)
        try:
            made.start()
            yield made
        finally:
            made.stop()
    finally:
        zookeeper.end()


TWO_OF_OURS = ("ours", "ours", "apache")
ONE_OF_OURS = ("apache", "ours", "apache")
MIXTURES = {
    "two-2.6": (TWO_OF_OURS, "2.6"), "one-2.6": (ONE_OF_OURS, "2.6"),
    "two-2.8": (TWO_OF_OURS, "2.8"), "one-2.8": (ONE_OF_OURS, "2.8"),
}  # fmt: skip


def each_mixture(*names: str, core: str) -> pytest.MarkDecorator:
    """The test runs on each of these clusters (all of them, if none is named), and on `core` every day."""
    params = [
        pytest.param(MIXTURES[name], id=name, marks=pytest.mark.core if name == core else ())
        for name in names or MIXTURES
    ]
    return pytest.mark.parametrize("mixed", params, indirect=True)


@each_mixture(core="two-2.8")
def test_each_broker_is_killed_in_turn_and_nothing_acknowledged_is_lost(mixed: Mixed) -> None:
    load = Load(bootstrap_of(mixed.brokers), TOPIC, PARTITIONS)
    for broker, kind in zip(mixed.brokers, ("apache", "ours", "apache"), strict=True):
        mixed.make_controller(kind)
        load.wait_more()
        broker.kill()
        mixed.wait_led_without(broker)
        load.wait_more()
        broker.start(120)
        mixed.wait_in_sync()
    load.end()
    check_replicas(mixed.brokers, TOPIC, load)


@each_mixture(core="one-2.6")
def test_each_broker_is_restarted_cleanly_and_the_controller_moves_between_kinds(mixed: Mixed) -> None:
    load = Load(bootstrap_of(mixed.brokers), TOPIC, PARTITIONS)
    for broker, kind in zip(mixed.brokers, ("ours", "apache", "ours"), strict=True):
        mixed.make_controller(kind)
        load.wait_more()
        broker.stop(60)
        mixed.wait_led_without(broker)
        load.wait_more()
        broker.start(120)
        mixed.wait_in_sync()
    load.end()
    check_replicas(mixed.brokers, TOPIC, load)
    for broker in mixed.brokers:
        broker.stop(60)
    for partition, acknowledged in enumerate(load.acknowledged):
        for broker in mixed.brokers:
            check_replica(log_bytes(broker, TOPIC, partition), acknowledged)
            assert set(acknowledged) <= set(dumped(broker, partition))


OFFSETS = "__consumer_offsets"


def commit(bootstrap: str, group: str, offset: int) -> None:
    """Commits by librdkafka for all partitions of the topic."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    try:
        wanted = [confluent_kafka.TopicPartition(TOPIC, number, offset) for number in range(PARTITIONS)]
        answered = consumer.commit(offsets=wanted, asynchronous=False)
        assert all(each.error is None for each in answered), answered
    finally:
        consumer.close()


def committed(bootstrap: str, group: str) -> set[int]:
    """What our admin client finds committed there."""
    with AdminClient({"bootstrap.servers": bootstrap}) as admin:
        found = admin.list_consumer_group_offsets(group).values()
        return {each.offset for each in found if isinstance(each, OffsetAndMetadata)}


@each_mixture("two-2.6", "one-2.6", core="one-2.6")
def test_committed_offsets_go_from_coordinator_to_coordinator(mixed: Mixed) -> None:
    """The offsets topic that one make wrote is loaded by the other when it becomes leader, and the other way round."""
    bootstrap = bootstrap_of(mixed.brokers)
    replicas = sorted(EVERYBODY, key=lambda number: mixed.kinds.count(mixed.kinds[number]))  # the lone kind leads first
    run_tool(
        "ours", "kafka-topics.sh", "--bootstrap-server", bootstrap, "--create", "--topic", OFFSETS,
        "--replica-assignment", ":".join(map(str, replicas)), "--config", "cleanup.policy=compact",
    )  # fmt: skip
    loaded_by: set[str] = set()
    for round_number in range(1, 4):
        until(lambda: mixed.peek.isr(OFFSETS) == EVERYBODY)
        leader = mixed.peek.state(OFFSETS, 0)["leader"]
        commit(bootstrap, "travels", round_number * 10)
        mixed.brokers[leader].kill()
        until(lambda: mixed.peek.state(OFFSETS, 0)["leader"] in EVERYBODY - {leader})  # noqa: B023
        successor = mixed.peek.state(OFFSETS, 0)["leader"]
        loaded_by.add(f"{mixed.kinds[leader]} to {mixed.kinds[successor]}")
        assert committed(bootstrap, "travels") == {round_number * 10}
        mixed.brokers[leader].start(120)
    assert loaded_by >= {"ours to apache", "apache to ours"}, loaded_by


WRITERS = 4


@each_mixture("two-2.8", "one-2.6", core="two-2.8")
def test_transactions_stay_whole_while_coordinators_of_both_makes_are_killed(mixed: Mixed) -> None:
    """The transaction topic that one make wrote is loaded by the other, and its markers are finished by it."""
    bootstrap = bootstrap_of(mixed.brokers)
    writers = [TransactionalWriter(bootstrap, f"writer-{number}", TOPIC, PARTITIONS) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    wait_progress(writers, 3, 120)
    for broker in mixed.brokers:
        broker.kill()
        mixed.wait_led_without(broker)
        wait_progress(writers, 3, 120)
        broker.start(120)
        mixed.wait_in_sync()
        wait_progress(writers, 3, 120)
    end(writers)
    check_whole(read_committed(bootstrap, TOPIC, PARTITIONS), writers, PARTITIONS)


CLASSES = {
    "kafka-topics.sh": "kafka.admin.TopicCommand",
    "kafka-reassign-partitions.sh": "kafka.admin.ReassignPartitionsCommand",
    "kafka-leader-election.sh": "kafka.admin.LeaderElectionCommand",
}


def run_tool(make: str, tool: str, *arguments: str) -> str:
    """What a tool of that make prints; it has succeeded."""
    if make == "apache":
        done = apache_kafka().run(CLASSES[tool], *arguments)
        assert done.exit_code == 0, done
        return done.stdout
    command = [str(ROOT / "bin" / tool), *arguments]
    own = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert own.returncode == 0, (own.stdout, own.stderr)
    return own.stdout


@each_mixture("two-2.6", "one-2.6", core="")
def test_tools_of_both_makes_work_whoever_is_the_controller(mixed: Mixed, tmp_path: Path) -> None:
    """A topic is made, moved, led by its preferred replica again, and deleted."""
    bootstrap = ("--bootstrap-server", bootstrap_of(mixed.brokers))
    for controller in ("ours", "apache"):
        for make in ("ours", "apache"):
            mixed.make_controller(controller)
            topic = f"by-{make}-under-{controller}"
            run_tool(make, "kafka-topics.sh", *bootstrap, "--create", "--topic", topic, "--replica-assignment", "0:1")
            until(lambda: mixed.peek.isr(topic) == {0, 1})  # noqa: B023
            plan = tmp_path / f"{topic}.json"
            plan.write_text(
                json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": [2, 1]}]})
            )
            moving = (*bootstrap, "--reassignment-json-file", str(plan))
            run_tool(make, "kafka-reassign-partitions.sh", *moving, "--execute")
            until(lambda: mixed.peek.isr(topic) == {1, 2})  # noqa: B023
            verified = run_tool(make, "kafka-reassign-partitions.sh", *moving, "--verify")
            assert f"Reassignment of partition {topic}-0 is complete." in verified
            election = (*bootstrap, "--election-type", "preferred", "--topic", topic, "--partition", "0")
            run_tool(make, "kafka-leader-election.sh", *election)
            until(lambda: mixed.peek.state(topic, 0)["leader"] == 2)  # noqa: B023
            run_tool(make, "kafka-topics.sh", *bootstrap, "--delete", "--topic", topic)
            until(lambda: topic not in mixed.peek.children("/brokers/topics"))  # noqa: B023
            until(lambda: not any((each.log_dirs[0] / f"{topic}-0").exists() for each in mixed.brokers))  # noqa: B023


@each_mixture("one-2.8", "two-2.6", core="one-2.8")
def test_a_move_that_is_cancelled_by_either_controller_leaves_nothing_on_our_broker(
    mixed: Mixed, tmp_path: Path
) -> None:
    """KAFKA-13972: Apache's controller has the replica deleted in the epoch in which it was added, and so has ours.

    A topic of the same name, with another id, is then made and moved to the same broker.
    """
    bootstrap = ("--bootstrap-server", bootstrap_of(mixed.brokers))
    kinds = ["apache"] if mixed.kinds == ONE_OF_OURS else ["apache", "ours"]
    for controller in kinds:
        mixed.make_controller(controller)
        topic = f"cancelled-by-{controller}"
        plan = tmp_path / f"{topic}.json"
        plan.write_text(
            json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": [0, 1]}]})
        )
        moving = (*bootstrap, "--reassignment-json-file", str(plan))
        create = (*bootstrap, "--create", "--topic", topic, "--replica-assignment", "0:2")
        ours = mixed.brokers[1].log_dirs[0] / f"{topic}-0"
        run_tool("ours", "kafka-topics.sh", *create)
        until(lambda: mixed.peek.isr(topic) == {0, 2})  # noqa: B023
        producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap_of(mixed.brokers)})
        for _ in range(400):
            producer.produce(topic, b"x" * 10_000)  # more than one fetch, of which a throttle lets the first pass
        assert producer.flush(30) == 0

        run_tool("ours", "kafka-reassign-partitions.sh", *moving, "--execute", "--throttle", "2000")
        until(lambda: any(path.stat().st_size for path in ours.glob("*.log")))  # noqa: B023
        run_tool("ours", "kafka-reassign-partitions.sh", *moving, "--cancel")
        until(lambda: not ours.exists())  # noqa: B023
        run_tool("ours", "kafka-topics.sh", *bootstrap, "--delete", "--topic", topic)
        until(lambda: topic not in mixed.peek.children("/brokers/topics"))  # noqa: B023
        until(lambda: not any((each.log_dirs[0] / f"{topic}-0").exists() for each in mixed.brokers))  # noqa: B023

        run_tool("ours", "kafka-topics.sh", *create)
        until(lambda: mixed.peek.isr(topic) == {0, 2})  # noqa: B023
        run_tool("ours", "kafka-reassign-partitions.sh", *moving, "--execute")
        until(lambda: mixed.peek.isr(topic) == {0, 1})  # noqa: B023
        verified = run_tool("ours", "kafka-reassign-partitions.sh", *moving, "--verify")
        assert f"Reassignment of partition {topic}-0 is complete." in verified


def dumped(broker: AnyBroker, partition: int) -> list[int]:
    """The values in a stopped broker's replica, as kafka-dump-log shows them."""
    files = sorted((broker.log_dirs[0] / f"{TOPIC}-{partition}").glob("*.log"))
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        assert dump_log.main(["--print-data-log", "--files", ",".join(map(str, files))]) == 0
    assert "isvalid: false" not in shown.getvalue()
    return [int(number) for number in re.findall(r"payload: (\d+)", shown.getvalue())]
