"""A consumer's metrics under Kafka's names: polls, fetches, group membership.

clients/metrics.py has those of connections.
Source: FetcherMetricsRegistry, KafkaConsumerMetrics, ConsumerCoordinator.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_py.base.metric_rows import Gauge, Sampled, Total
from kafka_py.clients.metrics import PARTITION, TOPIC, ClientMetrics, ClientTable

HOUR_S = 3600.0


class PollMetrics(ClientTable, group="consumer-metrics"):
    """The application's calls of poll."""

    between = Sampled(avg="time-between-poll-avg", max="time-between-poll-max", unit="ms", about="Time between polls.")
    idle_ratio = Sampled(avg="poll-idle-ratio-avg", about="The share of its time that the application spends in poll.")
    seconds_ago = Gauge("last-poll-seconds-ago", unit="s", about="Since the last poll; -1 without one.")

    def __init__(self, metrics: ClientMetrics) -> None:
        super().__init__(metrics)
        self._clock = metrics.clock
        self._began_ms: float | None = None
        self._took_ms = 0.0
        self.seconds_ago = self._seconds_ago

    def _seconds_ago(self) -> float:
        return -1 if self._began_ms is None else (self._clock.monotonic_ms() - self._began_ms) // 1000

    def begin(self, now_ms: float) -> None:
        """Records the beginning of a poll."""
        if self._began_ms is not None:
            between_ms = now_ms - self._began_ms
            self.between.update(between_ms)
            if between_ms > 0:
                self.idle_ratio.update(min(1.0, self._took_ms / between_ms))
        self._began_ms = now_ms

    def end(self, now_ms: float) -> None:
        """Records the end of a poll."""
        if self._began_ms is not None:
            self._took_ms = now_ms - self._began_ms


class CoordinatorMetrics(ClientTable, group="consumer-coordinator-metrics"):
    """The consumer as a member of its group."""

    commit_latency = Sampled(avg="commit-latency-avg", max="commit-latency-max", unit="ms", about="Time of a commit.")
    commits = Total("commit-total", rate="commit-rate", about="Commits.")
    assigned_partitions = Gauge("assigned-partitions", of=lambda owner: owner.assigned_count, about="Assigned to it.")
    heartbeat_time = Sampled(max="heartbeat-response-time-max", unit="ms", about="Heartbeat to response.")
    heartbeats = Total("heartbeat-total", rate="heartbeat-rate", about="Heartbeats.")
    last_heartbeat = Gauge("last-heartbeat-seconds-ago", unit="s", about="Since the last response; -1 without one.")
    join_time = Sampled(avg="join-time-avg", max="join-time-max", unit="ms", about="Time of a JoinGroup.")
    joins = Total("join-total", rate="join-rate", about="Joins.")
    sync_time = Sampled(avg="sync-time-avg", max="sync-time-max", unit="ms", about="Time of a SyncGroup.")
    syncs = Total("sync-total", rate="sync-rate", about="Syncs.")
    rebalance_latency = Sampled(
        avg="rebalance-latency-avg", max="rebalance-latency-max", total="rebalance-latency-total", unit="ms",
        about="From the start of a join to the assignment.",
    )  # fmt: skip
    rebalances = Total("rebalance-total", rate="rebalance-rate-per-hour", per_s=HOUR_S, about="Joins that succeeded.")
    failed_rebalances = Total(
        "failed-rebalance-total", rate="failed-rebalance-rate-per-hour", per_s=HOUR_S, about="Joins that failed."
    )
    last_rebalance = Gauge("last-rebalance-seconds-ago", unit="s", about="Since the last rebalance; -1 without one.")
    revoked_time = Sampled(avg="partition-revoked-latency-avg", max="partition-revoked-latency-max", unit="ms",
                           about="Time of the listener's on_partitions_revoked.")  # fmt: skip
    assigned_time = Sampled(avg="partition-assigned-latency-avg", max="partition-assigned-latency-max", unit="ms",
                            about="Time of the listener's on_partitions_assigned.")  # fmt: skip
    lost_time = Sampled(avg="partition-lost-latency-avg", max="partition-lost-latency-max", unit="ms",
                        about="Time of the listener's on_partitions_lost.")  # fmt: skip

    def __init__(self, metrics: ClientMetrics, owner: object) -> None:
        super().__init__(metrics, owner=owner)
        self._clock = metrics.clock
        self._heartbeat_ms: float | None = None
        self._rebalance_ms: float | None = None
        self.last_heartbeat = self._ago(lambda: self._heartbeat_ms)
        self.last_rebalance = self._ago(lambda: self._rebalance_ms)

    def _ago(self, when: Callable[[], float | None]) -> Callable[[], float]:
        def seconds() -> float:
            at = when()
            return -1 if at is None else (self._clock.monotonic_ms() - at) // 1000

        return seconds

    def note_heartbeat(self, now_ms: float) -> None:
        """Records the response to a heartbeat."""
        self._heartbeat_ms = now_ms

    def note_rebalance(self, now_ms: float) -> None:
        """Records a completed rebalance."""
        self._rebalance_ms = now_ms


