"""Chapter 4's examples of managing partitions, on three brokers and with the commands themselves: preferred elections
(WE4-27, 28), reassignment (WE4-29), throttles (WE4-30 to 34), the replication factor (WE4-35, 36)."""

import json
import re
import signal
import subprocess

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ElectionType, TopicPartition
from kafka_py.cli import configs, leader_election, preferred_replica_election, reassign_partitions, topics
from kafka_py.clients.admin.client import AdminClient
from kafka_py.clients.admin.resources import ConfigResource, ConfigResourceType
from kafka_py.clients.admin.topics import NewTopic
from kafka_py.clients.producer.producer import Producer
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.cluster_views import (
    controller,
    leaders,
    live,
    partitions,
    wait_brokers,
    wait_in_sync,
    wait_seen,
)
from kafka_py.testing.processes import ROOT, wait_until

BROKERS = 3


@pytest.fixture(scope="module")
def cluster(kafka_zookeeper):
    settings = {
        "auto.leader.rebalance.enable": False,
        "replica.fetch.wait.max.ms": 100,
        "controlled.shutdown.retry.backoff.ms": 100,
        "replica.fetch.max.bytes": 16384,  # a move takes many fetches, of which a throttle lets one pass at a time
    }
    with KafkaCluster(BROKERS, settings=settings, zookeeper=kafka_zookeeper) as made:
        yield made


@pytest.fixture
def admin(cluster):
    with AdminClient({"bootstrap.servers": cluster.bootstrap_servers}) as client:
        yield client


def make(cluster, admin, topic, assignment):
    admin.create_topics([NewTopic(topic, replica_assignments=assignment)]).all()
    wait_in_sync(cluster, topic)


def replicas(cluster, topic):
    return {number: view.replicas for number, view in partitions(live(cluster)[0], topic).items()}


def said(capsys, main, *arguments, code=0):
    """What a command prints."""
    capsys.readouterr()
    exit_code = main(list(arguments))
    assert code in (None, exit_code)
    return capsys.readouterr().out.splitlines()


def plan_file(tmp_path, topic, rows, **fields):
    path = tmp_path / "plan.json"
    entries = [{"topic": topic, "partition": number, "replicas": ids, **fields} for number, ids in rows.items()]
    path.write_text(json.dumps({"version": 1, "partitions": entries}))
    return str(path)


def overrides(admin, kind, name, setting):
    resource = ConfigResource(kind, str(name))
    found = admin.describe_configs([resource]).value(resource).get(setting)
    return "" if found is None or found.source.name.startswith(("DEFAULT", "STATIC")) else found.value


def test_leaders_drift_and_an_election_brings_them_back(cluster, admin, capsys, tmp_path):
    """WE4-27: after a restart of broker 2 its partition is led by broker 0 until the election; WE4-28: by a file."""
    topic = "topic-partitions"
    assignment = {0: [1, 2, 0], 1: [2, 0, 1], 2: [0, 1, 2]}
    make(cluster, admin, topic, assignment)
    assert leaders(live(cluster)[0], topic) == {0: 1, 1: 2, 2: 0}
    file = tmp_path / "election.json"
    file.write_text(json.dumps({"partitions": [{"topic": topic, "partition": number} for number in range(3)]}))
    ways = [
        (preferred_replica_election.main, ["--bootstrap-server", cluster.bootstrap_servers]),
        (preferred_replica_election.main, ["--zookeeper", cluster.zookeeper_connect, "--path-to-json-file", str(file)]),
        (leader_election.main, ["--bootstrap-server", cluster.bootstrap_servers, "--election-type", "preferred",
                                "--path-to-json-file", str(file)]),
    ]  # fmt: skip
    for number, (command, arguments) in enumerate(ways):
        if number == 0:
            cluster.brokers[2].stop()
            wait_seen(cluster, topic, lambda views: views[1].leader == 0, "broker 0 to lead")
            cluster.brokers[2].start()
            wait_brokers(cluster, range(BROKERS))
        else:
            let_lead(cluster, admin, TopicPartition(topic, 1), 0)
        wait_in_sync(cluster, topic)
        assert leaders(live(cluster)[0], topic) == {0: 1, 1: 0, 2: 0}
        printed = said(capsys, command, *arguments)
        assert any(f"{topic}-1" in line for line in printed), printed
        wait_seen(cluster, topic, lambda views: views[1].leader == 2, "the preferred leader")


