"""/metrics of a served manager: promtool accepts it, and each cluster has its label, also one that is down."""

import urllib.request

import pytest

from kafka_py.clients import AdminClient, OffsetAndMetadata, Producer, TopicPartition
from kafka_py.manager.settings import ClusterSettings, ManagerSettings
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers import promtool
from kafka_py.testing.processes import wait_until
from kafka_py.testing.web_manager import ServedManager

ODD_GROUP = 'a "group"\\'


@pytest.mark.skipif(promtool.program() is None, reason="promtool is not installed")
def test_all_clusters_of_the_manager(module_broker: BrokerProcess) -> None:
    servers = module_broker.bootstrap
    module_broker.create_topic("t", 2)
    with Producer({"bootstrap.servers": servers}) as producer:
        for number in range(10):
            producer.send("t", b"%d" % number, partition=0)
    with AdminClient({"bootstrap.servers": servers}) as admin:
        admin.alter_consumer_group_offsets(ODD_GROUP, {TopicPartition("t", 0): OffsetAndMetadata(4)}).all()
    clusters = (ClusterSettings("ours", servers), ClusterSettings("down", "127.0.0.1:1"))
    with ServedManager(ManagerSettings(clusters, extra={"history": {"interval_seconds": 1}})) as manager:

        def text() -> str | None:
            with urllib.request.urlopen(f"{manager.url}/metrics", timeout=20) as answer:
                found = str(answer.read().decode())
            return found if 'up{cluster="down"} 0' in found and 'lag_sum{cluster="ours"' in found else None

        found = wait_until(text, 60, "samples of both clusters")
    assert promtool.complaints(found) == []
    lines = found.splitlines()
    assert 'kafka_brokers{cluster="ours"} 1' in lines
    group = 'cluster="ours",consumergroup="a \\"group\\"\\\\",topic="t"'
    assert f"kafka_consumergroup_lag_sum{{{group}}} 6" in lines
    assert [line for line in lines if "cluster=" not in line and not line.startswith("#")] == []
    assert len([line for line in lines if 'cluster="down"' in line]) == 1
