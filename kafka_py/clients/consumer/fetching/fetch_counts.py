"""Updates a consumer's fetch metrics: of all fetches, by topic, and lag and lead by partition."""

from __future__ import annotations

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.metrics import FetchMetrics, PartitionFetchMetrics, TopicFetchMetrics
from kafka_py.clients.consumer.subscriptions import AssignedPartition, Subscriptions
from kafka_py.clients.metrics import ClientMetrics

NAN = float("nan")


class FetchCounts:
    """The fetch metrics of one consumer; those of topics and partitions are removed when these are unassigned.

    committed: whether lag is counted up to the last stable offset instead of the high watermark.
    """

    def __init__(self, metrics: ClientMetrics, subscriptions: Subscriptions, *, committed: bool) -> None:
        self.whole = FetchMetrics(metrics, owner=self)
        self._metrics = metrics
        self._subscriptions = subscriptions
        self._committed = committed
        self._topics: dict[str, TopicFetchMetrics] = {}
        self._partitions: dict[TopicPartition, PartitionFetchMetrics] = {}
        self._seen_changes = 0

    @property
    def lag_max(self) -> float:
        """The largest lag of an assigned partition."""
        lags = (state.lag(committed=self._committed) for state in self._subscriptions)
        return max((lag for lag in lags if lag is not None), default=NAN)

    @property
    def lead_min(self) -> float:
        """The smallest lead of an assigned partition."""
        leads = (state.lead() for state in self._subscriptions)
        return min((lead for lead in leads if lead is not None), default=NAN)

    def answered(self, latency_ms: float, throttle_ms: int, by_topic: dict[str, tuple[int, int]]) -> None:
        """Counts a fetch response. by_topic: (bytes, records) of each topic that has any."""
        whole = self.whole
        whole.fetches += 1
        whole.latency.update(latency_ms)
        whole.throttle_time.update(throttle_ms)
        if self._seen_changes != self._subscriptions.changes:
            self._forget_others()
        whole.size.update(sum(size for size, _ in by_topic.values()))
        whole.records_per_request.update(sum(count for _, count in by_topic.values()))
        for name, (size, count) in by_topic.items():
            topic = self._topic(name)
            topic.size.update(size)
            topic.records_per_request.update(count)

    def consumed(self, state: AssignedPartition, records: int, size_bytes: int, next_offset: int) -> None:
        """Counts records of a partition that a poll has taken, up to `next_offset` (exclusive)."""
        self.whole.records_consumed += records
        self.whole.bytes_consumed += size_bytes
        topic = self._topic(state.topic_partition.topic)
        topic.records_consumed += records
        topic.bytes_consumed += size_bytes
        partition = self._partitions.get(state.topic_partition)
        if partition is None or partition.owner is not state:
            if partition is not None:
                partition.close()
            name, number = state.topic_partition
            partition = PartitionFetchMetrics(self._metrics, name.replace(".", "_"), str(number), owner=state)
            self._partitions[state.topic_partition] = partition
        lag, lead = state.lag(committed=self._committed, position=next_offset), state.lead(next_offset)
        if lag is not None:
            partition.lags.update(lag)
        if lead is not None:
            partition.leads.update(lead)

    def _topic(self, name: str) -> TopicFetchMetrics:
        found = self._topics.get(name)
        if found is None:
            found = self._topics[name] = TopicFetchMetrics(self._metrics, name.replace(".", "_"))
        return found

    def _forget_others(self) -> None:
        self._seen_changes = self._subscriptions.changes
        topics = {each.topic for each in self._subscriptions.partitions()}
        for name in self._topics.keys() - topics:
            self._topics.pop(name).close()
        for partition in [each for each in self._partitions if each not in self._subscriptions]:
            self._partitions.pop(partition).close()