class FetchMetrics(ClientTable, group="consumer-fetch-manager-metrics"):
    """All fetches. The owner computes the largest lag and the smallest lead."""

    size = Sampled(avg="fetch-size-avg", max="fetch-size-max", unit="bytes", about="Record bytes of a response.")
    bytes_consumed = Total("bytes-consumed-total", rate="bytes-consumed-rate", unit="bytes", about="Bytes of records.")
    records_per_request = Sampled(avg="records-per-request-avg", about="Records of an answer.")
    records_consumed = Total("records-consumed-total", rate="records-consumed-rate", about="Records returned by poll.")
    latency = Sampled(avg="fetch-latency-avg", max="fetch-latency-max", unit="ms", about="Fetch request to response.")
    fetches = Total("fetch-total", rate="fetch-rate", about="Fetch responses.")
    throttle_time = Sampled(avg="fetch-throttle-time-avg", max="fetch-throttle-time-max", unit="ms",
                            about="Throttle time of responses.")  # fmt: skip
    lag_max = Gauge("records-lag-max", of=lambda owner: owner.lag_max, about="The largest lag of a partition.")
    lead_min = Gauge("records-lead-min", of=lambda owner: owner.lead_min, about="The smallest lead of a partition.")


class TopicFetchMetrics(ClientTable, group="consumer-fetch-manager-metrics", tags=TOPIC):
    """The fetches of one topic."""

    size = Sampled(avg="fetch-size-avg", max="fetch-size-max", unit="bytes", about="Record bytes of a response.")
    bytes_consumed = Total("bytes-consumed-total", rate="bytes-consumed-rate", unit="bytes", about="Bytes of records.")
    records_per_request = Sampled(avg="records-per-request-avg", about="Records of an answer.")
    records_consumed = Total("records-consumed-total", rate="records-consumed-rate", about="Records returned by poll.")


class PartitionFetchMetrics(ClientTable, group="consumer-fetch-manager-metrics", tags=PARTITION):
    """Lag and lead of one partition; its owner is the AssignedPartition.

    Lag: records from the position to the end offset. Lead: records from the log start offset to the position.
    """

    lag = Gauge("records-lag", of=lambda owner: _or_nan(owner.lag(committed=False)), about="Records up to the end.")
    lags = Sampled(avg="records-lag-avg", max="records-lag-max", about="Samples of the lag.")
    lead = Gauge("records-lead", of=lambda owner: _or_nan(owner.lead()), about="Records since the log start.")
    leads = Sampled(avg="records-lead-avg", min="records-lead-min", about="Samples of the lead.")
    preferred_replica = Gauge("preferred-read-replica", of=lambda owner: owner.preferred_replica,
                              about="The follower that is fetched from, -1 for the leader.")  # fmt: skip


def _or_nan(value: int | None) -> float:
    return float("nan") if value is None else value
