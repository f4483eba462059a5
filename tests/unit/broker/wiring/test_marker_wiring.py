"""To whom the marker of a partition goes, as the metadata cache says."""

import asyncio

from kafka_py.base.ids import NO_LEADER, TopicPartition
from kafka_py.broker.metadata.metadata_cache import (
    BrokerAddress,
    CachedPartition,
    LiveBroker,
    MetadataCache,
    MetadataUpdate,
)
from kafka_py.broker.wiring.marker_wiring import marker_leader
from kafka_py.coordinator.transactions.marker_queues import UNREACHABLE


def cluster(*leaders):
    """Broker 1 has the listener INTERNAL, broker 2 another one; the partitions of topic t have these leaders."""
    metadata = MetadataCache()
    brokers = [
        LiveBroker(number, {name: BrokerAddress("h", 9)}, None) for number, name in ((1, "INTERNAL"), (2, "OTHER"))
    ]
    asyncio.run(metadata.update(MetadataUpdate(1, brokers, led("t", *leaders) + led("__transaction_state", 1), {})))
    return metadata


def led(topic, *leaders):
    """The topic's partitions with these leaders."""
    return [
        (TopicPartition(topic, number), CachedPartition(1, leader, 0, (1,), 0, (1,), ()))
        for number, leader in enumerate(leaders)
    ]


def test_a_marker_goes_to_a_leader_that_is_alive_and_has_the_listener():
    metadata = cluster(1, 2, 3, NO_LEADER)
    found = [marker_leader(metadata, "INTERNAL", TopicPartition("t", number)) for number in range(4)]
    assert found == [1, UNREACHABLE, UNREACHABLE, UNREACHABLE]


def test_a_partition_of_a_deleted_topic_has_none():
    assert marker_leader(cluster(1), "INTERNAL", TopicPartition("t", 5)) is None
    assert marker_leader(cluster(1), "INTERNAL", TopicPartition("gone", 0)) is None


def test_before_the_cluster_is_known_no_partition_counts_as_deleted():
    """A new controller may name the live brokers first, and the topics in a later request."""
    metadata = MetadataCache()
    assert marker_leader(metadata, "INTERNAL", TopicPartition("t", 0)) == UNREACHABLE
    for partitions in ([], led("other", 1)):
        brokers = [LiveBroker(1, {"INTERNAL": BrokerAddress("h", 9)}, None)]
        asyncio.run(metadata.update(MetadataUpdate(1, brokers, partitions, {})))
        assert marker_leader(metadata, "INTERNAL", TopicPartition("t", 0)) == UNREACHABLE
