"""Metrics of replication: traffic per topic, in-sync set changes, time-outs. Source: docs/reference/metrics.tsv."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, cast

from kafka_py.base.ids import TopicPartition
from kafka_py.base.meters import Fleet, MetricRegistry, MetricTable
from kafka_py.base.metric_rows import Distribution, Gauge, Rate, Value

if TYPE_CHECKING:
    from kafka_py.replication.state.hosted import HostedPartitions

_TOPIC = ("topic",)


class TopicMetrics(MetricTable, group="kafka.server:type=BrokerTopicMetrics"):
    """Traffic of one topic, or (without tag) of all."""

    messages_in = Rate("MessagesInPerSec", unit="messages", tags=_TOPIC, about="Records appended by producers.")
    bytes_in = Rate("BytesInPerSec", unit="bytes", tags=_TOPIC, about="Bytes appended by producers, as compressed.")
    bytes_out = Rate("BytesOutPerSec", unit="bytes", tags=_TOPIC, about="Record bytes sent to consumers.")
    bytes_rejected = Rate(
        "BytesRejectedPerSec", unit="bytes", tags=_TOPIC, about="Bytes refused because a batch was too large."
    )
    failed_produce_requests = Rate(
        "FailedProduceRequestsPerSec", unit="requests", tags=_TOPIC, about="Appends to a partition that failed."
    )
    failed_fetch_requests = Rate(
        "FailedFetchRequestsPerSec", unit="requests", tags=_TOPIC, about="Unexpected failures of reads, per partition."
    )
    produce_requests = Rate(
        "TotalProduceRequestsPerSec", unit="requests", tags=_TOPIC, about="Attempted appends, per partition."
    )
    fetch_requests = Rate("TotalFetchRequestsPerSec", unit="requests", tags=_TOPIC, about="Reads, per partition.")
    fetch_conversions = Rate(
        "FetchMessageConversionsPerSec", unit="requests", tags=_TOPIC, about="Records converted for old fetchers."
    )
    produce_conversions = Rate(
        "ProduceMessageConversionsPerSec", unit="requests", tags=_TOPIC, about="Records converted on append."
    )
    no_key_records = Rate(
        "NoKeyCompactedTopicRecordsPerSec", unit="requests", tags=_TOPIC,
        about="Keyless records that a compacted topic refused.",
    )
    invalid_magic_records = Rate(
        "InvalidMagicNumberRecordsPerSec", unit="requests", tags=_TOPIC, about="Records with an invalid magic byte."
    )
    invalid_crc_records = Rate(
        "InvalidMessageCrcRecordsPerSec", unit="requests", tags=_TOPIC, about="Records whose checksum fails."
    )
    invalid_offset_records = Rate(
        "InvalidOffsetOrSequenceRecordsPerSec", unit="requests", tags=_TOPIC, about="Records with wrong inner offsets."
    )
    replication_bytes_in = Rate("ReplicationBytesInPerSec", unit="bytes", about="Bytes fetched as a follower.")
    replication_bytes_out = Rate("ReplicationBytesOutPerSec", unit="bytes", about="Record bytes sent to followers.")
    reassignment_bytes_in = Rate(
        "ReassignmentBytesInPerSec", unit="bytes", about="Bytes fetched for partitions that are being reassigned."
    )
    reassignment_bytes_out = Rate(
        "ReassignmentBytesOutPerSec", unit="bytes", about="Bytes sent to followers that a reassignment adds."
    )


class ReplicaManagerMetrics(MetricTable, group="kafka.server:type=ReplicaManager"):
    """State of the broker's partitions. The owner is HostedPartitions."""

    leader_count = Gauge("LeaderCount", of=lambda m: m.count_led(), about="Partitions led here.")
    partition_count = Gauge("PartitionCount", of=lambda m: len(m.partitions), about="Partitions hosted here, online.")
    offline_replica_count = Gauge(
        "OfflineReplicaCount", of=lambda m: len(m.offline), about="Replicas on failed log directories."
    )
    under_replicated = Gauge(
        "UnderReplicatedPartitions", of=lambda m: m.count_under_replicated(),
        about="Led partitions short of in-sync replicas.",
    )
    under_min_isr = Gauge(
        "UnderMinIsrPartitionCount", of=lambda m: m.count_against_minimum(-1),
        about="Led partitions whose in-sync set is below the minimum.",
    )
    at_min_isr = Gauge(
        "AtMinIsrPartitionCount", of=lambda m: m.count_against_minimum(0), about="Led, in-sync set at the minimum."
    )
    reassigning = Gauge(
        "ReassigningPartitions", of=lambda m: m.count_reassigning(), about="Led partitions under reassignment."
    )
    isr_expands = Rate("IsrExpandsPerSec", unit="expands", about="Replicas added to an in-sync set.")
    isr_shrinks = Rate("IsrShrinksPerSec", unit="shrinks", about="In-sync sets that shrank.")
    failed_isr_updates = Rate("FailedIsrUpdatesPerSec", unit="failedUpdates", about="In-sync set writes refused.")

    def counting(self) -> Generator[None, None, Mapping[str, Value]]:
        counts = yield from cast("HostedPartitions", self.owner).counting()
        return {
            "leader_count": counts.led,
            "under_replicated": counts.under_replicated,
            "under_min_isr": counts.under_min_isr,
            "at_min_isr": counts.at_min_isr,
            "reassigning": counts.reassigning,
        }