def let_lead(cluster, admin, partition, leader):
    """Has another replica lead, as after a restart of the preferred one, but without one."""
    before = partitions(live(cluster)[0], partition.topic)[partition.partition].replicas
    for order in ([leader, *(id_ for id_ in before if id_ != leader)], before):
        admin.alter_partition_reassignments({partition: order}).all()
        admin.elect_leaders(ElectionType.PREFERRED, [partition] if order[0] == leader else [])
    wait_seen(cluster, partition.topic, lambda views: views[partition.partition][:2] == (leader, before), "the drift")


def test_a_topic_leaves_a_broker(cluster, admin, capsys, tmp_path):
    """WE4-29: generate for brokers 0 and 2, execute, verify; then a preferred election balances."""
    topic = "topic-reassign"
    make(cluster, admin, topic, {0: [0, 1], 1: [1, 2], 2: [2, 0], 3: [0, 2]})
    file = tmp_path / "reassign.json"
    file.write_text(json.dumps({"version": 1, "topics": [{"topic": topic}]}))
    boot = ("--bootstrap-server", cluster.bootstrap_servers)
    printed = said(
        capsys, reassign_partitions.main, *boot, "--generate", "--topics-to-move-json-file", str(file),
        "--broker-list", "0,2",
    )  # fmt: skip
    assert printed[0] == "Current partition replica assignment"
    assert printed[3] == "Proposed partition reassignment configuration"
    proposed = {row["partition"]: row["replicas"] for row in json.loads(printed[4])["partitions"]}
    one = {0: [0, 2], 1: [2, 0], 2: [0, 2], 3: [2, 0]}
    assert proposed in (one, {number: ids[::-1] for number, ids in one.items()})
    plan = tmp_path / "project.json"
    plan.write_text(printed[4])
    execute = (*boot, "--execute", "--reassignment-json-file", str(plan))
    assert said(capsys, reassign_partitions.main, *execute)[-1].startswith("Successfully started partition reassign")
    verify_until_done(cluster, capsys, str(plan))
    assert replicas(cluster, topic) == proposed
    admin.elect_leaders(ElectionType.PREFERRED)
    wait_seen(cluster, topic, lambda views: all(v.leader == v.replicas[0] for v in views.values()), "balance")


def verify_until_done(cluster, capsys, plan):
    verify = ("--bootstrap-server", cluster.bootstrap_servers, "--verify", "--reassignment-json-file", plan)

    def done():
        printed = said(capsys, reassign_partitions.main, *verify)
        assert printed[0] == "Status of partition reassignment:"
        return printed if any(line.startswith("Clearing topic-level throttles") for line in printed) else None

    return wait_until(done, 60, "the reassignment to be complete")


def test_rates_of_a_broker(cluster, admin, capsys):
    """WE4-30: both rates of broker 1, seen and removed."""
    boot = ("--bootstrap-server", cluster.bootstrap_servers)
    both = "follower.replication.throttled.rate=1024,leader.replication.throttled.rate=1024"
    said(capsys, configs.main, *boot, "--alter", "--entity-type", "brokers", "--entity-name", "1", "--add-config", both)
    described = (*boot, "--describe", "--entity-type", "brokers", "--entity-name", "1")
    shown = wait_until(lambda: said(capsys, configs.main, *described)[1:], 30, "the rates")
    assert sorted(line.split()[0] for line in shown) == both.split(",")
    names = "follower.replication.throttled.rate,leader.replication.throttled.rate"
    said(capsys, configs.main, *boot, "--alter", "--broker", "1", "--delete-config", names)
    wait_until(lambda: not said(capsys, configs.main, *described)[1:], 30, "no rates")


LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")


def lists_of(admin, topic):
    return tuple(overrides(admin, ConfigResourceType.TOPIC, topic, name) for name in LISTS)


def rates_are(admin, wanted):
    broker = ConfigResourceType.BROKER
    return {overrides(admin, broker, id_, rate) for id_ in range(BROKERS) for rate in RATES} == {wanted}


