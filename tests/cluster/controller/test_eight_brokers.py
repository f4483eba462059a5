"""The eight-broker scenario: brokers go, come back, and the preferred replicas lead again (S1-205..S1-212).

Brokers are numbered 0 to 7 here, as partitions are; the examples count brokers from 1.
"""

import json
import signal
from collections import Counter

import pytest

from kafka_py.base.ids import ElectionType
from kafka_py.cli import reassign_partitions, topics
from kafka_py.clients.admin.client import AdminClient
from kafka_py.clients.admin.topics import NewTopic
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.cluster_views import controller, leaders, live, partitions, wait_brokers, wait_in_sync, wait_seen
from kafka_py.testing.processes import wait_until
from kafka_py.testing.znodes import Znodes

TOPIC = "topic1"
BROKERS = list(range(8))
ASSIGNMENT = {
    0: [0, 2, 5], 1: [1, 4, 6], 2: [2, 5, 7], 3: [3, 6, 4], 4: [4, 7, 1], 5: [5, 0, 3], 6: [6, 3, 2], 7: [7, 1, 0],
}  # fmt: skip
"""S1-205: every broker has three replicas and leads once; where leaders move is that of the example."""


@pytest.fixture(scope="module")
def cluster():
    with KafkaCluster(8, settings={"auto.leader.rebalance.enable": False}) as made:
        yield made


def make(cluster, topic):
    with AdminClient({"bootstrap.servers": cluster.bootstrap_servers}) as admin:
        admin.create_topics([NewTopic(topic, replica_assignments=ASSIGNMENT)]).all()
    wait_in_sync(cluster, topic)


def lead_counts(cluster):
    return Counter(leaders(live(cluster)[0], TOPIC).values())


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_leaders_move_away_from_stopped_brokers_and_back_by_preferred_elections(cluster):
    make(cluster, TOPIC)
    assert lead_counts(cluster) == dict.fromkeys(BROKERS, 1), "S1-205"

    cluster.brokers[2].stop()  # S1-211: P2 moves to broker 6 only where broker 3 went for a moment, too
    wait_seen(cluster, TOPIC, lambda views: views[2].leader == 5, "S1-211")
    cluster.brokers[2].start()
    wait_in_sync(cluster, TOPIC)

    down = (0, 1, 3)
    for broker in down:
        cluster.brokers[broker].stop()
    running = [id_ for id_ in BROKERS if id_ not in down]
    wait_brokers(cluster, running)
    wait_seen(cluster, TOPIC, lambda views: not {view.leader for view in views.values()} & {*down, -1}, "S1-206")
    found = leaders(live(cluster)[0], TOPIC)
    assert {number: found[number] for number in range(4)} == {0: 2, 1: 4, 2: 5, 3: 6}, "S1-206"
    assert lead_counts(cluster) == {2: 1, 4: 2, 5: 2, 6: 2, 7: 1}, "S1-211"

    cluster.brokers[0].start()
    wait_brokers(cluster, sorted([0, *running]))
    wait_in_sync(cluster, TOPIC)
    assert lead_counts(cluster)[0] == 0, "S1-207: broker 1 is in sync again and leads nothing"
    assert max(lead_counts(cluster).values()) == 2, "S1-207"
    in_sync = {number for number, view in partitions(live(cluster)[0], TOPIC).items() if 0 in view.isr}
    assert in_sync == {number for number, replicas in ASSIGNMENT.items() if 0 in replicas}, "S1-207"

    with AdminClient({"bootstrap.servers": cluster.brokers[4].bootstrap}) as admin:
        elected = admin.elect_leaders(ElectionType.PREFERRED)
        failed = {partition.partition for partition, result in elected.items() if result is not None}
        assert failed == {1, 3}, "S1-208: brokers 2 and 4 are down still"
        now = leaders(live(cluster)[0], TOPIC)
        assert all(now[number] == number for number in BROKERS if number not in (1, 3)), "S1-208"
        assert set(lead_counts(cluster).values()) == {1, 2}, "S1-208"

        for broker in (1, 3):
            cluster.brokers[broker].start()
        wait_brokers(cluster, BROKERS)
        wait_in_sync(cluster, TOPIC)
        assert leaders(live(cluster)[0], TOPIC) == now, "S1-209: they lead nothing yet"

        admin.elect_leaders(ElectionType.PREFERRED).all()
    assert lead_counts(cluster) == dict.fromkeys(BROKERS, 1), "S1-210"


def said(capsys, main, *arguments):
    """What a command that succeeds prints."""
    capsys.readouterr()
    assert main(list(arguments)) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_topic_moves_to_the_last_four_brokers(cluster, capsys, tmp_path):
    """S1-212: generate for brokers 4 to 7, execute, the znode is the plan, verify, describe."""
    topic = "topic1-moved"
    make(cluster, topic)
    zookeeper = ("--zookeeper", cluster.zookeeper_connect)
    wanted, plan = tmp_path / "topics.json", tmp_path / "plan.json"
    wanted.write_text(json.dumps({"topics": [{"topic": topic}], "version": 1}))
    generate = ("--generate", "--topics-to-move-json-file", str(wanted), "--broker-list", "4,5,6,7")
    plan.write_text(said(capsys, reassign_partitions.main, *zookeeper, *generate)[-1])
    planned = {row["partition"]: row["replicas"] for row in json.loads(plan.read_text())["partitions"]}
    assert sorted(planned) == BROKERS
    assert {broker for replicas in planned.values() for broker in replicas} == {4, 5, 6, 7}

    waiting = next(broker for broker in (7, 6) if broker != controller(cluster))
    file = ("--reassignment-json-file", str(plan))
    cluster.brokers[waiting].signal(signal.SIGSTOP)  # so that the move cannot come to its end yet
    try:
        started = said(capsys, reassign_partitions.main, *zookeeper, "--execute", *file)
        assert started[-1].startswith("Successfully started partition reassignment")
        with Znodes(cluster.zookeeper_connect) as znodes:
            written = json.loads(znodes.get("/admin/reassign_partitions"))
    finally:
        cluster.brokers[waiting].signal(signal.SIGCONT)
    moving = {(row["topic"], row["partition"]): row["replicas"] for row in written["partitions"]}
    assert moving.items() <= {(topic, number): replicas for number, replicas in planned.items()}.items()
    assert any(waiting in replicas for replicas in moving.values())

    completed = {f"Reassignment of partition {topic}-{number} is complete." for number in planned}
    wait_until(
        lambda: completed <= set(said(capsys, reassign_partitions.main, *zookeeper, "--verify", *file)), 60, "the move"
    )
    wait_brokers(cluster, BROKERS)
    wait_seen(cluster, topic, lambda views: {n: v.replicas for n, v in views.items()} == planned, "the new replicas")
    described = said(
        capsys, topics.main, "--bootstrap-server", cluster.bootstrap_servers, "--describe", "--topic", topic
    )
    for number, replicas in planned.items():
        [line] = [line for line in described if f"Partition: {number}\t" in line]
        assert f"Replicas: {','.join(map(str, replicas))}\t" in line
