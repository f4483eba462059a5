"""Metrics of replication that come and go with topics."""

from kafka_py.base.ids import TopicPartition
from kafka_py.base.meters import MetricRegistry
from kafka_py.replication.state.hosted import HostedPartitions
from kafka_py.replication.state.metrics import ReplicaMetrics
from kafka_py.testing.clock import ManualClock

GROUP = "kafka.server:type=DelayedProduceMetrics,name=ExpiresPerSec"


def expired(registry: MetricRegistry) -> dict[str, object]:
    """Counts by what is behind the name of the metric."""
    return {
        reading.mbean.removeprefix(GROUP): dict(reading.attributes)["Count"]
        for reading in registry.read()
        if reading.mbean.startswith(GROUP)
    }


def test_appends_that_were_not_replicated_in_time_are_counted_by_partition_until_the_topic_goes() -> None:
    registry = MetricRegistry(ManualClock())
    metrics = ReplicaMetrics(registry, HostedPartitions(1, lambda _: True, 30_000))
    for topic, partition in (("t", 0), ("t", 7), ("t", 7), ("u", 0)):
        metrics.produce_expired(TopicPartition(topic, partition))
    by_partition = {",topic=t,partition=0": 1, ",topic=t,partition=7": 2, ",topic=u,partition=0": 1}
    assert expired(registry) == {"": 4, **by_partition}
    metrics.drop_topic("t")
    assert expired(registry) == {"": 4, ",topic=u,partition=0": 1}
    metrics.produce_expired(TopicPartition("t", 7))
    assert expired(registry) == {"": 5, ",topic=t,partition=7": 1, ",topic=u,partition=0": 1}