def test_throttled_replicas_of_a_topic(cluster, admin, capsys):
    """WE4-31: leaders 0:0, 1:1, 2:2 and followers 0:1, 1:2, 2:0 of a topic with 3 partitions and 2 replicas each."""
    topic, boot = "topic-throttle-lists", ("--bootstrap-server", cluster.bootstrap_servers)
    make(cluster, admin, topic, {0: [0, 1], 1: [1, 2], 2: [2, 0]})
    assert lists_of(admin, topic) == ("", "")
    both = f"{LISTS[0]}=[0:0,1:1,2:2],{LISTS[1]}=[0:1,1:2,2:0]"
    of_topic = ("--entity-type", "topics", "--entity-name", topic)
    said(capsys, configs.main, *boot, "--alter", *of_topic, "--add-config", both)
    wait_until(lambda: lists_of(admin, topic) == ("0:0,1:1,2:2", "0:1,1:2,2:0"), 30, "the lists")
    shown = "\n".join(said(capsys, configs.main, *boot, "--describe", *of_topic))
    assert f"{LISTS[0]}=0:0,1:1,2:2" in shown
    assert f"{LISTS[1]}=0:1,1:2,2:0" in shown
    said(capsys, configs.main, *boot, "--alter", *of_topic, "--delete-config", ",".join(LISTS))
    wait_until(lambda: lists_of(admin, topic) == ("", ""), 30, "no lists")


def test_a_throttled_move(cluster, admin, capsys, tmp_path):
    """WE4-32: the lists that --throttle sets; p2, whose set of replicas stays, has no follower in them.

    WE4-33: the move is seen in progress and then complete, and the last --verify takes the throttle away.
    WE4-34: from 10 to 1,024 B/s while it runs, with the same lists.
    """
    topic = "topic-throttle"
    make(cluster, admin, topic, {0: [0, 1], 1: [1, 2], 2: [2, 0]})
    with Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"}) as producer:
        for number in range(600):
            producer.send(topic, value=b"x" * 1000, partition=number % 2)
        producer.flush()
    plan = plan_file(tmp_path, topic, {0: [0, 2], 1: [2, 0], 2: [0, 2]})
    boot = ("--bootstrap-server", cluster.bootstrap_servers)
    execute = (*boot, "--execute", "--reassignment-json-file", plan)
    verify = (*boot, "--verify", "--reassignment-json-file", plan)
    lists = ("0:0,0:1,1:1,1:2,2:0,2:2", "0:2,1:0")  # with p2's leaders, which the example leaves out, as 2.8.2 has it

    def is_in_progress():
        """Both partitions with data: 300 kB each, of which a tenth passes every ten seconds at the most."""
        printed = said(capsys, reassign_partitions.main, *verify)
        for number in (0, 1):
            assert f"Reassignment of partition {topic}-{number} is still in progress." in printed, printed
        assert not [line for line in printed if line.startswith("Clearing")]

    said(capsys, reassign_partitions.main, *execute, "--throttle", "10")
    assert lists_of(admin, topic) == lists
    wait_until(lambda: rates_are(admin, "10"), 30, "the rates")
    is_in_progress()

    refused = said(capsys, reassign_partitions.main, *execute, "--throttle", "1024", code=None)
    assert refused[-1].startswith("Cannot execute because there is an existing partition assignment.")
    said(capsys, reassign_partitions.main, *execute, "--throttle", "1024", "--additional")
    wait_until(lambda: rates_are(admin, "1024"), 30, "the new rates")
    assert lists_of(admin, topic) == lists
    is_in_progress()

    said(capsys, reassign_partitions.main, *execute, "--throttle", "10000000", "--additional")
    wait_until(lambda: rates_are(admin, "10000000"), 30, "rates at which it ends")
    printed = verify_until_done(cluster, capsys, plan)
    assert f"Reassignment of partition {topic}-0 is complete." in printed
    assert printed[-2:] == ["Clearing broker-level throttles on brokers 0,1,2",
                            f"Clearing topic-level throttles on topic {topic}"]  # fmt: skip
    wait_until(lambda: rates_are(admin, ""), 30, "no rates")
    assert lists_of(admin, topic) == ("", "")
    assert replicas(cluster, topic) == {0: [0, 2], 1: [2, 0], 2: [0, 2]}