class PartitionMetrics(Fleet, group="kafka.cluster:type=Partition", tags=("topic", "partition")):
    """Every hosted partition; values that only the leader knows are 0 on followers."""

    under_replicated = Gauge(
        "UnderReplicated", of=lambda one: int(one.is_under_replicated), about="1: led here, short of in-sync replicas."
    )
    in_sync = Gauge(
        "InSyncReplicasCount", of=lambda one: len(one.isr.members) if one.is_leader else 0,
        about="In-sync replicas, where it leads.",
    )
    under_min_isr = Gauge(
        "UnderMinIsr", of=lambda one: int((one.isr_against_minimum() or 0) < 0),
        about="1: led here, in-sync set below the minimum.",
    )
    at_min_isr = Gauge(
        "AtMinIsr", of=lambda one: int(one.isr_against_minimum() == 0), about="1: led here, in-sync set at the minimum."
    )
    replicas = Gauge(
        "ReplicasCount", of=lambda one: len(one.replicas) if one.is_leader else 0, about="Replicas, where it leads."
    )
    stable_lag = Gauge(
        "LastStableOffsetLag",
        of=lambda one: 0 if one.log is None else one.log.high_watermark - one.log.last_stable_offset,
        about="Distance of the last stable offset from the high watermark.",
    )


class FetchExpiryMetrics(MetricTable, group="kafka.server:type=DelayedFetchMetrics"):
    """Fetches whose max.wait expired."""

    expires = Rate("ExpiresPerSec", unit="requests", tags=("fetcherType",), about="Fetches that expired.")


class ProduceExpiryMetrics(MetricTable, group="kafka.server:type=DelayedProduceMetrics"):
    """Produce requests with acks=-1 that timed out."""

    expires = Rate("ExpiresPerSec", unit="requests", about="Appends that were not replicated in time.")


class PartitionExpiryMetrics(MetricTable, group="kafka.server:type=DelayedProduceMetrics", tags=("topic", "partition")):
    """The same for one partition, from its first time-out on."""

    expires = Rate("ExpiresPerSec", unit="requests", about="Appends that were not replicated in time.")


class DeleteRecordsExpiryMetrics(MetricTable, group="kafka.server:type=DelayedDeleteRecordsMetrics"):
    """DeleteRecords requests that timed out."""

    expires = Rate("ExpiresPerSec", unit="requests", about="Partitions whose deletion was not replicated in time.")


