"""ZooKeeper that stands still for longer than the session, and one that goes away and comes back.

Leaders go on serving what they lead; afterwards the broker is registered again and topics can be made.
"""

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.local_broker import batch
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.testing.processes import ZookeeperServer, wait_until
from kafka_py.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

SESSION_S = 2.0


@pytest.fixture
def zookeeper_of_its_own(tmp_path: Path) -> Iterator[ZookeeperServer]:
    with ZookeeperServer(tmp_path / "zookeeper", tick_ms=200) as zookeeper:
        try:
            yield zookeeper
        finally:
            zookeeper.signal(signal.SIGCONT)


@pytest.fixture
def broker(zookeeper_of_its_own: ZookeeperServer, tmp_path: Path) -> Iterator[BrokerProcess]:
    settings = {"zookeeper.session.timeout.ms": str(int(SESSION_S * 1000)), "auto.create.topics.enable": "false"}
    broker = BrokerProcess(tmp_path / "broker", zookeeper_of_its_own.connect, settings=settings)
    try:
        broker.start()
        broker.create_topic("t")
        yield broker
    finally:
        broker.kill()


def produce(client: WireClient) -> Any:
    data = [PartitionProduceData(index=0, records=batch(b"v", timestamp=time.time_ns() // 1_000_000))]
    request = ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[TopicProduceData(name="t", partition_data=data)])
    return client.ask(request, 8).responses[0].partition_responses[0]


def high_watermark(client: WireClient) -> int:
    asked = FetchTopic(topic="t", partitions=[FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=100)])
    answer = client.ask(FetchRequest(replica_id=-1, max_wait_ms=0, min_bytes=0, max_bytes=100, topics=[asked]), 11)
    partition = answer.responses[0].partition_responses[0]
    assert partition.error_code == 0
    return int(partition.high_watermark)


def serve_for(broker: BrokerProcess, seconds: float) -> int:
    """Produces and fetches all the while; how many records."""
    deadline = time.monotonic() + seconds
    count = 0
    with WireClient(broker.bootstrap) as client:
        first = high_watermark(client)
        while time.monotonic() < deadline:
            answer = produce(client)
            assert (answer.error_code, answer.base_offset) == (0, first + count)
            count += 1
            assert high_watermark(client) == first + count
    return count


def can_make_a_topic(broker: BrokerProcess) -> bool:
    with contextlib.suppress(Exception):
        broker.create_topic(f"again-{time.monotonic_ns()}", timeout_s=5)
        return True
    return False


def pause_long(zookeeper: ZookeeperServer, broker: BrokerProcess) -> None:
    zookeeper.signal(signal.SIGSTOP)
    assert serve_for(broker, SESSION_S * 2.5) > 100
    zookeeper.signal(signal.SIGCONT)


def restart(zookeeper: ZookeeperServer, broker: BrokerProcess) -> None:
    zookeeper.kill()
    assert serve_for(broker, SESSION_S * 2.5) > 100
    zookeeper.start()
    zookeeper.wait_serving()


@pytest.mark.slow
@pytest.mark.parametrize("lose", [pause_long, restart])
def test_produce_and_fetch_go_on_and_topics_can_be_made_again(
    zookeeper_of_its_own: ZookeeperServer,
    broker: BrokerProcess,
    lose: Callable[[ZookeeperServer, BrokerProcess], None],
) -> None:
    for _ in range(2):
        lose(zookeeper_of_its_own, broker)
        wait_until(lambda: can_make_a_topic(broker), 60, "making a topic")
        assert serve_for(broker, 0.3) > 0
    assert "Traceback" not in broker.output(), broker.output()
    assert broker.stop() == 0


def registered(zookeeper: ZookeeperServer) -> tuple[int, int]:
    """Sessions that hold the broker's registration and the controller's znode now; 0 for one that is not there."""
    client = KazooClient(zookeeper.connect)
    client.start(timeout=30)
    try:
        found = [client.exists(path) for path in ("/brokers/ids/0", "/controller")]
        return found[0].ephemeralOwner if found[0] else 0, found[1].ephemeralOwner if found[1] else 0
    finally:
        client.stop()
        client.close()


def stand_still(zookeeper: ZookeeperServer) -> Callable[[], object]:
    zookeeper.signal(signal.SIGSTOP)
    return lambda: zookeeper.signal(signal.SIGCONT)


def go_away(zookeeper: ZookeeperServer) -> Callable[[], object]:
    zookeeper.kill()
    return zookeeper.start


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("lose", [stand_still, go_away])
def test_zookeeper_is_gone_for_a_full_minute_and_the_broker_serves_all_the_while(
    zookeeper_of_its_own: ZookeeperServer,
    broker: BrokerProcess,
    lose: Callable[[ZookeeperServer], Callable[[], object]],
) -> None:
    come_back = lose(zookeeper_of_its_own)
    assert serve_for(broker, 60.0) > 1000
    come_back()
    zookeeper_of_its_own.wait_serving()
    wait_until(lambda: can_make_a_topic(broker), 60, "making a topic")

    def is_back() -> bool:
        """The session may be the old one: a ZooKeeper that starts gives every session it knew its full time again."""
        broker_owner, controller_owner = registered(zookeeper_of_its_own)
        return broker_owner == controller_owner != 0

    wait_until(is_back, 60, "registration and controller")
    assert serve_for(broker, 1.0) > 0
    assert "Traceback" not in broker.output(), broker.output()
    assert broker.stop() == 0


@pytest.mark.slow
def test_a_broker_whose_zookeeper_is_gone_can_be_stopped(
    zookeeper_of_its_own: ZookeeperServer, broker: BrokerProcess
) -> None:
    zookeeper_of_its_own.kill()
    with WireClient(broker.bootstrap) as client:
        assert produce(client).error_code == 0
    broker.signal(signal.SIGTERM)
    assert broker.wait(60) == 0
    assert (broker.log_dirs[0] / ".kafka_cleanshutdown").exists()
    assert "Traceback" not in broker.output(), broker.output()