def test_a_cancelled_move_leaves_nothing_that_a_later_one_meets(cluster, admin, capsys, tmp_path):
    """KAFKA-13972: the replica that was added goes in the epoch in which it came. Else its directory, with the topic's
    former id, would refuse a topic of the same name with INCONSISTENT_TOPIC_ID, and a move there would never end."""
    topic = "topic-cancelled"
    make(cluster, admin, topic, {0: [0, 1]})
    with Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"}) as producer:
        for _ in range(300):
            producer.send(topic, value=b"x" * 1000, partition=0)
        producer.flush()
    plan = plan_file(tmp_path, topic, {0: [0, 2]})
    boot = ("--bootstrap-server", cluster.bootstrap_servers)
    moves = (*boot, "--reassignment-json-file", plan)
    added = cluster.brokers[2].log_dirs[0] / f"{topic}-0"
    said(capsys, reassign_partitions.main, *moves, "--execute", "--throttle", "10")
    wait_until(lambda: any(path.stat().st_size for path in added.glob("*.log")), 30, "the first records on broker 2")
    said(capsys, reassign_partitions.main, *moves, "--cancel")
    wait_until(lambda: not added.exists(), 30, "broker 2 to delete its replica")
    assert replicas(cluster, topic) == {0: [0, 1]}

    admin.delete_topics([topic]).all()
    of_topic = [broker.log_dirs[0] / f"{topic}-0" for broker in cluster.brokers]
    wait_until(lambda: not any(path.exists() for path in of_topic), 30, "the topic to be deleted")

    def make_again() -> bool:
        try:
            make(cluster, admin, topic, {0: [0, 1]})
        except KafkaError as error:  # the controller forgets the name after the last replica
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
            return False
        return True

    wait_until(make_again, 30, "the name to be free")
    said(capsys, reassign_partitions.main, *moves, "--execute")
    verify_until_done(cluster, capsys, plan)
    assert replicas(cluster, topic) == {0: [0, 2]}
    wait_in_sync(cluster, topic)
    assert "INCONSISTENT_TOPIC_ID" not in cluster.brokers[2].log.read_text()


def test_the_replication_factor_grows_and_shrinks(cluster, admin, capsys, tmp_path):
    """WE4-35: from 2 to 3 with log_dirs of `any`; WE4-36: to 1."""
    topic = "topic-factor"
    make(cluster, admin, topic, {0: [0, 1], 1: [2, 1], 2: [1, 0]})
    boot = ("--bootstrap-server", cluster.bootstrap_servers)
    wider = {0: [0, 1, 2], 1: [2, 1, 0], 2: [0, 1, 2]}
    for target, fields in ((wider, {"log_dirs": ["any"] * 3}), ({0: [2], 1: [1], 2: [0]}, {})):
        plan = plan_file(tmp_path, topic, target, **fields)
        refused = said(
            capsys, reassign_partitions.main, *boot, "--execute", "--reassignment-json-file", plan,
            "--disallow-replication-factor-change", code=1,
        )  # fmt: skip
        assert f"{topic}-0: The replication factor is changed from" in "\n".join(refused)
        said(capsys, reassign_partitions.main, *boot, "--execute", "--reassignment-json-file", plan)
        verify_until_done(cluster, capsys, plan)
        wait_in_sync(cluster, topic)
        assert replicas(cluster, topic) == target
    lines = said(capsys, topics.main, *boot, "--describe", "--topic", topic)
    assert "ReplicationFactor: 1" in lines[0]


