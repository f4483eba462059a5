"""Throttles of replication as operators set them: rates of a broker and replicas of a topic, at run time (KIP-73)."""

from kafka_py.base.ids import TopicPartition
from kafka_py.replication.state.throttle import UNLIMITED
from kafka_py.testing.local_broker import LocalBroker, on_broker

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@on_broker()
async def test_rates_and_replicas_take_effect_at_once_and_can_be_taken_back(broker: LocalBroker) -> None:
    await broker.create_topic("t", 2)
    replication = broker.server.node.replication
    leader, follower, moves = replication.leader_throttle, replication.follower_throttle, replication.mover.throttle
    assert [one.limit for one in (leader, follower, moves)] == [UNLIMITED] * 3
    rates = {
        "leader.replication.throttled.rate": "1000",
        "follower.replication.throttled.rate": "2000",
        "replica.alter.log.dirs.io.max.bytes.per.second": "3000",
    }
    await broker.store.configs.change("brokers/0", rates)
    await broker.until(lambda: [one.limit for one in (leader, follower, moves)] == [1000, 2000, 3000])
    replicas = {"leader.replication.throttled.replicas": "0:0", "follower.replication.throttled.replicas": "*"}
    await broker.store.configs.change("topics/t", replicas)
    await broker.until(lambda: leader.covers(T0) and not leader.covers(T1) and follower.covers(T1))
    await broker.store.configs.change("topics/t", {})
    await broker.store.configs.change("brokers/0", {})
    await broker.until(lambda: leader.limit == UNLIMITED and not leader.covers(T0) and not follower.covers(T1))
