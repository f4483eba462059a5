"""KafkaCluster: real brokers and a real ZooKeeper for anyone's tests, there quickly and gone without a trace."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.testing.processes import ROOT, NotReady, wait_until
from kafka_py.testing.topics import ask_metadata
from kafka_py.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

BROKER = 4

Factory = Callable[..., KafkaCluster]


def setting(bootstrap: str, name: str) -> str:
    """What the broker there has under this name."""
    asked = DescribeConfigsResource(resource_type=BROKER, resource_name="0", configuration_keys=[name])
    with WireClient(bootstrap) as client:
        [result] = client.ask(DescribeConfigsRequest(resources=[asked]), 1).results
    return str(result.configs[0].value)


def test_a_cluster_of_its_own_comes_and_goes() -> None:
    with KafkaCluster() as cluster:
        folder, pids = cluster.folder, [broker.pid for broker in cluster.brokers]
        assert [broker.broker_id for broker in cluster.brokers] == [0]
        assert ask_metadata(cluster.bootstrap_servers).controller_id == 0
        assert str(folder) in Path(f"/proc/{pids[0]}/cmdline").read_text()
    assert not folder.exists()
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []
    assert [entry for entry in os.listdir("/proc") if entry.isdigit() and str(folder) in _arguments(entry)] == []


def _arguments(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""


def test_settings_reach_the_brokers(kafka_cluster_factory: Factory) -> None:
    settings = {"num.partitions": 7, "auto.create.topics.enable": False, "log.retention.ms": "1234"}
    with kafka_cluster_factory(settings=settings) as cluster:
        assert setting(cluster.bootstrap_servers, "num.partitions") == "7"
        assert setting(cluster.bootstrap_servers, "auto.create.topics.enable") == "false"
        assert setting(cluster.bootstrap_servers, "log.retention.ms") == "1234"


def test_three_brokers_know_one_another_and_share_the_partitions(kafka_cluster_factory: Factory) -> None:
    with kafka_cluster_factory(3) as cluster:
        assert len(cluster.bootstrap_servers.split(",")) == 3
        answers = [ask_metadata(broker.bootstrap) for broker in cluster.brokers]
        assert [sorted(known.node_id for known in answer.brokers) for answer in answers] == [[0, 1, 2]] * 3
        assert len({answer.controller_id for answer in answers}) == 1
        topic = cluster.create_topic(partitions=6)
        for broker in cluster.brokers:
            [described] = ask_metadata(broker.bootstrap, [topic]).topics
            assert sorted(partition.leader_id for partition in described.partitions) == [0, 0, 1, 1, 2, 2]


def test_topics_get_names_and_configs(kafka_cluster_factory: Factory) -> None:
    with kafka_cluster_factory() as cluster:
        assert cluster.create_topic("named", 2, configs={"retention.ms": 5}) == "named"
        assert cluster.create_topic() != cluster.create_topic()
        with pytest.raises(KafkaError) as failed:
            cluster.create_topic("named")
        assert failed.value.code is ErrorCode.TOPIC_ALREADY_EXISTS


def test_a_broker_can_be_killed_and_started_again_on_its_old_port(kafka_cluster_factory: Factory) -> None:
    with kafka_cluster_factory(settings={"zookeeper.session.timeout.ms": 1000}) as cluster:
        [broker] = cluster.brokers
        topic = cluster.create_topic()
        before = broker.bootstrap
        broker.kill()
        broker.start()
        assert broker.bootstrap == before
        assert [known.name for known in ask_metadata(before, [topic]).topics] == [topic]


def test_a_folder_that_is_given_is_kept(kafka_cluster_factory: Factory, tmp_path: Path) -> None:
    with kafka_cluster_factory(folder=tmp_path / "kept"):
        pass
    assert "shut down completed" in (tmp_path / "kept" / "broker-0" / "server.log").read_text()
    assert (tmp_path / "kept" / "broker-0" / "kafka-logs" / ".kafka_cleanshutdown").exists()


def test_a_start_that_fails_says_why_and_leaves_nothing(kafka_cluster_factory: Factory) -> None:
    cluster = kafka_cluster_factory(2, settings={"log.segment.bytes": 1})
    with pytest.raises(NotReady, match=r"log\.segment\.bytes"):
        cluster.start()
    assert cluster.brokers == []
    with pytest.raises(ValueError, match="at least one broker"):
        kafka_cluster_factory(0)


def test_the_users_own_kafka_settings_do_not_leak_in(
    kafka_cluster_factory: Factory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A JMX port can be had by one process, and nobody's log files are ours to write."""
    monkeypatch.setenv("JMX_PORT", "9999")
    monkeypatch.setenv("KAFKA_HEAP_OPTS", "-Xmx1")
    monkeypatch.setenv("LOG_DIR", str(tmp_path / "logs"))
    with KafkaCluster(2) as cluster:
        assert len(cluster.brokers) == 2
    assert not (tmp_path / "logs").exists()


def test_nothing_outlives_a_test_run_that_is_killed() -> None:
    program = (
        "import sys; from kafka_py.testing.cluster import KafkaCluster; cluster = KafkaCluster().start(); "
        "print(cluster.folder, cluster.brokers[0].pid, cluster._own_zookeeper.pid, flush=True); sys.stdin.read()"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with run:
        assert run.stdout is not None
        folder, *pids = run.stdout.readline().split()
        assert len(pids) == 2 and all(folder in _arguments(pid) for pid in pids)
        run.send_signal(signal.SIGKILL)
    wait_until(lambda: not any(folder in _arguments(pid) for pid in pids), 20, "the end of broker and ZooKeeper")
    wait_until(lambda: not Path(folder).exists(), 20, "the end of the folder")


def test_it_says_how_long_the_start_took() -> None:
    """That it is short is measured by benchmarks/run.py, on a quiet machine."""
    begun = time.monotonic()
    with KafkaCluster() as cluster:
        taken = time.monotonic() - begun
        assert 0 < cluster.brokers[0].started_in_s < cluster.started_in_s <= taken
