"""Three brokers and an ensemble of three ZooKeeper servers: what an operator fears, under load.

ZooKeeper's leader killed, the whole ensemble away for a minute, every broker restarted in turn, a disk that fills up.
In each case nothing acknowledged is lost, repeated or out of order, and the cluster is whole again afterwards.
"""

import contextlib
import shutil
import subprocess
import time

import pytest

from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.peers.load import confluent_load, our_load, read_all
from kafka_py.testing.processes import ensemble, wait_until
from kafka_py.testing.topics import ask_metadata

pytestmark = pytest.mark.slow

TOPIC = "load"
DEADLINE_S = 120
SETTINGS = {
    "zookeeper.session.timeout.ms": "4000",
    "replica.lag.time.max.ms": "4000",
    "min.insync.replicas": "2",
    "log.segment.bytes": "4000000",
}


@contextlib.contextmanager
def loaded(cluster):
    """Two loads, one partition each; what they were told is checked at the end, when the cluster is whole again."""
    cluster.create_topic(TOPIC, 2, replication_factor=3)
    loads = [confluent_load(cluster.bootstrap_servers, TOPIC, 0), our_load(cluster.bootstrap_servers, TOPIC, 1)]
    try:
        advance(loads)
        yield loads
        wait_until(lambda: is_whole(cluster), DEADLINE_S, "all replicas in sync")
        advance(loads)
        for load in loads:
            load.finish()
        for number, load in enumerate(loads):
            read_all(cluster.bootstrap_servers, TOPIC, load.sent, number)
    finally:
        for load in loads:
            load.stop()


def advance(loads, count=2000):
    """Waits until each load was told of so many more."""
    for load in loads:
        load.wait_acknowledged(load.acknowledged + count)


def is_whole(cluster):
    for broker in cluster.brokers:
        try:
            [topic] = ask_metadata(broker.bootstrap, [TOPIC]).topics
        except OSError:
            return False
        if any(each.leader_id < 0 or len(each.isr_nodes) < 3 for each in topic.partitions):
            return False
    return True


@pytest.fixture
def members(tmp_path):
    servers = ensemble(tmp_path / "zookeeper")
    try:
        for server in servers:
            server.start()
        for server in servers:
            server.wait_serving()
        yield servers
    finally:
        for server in servers:
            server.kill()


@pytest.fixture
def cluster(members):
    connect = ",".join(server.connect for server in members)
    with KafkaCluster(3, settings=SETTINGS, zookeeper=connect) as cluster:
        yield cluster


@pytest.mark.timeout(300)
def test_the_leader_of_the_ensemble_is_killed(cluster, members):
    with loaded(cluster) as loads:
        leader = next(server for server in members if server.mode() == "leader")
        leader.kill()
        advance(loads)
        wait_until(lambda: any(each.mode() == "leader" for each in members), DEADLINE_S, "another leader")
        cluster.create_topic("made-by-the-new-one", 3, replication_factor=3)
        leader.start()
        leader.wait_serving()


@pytest.mark.timeout(400)
def test_the_whole_ensemble_is_away_for_a_minute(cluster, members):
    with loaded(cluster) as loads:
        for server in members:
            server.kill()
        back_s = time.monotonic() + 60
        while time.monotonic() < back_s:
            advance(loads, 500)
        for server in members:
            server.start()
        for server in members:
            server.wait_serving()
        cluster.create_topic("made-afterwards", 3, replication_factor=3)


@pytest.mark.timeout(300)
def test_every_broker_is_restarted_in_turn(cluster):
    with loaded(cluster) as loads:
        for broker in cluster.brokers:
            assert broker.stop(60) in (0, 143)
            advance(loads)
            broker.start()
            wait_until(lambda: is_whole(cluster), DEADLINE_S, "all replicas in sync")
            advance(loads)


@pytest.mark.timeout(300)
def test_the_disk_of_one_broker_fills_up(cluster, tmp_path):
    """Its replicas go offline, the others go on; with room again and a restart it catches up."""
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", small]
    mounted = subprocess.run(mount, capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("may not mount a tmpfs here")
    broker = cluster.brokers[2]
    try:
        broker.stop(60)
        shutil.copytree(broker.log_dirs[0], small / "logs")
        broker.properties["log.dirs"] = str(small / "logs")
        broker.start()
        with loaded(cluster) as loads:
            wait_until(lambda: not is_whole(cluster), DEADLINE_S, "the disk's end")
            advance(loads)
            subprocess.run(["mount", "-o", "remount,size=2g", small], check=True)
            broker.stop(60)
            broker.start()
    finally:
        broker.kill()
        subprocess.run(["umount", "-l", small], check=False)
