"""An idempotent producer through random trouble: every record once and in order, whatever happens on the way."""

import random
import time

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.clients import Producer
from kafka_py.testing.fakes.fake_cluster import CUT, CUT_AFTER, FakeCluster, Trouble
from kafka_py.wire.apis import ApiKey

PARTITIONS, RECORDS = 3, 240
TROUBLES: list[Trouble] = [
    CUT,
    CUT_AFTER,
    CUT_AFTER,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.REQUEST_TIMED_OUT,
]


def test_w7_23_two_records_that_look_alike_are_two_records() -> None:
    """W7.23, S3-076: idempotence concerns retries, not what an application sends twice."""
    with FakeCluster(1) as cluster:
        cluster.create_topic("t", 1)
        config = {"bootstrap.servers": cluster.bootstrap_servers, "enable.idempotence": True}
        with Producer(config) as producer:
            for _ in range(2):
                producer.send("t", b"same", key=b"same", timestamp=5).result(10)
        assert cluster.log("t").values() == [b"same", b"same"]


@pytest.mark.parametrize("seed", range(12))
def test_every_record_arrives_once_and_in_order(seed: int) -> None:
    draw = random.Random(seed)
    with FakeCluster(2) as cluster:
        cluster.create_topic("t", PARTITIONS)
        config = {
            "bootstrap.servers": cluster.bootstrap_servers,
            "enable.idempotence": True,
            "batch.size": draw.choice([0, 100, 1000]),
            "linger.ms": draw.choice([0, 1]),
            "compression.type": draw.choice(["none", "gzip"]),
            "retry.backoff.ms": 2,
            "reconnect.backoff.ms": 2,
            "reconnect.backoff.max.ms": 5,
        }
        with Producer(config) as producer:
            for number in range(RECORDS):
                if draw.random() < 0.15:
                    cluster.fail(ApiKey.PRODUCE, draw.choice(TROUBLES))
                if draw.random() < 0.02:
                    cluster.move_leader("t", draw.randrange(PARTITIONS), draw.randrange(2))
                producer.send("t", b"%d" % number, partition=number % PARTITIONS)
                if draw.random() < 0.1:
                    time.sleep(draw.random() * 0.003)
            producer.flush(30)
        for partition in range(PARTITIONS):
            expected = [b"%d" % number for number in range(partition, RECORDS, PARTITIONS)]
            assert cluster.log("t", partition).values() == expected
