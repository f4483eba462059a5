"""The settings of replication: lag, fetch sizes, checkpoints, purgatories. Source: docs/reference/configs.tsv."""

from kafka_py.base.errors import ConfigError
from kafka_py.base.options import MAX_LONG, Kind, Live, Option, OptionTable, at_least

_SWEPT_AT_ONCE = "a completed operation is removed from its purgatory immediately"


class ReplicationOptions(OptionTable):
    """The replication settings of a broker."""

    replica_lag_time_max_ms = Option(
        "replica.lag.time.max.ms", 30_000, kind=Kind.LONG, importance="high", unit="ms",
        about="A follower that has not caught up for this long leaves the in-sync set.",
    )
    replica_socket_timeout_ms = Option(
        "replica.socket.timeout.ms", 30_000, importance="high", unit="ms",
        about="How long a follower waits for the leader's response; at least replica.fetch.wait.max.ms.",
    )
    replica_socket_receive_buffer_bytes = Option(
        "replica.socket.receive.buffer.bytes", 65_536, importance="high", unit="bytes",
        about="Socket receive buffer of a follower's connection to the leader.",
    )
    replica_fetch_max_bytes = Option(
        "replica.fetch.max.bytes", 1_048_576, at_least(0), unit="bytes",
        about="Largest size that a follower fetches per partition; a larger first batch is still returned.",
    )
    replica_fetch_wait_max_ms = Option(
        "replica.fetch.wait.max.ms", 500, importance="high", unit="ms",
        about="How long the leader may delay the response to a follower's fetch; at most replica.lag.time.max.ms.",
    )
    replica_fetch_backoff_ms = Option(
        "replica.fetch.backoff.ms", 1000, at_least(0), unit="ms",
        about="Pause of a follower after a failed fetch of a partition.",
    )
    replica_fetch_min_bytes = Option(
        "replica.fetch.min.bytes", 1, importance="high", unit="bytes",
        about="Bytes that a follower's fetch waits for, up to replica.fetch.wait.max.ms.",
    )
    replica_fetch_response_max_bytes = Option(
        "replica.fetch.response.max.bytes", 10_485_760, at_least(0), unit="bytes",
        about="Largest size that a follower fetches in one request over all partitions.",
    )
    num_replica_fetchers = Option(
        "num.replica.fetchers", 1, importance="high", live=Live.CLUSTER_WIDE,
        about="Fetchers per leader broker; more of them fetch in parallel.",
    )
    replica_high_watermark_checkpoint_interval_ms = Option(
        "replica.high.watermark.checkpoint.interval.ms", 5000, kind=Kind.LONG, importance="high", unit="ms",
        about="How often the high watermarks are written to disk.",
    )
    fetch_purgatory_purge_interval_requests = Option(
        "fetch.purgatory.purge.interval.requests", 1000, no_effect=_SWEPT_AT_ONCE,
        about="Completed operations that may stay in the fetch purgatory before it is purged.",
    )
    producer_purgatory_purge_interval_requests = Option(
        "producer.purgatory.purge.interval.requests", 1000, no_effect=_SWEPT_AT_ONCE,
        about="Completed operations that may stay in the produce purgatory before it is purged.",
    )
    delete_records_purgatory_purge_interval_requests = Option(
        "delete.records.purgatory.purge.interval.requests", 1, no_effect=_SWEPT_AT_ONCE,
        about="Completed operations that may stay in the delete-records purgatory before it is purged.",
    )
    replica_selector_class: Option[str | None] = Option(
        "replica.selector.class", None, kind=Kind.STRING,
        about="Selects the replica that a consumer reads from (KIP-392); unset means the leader.",
    )
    num_replica_alter_log_dirs_threads: Option[int | None] = Option(
        "num.replica.alter.log.dirs.threads", None, kind=Kind.INT, importance="high", no_effect="there is one mover",
        about="Movers of replicas between log directories; unset means one per directory.",
    )
    replication_quota_window_num = Option(
        "replication.quota.window.num", 11, at_least(1), importance="low",
        about="Samples kept to measure replication quotas.",
    )
    replication_quota_window_size_seconds = Option(
        "replication.quota.window.size.seconds", 1, at_least(1), importance="low", unit="s",
        about="Length of one sample of the replication quotas.",
    )
    alter_log_dirs_replication_quota_window_num = Option(
        "alter.log.dirs.replication.quota.window.num", 11, at_least(1), importance="low",
        about="Samples kept to measure the quota of moves between log directories.",
    )
    alter_log_dirs_replication_quota_window_size_seconds = Option(
        "alter.log.dirs.replication.quota.window.size.seconds", 1, at_least(1), importance="low", unit="s",
        about="Length of one sample of the quota of moves between log directories.",
    )
    leader_replication_throttled_rate = Option(
        "leader.replication.throttled.rate", MAX_LONG, at_least(0), kind=Kind.LONG, live=Live.CLUSTER_WIDE,
        about="Bytes per second this broker sends to throttled followers; set at run time only.",
    )
    follower_replication_throttled_rate = Option(
        "follower.replication.throttled.rate", MAX_LONG, at_least(0), kind=Kind.LONG, live=Live.CLUSTER_WIDE,
        about="Bytes per second this broker fetches for throttled partitions; set at run time only.",
    )
    replica_alter_log_dirs_io_max_bytes_per_second = Option(
        "replica.alter.log.dirs.io.max.bytes.per.second", MAX_LONG, at_least(0), kind=Kind.LONG, live=Live.CLUSTER_WIDE,
        about="Bytes per second copied between log directories; set at run time only.",
    )

    def validate(self) -> None:
        super().validate()
        if self.replica_fetch_wait_max_ms > self.replica_socket_timeout_ms:
            raise ConfigError("replica.fetch.wait.max.ms must not be larger than replica.socket.timeout.ms")
        if self.replica_fetch_wait_max_ms > self.replica_lag_time_max_ms:
            raise ConfigError("replica.fetch.wait.max.ms must not be larger than replica.lag.time.max.ms")
