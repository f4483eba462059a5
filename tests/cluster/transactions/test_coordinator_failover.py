"""Brokers are killed while producers run transactions: each transaction is read whole or not at all, and those whose
commit was acknowledged are read.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from transactional_load import TIMEOUT_S, TransactionalWriter, check_whole, end, read_committed, wait_progress

from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest

PARTITIONS = 3
WRITERS = 4
SETTINGS = {
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.min.isr": 2,
    "transaction.state.log.num.partitions": 3,
    "min.insync.replicas": 2,
    "zookeeper.session.timeout.ms": 1000,
}


def coordinator_of(cluster: KafkaCluster, transactional_id: str) -> int:
    """The broker, once there is one."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        try:
            with WireClient(cluster.bootstrap_servers.split(",")[0]) as client:
                found = client.ask(FindCoordinatorRequest(key=transactional_id, key_type=1), 3)
        except OSError:
            found = None
        if found is not None and found.error_code == 0:
            return int(found.node_id)
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.timeout(300)
def test_transactions_stay_whole_while_coordinators_are_killed(
    kafka_cluster_factory: Callable[..., KafkaCluster],
) -> None:
    with kafka_cluster_factory(brokers=3, settings=SETTINGS) as cluster:
        topic = cluster.create_topic(partitions=PARTITIONS, replication_factor=3)
        writers = [
            TransactionalWriter(cluster.bootstrap_servers, f"writer-{number}", topic, PARTITIONS)
            for number in range(WRITERS)
        ]
        for writer in writers:
            writer.start()
        wait_progress(writers, 3)
        for writer in writers[:3]:
            killed = cluster.brokers[coordinator_of(cluster, writer.name)]
            killed.kill()
            wait_progress(writers, 3)
            killed.start()
            wait_progress(writers, 3)
        end(writers)
        values = read_committed(cluster.bootstrap_servers, topic, PARTITIONS)
    check_whole(values, writers, PARTITIONS)
