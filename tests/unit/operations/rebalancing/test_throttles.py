"""The settings that throttle moves (KIP-73)."""

from kafka_py.base.ids import TopicPartition
from kafka_py.operations.rebalancing.throttles import ReplicaMove, topic_throttles

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def test_throttles_name_the_sources_as_leaders_and_the_new_replicas_as_followers():
    settings = topic_throttles(
        {T0: ReplicaMove([1, 2], [2, 3]), TopicPartition("t", 10): ReplicaMove([1], [])}
    )
    assert settings == {
        "t": {
            "leader.replication.throttled.replicas": "0:1,0:2,10:1",
            "follower.replication.throttled.replicas": "0:3",
        }
    }