class ConversionMetrics(MetricTable, group="kafka.network:type=RequestMetrics"):
    """What the conversion of records between formats costs, per partition of a request that needs it."""

    time = Distribution(
        "MessageConversionsTimeMs", unit="ms", tags=("request",),
        about="Time in conversion, waiting for a thread included.",
    )
    temporary_memory = Distribution(
        "TemporaryMemoryBytes", unit="bytes", tags=("request",), about="Memory taken by conversion and decompression."
    )


class ReplicaMetrics:
    """All metrics of replication; those of a topic are created on its first use."""

    __slots__ = (
        "_consumers", "_deletions", "_expired", "_followers", "_produce", "_registry", "all_topics",
        "fetch_conversions", "manager", "produce_conversions", "topics",
    )  # fmt: skip

    def __init__(self, registry: MetricRegistry, hosted: HostedPartitions) -> None:
        self._registry = registry
        self.topics: dict[str, TopicMetrics] = {}
        self._expired: dict[str, dict[int, PartitionExpiryMetrics]] = {}
        self.all_topics = TopicMetrics(registry)
        self.produce_conversions = ConversionMetrics(registry, request="Produce")
        self.fetch_conversions = ConversionMetrics(registry, request="Fetch")
        self.manager = ReplicaManagerMetrics(registry, hosted)
        self._produce = ProduceExpiryMetrics(registry)
        self._deletions = DeleteRecordsExpiryMetrics(registry)
        self._followers = FetchExpiryMetrics(registry, fetcherType="follower")
        self._consumers = FetchExpiryMetrics(registry, fetcherType="consumer")
        partitions = hosted.partitions
        PartitionMetrics(
            registry,
            lambda: (((tp.topic, str(tp.partition)), partition) for tp, partition in list(partitions.items())),
            lambda: len(partitions),
        )

    def topic(self, topic: str) -> TopicMetrics:
        """The topic's metrics, created on first use."""
        found = self.topics.get(topic)
        if found is None:
            found = self.topics[topic] = TopicMetrics(self._registry, topic=topic)
        return found

    def note_produce_conversion(self, topic: str, record_count: int, memory_bytes: int, time_ms: float) -> None:
        """Counts records of one append that were stored in another format than they were sent in."""
        self.topic(topic).produce_conversions += record_count
        self.all_topics.produce_conversions += record_count
        self.produce_conversions.time.update(time_ms)
        self.produce_conversions.temporary_memory.update(memory_bytes)

    def note_fetch_conversion(self, topic: str, record_count: int, memory_bytes: int, time_ms: float) -> None:
        """Counts records of one partition that were converted for a reader."""
        self.topic(topic).fetch_conversions += record_count
        self.all_topics.fetch_conversions += record_count
        self.fetch_conversions.time.update(time_ms)
        self.fetch_conversions.temporary_memory.update(memory_bytes)

    def drop_topic(self, topic: str) -> None:
        """Removes the metrics of a topic that no longer has a partition here."""
        found = self.topics.pop(topic, None)
        if found is not None:
            found.close()
        for expired in self._expired.pop(topic, {}).values():
            expired.close()

    def produce_expired(self, topic_partition: TopicPartition) -> None:
        self._produce.expires += 1
        topic, partition = topic_partition
        by_partition = self._expired.setdefault(topic, {})
        found = by_partition.get(partition)
        if found is None:
            found = PartitionExpiryMetrics(self._registry, topic=topic, partition=str(partition))
            by_partition[partition] = found
        found.expires += 1

    def consumer_fetch_expired(self) -> None:
        self._consumers.expires += 1

    def follower_fetch_expired(self) -> None:
        self._followers.expires += 1

    def delete_records_expired(self, _topic_partition: TopicPartition) -> None:
        self._deletions.expires += 1