def test_replicas_are_compared(cluster, admin):
    """kafka-replica-verification.sh goes through what every replica holds, and reports that nothing is behind."""
    topic = "topic-verified"
    make(cluster, admin, topic, {0: [0, 1, 2], 1: [2, 1, 0]})
    with Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"}) as producer:
        for number in range(20):
            producer.send(topic, value=b"%d" % number, partition=number % 2)
        producer.flush()
    command = [
        ROOT / "bin" / "kafka-replica-verification.sh", "--broker-list", cluster.bootstrap_servers, "--time", "-2",
        "--topic-white-list", topic, "--report-interval-ms", "100", "--max-wait-ms", "100",
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tool:
        assert tool.stdout is not None
        first = tool.stdout.readline()
        reports = []
        while not reports or not re.search(r"max lag is 0 for partition topic-verified-\d at offset 10", reports[-1]):
            reports.append(tool.stdout.readline())
            assert len(reports) < 100, reports
        tool.send_signal(signal.SIGINT)
    assert first.endswith(": verification process is started.\n")
    assert reports[-1].endswith(" among 2 partitions\n")
    assert not [line for line in reports if "unmatched" in line]


def test_a_replica_whose_records_a_disk_has_changed_is_found(cluster, admin):
    """The stored checksums are equal; broker 2 shuts down cleanly, so that nothing is recovered at its start."""
    topic = "topic-diverged"
    make(cluster, admin, topic, {0: [0, 1, 2]})
    with Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"}) as producer:
        producer.send(topic, value=b"as it was sent", partition=0)
    cluster.brokers[2].stop()
    wait_brokers(cluster, [0, 1])
    [segment] = cluster.brokers[2].log_dirs[0].glob(f"{topic}-0/*.log")
    segment.write_bytes(segment.read_bytes().replace(b"as it was sent", b"as it was seen"))
    cluster.brokers[2].start()
    wait_in_sync(cluster, topic)
    command = [
        ROOT / "bin" / "kafka-replica-verification.sh", "--broker-list", cluster.bootstrap_servers, "--time", "-2",
        "--topic-white-list", topic, "--report-interval-ms", "100", "--max-wait-ms", "100",
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tool:
        assert tool.stdout is not None
        lines = [tool.stdout.readline() for _ in range(2)]
        tool.send_signal(signal.SIGINT)
    assert re.search(
        r"partition topic-diverged-0 has unmatched checksum at offset 0; replica \d's checksum (\d+); "
        r"replica 2's checksum (?!\1)\d+", lines[1],
    )  # fmt: skip


def test_partitions_without_a_leader_are_shown(cluster, admin, capsys):
    """WE4-16, WE4-17: under-replicated and unavailable partitions while brokers are down; none once they are back."""
    topic = "topic-unavailable"
    make(cluster, admin, topic, {0: [0, 1], 1: [1, 2], 2: [2, 1], 3: [0, 2]})
    for broker in (1, 2):
        cluster.brokers[broker].stop()
    wait_brokers(cluster, [0])
    views = {
        view: ("--bootstrap-server", cluster.brokers[0].bootstrap, "--describe", f"--{view}-partitions",
               "--topic", topic)
        for view in ("unavailable", "under-replicated", "under-min-isr")
    }  # fmt: skip

    def shown(view):
        return [int(line.split("Partition: ")[1].split()[0]) for line in said(capsys, topics.main, *views[view])]

    wait_until(lambda: shown("unavailable") == [1, 2], 30, "the partitions without a leader")
    assert {0, 3} <= set(shown("under-replicated"))
    assert shown("under-min-isr") == [1, 2]
    for broker in (1, 2):
        cluster.brokers[broker].start()
    wait_brokers(cluster, range(BROKERS))
    wait_in_sync(cluster, topic)
    assert [shown(view) for view in views] == [[], [], []]


def test_a_move_is_seen_cancelled_and_its_topic_deleted(cluster, admin, capsys, tmp_path):
    """A move to a broker that is down waits, is listed, and can be called off; what is over cannot."""
    topic = "topic-cancel"
    home = controller(cluster)
    paused, third = (broker for broker in range(BROKERS) if broker != home)
    make(cluster, admin, topic, {0: [home]})
    partition = TopicPartition(topic, 0)
    plan = plan_file(tmp_path, topic, {0: [paused]})
    boot = ("--bootstrap-server", f"{cluster.brokers[home].bootstrap},{cluster.brokers[third].bootstrap}")
    with AdminClient({"bootstrap.servers": boot[1]}) as other:
        assert other.list_partition_reassignments() == {}
        cluster.brokers[paused].signal(signal.SIGSTOP)
        try:
            other.alter_partition_reassignments({partition: [paused]}).all()  # while it still counts as alive
            wait_brokers(cluster, [home, third])  # and none of the commands waits for its answer
            assert other.list_partition_reassignments()[partition].adding == [paused]
            assert said(capsys, reassign_partitions.main, *boot, "--list") == [
                "Current partition reassignments:",
                f"{topic}-0: replicas: {paused},{home}. adding: {paused}. removing: {home}.",
            ]
            cancel = (*boot, "--cancel", "--reassignment-json-file", plan, "--preserve-throttles")
            assert said(capsys, reassign_partitions.main, *cancel) == [
                f"Successfully cancelled partition reassignment for: {topic}-0",
                "None of the specified partition moves are active.",
            ]
            assert said(capsys, reassign_partitions.main, *cancel)[0] == (
                "None of the specified partition reassignments are active."
            )
        finally:
            cluster.brokers[paused].signal(signal.SIGCONT)
    wait_brokers(cluster, range(BROKERS))
    wait_seen(cluster, topic, lambda views: views[0].replicas == [home], "the move to be undone")
    admin.alter_partition_reassignments({partition: [third]}).all()
    admin.delete_topics([topic]).all()
    wait_until(lambda: topic not in admin.list_topics(), 60, "the topic to be gone")
